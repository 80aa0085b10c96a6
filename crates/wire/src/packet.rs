//! One packet, as everything after the decoder sees it: plain numbers, no bytes.

use trustbed_units::Ns;

/// A TCP or UDP packet. Addresses are 16 bytes (IPv4 mapped as `::ffff:a.b.c.d`), numbers are in
/// host order.
///
/// The size is kept below two cache lines: millions of these travel through the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The packet's timestamp in the capture.
    pub ts: Ns,
    /// Position in the capture, counted from 1 over all records (a single file's Wireshark frame
    /// number).
    pub index: u64,
    /// Symmetric hash of the flow key: the same for both directions, the same in every run.
    pub flow_hash: u64,
    /// Source address.
    pub source: [u8; 16],
    /// Destination address.
    pub destination: [u8; 16],
    /// TCP sequence number.
    pub seq: u32,
    /// TCP acknowledgement number.
    pub ack: u32,
    /// Timestamp option: the sender's clock. Valid with [`Bits::TIMESTAMP`].
    pub tsval: u32,
    /// Timestamp option: the echoed clock. Valid with [`Bits::TIMESTAMP`].
    pub tsecr: u32,
    /// Transport payload in bytes, from the IP length (never from the captured length).
    pub payload: u32,
    /// Bytes of the frame on the wire, as the capture states them, but never less than it holds.
    /// For a packet taken out of a tunnel ([`Bits::INNER`]), the bytes of the inner frame.
    pub original_length: u32,
    /// Index into [`crate::Batch::options`], valid with [`Bits::OPTIONS`].
    pub options: u32,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// TCP window field, unscaled.
    pub window: u16,
    /// IPv4 identification, 0 for IPv6.
    pub ip_id: u16,
    /// Transport checksum as the header has it. A later fragment ([`Bits::FRAGMENT_LATER`])
    /// has none; its offset in the datagram is here instead, in units of eight bytes.
    pub checksum: u16,
    /// IP and transport headers with options, in bytes.
    pub header_length: u16,
    /// Outermost VLAN id of the packet's own frame, 0 when untagged.
    pub vlan: u16,
    /// Capture interface.
    pub interface: u16,
    /// What is known about the packet.
    pub bits: Bits,
    /// TCP flags.
    pub flags: TcpFlags,
    /// IP protocol: 6 or 17.
    pub protocol: u8,
}

/// TCP flag bits as in byte 13 of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from this side.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Abort.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 0x10;
    /// The urgent pointer is valid.
    pub const URG: u8 = 0x20;
    /// The other side saw a congestion mark (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// This side has slowed down for a congestion mark (RFC 3168).
    pub const CWR: u8 = 0x80;

    /// Whether any of `mask` is set.
    #[inline]
    pub const fn any(self, mask: u8) -> bool {
        self.0 & mask != 0
    }

    /// Whether all of `mask` are set.
    #[inline]
    pub const fn all(self, mask: u8) -> bool {
        self.0 & mask == mask
    }
}

/// Facts about a packet that are not header fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bits(pub u16);

impl Bits {
    /// The addresses are IPv6.
    pub const IPV6: u16 = 1;
    /// `tsval` and `tsecr` are valid.
    pub const TIMESTAMP: u16 = 2;
    /// `options` is valid: SACK blocks, Multipath TCP, or the options of a SYN.
    pub const OPTIONS: u16 = 4;
    /// First fragment of a fragmented datagram: `payload` counts this fragment only.
    pub const FRAGMENT_FIRST: u16 = 8;
    /// Later fragment, attributed by its identification: it has no transport header of its own.
    pub const FRAGMENT_LATER: u16 = 16;
    /// The snap length cut the frame.
    pub const SNAPPED: u16 = 32;
    /// The packet travelled inside a tunnel and was taken out of it.
    pub const INNER: u16 = 64;
    /// The IP header stated no length (large-segment offload): `payload` comes from the frame's
    /// length.
    pub const LENGTH_FROM_FRAME: u16 = 128;
    /// The IP header carries a congestion-experienced mark (RFC 3168).
    pub const CONGESTION_EXPERIENCED: u16 = 256;
    /// The IP header states more bytes than the capture states the frame had, and is accepted:
    /// captures that were cut and rewritten state the captured length as the frame's. Where the
    /// frame really was that short, `payload` is over-estimated.
    pub const LENGTH_BEYOND_FRAME: u16 = 512;
    /// A later fragment of a TCP segment whose `seq` is that of its own first byte.
    pub const SEQUENCE: u16 = 1024;

    /// Whether any of `mask` is set.
    #[inline]
    pub const fn any(self, mask: u16) -> bool {
        self.0 & mask != 0
    }
}
