//! Every chunk in a file: a row for each request.

use std::path::Path;

use trustbed_units::Span;

use super::client::{Exchange, Fault};
use crate::output::rows::{Column, NONE, Rows};
use crate::session::Failure;

const COLUMNS: [Column; 11] = [
    Column { name: "chunk", unit: "", meaning: "number of the chunk, from 0" },
    Column { name: "media_ns", unit: "ns", meaning: "how long the chunk plays" },
    Column { name: "rate_bits_per_second", unit: "bit/s", meaning: "rate that was chosen for it" },
    Column {
        name: "asked_ns",
        unit: "ns",
        meaning: "when it was asked for, connecting included, after the start",
    },
    Column { name: "first_byte_ns", unit: "ns", meaning: "when the first bytes were there" },
    Column { name: "last_byte_ns", unit: "ns", meaning: "when the last bytes were there" },
    Column { name: "bytes", unit: "B", meaning: "length of the content, as far as it came" },
    Column {
        name: "buffer_before_ns",
        unit: "ns",
        meaning: "what was left to play when it was asked for",
    },
    Column {
        name: "buffer_after_ns",
        unit: "ns",
        meaning: "what was left to play when it had come, itself included",
    },
    Column {
        name: "stall_ns",
        unit: "ns",
        meaning: "for how long nothing was left to play since the row before",
    },
    Column {
        name: "fault",
        unit: "",
        meaning: "0 none, 1 refused, 2 unreachable, 3 timed_out, 4 reset, 5 closed_early, 6 \
            not_understood, 7 wrong_content, 8 stopped, 9 other",
    },
];

pub(super) fn create(path: &Path) -> Result<Rows, Failure> {
    Rows::create(path, &COLUMNS)
}

/// A request for a chunk, and what came of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Chunk {
    pub(super) number: u32,
    pub(super) media: Span,
    pub(super) rate: u64,
    pub(super) asked: Span,
    pub(super) exchange: Exchange,
    pub(super) before: Span,
    pub(super) after: Span,
    pub(super) stall: Span,
    pub(super) fault: Option<Fault>,
}

impl Chunk {
    pub(super) fn append(&self, rows: &mut Rows) {
        let moment = |at: Option<Span>| at.map_or(NONE, |at| at.0);
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        rows.append([
            i64::from(self.number),
            self.media.0,
            number(self.rate),
            self.asked.0,
            moment(self.exchange.first_byte),
            moment(self.exchange.last_byte),
            number(self.exchange.bytes),
            self.before.0,
            self.after.0,
            self.stall.0,
            self.fault.map_or(0, Fault::code),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_match_the_meaning_of_their_column() {
        let meaning = COLUMNS[10].meaning;
        for fault in Fault::ALL {
            let text = format!("{} {}", fault.code(), fault.name());
            assert!(meaning.contains(&text), "{}", fault.name());
        }
    }
}
