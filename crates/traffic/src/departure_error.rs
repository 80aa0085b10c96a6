//! How late a sender was: when a packet left against when it was due.
//!
//! A sender whose packets are late sends other traffic than scheduled. The limit is one packet in a
//! hundred that is more than 1 ms late ([`DepartureErrorSummary::generator_late`]). Nothing leaves
//! before it is due; if it does, the clock or the sender is wrong, and it is counted apart.
//! The 99th percentile is read from bins and is off by at most 1/256 of its value; everything else
//! is exact.

use serde::Serialize;
use trustbed_units::{Span, bins};

/// Bins per power of two, as a power of two.
const FINENESS: u32 = 7;

/// Beyond this a packet counts as late.
const TOLERATED: Span = Span::from_millis(1);

/// A share of late packets above which a sender is called late.
const TOLERATED_SHARE: f64 = 0.01;

/// What is remembered of all packets of a sender; mergeable.
///
/// ```
/// use trustbed_traffic::DepartureError;
/// use trustbed_units::Span;
/// let mut departure_error = DepartureError::default();
/// for micros in [3, 5, 1200, 4] {
///     departure_error.add(Span::from_micros(micros));
/// }
/// let summary = departure_error.summary();
/// assert_eq!((summary.mean_ns, summary.max_ns), (Some(303_000.0), Some(1_200_000)));
/// assert_eq!((summary.over_1ms_packets, summary.generator_late), (1, true));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(into = "DepartureErrorSummary")]
pub struct DepartureError {
    counts: Vec<u64>,
    packets: u64,
    sum: i128,
    most: Option<Span>,
    over: u64,
    early: u64,
    earliest: Span,
}

/// The summary; `None` without a packet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DepartureErrorSummary {
    /// Packets counted.
    pub packets: u64,
    /// Mean `departure_error`; packets that left early count as negative.
    pub mean_ns: Option<f64>,
    /// So late, or less, were 99 of 100 packets.
    pub p99_ns: Option<f64>,
    /// The latest packet.
    pub max_ns: Option<i64>,
    /// Packets more than 1 ms late.
    pub over_1ms_packets: u64,
    /// Their share.
    pub over_1ms_share: Option<f64>,
    /// Packets that left before they were due.
    pub early_packets: u64,
    /// By how much, at most.
    pub earliest_ns: i64,
    /// More than 1 % of the packets were more than 1 ms late: what was sent is not what was
    /// scheduled for.
    pub generator_late: bool,
}

impl DepartureError {
    /// A packet that left so much after it was due.
    #[inline]
    pub fn add(&mut self, late: Span) {
        let at = bins::index::<FINENESS>(u64::try_from(late.0).unwrap_or(0));
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        self.packets += 1;
        self.sum += i128::from(late.0);
        self.most = self.most.max(Some(late));
        self.over += u64::from(late > TOLERATED);
        self.early += u64::from(late < Span::ZERO);
        self.earliest = self.earliest.max(-late);
    }

    /// All packets of another.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, more)| *own += more);
        self.packets += other.packets;
        self.sum += other.sum;
        self.most = self.most.max(other.most);
        self.over += other.over;
        self.early += other.early;
        self.earliest = self.earliest.max(other.earliest);
    }

    /// How many packets.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// The summary.
    #[expect(clippy::cast_precision_loss, reason = "means and shares are floats")]
    pub fn summary(&self) -> DepartureErrorSummary {
        let of_all = |part: f64| (self.packets > 0).then(|| part / self.packets as f64);
        let over_1ms_share = of_all(self.over as f64);
        DepartureErrorSummary {
            packets: self.packets,
            mean_ns: of_all(self.sum as f64),
            p99_ns: self.ranked(self.packets - self.packets / 100),
            max_ns: self.most.map(|most| most.0),
            over_1ms_packets: self.over,
            over_1ms_share,
            early_packets: self.early,
            earliest_ns: self.earliest.0,
            generator_late: over_1ms_share.is_some_and(|share| share > TOLERATED_SHARE),
        }
    }

    /// So late, or less, was half of the packets, in nanoseconds; as near as the 99th percentile.
    pub fn median(&self) -> Option<f64> {
        self.ranked(self.packets - self.packets / 2)
    }

    /// The middle of the bin in which the packet of that rank lies, within what was seen.
    #[expect(clippy::cast_precision_loss, reason = "a quantile of bins is a float")]
    fn ranked(&self, rank: u64) -> Option<f64> {
        let most = self.most?;
        let mut seen = 0;
        let at = self.counts.iter().position(|&count| {
            seen += count;
            seen >= rank
        })?;
        let (low, width) = bins::extent::<FINENESS>(at);
        let high = i64::try_from(low + (width - 1)).unwrap_or(i64::MAX).min(most.0);
        Some(f64::midpoint(low.min(most.0.unsigned_abs()) as f64, high as f64))
    }
}

impl From<DepartureError> for DepartureErrorSummary {
    fn from(departure_error: DepartureError) -> Self {
        departure_error.summary()
    }
}
