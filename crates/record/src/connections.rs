//! The table of connections.

use trustbed_analyze::ConnectionRow;

use crate::text::{address, protocol};
use crate::{Column, Table, Values};

type Row = ConnectionRow;

const fn column(
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    values: Values<Row>,
) -> Column<Row> {
    Column { name, unit, meaning, values }
}

/// Connections: one row per TCP connection instance or UDP flow, in the order in which they ended.
#[expect(clippy::too_many_lines, reason = "a few lines for each column")]
pub fn connections() -> Table<ConnectionRow> {
    let columns: Vec<Column<Row>> = vec![
        column(
            "connection",
            "1",
            "index of the first packet in the capture, counted from 1: the connection's name; Wireshark's frame number when the capture is one file",
            Values::Count(|r| Some(r.connection)),
        ),
        column(
            "protocol",
            "",
            "tcp or udp",
            Values::Text(|r| Some(protocol(r.protocol).to_owned())),
        ),
        column(
            "initiator",
            "",
            "address of the side that sent the first SYN; of the higher port when no SYN was seen; of the first packet for UDP",
            Values::Text(|r| Some(address(&r.initiator.0, r.ipv6))),
        ),
        column("initiator_port", "1", "its port", Values::Count(|r| Some(r.initiator.1.into()))),
        column(
            "responder",
            "",
            "address of the other side",
            Values::Text(|r| Some(address(&r.responder.0, r.ipv6))),
        ),
        column("responder_port", "1", "its port", Values::Count(|r| Some(r.responder.1.into()))),
        column("start_ns", "ns", "time of the first packet", Values::Time(|r| Some(r.start.0))),
        column(
            "duration_ns",
            "ns",
            "first to last packet",
            Values::Integer(|r| Some((r.last - r.start).0)),
        ),
        column(
            "state",
            "",
            "syn, syn_ack, established, midstream, half_closed, closed, reset or datagrams: how far it came",
            Values::Text(|r| Some(r.state.name().to_owned())),
        ),
        column(
            "midstream",
            "",
            "it was already running when the capture began",
            Values::Truth(|r| Some(r.midstream)),
        ),
        column(
            "multipath",
            "",
            "it is a subflow of Multipath TCP (RFC 8684): both SYNs, or later segments of both sides, carried its option",
            Values::Truth(|r| Some(r.multipath)),
        ),
        column(
            "evicted",
            "",
            "it was thrown out of a full table before it ended",
            Values::Truth(|r| Some(r.evicted)),
        ),
        column(
            "packets",
            "1",
            "packets of both directions",
            Values::Count(|r| Some(r.from_initiator.packets + r.from_responder.packets)),
        ),
        column(
            "packets_initiator",
            "1",
            "packets sent by the initiator",
            Values::Count(|r| Some(r.from_initiator.packets)),
        ),
        column(
            "packets_responder",
            "1",
            "packets sent by the responder",
            Values::Count(|r| Some(r.from_responder.packets)),
        ),
        column(
            "payload_bytes_initiator",
            "B",
            "payload sent by the initiator, retransmissions included",
            Values::Count(|r| Some(r.from_initiator.payload)),
        ),
        column(
            "payload_bytes_responder",
            "B",
            "payload sent by the responder, retransmissions included",
            Values::Count(|r| Some(r.from_responder.payload)),
        ),
        column(
            "syn_retransmissions",
            "1",
            "SYNs and SYN-ACKs beyond the first",
            Values::Count(|r| {
                Some(
                    u64::from(r.from_initiator.syn_retransmissions)
                        + u64::from(r.from_responder.syn_retransmissions),
                )
            }),
        ),
        column(
            "fin_retransmissions",
            "1",
            "FINs beyond the first of each side",
            Values::Count(|r| {
                Some(
                    u64::from(r.from_initiator.fin_retransmissions)
                        + u64::from(r.from_responder.fin_retransmissions),
                )
            }),
        ),
        column(
            "packets_after_close",
            "1",
            "packets after a RST: counted, not analysed",
            Values::Count(|r| Some(r.packets_after_close.into())),
        ),
        column(
            "capture_place",
            "",
            "where the capture was taken: beside the initiator, beside the responder, in the middle, or unknown",
            Values::Text(|r| Some(r.location.place.name().to_owned())),
        ),
        column(
            "capture_place_from",
            "",
            "how that is known: given, from the handshake, from how soon answers follow, or not",
            Values::Text(|r| Some(r.location.from.name().to_owned())),
        ),
        column(
            "nearest_initiator_ns",
            "ns",
            "smallest time from a packet towards the initiator to its answer, as seen at the capture",
            Values::Integer(|r| r.location.initiator.map(|t| t.0)),
        ),
        column(
            "nearest_responder_ns",
            "ns",
            "smallest time from a packet towards the responder to its answer",
            Values::Integer(|r| r.location.responder.map(|t| t.0)),
        ),
        column(
            "handshake_rtt_ns",
            "ns",
            "SYN to SYN-ACK plus SYN-ACK to the next packet of the initiator; null when one of them was repeated or not seen",
            Values::Integer(|r| r.handshake_rtt.map(|t| t.0)),
        ),
        column(
            "acked_unseen_bytes",
            "B",
            "bytes that a receiver acknowledged and the capture never held",
            Values::Count(|r| Some(r.acknowledged_unseen)),
        ),
        column(
            "flags",
            "",
            "what was noticed: midstream, simultaneous_open, stray_syn, stray_rst, clock_step, inner, snapped, congestion_experienced, offloaded, data_after_fin, fragmented, wild_seq",
            Values::Words(|r| r.flags.iter().map(ToString::to_string).collect()),
        ),
    ];
    Table { name: "connections", columns }
}
