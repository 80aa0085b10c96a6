//! The tables of a model of traffic: connections in their sessions and exchanges, what was said in
//! them, and the hosts at both ends. No table holds an address, a payload or a date.

use trustbed_traffic::structural::{Content, Extracted, ExtractedConnection, HostLink};
use trustbed_units::Span;

use crate::{Column, Table};

/// A connection of a model.
#[derive(Debug, Clone)]
pub struct ModelConnectionRow {
    number: u64,
    class: String,
    connection: ExtractedConnection,
}

/// A pair of a sequential connection, a burst of a concurrent one, or the datagrams of one side.
#[derive(Debug, Clone, Copy)]
pub struct ModelUnitRow {
    connection: u64,
    side: &'static str,
    bytes: [Option<u64>; 2],
    wait: [Option<Span>; 2],
    packets: Option<u64>,
    gap: Option<Span>,
}

/// A host of a model.
#[derive(Debug, Clone)]
pub struct ModelHostRow {
    number: u64,
    server: bool,
    link: HostLink,
}

/// Rows of all three tables.
pub fn model_rows(
    extracted: Extracted,
) -> (Vec<ModelConnectionRow>, Vec<ModelUnitRow>, Vec<ModelHostRow>) {
    let mut units = Vec::new();
    let mut connections = Vec::with_capacity(extracted.connections.len());
    for (number, connection) in (0..).zip(extracted.connections) {
        add_units(&mut units, number, &connection.content);
        let class = extracted.classes.get(connection.class).map(|class| class.name.clone());
        connections.push(ModelConnectionRow {
            number,
            class: class.unwrap_or_default(),
            connection,
        });
    }
    let hosts = (0..).zip(extracted.hosts);
    let hosts = hosts.map(|(number, (server, link))| ModelHostRow { number, server, link });
    (connections, units, hosts.collect())
}

fn add_units(units: &mut Vec<ModelUnitRow>, connection: u64, content: &Content) {
    const SIDES: [&str; 2] = ["client", "server"];
    let none = ModelUnitRow {
        connection,
        side: "both",
        bytes: [None; 2],
        wait: [None; 2],
        packets: None,
        gap: None,
    };
    match content {
        Content::Pairs(pairs) => units.extend(pairs.iter().map(|pair| ModelUnitRow {
            bytes: [Some(pair.request), Some(pair.response)],
            wait: [pair.user_think, pair.server_think],
            ..none
        })),
        Content::Streams(sides) => {
            for (side, bursts) in sides.iter().enumerate() {
                units.extend(bursts.iter().map(|burst| {
                    let mut row = ModelUnitRow { side: SIDES[side], ..none };
                    (row.bytes[side], row.wait[side]) = (Some(burst.bytes), Some(burst.after));
                    row
                }));
            }
        }
        Content::Datagrams(sides) => {
            for (side, flow) in sides.iter().enumerate().filter(|(_, flow)| flow.packets > 0) {
                let mut row = ModelUnitRow { side: SIDES[side], ..none };
                row.bytes[side] = Some(flow.bytes);
                (row.packets, row.gap) = (Some(flow.packets), Some(flow.gap));
                units.push(row);
            }
        }
    }
}

/// Connections, by class, session, exchange and start.
pub fn model_connections() -> Table<ModelConnectionRow> {
    let mut columns: Vec<Column<ModelConnectionRow>> = vec![
        Column::count("connection", "count", "number of the connection, from 0", |r| {
            Some(r.number)
        }),
        Column::text("class", "class of applications, by the server's port", |r| {
            Some(r.class.clone())
        }),
        Column::count("session", "count", "number of the session, over all classes", |r| {
            Some(r.connection.session)
        }),
        Column::count("exchange", "count", "number of the exchange within its session", |r| {
            Some(r.connection.exchange)
        }),
        Column::integer(
            "exchange_gap_ns",
            "nanoseconds",
            "first connection of a later exchange: from the latest end before to its start",
            |r| r.connection.exchange_gap.map(|gap| gap.0),
        ),
        Column::integer(
            "start_gap_ns",
            "nanoseconds",
            "later connection of an exchange: from the start of the one before to its start",
            |r| r.connection.start_gap.map(|gap| gap.0),
        ),
        Column::integer(
            "start_ns",
            "nanoseconds",
            "its start, after the start of the first connection",
            |r| Some(r.connection.start.0),
        ),
        Column::integer("duration_ns", "nanoseconds", "from its start to its last data", |r| {
            Some(r.connection.duration.0)
        }),
        Column::count("client", "count", "number of its client", |r| Some(r.connection.client)),
        Column::count("server", "count", "number of its server", |r| Some(r.connection.server)),
        Column::text("kind", "pairs, streams (both sides at once) or datagrams", |r| {
            let kind = match r.connection.content {
                Content::Pairs(_) => "pairs",
                Content::Streams(_) => "streams",
                Content::Datagrams(_) => "datagrams",
            };
            Some(kind.to_owned())
        }),
        Column::count("client_bytes", "bytes", "bytes that the client sent, each once", |r| {
            Some(r.connection.content.bytes()[0])
        }),
        Column::count("server_bytes", "bytes", "bytes that the server sent, each once", |r| {
            Some(r.connection.content.bytes()[1])
        }),
        Column::count("client_packet_bytes", "bytes", "largest IP packet of the client", |r| {
            size(r.connection.packet_bytes[0])
        }),
        Column::count("server_packet_bytes", "bytes", "largest IP packet of the server", |r| {
            size(r.connection.packet_bytes[1])
        }),
    ];
    columns.extend(of_the_network());
    let rest: [Column<ModelConnectionRow>; 2] = [
        Column::truth(
            "partial",
            "true if it had begun before the capture or was not over at its end",
            |r| Some(r.connection.partial),
        ),
        Column::truth("incomplete", "true if part of its data is missing", |r| {
            Some(r.connection.incomplete)
        }),
    ];
    columns.extend(rest);
    Table { name: "model_connections", columns }
}

/// What the network and the other end let a connection do.
fn of_the_network() -> Vec<Column<ModelConnectionRow>> {
    vec![
        Column::count(
            "client_window_bytes",
            "bytes",
            "window of the client; null where it was no fixed one or no windowful came",
            |r| size(r.connection.window_bytes[0]),
        ),
        Column::count(
            "server_window_bytes",
            "bytes",
            "window of the server; null where it was no fixed one or no windowful came",
            |r| size(r.connection.window_bytes[1]),
        ),
        Column::integer(
            "client_round_trip_ns",
            "nanoseconds",
            "from the link to the client and back, by the handshake; null without one",
            |r| r.connection.round_trips[0].map(|span| span.0),
        ),
        Column::integer(
            "server_round_trip_ns",
            "nanoseconds",
            "from the link to the server and back, by the handshake; null without one",
            |r| r.connection.round_trips[1].map(|span| span.0),
        ),
        Column::float(
            "server_toward_loss",
            "ratio",
            "share of the server's packets (data, opening and closing) lost before the link; null without \
             data",
            |r| r.connection.server_losses[0],
        ),
        Column::float(
            "server_from_loss",
            "ratio",
            "share of the packets for the server (data, opening and closing) lost behind the link; null \
             without data",
            |r| r.connection.server_losses[1],
        ),
    ]
}

fn size(bytes: u32) -> Option<u64> {
    (bytes > 0).then_some(bytes.into())
}

/// What was said in the connections, in order.
pub fn model_units() -> Table<ModelUnitRow> {
    let columns: Vec<Column<ModelUnitRow>> = vec![
        Column::count("connection", "count", "number of the connection", |r| Some(r.connection)),
        Column::text(
            "side",
            "both: a request and its response; client or server: a burst of that side alone, or \
             its datagrams",
            |r| Some(r.side.to_owned()),
        ),
        Column::count("client_bytes", "bytes", "bytes of the client", |r| r.bytes[0]),
        Column::count("server_bytes", "bytes", "bytes of the server", |r| r.bytes[1]),
        Column::integer(
            "client_wait_ns",
            "nanoseconds",
            "user think time, without the network; of a burst, the silence before it; null for the \
             first request of a connection",
            |r| r.wait[0].map(|wait| wait.0),
        ),
        Column::integer(
            "server_wait_ns",
            "nanoseconds",
            "server think time, without the network; of a burst, the silence before it; null \
             without a response",
            |r| r.wait[1].map(|wait| wait.0),
        ),
        Column::count("packets", "packets", "datagrams", |r| r.packets),
        Column::integer("gap_ns", "nanoseconds", "mean time between two datagrams", |r| {
            r.gap.map(|gap| gap.0)
        }),
    ];
    Table { name: "model_units", columns }
}

/// Hosts: clients, then servers.
pub fn model_hosts() -> Table<ModelHostRow> {
    let columns: Vec<Column<ModelHostRow>> = vec![
        Column::count("host", "count", "number of the host", |r| Some(r.number)),
        Column::text("side", "client or server", |r| {
            Some(if r.server { "server" } else { "client" }.to_owned())
        }),
        Column::count("connections", "count", "its connections", |r| Some(r.link.connections)),
        Column::integer(
            "latency_ns",
            "nanoseconds",
            "one way between the host and the link: the median of half the round trips of its \
             handshakes, as seen at the link",
            |r| r.link.latency().map(|latency| latency.0),
        ),
        Column::float(
            "toward_bits_per_second",
            "bits/second",
            "capacity from the host to the link: median over packet pairs; null below 5 pairs",
            |r| r.link.toward(),
        ),
        Column::float(
            "from_bits_per_second",
            "bits/second",
            "capacity from the link to the host: median over pairs of acknowledgements; null below \
             5 pairs",
            |r| r.link.from(),
        ),
        Column::float(
            "toward_carried_bits_per_second",
            "bits/second",
            "largest rate of 16 full packets or more of the host over 10 ms or more: no link's \
             capacity is below; null without so many",
            |r| r.link.carried(),
        ),
        Column::float(
            "toward_loss",
            "ratio",
            "share of the host's data packets lost before the link",
            |r| r.link.loss_toward(),
        ),
        Column::float(
            "from_loss",
            "ratio",
            "share of the data packets for the host lost behind the link",
            |r| r.link.loss_from(),
        ),
        Column::count("round_trips", "count", "handshakes behind the latency", |r| count(r, 0)),
        Column::count("toward_pairs", "count", "packet pairs of its data", |r| count(r, 1)),
        Column::count("from_pairs", "count", "pairs of its acknowledgements", |r| count(r, 2)),
    ];
    Table { name: "model_hosts", columns }
}

fn count(row: &ModelHostRow, which: usize) -> Option<u64> {
    u64::try_from(row.link.counts()[which]).ok()
}
