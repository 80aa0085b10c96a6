//! A frame and its fingerprint, which identifies it in another capture.
//!
//! The fingerprint is a hash of what no router changes: addresses, ports, sequence and
//! acknowledgement number, payload length, SYN, FIN and RST, the IP identification and the sender's
//! timestamp. Two transmissions of the same bytes differ in their identification or timestamp;
//! where a sender uses neither (IPv6 without timestamps), only their order distinguishes them.
//!
//! A super-packet becomes its frames on the wire, all at its capture time. A sender timestamps
//! before segmentation, so the last frame left later; a receiver timestamps after coalescing, so
//! the first frame arrived earlier. Delays of such frames are off by the super-packet's
//! transmission time.

use trustbed_flow::{FlowKey, Unsegment};
use trustbed_units::Ns;
use trustbed_wire::{Bits, Options, Packet, TcpFlags};

/// One frame of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Capture time.
    pub at: Ns,
    /// The same in every capture.
    pub fingerprint: u64,
    /// Its connection.
    pub key: FlowKey,
    /// 0 when it goes from the lower endpoint of the key to the higher.
    pub direction: usize,
    /// Its sequence number.
    pub seq: u32,
    /// Its acknowledgement number.
    pub ack: Option<u32>,
    /// Bytes of payload.
    pub payload: u32,
    /// Sequence numbers used: the payload, and one each for SYN and FIN.
    pub length: u32,
    /// SYN.
    pub opens: bool,
}

/// Makes frames of packets.
#[derive(Debug)]
pub struct Frames {
    unsegment: Unsegment,
    others: u64,
}

impl Default for Frames {
    fn default() -> Self {
        Self { unsegment: Unsegment::new(trustbed_flow::Spacing::Stacked), others: 0 }
    }
}

impl Frames {
    /// Calls `emit` with every frame of a packet; packets must come in capture order.
    pub fn on_packet(
        &mut self,
        packet: &Packet,
        options: Option<&Options>,
        mut emit: impl FnMut(Frame),
    ) {
        if packet.protocol != 6 || packet.bits.any(Bits::FRAGMENT_FIRST | Bits::FRAGMENT_LATER) {
            self.others += 1;
            return;
        }
        self.unsegment.learn(packet, options);
        let (key, direction) = FlowKey::of(packet);
        let segment = self.unsegment.segment(packet).unwrap_or(packet.payload.max(1));
        let count = packet.payload.div_ceil(segment).max(1);
        for number in 0..count {
            let from = number * segment;
            let piece = Piece {
                packet,
                from,
                payload: (packet.payload - from).min(segment),
                number,
                is_last: number + 1 == count,
            };
            emit(piece.frame(key, direction));
        }
    }

    /// Packets that are not TCP, or IP fragments.
    pub const fn others(&self) -> u64 {
        self.others
    }
}

/// One frame of a packet.
struct Piece<'a> {
    packet: &'a Packet,
    from: u32,
    payload: u32,
    number: u32,
    is_last: bool,
}

impl Piece<'_> {
    fn frame(&self, key: FlowKey, direction: usize) -> Frame {
        let packet = self.packet;
        let seq = packet.seq.wrapping_add(self.from);
        // Only the last frame of a super-packet carries its FIN.
        let fin = packet.flags.any(TcpFlags::FIN) && self.is_last;
        let syn = packet.flags.any(TcpFlags::SYN);
        let ack = packet.flags.any(TcpFlags::ACK).then_some(packet.ack);
        let control = u64::from(syn)
            | u64::from(fin) << 1
            | u64::from(packet.flags.any(TcpFlags::RST)) << 2
            | (direction as u64) << 3;
        let timestamp = if packet.bits.any(Bits::TIMESTAMP) { u64::from(packet.tsval) } else { 0 };
        let words = [
            u64::from(seq) << 32 | u64::from(ack.unwrap_or(0)),
            u64::from(self.payload) << 32 | u64::from(self.identification()) << 8 | control,
            timestamp,
        ];
        Frame {
            at: packet.ts,
            fingerprint: words.into_iter().fold(packet.flow_hash, mix),
            key,
            direction,
            seq,
            ack,
            payload: self.payload,
            length: self.payload + u32::from(syn) + u32::from(fin),
            opens: syn,
        }
    }

    /// Segmentation counts up from the identification of the super-packet, unless its sender
    /// numbers nothing.
    fn identification(&self) -> u16 {
        match self.packet.ip_id {
            0 => 0,
            #[expect(clippy::cast_possible_truncation, reason = "identifications wrap")]
            id => id.wrapping_add(self.number as u16),
        }
    }
}

/// Multiply, and fold the upper half onto the lower: every bit of the words reaches every bit of
/// the result.
#[expect(clippy::cast_possible_truncation, reason = "halves are taken")]
const fn mix(state: u64, word: u64) -> u64 {
    let product = ((state ^ word.rotate_left(32)) as u128)
        .wrapping_mul(0xd6e8_feb8_6659_fd93_9e37_79b9_7f4a_7c15);
    (product as u64 ^ (product >> 64) as u64).wrapping_mul(0xff51_afd7_ed55_8ccd)
}
