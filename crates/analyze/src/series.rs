//! Charts of one transfer in bounded memory: time is cut into buckets, and a bucket keeps its
//! lowest and its highest point, so that no outlier is lost. Buckets double in width when there are
//! too many.

use trustbed_units::{Ns, Span};

use crate::{Category, Stretches};

/// A point of a chart: time since the transfer's first data, a value, and a companion value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Since the first data.
    pub since: Span,
    /// What is drawn.
    pub value: f64,
    /// What is drawn beside it (the window beside outstanding data, the Linux timer beside the raw
    /// one, a category's number).
    pub beside: f64,
}

/// Points thinned to two per bucket of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thinned {
    points: Vec<Point>,
    width: i64,
}

/// Points kept of one chart.
const MOST: usize = 1200;
/// Width of a bucket at first: 1 µs.
const NARROWEST: i64 = 1_000;

impl Thinned {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        self.points.capacity() * size_of::<Point>()
    }

    /// Adds a point; points come in the order of time.
    #[inline]
    pub fn add(&mut self, since: Span, value: f64, beside: f64) {
        self.points.push(Point { since, value, beside });
        if self.points.len() > 2 * MOST {
            self.thin();
        }
    }

    /// The points.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    fn thin(&mut self) {
        let first = self.points.first().map_or(0, |p| p.since.0);
        let last = self.points.last().map_or(0, |p| p.since.0);
        // The width grows only when the present one leaves too many points.
        let mut width =
            self.width.max(NARROWEST).max((last - first) / i64::try_from(MOST).unwrap_or(1) / 2);
        while self.points.len() > MOST {
            self.width = width;
            width = width.saturating_mul(2);
            let mut kept: Vec<Point> = Vec::with_capacity(MOST);
            let mut from = 0;
            while from < self.points.len() {
                let slot = self.points[from].since.0.div_euclid(self.width);
                let to = from
                    + self.points[from..]
                        .iter()
                        .take_while(|p| p.since.0.div_euclid(self.width) == slot)
                        .count();
                extremes(&self.points[from..to], &mut kept);
                from = to;
            }
            self.points = kept;
            // All at one moment; or times that go to and fro across 0, which no width joins: the
            // capture's clock is wrong.
            if last == first || width == i64::MAX {
                self.points.truncate(MOST);
            }
        }
    }
}

/// Pushes the lowest and the highest point of a bucket, in order of time.
fn extremes(bucket: &[Point], kept: &mut Vec<Point>) {
    let by_value = |a: &&Point, b: &&Point| a.value.total_cmp(&b.value);
    let (Some(low), Some(high)) = (bucket.iter().min_by(by_value), bucket.iter().max_by(by_value))
    else {
        return;
    };
    let (first, second) = if low.since <= high.since { (low, high) } else { (high, low) };
    kept.push(*first);
    if first != second {
        kept.push(*second);
    }
}

/// All charts of one transfer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// End offsets of new data.
    pub new: Thinned,
    /// Start offsets of retransmissions, with their end beside.
    pub retransmissions: Thinned,
    /// Start offsets of filled holes.
    pub fills: Thinned,
    /// Acknowledged offsets.
    pub acks: Thinned,
    /// Round-trip times in seconds.
    pub rtt: Thinned,
    /// Raw retransmission timer in seconds, the Linux one beside.
    pub rto: Thinned,
    /// Outstanding bytes, the advertised window beside.
    pub outstanding: Thinned,
    /// Spacing in seconds, the category's number beside.
    pub spacing: Thinned,
    /// Response times in seconds, the category's number beside.
    pub response: Thinned,
    /// Short stretches with every packet in them.
    pub stretches: Stretches,
}

impl Series {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        let charts = [
            &self.new,
            &self.retransmissions,
            &self.fills,
            &self.acks,
            &self.rtt,
            &self.rto,
            &self.outstanding,
            &self.spacing,
            &self.response,
        ];
        charts.into_iter().map(Thinned::held_bytes).sum::<usize>() + self.stretches.held_bytes()
    }

    /// The number that encodes a category.
    pub fn category(category: Category) -> f64 {
        match category {
            Category::Spacing => 0.0,
            Category::WindowWait => 1.0,
            Category::RecoveryWait => 2.0,
        }
    }
}

/// The farthest that a moment of a transfer may lie from its start, in nanoseconds: 4.6 years.
/// Beyond, the capture's clock is wrong, and sums of moments would overflow.
pub(crate) const FAR: i64 = i64::MAX / 64;

/// A moment relative to a start.
pub(crate) fn since(start: Ns, now: Ns) -> Span {
    Span((now - start).0.clamp(-FAR, FAR))
}
