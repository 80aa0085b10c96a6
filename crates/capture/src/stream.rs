//! Bytes that come out of a pipe or a decompressor, through one bounded buffer.
//!
//! Nothing is held but the bytes of the record in hand and what was read along with it. A
//! decompression bomb is therefore only slow: the buffer grows with what one record needs, and
//! records have a largest size.

use std::io::{self, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use crate::facts::Compression;

/// Where stored bytes come from.
pub(crate) type Origin = Box<dyn Read + Send>;

/// What a buffer holds to begin with; small enough for the processor's cache.
const BUFFER_LENGTH: usize = 128 * 1024;

/// A single read asks for at most this much: the decompressors drop what they produced in the call
/// that fails.
const READ_LENGTH: usize = 64 * 1024;

/// Counts what goes through it.
struct Counted {
    origin: io::Chain<Cursor<Vec<u8>>, Origin>,
    bytes: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.origin.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

enum Decompressor {
    None(Counted),
    Gzip(Box<MultiGzDecoder<BufReader<Counted>>>),
    Zstd(ZstdDecoder<'static, BufReader<Counted>>),
}

impl Decompressor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::None(reader) => reader.read(buffer),
            Self::Gzip(reader) => reader.read(buffer),
            Self::Zstd(reader) => reader.read(buffer),
        }
    }

    fn counted(&self) -> &Counted {
        match self {
            Self::None(reader) => reader,
            Self::Gzip(reader) => reader.get_ref().get_ref(),
            Self::Zstd(reader) => reader.get_ref().get_ref(),
        }
    }
}

/// A window that slides over a stream.
pub(crate) struct Stream {
    reader: Decompressor,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    failure: Option<io::Error>,
}

impl Stream {
    /// A stream whose first stored bytes, `start`, have been read from `origin` already.
    pub(crate) fn new(
        start: Vec<u8>,
        origin: Origin,
        compression: Compression,
    ) -> io::Result<Self> {
        let counted = Counted { origin: Cursor::new(start).chain(origin), bytes: 0 };
        let reader = match compression {
            Compression::None => Decompressor::None(counted),
            Compression::Gzip => Decompressor::Gzip(Box::new(MultiGzDecoder::new(
                BufReader::with_capacity(READ_LENGTH, counted),
            ))),
            Compression::Zstd => Decompressor::Zstd(ZstdDecoder::new(counted)?),
        };
        Ok(Self { reader, buffer: Vec::new(), start: 0, end: 0, ended: false, failure: None })
    }

    /// The bytes at hand, and whether there are no further ones.
    pub(crate) fn window(&self) -> (&[u8], bool) {
        (&self.buffer[self.start..self.end], self.ended)
    }

    /// Lets go of the first `length` bytes of the window.
    pub(crate) fn consume(&mut self, length: usize) {
        self.start += length;
        debug_assert!(self.start <= self.end, "more consumed than there was");
    }

    /// Reads on until the window holds `length` bytes or the stream has ended.
    pub(crate) fn fill_to(&mut self, length: usize) {
        // Bytes move to the front where at least as many were let go of. Else every short record
        // would move all of a long window, which a record that lies about its length asks for; the
        // buffer grows instead, to twice the window at most.
        if self.buffer.len() - self.start < length && self.start >= self.end - self.start {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        while !self.ended && self.end - self.start < length {
            if self.end == self.buffer.len() {
                // Only as bytes come, for what is asked for may never come.
                let most = self.start + length + READ_LENGTH;
                self.buffer.resize((self.buffer.len() * 2).min(most).max(BUFFER_LENGTH), 0);
            }
            let upto = self.buffer.len().min(self.end + READ_LENGTH);
            match self.reader.read(&mut self.buffer[self.end..upto]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = true;
                    self.failure = Some(error);
                }
            }
        }
    }

    /// What made the stream end before its time, once.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Stored bytes that went in so far.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.reader.counted().bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block that lies about its length asks for a long window, a few bytes further each time.
    #[test]
    fn short_records_before_a_long_one_move_few_bytes() {
        const WINDOW: usize = 1 << 20;
        const RECORD: usize = 20;
        let origin = Box::new(Cursor::new(vec![7; 3 * WINDOW]));
        let mut stream = Stream::new(Vec::new(), origin, Compression::None).unwrap();
        let (mut moved, mut consumed) = (0, 0);
        while consumed < WINDOW {
            let before = stream.start;
            stream.fill_to(WINDOW);
            let (window, ended) = stream.window();
            assert!(window.len() >= WINDOW && !ended);
            if stream.start < before {
                moved += window.len();
            }
            stream.consume(RECORD);
            consumed += RECORD;
        }
        assert!(moved <= 4 * WINDOW, "{moved} bytes moved for {consumed}");
        assert!(
            stream.buffer.len() <= 2 * WINDOW + READ_LENGTH,
            "{} bytes held",
            stream.buffer.len()
        );
    }
}
