//! Rows of numbers in a file: one line of JSON that says what they are, then records of one length.
//!
//! The line names every column with type, unit and meaning, so that a file can be read without this program. Rows are buffered; when the
//! disk is full, what was written stays whole to the last record but perhaps one, later rows are counted and left out, and the work goes
//! on.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::talk::Failure;

/// Stands for a value that there is not.
pub(crate) const NONE: i64 = i64::MIN;

/// A column of 64-bit signed numbers.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// Empty for a plain number.
    pub(crate) unit: &'static str,
    pub(crate) meaning: &'static str,
}

/// What became of the rows.
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
    file: BufWriter<File>,
    written: u64,
    left_out: u64,
    error: Option<String>,
}

impl Rows {
    /// Begins a file.
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
            /// What stands for a value that there is not.
            none: i64,
        }
        let columns: Vec<Typed<'_>> = columns.iter().map(|column| Typed { column, r#type: "i64" }).collect();
        let header = Header { record_bytes: 8 * columns.len(), columns, byte_order: "little", none: NONE };
        let failed = |error: std::io::Error| {
            Failure::running(
                format!("{}: cannot be written: {error}", path.display()),
                "name a file in a directory that exists and is yours",
            )
        };
        let mut file = BufWriter::with_capacity(64 << 10, File::create(path).map_err(failed)?);
        let mut line = serde_json::to_vec(&header).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        file.write_all(&line).and_then(|()| file.flush()).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file, written: 0, left_out: 0, error: None })
    }

    /// Appends a row; its length is that of the columns.
    pub(crate) fn append<const N: usize>(&mut self, row: [i64; N]) {
        if self.error.is_some() {
            self.left_out += 1;
            return;
        }
        for value in row {
            if let Err(error) = self.file.write_all(&value.to_le_bytes()) {
                self.error = Some(error.to_string());
                self.left_out += 1;
                return;
            }
        }
        self.written += 1;
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> RowsWritten {
        if let (None, Err(error)) = (&self.error, self.file.flush()) {
            self.error = Some(error.to_string());
        }
        let (file, _) = self.file.into_parts();
        drop(file);
        RowsWritten { path: self.path, rows: self.written, rows_left_out: self.left_out, error: self.error }
    }
}
