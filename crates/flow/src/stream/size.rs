//! The size of a full segment where it is less than the handshake agreed.
//!
//! A tunnel or a path with a smaller MTU (RFC 4821), and options that a segment carries beside its
//! timestamps (MPTCP, RFC 8684), leave less room. Every segment then is shorter than agreed, and
//! none because its writer had nothing more.
//!
//! The end of a write is pushed (RFC 9293, section 3.9.1.2); a shorter segment that is not was cut
//! by TCP from more. Where a write ends with such a segment, it does not count.

/// Less than this share of what was agreed, in fifths, is no full segment.
const FIFTHS: u32 = 4;
/// Segments of one size, and none larger, that show it.
const ENOUGH: u8 = 4;

/// What was seen of the size.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SegmentSize {
    agreed: u16,
    largest: u16,
    count: u8,
    /// Wire segments of the last packet of that size: a super-packet shows the size of its segments
    /// if others of another length are multiples of it, too.
    pieces: u8,
}

impl SegmentSize {
    /// A packet of `length` bytes passed, `pushed` or not, while `mss` was taken for a full
    /// segment. The size of a full segment, where that changes.
    #[inline]
    pub(crate) fn add(&mut self, length: u32, pushed: bool, mss: u16) -> Option<u16> {
        if mss == 0 || length == 0 {
            return None;
        }
        if self.agreed == 0 {
            self.agreed = mss;
        }
        let pieces = length.div_ceil(u32::from(mss));
        if length == pieces * u32::from(mss) {
            self.count = 0;
            return None;
        }
        self.on_other(length, pushed, pieces, mss)
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most the size that was agreed")]
    fn on_other(&mut self, length: u32, pushed: bool, pieces: u32, mss: u16) -> Option<u16> {
        if mss < self.agreed && u32::from(mss) < length && length <= u32::from(self.agreed) {
            self.count = 0;
            return Some(self.agreed);
        }
        let size = length / pieces;
        if pushed
            || size * pieces != length
            || size * 5 < u32::from(self.agreed) * FIFTHS
            || (size < u32::from(self.largest) && self.count > 0)
        {
            return None;
        }
        let counts = pieces == 1 || u32::from(self.pieces) != pieces;
        self.pieces = u8::try_from(pieces).unwrap_or(u8::MAX);
        if self.count == 0 || size > u32::from(self.largest) {
            (self.largest, self.count) = (size as u16, 1);
            return None;
        }
        self.count += u8::from(counts);
        (self.count >= ENOUGH).then_some(self.largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lengths: &[u32]) -> u16 {
        let (mut size, mut mss) = (SegmentSize::default(), 1448);
        for &length in lengths {
            mss = size.add(length, false, mss).unwrap_or(mss);
        }
        mss
    }

    #[test]
    fn a_tunnel_leaves_less_room_than_was_agreed() {
        assert_eq!(after(&[300, 1444, 1444, 700, 1444, 1444]), 1444);
        assert_eq!(after(&[1368; 5]), 1368);
    }

    #[test]
    fn super_packets_are_of_whole_segments() {
        assert_eq!(after(&[2 * 1400, 5 * 1400, 3 * 1400, 10 * 1400]), 1400);
        // Writes of one length are no segments.
        assert_eq!(after(&[5000; 20]), 1448);
    }

    #[test]
    fn short_ends_are_none() {
        assert_eq!(after(&[1448, 1448, 1300, 1448, 1300, 1448, 1300, 1448, 1300, 1448]), 1448);
        assert_eq!(after(&[1300, 1310, 1301, 1320, 1302, 1330]), 1448);
        assert_eq!(after(&[500; 50]), 1448);
    }

    #[test]
    fn messages_are_pushed() {
        let mut size = SegmentSize::default();
        assert!((0..100).all(|_| size.add(1316, true, 1448).is_none()));
    }

    #[test]
    fn a_full_segment_after_all_shows_that_there_is_room() {
        assert_eq!(after(&[1200, 1200, 1200, 1200, 1200]), 1200);
        assert_eq!(after(&[1200, 1200, 1200, 1200, 1200, 1448]), 1448);
    }
}
