//! Where the bytes of one input come from: memory, or a stream.
//!
//! Plain regular files are read through the stream's small buffer and not mapped: the kernel
//! answers an access behind the end of a mapped file that was cut short with SIGBUS, which ends the
//! process, and a copy that stays in the processor's cache costs no more than the faults of a
//! mapping. The length is taken when the file is opened, so a capture that is still being written
//! is read up to where it was then; one that is cut short while it is read is a failure with the
//! byte.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::OpenError;
use crate::facts::Compression;
use crate::input::Input;
use crate::sniff;
use crate::stream::{Origin, Stream};

enum Bytes {
    Held { held: Arc<[u8]>, position: usize },
    Streamed(Box<Stream>),
    Closed,
}

/// The bytes of one input, decompressed.
pub(crate) struct Source {
    bytes: Bytes,
    compression: Compression,
    /// Stored bytes in all, when that can be known.
    length: Option<u64>,
    /// Stored bytes that had been read when the source was closed.
    read: u64,
    /// Whether the input can be opened a second time.
    again: bool,
}

impl Source {
    /// Opens an input.
    pub(crate) fn open(input: &Input) -> Result<Self, OpenError> {
        match input {
            Input::Path(path) => Self::open_path(path),
            Input::Stdin => Self::piped(Box::new(io::stdin()), &input.path()),
            Input::Memory { bytes, .. } => Self::open_memory(bytes, &input.path()),
        }
    }

    fn open_path(path: &Path) -> Result<Self, OpenError> {
        let unreadable = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => OpenError::NotFound { path: path.to_owned() },
            io::ErrorKind::IsADirectory => OpenError::Directory { path: path.to_owned() },
            _ => OpenError::Unreadable { path: path.to_owned(), source },
        };
        let mut file = File::open(path).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        if about.is_dir() {
            return Err(OpenError::Directory { path: path.to_owned() });
        }
        if !about.is_file() {
            return Self::piped(Box::new(file), path);
        }
        let mut start = [0; 8];
        let read = read_fully(&mut file, &mut start).map_err(unreadable)?;
        let compression = sniff::compression(&start[..read]);
        let origin: Origin = match compression {
            // What the kernel makes up while it is read has a length of 0.
            Compression::None if about.len() > 0 => {
                Box::new(Plain { file, read: read as u64, length: about.len() })
            }
            _ => Box::new(file),
        };
        let source = Self::streamed(start[..read].to_vec(), origin, compression, path)?;
        Ok(Self { length: Some(about.len()), again: true, ..source })
    }

    fn open_memory(bytes: &Arc<[u8]>, path: &Path) -> Result<Self, OpenError> {
        let length = Some(bytes.len() as u64);
        let compression = sniff::compression(bytes);
        if compression == Compression::None {
            let bytes = Bytes::Held { held: Arc::clone(bytes), position: 0 };
            return Ok(Self { bytes, compression, length, read: 0, again: true });
        }
        let source = Self::streamed(
            Vec::new(),
            Box::new(Cursor::new(Arc::clone(bytes))),
            compression,
            path,
        )?;
        Ok(Self { length, again: true, ..source })
    }

    fn piped(mut origin: Origin, path: &Path) -> Result<Self, OpenError> {
        let mut start = [0; 8];
        let length = read_fully(&mut origin, &mut start)
            .map_err(|source| OpenError::Unreadable { path: path.to_owned(), source })?;
        let start = start[..length].to_vec();
        let compression = sniff::compression(&start);
        Self::streamed(start, origin, compression, path)
    }

    fn streamed(
        start: Vec<u8>,
        origin: Origin,
        compression: Compression,
        path: &Path,
    ) -> Result<Self, OpenError> {
        let stream = Stream::new(start, origin, compression).map_err(|source| {
            OpenError::Decompression { path: PathBuf::from(path), compression, source }
        })?;
        Ok(Self {
            bytes: Bytes::Streamed(Box::new(stream)),
            compression,
            length: None,
            read: 0,
            again: false,
        })
    }

    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// Whether the input can be opened a second time from its beginning.
    pub(crate) fn can_open_again(&self) -> bool {
        self.again
    }

    /// Whether bytes pass by only once and cost memory while they are held.
    pub(crate) fn is_streamed(&self) -> bool {
        matches!(self.bytes, Bytes::Streamed(_))
    }

    /// The bytes at hand, and whether there are no further ones.
    #[inline]
    pub(crate) fn window(&self) -> (&[u8], bool) {
        match &self.bytes {
            Bytes::Held { held, position } => (&held[*position..], true),
            Bytes::Streamed(stream) => stream.window(),
            Bytes::Closed => (&[], true),
        }
    }

    /// Lets go of the first `length` bytes of the window.
    pub(crate) fn consume(&mut self, length: usize) {
        match &mut self.bytes {
            Bytes::Held { position, .. } => *position += length,
            Bytes::Streamed(stream) => stream.consume(length),
            Bytes::Closed => {}
        }
    }

    /// Makes the window at least `length` bytes long, unless the input ends before.
    pub(crate) fn fill_to(&mut self, length: usize) {
        if let Bytes::Streamed(stream) = &mut self.bytes {
            stream.fill_to(length);
        }
    }

    /// What made the input end before its time, once.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        match &mut self.bytes {
            Bytes::Streamed(stream) => stream.take_failure(),
            Bytes::Held { .. } | Bytes::Closed => None,
        }
    }

    /// Lets go of mapping, buffers and file.
    pub(crate) fn close(&mut self) {
        self.read = self.stored_read();
        self.bytes = Bytes::Closed;
    }

    /// Stored bytes read so far.
    pub(crate) fn stored_read(&self) -> u64 {
        match &self.bytes {
            Bytes::Held { position, .. } => *position as u64,
            Bytes::Streamed(stream) => stream.stored_bytes(),
            Bytes::Closed => self.read,
        }
    }

    /// Stored bytes in all, when that can be known.
    pub(crate) fn stored_length(&self) -> Option<u64> {
        self.length
    }
}

/// A regular file, up to where it ended when it was opened.
struct Plain {
    file: File,
    /// Bytes read so far.
    read: u64,
    /// Bytes that there were.
    length: u64,
}

impl Read for Plain {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length.saturating_sub(self.read)).unwrap_or(usize::MAX);
        let upto = buffer.len().min(left);
        if upto == 0 {
            return Ok(0);
        }
        let read = self.file.read(&mut buffer[..upto])?;
        if read == 0 {
            let detail = format!(
                "the file was cut short while it was read: it had {} bytes and ends at byte {} now",
                self.length, self.read
            );
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, detail));
        }
        self.read += read as u64;
        Ok(read)
    }
}

/// Reads until the buffer is full or the input ends.
fn read_fully(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
