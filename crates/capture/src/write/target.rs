//! Where blocks go: something that can be written to and, if it is a file, cut back to where whole
//! blocks ended.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

pub(super) trait Target: Send {
    /// Writes some of the bytes and returns how many.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Makes this the end, where that is possible; false where it is not.
    fn cut(&mut self, length: u64) -> bool;
}

impl Target for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }

    fn cut(&mut self, length: u64) -> bool {
        let regular = self.metadata().is_ok_and(|about| about.is_file());
        regular && self.set_len(length).is_ok() && self.seek(SeekFrom::Start(length)).is_ok()
    }
}

/// What only takes bytes: a pipe, standard output, memory.
pub(super) struct Pipe<W>(pub(super) W);

impl<W: Write + Send> Target for Pipe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes)?;
        self.0.flush()?;
        Ok(written)
    }

    fn cut(&mut self, _length: u64) -> bool {
        false
    }
}
