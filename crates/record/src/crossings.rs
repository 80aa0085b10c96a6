//! The table of crossings: each direction of each connection that was seen at two places.

use trustbed_ends::{CrossingRow, End};

use crate::text::address;
use crate::{Column, Table, Values};

type Row = CrossingRow;

const fn column(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    values: Values<Row>,
) -> Column<Row> {
    Column { name, unit, meaning, values }
}

/// The first twelve bytes of an IPv4 address among IPv6 ones (RFC 4291, 2.5.5.2).
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

fn written(bytes: &[u8; 16]) -> String {
    address(bytes, !bytes.starts_with(&MAPPED))
}

/// Crossings: one row per direction of a connection, in the order in which the connections ended.
#[expect(clippy::too_many_lines, reason = "a few lines for each column")]
#[expect(clippy::cast_possible_truncation, reason = "durations in whole nanoseconds")]
pub fn crossings() -> Table<CrossingRow> {
    let columns: Vec<Column<Row>> = vec![
        column(
            "sender",
            "",
            "address of the side that sends in this direction",
            Values::Text(|r| Some(written(&r.key.source(r.way).0))),
        ),
        column(
            "sender_port",
            "1",
            "its port",
            Values::Count(|r| Some(r.key.source(r.way).1.into())),
        ),
        column(
            "receiver",
            "",
            "address of the other side",
            Values::Text(|r| Some(written(&r.key.source(1 - r.way).0))),
        ),
        column(
            "receiver_port",
            "1",
            "its port",
            Values::Count(|r| Some(r.key.source(1 - r.way).1.into())),
        ),
        column(
            "from_place",
            "",
            "the capture that the sender is near: first or second",
            Values::Text(|r| {
                Some(if r.from == End::First { "first" } else { "second" }.to_owned())
            }),
        ),
        column(
            "start_ns",
            "ns",
            "time of its first frame, by the clock of the first capture",
            Values::Time(|r| Some(r.first.0)),
        ),
        column(
            "duration_ns",
            "ns",
            "first to last frame",
            Values::Integer(|r| Some((r.last - r.first).0)),
        ),
        column(
            "data_sent",
            "1",
            "frames with payload, SYN or FIN that were seen beside the sender",
            Values::Count(|r| Some(r.data.sent)),
        ),
        column(
            "data_passed",
            "1",
            "those of them that were seen beside the receiver as well",
            Values::Count(|r| Some(r.data.passed)),
        ),
        column(
            "data_lost",
            "1",
            "those that were not: lost between the two places",
            Values::Count(|r| Some(r.data.lost)),
        ),
        column(
            "data_unseen",
            "1",
            "frames seen beside the receiver and not beside the sender: the first capture missed them, or something on the way made them",
            Values::Count(|r| Some(r.data.unseen)),
        ),
        column(
            "data_undecided",
            "1",
            "frames that were on their way when a capture began or ended, that too many others waited with, or that may go elsewhere",
            Values::Count(|r| Some(r.data.undecided)),
        ),
        column(
            "bare_sent",
            "1",
            "the same for frames without data: acknowledgements, resets",
            Values::Count(|r| Some(r.bare.sent)),
        ),
        column(
            "bare_passed",
            "1",
            "those of them that were seen beside the receiver as well",
            Values::Count(|r| Some(r.bare.passed)),
        ),
        column(
            "bare_lost",
            "1",
            "those lost between the two places",
            Values::Count(|r| Some(r.bare.lost)),
        ),
        column(
            "lost_bytes",
            "B",
            "payload of the frames that were lost",
            Values::Count(|r| Some(r.lost_bytes)),
        ),
        column(
            "loss_events",
            "1",
            "losses; those of frames that followed one another count as one",
            Values::Count(|r| Some(r.loss_events)),
        ),
        column(
            "needless_frames",
            "1",
            "data that arrived when all of it had arrived before: sent again for nothing",
            Values::Count(|r| Some(r.needless)),
        ),
        column(
            "reordered_frames",
            "1",
            "frames that arrived behind one sent after them (RFC 4737)",
            Values::Count(|r| Some(r.reordered)),
        ),
        column(
            "delay_floor_ns",
            "ns",
            "smallest one-way delay by both clocks; as wrong as their comparison, and negative where that is",
            Values::Integer(|r| r.delay_floor.map(|d| d.0)),
        ),
        column(
            "delay_above_floor_p50_ns",
            "ns",
            "median one-way delay above the smallest of all connections in this direction: queues, whatever the clocks' offset",
            Values::Integer(|r| r.delay_above_floor.median.map(|d| d as i64)),
        ),
        column(
            "delay_above_floor_p95_ns",
            "ns",
            "its 95th percentile",
            Values::Integer(|r| r.delay_above_floor.p95.map(|d| d as i64)),
        ),
        column(
            "delay_above_floor_p99_ns",
            "ns",
            "its 99th percentile",
            Values::Integer(|r| r.delay_above_floor.p99.map(|d| d as i64)),
        ),
        column(
            "delays_negative",
            "1",
            "frames that arrived before they were sent, by both clocks",
            Values::Count(|r| Some(r.delays_negative)),
        ),
        column(
            "round_trips",
            "1",
            "round trips that could be taken apart: data acknowledged exactly, sent once",
            Values::Count(|r| Some(r.round_trip.count)),
        ),
        column(
            "round_trip_p50_ns",
            "ns",
            "median time from data to its acknowledgement, beside the sender",
            Values::Integer(|r| r.round_trip.median.map(|d| d as i64)),
        ),
        column(
            "turnaround_p50_ns",
            "ns",
            "the part of it between arrival and acknowledgement, beside the receiver: its host, delayed acknowledgements included",
            Values::Integer(|r| r.turnaround.median.map(|d| d as i64)),
        ),
        column(
            "path_p50_ns",
            "ns",
            "the rest, spent on the way there and back; no clocks are compared",
            Values::Integer(|r| r.path.median.map(|d| d as i64)),
        ),
        column(
            "round_trip_p99_ns",
            "ns",
            "99th percentile of the round trips",
            Values::Integer(|r| r.round_trip.p99.map(|d| d as i64)),
        ),
        column(
            "turnaround_p99_ns",
            "ns",
            "99th percentile of what was spent at the receiver",
            Values::Integer(|r| r.turnaround.p99.map(|d| d as i64)),
        ),
        column(
            "path_p99_ns",
            "ns",
            "99th percentile of what was spent on the way",
            Values::Integer(|r| r.path.p99.map(|d| d as i64)),
        ),
        column(
            "path_share",
            "1",
            "of all the time of round trips, the share spent on the way",
            Values::Float(|r| share(r.path.sum, r.round_trip.sum)),
        ),
        column(
            "round_trips_negative",
            "1",
            "round trips shorter than their turnaround: a capture stamped late",
            Values::Count(|r| Some(r.negative_paths)),
        ),
    ];
    Table { name: "crossings", columns }
}

#[expect(clippy::cast_precision_loss, reason = "a share is a float")]
fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
