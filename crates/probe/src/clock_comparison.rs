//! How the clock of a reflector differs from that of the prober, from the probes alone.
//!
//! *Offset*: a probe gives by how much the other clock is ahead to within half of its round trip.
//! So the probe with the least round trip is best: the minimum filter of NTP (RFC 5905, section
//! 10), here one for every interval of time and one for all. The bound holds for any asymmetry of
//! the path, loads and routes, as long as the clocks run alike during one round trip. Where the
//! fixed delays of the directions differ the offset is wrong by half of that, and no measurement
//! between two hosts can know.
//!
//! *Skew*: delays to the reflector rise by as much as its clock is faster, delays from it fall. The
//! lines under either ([`Envelope`]) have that slope if the least delay of each direction stays the
//! same (Moon, Skelly and Towsley, INFOCOM 1999); the estimate is the mean of the two, and by how
//! much they differ shows how far that assumption carried ([`Skew::disagreement`]). What holds
//! without it is [`Skew::bound`]: every clock that runs evenly and has no delay negative has its
//! skew within.
//!
//! Bias: what a host adds between its clock and the wire (here the time between reading the clock
//! and sending an answer) counts as delay of that direction; half of its least value is in the
//! offset.

use trustbed_units::{Ns, Span};

use crate::envelope::Corner;
use crate::{Envelope, RoundTrip, SkewLine};

/// Intervals that are kept apart; when there are more, pairs of them become one.
const MOST_INTERVALS: usize = 1024;
/// How long clocks have to be watched to distinguish their rates: 10 ppm are 0.6 ms then.
const DRIFT_FROM: Span = Span::from_secs(60);
/// Four moments in whole nanoseconds.
const ROUNDING: Span = Span(2);

/// By how much the reflector's clock is ahead of the sender's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// When, by the sender's clock.
    pub at: Ns,
    /// By how much it is ahead; negative where it is behind.
    pub ahead: Span,
    /// By how much that may be wrong, either direction: half of the round trip, rounded up.
    pub error: Span,
    /// Of the probe that gave it.
    pub round_trip: Span,
}

/// By how much faster the reflector's clock runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skew {
    /// By how much the reflector's clock is ahead, as a line through time. Its slope is the skew:
    /// seconds per second.
    pub ahead: SkewLine,
    /// Half of what the two directions disagree about the slope by. Small when the least delays of
    /// both were met early and late.
    pub disagreement: f64,
    /// By how much the slope may be wrong at most, whatever the delays were, if both clocks run
    /// evenly.
    pub bound: f64,
}

/// What probes show about two clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClockVerdict {
    /// There are too few, or they span no time.
    Unknown,
    /// A line.
    Skew(Skew),
    /// No clock that runs evenly fits: one was set, or its rate changed.
    Uneven,
}

/// Compares two clocks by probes, in bounded memory; probes come in the order in which they were
/// sent.
///
/// ```
/// use trustbed_probe::{ClockComparison, RoundTrip};
/// use trustbed_units::{Ns, Span};
/// let mut clocks = ClockComparison::new(Span::from_secs(1));
/// // The other clock is 1 s ahead; 3 ms there, 1 ms back.
/// let there = Ns(1_003_000_000);
/// clocks.add(&RoundTrip {
///     sent: Ns(0),
///     reflector_received: there,
///     reflector_sent: there,
///     received: Ns(4_000_000),
/// });
/// let offset = clocks.offset().unwrap();
/// assert_eq!((offset.ahead, offset.error), (Span(1_001_000_000), Span::from_millis(2)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ClockComparison {
    /// How long an interval is.
    interval: Span,
    /// Where the first one begins.
    origin: Option<Ns>,
    /// The best probe of each, with the interval's number.
    best: Vec<(i64, ClockOffset)>,
    forward: Envelope,
    backward: Envelope,
}

impl ClockComparison {
    /// Nothing is known. Offsets are given for every interval of at least this length; longer ones
    /// when there are more than a thousand.
    pub fn new(interval: Span) -> Self {
        let (forward, backward) = (Envelope::default(), Envelope::default());
        Self { interval: interval.max(Span(1)), origin: None, best: Vec::new(), forward, backward }
    }

    /// A probe that was answered. One whose round trip is negative shows that a clock was stepped
    /// meanwhile, and nothing else.
    pub fn add(&mut self, probe: &RoundTrip) {
        let round_trip = probe.round_trip();
        if round_trip < Span::ZERO {
            return;
        }
        self.forward.add(probe.sent, probe.forward());
        self.backward.add(probe.received, probe.backward());
        let error = Span(round_trip.0 / 2 + round_trip.0 % 2);
        self.keep(ClockOffset { at: probe.middle(), ahead: probe.ahead(), error, round_trip });
    }

    /// What another learned from later probes.
    pub fn merge(&mut self, later: &Self) {
        self.forward.merge(&later.forward);
        self.backward.merge(&later.backward);
        later.best.iter().for_each(|(_, offset)| self.keep(*offset));
    }

    /// How many probes were used.
    pub const fn probes(&self) -> u64 {
        self.forward.points()
    }

    /// The offset that is known best; none without a probe.
    pub fn offset(&self) -> Option<ClockOffset> {
        self.best.iter().map(|(_, offset)| *offset).min_by_key(|offset| offset.round_trip)
    }

    /// The best of each interval, in the order of time: how the offset wandered.
    pub fn offsets(&self) -> impl Iterator<Item = ClockOffset> + '_ {
        self.best.iter().map(|(_, offset)| *offset)
    }

    /// The skew.
    pub fn skew(&self) -> ClockVerdict {
        let (Some(there), Some(back)) = (self.forward.line(), self.backward.line()) else {
            return ClockVerdict::Unknown;
        };
        let Some((least, most)) = possible_slopes(self.forward.corners(), self.backward.corners())
        else {
            return ClockVerdict::Unknown;
        };
        // What was forgotten of a hull is not taken for a clock that was set.
        let slack = (self.forward.forgotten() + self.backward.forgotten()).as_f64()
            / self.forward.duration().as_f64();
        if least > most + slack {
            return ClockVerdict::Uneven;
        }
        let slope = f64::midpoint(there.slope, -back.slope).clamp(least.min(most), most.max(least));
        // Offset plus least delay there, offset less least delay back: the offset is between the
        // two.
        let middle = there.at + Span((back.at - there.at).0 / 2);
        let height = Span((there.at(middle) - back.at(middle)).0 / 2);
        ClockVerdict::Skew(Skew {
            ahead: SkewLine { at: middle, height, slope },
            disagreement: f64::midpoint(there.slope, back.slope).abs(),
            bound: (most - slope).max(slope - least) + slack,
        })
    }

    /// The line to take out of one-way delays: what the clocks differ in rate, where that was
    /// watched for a minute and both directions agree. Over less time a difference in rate is
    /// nothing beside the delays; where the directions disagree it may be a queue that fills.
    pub fn drift(&self) -> Option<SkewLine> {
        match self.skew() {
            ClockVerdict::Skew(skew)
                if self.forward.duration() >= DRIFT_FROM
                    && skew.disagreement <= skew.ahead.slope.abs() / 2.0 =>
            {
                Some(skew.ahead)
            }
            _ => None,
        }
    }

    fn keep(&mut self, offset: ClockOffset) {
        let origin = *self.origin.get_or_insert(offset.at);
        let number = (offset.at - origin).0.div_euclid(self.interval.0);
        match self.best.last_mut() {
            // What comes late counts where the last one does.
            Some((last, held)) if *last >= number => {
                if offset.round_trip < held.round_trip {
                    *held = offset;
                }
            }
            _ => self.best.push((number, offset)),
        }
        while self.best.len() > MOST_INTERVALS {
            self.widen();
        }
    }

    /// Intervals of twice the length.
    fn widen(&mut self) {
        self.interval = self.interval + self.interval;
        let mut wider: Vec<(i64, ClockOffset)> = Vec::with_capacity(MOST_INTERVALS);
        for (number, offset) in self.best.drain(..) {
            match wider.last_mut() {
                Some((last, held)) if *last == number.div_euclid(2) => {
                    if offset.round_trip < held.round_trip {
                        *held = offset;
                    }
                }
                _ => wider.push((number.div_euclid(2), offset)),
            }
        }
        self.best = wider;
    }
}

/// The slopes of all lines that are nowhere above the delays there nor below the negative delays
/// back: which is above or below at one moment and how far, bounds the slope to any other moment.
/// None where one side of it has no bound.
fn possible_slopes(forward: &[Corner], backward: &[Corner]) -> Option<(f64, f64)> {
    let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
    for (above_at, above) in forward {
        for (below_at, delay) in backward {
            let (across, room) =
                ((*above_at - *below_at).as_f64(), (*above + *delay + ROUNDING).as_f64());
            if across > 0.0 {
                most = most.min(room / across);
            } else if across < 0.0 {
                least = least.max(room / across);
            }
        }
    }
    (least.is_finite() && most.is_finite()).then_some((least, most))
}
