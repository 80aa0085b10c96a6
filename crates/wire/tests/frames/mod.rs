//! Frames put together layer by layer, and what their packet is when nothing special was added.

#![allow(dead_code, reason = "every test file uses its own part")]

use trustbed_units::Ns;
use trustbed_wire::{
    Batch, Bits, DecodeOptions, Decoder, LinkType, Options, Packet, Record, Skip, TcpFlags,
};

pub(crate) const SOURCE: [u8; 4] = [10, 1, 2, 3];
pub(crate) const DESTINATION: [u8; 4] = [192, 0, 2, 9];
pub(crate) const SOURCE_6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
pub(crate) const DESTINATION_6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
/// TCP protocol number.
pub(crate) const TCP: u8 = 6;
/// UDP protocol number.
pub(crate) const UDP: u8 = 17;

/// Two no-operations and a timestamp option.
pub(crate) const TIMESTAMP: [u8; 12] = [1, 1, 8, 10, 0, 0, 0, 77, 0, 0, 0, 55];

pub(crate) fn concat(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// Port 40000 to port 443, sequence 0x01020304, acknowledgement 0x0a0b0c0d, window 502.
pub(crate) fn tcp_with_flags(flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    assert!(
        options.len() <= 40 && options.len().is_multiple_of(4),
        "an option area fits the data offset"
    );
    let offset = u8::try_from(5 + options.len() / 4).unwrap_or(15) << 4;
    let fixed = [
        0x9c, 0x40, 1, 0xbb, 1, 2, 3, 4, 0xa, 0xb, 0xc, 0xd, offset, flags, 1, 0xf6, 0xbe, 0xef, 0,
        0,
    ];
    concat(&[&fixed, options, payload])
}

pub(crate) fn tcp(options: &[u8], payload: &[u8]) -> Vec<u8> {
    tcp_with_flags(TcpFlags::ACK | TcpFlags::PSH, options, payload)
}

/// Port 40000 to `port`.
pub(crate) fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = sixteen(8 + payload.len());
    concat(&[&[0x9c, 0x40], &port.to_be_bytes(), &length, &[0xbe, 0xef], payload])
}

pub(crate) fn sixteen(length: usize) -> [u8; 2] {
    u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes()
}

/// Identification 0x4321, don't fragment.
pub(crate) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_fragment(protocol, 0x4000, payload)
}

/// `fragment` is the field of flags and offset.
pub(crate) fn ipv4_fragment(protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let [a, b] = sixteen(20 + payload.len());
    let [c, d] = fragment.to_be_bytes();
    concat(&[
        &[0x45, 0, a, b, 0x43, 0x21, c, d, 64, protocol, 0, 0],
        &SOURCE,
        &DESTINATION,
        payload,
    ])
}

pub(crate) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    concat(&[
        &[0x60, 0, 0, 0],
        &sixteen(payload.len()),
        &[next, 64],
        &SOURCE_6,
        &DESTINATION_6,
        payload,
    ])
}

pub(crate) fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    concat(&[&[2; 12], &ether_type.to_be_bytes(), payload])
}

/// The packet of [`tcp`] without options and with `payload` bytes in [`ipv4`], in a frame of
/// `original_length` bytes.
pub(crate) fn tcp_packet(payload: u32, original_length: u32) -> Packet {
    Packet {
        ts: Ns(1_000),
        index: 1,
        flow_hash: 0xf98d_bfd2_730c_9808,
        source: mapped(SOURCE),
        destination: mapped(DESTINATION),
        seq: 0x0102_0304,
        ack: 0x0a0b_0c0d,
        tsval: 0,
        tsecr: 0,
        payload,
        original_length,
        options: 0,
        source_port: 40_000,
        destination_port: 443,
        window: 502,
        ip_id: 0x4321,
        checksum: 0xbeef,
        header_length: 40,
        vlan: 0,
        interface: 3,
        bits: Bits(0),
        flags: TcpFlags(TcpFlags::ACK | TcpFlags::PSH),
        protocol: TCP,
    }
}

/// The same in [`ipv6`].
pub(crate) fn tcp_packet_6(payload: u32, original_length: u32) -> Packet {
    Packet {
        flow_hash: 0x6087_95c3_dc13_6d37,
        source: SOURCE_6,
        destination: DESTINATION_6,
        ip_id: 0,
        header_length: 60,
        bits: Bits(Bits::IPV6),
        ..tcp_packet(payload, original_length)
    }
}

pub(crate) fn mapped(address: [u8; 4]) -> [u8; 16] {
    let [a, b, c, d] = address;
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d]
}

pub(crate) fn record(link: LinkType, bytes: &[u8]) -> Record<'_> {
    let original_length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    Record { ts: Ns(1_000), index: 1, link, interface: 3, original_length, bytes }
}

/// Decodes one record both ways, which must agree.
pub(crate) fn decode_record(
    record: &Record<'_>,
    inner: bool,
) -> Result<(Packet, Option<Options>), Skip> {
    decode_records(&[*record], inner).pop().unwrap_or(Err(Skip::Empty))
}

/// Decodes records by one decoder, both ways, which must agree.
pub(crate) fn decode_records(
    records: &[Record<'_>],
    inner: bool,
) -> Vec<Result<(Packet, Option<Options>), Skip>> {
    let options = DecodeOptions { inner };
    let (mut decoder, mut slow_decoder) = (Decoder::new(options), Decoder::new(options));
    let (mut batch, mut slow_batch) = (Batch::default(), Batch::default());
    let mut results = Vec::new();
    for record in records {
        let before = batch.packets.len();
        let result = decoder.decode(record, &mut batch);
        assert_eq!(
            result,
            slow_decoder.decode_slowly(record, &mut slow_batch),
            "the fast path agrees with the slow one on {record:?}"
        );
        assert_eq!(
            batch.packets.last(),
            slow_batch.packets.last(),
            "the fast path agrees with the slow one on {record:?}"
        );
        assert_eq!(batch.packets.len(), before + usize::from(result.is_ok()), "one packet or none");
        results.push(result.map(|()| {
            let packet = batch.packets[before];
            assert_eq!(packet.bits.any(Bits::OPTIONS), batch.options_of(&packet).is_some());
            (packet, batch.options_of(&packet).copied())
        }));
    }
    assert_eq!(batch, slow_batch, "the fast path agrees with the slow one");
    results
}

/// The packet of a completely captured frame.
pub(crate) fn decode(link: LinkType, bytes: &[u8]) -> Result<Packet, Skip> {
    decode_record(&record(link, bytes), false).map(|(packet, _)| packet)
}

/// The packet inside a completely captured frame's tunnels.
pub(crate) fn decode_inner(link: LinkType, bytes: &[u8]) -> Result<Packet, Skip> {
    decode_record(&record(link, bytes), true).map(|(packet, _)| packet)
}
