//! The slow, obvious path through a frame: every layer by its own header, with etherparse reading
//! the fields.
//!
//! It decodes everything that can be decoded. The fast path answers for the common shapes only, and
//! a property test holds it equal to this one.

use crate::fragments::{Belongs, Fragments};
use crate::frame::Frame;
use crate::locate::{self, Start};
use crate::network::{self, Fragment, Network, protocol};
use crate::transport::{self, Transport};
use crate::{Bits, DecodeOptions, Options, Packet, Record, Skip, TcpFlags, hash, tunnel};

/// Tunnels within tunnels that are opened before giving up.
const MAX_TUNNELS: usize = 4;

/// Where in the frame the packet was found.
#[derive(Clone, Copy)]
struct Outer {
    /// Bytes of the packet's own frame, inside of all tunnels.
    original_length: usize,
    vlan: u16,
    tunnels: usize,
}

/// Decodes one record.
pub(crate) fn decode(
    record: &Record<'_>,
    options: DecodeOptions,
    fragments: &mut Fragments,
) -> Result<(Packet, Options), Skip> {
    let mut frame = Frame::of(record)?;
    let mut start = Start::Link(record.link);
    for tunnels in 0..=MAX_TUNNELS {
        let located = locate::ip(start, frame)?;
        let network = network::read(located.ip, located.announced)?;
        let outer = Outer { original_length: frame.length, vlan: located.vlan, tunnels };
        let later = network.fragment.filter(|fragment| fragment.offset > 0);
        if let Some(fragment) = later {
            return later_fragment(record, &network, fragment, outer, fragments);
        }
        if tunnel::is_tunnel(network.protocol) && !options.inner {
            return Err(Skip::Tunnel);
        }
        let inside = if options.inner { tunnel::inside(&network)? } else { None };
        let Some(inside) = inside else {
            return whole_or_first(record, &network, outer, fragments);
        };
        if let Some(fragment) = network.fragment {
            fragments.remember(&network, fragment, record.ts, Belongs::Tunnel);
        }
        (start, frame) = inside;
    }
    Err(Skip::Tunnel)
}

fn whole_or_first(
    record: &Record<'_>,
    network: &Network<'_>,
    outer: Outer,
    fragments: &mut Fragments,
) -> Result<(Packet, Options), Skip> {
    let transport = transport::read(network)?;
    let mut bits = transport.bits();
    if let Some(fragment) = network.fragment {
        bits |= Bits::FRAGMENT_FIRST;
        let Transport { source_port, destination_port, .. } = transport;
        // Behind extension headers the place of the TCP header in the datagram is not known.
        let is_segment = fragment.protocol == protocol::TCP
            && network.protocol == protocol::TCP
            && !transport.flags.any(TcpFlags::SYN | TcpFlags::RST);
        let header = u32::try_from(transport.header_length).unwrap_or(0);
        let belongs = Belongs::Flow {
            protocol: network.protocol,
            source_port,
            destination_port,
            sequence: is_segment.then(|| transport.seq.wrapping_sub(header)),
        };
        fragments.remember(network, fragment, record.ts, belongs);
    }
    Ok((packet(record, network, &transport, outer, bits), transport.options))
}

fn later_fragment(
    record: &Record<'_>,
    network: &Network<'_>,
    fragment: Fragment,
    outer: Outer,
    fragments: &Fragments,
) -> Result<(Packet, Options), Skip> {
    if tunnel::is_tunnel(fragment.protocol) {
        return Err(Skip::Tunnel);
    }
    let (protocol, source_port, destination_port, sequence) =
        match fragments.find(network, fragment, record.ts) {
            Some(Belongs::Flow { protocol, source_port, destination_port, sequence }) => {
                (protocol, source_port, destination_port, sequence)
            }
            Some(Belongs::Tunnel) => return Err(Skip::Tunnel),
            None if could_be_measured(fragment.protocol) => return Err(Skip::FragmentWithoutFirst),
            None => return Err(Skip::OtherProtocol),
        };
    // The offset in the datagram replaces the checksum, which a later fragment has not: it
    // distinguishes two of them.
    let transport = Transport {
        source_port,
        destination_port,
        checksum: fragment.offset,
        seq: sequence.map_or(0, |first| first.wrapping_add(8 * u32::from(fragment.offset))),
        ..Transport::default()
    };
    let network = Network { protocol, ..*network };
    let bits = Bits::FRAGMENT_LATER | if sequence.is_some() { Bits::SEQUENCE } else { 0 };
    Ok((packet(record, &network, &transport, outer, bits), Options::default()))
}

/// Whether TCP or UDP can follow a fragment header with this protocol: directly, or behind
/// extension headers in the first fragment.
fn could_be_measured(ip_protocol: u8) -> bool {
    matches!(
        ip_protocol,
        protocol::TCP
            | protocol::UDP
            | protocol::ROUTING
            | protocol::FRAGMENT
            | protocol::AUTHENTICATION
            | protocol::DESTINATION
    )
}

fn packet(
    record: &Record<'_>,
    network: &Network<'_>,
    transport: &Transport,
    outer: Outer,
    bits: u16,
) -> Packet {
    let (source_port, destination_port) = (transport.source_port, transport.destination_port);
    let inner = if outer.tunnels > 0 { Bits::INNER } else { 0 };
    let captured = u32::try_from(record.bytes.len()).unwrap_or(u32::MAX);
    let snapped = if captured < record.original_length { Bits::SNAPPED } else { 0 };
    let (tsval, tsecr) = transport.timestamps.unwrap_or_default();
    Packet {
        ts: record.ts,
        index: record.index,
        flow_hash: hash::flow(
            &network.source,
            source_port,
            &network.destination,
            destination_port,
            network.protocol,
        ),
        source: network.source,
        destination: network.destination,
        seq: transport.seq,
        ack: transport.ack,
        tsval,
        tsecr,
        payload: saturated(network.payload_length - transport.header_length),
        original_length: saturated(outer.original_length),
        options: 0,
        source_port,
        destination_port,
        window: transport.window,
        ip_id: network.ip_id,
        checksum: transport.checksum,
        header_length: u16::try_from(network.header_length + transport.header_length)
            .unwrap_or(u16::MAX),
        vlan: outer.vlan,
        interface: record.interface,
        bits: Bits(network.bits | bits | inner | snapped),
        flags: transport.flags,
        protocol: network.protocol,
    }
}

/// Lengths come from 32-bit fields, so this never cuts anything off.
fn saturated(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
