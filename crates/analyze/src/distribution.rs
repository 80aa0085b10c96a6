//! A distribution of durations or rates in bounded memory: every value up to 64 of them, then a
//! histogram.
//!
//! Bins are linear within each power of two, 64 of them (2^F), so that a bin is at most 1/64 of its
//! value wide (a quantile is off by at most 0.8 %) and its index needs no logarithm: the same on
//! every machine. Bins merge by addition.

use crate::bins::{edges, grow, index, steps};

/// Values kept as they are.
const EXACT: usize = 64;
/// Of them without an allocation of their own; most transfers are short.
const FEW: usize = 8;
/// Room for those that follow at first.
const SOME: usize = 24;

/// Values with counts. Nothing is allocated before the first of them: of a short transfer most
/// distributions stay empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distribution<const F: u32 = 6> {
    kept: Option<Box<Kept>>,
}

/// What a distribution knows of its values: one at least.
#[derive(Debug, Clone, PartialEq)]
struct Kept {
    n: u64,
    sum: i64,
    squares: f64,
    min: i64,
    max: i64,
    values: Values,
}

#[derive(Debug, Clone, PartialEq)]
enum Values {
    /// The first ones, as many as were counted.
    Few([i64; FEW]),
    Exact(Vec<i64>),
    Binned(Box<[Bin]>, usize),
}

impl Default for Kept {
    fn default() -> Self {
        let values = Values::Few([0; FEW]);
        Self { n: 0, sum: 0, squares: 0.0, min: i64::MAX, max: 0, values }
    }
}

/// How many values fell into a bin, and where in it: with its edges, their sum.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bin {
    count: u32,
    /// Distances from the lower edge, in steps of 1/2^F of the bin's width, summed.
    excess: u32,
}

impl Bin {
    /// Sum of the values of the bin with this number. Where a step is more than one value: its
    /// middle is taken.
    #[expect(clippy::cast_precision_loss, reason = "edges of bins")]
    fn sum<const F: u32>(self, number: usize) -> f64 {
        let (low, high) = edges::<F>(number);
        let (width, steps) = ((high - low) as f64, f64::from(1_u32 << F));
        let middle = if width > steps { 0.5 - 0.5 * steps / width } else { 0.0 };
        let count = f64::from(self.count);
        count * low as f64 + (f64::from(self.excess) + count * middle) * width / steps
    }
}

/// Bins from number `first` on.
struct Bins<'a, const F: u32> {
    first: usize,
    bins: &'a [Bin],
}

impl<const F: u32> Distribution<F> {
    /// Enters a value; negative values are entered as 0.
    #[inline]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a sum of squares for a standard deviation; an index below eight"
    )]
    pub fn add(&mut self, value: i64) {
        let value = value.max(0);
        let kept = self.kept.get_or_insert_default();
        kept.min = kept.min.min(value);
        kept.max = kept.max.max(value);
        kept.sum = kept.sum.saturating_add(value);
        kept.squares += value as f64 * value as f64;
        match &mut kept.values {
            Values::Binned(bins, first) => enter::<F>(bins, first, value.unsigned_abs()),
            Values::Few(few) if kept.n < FEW as u64 => few[kept.n as usize] = value,
            Values::Exact(exact) if exact.len() < EXACT => {
                if exact.len() == exact.capacity() {
                    exact.reserve_exact(EXACT - exact.len());
                }
                exact.push(value);
            }
            _ => kept.spill::<F>(value),
        }
        kept.n += 1;
    }

    /// Bytes on the heap.
    pub fn held_bytes(&self) -> usize {
        let Some(kept) = self.kept() else { return 0 };
        size_of::<Kept>()
            + match &kept.values {
                Values::Few(_) => 0,
                Values::Exact(exact) => exact.capacity() * size_of::<i64>(),
                Values::Binned(bins, _) => size_of_val(&**bins),
            }
    }

    fn kept(&self) -> Option<&Kept> {
        self.kept.as_deref()
    }

    /// The bins, or the values in ascending order.
    fn bins(&mut self) -> Result<Bins<'_, F>, &[i64]> {
        let Some(kept) = &mut self.kept else { return Err(&[]) };
        let exact = match &mut kept.values {
            Values::Binned(bins, first) => return Ok(Bins { first: *first, bins }),
            Values::Few(few) => &mut few[..usize::try_from(kept.n).unwrap_or(FEW).min(FEW)],
            Values::Exact(exact) => exact.as_mut_slice(),
        };
        exact.sort_unstable();
        Err(exact)
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.kept().map_or(0, |kept| kept.n)
    }

    /// Their sum.
    pub fn sum(&self) -> i64 {
        self.kept().map_or(0, |kept| kept.sum)
    }

    /// The smallest.
    #[inline]
    pub fn min(&self) -> Option<i64> {
        self.kept().map(|kept| kept.min)
    }

    /// The largest.
    pub fn max(&self) -> Option<i64> {
        self.kept().map(|kept| kept.max)
    }

    /// The mean.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn mean(&self) -> Option<f64> {
        self.kept().map(|kept| kept.sum as f64 / kept.n as f64)
    }

    /// The standard deviation with n − 1.
    #[expect(clippy::cast_precision_loss, reason = "a deviation is a float")]
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        let kept = self.kept().filter(|kept| kept.n > 1)?;
        let n = kept.n as f64;
        Some(((kept.squares - n * mean * mean).max(0.0) / (kept.n - 1) as f64).sqrt())
    }

    /// The quantile `q` (0…1) by linear interpolation between order statistics (Hyndman and Fan,
    /// type 7).
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ranks are small and not negative"
    )]
    pub fn quantile(&mut self, q: f64) -> Option<f64> {
        let kept = self.kept()?;
        let (least, most) = (kept.min as f64, kept.max as f64);
        let rank = (kept.n - 1) as f64 * q.clamp(0.0, 1.0);
        let sorted = match self.bins() {
            Ok(bins) => return Some(bins.at_rank(rank).clamp(least, most)),
            Err(exact) => exact,
        };
        let low = rank.floor() as usize;
        let high = (low + 1).min(sorted.len() - 1);
        Some(sorted[low] as f64 + (rank - rank.floor()) * (sorted[high] - sorted[low]) as f64)
    }

    /// The value at rank ⌊(n − 1)·q⌋: nearest rank, no interpolation; from bins, the mean of the
    /// bin that holds it.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "ranks are small and not negative"
    )]
    pub fn nearest_rank(&mut self, q: f64) -> Option<f64> {
        let kept = self.kept()?;
        let (least, most) = (kept.min as f64, kept.max as f64);
        let rank = ((kept.n - 1) as f64 * q.clamp(0.0, 1.0)).floor();
        let sorted = match self.bins() {
            Ok(bins) => return Some(bins.mean_at_rank(rank).clamp(least, most)),
            Err(exact) => exact,
        };
        Some(sorted[rank as usize] as f64)
    }

    /// Number and sum of the values above `threshold`. The bin that the threshold cuts is taken as
    /// evenly filled.
    pub fn above(&mut self, threshold: f64) -> (f64, f64) {
        if let Some(kept) = self.kept().filter(|kept| as_f64(kept.min) > threshold) {
            return (count_f64(kept.n), as_f64(kept.sum));
        }
        match self.bins() {
            Ok(bins) => bins.above(threshold),
            Err(exact) => {
                let over = exact.iter().filter(|&&v| as_f64(v) > threshold);
                over.fold((0.0, 0.0), |(n, sum), &v| (n + 1.0, sum + as_f64(v)))
            }
        }
    }

    /// Points of the cumulative distribution: (value, share of values not above it), at most `most`
    /// of them.
    #[expect(clippy::cast_precision_loss, reason = "shares are floats")]
    pub fn cumulative(&mut self, most: usize) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        let whole = self.count() as f64;
        match self.bins() {
            Ok(bins) => {
                let mut seen = 0_u64;
                for (n, bin) in bins.bins.iter().enumerate().filter(|(_, b)| b.count > 0) {
                    seen += u64::from(bin.count);
                    let (low, high) = edges::<F>(bins.first + n);
                    points.push(((low + high) as f64 / 2.0, seen as f64 / whole));
                }
            }
            Err(exact) => {
                points.extend(
                    exact
                        .iter()
                        .enumerate()
                        .map(|(n, value)| (*value as f64, (n + 1) as f64 / whole)),
                );
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

impl Kept {
    /// Goes over to room for more values, or to bins.
    #[cold]
    fn spill<const F: u32>(&mut self, value: i64) {
        let old = match &self.values {
            Values::Few(few) => few.as_slice(),
            Values::Exact(exact) => exact,
            Values::Binned(..) => return,
        };
        if old.len() < EXACT {
            let mut exact = Vec::with_capacity(SOME);
            exact.extend_from_slice(old);
            exact.push(value);
            self.values = Values::Exact(exact);
            return;
        }
        let (mut bins, mut first) = (Box::default(), 0);
        grow(&mut bins, &mut first, index::<F>(self.min.unsigned_abs()));
        grow(&mut bins, &mut first, index::<F>(self.max.unsigned_abs()));
        for &old in old.iter().chain([&value]) {
            enter::<F>(&mut bins, &mut first, old.unsigned_abs());
        }
        self.values = Values::Binned(bins, first);
    }
}

/// Enters a value into bins that begin with number `first`, and makes room for it where there is
/// none.
#[inline]
fn enter<const F: u32>(bins: &mut Box<[Bin]>, first: &mut usize, value: u64) {
    let at = index::<F>(value);
    if at.wrapping_sub(*first) >= bins.len() {
        grow(bins, first, at);
    }
    let bin = &mut bins[at - *first];
    bin.count = bin.count.saturating_add(1);
    bin.excess = bin.excess.saturating_add(steps::<F>(value));
}

impl<const F: u32> Bins<'_, F> {
    #[expect(clippy::cast_precision_loss, reason = "positions within a bin")]
    fn at_rank(&self, rank: f64) -> f64 {
        let mut below = 0.0;
        for (n, bin) in self.bins.iter().enumerate() {
            let count = f64::from(bin.count);
            if count > 0.0 && below + count > rank {
                let (low, high) = edges::<F>(self.first + n);
                let width = (high - low) as f64;
                return low as f64 + width * ((rank - below + 0.5) / count).min(1.0);
            }
            below += count;
        }
        self.bins
            .iter()
            .rposition(|b| b.count > 0)
            .map_or(0.0, |n| edges::<F>(self.first + n).1 as f64)
    }

    fn mean_at_rank(&self, rank: f64) -> f64 {
        let mut below = 0.0;
        let mut mean = 0.0;
        for (n, bin) in self.bins.iter().enumerate().filter(|(_, b)| b.count > 0) {
            mean = bin.sum::<F>(self.first + n) / f64::from(bin.count);
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
            let (low, high) = edges::<F>(self.first + n);
            let (low, high) = (low as f64, high as f64);
            let share = if low > threshold {
                1.0
            } else {
                ((high - threshold) / (high - low)).clamp(0.0, 1.0)
            };
            total += share * f64::from(bin.count);
            sum += if share >= 1.0 {
                bin.sum::<F>(self.first + n)
            } else {
                share * f64::from(bin.count) * f64::midpoint(threshold.max(low), high)
            };
        }
        (total, sum)
    }
}

#[expect(clippy::cast_precision_loss, reason = "durations and rates below 2⁵³")]
fn as_f64(value: i64) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2⁵³")]
fn count_f64(value: u64) -> f64 {
    value as f64
}
