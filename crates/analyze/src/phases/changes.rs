//! Whether the rate at which the path delivers changed within a transfer: the fewest levels that
//! explain its logarithm, isolated rates aside.

/// Rates kept; beyond, every second one is dropped.
const MOST: usize = 192;
/// Rates of each level at least.
const SIDE: usize = 5;
/// Levels at most.
const LEVELS: usize = 4;
/// One level more is taken as long as it leaves at most this share of the variance.
const BETTER: f64 = 0.4;
/// What leaves no more than this share needs no further level: of equal rates only rounding is
/// left.
const ENOUGH: f64 = 0.02;

/// Rates over time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes {
    kept: Vec<(i64, i64, f64)>,
    stride: u32,
    skipped: u32,
}

/// The changes that explain the rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// How many.
    pub count: u32,
    /// When the first one came, in nanoseconds after the first data.
    pub at: i64,
    /// Bytes acknowledged until then.
    pub bytes: i64,
    /// Rate before it, in bytes per second (geometric mean).
    pub before: f64,
    /// Rate after it.
    pub after: f64,
    /// Share of the variance of the rates' logarithms that remains.
    pub left: f64,
    /// Standard deviation of the logarithms that remains.
    pub spread: f64,
}

impl Changes {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        self.kept.capacity() * size_of::<(i64, i64, f64)>()
    }

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

    /// The fewest levels that explain the rates; none with too few rates or none that varies.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "few rates")]
    pub(crate) fn best(&self) -> Option<Change> {
        let logs: Vec<f64> = self.kept.iter().map(|kept| kept.2.max(1.0).ln()).collect();
        let logs = smoothed(&logs);
        let count = logs.len();
        if count < 2 * SIDE {
            return None;
        }
        let sums = Sums::of(&logs);
        let whole = sums.cost(0, count);
        if whole <= f64::EPSILON {
            return None;
        }
        // cost[k][end]: of the first `end` rates in k + 1 levels, and where the last one begins.
        let mut costs = vec![vec![(f64::INFINITY, 0); count + 1]; LEVELS];
        for (end, cost) in costs[0].iter_mut().enumerate().skip(SIDE) {
            *cost = (sums.cost(0, end), 0);
        }
        for level in 1..LEVELS {
            for end in (level + 1) * SIDE..=count {
                let best = (level * SIDE..=end - SIDE)
                    .map(|from| (costs[level - 1][from].0 + sums.cost(from, end), from))
                    .min_by(|a, b| a.0.total_cmp(&b.0));
                if let Some(best) = best {
                    costs[level][end] = best;
                }
            }
        }
        let mut level = 1;
        while level + 1 < LEVELS
            && costs[level][count].0 > ENOUGH * whole
            && costs[level + 1][count].0 <= BETTER * costs[level][count].0
        {
            level += 1;
        }
        let left = costs[level][count].0;
        let mut bounds = vec![count];
        for at in (1..=level).rev() {
            let end = *bounds.last()?;
            bounds.push(costs[at][end].1);
        }
        bounds.push(0);
        bounds.reverse();
        let (first, second) = (bounds[1], bounds[2]);
        let (time, bytes, _) = self.kept[first];
        Some(Change {
            count: level as u32,
            at: time,
            bytes,
            before: sums.mean(0, first).exp(),
            after: sums.mean(first, second).exp(),
            left: left / whole,
            spread: (left / count as f64).sqrt(),
        })
    }
}

/// Each value, or the median of it and its neighbours: single outliers are no level.
fn smoothed(values: &[f64]) -> Vec<f64> {
    const HALF: usize = 2;
    (0..values.len())
        .map(|at| {
            let (from, to) = (at.saturating_sub(HALF), (at + HALF + 1).min(values.len()));
            let mut near = values[from..to].to_vec();
            let middle = near.len() / 2;
            *near.select_nth_unstable_by(middle, f64::total_cmp).1
        })
        .collect()
}

/// Sums of values and of their squares up to each.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(values: &[f64]) -> Self {
        let mut sums = vec![(0.0, 0.0)];
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in values {
            sum += value;
            squares += value * value;
            sums.push((sum, squares));
        }
        Self(sums)
    }

    #[expect(clippy::cast_precision_loss, reason = "few values")]
    fn mean(&self, from: usize, end: usize) -> f64 {
        (self.0[end].0 - self.0[from].0) / (end - from).max(1) as f64
    }

    /// Sum of squared distances from the mean.
    #[expect(clippy::cast_precision_loss, reason = "few values")]
    fn cost(&self, from: usize, end: usize) -> f64 {
        let count = (end - from).max(1) as f64;
        let sum = self.0[end].0 - self.0[from].0;
        (self.0[end].1 - self.0[from].1 - sum * sum / count).max(0.0)
    }
}
