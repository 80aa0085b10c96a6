//! Classifies an incoming frame, and decides whether it can be forwarded.
//!
//! Packets are forwarded unchanged: the Ethernet header is removed where they arrive and a new one
//! added where they leave; the TTL stays, since pipes model wires. Frames that are not forwarded
//! are counted by reason.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use serde::Serialize;

/// Bytes of an Ethernet header without a tag.
pub(super) const ETHERNET: usize = 14;
const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86dd;
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// An Ethernet address.
pub(super) type Mac = [u8; 6];

/// A packet in transit, without an Ethernet header. Copies share its bytes.
#[derive(Debug, Clone)]
pub(super) struct Packet {
    pub(super) bytes: Rc<[u8]>,
    pub(super) version: Version,
}

/// The version of the Internet protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// IPv4.
    Four,
    /// IPv6.
    Six,
}

/// A frame's own fields, and what the kernel reports about it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived<'a> {
    /// Its first bytes: all of them, unless it is longer than the interface's MTU allows.
    pub(super) bytes: &'a [u8],
    /// How long it is.
    pub(super) length: usize,
    /// Whether it had a VLAN tag, which the kernel has taken off.
    pub(super) tagged: bool,
    /// Whether its checksum is left to a card that does not exist.
    pub(super) checksum_missing: bool,
}

/// Whose packet it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Addresses {
    pub(super) version: Version,
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
}

/// Why a frame is not moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// It arrived before the start.
    BeforeStart,
    /// It asks for an Ethernet address: hosts are meant to know their neighbours.
    Arp,
    /// It holds neither IPv4 nor IPv6.
    NotIp,
    /// It has a VLAN tag.
    Vlan,
    /// It is for many: neighbour discovery, mDNS, broadcasts.
    Multicast,
    /// It is longer than the interface's MTU: several packets that a host with segmentation offload
    /// made one.
    Oversized,
    /// Its checksum is missing: a host with checksum offload left it to the card.
    ChecksumMissing,
    /// It is shorter than the headers that it claims to have, or contradicts itself.
    Malformed,
}

impl Reason {
    /// All, in the order in which they are reported.
    pub(super) const ALL: [Self; 8] = [
        Self::BeforeStart,
        Self::Arp,
        Self::NotIp,
        Self::Vlan,
        Self::Multicast,
        Self::Oversized,
        Self::ChecksumMissing,
        Self::Malformed,
    ];

    /// Its name in the report.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::BeforeStart => "before_start",
            Self::Arp => "arp",
            Self::NotIp => "not_ip",
            Self::Vlan => "vlan",
            Self::Multicast => "multicast",
            Self::Oversized => "oversized",
            Self::ChecksumMissing => "checksum_missing",
            Self::Malformed => "malformed",
        }
    }
}

/// How many frames were not moved, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Reasons([u64; Reason::ALL.len()]);

impl Reasons {
    /// One more.
    pub(super) fn count(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    /// How many in all.
    pub(super) fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl Serialize for Reasons {
    /// Those that occurred, by name.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            Reason::ALL
                .iter()
                .zip(self.0)
                .filter(|(_, count)| *count > 0)
                .map(|(reason, count)| (reason.name(), count)),
        )
    }
}

/// Whose packet a frame holds, or why it is not moved.
pub(super) fn inspect(arrived: &Arrived<'_>, mtu: usize) -> Result<Addresses, Reason> {
    let Some((header, packet)) = arrived.bytes.split_first_chunk::<ETHERNET>() else {
        return Err(Reason::Malformed);
    };
    let kind = u16::from_be_bytes([header[12], header[13]]);
    if arrived.tagged || TAGS.contains(&kind) {
        return Err(Reason::Vlan);
    }
    let found = match kind {
        IPV4 => version_four(packet),
        IPV6 => version_six(packet),
        ARP => return Err(Reason::Arp),
        _ => return Err(Reason::NotIp),
    };
    let found = found.ok_or(Reason::Malformed)?;
    let broadcast = found.destination == IpAddr::V4(Ipv4Addr::BROADCAST);
    if header[0] & 1 != 0 || found.destination.is_multicast() || broadcast {
        return Err(Reason::Multicast);
    }
    if arrived.length > mtu + ETHERNET {
        return Err(Reason::Oversized);
    }
    if arrived.checksum_missing {
        return Err(Reason::ChecksumMissing);
    }
    Ok(found)
}

fn version_four(packet: &[u8]) -> Option<Addresses> {
    let header = packet.first_chunk::<20>().filter(|header| header[0] >> 4 == 4)?;
    let address = |at: usize| {
        IpAddr::V4(Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]))
    };
    Some(Addresses { version: Version::Four, source: address(12), destination: address(16) })
}

fn version_six(packet: &[u8]) -> Option<Addresses> {
    let header = packet.first_chunk::<40>().filter(|header| header[0] >> 4 == 6)?;
    let address = |from: usize| {
        header[from..].first_chunk::<16>().map(|bytes| IpAddr::V6(Ipv6Addr::from(*bytes)))
    };
    Some(Addresses { version: Version::Six, source: address(8)?, destination: address(24)? })
}

/// The Ethernet headers with which packets leave through one interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Headers {
    four: [u8; ETHERNET],
    six: [u8; ETHERNET],
}

impl Headers {
    /// Those of frames to a host, from the interface before it.
    pub(super) fn new(host: Mac, interface: Mac) -> Self {
        let header = |kind: u16| {
            let mut made = [0; ETHERNET];
            made[..6].copy_from_slice(&host);
            made[6..12].copy_from_slice(&interface);
            made[12..].copy_from_slice(&kind.to_be_bytes());
            made
        };
        Self { four: header(IPV4), six: header(IPV6) }
    }

    /// The one for a packet.
    pub(super) fn of(&self, version: Version) -> &[u8; ETHERNET] {
        match version {
            Version::Four => &self.four,
            Version::Six => &self.six,
        }
    }
}

/// Reads an Ethernet address as people write it.
pub(super) fn mac(text: &str) -> Option<Mac> {
    let mut found = Mac::default();
    let mut parts = text.split(':');
    for byte in &mut found {
        *byte = parts
            .next()
            .filter(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|part| u8::from_str_radix(part, 16).ok())?;
    }
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: usize = 1500;

    fn frame(kind: u16, packet: &[u8]) -> Vec<u8> {
        let mut made = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        made.extend(kind.to_be_bytes());
        made.extend(packet);
        made
    }

    fn four(destination: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0; 28];
        packet[0] = 0x45;
        packet[12..16].copy_from_slice(&[10, 0, 0, 1]);
        packet[16..20].copy_from_slice(&destination);
        packet
    }

    fn judge(bytes: &[u8]) -> Result<Addresses, Reason> {
        inspect(
            &Arrived { bytes, length: bytes.len(), tagged: false, checksum_missing: false },
            MTU,
        )
    }

    #[test]
    fn addresses_are_those_of_the_packet() {
        let found = judge(&frame(IPV4, &four([10, 0, 0, 2]))).unwrap();
        assert_eq!(
            found,
            Addresses {
                version: Version::Four,
                source: [10, 0, 0, 1].into(),
                destination: [10, 0, 0, 2].into()
            }
        );
        let mut packet = vec![0; 40];
        packet[0] = 0x60;
        (packet[8], packet[23], packet[24], packet[39]) = (0xfd, 1, 0xfd, 2);
        let found = judge(&frame(IPV6, &packet)).unwrap();
        assert_eq!(
            (found.version, found.source.to_string(), found.destination.to_string()),
            (Version::Six, "fd00::1".into(), "fd00::2".into())
        );
    }

    #[test]
    fn every_frame_that_is_not_forwarded_has_a_reason() {
        assert_eq!(judge(&frame(ARP, &[0; 28])), Err(Reason::Arp));
        assert_eq!(judge(&frame(0x88cc, &[0; 46])), Err(Reason::NotIp));
        assert_eq!(judge(&frame(0x8100, &four([10, 0, 0, 2]))), Err(Reason::Vlan));
        assert_eq!(judge(&frame(IPV4, &four([224, 0, 0, 251]))), Err(Reason::Multicast));
        assert_eq!(judge(&frame(IPV4, &four([255, 255, 255, 255]))), Err(Reason::Multicast));
        assert_eq!(judge(&frame(IPV4, &four([10, 0, 0, 2])[..19])), Err(Reason::Malformed));
        assert_eq!(judge(&frame(IPV6, &four([10, 0, 0, 2]))), Err(Reason::Malformed));
        assert_eq!(judge(&[0; 13]), Err(Reason::Malformed));
        let bytes = frame(IPV4, &four([10, 0, 0, 2]));
        let arrived =
            Arrived { bytes: &bytes, length: bytes.len(), tagged: false, checksum_missing: false };
        assert_eq!(inspect(&Arrived { tagged: true, ..arrived }, MTU), Err(Reason::Vlan));
        assert_eq!(
            inspect(&Arrived { checksum_missing: true, ..arrived }, MTU),
            Err(Reason::ChecksumMissing)
        );
        assert_eq!(
            inspect(&Arrived { length: MTU + ETHERNET + 1, ..arrived }, MTU),
            Err(Reason::Oversized)
        );
        assert!(inspect(&Arrived { length: MTU + ETHERNET, ..arrived }, MTU).is_ok());
    }

    #[test]
    fn reasons_are_reported_by_name_in_their_order() {
        for (index, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index);
        }
        let mut reasons = Reasons::default();
        reasons.count(Reason::Oversized);
        reasons.count(Reason::Arp);
        reasons.count(Reason::Arp);
        assert_eq!(serde_json::to_string(&reasons).unwrap(), r#"{"arp":2,"oversized":1}"#);
    }

    #[test]
    fn packets_leave_with_the_address_of_their_host() {
        let headers = Headers::new([2, 0, 0, 0, 0, 9], [2, 0, 0, 0, 0, 8]);
        assert_eq!(headers.of(Version::Four), &[2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8, 8, 0]);
        assert_eq!(headers.of(Version::Six)[12..], [0x86, 0xdd]);
    }

    #[test]
    fn ethernet_addresses_are_read_as_they_are_written() {
        assert_eq!(mac("02:00:5e:00:0A:ff"), Some([2, 0, 0x5e, 0, 0x0a, 0xff]));
        for wrong in [
            "",
            "02:00:5e:00:0a",
            "02:00:5e:00:0a:ff:01",
            "2:0:5e:0:a:ff",
            "02:00:5e:00:0a:+f",
            "zz:00:5e:00:0a:ff",
        ] {
            assert_eq!(mac(wrong), None, "{wrong}");
        }
    }
}
