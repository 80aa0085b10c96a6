//! How fast it went, what was lost, and what took the time.

use super::Row;
use crate::Column;

pub(super) fn throughput() -> Vec<Column<Row>> {
    vec![
        Column::float(
            "throughput_bytes_per_second",
            "bytes/second",
            "X: acknowledged bytes over D; at the receiver, unique bytes over the time from first \
             to last arrival",
            |r| r.throughput,
        ),
        Column::float(
            "x0_bytes_per_second",
            "bytes/second",
            "X₀: window bound at the base round-trip time, W·p/(P·R₀)",
            |r| r.bounds[0],
        ),
        Column::float(
            "x1_bytes_per_second",
            "bytes/second",
            "X₁: window bound at the measured round-trip time, W·p/(P·R)",
            |r| r.bounds[1],
        ),
        Column::float(
            "x2_bytes_per_second",
            "bytes/second",
            "X₂: loss bound p/R·√(1.5/loss) (Mathis et al. 1997); null without loss",
            |r| r.bounds[2],
        ),
        Column::float(
            "x3_bytes_per_second",
            "bytes/second",
            "X₃: capacity bound C·p/P; null if the capacity is unknown",
            |r| r.bounds[3],
        ),
        Column::float(
            "rate_p10_bytes_per_second",
            "bytes/second",
            "10th percentile of the delivery rate over max(mean RTT, 50 ms)",
            |r| r.rates.map(|x| x.p10),
        ),
        Column::float(
            "rate_p50_bytes_per_second",
            "bytes/second",
            "median of the delivery rate",
            |r| r.rates.map(|x| x.p50),
        ),
        Column::float(
            "rate_p90_bytes_per_second",
            "bytes/second",
            "90th percentile of the delivery rate",
            |r| r.rates.map(|x| x.p90),
        ),
        Column::float("steadiness", "ratio", "P10/P90 of the delivery rate", |r| r.steadiness),
        Column::float(
            "pipe_full",
            "ratio",
            "share of D with at least 0.9·P90·R₀ in flight",
            |r| r.pipe_full,
        ),
        Column::float(
            "capacity_bytes_per_second",
            "bytes/second",
            "C: capacity at the IP layer",
            |r| r.capacity,
        ),
        Column::text(
            "capacity_source",
            "given, or delivery_rate when steadiness ≥ 0.9, pipe_full ≥ 0.8 and X < 0.8·X₁",
            |r| r.capacity_source.map(ToOwned::to_owned),
        ),
    ]
}

pub(super) fn loss() -> Vec<Column<Row>> {
    vec![
        Column::float(
            "loss_rate",
            "ratio",
            "retransmitted over sent data segments, counted on the wire",
            |r| r.loss_rate,
        ),
        Column::float(
            "loss_rate_genuine",
            "ratio",
            "loss rate without spurious retransmissions",
            |r| r.loss_rate_genuine,
        ),
        Column::float("loss_bytes", "ratio", "retransmitted over sent payload bytes", |r| {
            r.loss_bytes
        }),
        Column::count("loss_events", "count", "loss recoveries", |r| Some(r.loss_events.into())),
        Column::float("loss_event_rate", "ratio", "loss recoveries per data segment", |r| {
            r.loss_event_rate
        }),
        Column::float(
            "loss_upstream",
            "ratio",
            "loss between the sender and a capture in the middle, or at an unknown place (Benko \
             and Veres 2002)",
            |r| r.loss_upstream,
        ),
        Column::float(
            "loss_downstream",
            "ratio",
            "loss between a capture in the middle, or at an unknown place, and the receiver",
            |r| r.loss_downstream,
        ),
        Column::float("loss_receiver", "ratio", "loss before a capture at the receiver", |r| {
            r.loss_receiver
        }),
        Column::float(
            "loss_persistence",
            "ratio",
            "share of ten equal time slices with a genuine retransmission",
            |r| r.loss_persistence,
        ),
        Column::float(
            "rtt_before_loss_ns",
            "nanoseconds",
            "median of the last round-trip time before each loss; null without loss",
            |r| r.rtt_before_loss,
        ),
        Column::float(
            "rtt_high_ns",
            "nanoseconds",
            "99th percentile of the same round-trip times",
            |r| r.rtt_high,
        ),
        Column::float(
            "loss_level_rank",
            "ratio",
            "share of packets that met fewer tokens than the lost ones in a bucket filled at the \
             rate between losses (Flach et al. 2016)",
            |r| r.loss_level_rank,
        ),
        Column::count(
            "filled_overtaken",
            "segments",
            "late fills with a sender timestamp older than data already captured: reordered, not \
             lost",
            |r| Some(r.overtaken.into()),
        ),
        Column::count(
            "reordering_dupack_series",
            "count",
            "series of duplicate ACKs that ended without a retransmission",
            |r| Some(r.reordering_dupack_series.into()),
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a few lines for each column")]
pub(super) fn limits() -> Vec<Column<Row>> {
    vec![
        Column::float(
            "window_saturated",
            "ratio",
            "share of D with the window at 0.9 of its maximum or more",
            |r| r.window_saturated,
        ),
        Column::float(
            "window_shrunk",
            "ratio",
            "share of D with the window below 0.9 of its maximum so far",
            |r| r.window_shrunk,
        ),
        Column::float(
            "window_closed",
            "ratio",
            "share of D with a window below two segments",
            |r| r.window_closed,
        ),
        Column::float(
            "rwnd_limited",
            "ratio",
            "share of D with less than one segment of room in the receiver's window after a send",
            |r| r.rwnd_limited,
        ),
        Column::float(
            "window_full",
            "ratio",
            "share of D with less than two segments of room in the receiver's window after a send",
            |r| r.window_full,
        ),
        Column::float(
            "app_limited_fraction",
            "ratio",
            "share of D idle for at least R₀ after a short segment with nothing in flight (T-RAT)",
            |r| r.app_limited_fraction,
        ),
        Column::truth(
            "slow_start",
            "true if the transfer ended before slow start reached the bound: no loss and too few \
             round trips",
            |r| r.slow_start,
        ),
        Column::truth("too_short", "true below 64 kB or ten round trips: not judged", |r| {
            Some(r.too_short)
        }),
        Column::integer(
            "outage_ns",
            "nanoseconds",
            "silences of at least 2 s with data in flight and nothing new sent or acknowledged",
            |r| Some(r.outage.0),
        ),
        Column::integer(
            "unanswered_ns",
            "nanoseconds",
            "periods of at least 0.5 s with two or more retransmissions and no response",
            |r| Some(r.unanswered.0),
        ),
        Column::integer(
            "interrupted_ns",
            "nanoseconds",
            "silences of at least 0.5 s between full segments that end with a repeated or single \
             packet: sender timeouts, inferred remotely",
            |r| Some(r.interrupted.0),
        ),
        Column::float(
            "burst_rate_bytes_per_second",
            "bytes/second",
            "mean rate before the bend: the point where delivered bytes lie highest above the \
             straight line from first to last",
            |r| r.bend.map(|b| b.rate_before),
        ),
        Column::float(
            "sustained_rate_bytes_per_second",
            "bytes/second",
            "mean rate after the bend",
            |r| r.bend.map(|b| b.rate_after),
        ),
        Column::float(
            "sustained_rtt_min_ns",
            "nanoseconds",
            "median of the windowed minimum RTT after the bend",
            |r| r.bend.and_then(|b| b.floor_after),
        ),
        Column::float(
            "rtt_min_before_step_ns",
            "nanoseconds",
            "median of the windowed minimum RTT before its best single step",
            |r| r.floor_step.map(|s| s.before),
        ),
        Column::float(
            "rtt_min_after_step_ns",
            "nanoseconds",
            "median of the windowed minimum RTT after that step",
            |r| r.floor_step.map(|s| s.after),
        ),
        Column::float(
            "rtt_min_step_residual",
            "ratio",
            "share of the minimum RTT's absolute deviation that the step leaves unexplained",
            |r| r.floor_step.map(|s| s.left),
        ),
        Column::float(
            "rtt_min_step_flight_ratio",
            "ratio",
            "rate times minimum RTT before the step over the same after it",
            |r| r.floor_step.and_then(|s| s.flight_ratio),
        ),
        Column::integers(
            "stall_gaps_ns",
            "nanoseconds",
            "silences common to all transfers of the sending host: host stalls",
            |r| r.stall_gaps.iter().map(|s| s.0).collect(),
        ),
        Column::words(
            "flags",
            "observations: midstream, clock_step, offloaded, data_after_fin, fragmented, \
             wild_seq, one_sided, records_forgotten, capture_loss",
            |r| r.flags.iter().map(ToString::to_string).collect(),
        ),
    ]
}

pub(super) fn policing() -> Vec<Column<Row>> {
    vec![
        Column::count(
            "exchanges_lossy",
            "count",
            "exchanges with at least 15 losses whose first copies were captured; null without \
             losses",
            |r| r.policed.map(|p| p.tried.into()),
        ),
        Column::count(
            "exchanges_bucket_empty",
            "count",
            "of them, those at whose losses a token bucket was empty by the published conditions \
             (Flach et al. 2016)",
            |r| r.policed.map(|p| p.emptied.into()),
        ),
        Column::float(
            "loss_burst_rank",
            "ratio",
            "mean share of passed packets that followed fewer bytes within one base RTT than a \
             lost packet did; 0.5 for losses that do not depend on bursts",
            |r| r.policed.and_then(|p| p.burst_rank),
        ),
        Column::count(
            "loss_burst_samples",
            "count",
            "losses behind `loss_burst_rank`, the first of adjacent ones only",
            |r| r.policed.map(|p| p.losses.into()),
        ),
        Column::float(
            "queued_before_loss",
            "packets",
            "median RTT above its base just before losses, in packets' times at \
             `token_rate_bytes_per_second`",
            |r| r.policed.and_then(|p| p.queued),
        ),
        Column::float(
            "token_rate_bytes_per_second",
            "bytes/second",
            "rate that passed between the first and the last loss of an exchange: median over \
             exchanges",
            |r| r.policed.and_then(|p| p.rate),
        ),
        Column::float(
            "token_burst_bytes",
            "bytes",
            "bytes that an exchange passed above that rate before its first loss: median over \
             exchanges",
            |r| r.policed.and_then(|p| p.burst),
        ),
    ]
}
