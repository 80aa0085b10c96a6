//! The TCP or UDP header.
//!
//! A TCP header needs its fixed 20 bytes; options that the snap length cut are read as far as they
//! go, because the payload length is known from the other lengths all the same. A UDP datagram's
//! payload is counted from the IP length, not from its own length field, so that bytes behind the
//! datagram (RFC 9868) count as payload.

use etherparse::err::LenError;
use etherparse::{TcpHeader, TcpHeaderSlice, TcpOptionElement, TcpOptionsIterator, UdpHeaderSlice};

use crate::network::{Network, protocol};
use crate::{Bits, Options, Skip, TcpFlags};

/// Largest window scale (RFC 7323, section 2.3): receivers use this instead of a larger one.
pub(crate) const MAX_WINDOW_SCALE: u8 = 14;

/// The fields of a transport header.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Transport {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) window: u16,
    pub(crate) checksum: u16,
    pub(crate) flags: TcpFlags,
    pub(crate) header_length: usize,
    /// Values of the timestamp option.
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) options: Options,
}

/// Reads the transport header behind an IP header that is not a later fragment's.
pub(crate) fn read(network: &Network<'_>) -> Result<Transport, Skip> {
    match network.protocol {
        protocol::TCP => tcp(network),
        protocol::UDP => udp(network),
        _ => Err(Skip::OtherProtocol),
    }
}

fn udp(network: &Network<'_>) -> Result<Transport, Skip> {
    let header = UdpHeaderSlice::from_slice(network.payload.bytes)
        .map_err(|LenError { required_len, .. }| network.payload.missing(required_len))?;
    let header_length = header.slice().len();
    // Zero is legal in a jumbogram (RFC 2675, section 4); the first fragment states the length of
    // the whole datagram.
    match usize::from(header.length()) {
        0 => (),
        stated if stated < header_length => return Err(Skip::BadHeader),
        stated if stated > network.payload_length && network.fragment.is_none() => {
            return Err(Skip::BadHeader);
        }
        _ => (),
    }
    Ok(Transport {
        source_port: header.source_port(),
        destination_port: header.destination_port(),
        checksum: header.checksum(),
        header_length,
        ..Transport::default()
    })
}

fn tcp(network: &Network<'_>) -> Result<Transport, Skip> {
    let frame = network.payload;
    let fixed = frame.chunk::<{ TcpHeader::MIN_LEN }>()?;
    let header_length = usize::from(fixed[12] >> 4) * 4;
    if header_length < fixed.len() || header_length > network.payload_length {
        return Err(Skip::BadHeader);
    }
    // Options that were cut must not keep the fixed part from being read.
    let mut whole = [0; TcpHeader::MAX_LEN];
    whole[..fixed.len()].copy_from_slice(fixed);
    let header = TcpHeaderSlice::from_slice(&whole).map_err(|_| Skip::BadHeader)?;
    let mut transport = Transport {
        source_port: header.source_port(),
        destination_port: header.destination_port(),
        seq: header.sequence_number(),
        ack: header.acknowledgment_number(),
        window: header.window_size(),
        checksum: header.checksum(),
        flags: TcpFlags(fixed[13]),
        header_length,
        ..Transport::default()
    };
    transport.read_options(frame.within(header_length).after(fixed.len()).bytes);
    Ok(transport)
}

impl Transport {
    /// Takes over the options that are well formed and ends at the first that cannot be passed.
    fn read_options(&mut self, area: &[u8]) {
        let syn = self.flags.any(TcpFlags::SYN);
        let mut rest = area;
        loop {
            let mut iterator = TcpOptionsIterator::from_slice(rest);
            match iterator.next() {
                None => return,
                Some(Ok(option)) => {
                    self.take(&option, syn);
                    rest = iterator.rest();
                }
                // Unknown, or known with an impossible length: passed by the length that it states.
                Some(Err(_)) => match rest.get(1).map(|length| usize::from(*length)) {
                    Some(length) if length >= 2 && length <= rest.len() => {
                        self.take_multipath(&rest[..length]);
                        rest = &rest[length..];
                    }
                    _ => return,
                },
            }
        }
    }

    /// MSS, window scale and SACK-permitted mean something on a SYN only (RFC 9293, RFC 7323, RFC
    /// 2018).
    fn take(&mut self, option: &TcpOptionElement, syn: bool) {
        match *option {
            TcpOptionElement::MaximumSegmentSize(size) if syn && size > 0 => {
                self.options.mss = Some(size);
            }
            TcpOptionElement::WindowScale(shift) if syn => {
                self.options.window_scale = Some(shift.min(MAX_WINDOW_SCALE));
            }
            TcpOptionElement::SelectiveAcknowledgementPermitted if syn => {
                self.options.sack_permitted = true;
            }
            TcpOptionElement::Timestamp(value, echo) => self.timestamps = Some((value, echo)),
            TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                let blocks = std::iter::once(first).chain(rest.into_iter().flatten());
                self.options.sack = [(0, 0); 4];
                self.options.sack_count = 0;
                for (slot, block) in self.options.sack.iter_mut().zip(blocks) {
                    *slot = block;
                    self.options.sack_count += 1;
                }
            }
            _ => (),
        }
    }

    /// Multipath TCP is agreed upon by `MP_CAPABLE` or `MP_JOIN` in both SYNs, and in use where a
    /// segment carries DSS (RFC 8684).
    fn take_multipath(&mut self, option: &[u8]) {
        const MULTIPATH: u8 = 30;
        let &[MULTIPATH, length, first, ..] = option else { return };
        let syn = self.flags.any(TcpFlags::SYN);
        let ack = self.flags.any(TcpFlags::ACK);
        self.options.multipath |= match first >> 4 {
            0 if syn && !ack => length == 4 || length == 12,
            0 if syn => length == 12,
            1 if syn && !ack => length == 12,
            1 if syn => length == 16,
            2 if !syn => (4..=28).contains(&length),
            _ => false,
        };
    }

    /// [`Bits`] of the transport layer.
    pub(crate) fn bits(&self) -> u16 {
        let timestamp = if self.timestamps.is_some() { Bits::TIMESTAMP } else { 0 };
        let options = if self.options == Options::default() { 0 } else { Bits::OPTIONS };
        timestamp | options
    }
}
