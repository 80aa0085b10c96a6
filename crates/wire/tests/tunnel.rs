//! Packets inside packets: opened when requested, counted as what they are otherwise.

mod frames;

use frames::{
    TCP, UDP, concat, decode, decode_inner, decode_record, ethernet, ipv4, ipv6, record, tcp,
    tcp_packet, tcp_packet_6, udp,
};
use trustbed_wire::{Bits, LinkType, Packet, Record, Skip};

const GRE: u8 = 47;
const IPV4: u8 = 4;
const IPV6: u8 = 41;

fn v4() -> Vec<u8> {
    ipv4(TCP, &tcp(&[], b"hello"))
}

fn v6() -> Vec<u8> {
    ipv6(TCP, &tcp(&[], b"hello"))
}

/// The packet of [`v4`] taken out of a tunnel, in an inner frame of `original_length` bytes.
#[expect(clippy::unnecessary_wraps, reason = "it is compared with results")]
fn inner(original_length: u32) -> Result<Packet, Skip> {
    Ok(Packet { bits: Bits(Bits::INNER), ..tcp_packet(5, original_length) })
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with results")]
fn inner_6(original_length: u32) -> Result<Packet, Skip> {
    Ok(Packet { bits: Bits(Bits::INNER | Bits::IPV6), ..tcp_packet_6(5, original_length) })
}

/// Decodes a tunnel that is an IP protocol, which without asking is skipped.
fn opened(bytes: &[u8]) -> Result<Packet, Skip> {
    assert_eq!(decode(LinkType::Ethernet, bytes), Err(Skip::Tunnel));
    decode_inner(LinkType::Ethernet, bytes)
}

/// Decodes a tunnel in UDP, which without asking is a datagram like others.
#[expect(clippy::expect_used, reason = "a helper of tests, which may fail loudly")]
fn opened_datagram(port: u16, inside: &[u8]) -> Result<Packet, Skip> {
    let bytes = ethernet(0x0800, &ipv4(UDP, &udp(port, inside)));
    let plain = decode(LinkType::Ethernet, &bytes).expect("a datagram");
    assert_eq!((plain.destination_port, plain.payload as usize), (port, inside.len()));
    decode_inner(LinkType::Ethernet, &bytes)
}

#[test]
fn ip_in_ip() {
    assert_eq!(opened(&ethernet(0x0800, &ipv4(IPV4, &v4()))), inner(45));
    assert_eq!(opened(&ethernet(0x0800, &ipv4(IPV6, &v6()))), inner_6(65));
    assert_eq!(opened(&ethernet(0x86dd, &ipv6(IPV4, &v4()))), inner(45));
    assert_eq!(opened(&ethernet(0x86dd, &ipv6(IPV6, &v6()))), inner_6(65));
    assert_eq!(opened(&ethernet(0x0800, &ipv4(IPV4, &v6()))), Err(Skip::BadHeader));
}

#[test]
fn padding_of_the_outer_frame_is_not_the_inner_ones() {
    let padded = concat(&[&ethernet(0x0800, &ipv4(IPV4, &ipv4(UDP, &udp(9, b"")))), &[0; 30]]);
    let packet = opened(&padded).expect("a datagram");
    assert_eq!((packet.payload, packet.original_length), (0, 28));
}

#[test]
fn gre_with_every_optional_field() {
    let plain = |flags: u8, fields: &[u8], ether_type: u16, inside: &[u8]| {
        ethernet(
            0x0800,
            &ipv4(GRE, &concat(&[&[flags, 0], &ether_type.to_be_bytes(), fields, inside])),
        )
    };
    assert_eq!(opened(&plain(0, &[], 0x0800, &v4())), inner(45));
    assert_eq!(opened(&plain(0, &[], 0x86dd, &v6())), inner_6(65));
    assert_eq!(opened(&plain(0x20, &[9; 4], 0x0800, &v4())), inner(45), "key");
    assert_eq!(opened(&plain(0x10, &[9; 4], 0x0800, &v4())), inner(45), "sequence number");
    assert_eq!(opened(&plain(0x80, &[9; 4], 0x0800, &v4())), inner(45), "checksum");
    assert_eq!(opened(&plain(0xb0, &[9; 12], 0x0800, &v4())), inner(45), "all three");
    assert_eq!(
        opened(&plain(0x20, &[9; 4], 0x6558, &ethernet(0x0800, &v4()))),
        inner(59),
        "an Ethernet frame"
    );
    assert_eq!(
        opened(&plain(0, &[], 0x8847, &concat(&[&[0, 1, 1, 64], &v4()]))),
        inner(49),
        "MPLS"
    );
    assert_eq!(opened(&plain(0, &[], 0x0806, &v4())), Err(Skip::NotIp));
    assert_eq!(opened(&plain(0x40, &[], 0x0800, &v4())), Err(Skip::Tunnel), "source routes");
    let pptp = ethernet(0x0800, &ipv4(GRE, &concat(&[&[0x30, 1, 0x88, 0x0b], &[0; 40]])));
    assert_eq!(opened(&pptp), Err(Skip::Tunnel), "version 1");
}

#[test]
fn mirrored_frames_of_erspan() {
    let mirrored = ethernet(0x0800, &v4());
    let gre = |header: &[u8], session: &[u8]| {
        ethernet(0x0800, &ipv4(GRE, &concat(&[header, session, &mirrored])))
    };
    assert_eq!(opened(&gre(&[0, 0, 0x88, 0xbe], &[])), inner(59), "type I");
    assert_eq!(opened(&gre(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1], &[0x10; 8])), inner(59), "type II");
    assert_eq!(
        opened(&gre(&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1], &[0x20; 12])),
        inner(59),
        "type III"
    );
    let with_platform = concat(&[&[0x20; 11], &[0x21], &[0; 8]]);
    assert_eq!(
        opened(&gre(&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1], &with_platform)),
        inner(59),
        "type III with a subheader"
    );
    let bare = concat(&[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1], &[0x20; 10], &[0x08, 0], &v6()]);
    assert_eq!(opened(&ethernet(0x0800, &ipv4(GRE, &bare))), inner_6(65), "type III, IP alone");
    let keyed = concat(&[&[0x30, 0, 0x88, 0xbe, 0, 0, 0, 9, 0, 0, 0, 1], &[0x10; 8], &mirrored]);
    assert_eq!(opened(&ethernet(0x0800, &ipv4(GRE, &keyed))), inner(59), "type II with a key");
    assert_eq!(
        opened(&ethernet(0x86dd, &ipv6(GRE, &concat(&[&[0, 0, 0x88, 0xbe], &mirrored])))),
        inner(59),
        "over IPv6"
    );
}

#[test]
fn frames_of_access_points_in_arubas_gre() {
    let gre = |number: u16, frame: &[u8]| {
        ethernet(0x0800, &ipv4(GRE, &concat(&[&[0, 0], &number.to_be_bytes(), frame])))
    };
    let wifi = |control: [u8; 2], rest: usize, ether_type: [u8; 2], ip: &[u8]| {
        let llc = concat(&[&[0xaa, 0xaa, 3, 0, 0, 0], &ether_type]);
        concat(&[&control, &vec![0; rest - 2], &llc, ip])
    };
    for number in [0x8200, 0x8210, 0x82f0, 0x8370, 0x83f0] {
        let frame = wifi([0x08, 0x01], 24, [8, 0], &v4());
        assert_eq!(opened(&gre(number, &frame)), inner(77), "to the distribution system");
    }
    let cases = [
        ([0x08, 0x02], 24, "from the distribution system"),
        ([0x08, 0x03], 30, "four addresses"),
        ([0x88, 0x02], 26, "quality of service"),
        ([0x88, 0x83], 36, "quality of service, four addresses, HT control"),
    ];
    for (control, header, name) in cases {
        let length = u32::try_from(header).unwrap_or(0) + 8 + 65;
        let frame = wifi(control, header, [0x86, 0xdd], &v6());
        assert_eq!(opened(&gre(0x8200, &frame)), inner_6(length), "{name}");
    }
    let refused = [
        ([0x08, 0x41], Skip::Tunnel, "encrypted"),
        ([0x08, 0x05], Skip::Tunnel, "more fragments"),
        ([0x48, 0x01], Skip::NotIp, "no data"),
        ([0x80, 0x00], Skip::NotIp, "a beacon"),
        ([0x09, 0x01], Skip::BadHeader, "another version"),
    ];
    for (control, skip, name) in refused {
        let frame = wifi(control, 24, [8, 0], &v4());
        assert_eq!(opened(&gre(0x8200, &frame)), Err(skip), "{name}");
    }
    let mut aggregate = wifi([0x88, 0x01], 26, [8, 0], &v4());
    aggregate[24] = 0x80;
    assert_eq!(opened(&gre(0x8200, &aggregate)), Err(Skip::Tunnel), "several packets in one");
    assert_eq!(opened(&gre(0x9000, &[0; 40])), Err(Skip::Tunnel), "a keep-alive");
    assert_eq!(opened(&gre(0x8201, &v4())), Err(Skip::NotIp), "none of Aruba's numbers");
}

#[test]
fn vxlan_on_both_ports() {
    let frame = ethernet(0x0800, &v4());
    for port in [4789, 8472] {
        let inside = concat(&[&[8, 0, 0, 0, 0, 0, 42, 0], &frame]);
        assert_eq!(opened_datagram(port, &inside), inner(59));
    }
    let tagged = ethernet(0x8100, &concat(&[&[0, 77, 8, 0], &v4()]));
    let expected = inner(63).map(|packet| Packet { vlan: 77, ..packet });
    assert_eq!(
        opened_datagram(4789, &concat(&[&[8, 0, 0, 0, 0, 0, 42, 0], &tagged])),
        expected,
        "the inner frame's tag"
    );
    let arp = concat(&[&[8, 0, 0, 0, 0, 0, 42, 0], &ethernet(0x0806, &[0; 28])]);
    assert_eq!(opened_datagram(4789, &arp), Err(Skip::NotIp));
}

#[test]
fn what_only_uses_a_tunnels_port_stays_a_datagram() {
    let no_identifier = concat(&[&[0; 8], &ethernet(0x0800, &v4())]);
    for (port, inside) in
        [(4789, &no_identifier[..]), (4789, b"short"), (6081, &[0x80; 40]), (53, &no_identifier)]
    {
        let packet = opened_datagram(port, inside).expect("a datagram");
        assert_eq!((packet.destination_port, packet.payload as usize), (port, inside.len()));
        assert!(!packet.bits.any(Bits::INNER));
    }
}

#[test]
fn geneve_with_options() {
    let frame = ethernet(0x0800, &v4());
    assert_eq!(
        opened_datagram(6081, &concat(&[&[0, 0, 0x65, 0x58, 0, 0, 1, 0], &frame])),
        inner(59)
    );
    assert_eq!(
        opened_datagram(6081, &concat(&[&[3, 0, 0x65, 0x58, 0, 0, 1, 0], &[0; 12], &frame])),
        inner(59)
    );
    assert_eq!(opened_datagram(6081, &concat(&[&[0, 0, 8, 0, 0, 0, 1, 0], &v4()])), inner(45));
    assert_eq!(
        opened_datagram(6081, &concat(&[&[1, 0, 0x86, 0xdd, 0, 0, 1, 0], &[0; 4], &v6()])),
        inner_6(65)
    );
}

#[test]
fn tunnels_within_tunnels_up_to_four() {
    let gre = |inside: &[u8]| ipv4(GRE, &concat(&[&[0, 0, 8, 0], inside]));
    let mut nested = v4();
    for depth in 1..=6 {
        nested = gre(&nested);
        let expected = if depth <= 4 { inner(45) } else { Err(Skip::Tunnel) };
        assert_eq!(opened(&ethernet(0x0800, &nested)), expected, "{depth} tunnels");
    }
    let vxlan_in_gre = gre(&ipv4(
        UDP,
        &udp(4789, &concat(&[&[8, 0, 0, 0, 0, 0, 42, 0], &ethernet(0x0800, &v4())])),
    ));
    assert_eq!(opened(&ethernet(0x0800, &vxlan_in_gre)), inner(59));
}

#[test]
fn asking_for_the_inside_changes_nothing_for_others() {
    let bytes = ethernet(0x0800, &v4());
    assert_eq!(decode_inner(LinkType::Ethernet, &bytes), Ok(tcp_packet(5, 59)));
    assert_eq!(decode_inner(LinkType::Raw, &ipv4(1, &[0; 20])), Err(Skip::OtherProtocol));
}

#[test]
fn a_cut_frame_is_cut_inside_too() {
    let bytes = ethernet(
        0x0800,
        &ipv4(UDP, &udp(4789, &concat(&[&[8, 0, 0, 0, 0, 0, 42, 0], &ethernet(0x0800, &v4())]))),
    );
    let headers = 14 + 20 + 8 + 8 + 14 + 40;
    for kept in 1..bytes.len() {
        let cut = Record { bytes: &bytes[..kept], ..record(LinkType::Ethernet, &bytes) };
        let expected = if kept < headers {
            Err(Skip::Truncated)
        } else {
            inner(59)
                .map(|packet| (Packet { bits: Bits(Bits::INNER | Bits::SNAPPED), ..packet }, None))
        };
        assert_eq!(decode_record(&cut, true), expected, "cut to {kept}");
    }
}
