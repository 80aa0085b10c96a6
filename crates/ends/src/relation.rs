//! How two clocks differ, from frames that both places saw.
//!
//! A frame from the first place to the second took `second − first = offset + delay`, one the other way `first − second = delay − offset`. The
//! smallest of either, taken as the line under them, bound the offset from both sides: it is taken in the middle, and may be wrong by half of
//! the smallest round trip between the places, all of which could have been in one direction. What both ways have in common is sure: the sum
//! of the delays, and the skew where both tell the same.
//!
//! Where no line fits, since clocks were steered by more than the way takes, the offset is followed from frame to frame (`steered.rs`).
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
    /// By how much that may be wrong, either way; where clocks were steered, at the worst of the moments that were compared.
    pub error: Span,
    /// The smallest delays that were seen, from the first place and from the second, if the offset is right.
    pub floor: [Span; 2],
    /// By how much the two ways disagree about the skew, in seconds per second; none where a skew was not looked for.
    pub skew_error: Option<f64>,
    /// How far the clocks were steered against each other, where no line tells how they differ.
    pub steered: Option<Span>,
    /// Whether somebody knows it, and nothing was compared.
    pub is_stated: bool,
    /// The frames that it was made of.
    pub meetings: usize,
    course: Option<Steered>,
    places: Places,
}

/// Moments and delays of both ways.
pub(crate) type Ways = [Vec<(Ns, Span)>; 2];

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
    #[error(
        "no connection has frames of both directions, each told apart from all others, in both captures"
    )]
    OneWay,
    /// The smallest round trip is negative, and clocks that were steered do not explain it.
    #[error("the clocks contradict each other: the smallest way there and back took {round_trip}")]
    Contradiction {
        /// What the smallest ways add up to.
        round_trip: Span,
    },
    /// A clock was set in between.
    #[error("a clock was set by {by} meanwhile")]
    Set {
        /// By how much, at once.
        by: Span,
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
        let (first, last) = extent(meetings)?;
        let places = Places::of(meetings);
        let ways = ways(meetings, &places);
        let [Some(there), Some(back)] = ways.each_ref().map(|way| level_under(way)) else {
            return Err(RelationError::OneWay);
        };
        let (lines, skew_error) = match skewed(&ways) {
            Some((lines, error)) => (lines, Some(error)),
            None => ([there, back], None),
        };
        let [begun, ended] = [first, last].map(|at| lines[0].at(at) + lines[1].at(at));
        let meetings = ways.iter().map(Vec::len).sum();
        if begun.min(ended) < Span::ZERO {
            let course = Steered::of(&ways, begun.min(ended))?;
            let mut relation = Self {
                ahead: SkewLine { at: first, height: course.at(first), slope: 0.0 },
                error: course.error,
                floor: [Span::ZERO; 2],
                skew_error: None,
                steered: Some(course.reach),
                is_stated: false,
                meetings,
                course: Some(course),
                places,
            };
            relation.floor = relation.least(&ways);
            return Ok(relation);
        }
        let height = Span((lines[0].at(first) - lines[1].at(first)).0 / 2);
        let half = Span(begun.0 / 2);
        Ok(Self {
            ahead: SkewLine { at: first, height, slope: (lines[0].slope - lines[1].slope) / 2.0 },
            error: half,
            floor: [half, begun - half],
            skew_error,
            steered: None,
            is_stated: false,
            meetings,
            course: None,
            places,
        })
    }

    /// Two clocks of which somebody knows by how much the second is ahead, all the time. Frames tell where endpoints are and nothing else.
    ///
    /// # Errors
    ///
    /// Too few frames.
    pub fn stated(meetings: &[Meeting], ahead: Span) -> Result<Self, RelationError> {
        let (first, _) = extent(meetings)?;
        let places = Places::stated(meetings, ahead);
        let ways = ways(meetings, &places);
        let mut relation = Self {
            ahead: SkewLine { at: first, height: ahead, slope: 0.0 },
            error: Span::ZERO,
            floor: [Span::ZERO; 2],
            skew_error: None,
            steered: None,
            is_stated: true,
            meetings: ways.iter().map(Vec::len).sum(),
            course: None,
            places,
        };
        relation.floor = relation.least(&ways);
        Ok(relation)
    }

    /// The smallest delays of both ways, by the clocks as they are compared; zero where nothing came that way.
    fn least(&self, ways: &Ways) -> [Span; 2] {
        let there = ways[0].iter().map(|(at, delay)| *delay - self.ahead_at(*at)).min();
        let back = ways[1].iter().map(|(at, delay)| *delay + self.ahead_at(*at)).min();
        [there, back].map(Option::unwrap_or_default)
    }

    /// By how much the second clock is ahead at a moment of the first.
    pub fn ahead_at(&self, moment: Ns) -> Span {
        self.course.as_ref().map_or_else(|| self.ahead.at(moment), |course| course.at(moment))
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
    /// is what other connections of its endpoints, or between the same two addresses, told. Whether its frames go to the other place at all is
    /// not known by that: others use the same server.
    pub fn origin(&self, key: &FlowKey, way: usize) -> Option<End> {
        self.places.origin(key, way)
    }

    /// Whether other connections between the same two addresses were seen at both places: what goes between them passes both.
    pub fn is_between(&self, key: &FlowKey) -> bool {
        self.places.is_between(key)
    }

    /// How long a frame took from a place to the other, by their own clocks.
    pub fn delay(&self, from: End, first: Ns, second: Ns) -> Span {
        let across = second - first - self.ahead_at(first);
        if from == End::First { across } else { -across }
    }
}

/// The moments of the first and the last frame that both saw.
fn extent(meetings: &[Meeting]) -> Result<(Ns, Ns), RelationError> {
    match meetings {
        [first, .., last] if meetings.len() >= FEWEST => Ok((first.first, last.first)),
        _ => Err(RelationError::TooFew { meetings: meetings.len(), needed: FEWEST }),
    }
}

/// Moments of the first clock, and how long the way took by both, from the first place and from the second.
fn ways(meetings: &[Meeting], places: &Places) -> Ways {
    let mut ways = [Vec::new(), Vec::new()];
    for meeting in meetings {
        match places.told(&meeting.key, meeting.way) {
            Some(End::First) => ways[0].push((meeting.first, meeting.second - meeting.first)),
            Some(End::Second) => ways[1].push((meeting.first, meeting.first - meeting.second)),
            None => {}
        }
    }
    ways
}

/// The smallest delay as a level line: what is known of clocks that were compared for too short a time to tell a skew.
fn level_under(way: &[(Ns, Span)]) -> Option<SkewLine> {
    way.iter().min_by_key(|(_, delay)| *delay).map(|(at, delay)| SkewLine {
        at: *at,
        height: *delay,
        slope: 0.0,
    })
}

/// Lines with a slope, where both ways were watched for long enough and tell the same.
fn skewed(ways: &Ways) -> Option<([SkewLine; 2], f64)> {
    let [there, back] = ways.each_ref().map(|way| {
        let mut envelope = Envelope::default();
        for (at, delay) in way {
            envelope.add(*at, *delay);
        }
        (envelope.points() >= FEWEST as u64 && envelope.duration() >= SHORTEST)
            .then(|| envelope.line())
            .flatten()
    });
    let (there, back) = (there?, back?);
    // A clock that runs fast lengthens one way and shortens the other.
    let (skew, error) = ((there.slope - back.slope) / 2.0, (there.slope + back.slope).abs() / 2.0);
    (skew.abs() <= MOST_SKEW && error <= SKEW_AGREEMENT * skew.abs())
        .then_some(([there, back], error))
}
