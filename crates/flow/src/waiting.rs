//! Packets that wait to be measured together. Where there are more connections than the cache
//! holds, measuring a packet begins with some twenty lines of memory that the processor waits for;
//! measuring several packets of a connection in a row, it waits once.
//!
//! Only packets wait of which it is known before whether their connection ends with them. What is
//! measured of them is the same, later.

use trustbed_units::Ns;
use trustbed_wire::{Bits, Packet, TcpFlags};

use crate::FlowKey;

/// Packets of a connection that wait at most.
pub(crate) const MOST: usize = 32;
/// Room for the first of a connection: many have no more.
pub(crate) const FIRST: usize = 4;

/// A packet without what its connection knows, and without what a connection does not look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    ts: Ns,
    index: u64,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    tsval: u32,
    tsecr: u32,
    pub(crate) payload: u32,
    window: u16,
    ip_id: u16,
    checksum: u16,
    header_length: u16,
    bits: Bits,
    pub(crate) flags: TcpFlags,
    direction: u8,
}

impl Waiting {
    /// Whether a packet of an open connection is one that can wait.
    #[inline]
    pub(crate) fn suits(packet: &Packet) -> bool {
        let is_part = packet.bits.any(Bits::FRAGMENT_FIRST | Bits::FRAGMENT_LATER);
        let closing = if is_part { TcpFlags::FIN } else { 0 };
        !packet.flags.any(TcpFlags::SYN | TcpFlags::RST | closing)
    }

    #[inline]
    pub(crate) fn of(packet: &Packet, direction: usize) -> Self {
        Self {
            ts: packet.ts,
            index: packet.index,
            seq: packet.seq,
            ack: packet.ack,
            tsval: packet.tsval,
            tsecr: packet.tsecr,
            payload: packet.payload,
            window: packet.window,
            ip_id: packet.ip_id,
            checksum: packet.checksum,
            header_length: packet.header_length,
            bits: packet.bits,
            flags: packet.flags,
            direction: u8::from(direction == 1),
        }
    }

    #[inline]
    pub(crate) fn direction(&self) -> usize {
        usize::from(self.direction)
    }

    /// The packet as a connection looks at it: without its frame's length, VLAN and interface.
    #[inline]
    pub(crate) fn packet(&self, key: &FlowKey, flow_hash: u64) -> Packet {
        let (source, source_port) = key.source(self.direction());
        let (destination, destination_port) = key.source(1 - self.direction());
        Packet {
            ts: self.ts,
            index: self.index,
            flow_hash,
            source,
            destination,
            seq: self.seq,
            ack: self.ack,
            tsval: self.tsval,
            tsecr: self.tsecr,
            payload: self.payload,
            original_length: 0,
            options: 0,
            source_port,
            destination_port,
            window: self.window,
            ip_id: self.ip_id,
            checksum: self.checksum,
            header_length: self.header_length,
            vlan: 0,
            interface: 0,
            bits: self.bits,
            flags: self.flags,
            protocol: key.protocol,
        }
    }

    /// Something of it.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        self.index ^ u64::from(self.direction)
    }
}
