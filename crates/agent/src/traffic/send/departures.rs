//! A file of every departure: scheduled and actual time.

use std::path::Path;

use trustbed_traffic::Departure;
use trustbed_units::Span;

use super::channel::Fate;
use crate::output::rows::{Column, Rows};
use crate::session::Failure;

const COLUMNS: [Column; 6] = [
    Column { name: "source", unit: "", meaning: "number of the source" },
    Column {
        name: "sequence",
        unit: "",
        meaning: "number of the packet within its source, as in its stamp; one that was dropped \
            has that of the next",
    },
    Column { name: "due_ns", unit: "ns", meaning: "when it was due, after the start" },
    Column {
        name: "sent_ns",
        unit: "ns",
        meaning: "when it was given to its socket, after the start",
    },
    Column { name: "ip_bytes", unit: "B", meaning: "its IP length" },
    Column { name: "fate", unit: "", meaning: "0 sent, 1 waits for its connection, 2 dropped" },
];

pub(super) fn create(path: &Path) -> Result<Rows, Failure> {
    Rows::create(path, &COLUMNS)
}

pub(super) fn append(
    rows: &mut Rows,
    source: u16,
    sequence: u32,
    departure: Departure,
    elapsed: Span,
    fate: Fate,
) {
    let fate = match fate {
        Fate::Sent => 0,
        Fate::Waits => 1,
        Fate::Dropped => 2,
    };
    rows.append([
        source.into(),
        sequence.into(),
        departure.due.0,
        elapsed.0,
        departure.length.into(),
        fate,
    ]);
}
