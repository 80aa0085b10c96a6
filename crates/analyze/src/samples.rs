//! Rows of the per-packet tables, collected only when requested.

use trustbed_flow::{Cause, Class};
use trustbed_units::{Ns, Span};

use crate::Category;

/// Which transfer a row belongs to: the connection, and whether its initiator sent the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferId {
    /// Index of the connection's first packet.
    pub connection: u64,
    /// The responder sent the data.
    pub by_responder: bool,
}

impl std::fmt::Display for TransferId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{}", self.connection, u8::from(self.by_responder))
    }
}

/// How a round-trip time was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RttKind {
    /// SYN to SYN-ACK, or SYN-ACK to its acknowledgement.
    Syn,
    /// Data to acknowledgement.
    Ack,
    /// Timestamp to its echo.
    Timestamp,
}

impl RttKind {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::Ack => "ack",
            Self::Timestamp => "timestamp",
        }
    }
}

/// A round-trip time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RttRow {
    /// The packet at which it was known: the one that ended it, or the first data packet for the
    /// handshake's.
    pub index: u64,
    /// Whose data.
    pub transfer: TransferId,
    /// When it ended.
    pub ts: Ns,
    /// How long it was.
    pub rtt: Span,
    /// How it was taken.
    pub kind: RttKind,
    /// It may hold a delayed acknowledgement.
    pub delack_suspect: bool,
    /// Timers after it, in nanoseconds (not for kind timestamp).
    pub rto: Option<crate::RtoValues>,
}

/// A receive → send turn, or a gap inside a train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpacingRow {
    /// The data packet that ended it.
    pub index: u64,
    /// Whose data.
    pub transfer: TransferId,
    /// When it ended.
    pub ts: Ns,
    /// Since the last reception.
    pub spacing: Option<Span>,
    /// Since the reception that opened the window.
    pub response: Option<Span>,
    /// Why it took so long; `None` inside a train.
    pub category: Option<Category>,
    /// Nothing was outstanding.
    pub empty: bool,
}

/// A data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentRow {
    /// The packet.
    pub index: u64,
    /// Whose data.
    pub transfer: TransferId,
    /// When it was seen.
    pub ts: Ns,
    /// Offset of its first byte.
    pub offset: i64,
    /// Payload bytes.
    pub length: u32,
    /// Bytes seen before.
    pub overlap: u32,
    /// What it is.
    pub class: Class,
    /// Why.
    pub cause: Cause,
    /// Bytes outstanding after it.
    pub outstanding: i64,
    /// Window that its receiver had advertised.
    pub window: u32,
}

/// Rows collected since they were last taken.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// Round-trip times.
    pub rtt: Vec<RttRow>,
    /// Turns and train gaps.
    pub spacing: Vec<SpacingRow>,
    /// Data packets.
    pub segments: Vec<SegmentRow>,
}
