//! What became of the frames of one direction of a connection between the two places.

use trustbed_analyze::Distribution;
use trustbed_flow::{FlowKey, RangeSet};
use trustbed_units::{Ns, Seq, Span};

use crate::pending::Waiting;
use crate::{End, Frame, RoundTrips};

/// Frames of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Seen at the place that they come from.
    pub sent: u64,
    /// Seen at both.
    pub passed: u64,
    /// Seen where they come from, and not where they go.
    pub lost: u64,
    /// Seen only where they go: the capture they come from did not get them, or something on the way made them.
    pub unseen: u64,
    /// Still waited for when the captures ended, or when too many waited; or of a connection that may not go to the other place.
    pub undecided: u64,
}

/// One direction of a connection.
#[derive(Debug)]
pub struct Crossing {
    /// The connection.
    pub key: FlowKey,
    /// 0 when it goes from the lower endpoint of the key to the higher.
    pub way: usize,
    /// The place that the sender is near.
    pub from: End,
    /// When its first frame was seen, by the clock of the first place.
    pub first: Ns,
    /// When its last one was.
    pub last: Ns,
    /// Frames with payload, SYN or FIN.
    pub data: Tally,
    /// Others.
    pub bare: Tally,
    /// Payload that was lost.
    pub lost_bytes: u64,
    /// Losses that follow one another at the sender count as one.
    pub loss_events: u64,
    /// Data that arrived when all of it had arrived before: it was sent again for nothing.
    pub needless: u64,
    /// Frames that arrived behind one that was sent after them (RFC 4737).
    pub reordered: u64,
    /// The smallest one-way delay, by both clocks; negative where they are compared wrongly.
    pub delay_floor: Option<Span>,
    /// One-way delays above the smallest of all connections this way, in nanoseconds.
    pub delay_above_floor: Distribution,
    /// Delays below zero: kept as they are in the floor, and counted.
    pub delays_negative: u64,
    /// Round trips of its data.
    pub round_trips: RoundTrips,
    highest: Option<i64>,
    furthest: Option<u64>,
    last_lost: Option<u64>,
    arrived: RangeSet,
}

/// A frame that was seen at both places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passed {
    /// Where it came from, by that place's clock.
    pub(crate) sent: Ns,
    /// Where it went, by the other's.
    pub(crate) arrived: Ns,
    /// Its number where it came from.
    pub(crate) serial: u64,
    /// How long it took, by both clocks.
    pub(crate) delay: Span,
    /// The same above the smallest.
    pub(crate) above_floor: Span,
}

impl Crossing {
    pub(crate) fn new(frame: &Frame, from: End, seen: Ns) -> Self {
        Self {
            key: frame.key,
            way: frame.way,
            from,
            first: seen,
            last: seen,
            data: Tally::default(),
            bare: Tally::default(),
            lost_bytes: 0,
            loss_events: 0,
            needless: 0,
            reordered: 0,
            delay_floor: None,
            delay_above_floor: Distribution::default(),
            delays_negative: 0,
            round_trips: RoundTrips::default(),
            highest: None,
            furthest: None,
            last_lost: None,
            arrived: RangeSet::default(),
        }
    }

    /// The tally that a frame belongs to.
    pub(crate) fn tally(&mut self, frame: &Frame) -> &mut Tally {
        if frame.length > 0 { &mut self.data } else { &mut self.bare }
    }

    pub(crate) fn on_passed(&mut self, frame: &Frame, passed: &Passed) {
        self.tally(frame).passed += 1;
        self.delay_floor =
            Some(self.delay_floor.map_or(passed.delay, |least| least.min(passed.delay)));
        self.delays_negative += u64::from(passed.delay < Span::ZERO);
        self.delay_above_floor.add(passed.above_floor.0);
        if self.furthest.is_some_and(|furthest| passed.serial < furthest) {
            self.reordered += 1;
        } else {
            self.furthest = Some(passed.serial);
        }
        if frame.length > 0 {
            let (start, end) = self.place(frame);
            let mut is_new = false;
            self.arrived.insert(start, end, |_, _| is_new = true);
            self.needless += u64::from(!is_new);
            self.round_trips.on_data(end, passed.sent, passed.arrived);
        }
    }

    pub(crate) fn on_lost(&mut self, waiting: &Waiting) {
        let frame = &waiting.frame;
        self.tally(frame).lost += 1;
        if frame.length > 0 {
            self.lost_bytes += u64::from(frame.payload);
            let (_, end) = self.place(frame);
            self.round_trips.on_lost(end);
            // Frames are given up in the order in which they were sent.
            self.loss_events +=
                u64::from(self.last_lost.is_none_or(|last| last + 1 != waiting.serial));
            self.last_lost = Some(waiting.serial);
        }
    }

    /// Whether a frame was seen at both places.
    pub(crate) const fn has_passed(&self) -> bool {
        self.data.passed + self.bare.passed > 0
    }

    /// Nobody can tell what became of its frames.
    pub(crate) fn leave_undecided(&mut self) {
        for tally in [&mut self.data, &mut self.bare] {
            tally.undecided += std::mem::take(&mut tally.lost) + std::mem::take(&mut tally.unseen);
        }
        (self.lost_bytes, self.loss_events) = (0, 0);
    }

    /// The offset that an acknowledgement of this direction's data means.
    pub(crate) fn offset(&self, number: u32) -> Option<i64> {
        self.highest.map(|highest| Seq(number).unwrap_near(highest))
    }

    /// Where a frame's bytes are, counted without wrapping.
    fn place(&mut self, frame: &Frame) -> (i64, i64) {
        let start =
            Seq(frame.seq).unwrap_near(self.highest.unwrap_or_else(|| i64::from(frame.seq)));
        let end = start + i64::from(frame.length);
        self.highest = Some(self.highest.map_or(end, |highest| highest.max(end)));
        (start, end)
    }
}
