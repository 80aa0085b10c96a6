//! Numbers in the byte order of a section.

/// Reads numbers in one of the two byte orders, chosen at compile time for the fast path.
pub(super) struct Words<const BIG: bool>;

impl<const BIG: bool> Words<BIG> {
    #[inline]
    pub(super) fn half(bytes: &[u8], at: usize) -> Option<u16> {
        let half: [u8; 2] = *bytes.get(at..)?.first_chunk()?;
        Some(if BIG { u16::from_be_bytes(half) } else { u16::from_le_bytes(half) })
    }

    #[inline]
    pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
        let word: [u8; 4] = *bytes.get(at..)?.first_chunk()?;
        Some(if BIG { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    }

    #[inline]
    pub(super) fn long(bytes: &[u8], at: usize) -> Option<u64> {
        let long: [u8; 8] = *bytes.get(at..)?.first_chunk()?;
        Some(if BIG { u64::from_be_bytes(long) } else { u64::from_le_bytes(long) })
    }
}
