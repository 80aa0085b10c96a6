//! Frames between a host and the controller: a channel, a kind and some bytes. The counterpart of
//! `python/trustbed/agent/control/frames.py`.
//!
//! A header of twelve bytes, little-endian: channel (4), kind (1), padding (3), length of the
//! content (4). A channel is a command, numbered by the controller. Channel 0 is the host itself.
//!
//! | kind | from | content |
//! |---|---|---|
//! | open | controller | JSON: `words`, `environment`, `directory`, `terminal: {rows, columns}` |
//! | input, input end | controller | the command's standard input |
//! | room | both | window: the stream (1; 0 input, 1 output, 2 errors), more bytes (4) |
//! | shut | controller | a stream (1) that has no reader any more |
//! | signal | controller | a number (1), for the command's group |
//! | size | controller | rows (2), columns (2) of the terminal |
//! | forget | controller | the channel is not needed any more |
//! | clock | controller | bytes to return with the time |
//! | shift | controller | nanoseconds (8, signed) to step the real-time clock by |
//! | leave | controller | the session is over: everything ends |
//! | resume | both | first on a transport: frames received so far (8); see `replay_buffer.rs` |
//! | received | both | frames received so far (8): the sender may discard them |
//! | hello | host | JSON: `kernel`, `version`, `directory` (the default one of commands) |
//! | started | host | process number (4) |
//! | refused | host | error number (4), then the failed step |
//! | output, errors, output end, errors end | host | what the command writes |
//! | ended | host | exit code as in a shell (4) |
//! | time | host | the real-time clock (8), then the bytes of the request |

use std::io::{self, Read, Write};

use super::Error;

const HEADER: usize = 12;
/// More in one frame is none of ours.
const LONGEST: usize = 1 << 20;

macro_rules! kinds {
    ($($(#[$about:meta])* $name:ident = $number:literal,)*) => {
        /// What a frame is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Kind { $($(#[$about])* $name = $number,)* }

        impl Kind {
            const fn of(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }
        }
    };
}

kinds! {
    /// A command is to be started.
    Open = 1,
    /// What it reads.
    Input = 2,
    /// It reads no more.
    InputEnd = 3,
    /// More may be sent.
    Room = 4,
    /// A stream has no reader any more.
    Shut = 5,
    /// A signal for the command.
    Signal = 6,
    /// The terminal has another size.
    Size = 7,
    /// The channel is of no use any more.
    Forget = 8,
    /// What time is it?
    Clock = 9,
    /// The clock is wrong by so much.
    Shift = 10,
    /// The session is over.
    Leave = 11,
    /// Frames received over earlier transports.
    Resume = 12,
    /// Frames received.
    Received = 13,
    /// The host is there.
    Hello = 16,
    /// The command runs.
    Started = 17,
    /// The command does not run.
    Refused = 18,
    /// Its standard output.
    Output = 19,
    /// Its standard error.
    Errors = 20,
    /// Nothing more on standard output.
    OutputEnd = 21,
    /// Nothing more on standard error.
    ErrorsEnd = 22,
    /// The command has ended.
    Ended = 23,
    /// The time.
    Time = 24,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) channel: u32,
    pub(crate) kind: Kind,
    pub(crate) content: Vec<u8>,
}

/// Reads the next frame; none where there are no more.
pub(crate) fn read(from: &mut impl Read) -> Result<Option<Frame>, Fault> {
    let mut header = [0; HEADER];
    if !filled(from, &mut header)? {
        return Ok(None);
    }
    let channel = u32_at(&header, 0);
    let number = header[4];
    let length = usize::try_from(u32_at(&header, 8)).unwrap_or(usize::MAX);
    let Some(kind) = Kind::of(number).filter(|_| length <= LONGEST) else {
        return Err(Fault::Content(Error::Frame { kind: number, length }));
    };
    let mut content = vec![0; length];
    Ok(filled(from, &mut content)?.then_some(Frame { channel, kind, content }))
}

fn u32_at(header: &[u8; HEADER], at: usize) -> u32 {
    header[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Why there is no frame.
#[derive(Debug)]
pub(crate) enum Fault {
    Read(io::Error),
    Content(Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// Whether all bytes were read before the end.
fn filled(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes a frame in one call, so that frames do not interleave.
pub(crate) fn write(
    to: &mut impl Write,
    channel: u32,
    kind: Kind,
    content: &[u8],
) -> io::Result<()> {
    to.write_all(&packed(channel, kind, content)?)
}

/// A frame as it passes.
pub(crate) fn packed(channel: u32, kind: Kind, content: &[u8]) -> io::Result<Vec<u8>> {
    let length =
        u32::try_from(content.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut frame = Vec::with_capacity(HEADER + content.len());
    frame.extend(channel.to_le_bytes());
    frame.extend([kind as u8, 0, 0, 0]);
    frame.extend(length.to_le_bytes());
    frame.extend(content);
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let mut port = Vec::new();
        write(&mut port, 7, Kind::Output, b"text").unwrap();
        write(&mut port, 0, Kind::Hello, b"").unwrap();
        assert_eq!(port[..12], [7, 0, 0, 0, 19, 0, 0, 0, 4, 0, 0, 0]);
        let mut left = &port[..];
        assert_eq!(
            read(&mut left).unwrap(),
            Some(Frame { channel: 7, kind: Kind::Output, content: b"text".to_vec() })
        );
        assert_eq!(
            read(&mut left).unwrap(),
            Some(Frame { channel: 0, kind: Kind::Hello, content: Vec::new() })
        );
        assert_eq!(read(&mut left).unwrap(), None);
    }

    #[test]
    fn a_frame_that_was_cut_is_the_end() {
        let mut port = Vec::new();
        write(&mut port, 7, Kind::Output, b"text").unwrap();
        for length in [3, 12, 15] {
            assert_eq!(read(&mut &port[..length]).unwrap(), None, "{length} bytes");
        }
    }

    #[test]
    fn malformed_frames_are_refused() {
        let unknown = [0, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0];
        assert!(matches!(
            read(&mut &unknown[..]),
            Err(Fault::Content(Error::Frame { kind: 99, length: 0 }))
        ));
        let long = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1];
        assert!(matches!(
            read(&mut &long[..]),
            Err(Fault::Content(Error::Frame { kind: 1, length: 16_777_216 }))
        ));
    }
}
