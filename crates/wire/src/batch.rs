//! Packets in bulk: what the decoder fills and the pipeline empties.

use crate::Packet;

/// TCP options that only some packets carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// SACK blocks as (left, right) edges, first `sack_count` valid.
    pub sack: [(u32, u32); 4],
    /// How many SACK blocks are valid.
    pub sack_count: u8,
    /// Maximum segment size of a SYN.
    pub mss: Option<u16>,
    /// Window scale of a SYN.
    pub window_scale: Option<u8>,
    /// SACK permitted on a SYN.
    pub sack_permitted: bool,
    /// Multipath TCP (RFC 8684): offered or accepted on a SYN (`MP_CAPABLE`, `MP_JOIN`), in use on
    /// another segment (DSS).
    pub multipath: bool,
}

/// Packets in capture order with the options that some of them carry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The packets.
    pub packets: Vec<Packet>,
    /// Options of those packets that carry [`crate::Bits::OPTIONS`].
    pub options: Vec<Options>,
}

impl Batch {
    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.options.clear();
    }

    /// Appends a packet; `options` are stored when its bits show that it carries any.
    pub(crate) fn push(&mut self, mut packet: Packet, options: Options) {
        if packet.bits.any(crate::Bits::OPTIONS) {
            packet.options = u32::try_from(self.options.len()).unwrap_or(u32::MAX);
            self.options.push(options);
        }
        self.packets.push(packet);
    }

    /// The options of a packet of this batch, if it carries any.
    #[inline]
    pub fn options_of(&self, packet: &Packet) -> Option<&Options> {
        if packet.bits.any(crate::Bits::OPTIONS) {
            self.options.get(packet.options as usize)
        } else {
            None
        }
    }
}
