//! The per-packet tables, written only when requested.

use trustbed_analyze::{RttRow, SegmentRow, SpacingRow};

use crate::{Column, Table};

/// Round-trip times, in the order of the packets that ended them.
#[expect(clippy::cast_possible_truncation, reason = "timers in whole nanoseconds")]
pub fn rtt() -> Table<RttRow> {
    let columns: Vec<Column<RttRow>> = vec![
        Column::text(
            "transfer",
            "transfer: connection number, then .0 for the initiator's data or .1 for the \
             responder's",
            |r| Some(r.transfer.to_string()),
        ),
        Column::count(
            "index",
            "count",
            "number of the packet that completed the sample; for kind syn, of the first data \
             packet",
            |r| Some(r.index),
        ),
        Column::time("ts_ns", "time of completion", |r| Some(r.ts.0)),
        Column::integer(
            "rtt_ns",
            "nanoseconds",
            "round-trip time; syn: of the handshake; ack: from the capture point to the receiver \
             and back (Karn's rule on bytes); timestamp: from the capture point to the sender and \
             back, from the receiver's pure ACK to data that echo its timestamp (RFC 7323)",
            |r| Some(r.rtt.0),
        ),
        Column::text("kind", "syn, ack or timestamp", |r| Some(r.kind.name().to_owned())),
        Column::truth(
            "delack_suspect",
            "true if the sample may include a delayed ACK: one segment in flight, at least 35 ms \
             above the smallest sample",
            |r| Some(r.delack_suspect),
        ),
        Column::integer(
            "rto_raw_ns",
            "nanoseconds",
            "retransmission timeout after the sample, without a minimum, granularity 1 ms (RFC \
             6298)",
            |r| r.rto.map(|v| v.raw as i64),
        ),
        Column::integer(
            "rto_rfc_ns",
            "nanoseconds",
            "retransmission timeout with a minimum of 1 s (RFC 6298)",
            |r| r.rto.map(|v| v.rfc as i64),
        ),
        Column::integer(
            "rto_linux_ns",
            "nanoseconds",
            "retransmission timeout as in Linux: variation term of at least 200 ms",
            |r| r.rto.map(|v| v.linux as i64),
        ),
    ];
    Table { name: "rtt", columns }
}

/// One row per data packet: the receive → send turn that it ends, or its gap inside a train.
pub fn spacing() -> Table<SpacingRow> {
    let columns: Vec<Column<SpacingRow>> = vec![
        Column::text("transfer", "transfer of the data packet", |r| Some(r.transfer.to_string())),
        Column::count("index", "count", "number of the data packet in the capture", |r| {
            Some(r.index)
        }),
        Column::time("ts_ns", "capture time of the packet", |r| Some(r.ts.0)),
        Column::integer(
            "spacing_ns",
            "nanoseconds",
            "time since the last packet from the receiver; null inside a train",
            |r| r.spacing.map(|s| s.0),
        ),
        Column::integer(
            "response_ns",
            "nanoseconds",
            "time since the first packet from the receiver that opened the window",
            |r| r.response.map(|s| s.0),
        ),
        Column::text(
            "category",
            "spacing, window_wait or recovery_wait; null inside a train",
            |r| r.category.map(|c| c.name().to_owned()),
        ),
        Column::truth(
            "empty",
            "true if nothing was in flight at the last reception: only host or application \
             explains the wait",
            |r| Some(r.empty),
        ),
    ];
    Table { name: "spacing", columns }
}

/// One row per data packet: what it is.
pub fn segments() -> Table<SegmentRow> {
    let columns: Vec<Column<SegmentRow>> = vec![
        Column::text("transfer", "transfer of the segment", |r| Some(r.transfer.to_string())),
        Column::count("index", "count", "number of the packet in the capture", |r| Some(r.index)),
        Column::time("ts_ns", "capture time of the packet", |r| Some(r.ts.0)),
        Column::integer(
            "offset",
            "bytes",
            "offset of the first byte from the connection's first payload byte, or from the first \
             captured byte if the connection was already open",
            |r| Some(r.offset),
        ),
        Column::count("length", "bytes", "payload length", |r| Some(r.length.into())),
        Column::count("overlap", "bytes", "repeated bytes in the payload", |r| {
            Some(r.overlap.into())
        }),
        Column::text("class", "new, retransmission or fill", |r| Some(r.class.name().to_owned())),
        Column::text(
            "subclass",
            "retransmission: fast, timeout, tail_loss_probe or spurious, as known at send time; \
             fill: reordered or lost_upstream",
            |r| Some(r.cause.name()).filter(|n| !n.is_empty()).map(ToOwned::to_owned),
        ),
        Column::integer("outstanding", "bytes", "bytes in flight after the segment", |r| {
            Some(r.outstanding)
        }),
        Column::count("window", "bytes", "window advertised by the receiver", |r| {
            Some(r.window.into())
        }),
    ];
    Table { name: "segments", columns }
}
