//! Packets put together by hand: two endpoints, sequence numbers as offsets, times in microseconds.
#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly, and its numbers are small")]

use trustbed_units::Ns;
use trustbed_wire::{Batch, Bits, Options, Packet, TcpFlags};

/// Microseconds in a millisecond.
pub(crate) const MS: i64 = 1_000;
/// Microseconds in a second.
pub(crate) const S: i64 = 1_000_000;
/// IP and TCP headers without options.
const HEADERS: u16 = 40;

/// Who sends a packet. The client's address is the lower one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Addresses, ports and initial sequence numbers of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) client: ([u8; 16], u16),
    pub(crate) server: ([u8; 16], u16),
    pub(crate) client_isn: u32,
    pub(crate) server_isn: u32,
}

impl Default for Ends {
    fn default() -> Self {
        Self {
            client: (address(1), 40_000),
            server: (address(2), 80),
            client_isn: 1_000_000,
            server_isn: 5_000_000,
        }
    }
}

/// 10.0.0.`last`
pub(crate) fn address(last: u8) -> [u8; 16] {
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, last]
}

/// The hash of a flow in a test: any function will do that is the same for both directions and
/// spreads.
fn symmetric_hash(a: ([u8; 16], u16), b: ([u8; 16], u16), protocol: u8) -> u64 {
    let one = |(address, port): ([u8; 16], u16)| {
        let text = address.iter().fold(u64::from(port), |sum, &byte| {
            sum.wrapping_mul(257).wrapping_add(u64::from(byte))
        });
        text.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    one(a)
        .wrapping_add(one(b))
        .wrapping_add(u64::from(protocol))
        .wrapping_mul(0x94d0_49bb_1331_11eb)
}

impl Ends {
    /// The same addresses with another client port: another connection.
    pub(crate) fn with_port(port: u16) -> Self {
        let ends = Self::default();
        Self { client: (ends.client.0, port), ..ends }
    }

    /// A packet of `side` with nothing but an ACK flag, offset 0 and acknowledgement 0.
    pub(crate) fn packet(&self, side: Side, micros: i64) -> Made {
        let (source, destination, own, other) = match side {
            Side::Client => (self.client, self.server, self.client_isn, self.server_isn),
            Side::Server => (self.server, self.client, self.server_isn, self.client_isn),
        };
        let packet = Packet {
            ts: Ns(micros * 1_000),
            index: 0,
            flow_hash: symmetric_hash(source, destination, 6),
            source: source.0,
            destination: destination.0,
            seq: own.wrapping_add(1),
            ack: other.wrapping_add(1),
            tsval: 0,
            tsecr: 0,
            payload: 0,
            original_length: 54,
            options: 0,
            source_port: source.1,
            destination_port: destination.1,
            window: 60_000,
            ip_id: 0,
            checksum: 0,
            header_length: HEADERS,
            vlan: 0,
            interface: 0,
            bits: Bits(0),
            flags: TcpFlags(TcpFlags::ACK),
            protocol: 6,
        };
        Made {
            packet,
            options: Options::default(),
            first: own.wrapping_add(1),
            acknowledged: other.wrapping_add(1),
        }
    }

    pub(crate) fn client(&self, micros: i64) -> Made {
        self.packet(Side::Client, micros)
    }

    pub(crate) fn server(&self, micros: i64) -> Made {
        self.packet(Side::Server, micros)
    }

    /// The client's SYN, with an MSS of 1000, a shift of 0, and SACK.
    pub(crate) fn syn(&self, micros: i64) -> Made {
        let syn = self.client(micros).seq(-1).flags(TcpFlags::SYN).opening(1000, Some(0));
        Made { packet: Packet { ack: 0, ..syn.packet }, ..syn }
    }

    /// The server's answer, with the same options.
    pub(crate) fn syn_ack(&self, micros: i64) -> Made {
        self.server(micros).seq(-1).flags(TcpFlags::SYN | TcpFlags::ACK).opening(1000, Some(0))
    }

    /// A datagram.
    pub(crate) fn datagram(&self, side: Side, micros: i64, payload: u32) -> Made {
        let mut made = self.packet(side, micros).data(payload);
        made.packet.protocol = 17;
        made.packet.flow_hash = symmetric_hash(self.client, self.server, 17);
        (made.packet.seq, made.packet.ack, made.packet.window, made.packet.flags) =
            (0, 0, 0, TcpFlags(0));
        made
    }
}

/// A packet with the options that it carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    pub(crate) packet: Packet,
    pub(crate) options: Options,
    first: u32,
    acknowledged: u32,
}

impl Made {
    /// Offset of the first byte; −1 is the SYN.
    pub(crate) fn seq(mut self, offset: i64) -> Self {
        self.packet.seq = self.first.wrapping_add(low32(offset));
        self
    }

    /// Everything of the peer's below this offset has arrived.
    pub(crate) fn ack(mut self, offset: i64) -> Self {
        self.packet.ack = self.acknowledged.wrapping_add(low32(offset));
        self
    }

    pub(crate) fn data(mut self, payload: u32) -> Self {
        self.packet.payload = payload;
        self.packet.original_length = 54 + payload;
        self
    }

    pub(crate) fn window(mut self, window: u16) -> Self {
        self.packet.window = window;
        self
    }

    pub(crate) fn flags(mut self, flags: u8) -> Self {
        self.packet.flags = TcpFlags(flags);
        self
    }

    pub(crate) fn bits(mut self, bits: u16) -> Self {
        self.packet.bits.0 |= bits;
        self
    }

    pub(crate) fn ip_id(mut self, id: u16) -> Self {
        self.packet.ip_id = id;
        self
    }

    /// Timestamp option.
    pub(crate) fn clock(mut self, tsval: u32, tsecr: u32) -> Self {
        (self.packet.tsval, self.packet.tsecr) = (tsval, tsecr);
        self.packet.header_length = HEADERS + 12;
        self.bits(Bits::TIMESTAMP)
    }

    /// SACK blocks as offsets of the peer's data.
    pub(crate) fn sack(mut self, blocks: &[(i64, i64)]) -> Self {
        for (slot, block) in self.options.sack.iter_mut().zip(blocks) {
            *slot = (
                self.acknowledged.wrapping_add(low32(block.0)),
                self.acknowledged.wrapping_add(low32(block.1)),
            );
        }
        self.options.sack_count = u8::try_from(blocks.len()).unwrap();
        self.bits(Bits::OPTIONS)
    }

    /// An option of Multipath TCP: `MP_CAPABLE` or `MP_JOIN` on a SYN, DSS elsewhere.
    pub(crate) fn multipath(mut self) -> Self {
        self.options.multipath = true;
        self.bits(Bits::OPTIONS)
    }

    /// Options of a SYN.
    pub(crate) fn opening(mut self, mss: u16, shift: Option<u8>) -> Self {
        self.options.mss = (mss > 0).then_some(mss);
        self.options.window_scale = shift;
        self.options.sack_permitted = true;
        self.bits(Bits::OPTIONS)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sequence numbers are modulo 2³²"
)]
fn low32(offset: i64) -> u32 {
    offset as u32
}

/// Appends a packet and numbers it.
pub(crate) fn push(batch: &mut Batch, made: &Made) {
    let mut packet = made.packet;
    packet.index = batch.packets.len() as u64 + 1;
    if packet.bits.any(Bits::OPTIONS) {
        packet.options = u32::try_from(batch.options.len()).unwrap();
        batch.options.push(made.options);
    }
    batch.packets.push(packet);
}

/// Packets in the order given, numbered from 1.
pub(crate) fn batch(packets: &[Made]) -> Batch {
    let mut batch = Batch::default();
    for made in packets {
        push(&mut batch, made);
    }
    batch
}

/// A conversation as it is written down: the client sends data, the server acknowledges them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    pub(crate) ends: Ends,
    pub(crate) packets: Vec<Made>,
}

impl Trace {
    /// No packets yet.
    pub(crate) fn empty() -> Self {
        Self::default()
    }

    /// A connection opened at 0 with a round trip of 10 ms, MSS 1000, and a window of 60 000 bytes
    /// in both directions.
    pub(crate) fn open() -> Self {
        Self::opened_by(Ends::default())
    }

    pub(crate) fn opened_by(ends: Ends) -> Self {
        let mut trace = Self { ends, packets: Vec::new() };
        trace.push(ends.syn(0)).push(ends.syn_ack(10 * MS)).push(ends.client(10 * MS + 50));
        trace
    }

    pub(crate) fn push(&mut self, made: Made) -> &mut Self {
        self.packets.push(made);
        self
    }

    /// The client sends `length` bytes from `offset` on.
    pub(crate) fn sends(&mut self, micros: i64, offset: i64, length: u32) -> &mut Self {
        self.push(self.ends.client(micros).seq(offset).data(length))
    }

    /// The server acknowledges everything below `offset`.
    pub(crate) fn acks(&mut self, micros: i64, offset: i64) -> &mut Self {
        self.push(self.ends.server(micros).ack(offset))
    }

    /// The same with SACK blocks.
    pub(crate) fn sacks(&mut self, micros: i64, offset: i64, blocks: &[(i64, i64)]) -> &mut Self {
        self.push(self.ends.server(micros).ack(offset).sack(blocks))
    }

    pub(crate) fn batch(&self) -> Batch {
        batch(&self.packets)
    }
}
