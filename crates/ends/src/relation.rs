//! How two clocks differ, from frames that both places saw.
//!
//! A frame from the first place to the second took `second − first = offset + delay`, one the other way `first − second = delay − offset`. The
//! smallest of either, taken as the line under them, bound the offset from both sides: it is taken in the middle, and may be wrong by half of
//! the smallest round trip between the places, all of which could have been in one direction. What both ways have in common is sure: the sum
//! of the delays, and the skew where both tell the same.
//!
//! Where no line fits, since clocks were steered by more than the way takes, stretches of the capture are compared one by one (`steered.rs`).
//!
//! Which endpoint is near which place is not asked (`places.rs`).

use thiserror::Error;
use trustbed_flow::FlowKey;
use trustbed_probe::{Envelope, SkewLine};
use trustbed_units::{Ns, Span};

use crate::places::Places;
use crate::steered::Steered;
use crate::{End, Meeting};

/// The second clock against the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Relation {
    /// By how much the second clock is ahead, by moments of the first; where it was steered, in the beginning.
    pub ahead: SkewLine,
    /// By how much that may be wrong, either way.
    pub error: Span,
    /// The smallest delays that were seen, from the first place and from the second, if the offset is right.
    pub floor: [Span; 2],
    /// By how much the two ways disagree about the skew, in seconds per second; none where a skew was not looked for.
    pub skew_error: Option<f64>,
    /// How far the clocks were steered against each other, where no line tells how they differ.
    pub steered: Option<Span>,
    /// The frames that it was made of.
    pub meetings: usize,
    course: Steered,
    places: Places,
}

/// Why clocks cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RelationError {
    /// Too few frames are in both.
    #[error("{meetings} frames are in both captures; {needed} are needed")]
    TooFew {
        /// How many are.
        meetings: usize,
        /// How many would do.
        needed: usize,
    },
    /// Only one direction is in both, or the frames of the other look all alike.
    #[error("no connection has frames of both directions, each told apart from all others, in both captures")]
    OneWay,
    /// The smallest round trip is negative: a clock was set in between, or the captures are not of the same time.
    #[error("the clocks contradict each other: the smallest way there and back took {round_trip}")]
    Contradiction {
        /// What the smallest ways add up to.
        round_trip: Span,
    },
}

/// Frames without which nothing is said.
const FEWEST: usize = 4;
/// Clocks that were compared for less are taken to run alike: 100 ppm are a millisecond then.
const SHORTEST: Span = Span::from_secs(10);
/// Ways that disagree by more about the skew tell of something else: a route or a load that changed.
const SKEW_AGREEMENT: f64 = 0.5;
/// No clock of a computer that runs drifts faster (RFC 5905: 500 ppm).
pub(crate) const MOST_SKEW: f64 = 500e-6;

impl Relation {
    /// Compares two clocks by the frames that both saw, in the order of time.
    ///
    /// # Errors
    ///
    /// Too few frames, only one direction, or a clock that was set.
    pub fn of(meetings: &[Meeting]) -> Result<Self, RelationError> {
        if meetings.len() < FEWEST {
            return Err(RelationError::TooFew { meetings: meetings.len(), needed: FEWEST });
        }
        let places = Places::of(meetings);
        let mut ways = [Vec::new(), Vec::new()];
        for meeting in meetings {
            match places.told(&meeting.key, meeting.way) {
                Some(End::First) => ways[0].push((meeting.first, meeting.second - meeting.first)),
                Some(End::Second) => ways[1].push((meeting.first, meeting.first - meeting.second)),
                None => {}
            }
        }
        let [Some(there), Some(back)] = ways.each_ref().map(|way| level_under(way)) else { return Err(RelationError::OneWay) };
        let (lines, skew_error) = match skewed(&ways) {
            Some((lines, error)) => (lines, Some(error)),
            None => ([there, back], None),
        };
        let at = meetings[0].first;
        let (there, back) = (lines[0].at(at), lines[1].at(at));
        let mut round_trip = there + back;
        let mut ahead = SkewLine { at, height: Span((there - back).0 / 2), slope: (lines[0].slope - lines[1].slope) / 2.0 };
        let (mut skew_error, mut course) = (skew_error, Steered::default());
        if round_trip < Span::ZERO {
            let Some((height, found, least)) = Steered::of(&ways) else { return Err(RelationError::Contradiction { round_trip }) };
            (ahead, skew_error) = (SkewLine { at, height, slope: 0.0 }, None);
            (course, round_trip) = (found, least);
        }
        let half = Span(round_trip.0 / 2);
        Ok(Self {
            ahead,
            error: half,
            floor: [half, round_trip - half],
            skew_error,
            steered: (course != Steered::default()).then(|| course.reach()),
            meetings: ways.iter().map(Vec::len).sum(),
            course,
            places,
        })
    }

    /// The same clocks, of which somebody knows by how much the second is ahead.
    #[must_use]
    pub fn known(mut self, ahead: Span) -> Self {
        let moved = ahead - self.ahead.at(self.ahead.at);
        self.floor = [self.floor[0] - moved, self.floor[1] + moved];
        (self.ahead.height, self.error) = (ahead, Span::ZERO);
        (self.course, self.steered) = (Steered::default(), None);
        self
    }

    /// By how much the second clock is ahead at a moment of the first.
    pub fn ahead_at(&self, moment: Ns) -> Span {
        self.ahead.at(moment) + self.course.at(moment)
    }

    /// A moment of a place's clock, by the clock of the first.
    pub fn by_first(&self, end: End, at: Ns) -> Ns {
        match end {
            End::First => at,
            End::Second => at - self.ahead_at(at - self.ahead.height),
        }
    }

    /// The place that an endpoint is near, where both directions of its connections were compared.
    pub fn near(&self, source: &([u8; 16], u16)) -> Option<End> {
        self.places.near(source)
    }

    /// The place that the sender of a connection's direction is near. Of most connections of a large capture no frame was compared: then it
    /// is what other connections of its endpoints, or between the same two addresses, told.
    pub fn origin(&self, key: &FlowKey, way: usize) -> Option<End> {
        self.places.origin(key, way)
    }

    /// How long a frame took from a place to the other, by their own clocks.
    pub fn delay(&self, from: End, first: Ns, second: Ns) -> Span {
        let across = second - first - self.ahead_at(first);
        if from == End::First { across } else { -across }
    }
}

/// The smallest delay as a level line: what is known of clocks that were compared for too short a time to tell a skew.
fn level_under(way: &[(Ns, Span)]) -> Option<SkewLine> {
    way.iter().min_by_key(|(_, delay)| *delay).map(|(at, delay)| SkewLine { at: *at, height: *delay, slope: 0.0 })
}

/// Lines with a slope, where both ways were watched for long enough and tell the same.
fn skewed(ways: &[Vec<(Ns, Span)>; 2]) -> Option<([SkewLine; 2], f64)> {
    let [there, back] = ways.each_ref().map(|way| {
        let mut envelope = Envelope::default();
        for (at, delay) in way {
            envelope.add(*at, *delay);
        }
        (envelope.points() >= FEWEST as u64 && envelope.duration() >= SHORTEST).then(|| envelope.line()).flatten()
    });
    let (there, back) = (there?, back?);
    // A clock that runs fast lengthens one way and shortens the other.
    let (skew, error) = ((there.slope - back.slope) / 2.0, (there.slope + back.slope).abs() / 2.0);
    (skew.abs() <= MOST_SKEW && error <= SKEW_AGREEMENT * skew.abs()).then_some(([there, back], error))
}
