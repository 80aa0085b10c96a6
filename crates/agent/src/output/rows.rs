//! Rows of numbers in a file: one line of JSON that describes the columns, then records of one
//! length.
//!
//! The line names every column with type, unit and meaning, so that the file can be read without
//! this program.

use std::path::Path;

use serde::Serialize;

use crate::output::records::Records;
pub(crate) use crate::output::records::RowsWritten;
use crate::session::Failure;

/// Size of the buffer.
const BUFFER: usize = 64 << 10;

/// Marks a missing value.
pub(crate) const NONE: i64 = i64::MIN;

/// A column of 64-bit signed numbers.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// Empty for a plain number.
    pub(crate) unit: &'static str,
    pub(crate) meaning: &'static str,
}

/// Writes rows.
#[derive(Debug)]
pub(crate) struct Rows(Records);

impl Rows {
    /// Creates the file.
    pub(crate) fn create(path: &Path, columns: &[Column]) -> Result<Self, Failure> {
        #[derive(Serialize)]
        struct Typed<'a> {
            #[serde(flatten)]
            column: &'a Column,
            r#type: &'static str,
        }
        #[derive(Serialize)]
        struct Header<'a> {
            columns: Vec<Typed<'a>>,
            byte_order: &'static str,
            record_bytes: usize,
            /// The marker of a missing value.
            none: i64,
        }
        let columns: Vec<Typed<'_>> =
            columns.iter().map(|column| Typed { column, r#type: "i64" }).collect();
        let header =
            Header { record_bytes: 8 * columns.len(), columns, byte_order: "little", none: NONE };
        Records::create(path, &header, header.record_bytes, BUFFER).map(Self)
    }

    /// Appends a row; its length is that of the columns.
    pub(crate) fn append<const N: usize>(&mut self, row: [i64; N]) {
        self.0.append(|bytes| {
            for value in row {
                bytes.extend_from_slice(&value.to_le_bytes());
            }
        });
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> RowsWritten {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_row_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rows");
        let mut rows =
            Rows::create(&path, &[Column { name: "only", unit: "", meaning: "a number" }]).unwrap();
        for number in 0..20_000 {
            rows.append([number]);
        }
        assert_eq!(
            rows.finish(),
            RowsWritten { path: path.clone(), rows: 20_000, rows_left_out: 0, error: None }
        );
        let bytes = std::fs::read(&path).unwrap();
        let head = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(
            (bytes.len() - head, &bytes[bytes.len() - 8..]),
            (160_000, &19_999_i64.to_le_bytes()[..])
        );
    }
}
