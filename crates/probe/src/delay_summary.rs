//! The delays of many probes in a few numbers, for the round trip and either direction.
//!
//! One-way delays are those of the clocks as they are: by how much one is ahead of the other is in
//! them, and they may be negative. Differences between delays of one direction have no offset in
//! them: *jitter* is the 95th percentile less the median, as `owping` prints it, and *variation* is
//! the difference between the delays of two probes that were sent one after the other (RFC 3393:
//! IPDV). Percentiles are nearest ranks.

use trustbed_units::{Ns, Span};

use crate::{RoundTrip, SkewLine};

/// The summary of some delays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelaySummary {
    /// How many there are.
    pub probes: u64,
    /// How many are negative.
    pub negative: u64,
    /// The least.
    pub least: Span,
    /// Their mean.
    pub mean_ns: f64,
    /// Half of them are at most that.
    pub p50: Span,
    /// 95 of 100 are.
    pub p95: Span,
    /// 99 of 100 are.
    pub p99: Span,
    /// The largest.
    pub most: Span,
    /// Between probes that were sent one after the other; none where there are no two.
    pub variation: Option<DelayVariation>,
}

/// The differences between the delays of neighbours: the later one's less the earlier one's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayVariation {
    /// How many there are.
    pub pairs: u64,
    /// The most negative.
    pub least: Span,
    /// The largest.
    pub most: Span,
    /// Mean of their absolute values.
    pub mean_absolute_ns: f64,
    /// The 95th percentile of their absolute values.
    pub p95_absolute: Span,
}

/// All three of a session's delays; none without an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Delays {
    /// There and back, without the time at the reflector.
    pub round_trip: DelaySummary,
    /// To the reflector.
    pub forward: DelaySummary,
    /// From the reflector.
    pub backward: DelaySummary,
}

impl DelaySummary {
    /// The 95th percentile less the median.
    pub fn jitter(&self) -> Span {
        self.p95 - self.p50
    }

    /// Of delays with the numbers of their probes, in the order of sending.
    fn of(delays: &[(u64, Span)]) -> Option<Self> {
        let mut sorted: Vec<Span> = delays.iter().map(|(_, delay)| *delay).collect();
        sorted.sort_unstable();
        Some(Self {
            probes: sorted.len() as u64,
            negative: sorted.partition_point(|delay| *delay < Span::ZERO) as u64,
            least: *sorted.first()?,
            mean_ns: mean(&sorted),
            p50: percentile(&sorted, 50)?,
            p95: percentile(&sorted, 95)?,
            p99: percentile(&sorted, 99)?,
            most: *sorted.last()?,
            variation: DelayVariation::of(delays),
        })
    }
}

impl DelayVariation {
    fn of(delays: &[(u64, Span)]) -> Option<Self> {
        let neighbours =
            delays.windows(2).filter(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
        let differences: Vec<Span> = neighbours.map(|pair| pair[1].1 - pair[0].1).collect();
        let mut absolute: Vec<Span> =
            differences.iter().map(|one| Span(one.0.saturating_abs())).collect();
        absolute.sort_unstable();
        Some(Self {
            pairs: differences.len() as u64,
            least: *differences.iter().min()?,
            most: *differences.iter().max()?,
            mean_absolute_ns: mean(&absolute),
            p95_absolute: percentile(&absolute, 95)?,
        })
    }
}

impl Delays {
    /// Of probes with their numbers, in the order of sending. Where the reflector's clock runs at
    /// another rate, the line gives by how much, and one-way delays are as they would be had it
    /// kept the difference that it had at the first probe.
    pub fn of(probes: &[(u64, RoundTrip)], ahead: Option<&SkewLine>) -> Option<Self> {
        let since = probes.first()?.1.sent;
        let drift = |at: Ns| ahead.map_or(Span::ZERO, |line| line.drift(since, at));
        let delays = |delay: &dyn Fn(&RoundTrip) -> Span| {
            let all: Vec<(u64, Span)> =
                probes.iter().map(|(sequence, trip)| (*sequence, delay(trip))).collect();
            DelaySummary::of(&all)
        };
        Some(Self {
            round_trip: delays(&RoundTrip::round_trip)?,
            forward: delays(&|trip| trip.forward() - drift(trip.sent))?,
            backward: delays(&|trip| trip.backward() + drift(trip.received))?,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
fn mean(spans: &[Span]) -> f64 {
    spans.iter().map(|span| i128::from(span.0)).sum::<i128>() as f64 / spans.len() as f64
}

/// The smallest value that so many of a hundred are not above.
fn percentile(sorted: &[Span], percent: usize) -> Option<Span> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}
