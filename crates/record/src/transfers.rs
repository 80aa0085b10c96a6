//! The table of transfers: the evidence that a diagnosis rests on.

use trustbed_analyze::TransferRow;

use crate::text::address;
use crate::{Column, Table, Values};

mod limits;
mod packets;
mod timing;

type Row = TransferRow;

const fn column(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    values: Values<Row>,
) -> Column<Row> {
    Column { name, unit, meaning, values }
}

/// Transfers: one row per TCP direction with payload, in the order in which their connections ended.
pub fn transfers() -> Table<TransferRow> {
    let parts = [
        identity(),
        packets::packets(),
        timing::round_trips(),
        timing::spacing(),
        limits::throughput(),
        limits::loss(),
        limits::limits(),
    ];
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
        column(
            "connection",
            "1",
            "index of the connection's first packet",
            Values::Count(|r| Some(r.id.connection)),
        ),
        column(
            "src",
            "",
            "address of the sender of the data",
            Values::Text(|r| Some(address(&r.source.0, r.ipv6))),
        ),
        column("src_port", "1", "its port", Values::Count(|r| Some(r.source.1.into()))),
        column(
            "dst",
            "",
            "address of the receiver",
            Values::Text(|r| Some(address(&r.destination.0, r.ipv6))),
        ),
        column("dst_port", "1", "its port", Values::Count(|r| Some(r.destination.1.into()))),
        column(
            "at",
            "",
            "where the capture was taken: sender, receiver, middle or unknown (then taken as at the sender)",
            Values::Text(|r| Some(r.at.name().to_owned())),
        ),
        column(
            "at_from",
            "",
            "how that is known: given, handshake, answers or none",
            Values::Text(|r| Some(r.at_from.name().to_owned())),
        ),
        column(
            "start_ns",
            "ns",
            "time of the first data packet",
            Values::Time(|r| Some(r.start.0)),
        ),
        column(
            "duration_ns",
            "ns",
            "D: first data packet to the acknowledgement of the last byte acknowledged; null when nothing was",
            Values::Integer(|r| r.duration.map(|d| d.0)),
        ),
    ]
}
