//! The Haar energy of a series of bins, octave by octave: on which time scales the traffic varies.
//!
//! Octave *j* compares neighbouring blocks of 2^(*j*−1) bins. Beginning with the bins themselves,
//! `d = (left − right)/√2` is the coefficient of two neighbours and `a = (left + right)/√2` their
//! block at the next octave (Haar wavelet, L2 normalisation); the energy is log2 of the mean of
//! `d²`. Independent bins of variance v have energy log2 v at every octave.
//!
//! Kept are not these but the integer sums of blocks, 2^(*j*/2) times as large, and the sum of
//! their squared differences in 128 bits. So nothing is rounded, and joining two halves gives the
//! very same numbers as one pass, wherever the cut was. Blocks are aligned to the epoch, as the
//! bins are; a block of which only a part was seen contributes nothing. It never overflows while
//! the sum of all bins is below 2⁶⁴: then Σd² ≤ (Σ|d|)² < 2¹²⁸.

use crate::bins::{Bin, BinSink, MergeableSink};
use crate::logscale::Octave;

/// Sums of blocks and Σd² per octave over a stretch of bins; mergeable. Memory: some 80 bytes for
/// each of at most 64 octaves.
///
/// ```
/// use trustbed_burst::HaarEnergy;
/// let mut energy = HaarEnergy::starting_at(0);
/// for bin in [3, 5, 0, 0, 12, 9, 1, 4] {
///     energy.push(bin);
/// }
/// let octaves = energy.octaves();
/// assert_eq!((octaves[0].count, octaves[1].count, octaves[2].count), (4, 2, 1));
/// assert!((octaves[2].mean_square - (8.0 - 26.0_f64).powi(2) / 8.0).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HaarEnergy {
    start: Option<i64>,
    levels: Vec<HaarLevel>,
}

/// The blocks of 2ⁿ bins, n from 0: which were seen whole, and those that still lack their
/// neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HaarLevel {
    /// The number of the first block seen; block k holds bins k·2ⁿ to (k + 1)·2ⁿ − 1.
    pub low: i64,
    /// The number of the block behind the last one seen.
    pub high: i64,
    /// The sum of block `low`, if its left neighbour belongs to an earlier stretch.
    pub left: Option<u64>,
    /// The sum of block `high − 1`, if its right neighbour has yet to come.
    pub right: Option<u64>,
    /// Pairs of blocks compared: coefficients of octave n + 1.
    pub pairs: u64,
    /// The squared differences of their sums, 2ⁿ⁺¹ times the squares of the coefficients.
    pub squares: u128,
}

impl HaarLevel {
    const fn beginning(at: i64) -> Self {
        Self { low: at, high: at, left: None, right: None, pairs: 0, squares: 0 }
    }

    /// Compares two neighbours; returns the sum of both.
    #[inline]
    fn pair(&mut self, left: u64, right: u64) -> u64 {
        let difference = u128::from(left.abs_diff(right));
        self.pairs += 1;
        self.squares += difference * difference;
        left + right
    }

    /// The next block. Returns the sum of the pair that it completes.
    #[inline]
    fn push(&mut self, block: u64) -> Option<u64> {
        let at = self.high;
        self.high += 1;
        if at & 1 == 0 {
            self.right = Some(block);
            None
        } else if let Some(left) = self.right.take() {
            Some(self.pair(left, block))
        } else {
            self.left = Some(block);
            None
        }
    }

    /// The next `count` blocks are 0. Returns what follows at the next level: at most one block
    /// that is not 0, and then how many that are.
    fn silence(&mut self, count: u64) -> (Option<u64>, u64) {
        let (mut first, mut rest) = (None, count);
        if self.high & 1 == 1 && rest > 0 {
            first = self.push(0);
            rest -= 1;
        }
        self.pairs += rest / 2;
        self.high = self.high.wrapping_add_unsigned(rest / 2 * 2);
        if rest % 2 == 1 {
            self.high += 1;
            self.right = Some(0);
        }
        (first, rest / 2)
    }
}

impl HaarEnergy {
    /// Nothing seen yet; the first bin sets where the series begins.
    pub const fn new() -> Self {
        Self { start: None, levels: Vec::new() }
    }

    /// Nothing seen yet of a series whose first bin has that number.
    pub const fn starting_at(index: i64) -> Self {
        Self { start: Some(index), levels: Vec::new() }
    }

    /// The next bin.
    #[inline]
    pub fn push(&mut self, amount: u64) {
        self.push_at(0, amount);
    }

    /// The next `count` bins are empty. Time O(log `count`), however many they are.
    pub fn push_silence(&mut self, count: u64) {
        let (mut level, mut count) = (0, count);
        while count > 0 {
            let (block, rest) = self.level(level).silence(count);
            level += 1;
            count = rest;
            if let Some(block) = block {
                // At the next level this one block comes in front of the silence.
                self.push_at(level, block);
            }
        }
    }

    #[inline]
    fn push_at(&mut self, mut level: usize, mut block: u64) {
        while let Some(sum) = self.level(level).push(block) {
            block = sum;
            level += 1;
        }
    }

    /// The level of that number, which begins with its first block.
    #[inline]
    fn level(&mut self, number: usize) -> &mut HaarLevel {
        if number == self.levels.len() {
            let low = match self.levels.last() {
                None => self.start.unwrap_or(0),
                Some(below) => (below.low >> 1) + (below.low & 1),
            };
            self.levels.push(HaarLevel::beginning(low));
        }
        &mut self.levels[number]
    }

    /// The number of the bin behind the last one seen.
    fn end(&self) -> Option<i64> {
        self.levels.first().map(|bins| bins.high).or(self.start)
    }

    /// All octaves with at least one coefficient, the finest first.
    ///
    /// Σd² of octave *j* is 2^*j* times too large as it is kept, which is made good here.
    #[expect(
        clippy::cast_precision_loss,
        reason = "from here on a mean is a float; 53 bits of it are right"
    )]
    pub fn octaves(&self) -> Vec<Octave> {
        let numbered = (1_u16..).zip(self.levels.iter().filter(|level| level.pairs > 0));
        let octave = |(number, level): (u16, &HaarLevel)| Octave {
            octave: u32::from(number),
            count: level.pairs,
            mean_square: level.squares as f64 / 2_f64.powi(i32::from(number)) / level.pairs as f64,
        };
        numbered.map(octave).collect()
    }

    /// What is kept, exactly: blocks of 1, 2, 4, … bins.
    pub fn levels(&self) -> &[HaarLevel] {
        &self.levels
    }
}

impl BinSink for HaarEnergy {
    #[inline]
    fn bin(&mut self, bin: Bin) {
        self.start.get_or_insert(bin.index);
        debug_assert_eq!(self.end(), Some(bin.index), "bins come without a hole");
        self.push(bin.amount);
    }

    fn silence(&mut self, from: i64, count: u64) {
        self.start.get_or_insert(from);
        debug_assert_eq!(self.end(), Some(from), "bins come without a hole");
        self.push_silence(count);
    }
}

impl MergeableSink for HaarEnergy {
    /// Joins the energies of the bins that follow. At each level at most one pair lies across the
    /// seam: the last block here that waits for its right neighbour, the pair that the level below
    /// has just completed, and the first block there that waits for its left one are neighbours.
    ///
    /// # Panics
    /// When `later` does not begin with the bin behind the last one here.
    fn append(&mut self, later: Self) {
        if later.levels.is_empty() {
            return;
        }
        assert!(
            self.end().is_none_or(|end| end == later.levels[0].low),
            "energies are joined without a hole"
        );
        if self.levels.is_empty() {
            *self = later;
            return;
        }
        let mut carried = None;
        let mut number = 0;
        while number < self.levels.len().max(later.levels.len()) || carried.is_some() {
            let after = later.levels.get(number);
            let joined = self.level(number);
            carried = joined.join(carried, after);
            number += 1;
        }
    }
}

impl HaarLevel {
    /// Appends `carried`, the block that the seam completed, and then all of `after`. Returns the
    /// sum of the pair across the seam.
    fn join(&mut self, carried: Option<u64>, after: Option<&Self>) -> Option<u64> {
        let mut sum = None;
        for block in carried.into_iter().chain(after.and_then(|level| level.left)) {
            let completed = self.push(block);
            debug_assert!(
                sum.is_none() || completed.is_none(),
                "at most one pair lies across a seam"
            );
            sum = completed.or(sum);
        }
        if let Some(after) = after {
            self.pairs += after.pairs;
            self.squares += after.squares;
            debug_assert!(
                self.right.is_none(),
                "the neighbour of a block that waits is the first block behind the seam"
            );
            self.high = after.high;
            self.right = after.right;
        }
        sum
    }
}
