//! What was sent, counted.

use super::{Row, column};
use crate::{Column, Values};

#[expect(clippy::too_many_lines, reason = "a few lines for each column")]
pub(super) fn packets() -> Vec<Column<Row>> {
    vec![
        column(
            "packets",
            "1",
            "all packets of this direction, as captured",
            Values::Count(|r| Some(r.counters.packets)),
        ),
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
        column(
            "pure_acks",
            "1",
            "packets without payload",
            Values::Count(|r| Some(r.counters.pure_acks.into())),
        ),
        column(
            "payload_bytes",
            "B",
            "payload of data packets, retransmissions included",
            Values::Count(|r| Some(r.counters.payload)),
        ),
        column(
            "unique_bytes",
            "B",
            "payload seen for the first time",
            Values::Count(|r| Some(r.counters.unique)),
        ),
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
        column(
            "retransmitted_tlp",
            "1",
            "tail-loss probes (RFC 8985)",
            Values::Count(|r| Some(r.counters.tail_loss_probes.into())),
        ),
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
        column(
            "zero_window_events",
            "1",
            "how often the receiver closed its window",
            Values::Count(|r| Some(r.zero_window_events.into())),
        ),
        column(
            "zero_window_ns",
            "ns",
            "for how long it was closed",
            Values::Integer(|r| Some(r.zero_window.0)),
        ),
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
        column(
            "payload_bytes_per_packet",
            "B",
            "p of the throughput bounds: the MSS",
            Values::Count(|r| Some(r.mss.into())),
        ),
        column(
            "packet_bytes",
            "B",
            "P of the throughput bounds: p plus IP and TCP headers with options",
            Values::Count(|r| Some(r.packet_bytes.into())),
        ),
        column(
            "window_scale",
            "1",
            "shift applied to the receiver's window field",
            Values::Count(|r| r.window_scale.map(Into::into)),
        ),
        column(
            "window_estimated",
            "",
            "the shift was estimated from what was outstanding, because the handshake was not seen",
            Values::Truth(|r| Some(r.window_estimated)),
        ),
        column(
            "timestamps",
            "",
            "the sender used the timestamp option",
            Values::Truth(|r| Some(r.timestamps)),
        ),
        column("sack", "", "both sides permitted SACK", Values::Truth(|r| Some(r.sack))),
        column(
            "multipath",
            "",
            "the connection is a subflow of Multipath TCP (RFC 8684): both SYNs, or later segments of both sides, carried its option",
            Values::Truth(|r| Some(r.multipath)),
        ),
        column(
            "offloaded",
            "",
            "a data packet exceeded the MSS: the capture shows super-packets",
            Values::Truth(|r| Some(r.offloaded)),
        ),
        column(
            "one_sided",
            "",
            "the capture holds no packet of the receiver",
            Values::Truth(|r| Some(r.one_sided)),
        ),
        column(
            "midstream",
            "",
            "the connection was already running when the capture began",
            Values::Truth(|r| Some(r.midstream)),
        ),
        column(
            "outstanding_max_bytes",
            "B",
            "most bytes sent and not acknowledged",
            Values::Float(|r| r.outstanding_max),
        ),
        column(
            "outstanding_mean_bytes",
            "B",
            "their mean over time",
            Values::Float(|r| r.outstanding_mean),
        ),
        column(
            "window_min_bytes",
            "B",
            "smallest window advertised by the receiver",
            Values::Count(|r| r.window_min.map(Into::into)),
        ),
        column(
            "window_max_bytes",
            "B",
            "W: largest window advertised by the receiver",
            Values::Count(|r| r.window_max.map(Into::into)),
        ),
    ]
}
