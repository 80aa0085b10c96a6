//! Packets that wait to be measured together. Where there are more connections than the cache
//! holds, measuring a packet begins with some twenty lines of memory that the processor waits for;
//! measuring several packets of a connection in a row, it waits once.
//!
//! Only packets wait of which it is known before whether their connection ends with them. What is
//! measured of them is the same, later. Until then each is kept as its difference from what was to
//! be expected after the one before: some 16 bytes of 48.

use trustbed_units::{Ns, Span};
use trustbed_wire::{Bits, Options, Packet, TcpFlags};

use crate::FlowKey;

/// Packets of a connection that wait at most, once some of it were measured.
pub(crate) const MOST: usize = 32;
/// Room for the first packets of a connection: many have no more.
const FIRST: usize = 64;
/// Sequence numbers less than this apart are of one order.
const NEAR: u32 = 1 << 28;

/// The packets of one connection that wait.
#[derive(Debug)]
pub(crate) struct Waiting {
    code: Vec<u8>,
    packets: usize,
    /// Payload bytes of all.
    pub(crate) payload: u64,
    /// The options of those that carry any.
    options: Vec<Options>,
    /// Time and index that the first is a difference from: its own.
    first: (Ns, u64),
    last: Expected,
    streams: [Numbers; 2],
}

/// A packet that waited, without what a connection does not look at: its frame's length, VLAN and
/// interface.
#[derive(Debug)]
pub(crate) struct Waited {
    pub(crate) packet: Packet,
    pub(crate) direction: usize,
}

impl Waiting {
    /// Nothing yet, with this packet to come.
    pub(crate) fn before(packet: &Packet) -> Self {
        let first = (packet.ts, packet.index);
        Self {
            code: Vec::with_capacity(FIRST),
            packets: 0,
            payload: 0,
            options: Vec::new(),
            first,
            last: Expected::after(first),
            streams: [Numbers::default(); 2],
        }
    }

    /// Whether a packet of an open connection is one that can wait.
    #[inline]
    pub(crate) fn suits(packet: &Packet) -> bool {
        let is_part = packet.bits.any(Bits::FRAGMENT_FIRST | Bits::FRAGMENT_LATER);
        let closing = if is_part { TcpFlags::FIN } else { 0 };
        !packet.flags.any(TcpFlags::SYN | TcpFlags::RST | closing)
    }

    /// Whether a packet is near enough to the last one, in time and place, to wait behind it.
    #[inline]
    pub(crate) fn takes(&self, packet: &Packet) -> bool {
        self.last.step(packet).is_some()
    }

    /// How many wait.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.packets
    }

    /// Adds a packet that [`Waiting::takes`].
    #[inline]
    pub(crate) fn push(&mut self, packet: &Packet, options: Option<&Options>, direction: usize) {
        let mut scratch = [0; LONGEST];
        let length = self.last.encode(packet, direction, &mut scratch);
        if self.code.capacity() < self.code.len() + length + PAD {
            // A quarter as many again: many connections end with what waits.
            self.code.reserve_exact(FIRST + self.code.len() / 4);
        }
        self.code.extend_from_slice(&scratch[..length]);
        self.options.extend(options);
        self.packets += 1;
        self.payload += u64::from(packet.payload);
        self.streams[direction].add(packet.seq);
        self.streams[direction].fin |= packet.flags.any(TcpFlags::FIN);
        self.streams[1 - direction].add(packet.ack);
    }

    /// Whether a direction's numbers are all near `number`, so that a FIN there counts. False where
    /// only measuring tells.
    pub(crate) fn is_near(&self, direction: usize, number: u32) -> bool {
        self.streams[direction].is_near(number)
    }

    /// Whether a FIN of that direction waits.
    pub(crate) fn has_fin(&self, direction: usize) -> bool {
        self.streams[direction].fin
    }

    /// Bytes that it holds.
    #[expect(clippy::cast_possible_truncation, reason = "less than a megabyte")]
    pub(crate) fn held_bytes(&self) -> u32 {
        let options = self.options.capacity() * size_of::<Options>();
        (size_of::<Self>() + self.code.capacity() + options) as u32
    }

    /// Something of what the next packet needs.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        u64::from(self.code.last().copied().unwrap_or_default()) ^ self.last.index
    }

    /// The packets in the order in which they came, each with its options.
    pub(crate) fn measure(
        mut self,
        key: &FlowKey,
        flow_hash: u64,
        mut on_packet: impl FnMut(Waited, Option<&Options>),
    ) {
        self.code.extend_from_slice(&[0; PAD]);
        let mut code = self.code.as_slice();
        let mut options = self.options.iter();
        let mut expected = Expected::after(self.first);
        for _ in 0..self.packets {
            let Some(waited) = expected.decode(&mut code, key, flow_hash) else { return };
            let own = waited.packet.bits.any(Bits::OPTIONS);
            on_packet(waited, if own { options.next() } else { None });
        }
    }
}

/// Fields that are written as differences, each with as many bytes as it needs.
const FIELDS: usize = 11;
/// The bytes of a field that each of the four codes in a packet's head stands for.
const LENGTHS: [usize; 4] = [0, 1, 2, 4];
/// The code of a field by the bytes that it has to have.
const CODES: [u32; 5] = [0, 1, 2, 3, 3];
/// The direction in the lowest bit and the fields' codes; then the checksum, of which nothing is to
/// be expected.
const HEAD: usize = 5;
/// Bytes of a packet at most, with room to write a whole word for its last field.
const LONGEST: usize = HEAD + FIELDS * 4;
/// A field is read as a whole word.
const PAD: usize = 4;

/// What is expected of the next packet of a connection, after the last one.
#[derive(Debug)]
struct Expected {
    ts: Ns,
    index: u64,
    sides: [Side; 2],
}

/// What is expected of the next packet of one direction.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    seq: u32,
    ack: u32,
    tsval: u32,
    tsecr: u32,
    payload: u32,
    window: u16,
    ip_id: u16,
    header_length: u16,
    bits: u16,
    flags: u8,
}

impl Expected {
    fn after((ts, index): (Ns, u64)) -> Self {
        Self { ts, index, sides: [Side::default(); 2] }
    }

    /// Time and places since the last packet.
    #[inline]
    fn step(&self, packet: &Packet) -> Option<(u64, u32)> {
        let passed = u64::try_from((packet.ts - self.ts).0).ok()?;
        let places = u32::try_from(packet.index.checked_sub(self.index)?).ok()?;
        Some((passed, places))
    }

    /// Writes a packet to the start of `code`. Returns its bytes.
    #[inline]
    fn encode(&mut self, packet: &Packet, direction: usize, code: &mut [u8; LONGEST]) -> usize {
        let (passed, places) = self.step(packet).unwrap_or_default();
        let side = &mut self.sides[direction];
        let ip_id = packet.ip_id.wrapping_sub(side.ip_id);
        let window = packet.window ^ side.window;
        let header_length = packet.header_length ^ side.header_length;
        let fields: [u32; FIELDS] = [
            lower(passed),
            lower(passed >> 32),
            places,
            difference(packet.seq, side.seq),
            difference(packet.ack, side.ack),
            difference(packet.tsval, side.tsval),
            difference(packet.tsecr, side.tsecr),
            packet.payload ^ side.payload,
            u32::from(ip_id) | u32::from(window) << 16,
            u32::from(packet.flags.0 ^ side.flags) | u32::from(header_length) << 8,
            u32::from(packet.bits.0 ^ side.bits),
        ];
        let mut head = u32::from(direction == 1);
        let mut at = HEAD;
        for (field, value) in fields.into_iter().enumerate() {
            let chosen = CODES[(39 - value.leading_zeros() as usize) / 8];
            head |= chosen << (1 + 2 * field);
            code[at..at + 4].copy_from_slice(&value.to_le_bytes());
            at += LENGTHS[chosen as usize];
        }
        code[..4].copy_from_slice(&head.to_le_bytes());
        code[3..HEAD].copy_from_slice(&packet.checksum.to_le_bytes());
        (self.ts, self.index) = (packet.ts, packet.index);
        *side = Side::after(packet);
        at
    }

    /// Takes a packet from the front of `code`.
    #[inline]
    fn decode(&mut self, code: &mut &[u8], key: &FlowKey, flow_hash: u64) -> Option<Waited> {
        let [first, second, third, fourth, fifth] = *code.first_chunk::<HEAD>()?;
        let head = u32::from_le_bytes([first, second, third, 0]);
        let direction = (head & 1) as usize;
        let mut fields = [0_u32; FIELDS];
        let mut rest = &code[HEAD..];
        for (field, value) in fields.iter_mut().enumerate() {
            let length = LENGTHS[(head >> (1 + 2 * field)) as usize & 3];
            let word = u32::from_le_bytes(*rest.first_chunk::<4>()?);
            *value = word & MASKS[length];
            rest = &rest[length..];
        }
        *code = rest;
        let [passed, longer, places, seq, ack, tsval, tsecr, payload, ip_id, flags, bits] = fields;
        let passed = u64::from(longer) << 32 | u64::from(passed);
        self.ts = self.ts + Span(passed.cast_signed());
        self.index += u64::from(places);
        let side = &mut self.sides[direction];
        let (source, source_port) = key.source(direction);
        let (destination, destination_port) = key.source(1 - direction);
        let packet = Packet {
            ts: self.ts,
            index: self.index,
            flow_hash,
            source,
            destination,
            seq: with_difference(side.seq, seq),
            ack: with_difference(side.ack, ack),
            tsval: with_difference(side.tsval, tsval),
            tsecr: with_difference(side.tsecr, tsecr),
            payload: side.payload ^ payload,
            original_length: 0,
            options: 0,
            source_port,
            destination_port,
            window: side.window ^ high(ip_id),
            ip_id: side.ip_id.wrapping_add(low(ip_id)),
            checksum: u16::from_le_bytes([fourth, fifth]),
            header_length: side.header_length ^ low(flags >> 8),
            vlan: 0,
            interface: 0,
            bits: Bits(side.bits ^ low(bits)),
            flags: TcpFlags(side.flags ^ flags.to_le_bytes()[0]),
            protocol: key.protocol,
        };
        *side = Side::after(&packet);
        Some(Waited { packet, direction })
    }
}

impl Side {
    #[inline]
    fn after(packet: &Packet) -> Self {
        Self {
            seq: packet.seq.wrapping_add(packet.payload),
            ack: packet.ack,
            tsval: packet.tsval,
            tsecr: packet.tsecr,
            payload: packet.payload,
            window: packet.window,
            ip_id: packet.ip_id.wrapping_add(1),
            header_length: packet.header_length,
            bits: packet.bits.0,
            flags: packet.flags.0,
        }
    }
}

/// The lowest bytes of a word.
const MASKS: [u32; 5] = [0, 0xFF, 0xFFFF, 0x00FF_FFFF, u32::MAX];

/// What a number is more or less than expected, small where it is near.
#[inline]
fn difference(number: u32, expected: u32) -> u32 {
    let difference = number.wrapping_sub(expected).cast_signed();
    (difference << 1 ^ difference >> 31).cast_unsigned()
}

/// The number that differs so much from what was expected.
#[inline]
fn with_difference(expected: u32, difference: u32) -> u32 {
    expected.wrapping_add(difference >> 1 ^ (difference & 1).wrapping_neg())
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is asked for")]
fn lower(words: u64) -> u32 {
    words as u32
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is asked for")]
fn low(word: u32) -> u16 {
    word as u16
}

#[inline]
fn high(word: u32) -> u16 {
    low(word >> 16)
}

/// Where the sequence numbers of one direction lie, relative to the first of them.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    first: Option<u32>,
    lowest: i32,
    highest: i32,
    fin: bool,
}

impl Numbers {
    #[inline]
    fn add(&mut self, number: u32) {
        let first = *self.first.get_or_insert(number);
        let place = number.wrapping_sub(first).cast_signed();
        self.lowest = self.lowest.min(place);
        self.highest = self.highest.max(place);
    }

    fn is_near(&self, number: u32) -> bool {
        let Some(first) = self.first else { return true };
        let place = i64::from(number.wrapping_sub(first).cast_signed());
        let near = |other: i32| (place - i64::from(other)).unsigned_abs() < u64::from(NEAR);
        near(self.lowest) && near(self.highest)
    }
}

/// Whether two sequence numbers are of one order.
pub(crate) fn are_near(number: u32, other: u32) -> bool {
    number.wrapping_sub(other).cast_signed().unsigned_abs() < NEAR
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const EMPTY: Packet = Packet {
        ts: Ns(0),
        index: 0,
        flow_hash: 0,
        source: [0; 16],
        destination: [0; 16],
        seq: 0,
        ack: 0,
        tsval: 0,
        tsecr: 0,
        payload: 0,
        original_length: 0,
        options: 0,
        source_port: 0,
        destination_port: 0,
        window: 0,
        ip_id: 0,
        checksum: 0,
        header_length: 0,
        vlan: 0,
        interface: 0,
        bits: Bits(0),
        flags: TcpFlags(0),
        protocol: 6,
    };

    /// Packets of one connection with any numbers, many of them alike.
    fn packets() -> impl Strategy<Value = Vec<(Packet, usize)>> {
        let word = || prop_oneof![3 => Just(0_u32), 3 => 1_000..1_300_u32, 1 => any::<u32>()];
        let half = || prop_oneof![3 => Just(0_u16), 1 => any::<u16>()];
        let numbers = (word(), word(), word(), word(), word());
        let halves = (half(), half(), half(), half(), half());
        let packet = (any::<bool>(), any::<u8>(), word(), word(), numbers, halves);
        vec(packet, 1..200).prop_map(|packets| {
            let (mut ts, mut index) = (Ns(-5), 1 << 40);
            let made = packets.into_iter().map(|(low, flags, passed, places, numbers, halves)| {
                (ts, index) = (ts + Span(i64::from(passed)), index + u64::from(places));
                let (seq, ack, tsval, tsecr, payload) = numbers;
                let (window, ip_id, checksum, header_length, bits) = halves;
                let packet = Packet {
                    ts,
                    index,
                    seq,
                    ack,
                    tsval,
                    tsecr,
                    payload,
                    window,
                    ip_id,
                    checksum,
                    header_length,
                    bits: Bits(bits),
                    flags: TcpFlags(flags),
                    ..EMPTY
                };
                (packet, usize::from(low))
            });
            made.collect()
        })
    }

    proptest! {
        #[test]
        fn what_waited_is_what_came(packets in packets()) {
            let mut waiting = Waiting::before(&packets[0].0);
            let mut came = Vec::new();
            for (packet, direction) in packets {
                prop_assert!(waiting.takes(&packet));
                waiting.push(&packet, None, direction);
                came.push((packet, direction));
            }
            let mut waited = Vec::new();
            let key = FlowKey::of(&came[0].0).0;
            waiting.measure(&key, 0, |one, _| waited.push((one.packet, one.direction)));
            prop_assert_eq!(waited, came);
        }

        #[test]
        fn what_is_said_to_be_near_is_near_to_each(
            numbers in vec(any::<u32>(), 1..4),
            spread in vec(0..NEAR, 1..4),
            asked in any::<u32>(),
        ) {
            let all: Vec<_> = numbers
                .iter()
                .flat_map(|number| spread.iter().map(|more| number.wrapping_add(*more)))
                .collect();
            let mut known = Numbers::default();
            for number in &all {
                known.add(*number);
            }
            for asked in [asked, all[0]] {
                if known.is_near(asked) {
                    prop_assert!(all.iter().all(|number| are_near(*number, asked)));
                }
            }
        }
    }

    #[test]
    fn a_packet_that_is_far_from_the_last_does_not_wait_behind_it() {
        let packet = Packet { index: 7, ts: Ns(70), ..EMPTY };
        let waiting = Waiting::before(&packet);
        assert!(waiting.takes(&Packet { ts: Ns(i64::MAX), ..packet }));
        for other in [
            Packet { ts: Ns(69), ..packet },
            Packet { index: 6, ..packet },
            Packet { index: 8 + u64::from(u32::MAX), ..packet },
        ] {
            assert!(!waiting.takes(&other), "{other:?}");
        }
    }

    #[test]
    fn a_packet_of_a_stream_takes_few_bytes() {
        let packet = |n: u32| Packet {
            ts: Ns(i64::from(n) * 12_000_000),
            index: u64::from(n) * 500,
            seq: n * 1448,
            payload: 1448,
            tsval: n * 12,
            ip_id: 0x1234 + u16::try_from(n).unwrap_or_default(),
            ..EMPTY
        };
        let mut waiting = Waiting::before(&packet(0));
        for n in 0..1_000 {
            waiting.push(&packet(n), None, 0);
        }
        assert!(waiting.held_bytes() < 16_000, "{}", waiting.held_bytes());
    }
}
