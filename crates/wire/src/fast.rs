//! The fast path through a frame, for the shapes that nearly all packets have: Ethernet with up to
//! two VLAN tags, PPP, Linux cooked, or bare IP; IPv4 without options and fragments or IPv6 without
//! extension headers; TCP or UDP with all headers captured.
//!
//! It answers or it does not: anything else, and anything that looks wrong, is left to
//! [`crate::slow`], which alone decides why a record is skipped. Wherever it answers, it answers
//! what the slow path answers; `tests/twins.rs` holds that.

use crate::locate::NETLINK;
use crate::options::{self, Read};
use crate::{Batch, Bits, LinkType, Options, Packet, Record, TcpFlags, hash, tunnel};

const TCP: u8 = crate::network::protocol::TCP;
const UDP: u8 = crate::network::protocol::UDP;

/// Where the IP header is, and what the link layer states about it.
struct Link<'a> {
    ip: &'a [u8],
    version: u8,
    vlan: u16,
}

/// What the IP header states.
#[expect(clippy::struct_field_names, reason = "\"IP identification\" is the name of the field")]
struct Ip<'a> {
    source: [u8; 16],
    destination: [u8; 16],
    protocol: u8,
    ip_id: u16,
    header_length: u16,
    bits: u16,
    payload_length: u32,
    /// Captured bytes behind the header, with any padding.
    payload: &'a [u8],
}

/// What the transport header states.
struct Transport {
    source_port: u16,
    destination_port: u16,
    seq: u32,
    ack: u32,
    window: u16,
    checksum: u16,
    flags: TcpFlags,
    header_length: u16,
    payload: u32,
    options: Read,
}

/// Appends the packet of a record of a common shape, or answers `None` and leaves the batch as it
/// was.
#[inline]
pub(crate) fn decode(record: &Record<'_>, inner: bool, batch: &mut Batch) -> Option<()> {
    let captured = u32::try_from(record.bytes.len()).ok()?;
    let original_length = record.original_length.max(captured);
    let link = link(record)?;
    let link_length = captured - u32::try_from(link.ip.len()).ok()?;
    let frame_length = original_length - link_length;
    let ip =
        if link.version == 4 { ipv4(link.ip, frame_length)? } else { ipv6(link.ip, frame_length)? };

    let transport = match ip.protocol {
        TCP => tcp(&ip, &mut batch.options)?,
        UDP => udp(&ip, inner)?,
        _ => return None,
    };
    let snapped = if captured < record.original_length { Bits::SNAPPED } else { 0 };
    batch.packets.push(Packet {
        ts: record.ts,
        index: record.index,
        flow_hash: hash::flow(
            &ip.source,
            transport.source_port,
            &ip.destination,
            transport.destination_port,
            ip.protocol,
        ),
        source: ip.source,
        destination: ip.destination,
        seq: transport.seq,
        ack: transport.ack,
        tsval: transport.options.tsval,
        tsecr: transport.options.tsecr,
        payload: transport.payload,
        original_length,
        options: transport.options.options,
        source_port: transport.source_port,
        destination_port: transport.destination_port,
        window: transport.window,
        ip_id: ip.ip_id,
        checksum: transport.checksum,
        header_length: ip.header_length + transport.header_length,
        vlan: link.vlan,
        interface: record.interface,
        bits: Bits(ip.bits | transport.options.bits | snapped),
        flags: transport.flags,
        protocol: ip.protocol,
    });
    Some(())
}

#[inline]
fn link<'a>(record: &Record<'a>) -> Option<Link<'a>> {
    let bytes = record.bytes;
    match record.link {
        LinkType::Ethernet => ethernet(bytes),
        LinkType::Ppp => ppp(bytes),
        LinkType::LinuxCooked => {
            let (header, ip) = bytes.split_first_chunk::<16>()?;
            cooked([header[2], header[3]], [header[14], header[15]], ip)
        }
        LinkType::LinuxCooked2 => {
            let (header, ip) = bytes.split_first_chunk::<20>()?;
            cooked([header[8], header[9]], [header[0], header[1]], ip)
        }
        LinkType::Raw | LinkType::Ipv4 | LinkType::Ipv6 => {
            let version = bytes.first()? >> 4;
            let fits = match record.link {
                LinkType::Ipv4 => version == 4,
                LinkType::Ipv6 => version == 6,
                _ => version == 4 || version == 6,
            };
            fits.then_some(Link { ip: bytes, version, vlan: 0 })
        }
        LinkType::Loopback => None,
    }
}

#[inline]
fn ethernet(bytes: &[u8]) -> Option<Link<'_>> {
    let (header, mut rest) = bytes.split_first_chunk::<14>()?;
    let mut ether_type = u16::from_be_bytes([header[12], header[13]]);
    let mut vlan = None;
    for _ in 0..2 {
        if !matches!(ether_type, 0x8100 | 0x88a8 | 0x9100) {
            break;
        }
        let (tag, behind) = rest.split_first_chunk::<4>()?;
        vlan = vlan.or(Some(u16::from_be_bytes([tag[0], tag[1]]) & 0xfff));
        ether_type = u16::from_be_bytes([tag[2], tag[3]]);
        rest = behind;
    }
    Some(Link { ip: rest, version: version(ether_type)?, vlan: vlan.unwrap_or(0) })
}

/// The uncompressed protocol numbers of IPv4 and IPv6, with and without HDLC-like framing.
#[inline]
const fn ppp(bytes: &[u8]) -> Option<Link<'_>> {
    match bytes {
        [0xff, 0x03, 0, 0x21, ip @ ..] | [0, 0x21, ip @ ..] => {
            Some(Link { ip, version: 4, vlan: 0 })
        }
        [0xff, 0x03, 0, 0x57, ip @ ..] | [0, 0x57, ip @ ..] => {
            Some(Link { ip, version: 6, vlan: 0 })
        }
        _ => None,
    }
}

#[inline]
fn cooked(device: [u8; 2], protocol: [u8; 2], ip: &[u8]) -> Option<Link<'_>> {
    let version = version(u16::from_be_bytes(protocol))?;
    (u16::from_be_bytes(device) != NETLINK).then_some(Link { ip, version, vlan: 0 })
}

#[inline]
const fn version(ether_type: u16) -> Option<u8> {
    match ether_type {
        0x0800 => Some(4),
        0x86dd => Some(6),
        _ => None,
    }
}

#[inline]
fn ipv4(bytes: &[u8], frame_length: u32) -> Option<Ip<'_>> {
    let (header, payload) = bytes.split_first_chunk::<20>()?;
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
    let total = u32::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] != 0x45 || fragment != 0 || total < 20 || total > frame_length {
        return None;
    }
    Some(Ip {
        source: mapped([header[12], header[13], header[14], header[15]]),
        destination: mapped([header[16], header[17], header[18], header[19]]),
        protocol: header[9],
        ip_id: u16::from_be_bytes([header[4], header[5]]),
        header_length: 20,
        bits: congestion(header[1]),
        payload_length: total - 20,
        payload,
    })
}

#[inline]
fn ipv6(bytes: &[u8], frame_length: u32) -> Option<Ip<'_>> {
    let (header, payload) = bytes.split_first_chunk::<40>()?;
    let stated = u32::from(u16::from_be_bytes([header[4], header[5]]));
    if header[0] >> 4 != 6 || stated == 0 || stated + 40 > frame_length {
        return None;
    }
    let (addresses, _) = header[8..].split_first_chunk::<32>()?;
    let (source, destination) = addresses.split_first_chunk::<16>()?;
    Some(Ip {
        source: *source,
        destination: *destination.first_chunk::<16>()?,
        protocol: header[6],
        ip_id: 0,
        header_length: 40,
        bits: Bits::IPV6 | congestion(header[1] >> 4),
        payload_length: stated,
        payload,
    })
}

#[inline]
fn mapped(address: [u8; 4]) -> [u8; 16] {
    (0xffff_0000_0000 | u128::from(u32::from_be_bytes(address))).to_be_bytes()
}

#[inline]
const fn congestion(traffic_class: u8) -> u16 {
    if traffic_class & 3 == 3 { Bits::CONGESTION_EXPERIENCED } else { 0 }
}

#[inline]
fn udp(ip: &Ip<'_>, inner: bool) -> Option<Transport> {
    let header = ip.payload.first_chunk::<8>()?;
    let stated = u32::from(u16::from_be_bytes([header[4], header[5]]));
    let destination_port = u16::from_be_bytes([header[2], header[3]]);
    if !(8..=ip.payload_length).contains(&stated)
        || (inner && tunnel::is_tunnel_port(destination_port))
    {
        return None;
    }
    Some(Transport {
        source_port: u16::from_be_bytes([header[0], header[1]]),
        destination_port,
        seq: 0,
        ack: 0,
        window: 0,
        checksum: u16::from_be_bytes([header[6], header[7]]),
        flags: TcpFlags(0),
        header_length: 8,
        payload: ip.payload_length - 8,
        options: Read::default(),
    })
}

#[inline]
fn tcp(ip: &Ip<'_>, table: &mut Vec<Options>) -> Option<Transport> {
    let (header, behind) = ip.payload.split_first_chunk::<20>()?;
    let header_length = u16::from(header[12] >> 4) * 4;
    let area = behind.get(..usize::from(header_length).checked_sub(20)?)?;
    let payload = ip.payload_length.checked_sub(u32::from(header_length))?;
    let flags = TcpFlags(header[13]);
    Some(Transport {
        source_port: u16::from_be_bytes([header[0], header[1]]),
        destination_port: u16::from_be_bytes([header[2], header[3]]),
        seq: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        ack: u32::from_be_bytes([header[8], header[9], header[10], header[11]]),
        window: u16::from_be_bytes([header[14], header[15]]),
        checksum: u16::from_be_bytes([header[16], header[17]]),
        flags,
        header_length,
        payload,
        // The last step, as it puts into the batch's table: nothing may fail behind it.
        options: options::read(area, flags, table),
    })
}

#[cfg(test)]
mod tests {
    //! That the fast path answers at all: `tests/twins.rs` would also pass if it never did.

    use trustbed_units::Ns;

    use super::decode;
    use crate::{Batch, LinkType, Record};

    const V4: [u8; 20] = [0x45, 0, 0, 60, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    const TCP: [u8; 32] = [
        0, 80, 0, 81, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0,
        1, 0, 0, 0, 2,
    ];

    fn answers(link: LinkType, headers: &[&[u8]], inner: bool) -> bool {
        let bytes = headers.concat();
        let record = Record {
            ts: Ns(0),
            index: 1,
            link,
            interface: 0,
            original_length: 1514,
            bytes: &bytes,
        };
        let mut batch = Batch::default();
        let answered = decode(&record, inner, &mut batch).is_some();
        assert_eq!(batch.packets.len(), usize::from(answered));
        answered
    }

    #[test]
    fn common_shapes_are_answered() {
        let ethernet: &[u8] = &[2; 12];
        let mut v6 = vec![0x60, 0, 0, 0, 0, 40, 6, 64];
        v6.resize(40, 1);
        for inner in [false, true] {
            assert!(answers(LinkType::Ethernet, &[ethernet, &[8, 0], &V4, &TCP], inner));
            assert!(answers(LinkType::Ethernet, &[ethernet, &[0x86, 0xdd], &v6, &TCP], inner));
            assert!(answers(
                LinkType::Ethernet,
                &[ethernet, &[0x81, 0, 0, 1, 8, 0], &V4, &TCP],
                inner
            ));
            assert!(answers(
                LinkType::Ethernet,
                &[ethernet, &[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0], &V4, &TCP],
                inner
            ));
            assert!(answers(LinkType::Ppp, &[&[0, 0x21], &V4, &TCP], inner));
            assert!(answers(LinkType::Ppp, &[&[0xff, 3, 0, 0x57], &v6, &TCP], inner));
            assert!(answers(LinkType::LinuxCooked, &[&[0; 14], &[8, 0], &V4, &TCP], inner));
            assert!(answers(LinkType::LinuxCooked2, &[&[8, 0], &[0; 18], &V4, &TCP], inner));
            assert!(answers(LinkType::Raw, &[&V4, &TCP], inner));
            assert!(answers(LinkType::Ipv4, &[&V4, &TCP], inner));
            assert!(answers(LinkType::Ipv6, &[&v6, &TCP], inner));
        }
    }

    #[test]
    fn tunnel_ports_are_left_alone_when_the_inside_is_requested() {
        let mut v4 = V4;
        v4[9] = 17;
        let datagram: &[u8] = &[0, 80, 0x12, 0xb5, 0, 40, 0, 0];
        assert!(answers(LinkType::Raw, &[&v4, datagram], false));
        assert!(!answers(LinkType::Raw, &[&v4, datagram], true));
    }
}
