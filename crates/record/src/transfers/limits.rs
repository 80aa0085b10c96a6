//! How fast it went, what was lost, and what took the time.

use super::{Row, column};
use crate::{Column, Values};

pub(super) fn throughput() -> Vec<Column<Row>> {
    vec![
        column(
            "throughput_bytes_per_second",
            "B/s",
            "X: bytes acknowledged over D; at the receiver unique bytes over first to last arrival",
            Values::Float(|r| r.throughput),
        ),
        column(
            "x0_bytes_per_second",
            "B/s",
            "what the window allows at the base round-trip time: W·p/(P·R₀)",
            Values::Float(|r| r.bounds[0]),
        ),
        column(
            "x1_bytes_per_second",
            "B/s",
            "what the window allows at the measured round-trip time: W·p/(P·R)",
            Values::Float(|r| r.bounds[1]),
        ),
        column(
            "x2_bytes_per_second",
            "B/s",
            "loss bound p/R·√(1.5/loss) (Mathis et al. 1997); null without loss",
            Values::Float(|r| r.bounds[2]),
        ),
        column(
            "x3_bytes_per_second",
            "B/s",
            "capacity bound C·p/P; null when the capacity is unknown",
            Values::Float(|r| r.bounds[3]),
        ),
        column(
            "rate_p10_bytes_per_second",
            "B/s",
            "10th percentile of the delivery rate over max(mean RTT, 50 ms)",
            Values::Float(|r| r.rates.map(|x| x.p10)),
        ),
        column(
            "rate_p50_bytes_per_second",
            "B/s",
            "median",
            Values::Float(|r| r.rates.map(|x| x.p50)),
        ),
        column(
            "rate_p90_bytes_per_second",
            "B/s",
            "90th percentile",
            Values::Float(|r| r.rates.map(|x| x.p90)),
        ),
        column("steadiness", "1", "P10/P90 of the delivery rate", Values::Float(|r| r.steadiness)),
        column(
            "pipe_full",
            "1",
            "share of D with at least 0.9·P90·R₀ outstanding",
            Values::Float(|r| r.pipe_full),
        ),
        column("capacity_bytes_per_second", "B/s", "C at IP level", Values::Float(|r| r.capacity)),
        column(
            "capacity_source",
            "",
            "given, or delivery_rate when steadiness ≥ 0.9, pipe_full ≥ 0.8 and X < 0.8·X₁",
            Values::Text(|r| r.capacity_source.map(ToOwned::to_owned)),
        ),
    ]
}

pub(super) fn loss() -> Vec<Column<Row>> {
    vec![
        column(
            "loss_rate",
            "1",
            "retransmitted over sent data segments, counted on the wire",
            Values::Float(|r| r.loss_rate),
        ),
        column(
            "loss_rate_genuine",
            "1",
            "the same without spurious retransmissions",
            Values::Float(|r| r.loss_rate_genuine),
        ),
        column(
            "loss_bytes",
            "1",
            "retransmitted over sent payload bytes",
            Values::Float(|r| r.loss_bytes),
        ),
        column(
            "loss_events",
            "1",
            "loss recoveries",
            Values::Count(|r| Some(r.loss_events.into())),
        ),
        column(
            "loss_event_rate",
            "1",
            "recoveries per data segment",
            Values::Float(|r| r.loss_event_rate),
        ),
        column(
            "loss_upstream",
            "1",
            "share lost between sender and a capture in the middle (Benko and Veres 2002)",
            Values::Float(|r| r.loss_upstream),
        ),
        column(
            "loss_downstream",
            "1",
            "share lost between a capture in the middle and the receiver",
            Values::Float(|r| r.loss_downstream),
        ),
        column(
            "loss_receiver",
            "1",
            "share lost before a capture at the receiver",
            Values::Float(|r| r.loss_receiver),
        ),
        column(
            "loss_persistence",
            "1",
            "share of ten equal time slices with a genuine retransmission",
            Values::Float(|r| r.loss_persistence),
        ),
        column(
            "rtt_before_loss_ns",
            "ns",
            "median of the last round-trip time before each loss; null without losses",
            Values::Float(|r| r.rtt_before_loss),
        ),
        column(
            "rtt_high_ns",
            "ns",
            "99th percentile of the same round-trip time",
            Values::Float(|r| r.rtt_high),
        ),
        column(
            "loss_level_rank",
            "1",
            "share of the packets that met fewer tokens than the lost ones in a bucket filled at the rate between the losses (Flach et al. 2016)",
            Values::Float(|r| r.loss_level_rank),
        ),
        column(
            "filled_overtaken",
            "1",
            "holes taken for upstream losses whose filling was stamped before data that came by already: overtaken, and not counted as lost",
            Values::Count(|r| Some(r.overtaken.into())),
        ),
        column(
            "reordered_answers",
            "1",
            "times that duplicate acknowledgements ended although nothing had been retransmitted",
            Values::Count(|r| Some(r.reordered_answers.into())),
        ),
    ]
}

pub(super) fn limits() -> Vec<Column<Row>> {
    vec![
        column(
            "window_saturated",
            "1",
            "share of D with the window at 0.9 of its largest value or more",
            Values::Float(|r| r.window_saturated),
        ),
        column(
            "window_shrunk",
            "1",
            "share of D with a window below 0.9 of the largest until then",
            Values::Float(|r| r.window_shrunk),
        ),
        column(
            "window_closed",
            "1",
            "share of D with a window below two segments",
            Values::Float(|r| r.window_closed),
        ),
        column(
            "rwnd_limited",
            "1",
            "share of D with less than one segment of room in the receiver's window after a send",
            Values::Float(|r| r.rwnd_limited),
        ),
        column(
            "app_limited_fraction",
            "1",
            "share of D idle for at least R₀ after a short segment with everything acknowledged (T-RAT)",
            Values::Float(|r| r.app_limited_fraction),
        ),
        column(
            "share_application",
            "1",
            "share of D waiting for the application",
            Values::Float(|r| r.shares.map(|s| s[0])),
        ),
        column(
            "share_receiver_window",
            "1",
            "share of D waiting for the receiver's window",
            Values::Float(|r| r.shares.map(|s| s[1])),
        ),
        column(
            "share_loss_recovery",
            "1",
            "share of D in loss recovery",
            Values::Float(|r| r.shares.map(|s| s[2])),
        ),
        column(
            "share_host",
            "1",
            "share of D withheld by the sending host",
            Values::Float(|r| r.shares.map(|s| s[3])),
        ),
        column(
            "share_path",
            "1",
            "the rest: the path (and the congestion window) set the pace",
            Values::Float(|r| r.shares.map(|s| s[4])),
        ),
        column(
            "slow_start",
            "",
            "it ended before slow start could reach the bound: no loss and too few round trips",
            Values::Truth(|r| r.slow_start),
        ),
        column(
            "too_short",
            "",
            "less than 64 kB or fewer than ten round trips: not judged",
            Values::Truth(|r| Some(r.too_short)),
        ),
        column(
            "outage_ns",
            "ns",
            "silence of at least two seconds with data outstanding and nothing new sent or acknowledged",
            Values::Integer(|r| Some(r.outage.0)),
        ),
        column(
            "unanswered_ns",
            "ns",
            "time of at least half a second in which two or more retransmissions were left without any answer",
            Values::Integer(|r| Some(r.unanswered.0)),
        ),
        column(
            "interrupted_ns",
            "ns",
            "silences of at least half a second amid full segments that a repeated or a lone packet ended: the sender's timeouts, from afar",
            Values::Integer(|r| Some(r.interrupted.0)),
        ),
        column(
            "burst_rate_bytes_per_second",
            "B/s",
            "mean rate until the bend: where the delivered bytes lie highest above the line from their first to their last",
            Values::Float(|r| r.bend.map(|b| b.rate_before)),
        ),
        column(
            "burst_left_rate_bytes_per_second",
            "B/s",
            "mean rate from the bend on",
            Values::Float(|r| r.bend.map(|b| b.rate_after)),
        ),
        column(
            "burst_left_floor_ns",
            "ns",
            "median RTT floor from the bend on",
            Values::Float(|r| r.bend.and_then(|b| b.floor_after)),
        ),
        column(
            "rtt_floor_before_ns",
            "ns",
            "median RTT floor before its one best step",
            Values::Float(|r| r.floor_step.map(|s| s.before)),
        ),
        column(
            "rtt_floor_after_ns",
            "ns",
            "median RTT floor after it",
            Values::Float(|r| r.floor_step.map(|s| s.after)),
        ),
        column(
            "rtt_floor_left",
            "1",
            "share of the floor's absolute deviation that the step leaves",
            Values::Float(|r| r.floor_step.map(|s| s.left)),
        ),
        column(
            "rtt_floor_flight_ratio",
            "1",
            "rate times floor before the step over the same after it",
            Values::Float(|r| r.floor_step.and_then(|s| s.flight_ratio)),
        ),
        column(
            "stall_gaps_ns",
            "ns",
            "silences that this transfer shared with the others of its host: the host stood still",
            Values::Integers(|r| r.stall_gaps.iter().map(|s| s.0).collect()),
        ),
        column(
            "flags",
            "",
            "what was noticed: midstream, clock_step, offloaded, data_after_fin, fragmented, wild_seq, one_sided, records_forgotten, capture_loss",
            Values::Words(|r| r.flags.iter().map(ToString::to_string).collect()),
        ),
    ]
}
