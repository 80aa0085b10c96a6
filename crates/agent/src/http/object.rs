//! The objects that are served: any number of bytes, each of them known.

/// Numbers repeat after a prime, so that no shift by a power of two goes unnoticed.
const PERIOD: u64 = 251;
/// Bytes that are handed out at once, a multiple of the period.
const BLOCK: usize = 1024 * 251;

/// What objects consist of.
#[derive(Debug)]
pub(super) struct Pattern(Box<[u8]>);

impl Pattern {
    pub(super) fn new() -> Self {
        Self((0..BLOCK as u64).map(byte_at).collect())
    }

    /// The bytes of an object from an offset on: as many as lie in one piece, but no more than
    /// `most`.
    pub(super) fn from(&self, offset: u64, most: u64) -> &[u8] {
        let begin = usize::try_from(offset % PERIOD).unwrap_or(0);
        let room = BLOCK - begin;
        let length = usize::try_from(most).unwrap_or(usize::MAX).min(room);
        self.0.get(begin..begin + length).unwrap_or_default()
    }
}

/// The byte at an offset of every object.
pub(super) fn byte_at(offset: u64) -> u8 {
    u8::try_from(offset % PERIOD).unwrap_or(0)
}

/// Whether bytes are those of an object from an offset on.
pub(super) fn matches(bytes: &[u8], offset: u64) -> bool {
    (offset..).zip(bytes).all(|(offset, byte)| *byte == byte_at(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_object() {
        let pattern = Pattern::new();
        let mut object = Vec::new();
        let size = 3 * BLOCK as u64 + 17;
        while (object.len() as u64) < size {
            let offset = object.len() as u64;
            let piece = pattern.from(offset, (size - offset).min(100_003));
            assert!(!piece.is_empty());
            object.extend_from_slice(piece);
        }
        assert_eq!(object.len() as u64, size);
        assert!(matches(&object, 0) && !matches(&object, 1) && matches(&object[251..], 0));
    }
}
