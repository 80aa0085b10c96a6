//! What a block of the ring holds: frames, each behind a header of the kernel (`linux/if_packet.h`,
//! version 3).

use std::mem::{offset_of, size_of};

use libc::{sockaddr_ll, tpacket_block_desc, tpacket_hdr_v1, tpacket_hdr_variant1, tpacket3_hdr};
use trustbed_units::Ns;

const BLOCK: usize = offset_of!(tpacket_block_desc, hdr);
const VARIANT: usize = offset_of!(tpacket3_hdr, hv1);
/// The address follows the header, aligned (`TPACKET_ALIGN`).
const ADDRESS: usize = size_of::<tpacket3_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

/// Not in libc: the tag's protocol is stated (kernel 3.14).
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
/// What a tag's protocol is where the kernel does not state it: IEEE 802.1Q.
const DOT1Q: u16 = 0x8100;

/// A frame in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stored<'a> {
    pub(super) ts: Ns,
    /// Whether the interface stamped it.
    pub(super) hardware: bool,
    /// Bytes on the wire, without a tag that the interface took off.
    pub(super) original_length: u32,
    pub(super) bytes: &'a [u8],
    /// Where it came from or went to (packet(7), `sll_pkttype`).
    pub(super) kind: u8,
    /// A VLAN tag that the interface took off: protocol and control information.
    pub(super) tag: Option<[u8; 4]>,
}

/// How far a block has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cursor {
    at: usize,
    left: u32,
}

impl Cursor {
    pub(super) fn begin(block: &[u8]) -> Self {
        let left = word(block, BLOCK + offset_of!(tpacket_hdr_v1, num_pkts)).unwrap_or(0);
        let at = word(block, BLOCK + offset_of!(tpacket_hdr_v1, offset_to_first_pkt)).unwrap_or(0);
        Self { at: at as usize, left }
    }

    /// Frames that were not read yet.
    pub(super) fn left(&self) -> u32 {
        self.left
    }

    /// The next frame. None behind the last one, or where the block contradicts itself; then some
    /// are left.
    #[inline]
    pub(super) fn next<'a>(&mut self, block: &'a [u8]) -> Option<Stored<'a>> {
        if self.left == 0 {
            return None;
        }
        let header = block.get(self.at..)?;
        let field = |at: usize| word(header, at);
        let status = field(offset_of!(tpacket3_hdr, tp_status))?;
        let seconds = i64::from(field(offset_of!(tpacket3_hdr, tp_sec))?);
        let nanos = i64::from(field(offset_of!(tpacket3_hdr, tp_nsec))?);
        let start = usize::from(half(header, offset_of!(tpacket3_hdr, tp_mac))?);
        let captured = field(offset_of!(tpacket3_hdr, tp_snaplen))? as usize;
        let stored = Stored {
            ts: Ns(seconds * 1_000_000_000 + nanos),
            hardware: status & libc::TP_STATUS_TS_RAW_HARDWARE != 0,
            original_length: field(offset_of!(tpacket3_hdr, tp_len))?,
            bytes: header.get(start..start + captured)?,
            kind: *header.get(ADDRESS + offset_of!(sockaddr_ll, sll_pkttype))?,
            tag: if status & libc::TP_STATUS_VLAN_VALID == 0 {
                None
            } else {
                Some(tag(header, status)?)
            },
        };
        self.at += field(offset_of!(tpacket3_hdr, tp_next_offset))? as usize;
        self.left -= 1;
        Some(stored)
    }
}

fn tag(header: &[u8], status: u32) -> Option<[u8; 4]> {
    let stated = half(header, VARIANT + offset_of!(tpacket_hdr_variant1, tp_vlan_tpid))?;
    let protocol = if status & TP_STATUS_VLAN_TPID_VALID == 0 { DOT1Q } else { stated };
    let information = word(header, VARIANT + offset_of!(tpacket_hdr_variant1, tp_vlan_tci))?;
    let ([a, b], [_, _, c, d]) = (protocol.to_be_bytes(), information.to_be_bytes());
    Some([a, b, c, d])
}

#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

#[inline]
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|half| u16::from_ne_bytes(*half))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with a frame of four bytes, tagged and stamped by hardware, and one that reaches
    /// beyond the block.
    fn block() -> Vec<u8> {
        let mut block = vec![0; 400];
        let mut put =
            |at: usize, value: u32| block[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        put(BLOCK + offset_of!(tpacket_hdr_v1, num_pkts), 2);
        put(BLOCK + offset_of!(tpacket_hdr_v1, offset_to_first_pkt), 48);
        for (at, next, captured) in [(48, 160, 4), (208, 0, 1_000)] {
            put(at + offset_of!(tpacket3_hdr, tp_next_offset), next);
            put(at + offset_of!(tpacket3_hdr, tp_sec), 3);
            put(at + offset_of!(tpacket3_hdr, tp_nsec), 7);
            put(at + offset_of!(tpacket3_hdr, tp_snaplen), captured);
            put(at + offset_of!(tpacket3_hdr, tp_len), 1_514);
            put(
                at + offset_of!(tpacket3_hdr, tp_status),
                libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_TS_RAW_HARDWARE,
            );
            put(at + VARIANT + offset_of!(tpacket_hdr_variant1, tp_vlan_tci), 0x2007);
            put(at + offset_of!(tpacket3_hdr, tp_mac), 96);
        }
        block[48 + ADDRESS + offset_of!(sockaddr_ll, sll_pkttype)] = 4;
        block[48 + 96..48 + 100].copy_from_slice(b"abcd");
        block
    }

    #[test]
    fn a_block_is_read_frame_by_frame_and_never_beyond() {
        let block = block();
        let mut cursor = Cursor::begin(&block);
        let first = cursor.next(&block).unwrap();
        assert_eq!(
            (first.ts, first.hardware, first.original_length, first.kind),
            (Ns(3_000_000_007), true, 1_514, 4)
        );
        assert_eq!((first.bytes, first.tag), (&b"abcd"[..], Some([0x81, 0, 0x20, 7])));
        assert_eq!(
            (cursor.next(&block), cursor.left()),
            (None, 1),
            "the second one claims more than there is"
        );
        assert_eq!(Cursor::begin(&[]).left(), 0);
    }
}
