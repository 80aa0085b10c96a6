//! The words for a packet with payload: what it is, why, and where its bytes lie.

use trustbed_units::Ns;

/// What a segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Opens the connection.
    Syn,
    /// Closes one direction, without payload.
    Fin,
    /// Aborts. Text in it explains why (RFC 1122, 4.2.2.12) and is no data: it has no sequence
    /// numbers.
    Rst,
    /// No payload and no flag that consumes a sequence number.
    PureAck,
    /// At most one byte, at the highest number used (a FIN uses one): probes whether the peer is
    /// alive.
    KeepAlive,
    /// At most one byte into a closed window.
    WindowProbe,
    /// Bytes never seen before, at or above everything seen.
    New,
    /// At least one byte seen before.
    Retransmission,
    /// Below the highest byte, but no byte of it seen before.
    Fill,
}

impl Class {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::Fin => "fin",
            Self::Rst => "rst",
            Self::PureAck => "pure_ack",
            Self::KeepAlive => "keep_alive",
            Self::WindowProbe => "window_probe",
            Self::New => "new",
            Self::Retransmission => "retransmission",
            Self::Fill => "fill",
        }
    }
}

/// Why a segment was retransmitted, or how a hole came to be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Neither.
    None,
    /// Not needed: acknowledged or reported by SACK before, or reported twice later.
    Spurious,
    /// After duplicate acknowledgements or SACK evidence.
    Fast,
    /// After a timeout.
    Timeout,
    /// A tail-loss probe.
    TailLossProbe,
    /// Overtaken before the capture.
    Reordered,
    /// The original was lost before the capture point, or the capture missed it.
    LostUpstream,
}

impl Cause {
    /// Name in tables; empty when there is none.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Spurious => "spurious",
            Self::Fast => "fast",
            Self::Timeout => "timeout",
            Self::TailLossProbe => "tail_loss_probe",
            Self::Reordered => "reordered",
            Self::LostUpstream => "lost_upstream",
        }
    }
}

/// A packet with payload, as its direction saw it.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// When.
    pub now: Ns,
    /// The packet's index in the capture.
    pub index: u64,
    /// Offset of the first byte.
    pub start: i64,
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
    /// Timestamp option of the sender.
    pub tsval: Option<u32>,
    /// Timestamp of the receiver that it echoes.
    pub tsecr: Option<u32>,
    /// IP and TCP headers with options, in bytes.
    pub headers: u16,
}

impl Segment {
    /// One past the last byte.
    #[inline]
    pub fn end(&self) -> i64 {
        self.start + i64::from(self.length)
    }
}
