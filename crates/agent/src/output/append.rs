//! Appends records of one length to a file: only whole ones stay there, and those are counted.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

/// How many records were appended.
#[derive(Debug)]
pub(crate) struct Appended {
    /// Records in the file.
    pub(crate) records: u64,
    /// Why later ones are not.
    pub(crate) error: Option<io::Error>,
}

/// Appends records of so many bytes each. Behind an error the file ends with its last whole record.
pub(crate) fn append(file: &mut File, records: &[u8], length: usize) -> Appended {
    let mut written = 0;
    let error = loop {
        match file.write(&records[written..]) {
            _ if written == records.len() => break None,
            Ok(0) => break Some(io::Error::from(io::ErrorKind::WriteZero)),
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Some(error),
        }
    };
    let part = written % length;
    if part > 0
        && let Ok(end) = file.seek(SeekFrom::Current(-i64::try_from(part).unwrap_or(0)))
    {
        // Should the kernel refuse even this, the file ends with a partial record.
        let _ = file.set_len(end);
    }
    Appended { records: (written / length) as u64, error }
}
