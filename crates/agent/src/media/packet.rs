//! The messages of a stream, as bytes. Pure.
//!
//! Every message begins with a header of 24 bytes (big endian): kind (1), transmission (1), part
//! (2), parts of the frame (2), length of the message (2), stream (4), frame (4), time of sending
//! (8). A packet of media is filled with zeros; a report of missing parts goes on with a frame (4)
//! and a part (2) for each.

use trustbed_units::Ns;

use super::stream::Part;

/// Bytes of a header.
pub(super) const HEADER: usize = 24;
/// Bytes of a missing part in a report.
const ENTRY: usize = 6;
/// Missing parts in one report: it fits into a packet.
pub(super) const MOST_MISSING: usize = (1400 - HEADER) / ENTRY;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A part of a frame.
    Media = 1,
    /// The client wants the stream.
    Request = 2,
    /// The server has got the request, whose time it returns.
    Accepted = 3,
    /// The client misses parts.
    Missing = 4,
    /// The client is done.
    End = 5,
}

/// What a message begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// 0 of the first transmission of a part, then counted.
    pub(super) transmission: u8,
    pub(super) at: Part,
    /// How many parts the frame has.
    pub(super) parts: u16,
    /// Of the whole message.
    pub(super) length: u16,
    /// Tells the streams of a server apart.
    pub(super) stream: u32,
    /// When it was sent, by the clock of its sender.
    pub(super) sent: Ns,
}

impl Header {
    /// A message without a part.
    pub(super) fn control(kind: Kind, stream: u32, sent: Ns) -> Self {
        let length = u16::try_from(HEADER).unwrap_or(u16::MAX);
        Self { kind, transmission: 0, at: Part::default(), parts: 0, length, stream, sent }
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[0] = self.kind as u8;
        bytes[1] = self.transmission;
        bytes[2..4].copy_from_slice(&self.at.part.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.parts.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.length.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.stream.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.at.frame.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.sent.0.to_be_bytes());
        bytes
    }

    /// Reads what a message begins with; none when it is no message of a stream.
    pub(super) fn read(message: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER] = message.first_chunk()?;
        let kind = match header[0] {
            1 => Kind::Media,
            2 => Kind::Request,
            3 => Kind::Accepted,
            4 => Kind::Missing,
            5 => Kind::End,
            _ => return None,
        };
        let [_, transmission, p0, p1, n0, n1, l0, l1, s0, s1, s2, s3, f0, f1, f2, f3, time @ ..] =
            *header;
        let length = u16::from_be_bytes([l0, l1]);
        (usize::from(length) >= HEADER).then_some(Self {
            kind,
            transmission,
            at: Part {
                frame: u32::from_be_bytes([f0, f1, f2, f3]),
                part: u16::from_be_bytes([p0, p1]),
            },
            parts: u16::from_be_bytes([n0, n1]),
            length,
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
            sent: Ns(i64::from_be_bytes(time)),
        })
    }
}

/// A report of missing parts, at most [`MOST_MISSING`] of them.
pub(super) fn report(stream: u32, sent: Ns, missing: &[Part]) -> Vec<u8> {
    let missing = missing.get(..MOST_MISSING).unwrap_or(missing);
    let length = u16::try_from(HEADER + ENTRY * missing.len()).unwrap_or(u16::MAX);
    let mut bytes =
        Header { length, ..Header::control(Kind::Missing, stream, sent) }.bytes().to_vec();
    for at in missing {
        bytes.extend_from_slice(&at.frame.to_be_bytes());
        bytes.extend_from_slice(&at.part.to_be_bytes());
    }
    bytes
}

/// The parts that a report lists.
pub(super) fn missing(message: &[u8]) -> impl Iterator<Item = Part> + '_ {
    let entries = message.get(HEADER..).unwrap_or_default();
    entries.chunks_exact(ENTRY).filter_map(|entry| {
        let [f0, f1, f2, f3, p0, p1] = *entry.first_chunk::<ENTRY>()?;
        Some(Part {
            frame: u32::from_be_bytes([f0, f1, f2, f3]),
            part: u16::from_be_bytes([p0, p1]),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_as_they_were_written() {
        let header = Header {
            kind: Kind::Media,
            transmission: 3,
            at: Part { frame: 0x0102_0304, part: 0x0506 },
            parts: 0x0708,
            length: 1400,
            stream: 0x090a_0b0c,
            sent: Ns(1_700_000_000_123_456_789),
        };
        assert_eq!(Header::read(&header.bytes()), Some(header));
        assert_eq!(header.bytes()[..8], [1, 3, 5, 6, 7, 8, 5, 0x78]);
        for kind in [Kind::Request, Kind::Accepted, Kind::Missing, Kind::End] {
            let header = Header::control(kind, 7, Ns(-1));
            assert_eq!(Header::read(&header.bytes()), Some(header));
        }
    }

    #[test]
    fn other_messages_are_not_read() {
        let mut bytes = Header::control(Kind::End, 7, Ns(1)).bytes();
        assert_eq!(Header::read(&bytes[..HEADER - 1]), None);
        bytes[7] = 23; // shorter than a header
        assert_eq!(Header::read(&bytes), None);
        assert_eq!(Header::read(&[9; 100]), None);
    }

    #[test]
    fn a_report_lists_what_is_missing_and_fits_into_a_packet() {
        let parts: Vec<Part> = (0..500).map(|frame| Part { frame, part: 1 }).collect();
        let bytes = report(7, Ns(1), &parts);
        assert!(bytes.len() <= 1400);
        let found: Vec<Part> = missing(&bytes).collect();
        assert_eq!(found, parts[..MOST_MISSING]);
        assert_eq!(missing(&report(7, Ns(1), &[])).count(), 0);
    }
}
