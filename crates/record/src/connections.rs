//! The table of connections.

use trustbed_analyze::ConnectionRow;

use crate::text::{address, protocol};
use crate::{Column, Table};

type Row = ConnectionRow;

/// Connections: one row per TCP connection instance or UDP flow, in the order in which they ended.
#[expect(clippy::too_many_lines, reason = "a few lines for each column")]
pub fn connections() -> Table<ConnectionRow> {
    let columns: Vec<Column<Row>> = vec![
        Column::count(
            "connection",
            "count",
            "number of the connection's first packet in the capture, from 1; Wireshark's frame \
             number when the capture is one file",
            |r| Some(r.connection),
        ),
        Column::text("protocol", "tcp or udp", |r| Some(protocol(r.protocol).to_owned())),
        Column::text(
            "initiator",
            "address of the side that sent the first SYN; without a SYN, of the side with the \
             higher port; for UDP, of the first sender",
            |r| Some(address(&r.initiator.0, r.ipv6)),
        ),
        Column::count("initiator_port", "count", "port of the initiator", |r| {
            Some(r.initiator.1.into())
        }),
        Column::text("responder", "address of the other side", |r| {
            Some(address(&r.responder.0, r.ipv6))
        }),
        Column::count("responder_port", "count", "port of the responder", |r| {
            Some(r.responder.1.into())
        }),
        Column::time("start_ns", "time of the first packet", |r| Some(r.start.0)),
        Column::integer(
            "duration_ns",
            "nanoseconds",
            "time from the first packet to the last",
            |r| Some((r.last - r.start).0),
        ),
        Column::text(
            "state",
            "last state reached: syn, syn_ack, established, midstream, half_closed, closed, reset \
             or datagrams",
            |r| Some(r.state.name().to_owned()),
        ),
        Column::truth(
            "midstream",
            "true if the connection was open before the capture began",
            |r| Some(r.midstream),
        ),
        Column::truth(
            "multipath",
            "true for a Multipath TCP subflow (RFC 8684): both SYNs, or later segments of both \
             sides, carry the option",
            |r| Some(r.multipath),
        ),
        Column::truth(
            "evicted",
            "true if a full connection table evicted the connection before it ended",
            |r| Some(r.evicted),
        ),
        Column::count("packets", "packets", "packets in both directions", |r| {
            Some(r.from_initiator.packets + r.from_responder.packets)
        }),
        Column::count("packets_initiator", "packets", "packets from the initiator", |r| {
            Some(r.from_initiator.packets)
        }),
        Column::count("packets_responder", "packets", "packets from the responder", |r| {
            Some(r.from_responder.packets)
        }),
        Column::count(
            "payload_bytes_initiator",
            "bytes",
            "payload from the initiator, retransmissions included",
            |r| Some(r.from_initiator.payload),
        ),
        Column::count(
            "payload_bytes_responder",
            "bytes",
            "payload from the responder, retransmissions included",
            |r| Some(r.from_responder.payload),
        ),
        Column::count(
            "syn_retransmissions",
            "packets",
            "SYN and SYN-ACK packets beyond the first of each side",
            |r| {
                Some(
                    u64::from(r.from_initiator.syn_retransmissions)
                        + u64::from(r.from_responder.syn_retransmissions),
                )
            },
        ),
        Column::count(
            "fin_retransmissions",
            "packets",
            "FIN packets beyond the first of each side",
            |r| {
                Some(
                    u64::from(r.from_initiator.fin_retransmissions)
                        + u64::from(r.from_responder.fin_retransmissions),
                )
            },
        ),
        Column::count(
            "packets_after_close",
            "packets",
            "packets after a RST: counted, not analysed",
            |r| Some(r.packets_after_close.into()),
        ),
        Column::text(
            "capture_point",
            "position of the capture: initiator, responder, middle or unknown",
            |r| Some(r.location.point.name().to_owned()),
        ),
        Column::text(
            "capture_point_source",
            "source of the capture point: given, handshake, answers (response times) or none",
            |r| Some(r.location.source.name().to_owned()),
        ),
        Column::integer(
            "response_min_initiator_ns",
            "nanoseconds",
            "shortest time from a packet to the initiator until its response, at the capture \
             point",
            |r| r.location.initiator.map(|t| t.0),
        ),
        Column::integer(
            "response_min_responder_ns",
            "nanoseconds",
            "shortest time from a packet to the responder until its response, at the capture \
             point",
            |r| r.location.responder.map(|t| t.0),
        ),
        Column::integer(
            "handshake_rtt_ns",
            "nanoseconds",
            "SYN to SYN-ACK plus SYN-ACK to the initiator's next packet; null if either was \
             retransmitted or not captured",
            |r| r.handshake_rtt.map(|t| t.0),
        ),
        Column::count(
            "acked_unseen_bytes",
            "bytes",
            "bytes acknowledged by the receiver but missing from the capture",
            |r| Some(r.acknowledged_unseen),
        ),
        Column::words(
            "flags",
            "observations: midstream, simultaneous_open, stray_syn, stray_rst, clock_step, inner, \
             snapped, congestion_experienced, offloaded, data_after_fin, fragmented, wild_seq",
            |r| r.flags.iter().map(ToString::to_string).collect(),
        ),
    ];
    Table { name: "connections", columns }
}
