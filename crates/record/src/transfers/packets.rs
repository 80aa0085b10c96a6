//! What was sent, counted.

use super::Row;
use crate::Column;

#[expect(clippy::too_many_lines, reason = "a few lines for each column")]
pub(super) fn packets() -> Vec<Column<Row>> {
    vec![
        Column::count("packets", "packets", "packets in this direction, as captured", |r| {
            Some(r.counters.packets)
        }),
        Column::count(
            "data_packets",
            "packets",
            "packets with payload except keep-alives and window probes, as captured",
            |r| Some(r.counters.data_packets.into()),
        ),
        Column::count(
            "segments_wire",
            "segments",
            "segments on the wire: each captured super-packet counts as length / MSS, rounded up",
            |r| Some(r.segments_wire),
        ),
        Column::count("pure_acks", "packets", "packets without payload", |r| {
            Some(r.counters.pure_acks.into())
        }),
        Column::count(
            "payload_bytes",
            "bytes",
            "payload of data packets, retransmissions included",
            |r| Some(r.counters.payload),
        ),
        Column::count("unique_bytes", "bytes", "payload captured for the first time", |r| {
            Some(r.counters.unique)
        }),
        Column::count(
            "retransmitted_packets",
            "packets",
            "data packets with at least one repeated byte",
            |r| Some(r.counters.retransmitted.into()),
        ),
        Column::count("retransmitted_bytes", "bytes", "repeated bytes in data packets", |r| {
            Some(r.counters.retransmitted_bytes)
        }),
        Column::count(
            "retransmitted_fast",
            "packets",
            "retransmissions after three duplicate ACKs or more than two SACKed segments above \
             (RFC 6675)",
            |r| Some(r.counters.fast.into()),
        ),
        Column::count(
            "retransmitted_timeout",
            "packets",
            "retransmissions after a timeout, tail-loss probes included",
            |r| Some(r.counters.timeout.into()),
        ),
        Column::count("retransmitted_tlp", "packets", "tail-loss probes (RFC 8985)", |r| {
            Some(r.counters.tail_loss_probes.into())
        }),
        Column::count(
            "retransmitted_spurious",
            "packets",
            "spurious retransmissions: already acknowledged or SACKed, or later reported by DSACK \
             (RFC 2883)",
            |r| Some(r.counters.spurious.into()),
        ),
        Column::count(
            "filled_reordered",
            "segments",
            "holes filled soon after they appear: reordering before the capture",
            |r| Some(r.counters.reordered.into()),
        ),
        Column::count(
            "filled_lost_upstream",
            "segments",
            "holes filled late: original lost before the capture, or missed by it",
            |r| Some(r.counters.lost_upstream.into()),
        ),
        Column::count("duplicate_acks", "packets", "duplicate ACKs received (RFC 5681)", |r| {
            Some(r.counters.duplicate_acks.into())
        }),
        Column::count("zero_window_events", "count", "times the receiver closed its window", |r| {
            Some(r.zero_window_events.into())
        }),
        Column::integer("zero_window_ns", "nanoseconds", "total time with a closed window", |r| {
            Some(r.zero_window.0)
        }),
        Column::count(
            "keep_alives",
            "packets",
            "probes of at most one byte just below the highest byte sent",
            |r| Some(r.counters.keep_alives.into()),
        ),
        Column::count(
            "window_probes",
            "packets",
            "probes of at most one byte into a closed window",
            |r| Some(r.counters.window_probes.into()),
        ),
        Column::count("capture_duplicates", "packets", "packets captured twice within 1 ms", |r| {
            Some(r.counters.capture_duplicates.into())
        }),
        Column::count(
            "acked_unseen_bytes",
            "bytes",
            "bytes acknowledged by the receiver but missing from the capture",
            |r| Some(r.acked_unseen),
        ),
        Column::count(
            "mss",
            "bytes",
            "largest payload of a wire segment: from the handshake less option bytes, else the \
             most frequent payload up to 1460",
            |r| Some(r.mss.into()),
        ),
        Column::count(
            "payload_bytes_per_packet",
            "bytes",
            "p in the throughput bounds: the MSS",
            |r| Some(r.mss.into()),
        ),
        Column::count(
            "packet_bytes",
            "bytes",
            "P in the throughput bounds: p plus IP and TCP headers with options",
            |r| Some(r.packet_bytes.into()),
        ),
        Column::count("window_scale", "count", "shift of the receiver's window field", |r| {
            r.window_scale.map(Into::into)
        }),
        Column::truth(
            "window_estimated",
            "true if the shift is estimated from data in flight because the capture lacks the \
             handshake",
            |r| Some(r.window_estimated),
        ),
        Column::truth("timestamps", "true if the sender uses the timestamp option", |r| {
            Some(r.timestamps)
        }),
        Column::truth("sack", "true if both sides permit SACK", |r| Some(r.sack)),
        Column::truth(
            "multipath",
            "true for a Multipath TCP subflow (RFC 8684): both SYNs, or later segments of both \
             sides, carry the option",
            |r| Some(r.multipath),
        ),
        Column::truth(
            "offloaded",
            "true if a data packet exceeds the MSS: the capture holds super-packets",
            |r| Some(r.offloaded),
        ),
        Column::truth("one_sided", "true if the capture holds no packet of the receiver", |r| {
            Some(r.one_sided)
        }),
        Column::truth(
            "midstream",
            "true if the connection was open before the capture began",
            |r| Some(r.midstream),
        ),
        Column::float("outstanding_max_bytes", "bytes", "largest amount of data in flight", |r| {
            r.outstanding_max
        }),
        Column::float(
            "outstanding_mean_bytes",
            "bytes",
            "time-weighted mean of data in flight",
            |r| r.outstanding_mean,
        ),
        Column::count(
            "window_min_bytes",
            "bytes",
            "smallest window advertised by the receiver",
            |r| r.window_min.map(Into::into),
        ),
        Column::count(
            "window_max_bytes",
            "bytes",
            "W: largest window advertised by the receiver",
            |r| r.window_max.map(Into::into),
        ),
    ]
}
