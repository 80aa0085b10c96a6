//! A distribution of durations or rates in bounded memory: every value up to 64 of them, then a histogram.
//!
//! Bins are linear within each power of two, 128 of them, so that a bin is at most 1/128 of its value wide (a quantile is
//! off by at most 0.4 %) and its index needs no logarithm: the same on every machine. Bins merge by addition.

/// Values kept as they are.
const EXACT: usize = 64;
/// Room for values at first; most transfers are short.
const FEW: usize = 8;
/// Bins per power of two, as a power of two.
const FINENESS: u32 = 7;
const PER_OCTAVE: u64 = 1 << FINENESS;

/// Values with counts, and the sum of the values in each bin. Two cache lines: one that is written for nearly every packet, and the
/// last few values, which enter their bins together, so that the memory of eight bins is waited for once.
#[derive(Debug, Clone, Default, PartialEq)]
#[repr(C, align(64))]
pub struct Distribution {
    n: u64,
    sum: i64,
    squares: f64,
    min: i64,
    max: i64,
    values: Values,
    waiting: [u64; WAITING],
    waits: usize,
}

/// Values that wait to enter their bins.
const WAITING: usize = 8;

#[derive(Debug, Clone, PartialEq)]
enum Values {
    Exact(Vec<i64>),
    Binned(Box<[Bin]>, usize),
}

impl Default for Values {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

/// How many values fell into a bin, and their sum.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bin {
    count: u32,
    sum: u64,
}

/// Bins from number `first` on.
struct Bins<'a> {
    first: usize,
    bins: &'a [Bin],
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
        match &mut self.values {
            Values::Binned(bins, first) => {
                if self.waits == WAITING {
                    self.waiting.iter().for_each(|&value| enter(bins, first, value));
                    self.waits = 0;
                }
                self.waiting[self.waits] = value.unsigned_abs();
                self.waits += 1;
            }
            Values::Exact(exact) if exact.len() < EXACT => {
                if exact.len() == exact.capacity() {
                    exact.reserve_exact(if exact.is_empty() { FEW } else { EXACT - exact.len() });
                }
                exact.push(value);
            }
            Values::Exact(_) => self.bin(value),
        }
    }

    /// Goes over from values to bins.
    #[cold]
    fn bin(&mut self, value: i64) {
        let (mut bins, mut first) = (Box::default(), 0);
        grow(&mut bins, &mut first, index(self.min.unsigned_abs()));
        grow(&mut bins, &mut first, index(self.max.unsigned_abs()));
        if let Values::Exact(exact) = &self.values {
            for &old in exact.iter().chain([&value]) {
                enter(&mut bins, &mut first, old.unsigned_abs());
            }
        }
        self.values = Values::Binned(bins, first);
    }

    /// The bins, with everything that waited entered, or the values in ascending order.
    fn bins(&mut self) -> Result<Bins<'_>, &[i64]> {
        match &mut self.values {
            Values::Binned(bins, first) => {
                self.waiting[..self.waits].iter().for_each(|&value| enter(bins, first, value));
                self.waits = 0;
                Ok(Bins { first: *first, bins })
            }
            Values::Exact(exact) => {
                exact.sort_unstable();
                Err(exact)
            }
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
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ranks are small and not negative"
    )]
    pub fn quantile(&mut self, q: f64) -> Option<f64> {
        if self.n == 0 {
            return None;
        }
        let rank = (self.n - 1) as f64 * q.clamp(0.0, 1.0);
        let (least, most) = (self.min as f64, self.max as f64);
        let sorted = match self.bins() {
            Ok(bins) => return Some(bins.at_rank(rank).clamp(least, most)),
            Err(exact) => exact,
        };
        let low = rank.floor() as usize;
        let high = (low + 1).min(sorted.len() - 1);
        Some(sorted[low] as f64 + (rank - rank.floor()) * (sorted[high] - sorted[low]) as f64)
    }

    /// The value at rank ⌊(n − 1)·q⌋: nearest rank, no interpolation; from bins, the mean of the bin that holds it.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ranks are small and not negative"
    )]
    pub fn nearest_rank(&mut self, q: f64) -> Option<f64> {
        if self.n == 0 {
            return None;
        }
        let rank = ((self.n - 1) as f64 * q.clamp(0.0, 1.0)).floor();
        let sorted = match self.bins() {
            Ok(bins) => return Some(bins.mean_at_rank(rank)),
            Err(exact) => exact,
        };
        Some(sorted[rank as usize] as f64)
    }

    /// Number and sum of the values above `threshold`. The bin that the threshold cuts is taken as evenly filled.
    pub fn above(&mut self, threshold: f64) -> (f64, f64) {
        if self.n > 0 && as_f64(self.min) > threshold {
            return (count_f64(self.n), as_f64(self.sum));
        }
        match self.bins() {
            Ok(bins) => bins.above(threshold),
            Err(exact) => {
                let over = exact.iter().filter(|&&v| as_f64(v) > threshold);
                over.fold((0.0, 0.0), |(n, sum), &v| (n + 1.0, sum + as_f64(v)))
            }
        }
    }

    /// Points of the cumulative distribution: (value, share of values not above it), at most `most` of them.
    #[expect(clippy::cast_precision_loss, reason = "shares are floats")]
    pub fn cumulative(&mut self, most: usize) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        let whole = self.n as f64;
        match self.bins() {
            Ok(bins) => {
                let mut seen = 0_u64;
                for (n, bin) in bins.bins.iter().enumerate().filter(|(_, b)| b.count > 0) {
                    seen += u64::from(bin.count);
                    let (low, high) = edges(bins.first + n);
                    points.push(((low + high) as f64 / 2.0, seen as f64 / whole));
                }
            }
            Err(exact) => {
                points.extend(exact.iter().enumerate().map(|(n, value)| (*value as f64, (n + 1) as f64 / whole)));
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

/// Enters a value into bins that begin with number `first`, and makes room for it where there is none.
#[inline]
fn enter(bins: &mut Box<[Bin]>, first: &mut usize, value: u64) {
    let at = index(value);
    if at.wrapping_sub(*first) >= bins.len() {
        grow(bins, first, at);
    }
    let bin = &mut bins[at - *first];
    bin.count = bin.count.saturating_add(1);
    bin.sum += value;
}

/// Makes room for bin `at` with some to spare on that side.
#[cold]
fn grow<T: Copy + Default>(bins: &mut Box<[T]>, first: &mut usize, at: usize) {
    const SPARE: usize = 64;
    let (from, to) = if bins.is_empty() {
        (at.saturating_sub(SPARE / 2), at + SPARE / 2)
    } else if (*first..*first + bins.len()).contains(&at) {
        return;
    } else if at < *first {
        (at.saturating_sub(SPARE), *first + bins.len())
    } else {
        (*first, at + SPARE)
    };
    let mut wider = vec![T::default(); to - from];
    if !bins.is_empty() {
        wider[*first - from..*first - from + bins.len()].copy_from_slice(bins);
    }
    *bins = wider.into_boxed_slice();
    *first = from;
}

impl Bins<'_> {
    #[expect(clippy::cast_precision_loss, reason = "positions within a bin")]
    fn at_rank(&self, rank: f64) -> f64 {
        let mut below = 0.0;
        for (n, bin) in self.bins.iter().enumerate() {
            let count = f64::from(bin.count);
            if count > 0.0 && below + count > rank {
                let (low, high) = edges(self.first + n);
                let width = (high - low) as f64;
                return low as f64 + width * ((rank - below + 0.5) / count).min(1.0);
            }
            below += count;
        }
        self.bins.iter().rposition(|b| b.count > 0).map_or(0.0, |n| edges(self.first + n).1 as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    fn mean_at_rank(&self, rank: f64) -> f64 {
        let mut below = 0.0;
        let mut mean = 0.0;
        for bin in self.bins.iter().filter(|b| b.count > 0) {
            mean = bin.sum as f64 / f64::from(bin.count);
            below += f64::from(bin.count);
            if below > rank {
                break;
            }
        }
        mean
    }

    #[expect(clippy::cast_precision_loss, reason = "sums of nanoseconds")]
    fn above(&self, threshold: f64) -> (f64, f64) {
        let (mut total, mut sum) = (0.0, 0.0);
        for (n, bin) in self.bins.iter().enumerate().filter(|(_, b)| b.count > 0) {
            let (low, high) = edges(self.first + n);
            let (low, high) = (low as f64, high as f64);
            let share = if low > threshold { 1.0 } else { ((high - threshold) / (high - low)).clamp(0.0, 1.0) };
            total += share * f64::from(bin.count);
            sum += if share >= 1.0 { bin.sum as f64 } else { share * f64::from(bin.count) * f64::midpoint(threshold.max(low), high) };
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

/// A quantity over time: how long it had which value. One cache line.
#[derive(Debug, Clone, Default, PartialEq)]
#[repr(align(64))]
pub struct TimeWeighted {
    total: i64,
    product: f64,
    levels: Levels,
}

#[derive(Debug, Clone, PartialEq)]
enum Levels {
    Exact(Vec<(u64, i64)>),
    Binned(Box<[i64]>, usize),
}

impl Default for Levels {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl TimeWeighted {
    /// The quantity had `value` for `duration` nanoseconds.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn add(&mut self, value: u64, duration: i64) {
        if duration <= 0 {
            return;
        }
        self.total += duration;
        self.product += value as f64 * duration as f64;
        match &mut self.levels {
            Levels::Binned(times, first) => enter_time(times, first, value, duration),
            Levels::Exact(exact) => {
                if let Some(last) = exact.last_mut()
                    && last.0 == value
                {
                    last.1 += duration;
                } else if exact.len() < EXACT {
                    exact.push((value, duration));
                } else {
                    self.bin(value, duration);
                }
            }
        }
    }

    /// Goes over from values to bins.
    #[cold]
    fn bin(&mut self, value: u64, duration: i64) {
        let (mut times, mut first) = (Box::default(), 0);
        if let Levels::Exact(exact) = &self.levels {
            let (least, most) = exact.iter().fold((value, value), |(a, b), &(v, _)| (a.min(v), b.max(v)));
            grow(&mut times, &mut first, index(least));
            grow(&mut times, &mut first, index(most));
            for &(value, duration) in exact.iter().chain([&(value, duration)]) {
                enter_time(&mut times, &mut first, value, duration);
            }
        }
        self.levels = Levels::Binned(times, first);
    }

    /// Nanoseconds entered.
    pub fn total(&self) -> i64 {
        self.total
    }

    /// The time-weighted mean.
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.product / self.total as f64)
    }

    /// Nanoseconds during which the quantity was at least `threshold`. The bin that the threshold cuts is taken as evenly filled.
    #[expect(clippy::cast_precision_loss, reason = "durations and byte counts")]
    pub fn at_least(&self, threshold: f64) -> f64 {
        let (times, first) = match &self.levels {
            Levels::Binned(times, first) => (times, *first),
            Levels::Exact(exact) => return exact.iter().filter(|(v, _)| *v as f64 >= threshold).map(|&(_, t)| t as f64).sum(),
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

#[inline]
fn enter_time(times: &mut Box<[i64]>, first: &mut usize, value: u64, duration: i64) {
    let at = index(value);
    if at.wrapping_sub(*first) >= times.len() {
        grow(times, first, at);
    }
    times[at - *first] += duration;
}
