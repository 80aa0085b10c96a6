//! Round trips, timers, and how soon the sender used its permission to send.

use super::{Row, column};
use crate::{Column, Values};

#[expect(clippy::cast_possible_truncation, reason = "nanoseconds of timers and round trips")]
pub(super) fn round_trips() -> Vec<Column<Row>> {
    vec![
        column(
            "rtt_samples",
            "1",
            "round-trip times by Karn's rule on bytes, the handshake's included",
            Values::Count(|r| Some(r.rtt.count)),
        ),
        column("rtt_min_ns", "ns", "smallest", Values::Integer(|r| r.rtt.min)),
        column("rtt_mean_ns", "ns", "mean", Values::Float(|r| r.rtt.mean)),
        column(
            "rtt_sd_ns",
            "ns",
            "standard deviation with n − 1",
            Values::Float(|r| r.rtt.deviation),
        ),
        column(
            "rtt_p50_ns",
            "ns",
            "median (Hyndman and Fan type 7; from a histogram beyond 64 samples, within 0.8 %)",
            Values::Float(|r| r.rtt.p50),
        ),
        column("rtt_p90_ns", "ns", "90th percentile", Values::Float(|r| r.rtt.p90)),
        column("rtt_p99_ns", "ns", "99th percentile", Values::Float(|r| r.rtt.p99)),
        column("rtt_max_ns", "ns", "largest", Values::Integer(|r| r.rtt.max)),
        column(
            "rtt_base_ns",
            "ns",
            "R₀: smallest round-trip time between sender and receiver that this place allows to see",
            Values::Float(|r| r.rtt_base),
        ),
        column(
            "rtt_path_ns",
            "ns",
            "R: round-trip time between sender and receiver: the mean at the sender, the median of timestamp echoes at the receiver, the sum of both halves in the middle",
            Values::Float(|r| r.rtt_mean),
        ),
        column("rtt_inflation", "1", "R / R₀", Values::Float(|r| Some(r.rtt_mean? / r.rtt_base?))),
        column(
            "rtt_source",
            "",
            "acknowledgements, timestamp_echo, both_halves or none",
            Values::Text(|r| Some(r.rtt_source.to_owned())),
        ),
        column(
            "rtt_ambiguous",
            "1",
            "acknowledgements without a sample because something in their range was sent twice",
            Values::Count(|r| Some(r.refused.ambiguous.into())),
        ),
        column(
            "rtt_unseen",
            "1",
            "… because the bytes were not all captured",
            Values::Count(|r| Some(r.refused.unseen.into())),
        ),
        column(
            "rtt_inside",
            "1",
            "… because they ended inside a wire segment",
            Values::Count(|r| Some(r.refused.inside.into())),
        ),
        column(
            "rtt_nonpositive",
            "1",
            "… because the sample was not positive: a clock fault",
            Values::Count(|r| Some(r.refused.not_positive.into())),
        ),
        column(
            "delack_suspects",
            "1",
            "samples that may hold a delayed acknowledgement; they stay in the statistics",
            Values::Count(|r| Some(r.delack_suspects.into())),
        ),
        column(
            "rtt_timestamp_samples",
            "1",
            "round-trip times by the timestamp option, data to echo (RFC 7323)",
            Values::Count(|r| Some(r.rtt_timestamp.map_or(0, |t| t.0))),
        ),
        column(
            "rtt_timestamp_min_ns",
            "ns",
            "smallest of them",
            Values::Float(|r| r.rtt_timestamp.map(|t| t.1)),
        ),
        column(
            "rtt_timestamp_mean_ns",
            "ns",
            "their mean",
            Values::Float(|r| r.rtt_timestamp.map(|t| t.2)),
        ),
        column(
            "echo_samples",
            "1",
            "times from the receiver's pure ACK to data that echo its timestamp: the way to the sender",
            Values::Count(|r| Some(r.echo.count)),
        ),
        column("echo_min_ns", "ns", "smallest of them", Values::Integer(|r| r.echo.min)),
        column("echo_p50_ns", "ns", "their median", Values::Float(|r| r.echo.p50)),
        column("echo_p90_ns", "ns", "their 90th percentile", Values::Float(|r| r.echo.p90)),
        column(
            "way_rise_ns",
            "ns",
            "median one-way delay from the sender to the capture above its smallest, by the sender's clock in the timestamp option; null without it",
            Values::Float(|r| r.way_rise),
        ),
        column(
            "rto_raw_ns",
            "ns",
            "retransmission timer at the end, no lower limit, granularity 1 ms (RFC 6298)",
            Values::Integer(|r| r.rto.map(|v| v.raw as i64)),
        ),
        column(
            "rto_rfc_ns",
            "ns",
            "the same with a lower limit of 1 s",
            Values::Integer(|r| r.rto.map(|v| v.rfc as i64)),
        ),
        column(
            "rto_linux_ns",
            "ns",
            "the same with a variation term of at least 200 ms, as Linux computes it",
            Values::Integer(|r| r.rto.map(|v| v.linux as i64)),
        ),
        column(
            "rto_margin_ns",
            "ns",
            "smallest distance between the raw timer and the sample that followed: positive means that no long round trip alone could fire it",
            Values::Integer(|r| r.rto_margin.map(|m| m as i64)),
        ),
    ]
}

#[expect(clippy::cast_possible_truncation, reason = "whole nanoseconds")]
#[expect(clippy::cast_precision_loss, reason = "means")]
pub(super) fn spacing() -> Vec<Column<Row>> {
    vec![
        column(
            "spacing_source",
            "",
            "measured at the sender, or estimated elsewhere",
            Values::Text(|r| {
                Some(if r.spacing_estimated { "estimated" } else { "measured" }.to_owned())
            }),
        ),
        column(
            "spacing_samples",
            "1",
            "receive → send turns of category spacing (Lee et al.: idle time between receiving a packet and sending the next data)",
            Values::Count(|r| Some(r.spacing.count)),
        ),
        column("spacing_mean_ns", "ns", "their mean", Values::Float(|r| r.spacing.mean)),
        column("spacing_p50_ns", "ns", "median", Values::Float(|r| r.spacing.p50)),
        column("spacing_p99_ns", "ns", "99th percentile", Values::Float(|r| r.spacing.p99)),
        column("spacing_max_ns", "ns", "largest", Values::Integer(|r| r.spacing.max)),
        column(
            "packet_period_ns",
            "ns",
            "T: packet period P·R₀/W of the ideal self-clocked sender; with known capacity at least 8P/C",
            Values::Float(|r| r.packet_period),
        ),
        column(
            "oversize_samples",
            "1",
            "turns longer than R₀: a full window of opportunity was missed",
            Values::Float(|r| r.oversize.map(|o| o.0)),
        ),
        column("oversize_ns", "ns", "their sum", Values::Float(|r| r.oversize.map(|o| o.1))),
        column(
            "oversize_fraction",
            "1",
            "f: their share of D",
            Values::Float(|r| r.oversize_fraction),
        ),
        column("large_samples", "1", "turns longer than T", Values::Float(|r| r.large)),
        column(
            "withheld_threshold_ns",
            "ns",
            "a response counts as withheld above max(4·T, 4·p/X, 1 ms)",
            Values::Float(|r| r.withheld_threshold),
        ),
        column(
            "withheld_samples",
            "1",
            "responses above it",
            Values::Float(|r| r.withheld.map(|w| w.0)),
        ),
        column("withheld_ns", "ns", "their sum", Values::Float(|r| r.withheld.map(|w| w.1))),
        column(
            "withheld_fraction",
            "1",
            "h: share of D in which the sender had permission and data to send and did not",
            Values::Float(|r| r.withheld_fraction),
        ),
        column(
            "withheld_at_rate_fraction",
            "1",
            "the same with the threshold by the 90th percentile of the delivery rate, where that exceeds the mean rate",
            Values::Float(|r| r.withheld_at_rate_fraction),
        ),
        column(
            "empty_fraction",
            "1",
            "share of D with nothing outstanding although the window was open",
            Values::Float(|r| r.empty_fraction),
        ),
        column(
            "window_wait_samples",
            "1",
            "turns that waited for the receiver's window",
            Values::Count(|r| r.window_wait.map(|w| w.0)),
        ),
        column(
            "window_wait_ns",
            "ns",
            "their sum",
            Values::Integer(|r| r.window_wait.map(|w| w.1)),
        ),
        column(
            "recovery_wait_samples",
            "1",
            "turns that ended in a retransmission",
            Values::Count(|r| r.recovery_wait.map(|w| w.0)),
        ),
        column(
            "recovery_wait_ns",
            "ns",
            "their sum",
            Values::Integer(|r| r.recovery_wait.map(|w| w.1)),
        ),
        column(
            "held_by_network_samples",
            "1",
            "pauses that the sender's own clock did not see: the network held the packets (only elsewhere)",
            Values::Count(|r| r.held_by_network.map(|h| h.0)),
        ),
        column(
            "held_by_network_ns",
            "ns",
            "their sum",
            Values::Integer(|r| r.held_by_network.map(|h| h.1)),
        ),
        column(
            "trains",
            "1",
            "runs of data packets without a reception in between",
            Values::Count(|r| r.trains.map(|t| t.0)),
        ),
        column(
            "train_packets_mean",
            "1",
            "their mean length",
            Values::Float(|r| r.trains.filter(|t| t.0 > 0).map(|t| t.1 as f64 / t.0 as f64)),
        ),
        column(
            "train_packets_max",
            "1",
            "the longest",
            Values::Count(|r| r.trains.map(|t| t.2.into())),
        ),
        column(
            "train_gap_mean_ns",
            "ns",
            "mean gap inside trains",
            Values::Float(|r| r.train_gaps.filter(|g| g.0 > 0).map(|g| g.1 as f64 / g.0 as f64)),
        ),
        column(
            "deficit_ns",
            "ns",
            "D less the time that the bytes take at X₁",
            Values::Integer(|r| r.deficit.map(|d| d as i64)),
        ),
        column(
            "deficit_explained",
            "1",
            "share of the deficit that oversize spacing explains; null when the deficit is below 5 % of D",
            Values::Float(|r| r.deficit_explained),
        ),
        column(
            "host_overlap",
            "1",
            "share of the oversize time in which every other active transfer of the host was silent too",
            Values::Float(|r| r.host_overlap),
        ),
    ]
}
