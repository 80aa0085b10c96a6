//! The packet inside a packet: IP-in-IP (RFC 2003, RFC 4213), GRE (RFC 2784, RFC 2890) with ERSPAN
//! and Aruba's IEEE 802.11 frames, VXLAN (RFC 7348), Geneve (RFC 8926).
//!
//! Not opened: Aruba's keep-alives (GRE protocol 0x9000), PPTP's GRE version 1, source-routed GRE
//! (RFC 1701), L2TP, encrypted tunnels, and the later fragments of a fragmented tunnel packet (the
//! first one holds the inner headers).

use crate::frame::Frame;
use crate::locate::Start;
use crate::network::{Network, protocol};
use crate::{LinkType, Skip};

/// Transparent Ethernet bridging, the `EtherType` of an Ethernet frame in GRE and Geneve.
const TRANSPARENT_ETHERNET: u16 = 0x6558;
/// ERSPAN types I and II, and type III (draft-foschiano-erspan).
const ERSPAN_2: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
/// The numbers by which Aruba's access points tell their tunnels apart: 0x8200, 0x8210 to 0x83f0,
/// as Wireshark lists them. Aruba publishes none. A frame of IEEE 802.11 follows each of them.
const ARUBA_FIRST: u16 = 0x8200;
const ARUBA_LAST: u16 = 0x83f0;
const ARUBA_KEEP_ALIVE: u16 = 0x9000;

const VXLAN_PORT: u16 = 4789;
/// Linux used this number before one was assigned, and some overlays still do.
const VXLAN_PORT_LINUX: u16 = 8472;
const GENEVE_PORT: u16 = 6081;

/// Whether an IP protocol is a tunnel of its own, as against one inside UDP.
pub(crate) const fn is_tunnel(ip_protocol: u8) -> bool {
    matches!(ip_protocol, protocol::IPV4 | protocol::IPV6 | protocol::GRE)
}

/// Whether a UDP destination port belongs to a tunnel.
#[inline]
pub(crate) const fn is_tunnel_port(port: u16) -> bool {
    matches!(port, VXLAN_PORT | VXLAN_PORT_LINUX | GENEVE_PORT)
}

/// The frame inside a packet, or `None` when the packet is no tunnel.
pub(crate) fn inside<'a>(network: &Network<'a>) -> Result<Option<(Start, Frame<'a>)>, Skip> {
    let payload = network.payload;
    match network.protocol {
        protocol::IPV4 => Ok(Some((Start::Link(LinkType::Ipv4), payload))),
        protocol::IPV6 => Ok(Some((Start::Link(LinkType::Ipv6), payload))),
        protocol::GRE => gre(payload).map(Some),
        protocol::UDP => udp(payload),
        _ => Ok(None),
    }
}

fn ethernet_or(ether_type: u16, frame: Frame<'_>) -> (Start, Frame<'_>) {
    match ether_type {
        TRANSPARENT_ETHERNET => (Start::Link(LinkType::Ethernet), frame),
        ether_type => (Start::EtherType(ether_type), frame),
    }
}

fn gre(frame: Frame<'_>) -> Result<(Start, Frame<'_>), Skip> {
    const CHECKSUM: u8 = 0x80;
    const ROUTING: u8 = 0x40;
    const KEY: u8 = 0x20;
    const SEQUENCE: u8 = 0x10;
    let [flags, version, high, low] = *frame.chunk::<4>()?;
    if version & 7 != 0 || flags & ROUTING != 0 {
        return Err(Skip::Tunnel);
    }
    let fields: usize =
        [CHECKSUM, KEY, SEQUENCE].into_iter().filter(|flag| flags & flag != 0).count();
    let inside = frame.after_checked(4 + 4 * fields)?;
    match u16::from_be_bytes([high, low]) {
        // Type I has no header of its own and is recognised by the missing sequence number.
        ERSPAN_2 if flags & SEQUENCE == 0 => Ok((Start::Link(LinkType::Ethernet), inside)),
        ERSPAN_2 => Ok((Start::Link(LinkType::Ethernet), inside.after_checked(8)?)),
        ERSPAN_3 => {
            let [.., kind, last] = *inside.chunk::<12>()?;
            let length = if last & 1 == 1 { 20 } else { 12 };
            // The frame type: 2 is an IP packet without a link layer, anything else is Ethernet.
            let link = if kind >> 2 & 0x1f == 2 { LinkType::Raw } else { LinkType::Ethernet };
            Ok((Start::Link(link), inside.after_checked(length)?))
        }
        ARUBA_KEEP_ALIVE => Err(Skip::Tunnel),
        aruba @ ARUBA_FIRST..=ARUBA_LAST if aruba.is_multiple_of(0x10) => Ok((Start::Wifi, inside)),
        ether_type => Ok(ethernet_or(ether_type, inside)),
    }
}

/// VXLAN and Geneve, recognised by the destination port and by the fixed bits of their headers.
fn udp(frame: Frame<'_>) -> Result<Option<(Start, Frame<'_>)>, Skip> {
    let [_, _, high, low, ..] = *frame.chunk::<8>()?;
    let port = u16::from_be_bytes([high, low]);
    let datagram = frame.after(8);
    if !is_tunnel_port(port) || datagram.length < 8 {
        return Ok(None);
    }
    let [first, _, type_high, type_low, ..] = *datagram.chunk::<8>()?;
    if port == GENEVE_PORT {
        if first >> 6 != 0 {
            return Ok(None);
        }
        let options = usize::from(first & 0x3f) * 4;
        let inside = datagram.after_checked(8 + options)?;
        return Ok(Some(ethernet_or(u16::from_be_bytes([type_high, type_low]), inside)));
    }
    // The I flag: the network identifier is valid, which every VXLAN frame must state.
    let valid = first & 0x08 != 0;
    Ok(valid.then(|| (Start::Link(LinkType::Ethernet), datagram.after(8))))
}
