//! Every received packet in a file.

use std::path::Path;

use trustbed_units::Span;

use super::packet::Header;
use crate::output::rows::{Column, Rows};
use crate::session::Failure;

const COLUMNS: [Column; 7] = [
    Column { name: "frame", unit: "", meaning: "number of the frame, from 0" },
    Column { name: "part", unit: "", meaning: "which part of the frame, from 0" },
    Column { name: "parts", unit: "", meaning: "how many parts the frame has" },
    Column { name: "bytes", unit: "B", meaning: "payload of the packet, its header included" },
    Column {
        name: "transmission",
        unit: "",
        meaning: "0 the first, more a retransmission of the part",
    },
    Column {
        name: "sent_ns",
        unit: "ns",
        meaning: "when it was sent, by the real-time clock of the server",
    },
    Column {
        name: "arrived_ns",
        unit: "ns",
        meaning: "when the client had read it, after its start",
    },
];

pub(super) fn create(path: &Path) -> Result<Rows, Failure> {
    Rows::create(path, &COLUMNS)
}

pub(super) fn append(rows: &mut Rows, header: &Header, arrived: Span) {
    rows.append([
        i64::from(header.at.frame),
        i64::from(header.at.part),
        i64::from(header.parts),
        i64::from(header.length),
        i64::from(header.transmission),
        header.sent.0,
        arrived.0,
    ]);
}
