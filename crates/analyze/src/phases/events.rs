//! Inputs of the machine: departures of data, arrivals of the receiver's packets.

use trustbed_flow::Stream;

/// How data came to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending {
    /// For the first time.
    New,
    /// Again, after acknowledgements had shown a loss.
    Repair,
    /// Again, and the capture, behind the loss, sees it for the first time.
    Fill,
    /// Again, because the timer ran out.
    Timer,
    /// Again, although a round trip ago it had been acknowledged.
    Needless,
}

/// Data left the sender. Times are in nanoseconds after the first data, as the sender saw them.
#[derive(Debug, Clone, Copy)]
pub struct Departure {
    /// When.
    pub at: i64,
    /// Its first byte.
    pub start: i64,
    /// One past the last byte.
    pub end: i64,
    /// Payload bytes.
    pub length: u32,
    /// The largest segment.
    pub mss: u32,
    /// Why.
    pub sending: Sending,
    /// The smallest round trip so far.
    pub base: Option<i64>,
    /// The smoothed round trip.
    pub smoothed: Option<i64>,
    /// How long the data had been under way to the capture beyond the least.
    pub lag: i64,
    /// The smallest delay behind the capture, where it counts.
    pub onward: i64,
    /// The sender's view is reconstructed from elsewhere.
    pub afar: Option<Afar>,
    /// As exactly as its times are known, the next acknowledgement may have come before.
    pub prompted: bool,
    /// By the timestamp that it echoes, its sender had not heard of the last new acknowledgement.
    /// Not certain while the receiver misses a segment: then an older timestamp is echoed (RFC
    /// 7323).
    pub unheard: bool,
}

/// How well a sender elsewhere is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Afar {
    /// The capture has missed nothing of the transfer so far. Else what lies between data and those
    /// before may have been lost by the capture.
    pub whole: bool,
    /// The sender's clock shows the round trip of the moment, not only that of the handshake.
    pub timed: bool,
}

/// A packet of the receiver reached the sender.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// When.
    pub at: i64,
    /// Everything below is acknowledged.
    pub una: i64,
    /// The window that it advertises.
    pub window: u32,
    /// It carried data.
    pub data: bool,
    /// It echoed a congestion mark.
    pub marked: bool,
    /// The delay of the data that it acknowledges, if that was measured.
    pub delay: Option<i64>,
    /// When these data had left.
    pub sent: Option<i64>,
}

/// Level of outstanding data and delay when a loss began to be repaired.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// Bytes outstanding.
    pub flight: i64,
    /// The last delay before, in nanoseconds.
    pub delay: Option<i64>,
}

/// The receiver's window, as far as a capture knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Window {
    /// In bytes.
    Known(u32),
    /// Estimated: its scale was agreed before the capture began, or nothing came from the receiver.
    Estimated,
}

impl Window {
    /// What `receiver` offers before it acknowledges.
    pub(crate) fn of(receiver: &Stream) -> Self {
        if receiver.seen.scale_known { Self::Known(receiver.window) } else { Self::Estimated }
    }
}
