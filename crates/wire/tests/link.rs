//! Every link layer, down to the exact fields of the packet behind it.

mod frames;

use frames::{TCP, TIMESTAMP, concat, decode, ethernet, ipv4, ipv6, tcp, tcp_packet, tcp_packet_6};
use trustbed_wire::{Bits, LinkType, Packet, Skip};

fn v4() -> Vec<u8> {
    ipv4(TCP, &tcp(&[], b"hello"))
}

fn v6() -> Vec<u8> {
    ipv6(TCP, &tcp(&[], b"hello"))
}

#[test]
fn ethernet_carries_both_versions() {
    assert_eq!(decode(LinkType::Ethernet, &ethernet(0x0800, &v4())), Ok(tcp_packet(5, 59)));
    assert_eq!(decode(LinkType::Ethernet, &ethernet(0x86dd, &v6())), Ok(tcp_packet_6(5, 79)));
}

#[test]
fn padding_is_no_payload() {
    let bytes = concat(&[&ethernet(0x0800, &ipv4(TCP, &tcp(&[], b""))), &[0; 6]]);
    assert_eq!(decode(LinkType::Ethernet, &bytes), Ok(tcp_packet(0, 60)));
    let bytes = concat(&[&ethernet(0x86dd, &ipv6(TCP, &tcp(&[], b"x"))), &[0; 20]]);
    assert_eq!(decode(LinkType::Ethernet, &bytes), Ok(tcp_packet_6(1, 95)));
}

#[test]
fn any_stack_of_vlan_tags_yields_the_outermost_id() {
    let tag = |id: u16, next: u16| concat(&[&(0xe000 | id).to_be_bytes(), &next.to_be_bytes()]);
    let one = concat(&[&tag(7, 0x0800), &v4()]);
    assert_eq!(
        decode(LinkType::Ethernet, &ethernet(0x8100, &one)),
        Ok(Packet { vlan: 7, ..tcp_packet(5, 63) })
    );
    let two = concat(&[&tag(4095, 0x8100), &one]);
    assert_eq!(
        decode(LinkType::Ethernet, &ethernet(0x88a8, &two)),
        Ok(Packet { vlan: 4095, ..tcp_packet(5, 67) })
    );
    let three = concat(&[&tag(0, 0x88a8), &two]);
    assert_eq!(
        decode(LinkType::Ethernet, &ethernet(0x9100, &three)),
        Ok(Packet { vlan: 0, ..tcp_packet(5, 71) })
    );
    let six = concat(&[&tag(9, 0x9100), &tag(8, 0x8100), &tag(7, 0x9100), &three]);
    assert_eq!(
        decode(LinkType::Ethernet, &ethernet(0x8100, &six)),
        Ok(Packet { vlan: 9, ..tcp_packet(5, 83) })
    );
}

#[test]
fn mpls_labels_are_passed_and_the_first_nibble_decides() {
    let one = concat(&[&[0, 1, 0x01, 64], &v4()]);
    assert_eq!(decode(LinkType::Ethernet, &ethernet(0x8847, &one)), Ok(tcp_packet(5, 63)));
    let three = concat(&[&[0, 2, 0x00, 64], &[0, 3, 0xe0, 64], &[0, 1, 0x21, 64], &v6()]);
    assert_eq!(decode(LinkType::Ethernet, &ethernet(0x8848, &three)), Ok(tcp_packet_6(5, 91)));
    // A pseudowire: its control word begins with a zero nibble.
    assert_eq!(
        decode(LinkType::Ethernet, &ethernet(0x8847, &concat(&[&[0, 1, 1, 64], &[0; 60]]))),
        Err(Skip::NotIp)
    );
}

#[test]
fn pppoe_sessions_carry_ip_behind_either_form_of_the_protocol_field() {
    let session = |protocol: &[u8], ip: &[u8]| {
        ethernet(0x8864, &concat(&[&[0x11, 0, 0, 1, 0, 0], protocol, ip]))
    };
    assert_eq!(decode(LinkType::Ethernet, &session(&[0, 0x21], &v4())), Ok(tcp_packet(5, 67)));
    assert_eq!(decode(LinkType::Ethernet, &session(&[0x21], &v4())), Ok(tcp_packet(5, 66)));
    assert_eq!(decode(LinkType::Ethernet, &session(&[0, 0x57], &v6())), Ok(tcp_packet_6(5, 87)));
    assert_eq!(
        decode(LinkType::Ethernet, &session(&[0xc0, 0x21], &[0; 40])),
        Err(Skip::NotIp),
        "link control"
    );
    assert_eq!(
        decode(LinkType::Ethernet, &ethernet(0x8863, &[0; 40])),
        Err(Skip::NotIp),
        "discovery"
    );
    let tagged = concat(&[&[0, 5, 0x88, 0x64], &session(&[0, 0x21], &v4())[14..]]);
    assert_eq!(
        decode(LinkType::Ethernet, &ethernet(0x8100, &tagged)),
        Ok(Packet { vlan: 5, ..tcp_packet(5, 71) })
    );
}

#[test]
fn ppp_with_and_without_framing_and_compression() {
    let frame = |header: &[u8], ip: &[u8]| decode(LinkType::Ppp, &concat(&[header, ip]));
    // As ns-3 writes point-to-point devices.
    assert_eq!(frame(&[0, 0x21], &v4()), Ok(tcp_packet(5, 47)));
    assert_eq!(frame(&[0, 0x57], &v6()), Ok(tcp_packet_6(5, 67)));
    assert_eq!(frame(&[0xff, 3, 0, 0x21], &v4()), Ok(tcp_packet(5, 49)), "RFC 1662, framing");
    assert_eq!(frame(&[0xff, 3, 0, 0x57], &v6()), Ok(tcp_packet_6(5, 69)));
    assert_eq!(frame(&[0x21], &v4()), Ok(tcp_packet(5, 46)), "RFC 1661, compressed protocol");
    assert_eq!(frame(&[0xff, 3, 0x57], &v6()), Ok(tcp_packet_6(5, 68)));
    for multicast in [0x81, 0x83] {
        let labels = [2, multicast, 0, 2, 0, 64, 0, 1, 0x21, 64];
        assert_eq!(frame(&labels, &v6()), Ok(tcp_packet_6(5, 75)), "RFC 3032, MPLS");
    }
    for address in [0x0f, 0x8f] {
        assert_eq!(frame(&[address, 0, 8, 0], &v4()), Ok(tcp_packet(5, 49)), "Cisco's HDLC");
        assert_eq!(frame(&[address, 0, 0x86, 0xdd], &v6()), Ok(tcp_packet_6(5, 69)));
    }
    let others: [&[u8]; 5] =
        [&[0xc0, 0x21], &[0xff, 3, 0x80, 0x21], &[0, 0x3d], &[0, 0x2d], &[0x8f, 0, 0x80, 0x35]];
    for header in others {
        assert_eq!(frame(header, &v4()), Err(Skip::NotIp), "{header:02x?}");
    }
    assert_eq!(frame(&[0, 0x21], &v6()), Err(Skip::BadHeader));
    let padded = concat(&[&[0, 0x21], &ipv4(TCP, &tcp(&[], b"")), &[0; 6]]);
    assert_eq!(decode(LinkType::Ppp, &padded), Ok(tcp_packet(0, 48)), "padding is no payload");
}

#[test]
fn llc_snap_carries_an_ether_type() {
    let snap = concat(&[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &v4()]);
    assert_eq!(decode(LinkType::Ethernet, &ethernet(53, &snap)), Ok(tcp_packet(5, 67)));
    let spanning_tree = ethernet(38, &concat(&[&[0x42, 0x42, 3], &[0; 43]]));
    assert_eq!(decode(LinkType::Ethernet, &spanning_tree), Err(Skip::NotIp));
    let cisco = ethernet(40, &concat(&[&[0xaa, 0xaa, 3, 0, 0, 0xc, 0x20, 0], &[0; 43]]));
    assert_eq!(decode(LinkType::Ethernet, &cisco), Err(Skip::NotIp));
}

#[test]
fn what_is_not_ip_is_reported_as_such() {
    for ether_type in [0x0806, 0x88cc, 0x88e5, 0x600, 0xffff] {
        assert_eq!(
            decode(LinkType::Ethernet, &ethernet(ether_type, &v4())),
            Err(Skip::NotIp),
            "{ether_type:#x}"
        );
    }
}

#[test]
fn linux_cooked_headers_of_both_versions() {
    let first = |device: [u8; 2], protocol: [u8; 2], ip: &[u8]| {
        concat(&[&[0, 4], &device, &[0, 6], &[2; 8], &protocol, ip])
    };
    assert_eq!(decode(LinkType::LinuxCooked, &first([0, 1], [8, 0], &v4())), Ok(tcp_packet(5, 61)));
    assert_eq!(
        decode(LinkType::LinuxCooked, &first([3, 4], [0x86, 0xdd], &v6())),
        Ok(tcp_packet_6(5, 81))
    );
    let tagged = concat(&[&[0, 6, 8, 0], &v4()]);
    assert_eq!(
        decode(LinkType::LinuxCooked, &first([0, 1], [0x81, 0], &tagged)),
        Ok(Packet { vlan: 6, ..tcp_packet(5, 65) })
    );
    let snap = concat(&[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &v4()]);
    assert_eq!(decode(LinkType::LinuxCooked, &first([0, 1], [0, 4], &snap)), Ok(tcp_packet(5, 69)));
    assert_eq!(
        decode(LinkType::LinuxCooked, &first([3, 56], [8, 0], &v4())),
        Err(Skip::NotIp),
        "netlink"
    );
    assert_eq!(
        decode(LinkType::LinuxCooked, &first([0, 1], [8, 6], &v4())),
        Err(Skip::NotIp),
        "ARP"
    );

    let second = |protocol: [u8; 2], ip: &[u8]| {
        concat(&[&protocol, &[0, 0, 0, 0, 0, 2, 0, 1, 4, 6], &[2; 8], ip])
    };
    assert_eq!(decode(LinkType::LinuxCooked2, &second([8, 0], &v4())), Ok(tcp_packet(5, 65)));
    assert_eq!(
        decode(LinkType::LinuxCooked2, &second([0x86, 0xdd], &v6())),
        Ok(tcp_packet_6(5, 85))
    );
    assert_eq!(decode(LinkType::LinuxCooked2, &second([8, 6], &v4())), Err(Skip::NotIp));
}

#[test]
fn raw_ip_by_its_version_and_by_its_link_type() {
    assert_eq!(decode(LinkType::Raw, &v4()), Ok(tcp_packet(5, 45)));
    assert_eq!(decode(LinkType::Raw, &v6()), Ok(tcp_packet_6(5, 65)));
    assert_eq!(decode(LinkType::Ipv4, &v4()), Ok(tcp_packet(5, 45)));
    assert_eq!(decode(LinkType::Ipv6, &v6()), Ok(tcp_packet_6(5, 65)));
    assert_eq!(decode(LinkType::Ipv4, &v6()), Err(Skip::BadHeader));
    assert_eq!(decode(LinkType::Ipv6, &v4()), Err(Skip::BadHeader));
    assert_eq!(decode(LinkType::Raw, &[0x50; 40]), Err(Skip::BadHeader));
    assert_eq!(decode(LinkType::Ethernet, &ethernet(0x0800, &v6())), Err(Skip::BadHeader));
}

#[test]
fn bsd_loopback_in_both_byte_orders() {
    for family in [[2, 0, 0, 0], [0, 0, 0, 2]] {
        assert_eq!(decode(LinkType::Loopback, &concat(&[&family, &v4()])), Ok(tcp_packet(5, 49)));
    }
    for family in
        [[24, 0, 0, 0], [28, 0, 0, 0], [30, 0, 0, 0], [0, 0, 0, 30], [0, 0, 0, 10], [23, 0, 0, 0]]
    {
        assert_eq!(decode(LinkType::Loopback, &concat(&[&family, &v6()])), Ok(tcp_packet_6(5, 69)));
    }
    assert_eq!(decode(LinkType::Loopback, &concat(&[&[7, 0, 0, 0], &v4()])), Err(Skip::NotIp));
}

#[test]
fn an_empty_record_is_empty() {
    for link in [LinkType::Ethernet, LinkType::Raw, LinkType::Loopback] {
        assert_eq!(decode(link, &[]), Err(Skip::Empty));
    }
}

#[test]
fn link_numbers_are_those_of_the_registry() {
    let known = [0, 1, 9, 12, 14, 50, 101, 108, 113, 228, 229, 276];
    assert!(known.into_iter().all(|number| LinkType::from_number(number).is_some()));
    assert!(
        [2, 105, 127, 147, 999].into_iter().all(|number| LinkType::from_number(number).is_none())
    );
}

#[test]
fn a_marked_packet_and_its_timestamps_come_through_every_layer() {
    let mut bytes = ethernet(0x0800, &ipv4(TCP, &tcp(&TIMESTAMP, b"hello")));
    bytes[15] |= 3;
    let expected = Packet {
        header_length: 52,
        tsval: 77,
        tsecr: 55,
        bits: Bits(Bits::TIMESTAMP | Bits::CONGESTION_EXPERIENCED),
        ..tcp_packet(5, 71)
    };
    assert_eq!(decode(LinkType::Ethernet, &bytes), Ok(expected));
    bytes[15] &= !1;
    assert_eq!(
        decode(LinkType::Ethernet, &bytes),
        Ok(Packet { bits: Bits(Bits::TIMESTAMP), ..expected }),
        "capable, not marked"
    );
}
