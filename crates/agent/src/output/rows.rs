//! Rows of numbers in a file: one line of JSON that describes the columns, then records of one
//! length.
//!
//! The line names every column with type, unit and meaning, so that the file can be read without
//! this program. Rows are buffered; when the disk is full, rows already written stay whole, later
//! ones are counted as lost, and the work goes on.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::output::append::{self, Appended};
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

/// How many rows were written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RowsWritten {
    pub(crate) path: PathBuf,
    pub(crate) rows: u64,
    /// Rows that are not in the file because it could not be written.
    pub(crate) rows_left_out: u64,
    /// Why.
    pub(crate) error: Option<String>,
}

/// Writes rows.
#[derive(Debug)]
pub(crate) struct Rows {
    path: PathBuf,
    file: File,
    row_bytes: usize,
    /// Rows that are not in the file yet.
    buffer: Vec<u8>,
    written: u64,
    left_out: u64,
    error: Option<String>,
}

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
        let failed = |error: std::io::Error| {
            Failure::running(
                format!("{}: cannot be written: {error}", path.display()),
                "name a file in a directory that exists and is yours",
            )
        };
        let mut file = File::create(path).map_err(failed)?;
        let mut line = serde_json::to_vec(&header).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        file.write_all(&line).map_err(failed)?;
        Ok(Self::begin(path, file, header.columns.len()))
    }

    fn begin(path: &Path, file: File, columns: usize) -> Self {
        let (row_bytes, buffer) = (8 * columns, Vec::with_capacity(BUFFER + 8 * columns));
        Self {
            path: path.to_owned(),
            file,
            row_bytes,
            buffer,
            written: 0,
            left_out: 0,
            error: None,
        }
    }

    /// Appends a row; its length is that of the columns.
    pub(crate) fn append<const N: usize>(&mut self, row: [i64; N]) {
        if self.error.is_some() {
            self.left_out += 1;
            return;
        }
        for value in row {
            self.buffer.extend_from_slice(&value.to_le_bytes());
        }
        if self.buffer.len() >= BUFFER {
            self.drain();
        }
    }

    /// Writes what is buffered.
    fn drain(&mut self) {
        let Appended { records, error } =
            append::append(&mut self.file, &self.buffer, self.row_bytes);
        self.written += records;
        self.left_out += (self.buffer.len() / self.row_bytes) as u64 - records;
        self.error = error.map(|error| error.to_string());
        self.buffer.clear();
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> RowsWritten {
        if self.error.is_none() {
            self.drain();
        }
        RowsWritten {
            path: self.path,
            rows: self.written,
            rows_left_out: self.left_out,
            error: self.error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lost_to_a_full_disk_are_counted() {
        for count in [10, 20_000] {
            let full = File::options().write(true).open("/dev/full").unwrap();
            let mut rows = Rows::begin(Path::new("/dev/full"), full, 2);
            for number in 0..count {
                rows.append([number, -number]);
            }
            let written = rows.finish();
            assert_eq!((written.rows, written.rows_left_out), (0, count.unsigned_abs()));
            assert!(written.error.unwrap().contains("space"));
        }
    }

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
