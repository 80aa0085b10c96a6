//! The flow hash: the same for both directions, the same in every run, and well spread. The
//! fingerprint: different for different packets.

mod frames;

use std::collections::BTreeSet;

use frames::{DESTINATION, SOURCE, UDP, decode, ipv4, ipv6, tcp_packet, udp};
use proptest::prelude::*;
use trustbed_units::Ns;
use trustbed_wire::{Bits, LinkType, Packet, TcpFlags, fingerprint};

/// The hash of a flow between two IPv4 endpoints, by way of a datagram.
#[expect(clippy::expect_used, reason = "a helper of tests, which may fail loudly")]
fn flow(source: u32, source_port: u16, destination: u32, destination_port: u16) -> u64 {
    let mut bytes = ipv4(UDP, &udp(destination_port, b""));
    bytes[12..16].copy_from_slice(&source.to_be_bytes());
    bytes[16..20].copy_from_slice(&destination.to_be_bytes());
    bytes[20..22].copy_from_slice(&source_port.to_be_bytes());
    decode(LinkType::Raw, &bytes).expect("a datagram").flow_hash
}

#[test]
fn a_hash_never_changes() {
    // Computed once by another program: a change here changes the order of tables.
    let [source, destination] = [SOURCE, DESTINATION].map(u32::from_be_bytes);
    assert_eq!(flow(source, 40_000, destination, 443), 0x6cec_1a0a_20d9_d6e7);
}

#[test]
fn neighbouring_flows_spread_evenly() {
    // A thousand clients with 64 ports each towards one server, in 256 shards by the lowest and by
    // the highest bits.
    let mut low = [0_u32; 256];
    let mut high = [0_u32; 256];
    let mut seen = BTreeSet::new();
    for client in 0..1000 {
        for port in 0..64 {
            let hash = flow(0x0a00_0000 + client, 32_768 + port, 0xc000_0209, 443);
            assert!(seen.insert(hash), "no two flows collide");
            let bytes = hash.to_le_bytes();
            low[usize::from(bytes[0])] += 1;
            high[usize::from(bytes[7])] += 1;
        }
    }
    // 250 expected; five standard deviations are 79.
    for shards in [low, high] {
        assert!(shards.into_iter().all(|count| (171..=329).contains(&count)), "{shards:?}");
    }
}

/// The halves of an address for which a product with the constants of the hash would be 0, or the
/// same whatever the other half is.
const SWALLOWING: [u64; 3] = [0x243f_6a88_85a3_08d3, !0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345];

#[test]
fn no_network_shares_one_hash() {
    for network in SWALLOWING {
        let hashes: BTreeSet<u64> = (0..8192_u64)
            .map(|host| {
                let mut bytes = ipv6(UDP, &udp(443, b""));
                bytes[8..16].copy_from_slice(&network.to_be_bytes());
                bytes[16..24].copy_from_slice(&host.to_be_bytes());
                decode(LinkType::Raw, &bytes).expect("a datagram").flow_hash
            })
            .collect();
        assert_eq!(hashes.len(), 8192, "{network:x}");
        let shards: BTreeSet<u64> = hashes.iter().map(|hash| hash >> 40 & 63).collect();
        assert_eq!(shards.len(), 64, "{network:x}");
    }
}

#[test]
fn a_fingerprint_forgets_nothing_behind_a_word_of_an_address() {
    for word in SWALLOWING {
        let packet = |seq: u32| {
            let (mut source, mut destination) = ([0; 16], [0; 16]);
            source[..8].copy_from_slice(&word.to_be_bytes());
            destination[8..].copy_from_slice(&word.to_be_bytes());
            Packet { source, destination, seq, ..tcp_packet(5, 59) }
        };
        let fingerprints: BTreeSet<u64> = (0..1000).map(|seq| fingerprint(&packet(seq))).collect();
        assert_eq!(fingerprints.len(), 1000, "{word:x}");
    }
}

#[test]
fn every_input_bit_changes_about_half_of_the_output() {
    let base = (0x0a01_0203, 40_000, 0xc000_0209, 443);
    let hash = flow(base.0, base.1, base.2, base.3);
    let mut flipped: Vec<u64> = Vec::new();
    flipped.extend((0..32).map(|bit| flow(base.0 ^ 1 << bit, base.1, base.2, base.3)));
    flipped.extend((0..32).map(|bit| flow(base.0, base.1, base.2 ^ 1 << bit, base.3)));
    flipped.extend((0..16).map(|bit| flow(base.0, base.1 ^ 1 << bit, base.2, base.3)));
    flipped.extend((0..16).map(|bit| flow(base.0, base.1, base.2, base.3 ^ 1 << bit)));
    let changed: Vec<u32> = flipped.iter().map(|other| (hash ^ other).count_ones()).collect();
    assert!(changed.iter().all(|bits| (14..=50).contains(bits)), "{changed:?}");
    let mean = f64::from(changed.iter().sum::<u32>()) / 96.0;
    assert!((30.0..34.0).contains(&mean), "{mean}");
}

#[test]
fn a_fingerprint_holds_what_distinguishes_packets_and_nothing_else() {
    let packet = tcp_packet(5, 59);
    let same = [
        Packet { ts: Ns(9), index: 9, interface: 9, vlan: 9, ..packet },
        Packet { original_length: 60, bits: Bits(Bits::SNAPPED), ..packet },
    ];
    assert!(same.iter().all(|other| fingerprint(other) == fingerprint(&packet)));
    let mut source = packet.source;
    source[0] ^= 1;
    let different = [
        Packet { source, ..packet },
        Packet { source: packet.destination, destination: packet.source, ..packet },
        Packet { destination: source, ..packet },
        Packet {
            source_port: packet.destination_port,
            destination_port: packet.source_port,
            ..packet
        },
        Packet { seq: packet.seq + 1, ..packet },
        Packet { ack: packet.ack + 1, ..packet },
        Packet { seq: packet.ack, ack: packet.seq, ..packet },
        Packet { payload: 6, ..packet },
        Packet { flags: TcpFlags(0), ..packet },
        Packet { tsval: 1, ..packet },
        Packet { ip_id: 0, ..packet },
        Packet { checksum: 0, ..packet },
        Packet { ip_id: packet.checksum, checksum: packet.ip_id, ..packet },
        Packet { protocol: 17, ..packet },
        packet,
    ];
    let fingerprints: BTreeSet<u64> = different.iter().map(fingerprint).collect();
    assert_eq!(fingerprints.len(), different.len());
}

proptest! {
    #[test]
    fn both_directions_share_a_hash(a: u32, b: u32, a_port: u16, b_port in 0_u16..4000) {
        prop_assert_eq!(flow(a, a_port, b, b_port), flow(b, b_port, a, a_port));
    }

    #[test]
    fn ports_belong_to_their_address(a: u32, b: u32, a_port: u16, b_port: u16) {
        prop_assume!(a != b && a_port != b_port);
        prop_assert_ne!(flow(a, a_port, b, b_port), flow(a, b_port, b, a_port));
    }
}
