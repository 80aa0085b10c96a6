//! Frames as a capture holds them: what a measure needs that counts every frame, decoded or not.

use trustbed_units::Ns;
use trustbed_wire::{LinkType, Record};

/// The direction of a frame, seen from the interface that captured it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// The capture does not state it, or the frame went both ways at once, as on a loopback
    /// interface.
    #[default]
    Unknown,
    /// Towards the capturing host.
    Inbound,
    /// Away from the capturing host.
    Outbound,
}

impl Direction {
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Inbound => "inbound",
            Self::Outbound => "outbound",
        }
    }

    /// The lowest two bits of a pcapng packet's flags (draft-ietf-opsawg-pcapng, section 4.3.1).
    pub(crate) const fn from_flags(flags: u32) -> Self {
        match flags & 3 {
            1 => Self::Inbound,
            2 => Self::Outbound,
            _ => Self::Unknown,
        }
    }

    pub(crate) const fn flags(self) -> u32 {
        match self {
            Self::Unknown => 0,
            Self::Inbound => 1,
            Self::Outbound => 2,
        }
    }
}

/// One frame of a capture, whatever is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The frame's timestamp in the capture.
    pub ts: Ns,
    /// Position in the capture, counted from 1 over all records of all files.
    pub index: u64,
    /// The file: an index of [`crate::CaptureFacts::files`].
    pub file: usize,
    /// The interface: an index of [`crate::FileFacts::interfaces`] of that file.
    pub interface: u16,
    /// What the bytes begin with; none when it is nothing that can be decoded.
    pub link: Option<LinkType>,
    /// Bytes of the frame on the wire, as the capture states them: without frame check sequence, as
    /// a rule.
    pub original_length: u32,
    /// Its direction, as far as the format states it; see also [`Frame::direction`].
    pub marked: Direction,
    /// The bytes that were kept. Nothing has touched them yet: to look at them may cost a miss of
    /// the processor's cache.
    pub bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Its direction: as it is marked, or else as a Linux cooked header states.
    pub fn direction(&self) -> Direction {
        if self.marked != Direction::Unknown {
            return self.marked;
        }
        // The packet types of Linux (packet(7)): 4 is outgoing; 0 to 3 came from elsewhere.
        let kind = match (self.link, self.bytes) {
            (Some(LinkType::LinuxCooked), [high, low, ..]) => u16::from_be_bytes([*high, *low]),
            (Some(LinkType::LinuxCooked2), [_, _, _, _, _, _, _, _, _, _, kind, ..]) => {
                u16::from(*kind)
            }
            _ => return Direction::Unknown,
        };
        match kind {
            0..=3 => Direction::Inbound,
            4 => Direction::Outbound,
            _ => Direction::Unknown,
        }
    }

    /// The frame for a [`trustbed_wire::Decoder`]; none when its link type cannot be decoded.
    pub fn record(&self) -> Option<Record<'a>> {
        let Self { ts, index, interface, original_length, bytes, .. } = *self;
        self.link.map(|link| Record { ts, index, link, interface, original_length, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cooked(link: LinkType, bytes: &[u8]) -> Direction {
        let frame = Frame {
            ts: Ns(0),
            index: 1,
            file: 0,
            interface: 0,
            link: Some(link),
            original_length: 100,
            marked: Direction::Unknown,
            bytes,
        };
        frame.direction()
    }

    #[test]
    fn cooked_headers_tell_the_direction() {
        assert_eq!(cooked(LinkType::LinuxCooked, &[0, 4, 0, 1]), Direction::Outbound);
        assert_eq!(cooked(LinkType::LinuxCooked, &[0, 3, 0, 1]), Direction::Inbound);
        assert_eq!(cooked(LinkType::LinuxCooked, &[0]), Direction::Unknown);
        assert_eq!(
            cooked(LinkType::LinuxCooked2, &[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 4, 6]),
            Direction::Outbound
        );
        assert_eq!(
            cooked(LinkType::LinuxCooked2, &[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6]),
            Direction::Inbound
        );
        assert_eq!(cooked(LinkType::Ethernet, &[0, 4, 0, 1]), Direction::Unknown);
    }

    #[test]
    fn flags_there_and_back() {
        for direction in [Direction::Unknown, Direction::Inbound, Direction::Outbound] {
            assert_eq!(Direction::from_flags(direction.flags() | 0xffff_fffc), direction);
        }
        assert_eq!(Direction::from_flags(3), Direction::Unknown);
    }
}
