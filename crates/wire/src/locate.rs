//! From the link layer to the IP header: Ethernet, VLAN tags, MPLS labels, `PPPoE`, PPP, LLC/SNAP,
//! Linux cooked headers, BSD loopback, and IEEE 802.11 where a tunnel carries it.
//!
//! Not looked into: pseudowires and control words inside MPLS, `MACsec`, PPP's multilink and header
//! compression.

use etherparse::{Ethernet2HeaderSlice, SingleVlanHeaderSlice};

use crate::frame::Frame;
use crate::{LinkType, Skip, wifi};

/// IP version that a lower layer announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Announced {
    Ipv4,
    Ipv6,
    /// Only the first nibble shows it.
    Either,
}

/// What a frame begins with: that of a record, or that of a tunnel's inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Link(LinkType),
    EtherType(u16),
    /// An IEEE 802.11 frame without its frame check sequence.
    Wifi,
}

/// Where the IP header is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located<'a> {
    pub(crate) ip: Frame<'a>,
    pub(crate) announced: Announced,
    /// Outermost VLAN id, 0 when untagged.
    pub(crate) vlan: u16,
}

/// The ARPHRD number of netlink devices, which put a netlink family where others put an
/// `EtherType`.
pub(crate) const NETLINK: u16 = 824;

/// The point-to-point protocol numbers of IPv4, IPv6 and MPLS (RFC 1332, RFC 5072, RFC 3032).
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const PPP_MPLS: u16 = 0x0281;
const PPP_MPLS_MULTICAST: u16 = 0x0283;

/// Goes through the link layer to the IP header.
pub(crate) fn ip(start: Start, frame: Frame<'_>) -> Result<Located<'_>, Skip> {
    match start {
        Start::EtherType(ether_type) => ether(frame, ether_type),
        Start::Link(LinkType::Ethernet) => {
            let header = Ethernet2HeaderSlice::from_slice(frame.bytes)
                .map_err(|error| frame.missing(error.required_len))?;
            ether(frame.after(header.slice().len()), header.ether_type().0)
        }
        Start::Link(LinkType::LinuxCooked) => {
            let [_, _, kind_high, kind_low, .., high, low] = *frame.chunk::<16>()?;
            cooked(frame.after(16), [kind_high, kind_low], [high, low])
        }
        Start::Link(LinkType::LinuxCooked2) => {
            let [high, low, _, _, _, _, _, _, kind_high, kind_low, ..] = *frame.chunk::<20>()?;
            cooked(frame.after(20), [kind_high, kind_low], [high, low])
        }
        Start::Link(LinkType::Ppp) => framed_ppp(frame),
        Start::Link(LinkType::Loopback) => loopback(frame),
        Start::Link(LinkType::Raw) => Ok(located(frame, Announced::Either)),
        Start::Link(LinkType::Ipv4) => Ok(located(frame, Announced::Ipv4)),
        Start::Link(LinkType::Ipv6) => Ok(located(frame, Announced::Ipv6)),
        Start::Wifi => {
            let (frame, ether_type) = snap(wifi::body(frame)?)?;
            ether(frame, ether_type)
        }
    }
}

fn located(ip: Frame<'_>, announced: Announced) -> Located<'_> {
    Located { ip, announced, vlan: 0 }
}

/// What follows an `EtherType` field, through any stack of tags.
fn ether(mut frame: Frame<'_>, mut ether_type: u16) -> Result<Located<'_>, Skip> {
    let mut outermost = None;
    // Every turn takes at least four bytes off the frame, so the loop ends.
    loop {
        let mut found = match ether_type {
            0x0800 => located(frame, Announced::Ipv4),
            0x86dd => located(frame, Announced::Ipv6),
            0x8847 | 0x8848 => mpls(frame)?,
            0x8864 => pppoe(frame)?,
            // 802.1Q, 802.1ad, and the number that came before 802.1ad.
            0x8100 | 0x88a8 | 0x9100 => {
                let tag = SingleVlanHeaderSlice::from_slice(frame.bytes)
                    .map_err(|error| frame.missing(error.required_len))?;
                outermost = outermost.or(Some(tag.vlan_identifier().value()));
                (frame, ether_type) = (frame.after(tag.slice().len()), tag.ether_type().0);
                continue;
            }
            // Below 0x600 the field is a length (IEEE 802.3), and LLC follows.
            0..0x600 => {
                (frame, ether_type) = snap(frame)?;
                continue;
            }
            _ => return Err(Skip::NotIp),
        };
        found.vlan = outermost.unwrap_or(0);
        return Ok(found);
    }
}

/// The `EtherType` in an LLC/SNAP header (RFC 1042); other LLC frames carry no IP.
fn snap(frame: Frame<'_>) -> Result<(Frame<'_>, u16), Skip> {
    if frame
        .bytes
        .iter()
        .zip([0xaa, 0xaa, 0x03, 0, 0, 0])
        .any(|(found, expected)| *found != expected)
    {
        return Err(Skip::NotIp);
    }
    let [.., high, low] = *frame.chunk::<8>()?;
    match u16::from_be_bytes([high, low]) {
        0..0x600 => Err(Skip::NotIp),
        ether_type => Ok((frame.after(8), ether_type)),
    }
}

/// An MPLS label stack (RFC 3032). Labels do not state what they carry, so the first nibble does.
fn mpls(mut frame: Frame<'_>) -> Result<Located<'_>, Skip> {
    loop {
        let [_, _, label_end, _] = *frame.chunk::<4>()?;
        frame = frame.after(4);
        if label_end & 1 == 1 {
            break;
        }
    }
    let [first] = *frame.chunk::<1>()?;
    match first >> 4 {
        4 => Ok(located(frame, Announced::Ipv4)),
        6 => Ok(located(frame, Announced::Ipv6)),
        _ => Err(Skip::NotIp),
    }
}

/// A `PPPoE` session (RFC 2516).
fn pppoe(frame: Frame<'_>) -> Result<Located<'_>, Skip> {
    ppp(frame.after_checked(6)?)
}

/// A frame of link type PPP. What its first two bytes are shows whether HDLC-like framing (RFC
/// 1662), Cisco's HDLC (RFC 1547, section 4.3.1) or no framing precedes the protocol field.
fn framed_ppp(frame: Frame<'_>) -> Result<Located<'_>, Skip> {
    match frame.bytes {
        [0xff, 0x03, ..] => ppp(frame.after(2)),
        // No protocol number of IP begins with these: the other half of the framing is missing.
        [0xff | 0x0f | 0x8f] => Err(frame.missing(2)),
        [0x0f | 0x8f, 0, ..] => {
            let [.., high, low] = *frame.chunk::<4>()?;
            ether(frame.after(4), u16::from_be_bytes([high, low]))
        }
        _ => ppp(frame),
    }
}

/// What follows the one-byte or two-byte protocol field of PPP.
fn ppp(frame: Frame<'_>) -> Result<Located<'_>, Skip> {
    let [first] = *frame.chunk::<1>()?;
    // An odd first byte is a whole protocol number (RFC 1661, protocol field compression).
    let (protocol, rest) = if first & 1 == 1 {
        (u16::from(first), frame.after(1))
    } else {
        (u16::from_be_bytes(*frame.chunk::<2>()?), frame.after(2))
    };
    match protocol {
        PPP_IPV4 => Ok(located(rest, Announced::Ipv4)),
        PPP_IPV6 => Ok(located(rest, Announced::Ipv6)),
        PPP_MPLS | PPP_MPLS_MULTICAST => mpls(rest),
        _ => Err(Skip::NotIp),
    }
}

/// What follows a Linux cooked header: an `EtherType`, except for a few device types.
fn cooked(frame: Frame<'_>, device: [u8; 2], protocol: [u8; 2]) -> Result<Located<'_>, Skip> {
    /// The kernel's number for "an LLC header follows".
    const LLC: u16 = 0x0004;
    match (u16::from_be_bytes(device), u16::from_be_bytes(protocol)) {
        (NETLINK, _) => Err(Skip::NotIp),
        (_, protocol) if protocol < 0x600 && protocol != LLC => Err(Skip::NotIp),
        (_, protocol) => ether(frame, protocol),
    }
}

/// BSD loopback: the address family in the byte order of the machine that captured.
fn loopback(frame: Frame<'_>) -> Result<Located<'_>, Skip> {
    let bytes = *frame.chunk::<4>()?;
    // Families are small numbers, so the order in which the number is small is the right one.
    let family = u32::from_be_bytes(bytes).min(u32::from_le_bytes(bytes));
    let rest = frame.after(4);
    match family {
        2 => Ok(located(rest, Announced::Ipv4)),
        // Linux 10, Windows 23, NetBSD and OpenBSD 24, FreeBSD 28, macOS 30.
        10 | 23 | 24 | 28 | 30 => Ok(located(rest, Announced::Ipv6)),
        _ => Err(Skip::NotIp),
    }
}
