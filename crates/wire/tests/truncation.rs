//! Every prefix of a frame, both as cut by a snap length and as a frame that really ended there.

mod frames;

use frames::{
    TCP, TIMESTAMP, UDP, concat, decode_record, ethernet, ipv4, ipv6, record, tcp, tcp_with_flags,
    udp,
};
use trustbed_wire::{Bits, LinkType, Options, Record, Skip};

/// Whether `kept` bytes are measured, and if not, why: cut by a snap length, and not cut.
#[expect(clippy::expect_used, reason = "a helper of tests, which may fail loudly")]
fn prefixes(link: LinkType, bytes: &[u8], headers: usize) {
    for kept in 1..bytes.len() {
        let cut = Record { bytes: &bytes[..kept], ..record(link, bytes) };
        let ended = record(link, &bytes[..kept]);
        if kept < headers {
            assert_eq!(decode_record(&cut, false), Err(Skip::Truncated), "cut to {kept}");
            assert_eq!(decode_record(&ended, false), Err(Skip::BadHeader), "ended at {kept}");
        } else {
            let (whole, _) =
                decode_record(&record(link, bytes), false).expect("the whole frame decodes");
            let (packet, _) = decode_record(&cut, false).expect("the headers were kept");
            assert!(packet.bits.any(Bits::SNAPPED));
            assert_eq!(
                (packet.payload, packet.header_length, packet.seq),
                (whole.payload, whole.header_length, whole.seq)
            );
            let (packet, _) = decode_record(&ended, false).expect("the headers are there");
            assert!(packet.bits.any(Bits::LENGTH_BEYOND_FRAME) && !packet.bits.any(Bits::SNAPPED));
            assert_eq!(packet.payload, whole.payload);
        }
    }
}

#[test]
fn a_header_is_needed_up_to_the_fixed_part_of_tcp() {
    prefixes(LinkType::Ethernet, &ethernet(0x0800, &ipv4(TCP, &tcp(&TIMESTAMP, b"hello"))), 54);
    prefixes(LinkType::Ethernet, &ethernet(0x86dd, &ipv6(TCP, &tcp(&TIMESTAMP, b"hello"))), 74);
    prefixes(LinkType::Raw, &ipv4(TCP, &tcp(&[], b"hello")), 40);
    prefixes(
        LinkType::Ethernet,
        &ethernet(0x8100, &concat(&[&[0, 5, 8, 0], &ipv4(UDP, &udp(53, b"hello"))])),
        46,
    );
    prefixes(
        LinkType::Ethernet,
        &ethernet(0x8847, &concat(&[&[0, 1, 1, 64], &ipv4(UDP, &udp(53, b"hello"))])),
        46,
    );
    prefixes(
        LinkType::Ethernet,
        &ethernet(
            0x8864,
            &concat(&[&[0x11, 0, 0, 1, 0, 0, 0, 0x21], &ipv4(UDP, &udp(53, b"hello"))]),
        ),
        50,
    );
    for framing in [&[0, 0x21][..], &[0x21], &[0xff, 3, 0, 0x21], &[0x8f, 0, 8, 0]] {
        prefixes(
            LinkType::Ppp,
            &concat(&[framing, &ipv4(UDP, &udp(53, b"hello"))]),
            framing.len() + 28,
        );
    }
    prefixes(LinkType::Loopback, &concat(&[&[2, 0, 0, 0], &ipv4(UDP, &udp(53, b"hello"))]), 32);
    prefixes(
        LinkType::LinuxCooked,
        &concat(&[&[0; 14], &[8, 0], &ipv4(UDP, &udp(53, b"hello"))]),
        44,
    );
    prefixes(
        LinkType::LinuxCooked2,
        &concat(&[&[8, 0], &[0; 18], &ipv4(UDP, &udp(53, b"hello"))]),
        48,
    );
    let authentication = concat(&[&[UDP, 4, 0, 0], &[9; 20], &udp(53, b"hello")]);
    prefixes(LinkType::Raw, &ipv6(51, &authentication), 72);
    prefixes(
        LinkType::Raw,
        &ipv6(
            60,
            &concat(&[&[44, 0, 1, 4, 0, 0, 0, 0], &[UDP, 0, 0, 0, 0, 0, 0, 1], &udp(53, b"hello")]),
        ),
        64,
    );
}

#[test]
fn a_multipath_option_that_was_cut_is_ignored() {
    let area = concat(&[&[2, 4, 5, 0xb4, 30, 12, 1], &[9; 9]]);
    let bytes = ipv4(TCP, &tcp_with_flags(2, &area, &[]));
    for kept in 44..=bytes.len() {
        let (_, options) = decode_record(
            &Record { bytes: &bytes[..kept], ..record(LinkType::Raw, &bytes) },
            false,
        )
        .expect("measured");
        let expected =
            Options { mss: Some(1460), multipath: kept == bytes.len(), ..Options::default() };
        assert_eq!(options, Some(expected), "cut to {kept}");
    }
}

#[test]
fn options_that_were_cut_are_read_as_far_as_they_go() {
    let area = [2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 77, 0, 0, 0, 55, 1, 3, 3, 7];
    let bytes = ipv4(TCP, &tcp_with_flags(2, &area, &[]));
    let decoded = |kept: usize| {
        let (packet, options) = decode_record(
            &Record { bytes: &bytes[..kept], ..record(LinkType::Raw, &bytes) },
            false,
        )
        .expect("measured");
        assert_eq!((packet.payload, packet.header_length), (0, 60));
        assert!(packet.bits.any(Bits::SNAPPED));
        (packet.bits.any(Bits::TIMESTAMP), options)
    };
    let mss = Options { mss: Some(1460), ..Options::default() };
    assert_eq!(decoded(40), (false, None));
    assert_eq!(decoded(43), (false, None));
    assert_eq!(decoded(44), (false, Some(mss)));
    assert_eq!(decoded(46), (false, Some(Options { sack_permitted: true, ..mss })));
    assert_eq!(decoded(55), (false, Some(Options { sack_permitted: true, ..mss })));
    assert_eq!(decoded(56), (true, Some(Options { sack_permitted: true, ..mss })));
    let (timestamp, options) = decode_record(&record(LinkType::Raw, &bytes), false)
        .map(|(packet, options)| (packet.bits.any(Bits::TIMESTAMP), options))
        .expect("measured");
    assert!(timestamp);
    assert_eq!(options, Some(Options { sack_permitted: true, window_scale: Some(7), ..mss }));
}
