//! Writes frames as a pcapng file that can be read while it grows.
//!
//! Only whole blocks reach the file, in the order in which they were given; there is no temporary
//! name. When the disk is full, the file is cut back to whole blocks, the first call that notices
//! says so, and frames that come later are counted and left out, so that a measurement that goes on
//! beside the file is not disturbed.
//!
//! It puts nothing in order, sets no time and keeps no more of a frame than it is given.

mod blocks;
mod copy;
mod error;
mod target;

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use trustbed_units::{Ns, Rate};
use trustbed_wire::LinkType;

use crate::frame::Frame;
pub use copy::Copier;
pub use error::WriteError;
use target::{Pipe, Target};

/// What is gathered before it is written.
const BUFFER_LENGTH: usize = 256 * 1024;

/// What is given up at the end of a full disk, so that the counters still fit: an interface
/// statistics block, rounded up.
const SPARE: usize = 128;

/// What a file states about an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceDescription {
    /// Its name, as `eth0`.
    pub name: String,
    /// What its frames begin with.
    pub link: LinkType,
    /// Bytes that are kept of a frame, 0 for all.
    pub snap_length: u32,
    /// Whether the interface itself stamped the frames, and not the operating system.
    pub hardware_timestamps: bool,
    /// Its speed.
    pub speed: Option<Rate>,
}

/// What a file states about what its interface lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// When counting began.
    pub start: Ns,
    /// Up to when was counted.
    pub end: Ns,
    /// Frames that there were, dropped ones included, as other capture programs count `isb_ifrecv`.
    pub received: u64,
    /// Frames of them that are not in the file because the capture could not keep up.
    pub dropped: u64,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Frames in the file.
    pub frames: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Frames that were given and are not in the file, because writing had failed.
    pub frames_left_out: u64,
    /// Whether everything that was given is in the file.
    pub complete: bool,
}

/// Writes a pcapng file: [`Writer::interface`] for each interface, then [`Writer::frame`],
/// [`Writer::flush`] whenever the file should be up to date, [`Writer::statistics`] at the end, and
/// [`Writer::finish`].
///
/// ```
/// use std::sync::Arc;
/// use trustbed_capture::{Direction, Frame, Input, InterfaceDescription, Reader, Writer};
/// use trustbed_units::Ns;
/// use trustbed_wire::{DecodeOptions, LinkType};
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("two.pcapng");
/// let mut writer = Writer::create(&path, "example 1.0")?;
/// let link = LinkType::Ethernet;
/// let description = InterfaceDescription {
///     name: "eth0".to_owned(),
///     link,
///     snap_length: 64,
///     hardware_timestamps: false,
///     speed: None,
/// };
/// let interface = writer.interface(&description)?;
/// for number in 1..=2 {
///     let frame = Frame {
///         ts: Ns(1_700_000_000_000_000_000 + number),
///         index: 1,
///         file: 0,
///         interface,
///         link: Some(link),
///         original_length: 1514,
///         marked: Direction::Outbound,
///         bytes: &[0; 64],
///     };
///     writer.frame(&frame)?;
/// }
/// assert_eq!(writer.finish()?.frames, 2);
///
/// let mut reader = Reader::open(&[Input::Path(path)], DecodeOptions::default())?;
/// reader.frames(10, |frame| {
///     assert_eq!((frame.original_length, frame.direction()), (1514, Direction::Outbound))
/// });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    name: String,
    target: Box<dyn Target>,
    /// Whole blocks that are not in the file yet.
    buffer: Vec<u8>,
    interfaces: u16,
    /// What is in the file.
    end: Mark,
    /// Where the file can be cut so that at least [`SPARE`] bytes become free: the second mark lies
    /// so far before the first one.
    marks: [Mark; 2],
    state: State,
    left_out: u64,
}

/// An offset in the file where a block ends, and the frames before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Mark {
    bytes: u64,
    frames: u64,
}

/// Whether blocks can be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Sound,
    /// Writing failed, and the file was cut back to whole blocks.
    Cut,
    /// Writing failed and may have left a part of a block, behind which nothing can be read.
    Severed,
}

impl fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Writer")
            .field("name", &self.name)
            .field("frames", &self.end.frames)
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Begins a file, in place of what the path held before. `application` is what it records about
    /// its writer. A new file is its owner's alone: it holds what others sent.
    ///
    /// # Errors
    ///
    /// [`WriteError::Create`] when there can be no such file, [`WriteError::Write`] when it cannot
    /// take its first bytes.
    pub fn create(path: &Path, application: &str) -> Result<Self, WriteError> {
        Self::create_about(path, &blocks::WriterFacts::of(application))
    }

    fn create_about(path: &Path, about: &blocks::WriterFacts<'_>) -> Result<Self, WriteError> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        options.mode(0o600);
        let file = options
            .open(path)
            .map_err(|source| WriteError::Create { path: path.to_owned(), source })?;
        Self::begin(path.display().to_string(), Box::new(file), about)
    }

    /// Begins a stream that is called `name` in errors: a pipe, standard output, memory. It cannot
    /// be cut back when writing fails in the middle of a block.
    ///
    /// # Errors
    ///
    /// [`WriteError::Write`] when it cannot take its first bytes.
    pub fn stream(
        stream: impl Write + Send + 'static,
        name: &str,
        application: &str,
    ) -> Result<Self, WriteError> {
        let writer = blocks::WriterFacts::of(application);
        Self::begin(name.to_owned(), Box::new(Pipe(stream)), &writer)
    }

    fn begin(
        name: String,
        target: Box<dyn Target>,
        about: &blocks::WriterFacts<'_>,
    ) -> Result<Self, WriteError> {
        let buffer = Vec::with_capacity(BUFFER_LENGTH + BUFFER_LENGTH / 4);
        let (end, marks) = (Mark::default(), [Mark::default(); 2]);
        let mut writer = Self {
            name,
            target,
            buffer,
            interfaces: 0,
            end,
            marks,
            state: State::Sound,
            left_out: 0,
        };
        blocks::section(&mut writer.buffer, about);
        writer.flush()?;
        writer.marks = [writer.end; 2];
        Ok(writer)
    }

    /// Describes an interface; returns the number by which frames name it.
    ///
    /// # Errors
    ///
    /// [`WriteError::Write`], as [`Writer::frame`].
    ///
    /// # Panics
    ///
    /// At the 65536th interface, for which frames have no number.
    pub fn interface(&mut self, description: &InterfaceDescription) -> Result<u16, WriteError> {
        assert!(self.interfaces < u16::MAX, "frames number their interfaces with 16 bits");
        self.describe(|out| blocks::interface(out, description))
    }

    /// Appends the block that describes an interface.
    fn describe(&mut self, block: impl FnOnce(&mut Vec<u8>)) -> Result<u16, WriteError> {
        let number = self.interfaces;
        self.interfaces += 1;
        block(&mut self.buffer);
        self.flush()?;
        // Without its description, no frame of the interface could be read.
        self.marks = [self.end; 2];
        Ok(number)
    }

    /// Appends a frame.
    ///
    /// # Errors
    ///
    /// [`WriteError::Write`] when writing fails, once: afterwards frames are counted as left out,
    /// without an error.
    ///
    /// # Panics
    ///
    /// When the frame's interface was not described before: no reader could decode it.
    #[inline]
    pub fn frame(&mut self, frame: &Frame<'_>) -> Result<(), WriteError> {
        assert!(frame.interface < self.interfaces, "the frame's interface was not described");
        if self.state != State::Sound {
            self.left_out += 1;
            return Ok(());
        }
        blocks::packet(&mut self.buffer, frame);
        self.flush_if_full()
    }

    #[inline]
    fn flush_if_full(&mut self) -> Result<(), WriteError> {
        if self.buffer.len() < BUFFER_LENGTH { Ok(()) } else { self.flush() }
    }

    /// Records what an interface lost so far. Of several statements of one interface, readers take
    /// the last one.
    ///
    /// # Errors
    ///
    /// [`WriteError::Write`], as [`Writer::frame`]. After a failure it is tried all the same: there
    /// may be room for this.
    ///
    /// # Panics
    ///
    /// When the interface was not described before.
    pub fn statistics(&mut self, interface: u16, counters: &Counters) -> Result<(), WriteError> {
        assert!(interface < self.interfaces, "the interface was not described");
        let mut failure = None;
        if self.state == State::Sound {
            blocks::statistics(&mut self.buffer, interface, counters);
            failure = self.drain().err();
        }
        if self.state == State::Cut {
            // The failure is known; whether there was room for this shows in the file.
            blocks::statistics(&mut self.buffer, interface, counters);
            let _ = self.drain();
        }
        failure.map_or(Ok(()), Err)
    }

    /// Brings the file up to date: everything given so far is in it afterwards.
    ///
    /// # Errors
    ///
    /// [`WriteError::Write`], as [`Writer::frame`].
    pub fn flush(&mut self) -> Result<(), WriteError> {
        if self.state == State::Sound {
            return self.drain();
        }
        self.buffer.clear();
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    ///
    /// [`WriteError::Write`] when the last frames cannot be written. A failure that was reported
    /// before is not reported again: [`Written`] states it.
    pub fn finish(mut self) -> Result<Written, WriteError> {
        self.flush()?;
        let Self { end: Mark { bytes, frames }, left_out: frames_left_out, .. } = self;
        Ok(Written { frames, bytes, frames_left_out, complete: self.state == State::Sound })
    }

    /// Writes the buffer.
    fn drain(&mut self) -> Result<(), WriteError> {
        let mut written = 0;
        while written < self.buffer.len() {
            match self.target.write(&self.buffer[written..]) {
                Ok(0) => {
                    return Err(self.on_failure(written, io::Error::from(io::ErrorKind::WriteZero)));
                }
                Ok(more) => written += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.on_failure(written, error)),
            }
        }
        self.end = self.after(written);
        self.buffer.clear();
        if self.end.bytes - self.marks[0].bytes >= SPARE as u64 {
            self.marks = [self.end, self.marks[0]];
        }
        Ok(())
    }

    /// The end of the last whole block among the first `written` bytes of the buffer.
    fn after(&self, written: usize) -> Mark {
        let (bytes, frames) = blocks::whole(&self.buffer, written);
        Mark { bytes: self.end.bytes + bytes as u64, frames: self.end.frames + frames }
    }

    /// Writing failed behind a part of the buffer: keeps whole blocks, and gives up so much that
    /// the counters still fit.
    fn on_failure(&mut self, written: usize, source: io::Error) -> WriteError {
        let given = self.after(self.buffer.len()).frames;
        let reached = self.end.bytes + written as u64;
        let spared = reached.saturating_sub(SPARE as u64);
        let marks =
            [self.after(written.saturating_sub(SPARE)), self.end, self.marks[0], self.marks[1]];
        let mark = marks.into_iter().find(|mark| mark.bytes <= spared).unwrap_or(self.marks[1]);
        self.state = if self.target.cut(mark.bytes) { State::Cut } else { State::Severed };
        self.end = if self.state == State::Cut {
            mark
        } else {
            Mark { bytes: reached, ..self.after(written) }
        };
        self.marks = [self.end; 2];
        self.left_out += given - self.end.frames;
        self.buffer.clear();
        let Mark { bytes: bytes_kept, frames: frames_kept } = self.end;
        WriteError::Write { name: self.name.clone(), frames_kept, bytes_kept, source }
    }
}

impl Drop for Writer {
    /// What was given is written even without a call of [`Writer::finish`]; whether that went well,
    /// is not reported.
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests;
