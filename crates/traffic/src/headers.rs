//! What IP and transport take of a packet.
//!
//! Lengths of traffic are IP lengths: they are what a link carries, whatever is inside. A sender
//! writes payloads. Between the two lie 28 bytes for UDP over IPv4 and 48 over IPv6 (RFC 768, RFC
//! 791, RFC 8200), and 52 and 72 for TCP: 20 of its header and 12 of the timestamps that today's
//! stacks put on every segment (RFC 7323). A connection without timestamps sends 12 bytes less per
//! packet than its schedule states. A stack that joins two writes that wait sends fewer headers,
//! and one that meets a smaller MSS more: with TCP the IP load is what was scheduled, not what was
//! carried.

use serde::{Deserialize, Serialize};
use trustbed_units::Rate;

use crate::TrafficError;

/// Of which kind the sockets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// One connection with `TCP_NODELAY`; each packet of the schedule is one write.
    Tcp,
}

/// Version of the internet protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IpVersion {
    /// 20 bytes of header.
    V4,
    /// 40 bytes of header.
    V6,
}

/// The headers of a source's packets.
///
/// ```
/// use trustbed_traffic::{Headers, IpVersion, Transport};
/// assert_eq!(Headers::of(IpVersion::V4, Transport::Udp).payload(1500), 1472);
/// assert_eq!(Headers::of(IpVersion::V6, Transport::Udp).payload(1500), 1452);
/// assert_eq!(Headers::of(IpVersion::V4, Transport::Tcp).payload(1500), 1448);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    transport: Transport,
    bytes: u32,
}

impl Headers {
    /// Those of a transport over IP.
    pub const fn of(version: IpVersion, transport: Transport) -> Self {
        let ip = match version {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        };
        let above = match transport {
            Transport::Udp => 8,
            Transport::Tcp => 32,
        };
        Self { transport, bytes: ip + above }
    }

    /// How many bytes they are.
    pub const fn bytes(self) -> u32 {
        self.bytes
    }

    /// Which transport they are of.
    pub const fn transport(self) -> Transport {
        self.transport
    }

    /// What a packet of an IP length carries; nothing when it is shorter than its headers.
    pub const fn payload(self, length: u32) -> u32 {
        length.saturating_sub(self.bytes)
    }

    /// The smallest packet that can be sent on purpose: an empty datagram, or a write of one byte.
    pub const fn least(self) -> u32 {
        match self.transport {
            Transport::Udp => self.bytes,
            Transport::Tcp => self.bytes + 1,
        }
    }
}

/// The longest packet that IP's length field can hold.
const LARGEST: u32 = 65_535;

/// The highest rate of a source.
const LARGEST_RATE: Rate = Rate(10_000_000_000_000);

/// A rate at which something is sent.
pub(crate) fn check_rate(rate: Rate) -> Result<(), TrafficError> {
    match rate {
        Rate(0) => Err(TrafficError::ZeroRate),
        rate if rate > LARGEST_RATE => {
            Err(TrafficError::RateTooHigh { rate, largest: LARGEST_RATE })
        }
        _ => Ok(()),
    }
}

/// A length that a packet with these headers can have.
pub(crate) fn check_length(
    key: &'static str,
    length: u32,
    headers: Headers,
) -> Result<(), TrafficError> {
    if length < headers.least() {
        return Err(TrafficError::PacketTooSmall {
            key,
            length,
            headers: headers.bytes(),
            least: headers.least(),
        });
    }
    if length > LARGEST {
        return Err(TrafficError::PacketTooLarge { key, length, largest: LARGEST });
    }
    Ok(())
}
