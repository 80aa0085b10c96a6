//! IPv4 options, IPv6 extension headers, and every way in which a length can be stated or be wrong.

mod frames;

use frames::{
    SOURCE, TCP, UDP, concat, decode, decode_record, ethernet, ipv4, ipv6, record, sixteen, tcp,
    tcp_packet, tcp_packet_6, udp,
};
use proptest::prelude::*;
use trustbed_wire::{Bits, LinkType, Packet, Record, Skip};

/// An extension header of eight bytes and more: next header, length, and options that pad.
fn extension(next: u8, words: u8) -> Vec<u8> {
    let length = 6 + 8 * usize::from(words);
    concat(&[&[next, words, 1, u8::try_from(length - 2).unwrap_or(0)], &vec![0; length - 2]])
}

fn authentication(next: u8) -> Vec<u8> {
    concat(&[&[next, 4, 0, 0], &[9; 20]])
}

#[test]
fn ipv4_options_lengthen_the_header_and_not_the_payload() {
    for words in 1_u8..=10 {
        let options = vec![1; usize::from(words) * 4];
        let mut bytes = concat(&[&ipv4(TCP, &[]), &options, &tcp(&[], b"hello")]);
        bytes[0] += words;
        let total = sixteen(bytes.len());
        bytes[2..4].copy_from_slice(&total);
        let header_length = 40 + 4 * u16::from(words);
        let original_length = u32::from(header_length) + 5;
        assert_eq!(
            decode(LinkType::Raw, &bytes),
            Ok(Packet { header_length, ..tcp_packet(5, original_length) })
        );
    }
}

#[test]
fn ipv6_extension_headers_are_passed() {
    let tcp = tcp(&[], b"hello");
    let chains: [(u8, Vec<u8>); 6] = [
        (0, extension(TCP, 0)),
        (43, extension(TCP, 2)),
        (60, extension(TCP, 1)),
        (51, authentication(TCP)),
        (44, vec![TCP, 0, 0, 0, 0, 0, 0, 9]),
        (
            0,
            concat(&[
                &extension(60, 0),
                &extension(43, 0),
                &extension(44, 1),
                &[51, 0, 0, 0, 0, 0, 0, 9],
                &authentication(TCP),
            ]),
        ),
    ];
    for (first, headers) in chains {
        let bytes = ipv6(first, &concat(&[&headers, &tcp]));
        let length = u16::try_from(headers.len()).expect("short");
        let expected =
            Packet { header_length: 60 + length, ..tcp_packet_6(5, 65 + u32::from(length)) };
        assert_eq!(decode(LinkType::Raw, &bytes), Ok(expected), "chain that begins with {first}");
    }
}

#[test]
fn authentication_in_ipv4_is_passed() {
    let bytes = ipv4(51, &concat(&[&authentication(TCP), &tcp(&[], b"hello")]));
    assert_eq!(
        decode(LinkType::Raw, &bytes),
        Ok(Packet { header_length: 64, ..tcp_packet(5, 69) })
    );
}

#[test]
fn hop_by_hop_options_belong_in_front() {
    let bytes = ipv6(60, &concat(&[&extension(0, 0), &extension(TCP, 0), &tcp(&[], b"")]));
    assert_eq!(decode(LinkType::Raw, &bytes), Err(Skip::BadHeader));
}

#[test]
fn what_is_neither_tcp_nor_udp_is_another_protocol() {
    for protocol in [1, 2, 50, 58, 59, 89, 132, 255] {
        assert_eq!(
            decode(LinkType::Raw, &ipv4(protocol, &[0; 40])),
            Err(Skip::OtherProtocol),
            "{protocol}"
        );
        assert_eq!(
            decode(LinkType::Raw, &ipv6(protocol, &[0; 40])),
            Err(Skip::OtherProtocol),
            "{protocol}"
        );
    }
}

#[test]
fn without_a_length_the_frame_gives_it() {
    // Segmentation offload: the header's length is 0, the frame is longer than 16 bits can say, and
    // 128 bytes were kept.
    let mut bytes = ethernet(0x0800, &ipv4(TCP, &tcp(&[], &[7; 200])));
    bytes[16..18].fill(0);
    let record = Record { original_length: 100_054, ..record(LinkType::Ethernet, &bytes[..128]) };
    let expected = Packet {
        bits: Bits(Bits::LENGTH_FROM_FRAME | Bits::SNAPPED),
        ..tcp_packet(100_000, 100_054)
    };
    assert_eq!(decode_record(&record, false), Ok((expected, None)));

    let mut bytes = ethernet(0x86dd, &ipv6(TCP, &tcp(&[], &[7; 200])));
    bytes[18..20].fill(0);
    let record = Record { bytes: &bytes[..128], original_length: 100_074, ..record };
    let bits = Bits(Bits::IPV6 | Bits::LENGTH_FROM_FRAME | Bits::SNAPPED);
    assert_eq!(
        decode_record(&record, false),
        Ok((Packet { bits, ..tcp_packet_6(100_000, 100_074) }, None))
    );
}

#[test]
fn a_jumbogram_states_its_length_in_an_option() {
    let jumbo = |stated: u32| concat(&[&[TCP, 0, 0xc2, 4], &stated.to_be_bytes()]);
    let frame = |stated: u32| {
        let mut bytes = ipv6(0, &concat(&[&jumbo(stated), &tcp(&[], &[7; 200])]));
        bytes[4..6].fill(0);
        bytes
    };
    let bytes = frame(100_028);
    let cut = Record { original_length: 100_068, ..record(LinkType::Ipv6, &bytes[..128]) };
    let bits = Bits(Bits::IPV6 | Bits::SNAPPED);
    let expected = Packet { header_length: 68, bits, ..tcp_packet_6(100_000, 100_068) };
    assert_eq!(decode_record(&cut, false), Ok((expected, None)));

    // RFC 2675: below 65536 it is no jumbogram, and a jumbogram's header states no other length.
    let bytes = frame(65_535);
    assert_eq!(decode_record(&Record { bytes: &bytes[..128], ..cut }, false), Err(Skip::BadHeader));
    let mut bytes = frame(100_028);
    bytes[4..6].copy_from_slice(&[0, 228]);
    assert_eq!(decode_record(&Record { bytes: &bytes[..128], ..cut }, false), Err(Skip::BadHeader));

    // Hop-by-hop options without a length among them: the frame gives it.
    let mut bytes = ipv6(0, &concat(&[&extension(TCP, 0), &tcp(&[], b"hello")]));
    bytes[4..6].fill(0);
    let expected = Packet {
        header_length: 68,
        bits: Bits(Bits::IPV6 | Bits::LENGTH_FROM_FRAME),
        ..tcp_packet_6(5, 73)
    };
    assert_eq!(decode(LinkType::Raw, &bytes), Ok(expected));
}

#[test]
fn a_length_beyond_the_frame_is_accepted_and_marked() {
    // As captures look that a script cut to 60 bytes, writing 60 as the length on the wire too.
    let bytes = ipv4(TCP, &tcp(&[], &[7; 1000]));
    let expected = Packet { bits: Bits(Bits::LENGTH_BEYOND_FRAME), ..tcp_packet(1000, 60) };
    assert_eq!(decode(LinkType::Raw, &bytes[..60]), Ok(expected));
    let bytes = ipv6(TCP, &tcp(&[], &[7; 1000]));
    let expected =
        Packet { bits: Bits(Bits::IPV6 | Bits::LENGTH_BEYOND_FRAME), ..tcp_packet_6(1000, 60) };
    assert_eq!(decode(LinkType::Raw, &bytes[..60]), Ok(expected));
    // Nothing says that a snap length took the header: the frame cannot have held it.
    assert_eq!(decode(LinkType::Raw, &bytes[..59]), Err(Skip::BadHeader));
}

#[test]
fn a_record_longer_than_its_frame_counts_as_long_as_it_is() {
    let bytes = ipv4(TCP, &tcp(&[], b"hello"));
    let record = Record { original_length: 20, ..record(LinkType::Raw, &bytes) };
    assert_eq!(decode_record(&record, false), Ok((tcp_packet(5, 45), None)));
}

#[test]
fn headers_that_contradict_themselves_are_bad() {
    let good = ipv4(TCP, &tcp(&[], b"hello"));
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        decode(LinkType::Raw, &bytes)
    };
    assert_eq!(changed(0, 0x44), Err(Skip::BadHeader), "a header of 16 bytes");
    assert_eq!(changed(3, 19), Err(Skip::BadHeader), "a total shorter than the header");
    assert_eq!(changed(3, 39), Err(Skip::BadHeader), "a total that cuts the TCP header");
    assert_eq!(changed(32, 0x40), Err(Skip::BadHeader), "a TCP header of 16 bytes");
    assert_eq!(changed(32, 0x70), Err(Skip::BadHeader), "a TCP header longer than the packet");
    assert_eq!(changed(3, 40), Ok(tcp_packet(0, 45)), "five bytes of trailer");
}

#[test]
fn udp_lengths() {
    let datagram = udp(5000, b"hello");
    let expected = |payload| {
        decode(LinkType::Raw, &ipv4(UDP, &datagram)).map(|packet| Packet { payload, ..packet })
    };
    let packet = expected(5).expect("a datagram");
    assert_eq!(
        (packet.source_port, packet.destination_port, packet.checksum, packet.header_length),
        (40_000, 5000, 0xbeef, 28)
    );
    assert_eq!(
        (packet.payload, packet.protocol, packet.window, packet.seq, packet.flags.0),
        (5, UDP, 0, 0, 0)
    );
    assert_eq!(packet.source[12..], SOURCE);
    let with_length = |length: u8, trailer: &[u8]| {
        let mut datagram = concat(&[&datagram, trailer]);
        datagram[5] = length;
        decode(LinkType::Raw, &ipv4(UDP, &datagram)).map(|packet| packet.payload)
    };
    assert_eq!(with_length(13, b"xyz"), Ok(8), "bytes behind the datagram are payload of IP");
    assert_eq!(with_length(0, b""), Ok(5), "no length");
    assert_eq!(with_length(7, b""), Err(Skip::BadHeader), "shorter than the header");
    assert_eq!(with_length(14, b""), Err(Skip::BadHeader), "longer than IP says");
}

proptest! {
    /// Whatever is captured, the payload is what IP says: the same for every snap length that
    /// leaves the headers.
    #[test]
    fn the_payload_never_depends_on_the_captured_length(
        payload in 0_usize..3000,
        kept in 54_usize..3054,
        padding in 0_usize..40,
    ) {
        let bytes = concat(&[
            &ethernet(0x0800, &ipv4(TCP, &tcp(&[], &vec![7; payload]))),
            &vec![0; padding],
        ]);
        let kept = kept.min(bytes.len());
        let record = Record { bytes: &bytes[..kept], ..record(LinkType::Ethernet, &bytes) };
        let (packet, _) = decode_record(&record, false).expect("all headers are there");
        prop_assert_eq!(packet.payload as usize, payload);
        prop_assert_eq!(packet.bits.any(Bits::SNAPPED), kept < bytes.len());
    }
}
