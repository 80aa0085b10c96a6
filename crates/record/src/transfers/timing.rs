//! Round trips, timers, and how soon the sender used its permission to send.

use super::Row;
use crate::Column;

#[expect(clippy::cast_possible_truncation, reason = "nanoseconds of timers and round trips")]
#[expect(clippy::too_many_lines, reason = "a few lines for each column")]
pub(super) fn round_trips() -> Vec<Column<Row>> {
    vec![
        Column::count(
            "rtt_samples",
            "count",
            "round-trip times by Karn's rule on bytes, including the handshake's",
            |r| Some(r.rtt.count),
        ),
        Column::integer("rtt_min_ns", "nanoseconds", "smallest round-trip time", |r| r.rtt.min),
        Column::float("rtt_mean_ns", "nanoseconds", "mean round-trip time", |r| r.rtt.mean),
        Column::float(
            "rtt_sd_ns",
            "nanoseconds",
            "standard deviation of the round-trip time, with n − 1",
            |r| r.rtt.deviation,
        ),
        Column::float(
            "rtt_p50_ns",
            "nanoseconds",
            "median round-trip time (Hyndman and Fan type 7; beyond 64 samples from a histogram, \
             within 0.8 %)",
            |r| r.rtt.p50,
        ),
        Column::float("rtt_p90_ns", "nanoseconds", "90th percentile of the round-trip time", |r| {
            r.rtt.p90
        }),
        Column::float("rtt_p99_ns", "nanoseconds", "99th percentile of the round-trip time", |r| {
            r.rtt.p99
        }),
        Column::integer("rtt_max_ns", "nanoseconds", "largest round-trip time", |r| r.rtt.max),
        Column::float(
            "rtt_base_ns",
            "nanoseconds",
            "R₀: smallest round-trip time between sender and receiver observable at this capture \
             point",
            |r| r.rtt_base,
        ),
        Column::float(
            "rtt_path_ns",
            "nanoseconds",
            "R: round-trip time between sender and receiver: mean at the sender, median of \
             timestamp echoes at the receiver, sum of both halves in the middle",
            |r| r.rtt_mean,
        ),
        Column::float("rtt_inflation", "ratio", "R / R₀", |r| Some(r.rtt_mean? / r.rtt_base?)),
        Column::text(
            "rtt_source",
            "source of R: acknowledgements, timestamp_echo, both_halves or none",
            |r| Some(r.rtt_source.to_owned()),
        ),
        Column::count(
            "rtt_ambiguous",
            "count",
            "ACKs without a sample: a byte in their range was retransmitted",
            |r| Some(r.refused.ambiguous.into()),
        ),
        Column::count(
            "rtt_unseen",
            "count",
            "ACKs without a sample: the capture lacks some of the bytes",
            |r| Some(r.refused.unseen.into()),
        ),
        Column::count(
            "rtt_inside",
            "count",
            "ACKs without a sample: they end inside a wire segment",
            |r| Some(r.refused.inside.into()),
        ),
        Column::count(
            "rtt_nonpositive",
            "count",
            "ACKs without a sample: the time was not positive, a clock fault",
            |r| Some(r.refused.not_positive.into()),
        ),
        Column::count(
            "delack_suspects",
            "count",
            "samples that may include a delayed ACK; they stay in the statistics",
            |r| Some(r.delack_suspects.into()),
        ),
        Column::count(
            "rtt_timestamp_samples",
            "count",
            "round-trip times by the timestamp option, data to echo (RFC 7323)",
            |r| Some(r.rtt_timestamp.map_or(0, |t| t.0)),
        ),
        Column::float(
            "rtt_timestamp_min_ns",
            "nanoseconds",
            "smallest round-trip time by timestamps",
            |r| r.rtt_timestamp.map(|t| t.1),
        ),
        Column::float(
            "rtt_timestamp_mean_ns",
            "nanoseconds",
            "mean round-trip time by timestamps",
            |r| r.rtt_timestamp.map(|t| t.2),
        ),
        Column::count(
            "echo_samples",
            "count",
            "times from the receiver's pure ACK to data echoing its timestamp: round trip between \
             capture and sender",
            |r| Some(r.echo.count),
        ),
        Column::integer("echo_min_ns", "nanoseconds", "smallest echo time", |r| r.echo.min),
        Column::float("echo_p50_ns", "nanoseconds", "median echo time", |r| r.echo.p50),
        Column::float("echo_p90_ns", "nanoseconds", "90th percentile of the echo time", |r| {
            r.echo.p90
        }),
        Column::float(
            "owd_increase_ns",
            "nanoseconds",
            "median one-way delay increase from the sender to the capture, by the sender's \
             timestamp clock; null without timestamps",
            |r| r.owd_increase,
        ),
        Column::integer(
            "rto_raw_ns",
            "nanoseconds",
            "final retransmission timeout without a minimum, granularity 1 ms (RFC 6298)",
            |r| r.rto.map(|v| v.raw as i64),
        ),
        Column::integer(
            "rto_rfc_ns",
            "nanoseconds",
            "final retransmission timeout with a minimum of 1 s (RFC 6298)",
            |r| r.rto.map(|v| v.rfc as i64),
        ),
        Column::integer(
            "rto_linux_ns",
            "nanoseconds",
            "final retransmission timeout as in Linux: variation term of at least 200 ms",
            |r| r.rto.map(|v| v.linux as i64),
        ),
        Column::integer(
            "rto_margin_ns",
            "nanoseconds",
            "smallest difference between the raw timeout and the next sample; positive: no long \
             round trip alone could fire it",
            |r| r.rto_margin.map(|m| m as i64),
        ),
    ]
}

#[expect(clippy::cast_possible_truncation, reason = "whole nanoseconds")]
#[expect(clippy::cast_precision_loss, reason = "means")]
#[expect(clippy::too_many_lines, reason = "a few lines for each column")]
pub(super) fn spacing() -> Vec<Column<Row>> {
    vec![
        Column::text("spacing_source", "measured at the sender, or estimated elsewhere", |r| {
            Some(if r.spacing_estimated { "estimated" } else { "measured" }.to_owned())
        }),
        Column::count(
            "spacing_samples",
            "count",
            "receive → send turns of category spacing (Lee et al.: idle time between receiving a \
             packet and sending the next data)",
            |r| Some(r.spacing.count),
        ),
        Column::float("spacing_mean_ns", "nanoseconds", "mean spacing", |r| r.spacing.mean),
        Column::float("spacing_p50_ns", "nanoseconds", "median spacing", |r| r.spacing.p50),
        Column::float("spacing_p99_ns", "nanoseconds", "99th percentile of the spacing", |r| {
            r.spacing.p99
        }),
        Column::integer("spacing_max_ns", "nanoseconds", "largest spacing", |r| r.spacing.max),
        Column::float(
            "packet_period_ns",
            "nanoseconds",
            "T: packet period P·R₀/W of an ideal self-clocked sender; at least 8P/C if the \
             capacity is known",
            |r| r.packet_period,
        ),
        Column::float(
            "long_pause_samples",
            "count",
            "pauses longer than R₀: the sender missed a full window (Lee et al.: oversize packet \
             spacing)",
            |r| r.long_pauses.map(|o| o.0),
        ),
        Column::float("long_pause_ns", "nanoseconds", "total of these pauses", |r| {
            r.long_pauses.map(|o| o.1)
        }),
        Column::float("long_pause_fraction", "ratio", "f: long pauses over D", |r| {
            r.long_pause_fraction
        }),
        Column::float("spacing_above_period_samples", "count", "spacings longer than T", |r| {
            r.large
        }),
        Column::float(
            "idle_open_window_threshold_ns",
            "nanoseconds",
            "response time above which the sender counts as idle with an open window: max(4·T, \
             4·p/X, 1 ms)",
            |r| r.idle_open_window_threshold,
        ),
        Column::float("idle_open_window_samples", "count", "responses above the threshold", |r| {
            r.idle_open_window.map(|w| w.0)
        }),
        Column::float("idle_open_window_ns", "nanoseconds", "total time of these responses", |r| {
            r.idle_open_window.map(|w| w.1)
        }),
        Column::float(
            "idle_open_window_fraction",
            "ratio",
            "h: share of D with an open window and data to send, but nothing sent",
            |r| r.idle_open_window_fraction,
        ),
        Column::float(
            "idle_open_window_at_rate_fraction",
            "ratio",
            "h with the threshold from the 90th percentile of the delivery rate, where that \
             exceeds the mean rate",
            |r| r.idle_open_window_at_rate_fraction,
        ),
        Column::float(
            "empty_fraction",
            "ratio",
            "share of D with nothing in flight although the window was open",
            |r| r.empty_fraction,
        ),
        Column::count(
            "window_wait_samples",
            "count",
            "turns that waited for the receiver's window",
            |r| r.window_wait.map(|w| w.0),
        ),
        Column::integer(
            "window_wait_ns",
            "nanoseconds",
            "total wait for the receiver's window",
            |r| r.window_wait.map(|w| w.1),
        ),
        Column::count(
            "recovery_wait_samples",
            "count",
            "turns that ended in a retransmission",
            |r| r.recovery_wait.map(|w| w.0),
        ),
        Column::integer(
            "recovery_wait_ns",
            "nanoseconds",
            "total wait before these retransmissions",
            |r| r.recovery_wait.map(|w| w.1),
        ),
        Column::count(
            "held_by_network_samples",
            "count",
            "pauses absent from the sender's timestamps: the network held the packets (not \
             measured at the sender)",
            |r| r.held_by_network.map(|h| h.0),
        ),
        Column::integer("held_by_network_ns", "nanoseconds", "total of these pauses", |r| {
            r.held_by_network.map(|h| h.1)
        }),
        Column::count(
            "trains",
            "count",
            "runs of data packets without a reception between them",
            |r| r.trains.map(|t| t.0),
        ),
        Column::float("train_packets_mean", "packets", "mean train length", |r| {
            r.trains.filter(|t| t.0 > 0).map(|t| t.1 as f64 / t.0 as f64)
        }),
        Column::count("train_packets_max", "packets", "longest train", |r| {
            r.trains.map(|t| t.2.into())
        }),
        Column::float("train_gap_mean_ns", "nanoseconds", "mean gap inside trains", |r| {
            r.train_gaps.filter(|g| g.0 > 0).map(|g| g.1 as f64 / g.0 as f64)
        }),
        Column::integer(
            "throughput_gap_ns",
            "nanoseconds",
            "throughput gap as time: D less the time the same bytes take at X₁",
            |r| r.throughput_gap.map(|d| d as i64),
        ),
        Column::float(
            "throughput_gap_explained",
            "ratio",
            "share of the throughput gap explained by long pauses; null if the gap is below 5 % \
             of D",
            |r| r.throughput_gap_explained,
        ),
        Column::float(
            "host_overlap",
            "ratio",
            "share of long-pause time with every other active transfer of the host silent too",
            |r| r.host_overlap,
        ),
    ]
}
