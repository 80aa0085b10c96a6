//! The files that verbs write: lines of JSON, rows of numbers, records appended whole. What they
//! hold of others' traffic is their owner's alone.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

pub(crate) mod append;
pub(crate) mod json_lines;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod seconds;

/// Creates a file that nobody but its owner reads, or empties the one that is there.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}
