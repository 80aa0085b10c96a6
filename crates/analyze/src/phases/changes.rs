//! Whether the rate at which the path delivers changed within a transfer.

/// Rates kept; beyond, every second one is dropped.
const MOST: usize = 256;
/// Rates that each side of a change needs.
const SIDE: usize = 5;

/// Rates over time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes {
    kept: Vec<(i64, i64, f64)>,
    stride: u32,
    skipped: u32,
}

/// The one change that explains the rates best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// When, in nanoseconds after the first data.
    pub at: i64,
    /// Bytes acknowledged until then.
    pub bytes: i64,
    /// Median rate before, in bytes per second.
    pub before: f64,
    /// Median rate after.
    pub after: f64,
    /// Share of the rates' deviation from their median, in logarithms, that remains.
    pub left: f64,
    /// Largest relative deviation of the quartiles of either side from its median.
    pub spread: f64,
}

impl Changes {
    /// The path delivered at `rate` until `at`, `bytes` in all.
    pub(crate) fn add(&mut self, at: i64, bytes: i64, rate: f64) {
        if self.skipped < self.stride {
            self.skipped += 1;
            return;
        }
        self.skipped = 0;
        if self.kept.len() >= MOST {
            let mut odd = false;
            self.kept.retain(|_| {
                odd = !odd;
                odd
            });
            self.stride = self.stride * 2 + 1;
        }
        self.kept.push((at, bytes, rate));
    }

    /// The best split in two levels; none with too few rates or none that varies.
    pub(crate) fn best(&self) -> Option<Change> {
        let logs: Vec<f64> = self.kept.iter().map(|kept| kept.2.max(1.0).ln()).collect();
        if logs.len() < 2 * SIDE {
            return None;
        }
        let whole = deviation(&logs).1;
        if whole <= 0.0 {
            return None;
        }
        let split = (SIDE..=logs.len() - SIDE)
            .map(|at| (at, deviation(&logs[..at]), deviation(&logs[at..])))
            .min_by(|a, b| (a.1.1 + a.2.1).total_cmp(&(b.1.1 + b.2.1)))?;
        let (at, (before, left), (after, right)) = split;
        let (time, bytes, _) = self.kept[at];
        Some(Change {
            at: time,
            bytes,
            before: before.exp(),
            after: after.exp(),
            left: (left + right) / whole,
            spread: spread(&logs[..at]).max(spread(&logs[at..])),
        })
    }
}

/// The median and the sum of distances from it.
fn deviation(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    let half = sorted.len() / 2;
    let middle = *sorted.select_nth_unstable_by(half, f64::total_cmp).1;
    (middle, values.iter().map(|value| (value - middle).abs()).sum())
}

/// Half the distance of the quartiles.
fn spread(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[sorted.len() * 3 / 4] - sorted[sorted.len() / 4]) / 2.0
}
