//! How two clocks differ, from frames in both captures.
//!
//! A frame from the first capture point to the second gives `second − first = offset + delay`, one
//! in the other direction `first − second = delay − offset`. The lines under these differences
//! bound the offset from both sides. It is taken in the middle, and may be wrong by half of the
//! minimum round trip between the capture points, all of which may lie in one direction. What both
//! directions have in common is certain: the sum of the delays, and the skew where both agree.
//!
//! Where no line fits, because a clock was slewed by more than the path's delay, the offset is
//! followed from frame to frame (`slewed.rs`).
//!
//! `capture_points.rs` finds the endpoint at each capture point.

use thiserror::Error;
use trustbed_flow::FlowKey;
use trustbed_probe::{Envelope, SkewLine};
use trustbed_units::{Ns, Span};

use crate::capture_points::CapturePoints;
use crate::slewed::SlewedClocks;
use crate::{Capture, Match};

/// The second clock against the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Relation {
    /// How far the second clock is ahead, over time of the first; if slewed, at the beginning.
    pub ahead: SkewLine,
    /// Error bound of that, in either direction; if slewed, at the worst time compared.
    pub error: Span,
    /// Minimum one-way delays from the first capture point and from the second, if the offset is
    /// right.
    pub owd_min: [Span; 2],
    /// Difference of the skews of both directions, in seconds per second; none without a skew.
    pub skew_error: Option<f64>,
    /// How far the clocks were slewed against each other, if no line fits.
    pub slewed: Option<Span>,
    /// The caller gave the offset; nothing was compared.
    pub is_stated: bool,
    /// Number of frames compared.
    pub matches: usize,
    course: Option<SlewedClocks>,
    points: CapturePoints,
}

/// Times and delays of both directions.
pub(crate) type Delays = [Vec<(Ns, Span)>; 2];

/// Why clocks cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RelationError {
    /// Too few frames are in both captures.
    #[error("{matches} frames are in both captures; {needed} are needed")]
    TooFew {
        /// Frames in both.
        matches: usize,
        /// Frames required.
        needed: usize,
    },
    /// Only one direction is in both captures, or the frames of the other are indistinguishable.
    #[error("no connection has distinguishable frames of both directions in both captures")]
    OneWay,
    /// The minimum round trip is negative, and slewed clocks do not explain it.
    #[error("the clocks contradict each other: the minimum round trip is {round_trip}")]
    Contradiction {
        /// Sum of the minimum delays.
        round_trip: Span,
    },
    /// A clock was stepped.
    #[error("a clock was stepped by {by} during the capture")]
    Stepped {
        /// Size of the step.
        by: Span,
    },
}

/// Frames required for a comparison.
const FEWEST: usize = 4;
/// Clocks compared for less are taken to run at one rate: 100 ppm is a millisecond then.
const SHORTEST: Span = Span::from_secs(10);
/// A larger disagreement about the skew has another cause: a change of route or load.
const SKEW_AGREEMENT: f64 = 0.5;
/// No clock of a computer that runs drifts faster (RFC 5905: 500 ppm).
pub(crate) const MOST_SKEW: f64 = 500e-6;

impl Relation {
    /// Compares two clocks by the frames in both captures, in time order.
    ///
    /// # Errors
    ///
    /// Too few frames, only one direction, or a stepped clock.
    pub fn of(matches: &[Match]) -> Result<Self, RelationError> {
        let (first, last) = extent(matches)?;
        let points = CapturePoints::of(matches);
        let delays = delays(matches, &points);
        let [Some(there), Some(back)] = delays.each_ref().map(|direction| level_under(direction))
        else {
            return Err(RelationError::OneWay);
        };
        let (lines, skew_error) = match skewed(&delays) {
            Some((lines, error)) => (lines, Some(error)),
            None => ([there, back], None),
        };
        let [begun, ended] = [first, last].map(|at| lines[0].at(at) + lines[1].at(at));
        let matches = delays.iter().map(Vec::len).sum();
        if begun.min(ended) < Span::ZERO {
            let course = SlewedClocks::of(&delays, begun.min(ended))?;
            let mut relation = Self {
                ahead: SkewLine { at: first, height: course.at(first), slope: 0.0 },
                error: course.error,
                owd_min: [Span::ZERO; 2],
                skew_error: None,
                slewed: Some(course.reach),
                is_stated: false,
                matches,
                course: Some(course),
                points,
            };
            relation.owd_min = relation.least(&delays);
            return Ok(relation);
        }
        let height = Span((lines[0].at(first) - lines[1].at(first)).0 / 2);
        let half = Span(begun.0 / 2);
        Ok(Self {
            ahead: SkewLine { at: first, height, slope: (lines[0].slope - lines[1].slope) / 2.0 },
            error: half,
            owd_min: [half, begun - half],
            skew_error,
            slewed: None,
            is_stated: false,
            matches,
            course: None,
            points,
        })
    }

    /// Two clocks with a known constant offset. Frames only show the capture point of each
    /// endpoint.
    ///
    /// # Errors
    ///
    /// Too few frames.
    pub fn stated(matches: &[Match], ahead: Span) -> Result<Self, RelationError> {
        let (first, _) = extent(matches)?;
        let points = CapturePoints::stated(matches, ahead);
        let delays = delays(matches, &points);
        let mut relation = Self {
            ahead: SkewLine { at: first, height: ahead, slope: 0.0 },
            error: Span::ZERO,
            owd_min: [Span::ZERO; 2],
            skew_error: None,
            slewed: None,
            is_stated: true,
            matches: delays.iter().map(Vec::len).sum(),
            course: None,
            points,
        };
        relation.owd_min = relation.least(&delays);
        Ok(relation)
    }

    /// The smallest delays of both directions, by the clocks as they are compared; zero where
    /// nothing came in that direction.
    fn least(&self, delays: &Delays) -> [Span; 2] {
        let there = delays[0].iter().map(|(at, delay)| *delay - self.ahead_at(*at)).min();
        let back = delays[1].iter().map(|(at, delay)| *delay + self.ahead_at(*at)).min();
        [there, back].map(Option::unwrap_or_default)
    }

    /// By how much the second clock is ahead at a moment of the first.
    pub fn ahead_at(&self, moment: Ns) -> Span {
        self.course.as_ref().map_or_else(|| self.ahead.at(moment), |course| course.at(moment))
    }

    /// A moment of a capture point's clock, by the clock of the first.
    pub fn by_first(&self, end: Capture, at: Ns) -> Ns {
        match end {
            Capture::First => at,
            Capture::Second => at - self.ahead_at(at - self.ahead.height),
        }
    }

    /// The capture point that an endpoint is near, where both directions of its connections were
    /// compared.
    pub fn near(&self, source: &([u8; 16], u16)) -> Option<Capture> {
        self.points.near(source)
    }

    /// The capture point that the sender of a connection's direction is near. Of most connections
    /// of a large capture no frame was compared: then it is what other connections of its
    /// endpoints, or between the same two addresses, show. Whether its frames go to the other
    /// capture point at all is not known by that: others use the same server.
    pub fn origin(&self, key: &FlowKey, direction: usize) -> Option<Capture> {
        self.points.origin(key, direction)
    }

    /// Whether other connections between the same two addresses were seen at both capture points:
    /// what goes between them passes both.
    pub fn is_between(&self, key: &FlowKey) -> bool {
        self.points.is_between(key)
    }

    /// How long a frame took from a capture point to the other, by their own clocks.
    pub fn delay(&self, from: Capture, first: Ns, second: Ns) -> Span {
        let across = second - first - self.ahead_at(first);
        if from == Capture::First { across } else { -across }
    }
}

/// The moments of the first and the last frame that both saw.
fn extent(matches: &[Match]) -> Result<(Ns, Ns), RelationError> {
    match matches {
        [first, .., last] if matches.len() >= FEWEST => Ok((first.first, last.first)),
        _ => Err(RelationError::TooFew { matches: matches.len(), needed: FEWEST }),
    }
}

/// Moments of the first clock, and how long the path took by both, from the first capture point and
/// from the second.
fn delays(matches: &[Match], points: &CapturePoints) -> Delays {
    let mut delays = [Vec::new(), Vec::new()];
    for common in matches {
        match points.known(&common.key, common.direction) {
            Some(Capture::First) => delays[0].push((common.first, common.second - common.first)),
            Some(Capture::Second) => delays[1].push((common.first, common.first - common.second)),
            None => {}
        }
    }
    delays
}

/// The smallest delay as a level line: what is known of clocks that were compared for too short a
/// time to estimate a skew.
fn level_under(direction: &[(Ns, Span)]) -> Option<SkewLine> {
    direction.iter().min_by_key(|(_, delay)| *delay).map(|(at, delay)| SkewLine {
        at: *at,
        height: *delay,
        slope: 0.0,
    })
}

/// Lines with a slope, where both directions were watched for long enough and show the same.
fn skewed(delays: &Delays) -> Option<([SkewLine; 2], f64)> {
    let [there, back] = delays.each_ref().map(|direction| {
        let mut envelope = Envelope::default();
        for (at, delay) in direction {
            envelope.add(*at, *delay);
        }
        (envelope.points() >= FEWEST as u64 && envelope.duration() >= SHORTEST)
            .then(|| envelope.line())
            .flatten()
    });
    let (there, back) = (there?, back?);
    // A clock that runs fast lengthens one direction and shortens the other.
    let (skew, error) = ((there.slope - back.slope) / 2.0, (there.slope + back.slope).abs() / 2.0);
    (skew.abs() <= MOST_SKEW && error <= SKEW_AGREEMENT * skew.abs())
        .then_some(([there, back], error))
}
