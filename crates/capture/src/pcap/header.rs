//! The two headers of the format, and the dialects in which they are written.

use trustbed_units::{Ns, Span};

use crate::facts::ByteOrder;

/// Bytes of the file header.
pub(crate) const FILE_HEADER_LENGTH: usize = 24;

/// What captures hold when their snap length states nothing else (libpcap's and Wireshark's
/// largest: 256 KiB).
pub(super) const LARGEST_USUAL: u32 = 256 * 1024;

/// No record is longer, whatever the file header states.
pub(super) const LARGEST: u32 = 16 * 1024 * 1024;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Kuznetzov's libpcap patch of 1999: record headers with eight more bytes.
const MODIFIED: u32 = 0xa1b2_cd34;

/// Whether a file that begins like this states that it is a pcap file.
pub(crate) fn is_magic(start: &[u8]) -> bool {
    dialect(start).is_some()
}

fn dialect(start: &[u8]) -> Option<(ByteOrder, u32)> {
    let magic: [u8; 4] = *start.first_chunk()?;
    let known =
        |number: u32| matches!(number, MICROSECONDS | NANOSECONDS | MODIFIED).then_some(number);
    let little = known(u32::from_le_bytes(magic)).map(|number| (ByteOrder::Little, number));
    little.or_else(|| known(u32::from_be_bytes(magic)).map(|number| (ByteOrder::Big, number)))
}

/// How the two lengths of a record are to be read: files before version 2.3 have them the other way
/// round (libpcap, `sf-pcap.c`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lengths {
    AsWritten,
    Exchanged,
    /// Version 2.3 was written both ways: the smaller one is what was captured.
    Either,
}

/// Why a file header cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderError {
    Truncated { needed: usize, found: usize },
    Version { major: u16, minor: u16 },
}

/// The file header.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileHeader {
    pub(super) order: ByteOrder,
    /// Units of the fraction per second.
    pub(super) units: u32,
    pub(super) modified: bool,
    pub(super) lengths: Lengths,
    pub(super) snap_length: u32,
    pub(super) link_number: u32,
}

impl FileHeader {
    /// Reads the header of a file that begins with a magic number of the format.
    pub(super) fn read(start: &[u8]) -> Result<Self, HeaderError> {
        let truncated = HeaderError::Truncated { needed: FILE_HEADER_LENGTH, found: start.len() };
        let (Some((order, magic)), Some(bytes)) =
            (dialect(start), start.first_chunk::<FILE_HEADER_LENGTH>())
        else {
            return Err(truncated);
        };
        let half = |at: usize| match order {
            ByteOrder::Little => u16::from_le_bytes([bytes[at], bytes[at + 1]]),
            ByteOrder::Big => u16::from_be_bytes([bytes[at], bytes[at + 1]]),
        };
        let word = |at: usize| match order {
            ByteOrder::Little => u32::from(half(at)) | u32::from(half(at + 2)) << 16,
            ByteOrder::Big => u32::from(half(at)) << 16 | u32::from(half(at + 2)),
        };
        let (major, minor) = (half(4), half(6));
        let lengths = match (major, minor) {
            // 543.0 is what DG/UX wrote.
            (2, 0..=2) | (543, 0) => Lengths::Exchanged,
            (2, 3) => Lengths::Either,
            (2, _) => Lengths::AsWritten,
            _ => return Err(HeaderError::Version { major, minor }),
        };
        Ok(Self {
            order,
            units: if magic == NANOSECONDS { 1_000_000_000 } else { 1_000_000 },
            modified: magic == MODIFIED,
            lengths,
            snap_length: word(16),
            // The upper bits describe frame check sequences (draft-ietf-opsawg-pcap, section 4).
            link_number: word(20) & 0x03ff_ffff,
        })
    }

    pub(super) const fn record_header_length(&self) -> usize {
        if self.modified { 24 } else { 16 }
    }

    pub(super) const fn nanos_per_unit(&self) -> u32 {
        1_000_000_000 / self.units
    }

    pub(super) fn resolution(&self) -> Span {
        Span(i64::from(self.nanos_per_unit()))
    }
}

/// A record header.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordHeader {
    pub(super) seconds: u32,
    pub(super) fraction: u32,
    pub(super) captured: u32,
    pub(super) original: u32,
}

impl RecordHeader {
    /// The header at a position in the window, if all of it is there.
    #[inline]
    pub(super) fn load<const BIG: bool>(window: &[u8], at: usize, exchanged: bool) -> Option<Self> {
        let bytes: &[u8; 16] = window.get(at..)?.first_chunk()?;
        let word = |at: usize| {
            let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            if BIG { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        let (captured, original) =
            if exchanged { (word(12), word(8)) } else { (word(8), word(12)) };
        Some(Self { seconds: word(0), fraction: word(4), captured, original })
    }

    /// Whether nothing about the header calls for a second look.
    #[inline]
    pub(super) const fn is_ordinary(&self, usual: u32, units: u32) -> bool {
        // Not zero and not above `usual`, in one comparison.
        self.captured.wrapping_sub(1) < usual
            && self.captured <= self.original
            && self.fraction < units
    }

    /// The moment. A fraction beyond a second carries over. Cannot overflow: 2³² s are half of what
    /// 63 bits of ns hold.
    #[inline]
    pub(super) const fn ts(&self, nanos_per_unit: u64) -> Ns {
        Ns((self.seconds as u64 * 1_000_000_000 + self.fraction as u64 * nanos_per_unit)
            .cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(magic: [u8; 4], version: [u8; 4], link: [u8; 4]) -> Vec<u8> {
        [&magic[..], &version, &[0; 8], &[0, 0, 1, 0], &link].concat()
    }

    #[test]
    fn dialects() {
        let little =
            FileHeader::read(&header([0xd4, 0xc3, 0xb2, 0xa1], [2, 0, 4, 0], [1, 0, 0, 0]))
                .unwrap();
        assert_eq!(
            (little.order, little.units, little.snap_length, little.link_number),
            (ByteOrder::Little, 1_000_000, 65_536, 1)
        );
        let big =
            FileHeader::read(&header([0xa1, 0xb2, 0x3c, 0x4d], [0, 2, 0, 4], [0xf0, 0, 0, 113]))
                .unwrap();
        assert_eq!(
            (big.order, big.units, big.snap_length, big.link_number),
            (ByteOrder::Big, 1_000_000_000, 256, 113)
        );
        assert_eq!((big.nanos_per_unit(), big.record_header_length()), (1, 16));
        let modified =
            FileHeader::read(&header([0x34, 0xcd, 0xb2, 0xa1], [2, 0, 4, 0], [1, 0, 0, 0]))
                .unwrap();
        assert_eq!(modified.record_header_length(), 24);
    }

    #[test]
    fn versions() {
        let read =
            |version| FileHeader::read(&header([0xd4, 0xc3, 0xb2, 0xa1], version, [1, 0, 0, 0]));
        assert_eq!(read([2, 0, 2, 0]).unwrap().lengths, Lengths::Exchanged);
        assert_eq!(read([2, 0, 3, 0]).unwrap().lengths, Lengths::Either);
        assert_eq!(read([2, 0, 4, 0]).unwrap().lengths, Lengths::AsWritten);
        assert_eq!(read([3, 0, 0, 0]).unwrap_err(), HeaderError::Version { major: 3, minor: 0 });
    }

    #[test]
    fn a_cut_header_states_how_much_is_there() {
        assert_eq!(
            FileHeader::read(&[0xd4, 0xc3, 0xb2, 0xa1, 2]).unwrap_err(),
            HeaderError::Truncated { needed: 24, found: 5 }
        );
    }
}
