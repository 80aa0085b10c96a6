//! The two test packets of the unauthenticated mode.
//!
//! RFC 8762, figure 2, with the session identifier that RFC 8972, figure 1, put into the zeros:
//!
//! | bytes | 0–3 | 4–11 | 12–13 | 14–15 | 16–43 |
//! |---|---|---|---|---|---|
//! | sender | sequence | timestamp | error estimate | session | zeros |
//!
//! RFC 8762, figure 5 (RFC 8972, figure 3):
//!
//! | bytes | 0–3 | 4–11 | 12–13 | 14–15 | 16–23 | 24–27 | 28–35 | 36–37 | 38–39 | 40 | 41–43 |
//! |---|---|---|---|---|---|---|---|---|---|---|---|
//! | reply | sequence | timestamp | error | session | receipt | A | B | C | zeros | TTL | zeros |
//!
//! A, B and C: sequence, timestamp and error estimate of the sender's packet.
//!
//! Everything is in network byte order. The receiver ignores the bytes that must be zero.

use super::{ErrorEstimate, StampTime};

/// The base packet in either direction.
pub const BASE_BYTES: usize = 44;
/// The largest payload of a UDP datagram over IPv4.
pub const LARGEST_BYTES: usize = 65_507;

/// What TWAMP's session-sender sends at least (RFC 4656, section 4.1.2).
const LEAST_SENDER: usize = 14;
/// What TWAMP's session-reflector sends at least (RFC 5357, section 4.2.1).
const LEAST_REFLECTOR: usize = 41;

/// Flag "unrecognized" and type 1, extra padding: RFC 8972, sections 4 and 4.1.
const EXTRA_PADDING: [u8; 2] = [0x80, 1];
const EXTENSION_HEADER: usize = 4;

/// A session-sender's test packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderPacket {
    /// Counted from 0, one for every packet; begins again after 2³².
    pub sequence: u32,
    /// When it was sent, in the format that its error estimate names.
    pub timestamp: StampTime,
    /// Of the timestamp.
    pub error_estimate: ErrorEstimate,
    /// What RFC 8972 calls SSID; 0 where there is none.
    pub session: u16,
}

/// A session-reflector's test packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReflectorPacket {
    /// In stateful mode the packets that the reflector sent in the session before this one, in
    /// stateless mode the sender's number.
    pub sequence: u32,
    /// When it was sent back, in the format that the reflector's error estimate names.
    pub timestamp: StampTime,
    /// Of both timestamps of the reflector.
    pub error_estimate: ErrorEstimate,
    /// The sender's, or 0 from a reflector that does not know of sessions.
    pub session: u16,
    /// When the sender's packet came.
    pub received: StampTime,
    /// The sender's number.
    pub sender_sequence: u32,
    /// The sender's timestamp.
    pub sender_timestamp: StampTime,
    /// The sender's error estimate.
    pub sender_error_estimate: ErrorEstimate,
    /// The hops that the sender's packet could still have made when it came; 255 also where the
    /// reflector cannot know (RFC 5357).
    pub sender_ttl: u8,
}

impl SenderPacket {
    /// Reads a datagram's payload. None for what is too short even for TWAMP; without a session
    /// where it ends before that.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let base = payload.first_chunk::<LEAST_SENDER>()?;
        Some(Self {
            sequence: u32::from_be_bytes(part(base, 0)),
            timestamp: StampTime(u64::from_be_bytes(part(base, 4))),
            error_estimate: ErrorEstimate(u16::from_be_bytes(part(base, 12))),
            session: u16::from_be_bytes(part(payload, LEAST_SENDER)),
        })
    }

    /// The payload of a datagram, of so many bytes but never fewer than [`BASE_BYTES`]. What is
    /// more is an extension for padding where it has room for the header of one (from 48 bytes on),
    /// and zeros.
    pub fn payload(&self, bytes: usize) -> Vec<u8> {
        let mut made = Vec::with_capacity(bytes.max(BASE_BYTES));
        made.extend(self.sequence.to_be_bytes());
        made.extend(self.timestamp.0.to_be_bytes());
        made.extend(self.error_estimate.0.to_be_bytes());
        made.extend(self.session.to_be_bytes());
        made.resize(BASE_BYTES, 0);
        if let Some(padding) = bytes.checked_sub(BASE_BYTES + EXTENSION_HEADER) {
            made.extend(EXTRA_PADDING);
            made.extend(u16::try_from(padding).unwrap_or(u16::MAX).to_be_bytes());
        }
        made.resize(bytes.max(BASE_BYTES), 0);
        made
    }
}

impl ReflectorPacket {
    /// Reads a datagram's payload. None for what is too short even for TWAMP.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let base = payload.first_chunk::<LEAST_REFLECTOR>()?;
        Some(Self {
            sequence: u32::from_be_bytes(part(base, 0)),
            timestamp: StampTime(u64::from_be_bytes(part(base, 4))),
            error_estimate: ErrorEstimate(u16::from_be_bytes(part(base, 12))),
            session: u16::from_be_bytes(part(base, 14)),
            received: StampTime(u64::from_be_bytes(part(base, 16))),
            sender_sequence: u32::from_be_bytes(part(base, 24)),
            sender_timestamp: StampTime(u64::from_be_bytes(part(base, 28))),
            sender_error_estimate: ErrorEstimate(u16::from_be_bytes(part(base, 36))),
            sender_ttl: base[40],
        })
    }

    /// The payload of the answer to a request: as long as that (RFC 8762, section 4.3), but never
    /// fewer bytes than [`BASE_BYTES`], and with what lies behind its base packet.
    pub fn payload(&self, request: &[u8]) -> Vec<u8> {
        let mut made = Vec::with_capacity(request.len().max(BASE_BYTES));
        made.extend(self.sequence.to_be_bytes());
        made.extend(self.timestamp.0.to_be_bytes());
        made.extend(self.error_estimate.0.to_be_bytes());
        made.extend(self.session.to_be_bytes());
        made.extend(self.received.0.to_be_bytes());
        made.extend(self.sender_sequence.to_be_bytes());
        made.extend(self.sender_timestamp.0.to_be_bytes());
        made.extend(self.sender_error_estimate.0.to_be_bytes());
        made.extend([0, 0, self.sender_ttl, 0, 0, 0]);
        made.extend(request.get(BASE_BYTES..).unwrap_or_default());
        made
    }
}

/// Some bytes from an offset on; zeros where they are not all there.
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; N])
}
