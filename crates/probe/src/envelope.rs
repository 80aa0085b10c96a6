//! The line under a cloud of points in time: what delays would be without queues.
//!
//! Moon, Skelly and Towsley, *Estimation and Removal of Clock Skew from Network Delay Measurements*
//! (INFOCOM 1999): of all lines that have every point on them or above, the one with the least
//! distance to the points in sum. Such a line contains the edge of the points' lower convex hull
//! that spans their mean moment, so that the hull and that mean are all that has to be kept.
//!
//! The hull of many points has few corners. Should it have more than [`MOST_CORNERS`], the one that
//! matters least is forgotten: the line may then be above a forgotten corner, by no more than
//! [`Envelope::forgotten`] reports.

use trustbed_units::{Ns, Span};

/// Corners that are kept.
const MOST_CORNERS: usize = 512;

/// A line through time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SkewLine {
    /// A moment.
    pub at: Ns,
    /// The height there.
    pub height: Span,
    /// What it rises by: seconds per second.
    pub slope: f64,
}

impl SkewLine {
    /// The height at a moment.
    pub fn at(&self, moment: Ns) -> Span {
        self.height + self.drift(self.at, moment)
    }

    /// What it rises by between two moments.
    pub fn drift(&self, from: Ns, to: Ns) -> Span {
        rounded(self.slope * (to - from).as_f64())
    }
}

/// The lower convex hull of points in time, and their mean moment; mergeable. Points come in the
/// order of time; one that is earlier than the one before it is taken as if it were as late, which
/// moves it by as much as packets overtake one another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Envelope {
    corners: Vec<Corner>,
    /// By how much the edge that ends at a corner may be above forgotten ones.
    raised: Vec<Span>,
    points: u64,
    /// Sum of the moments, after that of the first point.
    moments: i128,
    first: Option<Ns>,
}

/// A point: a moment, and a height there.
pub(crate) type Corner = (Ns, Span);

impl Envelope {
    /// A point.
    pub fn add(&mut self, at: Ns, height: Span) {
        let at = self.corners.last().map_or(at, |last| last.0.max(at));
        let first = *self.first.get_or_insert(at);
        self.points += 1;
        self.moments += i128::from((at - first).0);
        self.push((at, height), Span::ZERO);
    }

    /// The points of another, none of which is earlier than those here.
    pub fn merge(&mut self, other: &Self) {
        let (Some(first), Some(theirs)) = (self.first.or(other.first), other.first) else { return };
        self.first = Some(first);
        self.points += other.points;
        self.moments += other.moments + i128::from((theirs - first).0) * i128::from(other.points);
        for (corner, raised) in other.corners.iter().zip(&other.raised) {
            self.push(*corner, *raised);
        }
    }

    /// How many points there were.
    pub const fn points(&self) -> u64 {
        self.points
    }

    /// From the first to the last point.
    pub fn duration(&self) -> Span {
        self.first.zip(self.corners.last()).map_or(Span::ZERO, |(first, last)| last.0 - first)
    }

    /// By how much the line may be above a point, because corners were forgotten.
    pub fn forgotten(&self) -> Span {
        self.raised.iter().copied().max().unwrap_or(Span::ZERO)
    }

    /// The line under the points; none where they do not span any time.
    pub fn line(&self) -> Option<SkewLine> {
        let first = self.first?;
        let mean = first + Span(i64::try_from(self.moments / i128::from(self.points)).ok()?);
        let right = self
            .corners
            .partition_point(|corner| corner.0 <= mean)
            .clamp(1, self.corners.len().max(2) - 1);
        let (from, to) = (self.corners.get(right - 1)?, self.corners.get(right)?);
        Some(SkewLine {
            at: from.0,
            height: from.1,
            slope: (to.1 - from.1).as_f64() / (to.0 - from.0).as_f64(),
        })
    }

    /// The corners of the hull, from left to right.
    pub(crate) fn corners(&self) -> &[Corner] {
        &self.corners
    }

    /// Andrew's monotone chain: corners that the new point makes inner ones go. The new edge is
    /// below those that went, so that it is above what was forgotten of them by no more than they
    /// were.
    fn push(&mut self, point: Corner, mut raised: Span) {
        while let Some(last) = self.corners.last() {
            if last.0 == point.0 {
                if last.1 <= point.1 {
                    return;
                }
            } else if let Some(before) =
                self.corners.len().checked_sub(2).and_then(|index| self.corners.get(index))
            {
                if is_below(*before, *last, point) {
                    break;
                }
            } else {
                break;
            }
            self.corners.pop();
            raised = raised.max(self.raised.pop().unwrap_or(Span::ZERO));
        }
        self.corners.push(point);
        self.raised.push(raised);
        if self.corners.len() > MOST_CORNERS {
            self.forget();
        }
    }

    /// Forgets the corner that is least below the line through its neighbours.
    fn forget(&mut self) {
        let heights = self
            .corners
            .windows(3)
            .map(|three| height_of_chord(three[0], three[2], three[1].0) - three[1].1);
        let Some((index, height)) = heights.enumerate().min_by_key(|(_, height)| *height) else {
            return;
        };
        self.corners.remove(index + 1);
        let raised = self.raised.remove(index + 1);
        if let Some(next) = self.raised.get_mut(index + 1) {
            // Rounded to a nanosecond.
            *next = raised.max(*next) + height + Span(1);
        }
    }
}

/// Whether the middle one of three points, in the order of time, lies below the line through the
/// others.
fn is_below(left: Corner, middle: Corner, right: Corner) -> bool {
    let (across, up) = (i128::from((middle.0 - left.0).0), i128::from((middle.1 - left.1).0));
    let (far, high) = (i128::from((right.0 - left.0).0), i128::from((right.1 - left.1).0));
    // Both products are below 2¹²⁶.
    up * far < high * across
}

fn height_of_chord(left: Corner, right: Corner, at: Ns) -> Span {
    let share = (at - left.0).as_f64() / (right.0 - left.0).as_f64();
    left.1 + rounded((right.1 - left.1).as_f64() * share)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a float beyond 64 bits becomes the largest of them"
)]
fn rounded(nanoseconds: f64) -> Span {
    Span(nanoseconds.round() as i64)
}
