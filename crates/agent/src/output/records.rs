//! A file of records of one length, behind a line of JSON that describes them (decision 0010).
//!
//! Records are buffered; when the disk is full, those already written stay whole, later ones are
//! counted as lost, and the work goes on.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::output::append::{self, Appended};
use crate::session::Failure;

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

/// Writes records.
#[derive(Debug)]
pub(crate) struct Records {
    path: PathBuf,
    file: File,
    record_bytes: usize,
    buffer_bytes: usize,
    /// Records that are not in the file yet.
    buffer: Vec<u8>,
    written: u64,
    left_out: u64,
    error: Option<String>,
}

impl Records {
    /// Creates the file, with its first line.
    pub(crate) fn create(
        path: &Path,
        header: &impl Serialize,
        record_bytes: usize,
        buffer_bytes: usize,
    ) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::running(
                format!("{}: cannot be written: {error}", path.display()),
                "name a file in a directory that exists and is yours",
            )
        };
        let mut file = super::create(path).map_err(failed)?;
        let mut line = serde_json::to_vec(header).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        file.write_all(&line).map_err(failed)?;
        Ok(Self::begin(path, file, record_bytes, buffer_bytes))
    }

    fn begin(path: &Path, file: File, record_bytes: usize, buffer_bytes: usize) -> Self {
        Self {
            path: path.to_owned(),
            file,
            record_bytes,
            buffer_bytes,
            buffer: Vec::with_capacity(buffer_bytes + record_bytes),
            written: 0,
            left_out: 0,
            error: None,
        }
    }

    /// Appends a record: `pack` puts its bytes, as many as every record has, behind the others.
    pub(crate) fn append(&mut self, pack: impl FnOnce(&mut Vec<u8>)) {
        if self.error.is_some() {
            self.left_out += 1;
            return;
        }
        pack(&mut self.buffer);
        if self.buffer.len() >= self.buffer_bytes {
            self.drain();
        }
    }

    /// Writes what is buffered.
    fn drain(&mut self) {
        let Appended { records, error } =
            append::append(&mut self.file, &self.buffer, self.record_bytes);
        self.written += records;
        self.left_out += (self.buffer.len() / self.record_bytes) as u64 - records;
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
    fn records_lost_to_a_full_disk_are_counted() {
        for count in [10, 20_000_u64] {
            let full = File::options().write(true).open("/dev/full").unwrap();
            let mut records = Records::begin(Path::new("/dev/full"), full, 16, 1 << 16);
            for number in 0..count {
                records.append(|bytes| {
                    bytes.extend(number.to_le_bytes());
                    bytes.extend(number.to_be_bytes());
                });
            }
            let written = records.finish();
            assert_eq!((written.rows, written.rows_left_out), (0, count));
            assert!(written.error.unwrap().contains("space"));
        }
    }
}
