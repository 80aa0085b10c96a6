//! Lines of JSON in a file, about one a second: each is whole in the file when it is counted.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::session::Failure;

/// A file to which lines are appended. After the first that cannot be written (the disk is full) it
/// takes none, and has the reason.
#[derive(Debug)]
pub(crate) struct JsonLines {
    path: PathBuf,
    file: File,
    error: Option<String>,
}

impl JsonLines {
    /// Creates the file.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let failed = |error| {
            let message = format!("{}: cannot be written: {error}", path.display());
            Failure::running(message, "name a file in a directory that exists and is yours")
        };
        Ok(Self { path: path.to_owned(), file: super::create(path).map_err(failed)?, error: None })
    }

    /// Appends a line; whether it is in the file.
    pub(crate) fn write<T: Serialize>(&mut self, line: &T) -> bool {
        if self.error.is_some() {
            return false;
        }
        let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        self.error = written.err().map(|error| error.to_string());
        self.error.is_none()
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Why lines are missing.
    pub(crate) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_does_not_fit_on_the_disk_is_not_counted() {
        let mut lines = JsonLines::create(Path::new("/dev/full")).unwrap();
        assert!(!lines.write(&"line") && !lines.write(&"line"));
        assert!(lines.error().unwrap().contains("space"));
    }
}
