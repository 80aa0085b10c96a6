//! A distribution of durations or rates in bounded memory: every value up to 64 of them, then a histogram.
//!
//! Bins are linear within each power of two, 128 of them, so that a bin is at most 1/128 of its value wide (a quantile is
//! off by at most 0.4 %) and its index needs no logarithm: the same on every machine. Bins merge by addition.

/// Values kept as they are.
const EXACT: usize = 64;
/// Bins per power of two, as a power of two.
const FINENESS: u32 = 7;
const PER_OCTAVE: u64 = 1 << FINENESS;

/// Values with counts, and the sum of the values in each bin.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distribution {
    n: u64,
    sum: i64,
    squares: f64,
    min: i64,
    max: i64,
    exact: Vec<i64>,
    bins: Option<Box<Bins>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Bins {
    first: usize,
    counts: Vec<(u32, u64)>,
}

impl Distribution {
    /// Enters a value; negative values are entered as 0.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "a sum of squares for a standard deviation")]
    pub fn add(&mut self, value: i64) {
        let value = value.max(0);
        if self.n == 0 || value < self.min {
            self.min = value;
        }
        self.max = self.max.max(value);
        self.n += 1;
        self.sum = self.sum.saturating_add(value);
        self.squares += value as f64 * value as f64;
        if let Some(bins) = &mut self.bins {
            bins.add(value.unsigned_abs());
        } else if self.exact.len() < EXACT {
            self.exact.push(value);
        } else {
            let mut bins = Bins::default();
            for &old in &self.exact {
                bins.add(old.unsigned_abs());
            }
            bins.add(value.unsigned_abs());
            self.exact = Vec::new();
            self.bins = Some(Box::new(bins));
        }
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// Their sum.
    pub fn sum(&self) -> i64 {
        self.sum
    }

    /// The smallest.
    pub fn min(&self) -> Option<i64> {
        (self.n > 0).then_some(self.min)
    }

    /// The largest.
    pub fn max(&self) -> Option<i64> {
        (self.n > 0).then_some(self.max)
    }

    /// The mean.
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum as f64 / self.n as f64)
    }

    /// The standard deviation with n − 1.
    #[expect(clippy::cast_precision_loss, reason = "a deviation is a float")]
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        (self.n > 1).then(|| ((self.squares - self.n as f64 * mean * mean).max(0.0) / (self.n - 1) as f64).sqrt())
    }

    /// The quantile `q` (0…1) by linear interpolation between order statistics (Hyndman and Fan, type 7).
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ranks are small and not negative")]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.n == 0 {
            return None;
        }
        let rank = (self.n - 1) as f64 * q.clamp(0.0, 1.0);
        if let Some(bins) = &self.bins {
            return Some(bins.at_rank(rank).clamp(self.min as f64, self.max as f64));
        }
        let mut sorted = self.exact.clone();
        sorted.sort_unstable();
        let low = rank.floor() as usize;
        let high = (low + 1).min(sorted.len() - 1);
        Some(sorted[low] as f64 + (rank - rank.floor()) * (sorted[high] - sorted[low]) as f64)
    }

    /// The value at rank ⌊(n − 1)·q⌋: nearest rank, no interpolation; from bins, the mean of the bin that holds it.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ranks are small and not negative")]
    pub fn nearest_rank(&self, q: f64) -> Option<f64> {
        if self.n == 0 {
            return None;
        }
        let rank = ((self.n - 1) as f64 * q.clamp(0.0, 1.0)).floor();
        if let Some(bins) = &self.bins {
            return Some(bins.mean_at_rank(rank));
        }
        let mut sorted = self.exact.clone();
        sorted.sort_unstable();
        Some(sorted[rank as usize] as f64)
    }

    /// Number and sum of the values above `threshold`. The bin that the threshold cuts is taken as evenly filled.
    pub fn above(&self, threshold: f64) -> (f64, f64) {
        if let Some(bins) = &self.bins {
            if let (Some(min), true) = (self.min(), self.n > 0)
                && as_f64(min) > threshold
            {
                return (count_f64(self.n), as_f64(self.sum));
            }
            return bins.above(threshold);
        }
        let over = self.exact.iter().filter(|&&v| as_f64(v) > threshold);
        over.fold((0.0, 0.0), |(n, sum), &v| (n + 1.0, sum + as_f64(v)))
    }

    /// Points of the cumulative distribution: (value, share of values not above it), at most `most` of them.
    #[expect(clippy::cast_precision_loss, reason = "shares are floats")]
    pub fn cumulative(&self, most: usize) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        if let Some(bins) = &self.bins {
            let mut seen = 0_u64;
            for (n, &(count, _)) in bins.counts.iter().enumerate() {
                if count > 0 {
                    seen += u64::from(count);
                    let (low, high) = edges(bins.first + n);
                    points.push(((low + high) as f64 / 2.0, seen as f64 / self.n as f64));
                }
            }
        } else {
            let mut sorted = self.exact.clone();
            sorted.sort_unstable();
            for (n, value) in sorted.iter().enumerate() {
                points.push((*value as f64, (n + 1) as f64 / self.n as f64));
            }
        }
        let step = points.len().div_ceil(most.max(2)).max(1);
        let last = points.last().copied();
        let mut thinned: Vec<_> = points.into_iter().step_by(step).collect();
        if thinned.last() != last.as_ref() {
            thinned.extend(last);
        }
        thinned
    }
}

impl Bins {
    #[inline]
    fn add(&mut self, value: u64) {
        let at = index(value);
        if at.wrapping_sub(self.first) >= self.counts.len() {
            self.grow(at);
        }
        let bin = &mut self.counts[at - self.first];
        bin.0 = bin.0.saturating_add(1);
        bin.1 += value;
    }

    /// Makes room for bin `at` with some to spare on that side.
    fn grow(&mut self, at: usize) {
        const SPARE: usize = 32;
        if self.counts.is_empty() {
            self.first = at.saturating_sub(SPARE);
            self.counts = vec![(0, 0); at - self.first + SPARE];
        } else if at < self.first {
            let first = at.saturating_sub(SPARE);
            let more = self.first - first;
            self.counts.splice(0..0, std::iter::repeat_n((0, 0), more));
            self.first = first;
        } else {
            self.counts.resize(at - self.first + SPARE, (0, 0));
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "positions within a bin")]
    fn at_rank(&self, rank: f64) -> f64 {
        let mut below = 0.0;
        for (n, &(count, _)) in self.counts.iter().enumerate() {
            let count = f64::from(count);
            if count > 0.0 && below + count > rank {
                let (low, high) = edges(self.first + n);
                let width = (high - low) as f64;
                return low as f64 + width * ((rank - below + 0.5) / count).min(1.0);
            }
            below += count;
        }
        self.counts.iter().rposition(|c| c.0 > 0).map_or(0.0, |n| edges(self.first + n).1 as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    fn mean_at_rank(&self, rank: f64) -> f64 {
        let mut below = 0.0;
        let mut mean = 0.0;
        for &(count, sum) in self.counts.iter().filter(|c| c.0 > 0) {
            mean = sum as f64 / f64::from(count);
            below += f64::from(count);
            if below > rank {
                break;
            }
        }
        mean
    }

    #[expect(clippy::cast_precision_loss, reason = "sums of nanoseconds")]
    fn above(&self, threshold: f64) -> (f64, f64) {
        let (mut total, mut sum) = (0.0, 0.0);
        for (n, &(count, bin_sum)) in self.counts.iter().enumerate() {
            if count == 0 {
                continue;
            }
            let (low, high) = edges(self.first + n);
            let (low, high) = (low as f64, high as f64);
            let share = if low > threshold { 1.0 } else { ((high - threshold) / (high - low)).clamp(0.0, 1.0) };
            total += share * f64::from(count);
            sum += if share >= 1.0 { bin_sum as f64 } else { share * f64::from(count) * f64::midpoint(threshold.max(low), high) };
        }
        (total, sum)
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most 128 · 58 bins")]
fn index(value: u64) -> usize {
    if value < PER_OCTAVE {
        return value as usize;
    }
    let shift = value.ilog2() - FINENESS;
    (u64::from(shift + 1) * PER_OCTAVE + (value >> shift) - PER_OCTAVE) as usize
}

/// The values `[low, high)` that fall into a bin.
fn edges(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < PER_OCTAVE {
        return (index, index + 1);
    }
    let shift = index / PER_OCTAVE - 1;
    let low = (PER_OCTAVE + index % PER_OCTAVE) << shift;
    (low, low.saturating_add(1 << shift))
}

#[expect(clippy::cast_precision_loss, reason = "durations and rates below 2⁵³")]
fn as_f64(value: i64) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2⁵³")]
fn count_f64(value: u64) -> f64 {
    value as f64
}

/// A quantity over time: how long it had which value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimeWeighted {
    total: i64,
    product: i128,
    exact: Vec<(u64, i64)>,
    bins: Option<Box<(usize, Vec<i64>)>>,
}

impl TimeWeighted {
    /// The quantity had `value` for `duration` nanoseconds.
    #[inline]
    pub fn add(&mut self, value: u64, duration: i64) {
        if duration <= 0 {
            return;
        }
        self.total += duration;
        self.product += i128::from(value) * i128::from(duration);
        if self.bins.is_some() {
            self.add_binned(value, duration);
        } else if let Some(last) = self.exact.last_mut()
            && last.0 == value
        {
            last.1 += duration;
        } else if self.exact.len() < EXACT {
            self.exact.push((value, duration));
        } else {
            self.bins = Some(Box::default());
            for (value, duration) in std::mem::take(&mut self.exact) {
                self.add_binned(value, duration);
            }
            self.add_binned(value, duration);
        }
    }

    fn add_binned(&mut self, value: u64, duration: i64) {
        let Some((first, times)) = self.bins.as_deref_mut() else { return };
        let at = index(value);
        if at.wrapping_sub(*first) >= times.len() {
            if times.is_empty() {
                *first = at;
                times.push(0);
            } else if at < *first {
                times.splice(0..0, std::iter::repeat_n(0, *first - at));
                *first = at;
            } else {
                times.resize(at - *first + 16, 0);
            }
        }
        times[at - *first] += duration;
    }

    /// Nanoseconds entered.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// The time-weighted mean.
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.product as f64 / self.total as f64)
    }

    /// Nanoseconds during which the quantity was at least `threshold`. The bin that the threshold cuts is taken as evenly filled.
    #[expect(clippy::cast_precision_loss, reason = "durations and byte counts")]
    pub fn at_least(&self, threshold: f64) -> f64 {
        let Some((first, times)) = self.bins.as_deref() else {
            return self.exact.iter().filter(|(v, _)| *v as f64 >= threshold).map(|&(_, t)| t as f64).sum();
        };
        let mut total = 0.0;
        for (n, &time) in times.iter().enumerate().filter(|(_, t)| **t > 0) {
            let (low, high) = edges(first + n);
            let (low, high) = (low as f64, high as f64);
            let share = if low >= threshold { 1.0 } else { ((high - threshold) / (high - low)).clamp(0.0, 1.0) };
            total += share * time as f64;
        }
        total
    }
}
