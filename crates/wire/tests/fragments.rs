//! Fragments find their flow by the datagram's identification, for thirty seconds.

mod frames;

use frames::{
    DESTINATION, DESTINATION_6, SOURCE, SOURCE_6, TCP, UDP, concat, decode_records, ipv4_fragment,
    ipv6, record, tcp, udp,
};
use trustbed_units::{Ns, Span};
use trustbed_wire::{Bits, LinkType, Packet, Record, Skip};

const MORE: u16 = 0x2000;

fn v6_fragment(next: u8, field: u16, payload: &[u8]) -> Vec<u8> {
    ipv6(44, &concat(&[&[next, 0], &field.to_be_bytes(), &[0, 1, 2, 3], payload]))
}

/// Frames `apart` from each other, decoded by one decoder.
fn decode_apart(frames: &[Vec<u8>], apart: Span, inner: bool) -> Vec<Result<Packet, Skip>> {
    let mut ts = Ns(5_000_000_000);
    let records: Vec<Record<'_>> = frames
        .iter()
        .map(|bytes| {
            ts = ts + apart;
            Record { ts, ..record(LinkType::Raw, bytes) }
        })
        .collect();
    decode_records(&records, inner)
        .into_iter()
        .map(|result| result.map(|(packet, _)| packet))
        .collect()
}

fn decode(frames: &[Vec<u8>]) -> Vec<Result<Packet, Skip>> {
    decode_apart(frames, Span::from_millis(1), false)
}

#[test]
fn later_fragments_get_the_ports_of_the_first() {
    let datagram = udp(5000, &[7; 40]);
    let packets: Vec<Packet> = decode(&[
        ipv4_fragment(UDP, MORE, &datagram[..24]),
        ipv4_fragment(UDP, MORE | 3, &datagram[24..32]),
        ipv4_fragment(UDP, 4, &datagram[32..]),
    ])
    .into_iter()
    .collect::<Result<_, _>>()
    .expect("all three");
    assert_eq!(
        packets.iter().map(|packet| packet.payload).collect::<Vec<_>>(),
        [16, 8, 16],
        "what each of them carries"
    );
    assert_eq!(packets[0].bits, Bits(Bits::FRAGMENT_FIRST));
    for (later, offset) in packets[1..].iter().zip([3, 4]) {
        assert_eq!(later.bits, Bits(Bits::FRAGMENT_LATER));
        assert_eq!(
            (later.source_port, later.destination_port, later.protocol),
            (40_000, 5000, UDP)
        );
        assert_eq!((later.flow_hash, later.ip_id), (packets[0].flow_hash, 0x4321));
        assert_eq!((later.header_length, later.flags.0, later.seq), (20, 0, 0));
        assert_eq!(later.checksum, offset, "the position in the datagram");
    }
}

#[test]
fn fragments_of_tcp_and_of_ipv6() {
    let segment = tcp(&[], &[7; 44]);
    let [first, later] = [MORE, 3].map(|field| {
        ipv4_fragment(TCP, field, if field == MORE { &segment[..24] } else { &segment[24..] })
    });
    let packets = decode(&[first, later]);
    assert_eq!(
        packets[0].map(|packet| (packet.payload, packet.seq, packet.bits.0)),
        Ok((4, 0x0102_0304, Bits::FRAGMENT_FIRST))
    );
    assert_eq!(
        packets[1].map(|packet| (packet.payload, packet.destination_port, packet.bits.0)),
        Ok((40, 443, Bits::FRAGMENT_LATER | Bits::SEQUENCE))
    );
    assert_eq!(packets[1].map(|packet| packet.seq), Ok(0x0102_0304 + 4), "of its first byte");

    // Behind destination options, which only the first fragment holds.
    let part = concat(&[&[TCP, 0, 1, 4, 0, 0, 0, 0], &segment]);
    let packets = decode(&[v6_fragment(60, 1, &part[..32]), v6_fragment(60, 4 << 3, &part[32..])]);
    assert_eq!(packets[0].map(|packet| (packet.payload, packet.header_length)), Ok((4, 76)));
    let later = packets[1].expect("attributed");
    assert_eq!(
        (later.payload, later.header_length, later.protocol, later.destination_port),
        (40, 48, TCP, 443)
    );
    assert_eq!(later.bits, Bits(Bits::IPV6 | Bits::FRAGMENT_LATER));
    assert_eq!((later.source, later.destination), (SOURCE_6, DESTINATION_6));
}

#[test]
fn without_the_first_fragment_there_is_no_flow() {
    let datagram = udp(5000, &[7; 40]);
    let [first, later] =
        [ipv4_fragment(UDP, MORE, &datagram[..24]), ipv4_fragment(UDP, 3, &datagram[24..])];
    let results = decode(&[later.clone(), first, later]);
    assert_eq!(results[0], Err(Skip::FragmentWithoutFirst));
    assert!(results[1].is_ok() && results[2].is_ok());
    assert_eq!(decode(&[v6_fragment(UDP, 8, &[0; 40])]), [Err(Skip::FragmentWithoutFirst)]);
    assert_eq!(decode(&[ipv4_fragment(1, 3, &[0; 40])]), [Err(Skip::OtherProtocol)], "of a ping");
    // A first fragment too short for its own header says nothing about the others.
    let results = decode(&[ipv4_fragment(TCP, MORE, &[0; 16]), ipv4_fragment(TCP, 2, &[0; 16])]);
    assert_eq!(results, [Err(Skip::BadHeader), Err(Skip::FragmentWithoutFirst)]);
}

#[test]
fn identification_addresses_and_protocol_must_agree() {
    let datagram = udp(5000, &[7; 40]);
    let first = ipv4_fragment(UDP, MORE, &datagram[..24]);
    let later = ipv4_fragment(UDP, 3, &datagram[24..]);
    let changed = |at: usize, value: u8| {
        let mut bytes = later.clone();
        bytes[at] = value;
        decode(&[first.clone(), bytes])[1].map(|_| ())
    };
    assert_eq!(changed(8, 63), Ok(()), "another time to live");
    assert_eq!(changed(5, 0), Err(Skip::FragmentWithoutFirst), "another identification");
    assert_eq!(changed(9, TCP), Err(Skip::FragmentWithoutFirst), "another protocol");
    assert_eq!(changed(15, 99), Err(Skip::FragmentWithoutFirst), "another source");
    assert_eq!(changed(19, 99), Err(Skip::FragmentWithoutFirst), "another destination");
    let mut backward = later.clone();
    backward[12..16].copy_from_slice(&DESTINATION);
    backward[16..20].copy_from_slice(&SOURCE);
    assert_eq!(
        decode(&[first, backward])[1],
        Err(Skip::FragmentWithoutFirst),
        "the other direction"
    );
}

#[test]
fn a_datagram_is_remembered_for_thirty_seconds_before_and_after() {
    let datagram = udp(5000, &[7; 40]);
    let frames =
        [ipv4_fragment(UDP, MORE, &datagram[..24]), ipv4_fragment(UDP, 3, &datagram[24..])];
    let second = |apart: Span| decode_apart(&frames, apart, false)[1].map(|_| ());
    for seconds in [30, -30] {
        assert_eq!(second(Span::from_secs(seconds)), Ok(()));
    }
    for apart in [
        Span::from_secs(30) + Span(1),
        -Span::from_secs(30) - Span(1),
        Span(1 << 61),
        -Span(1 << 61),
    ] {
        assert_eq!(second(apart), Err(Skip::FragmentWithoutFirst), "{apart}");
    }
}

#[test]
fn an_identification_used_again_belongs_to_the_newer_datagram() {
    let fragments = |port: u16| {
        [ipv4_fragment(UDP, MORE, &udp(port, &[7; 16])), ipv4_fragment(UDP, 3, &[7; 8])]
    };
    let results = decode(&[fragments(1000), fragments(2000)].concat());
    let ports: Vec<u16> =
        results.into_iter().map(|result| result.expect("attributed").destination_port).collect();
    assert_eq!(ports, [1000, 1000, 2000, 2000]);
}

#[test]
fn the_table_is_bounded_and_the_newest_datagrams_stay() {
    let fragment = |number: u16, field: u16| {
        let mut bytes = ipv4_fragment(UDP, field, &udp(number, &[7; 16]));
        bytes[4..6].copy_from_slice(&number.to_be_bytes());
        bytes
    };
    let count = 20_000;
    let mut frames: Vec<Vec<u8>> = (0..count).map(|number| fragment(number, MORE)).collect();
    frames.extend((0..count).map(|number| fragment(number, 3)));
    let results = decode_apart(&frames, Span(1), false);
    let (first, later) = results.split_at(count.into());
    assert!(first.iter().all(Result::is_ok));
    assert!(later.iter().zip(0..).all(|(result, number)| result.is_err()
        || result.is_ok_and(|packet| packet.destination_port == number)));
    let known = later.iter().filter(|result| result.is_ok()).count();
    assert!((3500..=4096).contains(&known), "{known} of 4096 slots are used");
    assert!(
        later[usize::from(count) - 100..].iter().filter(|result| result.is_ok()).count() >= 99,
        "the newest are known"
    );
}

#[test]
fn fragments_of_tunnels_are_measured_once_by_the_first() {
    let inside = frames::ipv4(TCP, &tcp(&[], &[7; 60]));
    let tunnelled = |protocol: u8, whole: &[u8]| {
        [ipv4_fragment(protocol, MORE, &whole[..64]), ipv4_fragment(protocol, 8, &whole[64..])]
    };
    let results = decode_apart(&tunnelled(4, &inside), Span(1), true);
    assert_eq!(results[0].map(|packet| (packet.payload, packet.original_length)), Ok((60, 64)));
    assert!(
        results[0].is_ok_and(
            |packet| packet.bits.any(Bits::INNER) && !packet.bits.any(Bits::FRAGMENT_FIRST)
        )
    );
    assert_eq!(results[1], Err(Skip::Tunnel));

    let vxlan =
        udp(4789, &concat(&[&[8, 0, 0, 0, 0, 0, 42, 0], &frames::ethernet(0x0800, &inside)]));
    let results = decode_apart(&tunnelled(UDP, &vxlan), Span(1), true);
    assert_eq!(results[0], Err(Skip::BadHeader), "64 bytes end within the inner TCP header");
    assert_eq!(results[1], Err(Skip::Tunnel));
    let results = decode_apart(&tunnelled(UDP, &vxlan), Span(1), false);
    assert!(results.iter().all(Result::is_ok), "unless the tunnel's own packets are measured");
    assert_eq!(decode(&tunnelled(4, &inside)), [Err(Skip::Tunnel), Err(Skip::Tunnel)]);
}
