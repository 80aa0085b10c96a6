//! What is on the wire beside the payload: 64 bytes before it, which declare it, and 64
//! bytes in answer, which state what arrived. Numbers are big-endian.
//!
//! | bytes | header | answer |
//! |---|---|---|
//! | 0–7 | `TBPAIRS` and 0 | `TBANSWR` and 0 |
//! | 8–9 | version, 1 | version, 1 |
//! | 10 | role: 1 probe, 2 data | the same |
//! | 11 | 0 | how it ended: 1 complete, 2 too short, 3 too long, 4 out of time |
//! | 12–15 | pair | pair |
//! | 16–23 | round | round |
//! | 24–31 | bytes that will come | bytes that came |
//! | 32–39 | nonce, upper half | time of accept: nanoseconds of the receiver's real-time clock |
//! | 40–47 | nonce, lower half | when the first byte of payload was read; −2⁶³ if none was |
//! | 48–55 | 0 | when the last one was; likewise |
//! | 56–63 | 0 | 0 |

use trustbed_units::Ns;

use super::declared::{Nonce, Role};
use super::rows::Close;

/// Of either.
pub(crate) const LENGTH: usize = 64;

const MAGIC: [u8; 8] = *b"TBPAIRS\0";
const ANSWER_MAGIC: [u8; 8] = *b"TBANSWR\0";
const VERSION: u16 = 1;
/// Instead of a time that is not known.
const NEVER: i64 = i64::MIN;

/// The header of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(super) round: u64,
    pub(super) pair: u32,
    pub(super) role: Role,
    pub(super) bytes: u64,
    pub(super) nonce: Nonce,
}

/// Why 64 bytes are no header, or no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Another magic number.
    Foreign,
    /// Another version.
    OtherVersion,
    /// A value without meaning.
    Meaningless,
}

/// The receiver's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(super) round: u64,
    pub(super) pair: u32,
    pub(super) role: Role,
    pub(super) close: Close,
    pub(super) bytes: u64,
    /// By the receiver's real-time clock, as the other moments.
    pub(super) accepted: Ns,
    pub(super) first: Option<Ns>,
    pub(super) last: Option<Ns>,
}

impl Header {
    pub(crate) fn write(&self) -> [u8; LENGTH] {
        let mut writer = Writer::begin(MAGIC, self.role, 0);
        writer.put(&self.pair.to_be_bytes());
        writer.put(&self.round.to_be_bytes());
        writer.put(&self.bytes.to_be_bytes());
        writer.put(&self.nonce.0.to_be_bytes());
        writer.bytes
    }

    pub(crate) fn read(bytes: &[u8; LENGTH]) -> Result<Self, Unreadable> {
        let (mut reader, role) = Reader::begin(bytes, MAGIC)?;
        reader.zeros(1)?;
        let (pair, round, bytes) = (
            u32::from_be_bytes(reader.take()),
            u64::from_be_bytes(reader.take()),
            u64::from_be_bytes(reader.take()),
        );
        let nonce = Nonce(u128::from_be_bytes(reader.take()));
        reader.zeros(16)?;
        Ok(Self { round, pair, role, bytes, nonce })
    }
}

impl Answer {
    pub(crate) fn write(&self) -> [u8; LENGTH] {
        let mut writer = Writer::begin(ANSWER_MAGIC, self.role, code(self.close));
        writer.put(&self.pair.to_be_bytes());
        writer.put(&self.round.to_be_bytes());
        writer.put(&self.bytes.to_be_bytes());
        for moment in [Some(self.accepted), self.first, self.last] {
            writer.put(&moment.map_or(NEVER, |moment| moment.0).to_be_bytes());
        }
        writer.bytes
    }

    pub(crate) fn read(bytes: &[u8; LENGTH]) -> Result<Self, Unreadable> {
        let (mut reader, role) = Reader::begin(bytes, ANSWER_MAGIC)?;
        let [number] = reader.take();
        let close = Close::ALL
            .into_iter()
            .find(|close| number != 0 && code(*close) == number)
            .ok_or(Unreadable::Meaningless)?;
        let (pair, round, bytes) = (
            u32::from_be_bytes(reader.take()),
            u64::from_be_bytes(reader.take()),
            u64::from_be_bytes(reader.take()),
        );
        let mut moment =
            || Some(i64::from_be_bytes(reader.take())).filter(|moment| *moment != NEVER).map(Ns);
        let (accepted, first, last) =
            (moment().ok_or(Unreadable::Meaningless)?, moment(), moment());
        reader.zeros(8)?;
        Ok(Self { round, pair, role, close, bytes, accepted, first, last })
    }
}

/// The code of an end; 0 for those that are not sent.
const fn code(close: Close) -> u8 {
    match close {
        Close::Complete => 1,
        Close::TooShort => 2,
        Close::TooLong => 3,
        Close::TimedOut => 4,
        Close::Absent | Close::Refused | Close::Reset | Close::Stopped | Close::Unanswered => 0,
    }
}

struct Writer {
    bytes: [u8; LENGTH],
    at: usize,
}

impl Writer {
    fn begin(magic: [u8; 8], role: Role, code: u8) -> Self {
        let mut writer = Self { bytes: [0; LENGTH], at: 0 };
        writer.put(&magic);
        writer.put(&VERSION.to_be_bytes());
        writer.put(&[if role == Role::Probe { 1 } else { 2 }, code]);
        writer
    }

    fn put(&mut self, part: &[u8]) {
        let end = self.at + part.len();
        self.bytes[self.at..end].copy_from_slice(part);
        self.at = end;
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads up to the role.
    fn begin(bytes: &'a [u8; LENGTH], magic: [u8; 8]) -> Result<(Self, Role), Unreadable> {
        let mut reader = Self(bytes);
        if reader.take() != magic {
            return Err(Unreadable::Foreign);
        }
        if u16::from_be_bytes(reader.take()) != VERSION {
            return Err(Unreadable::OtherVersion);
        }
        let role = match reader.take() {
            [1] => Role::Probe,
            [2] => Role::Data,
            _ => return Err(Unreadable::Meaningless),
        };
        Ok((reader, role))
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (part, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *part
    }

    fn zeros(&mut self, count: usize) -> Result<(), Unreadable> {
        let (part, rest) = self.0.split_at_checked(count).unwrap_or((&[], &[]));
        self.0 = rest;
        if part.iter().all(|byte| *byte == 0) { Ok(()) } else { Err(Unreadable::Meaningless) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        round: 0x0102_0304_0506_0708,
        pair: 0x1112_1314,
        role: Role::Data,
        bytes: 8 << 20,
        nonce: Nonce(0x2122_2324_2526_2728_292a_2b2c_2d2e_2f30),
    };
    const ANSWER: Answer = Answer {
        round: 7,
        pair: 2,
        role: Role::Probe,
        close: Close::TooLong,
        bytes: 16_384,
        accepted: Ns(1_700_000_000_123_456_789),
        first: Some(Ns(-1)),
        last: None,
    };

    #[test]
    fn a_header_has_the_documented_layout() {
        let mut expected = b"TBPAIRS\0\0\x01\x02\0\x11\x12\x13\x14\
            \x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\0\0\x80\0\0"
            .to_vec();
        expected.extend(0x21..=0x30);
        expected.extend([0; 16]);
        assert_eq!(HEADER.write().to_vec(), expected);
    }

    #[test]
    fn a_header_survives_a_round_trip() {
        assert_eq!(Header::read(&HEADER.write()), Ok(HEADER));
        for close in [Close::Complete, Close::TooShort, Close::TooLong, Close::TimedOut] {
            let answer = Answer { close, ..ANSWER };
            assert_eq!(Answer::read(&answer.write()), Ok(answer));
        }
    }

    #[test]
    fn local_ends_are_not_valid_in_an_answer() {
        for close in
            [Close::Absent, Close::Refused, Close::Reset, Close::Stopped, Close::Unanswered]
        {
            assert_eq!(
                Answer::read(&Answer { close, ..ANSWER }.write()),
                Err(Unreadable::Meaningless)
            );
        }
    }

    #[test]
    fn garbage_is_refused_with_a_reason() {
        for foreign in [
            [0; LENGTH],
            [0xff; LENGTH],
            ANSWER.write(),
            std::array::from_fn(|at| b"GET / HTTP/1.1\r\n"[at % 16]),
        ] {
            assert_eq!(Header::read(&foreign), Err(Unreadable::Foreign));
        }
        assert_eq!(Answer::read(&HEADER.write()), Err(Unreadable::Foreign));
        // Every bit outside the numbers is checked.
        for (at, bit) in (0..LENGTH).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut changed = HEADER.write();
            changed[at] ^= 1 << bit;
            let expected = match at {
                0..=7 => Some(Unreadable::Foreign),
                8..=9 => Some(Unreadable::OtherVersion),
                10 if changed[at] == 1 => None,
                10 | 11 | 48.. => Some(Unreadable::Meaningless),
                12..=47 => None,
            };
            let read = Header::read(&changed);
            assert_eq!(read.err(), expected, "bit {bit} of byte {at}");
            assert_ne!(read, Ok(HEADER));
        }
        let mut never = ANSWER.write();
        never[32..40].copy_from_slice(&NEVER.to_be_bytes());
        assert_eq!(Answer::read(&never), Err(Unreadable::Meaningless));
    }
}
