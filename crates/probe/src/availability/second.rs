//! What gaps come to: in one second, and over a transfer.

use trustbed_units::{Ns, Span};

use super::{Gap, GapLengths};

/// A second with a smaller share of a core than this was starved.
const STARVED_BELOW: f64 = 0.9;

/// What was seen in some time; mergeable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GapTally {
    /// How long it was watched.
    pub watched: Span,
    /// How much of that was lost in gaps.
    pub lost: Span,
    /// Passes of the loop.
    pub passes: u64,
    /// Gaps that began in it.
    pub gaps: u64,
    /// Those of them that no table had room for; in everything else they are counted.
    pub gaps_left_out: u64,
    /// The longest of them, whole even where it ends later; nothing where there was none.
    pub longest: Option<Span>,
    /// How long they were, whole.
    pub lengths: GapLengths,
}

impl GapTally {
    /// The share of one core: 1 − lost/watched. `None` if nothing was watched.
    pub fn share(&self) -> Option<f64> {
        (self.watched > Span::ZERO).then(|| 1.0 - self.lost.as_f64() / self.watched.as_f64())
    }

    pub(super) fn on_gap(&mut self, gap: Gap, is_recorded: bool) {
        self.gaps += 1;
        self.gaps_left_out += u64::from(!is_recorded);
        self.longest = self.longest.max(Some(gap.length));
        self.lengths.add(gap.length);
    }

    /// Adds what was seen in another time.
    pub fn merge(&mut self, other: &Self) {
        self.watched += other.watched;
        self.lost += other.lost;
        self.passes += other.passes;
        self.gaps += other.gaps;
        self.gaps_left_out += other.gaps_left_out;
        self.longest = self.longest.max(other.longest);
        self.lengths.merge(&other.lengths);
    }
}

/// A second of the clock, or what of it lies between the beginning and the end of the monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailabilitySecond {
    /// Where it begins: a whole second, or the beginning of the monitor.
    pub from: Ns,
    /// Where it ends: a whole second, or the end of the monitor.
    pub until: Ns,
    /// What was seen in it.
    pub tally: GapTally,
}

impl AvailabilitySecond {
    /// Whether a core was unavailable: its share below 0.9. `None` where none of it was watched.
    pub fn is_starved(&self) -> Option<bool> {
        self.tally.share().map(|share| share < STARVED_BELOW)
    }
}

/// The share of a core over a transfer: the mean of the seconds that it overlaps, each weighted by
/// how much of it does.
///
/// Nothing where no second that was watched overlaps it. The shares are even within their seconds
/// here: a transfer of some milliseconds has what its second had, not what happened in those.
///
/// ```
/// use trustbed_probe::{AvailabilitySecond, GapTally, cpu_share};
/// use trustbed_units::{Ns, Span};
/// let second = |number: i64, lost: Span| AvailabilitySecond {
///     from: Ns(number * 1_000_000_000),
///     until: Ns((number + 1) * 1_000_000_000),
///     tally: GapTally { watched: Span::from_secs(1), lost, ..GapTally::default() },
/// };
/// let seconds = [second(0, Span::ZERO), second(1, Span::from_millis(600))];
/// assert_eq!(cpu_share(&seconds, Ns(500_000_000), Ns(1_500_000_000)), Some(0.7));
/// assert_eq!(cpu_share(&seconds, Ns(2_000_000_000), Ns(3_000_000_000)), None);
/// ```
pub fn cpu_share(seconds: &[AvailabilitySecond], from: Ns, until: Ns) -> Option<f64> {
    let (mut weight, mut sum) = (0.0, 0.0);
    for second in seconds {
        let overlap = (second.until.min(until) - second.from.max(from)).as_f64();
        if let Some(share) = second.tally.share().filter(|_| overlap > 0.0) {
            weight += overlap;
            sum += share * overlap;
        }
    }
    (weight > 0.0).then(|| sum / weight)
}

/// A share of one core as a percentage of a node's: of one with four cores, a thread that has a
/// whole one has 25 %.
///
/// `cores` are those that the thread may use (its affinity), never fewer because of a quota: a
/// quota is what is to be found.
pub fn node_percent(share: f64, cores: u32) -> f64 {
    100.0 * share / f64::from(cores.max(1))
}
