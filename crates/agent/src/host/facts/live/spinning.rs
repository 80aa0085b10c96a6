//! CPU share of a thread that always runs: the loop of `trustbed-probe`'s availability, for a short
//! time, at default priority.

use serde::Serialize;
use trustbed_probe::{Availability, AvailabilitySettings, Charging, DutyCycle, Gap, gap_threshold};
use trustbed_units::Span;

use crate::host::spin::spinner;
use crate::session::Stop;
use crate::sys::clock;

/// Passes between two readings whether stop was requested.
const LOOK: u64 = 1 << 12;

/// CPU time it had.
#[derive(Debug, Serialize)]
pub(in crate::host::facts) struct Spinning {
    lasted_ns: i64,
    passes: u64,
    /// A longer pause is a gap.
    threshold_ns: i64,
    gaps: u64,
    longest_gap_ns: Option<i64>,
    lost_ns: i64,
    share: Option<f64>,
    /// By how much the kernel charged more than the thread had, as a share.
    charged_excess_share: Option<f64>,
}

/// Spins for a time.
pub(super) fn run(lasting: Span, stop: Stop) -> Spinning {
    let threshold = gap_threshold(&mut spinner::trial());
    let begin = clock::monotonic();
    let settings = AvailabilitySettings { threshold, duty: DutyCycle::always(), table: Vec::new() };
    let mut monitor = Availability::new(settings, begin);
    let mut charging = Charging::begin(begin, clock::thread_time());
    let (end, mut before, mut passes) = (begin + lasting, begin, 0_u64);
    while before < end && (!passes.is_multiple_of(LOOK) || !stop.is_requested()) {
        let now = clock::monotonic();
        passes += 1;
        let gap = Gap { begin: before, length: now - before };
        if gap.length > threshold {
            monitor.on_gap(gap);
            charging.on_gap(gap.length);
        }
        before = now;
    }
    let charge = charging.read(before, clock::thread_time());
    monitor.finish(before);
    let tally = monitor.totals().tally;
    Spinning {
        lasted_ns: (before - begin).0,
        passes,
        threshold_ns: threshold.0,
        gaps: tally.gaps,
        longest_gap_ns: tally.longest.map(|longest| longest.0),
        lost_ns: tally.lost.0,
        share: tally.share(),
        charged_excess_share: charge.excess(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_and_lost_time_add_up() {
        let found = run(Span::from_millis(30), Stop::never());
        assert!(found.lasted_ns >= 30_000_000 && found.passes > 0 && found.threshold_ns >= 50_000);
        assert!((0..=found.lasted_ns).contains(&found.lost_ns));
        let share = found.share.unwrap();
        #[expect(clippy::cast_precision_loss, reason = "some milliseconds")]
        let expected = 1.0 - found.lost_ns as f64 / found.lasted_ns as f64;
        assert!((share - expected).abs() < 1e-9);
        assert_eq!(found.longest_gap_ns.is_some(), found.gaps > 0);
    }
}
