//! The table of transfers: the evidence that a diagnosis rests on.

use trustbed_analyze::TransferRow;

use crate::text::address;
use crate::{Column, Table, Values};

type Row = TransferRow;

const fn column(name: &'static str, unit: &'static str, meaning: &'static str, values: Values<Row>) -> Column<Row> {
    Column { name, unit, meaning, values }
}

/// Transfers: one row per TCP direction with payload, in the order in which their connections ended.
pub fn transfers() -> Table<TransferRow> {
    let parts = [identity(), packets(), round_trips(), spacing(), throughput(), loss(), limits()];
    Table { name: "transfers", columns: parts.into_iter().flatten().collect() }
}

fn identity() -> Vec<Column<Row>> {
    vec![
        column(
            "transfer",
            "",
            "connection, then .0 for the initiator's data or .1 for the responder's",
            Values::Text(|r| Some(r.id.to_string())),
        ),
        column("connection", "1", "index of the connection's first packet", Values::Count(|r| Some(r.id.connection))),
        column("src", "", "address of the sender of the data", Values::Text(|r| Some(address(&r.source.0, r.ipv6)))),
        column("src_port", "1", "its port", Values::Count(|r| Some(r.source.1.into()))),
        column("dst", "", "address of the receiver", Values::Text(|r| Some(address(&r.destination.0, r.ipv6)))),
        column("dst_port", "1", "its port", Values::Count(|r| Some(r.destination.1.into()))),
        column(
            "at",
            "",
            "where the capture was taken: sender, receiver, middle or unknown (then taken as at the sender)",
            Values::Text(|r| Some(r.at.name().to_owned())),
        ),
        column("at_from", "", "how that is known: given, handshake, answers or none", Values::Text(|r| Some(r.at_from.name().to_owned()))),
        column("start_ns", "ns", "time of the first data packet", Values::Time(|r| Some(r.start.0))),
        column(
            "duration_ns",
            "ns",
            "D: first data packet to the acknowledgement of the last byte acknowledged; null when nothing was",
            Values::Integer(|r| r.duration.map(|d| d.0)),
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a few lines for each column")]
fn packets() -> Vec<Column<Row>> {
    vec![
        column("packets", "1", "all packets of this direction, as captured", Values::Count(|r| Some(r.counters.packets))),
        column(
            "data_packets",
            "1",
            "packets with payload, keep-alives and window probes excepted, as captured",
            Values::Count(|r| Some(r.counters.data_packets.into())),
        ),
        column(
            "segments_wire",
            "1",
            "segments on the wire: every captured super-packet counts as length divided by MSS, rounded up",
            Values::Count(|r| Some(r.segments_wire)),
        ),
        column("pure_acks", "1", "packets without payload", Values::Count(|r| Some(r.counters.pure_acks.into()))),
        column("payload_bytes", "B", "payload of data packets, retransmissions included", Values::Count(|r| Some(r.counters.payload))),
        column("unique_bytes", "B", "payload seen for the first time", Values::Count(|r| Some(r.counters.unique))),
        column(
            "retransmitted_packets",
            "1",
            "data packets with at least one byte that had been seen before",
            Values::Count(|r| Some(r.counters.retransmitted.into())),
        ),
        column(
            "retransmitted_bytes",
            "B",
            "bytes of theirs that had been seen before",
            Values::Count(|r| Some(r.counters.retransmitted_bytes)),
        ),
        column(
            "retransmitted_fast",
            "1",
            "after three duplicate ACKs or more than two segments SACKed above (RFC 6675)",
            Values::Count(|r| Some(r.counters.fast.into())),
        ),
        column(
            "retransmitted_timeout",
            "1",
            "after a timeout, tail-loss probes included",
            Values::Count(|r| Some(r.counters.timeout.into())),
        ),
        column("retransmitted_tlp", "1", "tail-loss probes (RFC 8985)", Values::Count(|r| Some(r.counters.tail_loss_probes.into()))),
        column(
            "retransmitted_spurious",
            "1",
            "not needed: already acknowledged or SACKed, or reported as duplicate later (RFC 2883)",
            Values::Count(|r| Some(r.counters.spurious.into())),
        ),
        column(
            "filled_reordered",
            "1",
            "holes filled soon after they appeared: reordering before the capture",
            Values::Count(|r| Some(r.counters.reordered.into())),
        ),
        column(
            "filled_lost_upstream",
            "1",
            "holes filled late: the original was lost before the capture, or missed by it",
            Values::Count(|r| Some(r.counters.lost_upstream.into())),
        ),
        column(
            "duplicate_acks",
            "1",
            "duplicate acknowledgements received (RFC 5681)",
            Values::Count(|r| Some(r.counters.duplicate_acks.into())),
        ),
        column("zero_window_events", "1", "how often the receiver closed its window", Values::Count(|r| Some(r.zero_window_events.into()))),
        column("zero_window_ns", "ns", "for how long it was closed", Values::Integer(|r| Some(r.zero_window.0))),
        column(
            "keep_alives",
            "1",
            "probes of at most one byte just below the highest byte sent",
            Values::Count(|r| Some(r.counters.keep_alives.into())),
        ),
        column(
            "window_probes",
            "1",
            "probes of at most one byte into a closed window",
            Values::Count(|r| Some(r.counters.window_probes.into())),
        ),
        column(
            "capture_duplicates",
            "1",
            "packets that the capture holds twice within a millisecond",
            Values::Count(|r| Some(r.counters.capture_duplicates.into())),
        ),
        column(
            "acked_unseen_bytes",
            "B",
            "bytes that the receiver acknowledged and the capture never held",
            Values::Count(|r| Some(r.acked_unseen)),
        ),
        column(
            "mss",
            "B",
            "largest payload of one wire segment: from the handshake less option bytes, else the most frequent payload up to 1460",
            Values::Count(|r| Some(r.mss.into())),
        ),
        column("payload_bytes_per_packet", "B", "p of the throughput bounds: the MSS", Values::Count(|r| Some(r.mss.into()))),
        column(
            "packet_bytes",
            "B",
            "P of the throughput bounds: p plus IP and TCP headers with options",
            Values::Count(|r| Some(r.packet_bytes.into())),
        ),
        column("window_scale", "1", "shift applied to the receiver's window field", Values::Count(|r| r.window_scale.map(Into::into))),
        column(
            "window_estimated",
            "",
            "the shift was estimated from what was outstanding, because the handshake was not seen",
            Values::Truth(|r| Some(r.window_estimated)),
        ),
        column("timestamps", "", "the sender used the timestamp option", Values::Truth(|r| Some(r.timestamps))),
        column("sack", "", "both sides permitted SACK", Values::Truth(|r| Some(r.sack))),
        column("offloaded", "", "a data packet exceeded the MSS: the capture shows super-packets", Values::Truth(|r| Some(r.offloaded))),
        column("one_sided", "", "the capture holds no packet of the receiver", Values::Truth(|r| Some(r.one_sided))),
        column("midstream", "", "the connection was already running when the capture began", Values::Truth(|r| Some(r.midstream))),
        column("outstanding_max_bytes", "B", "most bytes sent and not acknowledged", Values::Float(|r| r.outstanding_max)),
        column("outstanding_mean_bytes", "B", "their mean over time", Values::Float(|r| r.outstanding_mean)),
        column("window_min_bytes", "B", "smallest window advertised by the receiver", Values::Count(|r| r.window_min.map(Into::into))),
        column("window_max_bytes", "B", "W: largest window advertised by the receiver", Values::Count(|r| r.window_max.map(Into::into))),
    ]
}

#[expect(clippy::cast_possible_truncation, reason = "nanoseconds of timers and round trips")]
fn round_trips() -> Vec<Column<Row>> {
    vec![
        column(
            "rtt_samples",
            "1",
            "round-trip times by Karn's rule on bytes, the handshake's included",
            Values::Count(|r| Some(r.rtt.count)),
        ),
        column("rtt_min_ns", "ns", "smallest", Values::Integer(|r| r.rtt.min)),
        column("rtt_mean_ns", "ns", "mean", Values::Float(|r| r.rtt.mean)),
        column("rtt_sd_ns", "ns", "standard deviation with n − 1", Values::Float(|r| r.rtt.deviation)),
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
        column("rtt_source", "", "acknowledgements, timestamp_echo, both_halves or none", Values::Text(|r| Some(r.rtt_source.to_owned()))),
        column(
            "rtt_ambiguous",
            "1",
            "acknowledgements without a sample because something in their range was sent twice",
            Values::Count(|r| Some(r.refused.ambiguous.into())),
        ),
        column("rtt_unseen", "1", "… because the bytes were not all captured", Values::Count(|r| Some(r.refused.unseen.into()))),
        column("rtt_inside", "1", "… because they ended inside a wire segment", Values::Count(|r| Some(r.refused.inside.into()))),
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
        column("rtt_timestamp_min_ns", "ns", "smallest of them", Values::Float(|r| r.rtt_timestamp.map(|t| t.1))),
        column("rtt_timestamp_mean_ns", "ns", "their mean", Values::Float(|r| r.rtt_timestamp.map(|t| t.2))),
        column(
            "echo_samples",
            "1",
            "times from the receiver's pure ACK to data that echo its timestamp: the way to the sender",
            Values::Count(|r| Some(r.echo.count)),
        ),
        column("echo_min_ns", "ns", "smallest of them", Values::Integer(|r| r.echo.min)),
        column("echo_p50_ns", "ns", "their median", Values::Float(|r| r.echo.p50)),
        column(
            "rto_raw_ns",
            "ns",
            "retransmission timer at the end, no lower limit, granularity 1 ms (RFC 6298)",
            Values::Integer(|r| r.rto.map(|v| v.raw as i64)),
        ),
        column("rto_rfc_ns", "ns", "the same with a lower limit of 1 s", Values::Integer(|r| r.rto.map(|v| v.rfc as i64))),
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
fn spacing() -> Vec<Column<Row>> {
    vec![
        column(
            "spacing_source",
            "",
            "measured at the sender, or estimated elsewhere",
            Values::Text(|r| Some(if r.spacing_estimated { "estimated" } else { "measured" }.to_owned())),
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
        column("oversize_fraction", "1", "f: their share of D", Values::Float(|r| r.oversize_fraction)),
        column("large_samples", "1", "turns longer than T", Values::Float(|r| r.large)),
        column(
            "withheld_threshold_ns",
            "ns",
            "a response counts as withheld above max(4·T, 4·p/X, 1 ms)",
            Values::Float(|r| r.withheld_threshold),
        ),
        column("withheld_samples", "1", "responses above it", Values::Float(|r| r.withheld.map(|w| w.0))),
        column("withheld_ns", "ns", "their sum", Values::Float(|r| r.withheld.map(|w| w.1))),
        column(
            "withheld_fraction",
            "1",
            "h: share of D in which the sender had permission and data to send and did not",
            Values::Float(|r| r.withheld_fraction),
        ),
        column("window_wait_samples", "1", "turns that waited for the receiver's window", Values::Count(|r| r.window_wait.map(|w| w.0))),
        column("window_wait_ns", "ns", "their sum", Values::Integer(|r| r.window_wait.map(|w| w.1))),
        column("recovery_wait_samples", "1", "turns that ended in a retransmission", Values::Count(|r| r.recovery_wait.map(|w| w.0))),
        column("recovery_wait_ns", "ns", "their sum", Values::Integer(|r| r.recovery_wait.map(|w| w.1))),
        column(
            "held_by_network_samples",
            "1",
            "pauses that the sender's own clock did not see: the network held the packets (only elsewhere)",
            Values::Count(|r| r.held_by_network.map(|h| h.0)),
        ),
        column("held_by_network_ns", "ns", "their sum", Values::Integer(|r| r.held_by_network.map(|h| h.1))),
        column("trains", "1", "runs of data packets without a reception in between", Values::Count(|r| r.trains.map(|t| t.0))),
        column(
            "train_packets_mean",
            "1",
            "their mean length",
            Values::Float(|r| r.trains.filter(|t| t.0 > 0).map(|t| t.1 as f64 / t.0 as f64)),
        ),
        column("train_packets_max", "1", "the longest", Values::Count(|r| r.trains.map(|t| t.2.into()))),
        column(
            "train_gap_mean_ns",
            "ns",
            "mean gap inside trains",
            Values::Float(|r| r.train_gaps.filter(|g| g.0 > 0).map(|g| g.1 as f64 / g.0 as f64)),
        ),
        column("deficit_ns", "ns", "D less the time that the bytes take at X₁", Values::Integer(|r| r.deficit.map(|d| d as i64))),
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

fn throughput() -> Vec<Column<Row>> {
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
        column("x3_bytes_per_second", "B/s", "capacity bound C·p/P; null when the capacity is unknown", Values::Float(|r| r.bounds[3])),
        column(
            "rate_p10_bytes_per_second",
            "B/s",
            "10th percentile of the delivery rate over max(mean RTT, 50 ms)",
            Values::Float(|r| r.rates.map(|x| x.p10)),
        ),
        column("rate_p50_bytes_per_second", "B/s", "median", Values::Float(|r| r.rates.map(|x| x.p50))),
        column("rate_p90_bytes_per_second", "B/s", "90th percentile", Values::Float(|r| r.rates.map(|x| x.p90))),
        column("steadiness", "1", "P10/P90 of the delivery rate", Values::Float(|r| r.steadiness)),
        column("pipe_full", "1", "share of D with at least 0.9·P90·R₀ outstanding", Values::Float(|r| r.pipe_full)),
        column("capacity_bytes_per_second", "B/s", "C at IP level", Values::Float(|r| r.capacity)),
        column(
            "capacity_source",
            "",
            "given, or delivery_rate when steadiness ≥ 0.9, pipe_full ≥ 0.8 and X < 0.8·X₁",
            Values::Text(|r| r.capacity_source.map(ToOwned::to_owned)),
        ),
    ]
}

fn loss() -> Vec<Column<Row>> {
    vec![
        column("loss_rate", "1", "retransmitted over sent data segments, counted on the wire", Values::Float(|r| r.loss_rate)),
        column("loss_rate_genuine", "1", "the same without spurious retransmissions", Values::Float(|r| r.loss_rate_genuine)),
        column("loss_bytes", "1", "retransmitted over sent payload bytes", Values::Float(|r| r.loss_bytes)),
        column("loss_events", "1", "loss recoveries", Values::Count(|r| Some(r.loss_events.into()))),
        column("loss_event_rate", "1", "recoveries per data segment", Values::Float(|r| r.loss_event_rate)),
        column(
            "loss_upstream",
            "1",
            "share lost between sender and a capture in the middle (Benko and Veres 2002)",
            Values::Float(|r| r.loss_upstream),
        ),
        column("loss_downstream", "1", "share lost between a capture in the middle and the receiver", Values::Float(|r| r.loss_downstream)),
        column("loss_receiver", "1", "share lost before a capture at the receiver", Values::Float(|r| r.loss_receiver)),
        column(
            "loss_persistence",
            "1",
            "share of ten equal time slices with a genuine retransmission",
            Values::Float(|r| r.loss_persistence),
        ),
    ]
}

fn limits() -> Vec<Column<Row>> {
    vec![
        column(
            "window_saturated",
            "1",
            "share of D with the window at 0.9 of its largest value or more",
            Values::Float(|r| r.window_saturated),
        ),
        column("window_closed", "1", "share of D with a window below two segments", Values::Float(|r| r.window_closed)),
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
        column("share_application", "1", "share of D waiting for the application", Values::Float(|r| r.shares.map(|s| s[0]))),
        column("share_receiver_window", "1", "share of D waiting for the receiver's window", Values::Float(|r| r.shares.map(|s| s[1]))),
        column("share_loss_recovery", "1", "share of D in loss recovery", Values::Float(|r| r.shares.map(|s| s[2]))),
        column("share_host", "1", "share of D withheld by the sending host", Values::Float(|r| r.shares.map(|s| s[3]))),
        column("share_path", "1", "the rest: the path (and the congestion window) set the pace", Values::Float(|r| r.shares.map(|s| s[4]))),
        column(
            "slow_start",
            "",
            "it ended before slow start could reach the bound: no loss and too few round trips",
            Values::Truth(|r| r.slow_start),
        ),
        column("too_short", "", "less than 64 kB or fewer than ten round trips: not judged", Values::Truth(|r| Some(r.too_short))),
        column(
            "outage_ns",
            "ns",
            "silence of at least two seconds with data outstanding and nothing new sent or acknowledged",
            Values::Integer(|r| Some(r.outage.0)),
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
