//! Counts of non-negative integers in bins that grow with the value; mergeable by addition.
//!
//! Bins are linear within each power of two, 128 of them, and hold one value each below 128: a
//! value is known to better than 1/128 of itself, and its bin needs no logarithm, so it is the same
//! on every machine. The whole range of 64 bits is 58 · 128 bins of 8 bytes; only those up to the
//! largest value exist.

use trustbed_units::bins;

/// Bins per power of two, as a power of two.
const FINENESS: u32 = 7;

/// How often which value was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// Nothing seen yet.
    pub const fn new() -> Self {
        Self { counts: Vec::new(), count: 0, sum: 0, least: u64::MAX, most: 0 }
    }

    /// A value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let at = bins::index::<FINENESS>(value);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// All values of another.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, more)| *own += more);
        self.count += other.count;
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// How many values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum, exactly.
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// The smallest, exactly.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.least)
    }

    /// The largest, exactly.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.most)
    }

    /// The mean, rounded only in the division.
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The smallest and the largest value that the bin of the quantile `q` (0…1) can hold. Within
    /// them lies the smallest value that at least a share of `q` of all values does not exceed;
    /// they are equal below 128 and at both ends.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank is between 1 and the count"
    )]
    pub fn quantile_bounds(&self, q: f64) -> Option<(u64, u64)> {
        if self.count == 0 {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).clamp(1, self.count);
        if rank == self.count {
            return Some((self.most, self.most));
        }
        if rank == 1 {
            return Some((self.least, self.least));
        }
        let mut seen = 0;
        let at = self.counts.iter().position(|&count| {
            seen += count;
            seen >= rank
        })?;
        let (low, high) = edges(at);
        Some((low.max(self.least), high.min(self.most)))
    }

    /// The quantile `q` (0…1): the middle of [`quantile_bounds`](Self::quantile_bounds), off by at
    /// most 1/256 of the value.
    #[expect(clippy::cast_precision_loss, reason = "a quantile of bins is a float")]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.quantile_bounds(q).map(|(low, high)| f64::midpoint(low as f64, high as f64))
    }

    /// Points (value, share of all values that do not exceed it) of the cumulative distribution, at
    /// most `most` (at least two): every share is exact for its value. Where there are more, every
    /// n-th is taken, and the last one, where the share is 1.
    #[expect(clippy::cast_precision_loss, reason = "shares are floats")]
    pub fn cumulative(&self, most: usize) -> Vec<(u64, f64)> {
        let filled = self.counts.iter().filter(|&&count| count > 0).count();
        let stride = filled.div_ceil(most.max(2).saturating_sub(1)).max(1);
        let mut seen = 0;
        let mut points = Vec::with_capacity(filled.div_ceil(stride) + 1);
        for (rank, (at, &count)) in
            self.counts.iter().enumerate().filter(|&(_, &count)| count > 0).enumerate()
        {
            seen += count;
            if rank % stride == 0 || rank + 1 == filled {
                points.push((edges(at).1.min(self.most), seen as f64 / self.count as f64));
            }
        }
        points
    }
}

/// The smallest and the largest value that fall into a bin.
fn edges(index: usize) -> (u64, u64) {
    let (low, width) = bins::extent::<FINENESS>(index);
    (low, low + (width - 1))
}
