//! The IP header: IPv4 with options, IPv6 with extension headers, and the length that everything
//! above is measured by.
//!
//! The length comes from the IP header, never from the captured bytes. Three cases are special: a
//! header that states no length (large-segment offload leaves it 0), where the frame's length is
//! used and link-layer padding cannot be distinguished from payload, so that short packets can
//! over-, never under-estimate their payload; a jumbogram; and a header that states more than the
//! frame had, which is accepted, as rewritten captures state the captured length as the frame's.

use etherparse::err::{LenError, ip_auth, ipv4, ipv6};
use etherparse::{
    IpAuthHeaderSlice, IpEcn, Ipv4HeaderSlice, Ipv6FragmentHeaderSlice, Ipv6HeaderSlice,
    Ipv6RawExtHeaderSlice,
};

use crate::frame::Frame;
use crate::locate::Announced;
use crate::{Bits, Skip};

/// IP protocol numbers that are looked at (IANA "Assigned Internet Protocol Numbers").
pub(crate) mod protocol {
    pub(crate) const HOP_BY_HOP: u8 = 0;
    pub(crate) const IPV4: u8 = 4;
    pub(crate) const TCP: u8 = 6;
    pub(crate) const UDP: u8 = 17;
    pub(crate) const IPV6: u8 = 41;
    pub(crate) const ROUTING: u8 = 43;
    pub(crate) const FRAGMENT: u8 = 44;
    pub(crate) const GRE: u8 = 47;
    pub(crate) const AUTHENTICATION: u8 = 51;
    pub(crate) const DESTINATION: u8 = 60;
}

/// Which part of a fragmented datagram a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Identification of the datagram.
    pub(crate) id: u32,
    /// Protocol of the fragmented part, as every fragment repeats it.
    pub(crate) protocol: u8,
    /// Position in the datagram, in units of eight bytes; 0 is the first fragment.
    pub(crate) offset: u16,
}

/// An IP header with what it states about the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Network<'a> {
    pub(crate) source: [u8; 16],
    pub(crate) destination: [u8; 16],
    /// Protocol of the payload, behind all extension headers.
    pub(crate) protocol: u8,
    pub(crate) ip_id: u16,
    /// [`Bits`] of the network layer.
    pub(crate) bits: u16,
    pub(crate) fragment: Option<Fragment>,
    /// All IP headers together, in bytes.
    pub(crate) header_length: usize,
    /// Bytes behind the IP headers, as IP states them.
    pub(crate) payload_length: usize,
    /// What of them is there.
    pub(crate) payload: Frame<'a>,
}

/// Reads the IP header at the start of `frame`.
pub(crate) fn read(frame: Frame<'_>, announced: Announced) -> Result<Network<'_>, Skip> {
    let [first] = *frame.chunk::<1>()?;
    match (first >> 4, announced) {
        (4, Announced::Ipv4 | Announced::Either) => ipv4(frame),
        (6, Announced::Ipv6 | Announced::Either) => ipv6(frame),
        _ => Err(Skip::BadHeader),
    }
}

fn ipv4(frame: Frame<'_>) -> Result<Network<'_>, Skip> {
    let header = Ipv4HeaderSlice::from_slice(frame.bytes).map_err(|error| match error {
        ipv4::HeaderSliceError::Len(error) => frame.missing(error.required_len),
        ipv4::HeaderSliceError::Content(_) => Skip::BadHeader,
    })?;
    let header_length = header.slice().len();
    let (length, length_bit) = match usize::from(header.total_len()) {
        0 => (frame.length, Bits::LENGTH_FROM_FRAME),
        stated if stated < header_length => return Err(Skip::BadHeader),
        stated => accepted_length(stated, frame),
    };
    let protocol = header.protocol().0;
    let offset = header.fragments_offset().value();
    let fragment = Fragment { id: u32::from(header.identification()), protocol, offset };
    let mut walk = Walk {
        next: protocol,
        header_length,
        payload_length: length - header_length,
        payload: frame.within(length).after(header_length),
        fragment: header.is_fragmenting_payload().then_some(fragment),
    };
    if walk.next == protocol::AUTHENTICATION && offset == 0 {
        walk.authentication()?;
    }
    let bits = length_bit | congestion(header.ecn());
    Ok(walk.network(
        mapped(header.source()),
        mapped(header.destination()),
        header.identification(),
        bits,
    ))
}

fn ipv6(frame: Frame<'_>) -> Result<Network<'_>, Skip> {
    let header = Ipv6HeaderSlice::from_slice(frame.bytes).map_err(|error| match error {
        ipv6::HeaderSliceError::Len(error) => frame.missing(error.required_len),
        ipv6::HeaderSliceError::Content(_) => Skip::BadHeader,
    })?;
    let header_length = header.slice().len();
    let rest = frame.after(header_length);
    let next = header.next_header().0;
    let jumbo =
        if next == protocol::HOP_BY_HOP { jumbo_length(raw(rest)?.payload()) } else { None };
    let (length, length_bit) = match (usize::from(header.payload_length()), jumbo) {
        (0, None) => (rest.length, Bits::LENGTH_FROM_FRAME),
        // RFC 2675, section 3: a jumbogram states no other length, and is one only above 65535
        // bytes.
        (0, Some(stated)) if stated > 0xffff => accepted_length(stated, rest),
        (_, Some(_)) => return Err(Skip::BadHeader),
        (stated, None) => accepted_length(stated, rest),
    };
    let mut walk = Walk {
        next,
        header_length,
        payload_length: length,
        payload: rest.within(length),
        fragment: None,
    };
    walk.extensions()?;
    let bits = Bits::IPV6 | length_bit | congestion(header.ecn());
    Ok(walk.network(header.source(), header.destination(), 0, bits))
}

/// A length stated by IP, and the bit that states whether the frame had so many bytes.
fn accepted_length(stated: usize, frame: Frame<'_>) -> (usize, u16) {
    (stated, if stated > frame.length { Bits::LENGTH_BEYOND_FRAME } else { 0 })
}

fn congestion(mark: IpEcn) -> u16 {
    if mark == IpEcn::CongestionExperienced { Bits::CONGESTION_EXPERIENCED } else { 0 }
}

/// An IPv4 address in the IPv6 address space (RFC 4291, section 2.5.5.2).
fn mapped(address: [u8; 4]) -> [u8; 16] {
    let [a, b, c, d] = address;
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d]
}

fn raw(frame: Frame<'_>) -> Result<Ipv6RawExtHeaderSlice<'_>, Skip> {
    Ipv6RawExtHeaderSlice::from_slice(frame.bytes)
        .map_err(|LenError { required_len, .. }| frame.missing(required_len))
}

/// The length in the jumbo payload option (RFC 2675) among hop-by-hop options.
fn jumbo_length(mut options: &[u8]) -> Option<usize> {
    loop {
        options = match *options {
            [0, ..] => options.get(1..)?,
            [0xc2, 4, a, b, c, d, ..] => {
                return usize::try_from(u32::from_be_bytes([a, b, c, d])).ok();
            }
            [_, length, ..] => options.get(2 + usize::from(length)..)?,
            _ => return None,
        }
    }
}

/// The path through the extension headers.
struct Walk<'a> {
    next: u8,
    header_length: usize,
    payload_length: usize,
    payload: Frame<'a>,
    fragment: Option<Fragment>,
}

impl<'a> Walk<'a> {
    /// Passes all extension headers, up to the payload or to bytes of which only the first fragment
    /// states what they are.
    fn extensions(&mut self) -> Result<(), Skip> {
        if self.next == protocol::HOP_BY_HOP {
            self.options()?;
        }
        while self.fragment.is_none_or(|fragment| fragment.offset == 0) {
            match self.next {
                protocol::ROUTING | protocol::DESTINATION => self.options()?,
                protocol::FRAGMENT => self.fragment()?,
                protocol::AUTHENTICATION => self.authentication()?,
                // RFC 8200, section 4.1: only directly behind the IPv6 header.
                protocol::HOP_BY_HOP => return Err(Skip::BadHeader),
                _ => break,
            }
        }
        Ok(())
    }

    fn options(&mut self) -> Result<(), Skip> {
        let header = raw(self.payload)?;
        self.pass(header.next_header().0, header.slice().len());
        Ok(())
    }

    fn fragment(&mut self) -> Result<(), Skip> {
        let header = Ipv6FragmentHeaderSlice::from_slice(self.payload.bytes)
            .map_err(|LenError { required_len, .. }| self.payload.missing(required_len))?;
        // An atomic fragment (RFC 6946) is a whole datagram.
        if header.is_fragmenting_payload() {
            let (id, offset) = (header.identification(), header.fragment_offset().value());
            self.fragment = Some(Fragment { id, protocol: header.next_header().0, offset });
        }
        self.pass(header.next_header().0, header.slice().len());
        Ok(())
    }

    fn authentication(&mut self) -> Result<(), Skip> {
        let header =
            IpAuthHeaderSlice::from_slice(self.payload.bytes).map_err(|error| match error {
                ip_auth::HeaderSliceError::Len(error) => self.payload.missing(error.required_len),
                ip_auth::HeaderSliceError::Content(_) => Skip::BadHeader,
            })?;
        self.pass(header.next_header().0, header.slice().len());
        Ok(())
    }

    fn pass(&mut self, next: u8, length: usize) {
        self.next = next;
        self.header_length += length;
        // The header was read from `payload`, which is never longer than IP states.
        self.payload_length -= length;
        self.payload = self.payload.after(length);
    }

    fn network(
        self,
        source: [u8; 16],
        destination: [u8; 16],
        ip_id: u16,
        bits: u16,
    ) -> Network<'a> {
        let Self { next, header_length, payload_length, payload, fragment } = self;
        Network {
            source,
            destination,
            protocol: next,
            ip_id,
            bits,
            fragment,
            header_length,
            payload_length,
            payload,
        }
    }
}
