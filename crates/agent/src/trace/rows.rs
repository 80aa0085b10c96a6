//! The rows of a trace: packed records behind a line of JSON that describes them (decision 0010).

use std::path::Path;

use serde::Serialize;

use super::calls::{ARCHITECTURE, names};
use super::descriptors::{KINDS, Kind};
use crate::output::records::{Records, RowsWritten};
use crate::output::rows::NONE;
use crate::session::Failure;

const BUFFER: usize = 1 << 20;
const BYTES: usize = 36;
/// The same with a descriptor.
const WIDE_BYTES: usize = BYTES + 9;

/// A call of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// By the real-time clock, as it was set at the beginning.
    pub(super) entered_ns: i64,
    pub(super) process: u32,
    pub(super) thread: u32,
    pub(super) call: u16,
    /// None of a call that has not returned.
    pub(super) result: Option<i64>,
    pub(super) duration_ns: Option<i64>,
    pub(super) processor: u16,
    /// The descriptor that it is about, and what that stands for.
    pub(super) descriptor: Option<(i32, Kind)>,
}

#[derive(Debug, Serialize)]
struct Column {
    name: &'static str,
    r#type: &'static str,
    unit: &'static str,
    meaning: &'static str,
}

const fn column(
    name: &'static str,
    r#type: &'static str,
    unit: &'static str,
    meaning: &'static str,
) -> Column {
    Column { name, r#type, unit, meaning }
}

const COLUMNS: [Column; 7] = [
    column("entered_ns", "i64", "ns", "when the call was entered, since the epoch"),
    column("pid", "u32", "", "process"),
    column("tid", "u32", "", "thread; its rows are in the order of its calls"),
    column("call", "u16", "", "system call"),
    column("result", "i64", "", "result, or a negative error number; null: it did not return"),
    column("duration_ns", "i64", "ns", "from the entry to the return; null: it did not return"),
    column("cpu", "u16", "", "processor on which it returned"),
];

const OF_DESCRIPTORS: [Column; 2] = [
    column("fd", "i64", "", "the descriptor that the call is about; null: of none, or unknown"),
    column("kind", "u8", "", "what the descriptor stands for"),
];

/// Writes rows, with descriptors or without.
#[derive(Debug)]
pub(super) struct Rows {
    records: Records,
    descriptors: bool,
}

impl Rows {
    /// Creates the file.
    pub(super) fn create(path: &Path, descriptors: bool) -> Result<Self, Failure> {
        #[derive(Serialize)]
        struct Header<'a> {
            columns: Vec<&'a Column>,
            byte_order: &'static str,
            record_bytes: usize,
            none: i64,
            architecture: &'static str,
            calls: Vec<String>,
            kinds: &'static [&'static str],
        }
        let more = if descriptors { OF_DESCRIPTORS.as_slice() } else { &[] };
        let record_bytes = if descriptors { WIDE_BYTES } else { BYTES };
        let header = Header {
            columns: COLUMNS.iter().chain(more).collect(),
            byte_order: "little",
            record_bytes,
            none: NONE,
            architecture: ARCHITECTURE,
            calls: names(),
            kinds: if descriptors { &KINDS } else { &[] },
        };
        let records = Records::create(path, &header, record_bytes, BUFFER)?;
        Ok(Self { records, descriptors })
    }

    /// Appends a row.
    pub(super) fn append(&mut self, row: &Row) {
        self.records.append(|bytes| {
            bytes.extend_from_slice(&packed(row));
            if self.descriptors {
                let (number, kind) = row
                    .descriptor
                    .map_or((NONE, u8::MAX), |(number, kind)| (i64::from(number), kind as u8));
                bytes.extend_from_slice(&number.to_le_bytes());
                bytes.push(kind);
            }
        });
    }

    /// Ends the file.
    pub(super) fn finish(self) -> RowsWritten {
        self.records.finish()
    }
}

fn packed(row: &Row) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[0..8].copy_from_slice(&row.entered_ns.to_le_bytes());
    bytes[8..12].copy_from_slice(&row.process.to_le_bytes());
    bytes[12..16].copy_from_slice(&row.thread.to_le_bytes());
    bytes[16..18].copy_from_slice(&row.call.to_le_bytes());
    bytes[18..26].copy_from_slice(&row.result.unwrap_or(NONE).to_le_bytes());
    bytes[26..34].copy_from_slice(&row.duration_ns.unwrap_or(NONE).to_le_bytes());
    bytes[34..36].copy_from_slice(&row.processor.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_columns_in_their_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("calls.rows");
        let mut rows = Rows::create(&path, false).unwrap();
        rows.append(&Row {
            entered_ns: 1,
            process: 2,
            thread: 3,
            call: 4,
            result: Some(-5),
            duration_ns: None,
            processor: 6,
            descriptor: None,
        });
        assert_eq!(rows.finish().rows, 1);
        let bytes = std::fs::read(&path).unwrap();
        let head = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        let record = &bytes[head + 1..];
        let width = |kind: &str| match kind {
            "i64" => 8,
            "u32" => 4,
            _ => 2,
        };
        assert_eq!(COLUMNS.iter().map(|one| width(one.r#type)).sum::<usize>(), BYTES);
        assert_eq!((record.len(), record[0], record[8], record[12]), (BYTES, 1, 2, 3));
        assert_eq!((record[16], record[34]), (4, 6));
        assert_eq!(record[18..26], (-5_i64).to_le_bytes());
        assert_eq!(record[26..34], NONE.to_le_bytes());
    }

    #[test]
    fn a_row_with_descriptors_is_longer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("calls.rows");
        let mut rows = Rows::create(&path, true).unwrap();
        let row = Row {
            entered_ns: 1,
            process: 2,
            thread: 3,
            call: 4,
            result: None,
            duration_ns: None,
            processor: 6,
            descriptor: Some((7, Kind::Socket)),
        };
        rows.append(&row);
        rows.append(&Row { descriptor: None, ..row });
        assert_eq!(rows.finish().rows, 2);
        let bytes = std::fs::read(&path).unwrap();
        let head = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        let records: Vec<&[u8]> = bytes[head + 1..].chunks(WIDE_BYTES).collect();
        let ends = records.iter().map(|one| &one[BYTES..]).collect::<Vec<_>>();
        assert_eq!(
            (&ends[0][..8], ends[0][8]),
            (7_i64.to_le_bytes().as_slice(), Kind::Socket as u8)
        );
        assert_eq!((&ends[1][..8], ends[1][8]), (NONE.to_le_bytes().as_slice(), u8::MAX));
    }
}
