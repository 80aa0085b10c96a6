//! Two hashes of a packet: one that both directions of a flow share, and one that distinguishes
//! packets.
//!
//! Both multiply by fixed constants and fold the halves of the 128-bit product, so they are the
//! same in every run and on every platform. What a packet states is never multiplied with what it
//! states elsewhere: a zero there would swallow the rest, and a whole network would share one hash.
//!
//! They are **not** secret: one who knows the constants can make flows collide. Which connections a
//! full shard evicts follows from them, so that results are reproducible; colliding flows share one
//! shard, which is capped and evicts with a count. A table that looks flows up by them mixes in a
//! secret of its run, and bounds how many flows share all 64 bits.

use crate::Packet;

// Odd constants with irregular bits (digits of π), as good as any others.
const K0: u64 = 0x243f_6a88_85a3_08d3;
const K1: u64 = 0x1319_8a2e_0370_7345;
const K2: u64 = 0xa409_3822_299f_31d1;
const K3: u64 = 0x082e_fa98_ec4e_6c89;

/// Takes one word in: the halves of its product with a constant, folded onto each other.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves are needed")]
pub(crate) const fn absorb(state: u64, word: u64, constant: u64) -> u64 {
    let product = (state ^ word) as u128 * constant as u128;
    product as u64 ^ (product >> 64) as u64
}

#[inline]
fn halves(address: &[u8; 16]) -> (u64, u64) {
    let address = u128::from_be_bytes(*address);
    #[expect(clippy::cast_possible_truncation, reason = "the two halves are needed")]
    let halves = ((address >> 64) as u64, address as u64);
    halves
}

#[inline]
fn endpoint(address: &[u8; 16], port: u16) -> u64 {
    let (high, low) = halves(address);
    // The port lands where an IPv4-mapped address has zeros.
    absorb(absorb(K1, high, K0), low ^ (u64::from(port) << 48), K2)
}

/// The hash of a flow key, the same for both directions.
#[inline]
pub(crate) fn flow(
    source: &[u8; 16],
    source_port: u16,
    destination: &[u8; 16],
    destination_port: u16,
    protocol: u8,
) -> u64 {
    let sum = endpoint(source, source_port).wrapping_add(endpoint(destination, destination_port));
    absorb(sum, u64::from(protocol), K3)
}

/// A hash of everything by which a packet is known again when a capture holds it twice: addresses,
/// ports, protocol, sequence and acknowledgement numbers, payload length, TCP flags, timestamp, IP
/// identification and transport checksum.
///
/// It depends on the direction. Equal packets have equal fingerprints in every run; that different
/// packets share one has a chance of about 2⁻⁶⁴ per pair, unless somebody made them so.
#[inline]
pub fn fingerprint(packet: &Packet) -> u64 {
    let (source_high, source_low) = halves(&packet.source);
    let (destination_high, destination_low) = halves(&packet.destination);
    let ports = u64::from(packet.source_port) << 48 | u64::from(packet.destination_port) << 32;
    let small = u64::from(packet.ip_id) << 16 | u64::from(packet.checksum);
    let numbers = u64::from(packet.seq) << 32 | u64::from(packet.ack);
    let sizes = u64::from(packet.payload) << 32 | u64::from(packet.tsval);
    let kind = u64::from(packet.flags.0) << 8 | u64::from(packet.protocol);

    // Two chains that a processor follows side by side.
    let source = absorb(absorb(K1, source_high, K0), source_low, K2);
    let source = absorb(source, ports ^ small, K0);
    let source = absorb(source, kind, K2);
    let rest = absorb(absorb(K3, destination_high, K2), destination_low, K0);
    let rest = absorb(rest, numbers, K2);
    let rest = absorb(rest, sizes, K0);
    absorb(source, rest.rotate_left(32), K3)
}
