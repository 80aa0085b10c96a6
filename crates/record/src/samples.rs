//! The per-packet tables, written only when asked for.

use trustbed_analyze::{RttRow, SegmentRow, SpacingRow};

use crate::{Column, Table, Values};

const fn column<R>(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    values: Values<R>,
) -> Column<R> {
    Column { name, unit, meaning, values }
}

/// Round-trip times, in the order of the packets that ended them.
#[expect(clippy::cast_possible_truncation, reason = "timers in whole nanoseconds")]
pub fn rtt() -> Table<RttRow> {
    let columns: Vec<Column<RttRow>> = vec![
        column(
            "transfer",
            "",
            "whose data: connection, then .0 for the initiator's or .1 for the responder's",
            Values::Text(|r| Some(r.transfer.to_string())),
        ),
        column(
            "index",
            "1",
            "the packet at which it was known: the one that ended it, or the first data packet for kind syn",
            Values::Count(|r| Some(r.index)),
        ),
        column("ts_ns", "ns", "when it ended", Values::Time(|r| Some(r.ts.0))),
        column(
            "rtt_ns",
            "ns",
            "round-trip time (Karn's rule on bytes for syn and ack; RFC 7323 echo of the receiver's pure ACK for timestamp)",
            Values::Integer(|r| Some(r.rtt.0)),
        ),
        column(
            "kind",
            "",
            "syn, ack or timestamp",
            Values::Text(|r| Some(r.kind.name().to_owned())),
        ),
        column(
            "delack_suspect",
            "",
            "it may hold a delayed acknowledgement: one segment outstanding and at least 35 ms above the smallest sample",
            Values::Truth(|r| Some(r.delack_suspect)),
        ),
        column(
            "rto_raw_ns",
            "ns",
            "retransmission timer after it, no lower limit, granularity 1 ms (RFC 6298)",
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
    ];
    Table { name: "rtt", columns }
}

/// One row per data packet: the receive → send turn that it ends, or its gap inside a train.
pub fn spacing() -> Table<SpacingRow> {
    let columns: Vec<Column<SpacingRow>> = vec![
        column("transfer", "", "whose data", Values::Text(|r| Some(r.transfer.to_string()))),
        column("index", "1", "the data packet", Values::Count(|r| Some(r.index))),
        column("ts_ns", "ns", "when it was seen", Values::Time(|r| Some(r.ts.0))),
        column(
            "spacing_ns",
            "ns",
            "since the last packet from the receiver; null inside a train",
            Values::Integer(|r| r.spacing.map(|s| s.0)),
        ),
        column(
            "response_ns",
            "ns",
            "since the first packet from the receiver that opened the window",
            Values::Integer(|r| r.response.map(|s| s.0)),
        ),
        column(
            "category",
            "",
            "spacing, window_wait or recovery_wait; null inside a train",
            Values::Text(|r| r.category.map(|c| c.name().to_owned())),
        ),
        column(
            "empty",
            "",
            "nothing was outstanding at the last reception: only the host or the application can explain the wait",
            Values::Truth(|r| Some(r.empty)),
        ),
    ];
    Table { name: "spacing", columns }
}

/// One row per data packet: what it is.
pub fn segments() -> Table<SegmentRow> {
    let columns: Vec<Column<SegmentRow>> = vec![
        column("transfer", "", "whose data", Values::Text(|r| Some(r.transfer.to_string()))),
        column("index", "1", "the packet", Values::Count(|r| Some(r.index))),
        column("ts_ns", "ns", "when it was seen", Values::Time(|r| Some(r.ts.0))),
        column(
            "offset",
            "B",
            "offset of its first byte; 0 is the first payload byte of the connection, or the first one seen when it was already running",
            Values::Integer(|r| Some(r.offset)),
        ),
        column("length", "B", "payload", Values::Count(|r| Some(r.length.into()))),
        column(
            "overlap",
            "B",
            "bytes of it that had been seen before",
            Values::Count(|r| Some(r.overlap.into())),
        ),
        column(
            "class",
            "",
            "new, retransmission or fill",
            Values::Text(|r| Some(r.class.name().to_owned())),
        ),
        column(
            "subclass",
            "",
            "of a retransmission: fast, timeout, tail_loss_probe or spurious as known when it was sent; of a fill: reordered or lost_upstream",
            Values::Text(|r| Some(r.cause.name()).filter(|n| !n.is_empty()).map(ToOwned::to_owned)),
        ),
        column(
            "outstanding",
            "B",
            "sent and not acknowledged after it",
            Values::Integer(|r| Some(r.outstanding)),
        ),
        column(
            "window",
            "B",
            "window that the receiver had advertised",
            Values::Count(|r| Some(r.window.into())),
        ),
    ];
    Table { name: "segments", columns }
}
