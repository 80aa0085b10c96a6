//! What a frame holds, in a few words: tags, addresses, protocol, ports, and the length that IP
//! states.
//!
//! For measures that count every frame, TCP or not: a [`crate::Packet`] exists for TCP and UDP
//! only. What cannot be read (a header that the snap length cut, or one that contradicts itself) is
//! left out, from there on inwards; nothing is reported.
//!
//! Later fragments have no ports of their own and get none. A VLAN id of 0, which only marks a
//! priority, counts as no tag.

use crate::frame::Frame;
use crate::locate::{self, Start};
use crate::network::{self, Network, protocol};
use crate::{LinkType, Record, Skip, tunnel};

/// Tunnels within tunnels that are opened before giving up.
const MAX_TUNNELS: usize = 4;
const ARP: u16 = 0x0806;
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// What a frame holds, as far as it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contents {
    /// Bytes of the frame on the wire, never less than were captured.
    pub length: u32,
    /// Outermost VLAN id.
    pub vlan: Option<u16>,
    /// Whether it is an address resolution packet.
    pub arp: bool,
    /// What its IP header states.
    pub ip: Option<IpContents>,
}

/// What an IP header states, and the ports behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpContents {
    /// Source address; IPv4 mapped as `::ffff:a.b.c.d`.
    pub source: [u8; 16],
    /// Destination address.
    pub destination: [u8; 16],
    /// Whether the addresses are IPv6.
    pub is_v6: bool,
    /// Protocol behind all extension headers.
    pub protocol: u8,
    /// Bytes from the IP header on, as IP states them.
    pub length: u32,
    /// Source and destination port of TCP and UDP.
    pub ports: Option<(u16, u16)>,
}

impl Contents {
    /// What the frame of a record holds; with `inner` what is inside of VXLAN, GRE, Geneve and
    /// IP-in-IP tunnels that it carries. The length is always that of the frame itself.
    pub fn of(record: &Record<'_>, inner: bool) -> Self {
        let captured = u32::try_from(record.bytes.len()).unwrap_or(u32::MAX);
        let mut found = Self { length: record.original_length.max(captured), ..Self::default() };
        if let Err(Skip::NotIp) = found.read(record, inner) {
            found.arp = ether_type(record) == Some(ARP);
        }
        found
    }

    fn read(&mut self, record: &Record<'_>, inner: bool) -> Result<(), Skip> {
        let (mut start, mut frame) = (Start::Link(record.link), Frame::of(record)?);
        for _ in 0..=MAX_TUNNELS {
            let located = locate::ip(start, frame)?;
            self.vlan = Some(located.vlan).filter(|vlan| *vlan > 0);
            let network = network::read(located.ip, located.announced)?;
            self.ip = Some(IpContents::of(&network));
            if !inner {
                break;
            }
            let Some(inside) = tunnel::inside(&network)? else { break };
            (start, frame) = inside;
        }
        Ok(())
    }
}

impl IpContents {
    fn of(network: &Network<'_>) -> Self {
        let later = network.fragment.is_some_and(|fragment| fragment.offset > 0);
        let ports = match (network.protocol, network.payload.bytes) {
            (protocol::TCP | protocol::UDP, [a, b, c, d, ..]) if !later => {
                Some((u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])))
            }
            _ => None,
        };
        Self {
            source: network.source,
            destination: network.destination,
            is_v6: network.bits & crate::Bits::IPV6 != 0,
            protocol: network.protocol,
            length: u32::try_from(network.header_length + network.payload_length)
                .unwrap_or(u32::MAX),
            ports,
        }
    }
}

/// The `EtherType` of a frame behind its VLAN tags.
fn ether_type(record: &Record<'_>) -> Option<u16> {
    let at = |offset: usize| {
        Some(u16::from_be_bytes([*record.bytes.get(offset)?, *record.bytes.get(offset + 1)?]))
    };
    let mut offset = match record.link {
        LinkType::Ethernet => 12,
        LinkType::LinuxCooked => 14,
        LinkType::LinuxCooked2 => 0,
        LinkType::Ppp | LinkType::Loopback | LinkType::Raw | LinkType::Ipv4 | LinkType::Ipv6 => {
            return None;
        }
    };
    let mut found = at(offset)?;
    // The tags of a cooked frame of version 2 stand behind its header of 20 bytes, those of others
    // right behind the field.
    while TAGS.contains(&found) {
        offset = if offset == 0 { 22 } else { offset + 4 };
        found = at(offset)?;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use trustbed_units::Ns;

    use super::*;

    fn contents(bytes: &[u8], original_length: u32) -> Contents {
        Contents::of(
            &Record {
                ts: Ns(0),
                index: 1,
                link: LinkType::Ethernet,
                interface: 0,
                original_length,
                bytes,
            },
            false,
        )
    }

    fn ethernet(tags: &[u16], ether_type: u16, rest: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 12];
        for tag in tags {
            bytes.extend(0x8100_u16.to_be_bytes());
            bytes.extend(tag.to_be_bytes());
        }
        bytes.extend(ether_type.to_be_bytes());
        bytes.extend(rest);
        bytes
    }

    const ICMP: [u8; 24] =
        [0x45, 0, 0, 84, 0, 1, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 8, 0, 0, 0];

    #[test]
    fn what_is_neither_tcp_nor_udp_has_addresses_and_a_length() {
        let found = contents(&ethernet(&[5, 6], 0x0800, &ICMP), 106);
        assert_eq!((found.length, found.vlan, found.arp), (106, Some(5), false));
        let ip = found.ip.expect("an IP header");
        assert_eq!((ip.protocol, ip.length, ip.ports, ip.is_v6), (1, 84, None, false));
        assert_eq!(ip.source[12..], [10, 0, 0, 1]);
    }

    #[test]
    fn address_resolution_is_known_behind_tags_too() {
        assert!(contents(&ethernet(&[], ARP, &[0; 28]), 42).arp);
        assert!(contents(&ethernet(&[7], ARP, &[0; 28]), 46).arp);
        assert!(!contents(&ethernet(&[], 0x88cc, &[0; 28]), 42).arp);
    }

    #[test]
    fn what_was_cut_is_left_out() {
        let found = contents(&ethernet(&[], 0x0800, &ICMP[..12]), 98);
        assert_eq!(found, Contents { length: 98, ..Contents::default() });
        assert_eq!(contents(&[], 60), Contents { length: 60, ..Contents::default() });
    }

    #[test]
    fn later_fragments_have_no_ports() {
        let mut udp =
            [0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 53, 0, 99];
        assert_eq!(
            contents(&ethernet(&[], 0x0800, &udp), 60).ip.and_then(|ip| ip.ports),
            Some((53, 99))
        );
        udp[7] = 1;
        assert_eq!(contents(&ethernet(&[], 0x0800, &udp), 60).ip.map(|ip| ip.ports), Some(None));
    }
}
