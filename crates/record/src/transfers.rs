//! The table of transfers: the evidence that a diagnosis rests on.

use trustbed_analyze::TransferRow;

use crate::text::address;
use crate::{Column, Table};

mod budget;
mod limits;
mod packets;
mod timing;

type Row = TransferRow;

/// Transfers: one row per TCP direction with payload, in the order in which their connections
/// ended.
pub fn transfers() -> Table<TransferRow> {
    let parts = [
        identity(),
        packets::packets(),
        timing::round_trips(),
        timing::spacing(),
        limits::throughput(),
        limits::loss(),
        limits::policing(),
        limits::limits(),
        budget::budget(),
    ];
    Table { name: "transfers", columns: parts.into_iter().flatten().collect() }
}

fn identity() -> Vec<Column<Row>> {
    vec![
        Column::text(
            "transfer",
            "connection number, then .0 for the initiator's data or .1 for the responder's",
            |r| Some(r.id.to_string()),
        ),
        Column::count("connection", "count", "number of the connection's first packet", |r| {
            Some(r.id.connection)
        }),
        Column::text("src", "address of the data sender", |r| Some(address(&r.source.0, r.ipv6))),
        Column::count("src_port", "count", "port of the data sender", |r| Some(r.source.1.into())),
        Column::text("dst", "address of the receiver", |r| Some(address(&r.destination.0, r.ipv6))),
        Column::count("dst_port", "count", "port of the receiver", |r| {
            Some(r.destination.1.into())
        }),
        Column::text(
            "at",
            "capture point: sender, receiver, middle or unknown (analysed as sender)",
            |r| Some(r.at.name().to_owned()),
        ),
        Column::text(
            "at_source",
            "source of the capture point: given, handshake, answers (response times) or none",
            |r| Some(r.at_source.name().to_owned()),
        ),
        Column::time("start_ns", "time of the first data packet", |r| Some(r.start.0)),
        Column::integer(
            "duration_ns",
            "nanoseconds",
            "D: first data packet to the last acknowledgement of new data; null without \
             acknowledgements",
            |r| r.duration.map(|d| d.0),
        ),
    ]
}
