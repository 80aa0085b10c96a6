//! The table of `two_point`: each direction of each connection that was seen at two capture points.

use trustbed_two_point::{Capture, TwoPointRow};

use crate::text::address;
use crate::{Column, Table};

type Row = TwoPointRow;

/// The first twelve bytes of an IPv4 address among IPv6 ones (RFC 4291, 2.5.5.2).
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

fn written(bytes: &[u8; 16]) -> String {
    address(bytes, !bytes.starts_with(&MAPPED))
}

/// `TwoPointSummary`: one row per direction of a connection, in the order of their ends.
#[expect(clippy::too_many_lines, reason = "a few lines for each column")]
#[expect(clippy::cast_possible_truncation, reason = "durations in whole nanoseconds")]
pub fn two_point() -> Table<TwoPointRow> {
    let columns: Vec<Column<Row>> = vec![
        Column::text("sender", "address of the sender in this direction", |r| {
            Some(written(&r.key.source(r.direction).0))
        }),
        Column::count("sender_port", "count", "port of the sender", |r| {
            Some(r.key.source(r.direction).1.into())
        }),
        Column::text("receiver", "address of the receiver", |r| {
            Some(written(&r.key.source(1 - r.direction).0))
        }),
        Column::count("receiver_port", "count", "port of the receiver", |r| {
            Some(r.key.source(1 - r.direction).1.into())
        }),
        Column::text("sender_capture", "capture taken at the sender: first or second", |r| {
            Some(if r.from == Capture::First { "first" } else { "second" }.to_owned())
        }),
        Column::time(
            "start_ns",
            "time of the first frame, by the clock of the first capture",
            |r| Some(r.first.0),
        ),
        Column::integer(
            "duration_ns",
            "nanoseconds",
            "time from the first frame to the last",
            |r| Some((r.last - r.first).0),
        ),
        Column::count(
            "data_frames_sent",
            "packets",
            "frames with payload, SYN or FIN in the sender's capture",
            |r| Some(r.data.sent),
        ),
        Column::count("data_frames_delivered", "packets", "data frames in both captures", |r| {
            Some(r.data.delivered)
        }),
        Column::count(
            "data_frames_lost",
            "packets",
            "data frames in the sender's capture only: lost between the capture points",
            |r| Some(r.data.lost),
        ),
        Column::count(
            "data_frames_missed",
            "packets",
            "data frames in the receiver's capture only: missed by the sender's capture, or made \
             on the path",
            |r| Some(r.data.missed),
        ),
        Column::count(
            "data_frames_indeterminate",
            "packets",
            "data frames of unknown fate: in flight when a capture began or ended, pushed out by \
             too many pending frames, or bound elsewhere",
            |r| Some(r.data.indeterminate),
        ),
        Column::count(
            "no_payload_frames_sent",
            "packets",
            "frames without payload, SYN or FIN (ACK, RST) in the sender's capture",
            |r| Some(r.no_payload.sent),
        ),
        Column::count(
            "no_payload_frames_delivered",
            "packets",
            "frames without payload in both captures",
            |r| Some(r.no_payload.delivered),
        ),
        Column::count(
            "no_payload_frames_lost",
            "packets",
            "frames without payload in the sender's capture only",
            |r| Some(r.no_payload.lost),
        ),
        Column::count("lost_bytes", "bytes", "payload of the lost frames", |r| Some(r.lost_bytes)),
        Column::count(
            "loss_events",
            "count",
            "losses, each run of consecutive lost frames counted once",
            |r| Some(r.loss_events),
        ),
        Column::count(
            "spurious_frames",
            "packets",
            "data frames that arrived after all their bytes: spurious retransmissions",
            |r| Some(r.spurious),
        ),
        Column::count(
            "reordered_frames",
            "packets",
            "frames that arrived after a later-sent frame (RFC 4737)",
            |r| Some(r.reordered),
        ),
        Column::integer(
            "owd_min_ns",
            "nanoseconds",
            "minimum one-direction delay by both clocks; carries the error of the clock comparison \
             and may be negative",
            |r| r.owd_min.map(|d| d.0),
        ),
        Column::integer(
            "owd_increase_p50_ns",
            "nanoseconds",
            "median one-direction delay above the minimum of all connections in this direction: \
             queueing, independent of the clock offset",
            |r| r.owd_increase.median.map(|d| d as i64),
        ),
        Column::integer(
            "owd_increase_p95_ns",
            "nanoseconds",
            "95th percentile of the one-way delay increase",
            |r| r.owd_increase.p95.map(|d| d as i64),
        ),
        Column::integer(
            "owd_increase_p99_ns",
            "nanoseconds",
            "99th percentile of the one-way delay increase",
            |r| r.owd_increase.p99.map(|d| d as i64),
        ),
        Column::count(
            "delays_negative",
            "packets",
            "frames that arrive before they are sent, by both clocks",
            |r| Some(r.delays_negative),
        ),
        Column::count(
            "round_trips",
            "count",
            "round trips split into path and receiver: data sent once and acknowledged exactly",
            |r| Some(r.round_trip.count),
        ),
        Column::integer(
            "round_trip_p50_ns",
            "nanoseconds",
            "median time from data to its acknowledgement at the sender",
            |r| r.round_trip.median.map(|d| d as i64),
        ),
        Column::integer(
            "turnaround_p50_ns",
            "nanoseconds",
            "median time from arrival to acknowledgement at the receiver, delayed \
             acknowledgements included",
            |r| r.turnaround.median.map(|d| d as i64),
        ),
        Column::integer(
            "path_p50_ns",
            "nanoseconds",
            "median of round trip less turnaround: time on the path in both directions, with no \
             clock comparison",
            |r| r.path.median.map(|d| d as i64),
        ),
        Column::integer(
            "round_trip_p99_ns",
            "nanoseconds",
            "99th percentile of the round trips",
            |r| r.round_trip.p99.map(|d| d as i64),
        ),
        Column::integer(
            "turnaround_p99_ns",
            "nanoseconds",
            "99th percentile of the turnaround",
            |r| r.turnaround.p99.map(|d| d as i64),
        ),
        Column::integer(
            "path_p99_ns",
            "nanoseconds",
            "99th percentile of the time on the path",
            |r| r.path.p99.map(|d| d as i64),
        ),
        Column::float("path_share", "ratio", "time on the path over total round-trip time", |r| {
            share(r.path.sum, r.round_trip.sum)
        }),
        Column::count(
            "round_trips_negative",
            "count",
            "round trips shorter than their turnaround: late timestamps in one capture",
            |r| Some(r.negative_paths),
        ),
    ];
    Table { name: "two_point", columns }
}

#[expect(clippy::cast_precision_loss, reason = "a share is a float")]
fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
