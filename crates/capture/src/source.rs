//! Where the bytes of one input come from: a mapping, memory, or a stream.
//!
//! Plain regular files are mapped and never copied. The length is taken when the file is opened, so
//! a capture that is still being written is read up to where it was then. A mapped file that is
//! **cut short** while it is read cannot be survived: the kernel answers the access with SIGBUS.
//! Captures that are rewritten in place should be piped in instead.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::OpenError;
use crate::facts::Compression;
use crate::input::Input;
use crate::sniff;
use crate::stream::{Origin, Stream};

/// Bytes that are all there from the beginning.
enum Held {
    Mapped(Mmap),
    Shared(Arc<[u8]>),
}

impl Deref for Held {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(mapping) => mapping,
            Self::Shared(bytes) => bytes,
        }
    }
}

enum Bytes {
    Held { held: Held, position: usize },
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
        let about = std::fs::metadata(path).map_err(unreadable)?;
        if about.is_dir() {
            return Err(OpenError::Directory { path: path.to_owned() });
        }
        let mut file = File::open(path).map_err(unreadable)?;
        if !about.is_file() {
            return Self::piped(Box::new(file), path);
        }
        let mut start = [0; 8];
        let length = read_fully(&mut file, &mut start).map_err(unreadable)?;
        let compression = sniff::compression(&start[..length]);
        if length > 0
            && compression == Compression::None
            && let Some(mapping) = map(&file)
        {
            let length = mapping.len() as u64;
            let bytes = Bytes::Held { held: Held::Mapped(mapping), position: 0 };
            return Ok(Self { bytes, compression, length: Some(length), read: 0, again: true });
        }
        let source = Self::streamed(start[..length].to_vec(), Box::new(file), compression, path)?;
        Ok(Self { length: Some(about.len()), again: true, ..source })
    }

    fn open_memory(bytes: &Arc<[u8]>, path: &Path) -> Result<Self, OpenError> {
        let length = Some(bytes.len() as u64);
        let compression = sniff::compression(bytes);
        if compression == Compression::None {
            let bytes = Bytes::Held { held: Held::Shared(Arc::clone(bytes)), position: 0 };
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

/// Maps a file for reading from front to back; none where the file system cannot.
#[expect(unsafe_code, reason = "a mapping is the only way to the bytes without a copy")]
fn map(file: &File) -> Option<Mmap> {
    // SAFETY: the mapping is read-only and only ever seen as bytes, every value of which is legal.
    // Another process that writes to the file changes what is read, which is no worse than reading
    // before or after; one that cuts the file short makes the access fail with SIGBUS, which ends
    // the process (see the module's documentation).
    let mapping = unsafe { Mmap::map(file) }.ok()?;
    #[cfg(unix)]
    // Only advice: where it is refused, reading is slower.
    let _ = mapping.advise(memmap2::Advice::Sequential);
    Some(mapping)
}
