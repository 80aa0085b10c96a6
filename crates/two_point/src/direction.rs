//! The fate of each frame of one direction of a connection between the two capture points.

use trustbed_analyze::Distribution;
use trustbed_flow::{FlowKey, RangeSet};
use trustbed_units::{Ns, Seq, Span};

use crate::pending::Waiting;
use crate::{Capture, Frame, RoundTrips};

/// Ranges of bytes that have arrived, kept at most: of a direction with more holes, a frame that
/// fills one of the lowest counts as new.
const MOST_ARRIVED: usize = 4096;

/// Frame counts by fate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fates {
    /// In the capture at the sender.
    pub sent: u64,
    /// In both captures.
    pub delivered: u64,
    /// In the capture at the sender only.
    pub lost: u64,
    /// In the capture at the receiver only: missed by the capture at the sender, or made on the
    /// path.
    pub missed: u64,
    /// Pending when the captures ended or when too many were pending; or of a connection that may
    /// not pass the other capture point.
    pub indeterminate: u64,
}

/// One direction of a connection.
#[derive(Debug)]
pub struct Direction {
    /// The connection.
    pub key: FlowKey,
    /// 0 when it goes from the lower endpoint of the key to the higher.
    pub direction: usize,
    /// The capture taken at the sender.
    pub from: Capture,
    /// Time of its first frame, by the clock of the first capture.
    pub first: Ns,
    /// Time of its last frame.
    pub last: Ns,
    /// Frames with payload, SYN or FIN.
    pub data: Fates,
    /// All other frames: ACK and RST.
    pub no_payload: Fates,
    /// Payload of the lost frames.
    pub lost_bytes: u64,
    /// Runs of consecutive lost frames.
    pub loss_events: u64,
    /// Data frames that arrived after all their bytes: spurious retransmissions.
    pub spurious: u64,
    /// Frames that arrived after a later-sent frame (RFC 4737).
    pub reordered: u64,
    /// Minimum one-way delay by both clocks; negative where their comparison is wrong.
    pub owd_min: Option<Span>,
    /// One-way delay above the minimum of all connections in this direction, in nanoseconds.
    pub owd_increase: Distribution,
    /// Delays below zero; they count in the minimum as they are.
    pub delays_negative: u64,
    /// Round trips of its data.
    pub round_trips: RoundTrips,
    highest: Option<i64>,
    furthest: Option<u64>,
    last_lost: Option<u64>,
    arrived: RangeSet,
}

/// A frame in both captures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivered {
    /// Time at the sender, by that capture's clock.
    pub(crate) sent: Ns,
    /// Time at the receiver, by the other clock.
    pub(crate) arrived: Ns,
    /// Its number in the capture at the sender.
    pub(crate) serial: u64,
    /// One-way delay by both clocks.
    pub(crate) delay: Span,
    /// One-way delay above the minimum.
    pub(crate) increase: Span,
}

impl Direction {
    pub(crate) fn new(frame: &Frame, from: Capture, seen: Ns) -> Self {
        Self {
            key: frame.key,
            direction: frame.direction,
            from,
            first: seen,
            last: seen,
            data: Fates::default(),
            no_payload: Fates::default(),
            lost_bytes: 0,
            loss_events: 0,
            spurious: 0,
            reordered: 0,
            owd_min: None,
            owd_increase: Distribution::default(),
            delays_negative: 0,
            round_trips: RoundTrips::default(),
            highest: None,
            furthest: None,
            last_lost: None,
            arrived: RangeSet::default(),
        }
    }

    /// The counts that a frame belongs to.
    pub(crate) fn fates(&mut self, frame: &Frame) -> &mut Fates {
        if frame.length > 0 { &mut self.data } else { &mut self.no_payload }
    }

    pub(crate) fn on_delivered(&mut self, frame: &Frame, delivered: &Delivered) {
        self.fates(frame).delivered += 1;
        self.owd_min =
            Some(self.owd_min.map_or(delivered.delay, |least| least.min(delivered.delay)));
        self.delays_negative += u64::from(delivered.delay < Span::ZERO);
        self.owd_increase.add(delivered.increase.0);
        if self.furthest.is_some_and(|furthest| delivered.serial < furthest) {
            self.reordered += 1;
        } else {
            self.furthest = Some(delivered.serial);
        }
        if frame.length > 0 {
            let (start, end) = self.offsets(frame);
            let mut is_new = false;
            self.arrived.insert(start, end, |_, _| is_new = true);
            self.arrived.keep_highest(MOST_ARRIVED);
            self.spurious += u64::from(!is_new);
            self.round_trips.on_data(end, delivered.sent, delivered.arrived);
        }
    }

    pub(crate) fn on_lost(&mut self, waiting: &Waiting) {
        let frame = &waiting.frame;
        self.fates(frame).lost += 1;
        if frame.length > 0 {
            self.lost_bytes += u64::from(frame.payload);
            let (_, end) = self.offsets(frame);
            self.round_trips.on_lost(end);
            // Frames expire in the order in which they were sent.
            self.loss_events +=
                u64::from(self.last_lost.is_none_or(|last| last + 1 != waiting.serial));
            self.last_lost = Some(waiting.serial);
        }
    }

    /// Whether any frame is in both captures.
    pub(crate) const fn has_delivered(&self) -> bool {
        self.data.delivered + self.no_payload.delivered > 0
    }

    /// Counts lost and missed frames as indeterminate.
    pub(crate) fn set_indeterminate(&mut self) {
        for fates in [&mut self.data, &mut self.no_payload] {
            fates.indeterminate +=
                std::mem::take(&mut fates.lost) + std::mem::take(&mut fates.missed);
        }
        (self.lost_bytes, self.loss_events) = (0, 0);
    }

    /// The offset that an acknowledgement of this direction's data means.
    pub(crate) fn offset(&self, number: u32) -> Option<i64> {
        self.highest.map(|highest| Seq(number).unwrap_near(highest))
    }

    /// Unwrapped offsets of a frame's first byte and the byte after its last.
    fn offsets(&mut self, frame: &Frame) -> (i64, i64) {
        let start =
            Seq(frame.seq).unwrap_near(self.highest.unwrap_or_else(|| i64::from(frame.seq)));
        let end = start + i64::from(frame.length);
        self.highest = Some(self.highest.map_or(end, |highest| highest.max(end)));
        (start, end)
    }
}
