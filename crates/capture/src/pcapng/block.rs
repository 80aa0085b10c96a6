//! The numbers of the format (draft-ietf-opsawg-pcapng).

pub(crate) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE_DESCRIPTION: u32 = 1;
pub(super) const OBSOLETE_PACKET: u32 = 2;
pub(super) const SIMPLE_PACKET: u32 = 3;
pub(super) const NAME_RESOLUTION: u32 = 4;
pub(crate) const INTERFACE_STATISTICS: u32 = 5;
pub(crate) const ENHANCED_PACKET: u32 = 6;

const JOURNAL_EXPORT: u32 = 9;
const DECRYPTION_SECRETS: u32 = 10;
const CUSTOM: u32 = 0x0000_0bad;
const CUSTOM_NOT_COPIED: u32 = 0x4000_0bad;

pub(crate) const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
pub(super) const BYTE_ORDER_MAGIC_SWAPPED: u32 = 0x4d3c_2b1a;

/// Bytes of the shortest block: type, length, length.
pub(super) const SHORTEST: usize = 12;

/// No block is longer. Blocks of other kinds than packets can be (decryption secrets, attachments),
/// but not sensibly.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;

/// Bytes of an enhanced packet block before its packet, and the length after it.
pub(super) const ENHANCED_HEAD: usize = 28;
pub(super) const TRAILER: usize = 4;

/// Whether a block type is one that a search accepts.
pub(super) const fn is_known(kind: u32) -> bool {
    matches!(
        kind,
        SECTION_HEADER
            | INTERFACE_DESCRIPTION
            | OBSOLETE_PACKET
            | SIMPLE_PACKET
            | NAME_RESOLUTION
            | INTERFACE_STATISTICS
            | ENHANCED_PACKET
            | JOURNAL_EXPORT
            | DECRYPTION_SECRETS
            | CUSTOM
            | CUSTOM_NOT_COPIED
    )
}
