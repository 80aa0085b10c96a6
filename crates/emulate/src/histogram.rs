//! Counts of non-negative integers in bins that grow with the value.
//!
//! 64 bins per power of two (`trustbed_units::bins`), so a quantile is off by at most 1/128 of its
//! value; the largest value is exact. Only bins up to the largest value exist.

use serde::Serialize;
use trustbed_units::bins;

/// Bins per power of two, as a power of two.
const FINENESS: u32 = 6;

/// How often which value was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    most: u64,
}

/// How nanoseconds are spread; nothing where none were counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The mean, rounded down.
    pub mean_ns: Option<u64>,
    /// Half of them are not above it; as all quantiles within 1/128 of it.
    pub p50_ns: Option<u64>,
    /// 99 of 100 are not above it.
    pub p99_ns: Option<u64>,
    /// The largest, exactly.
    pub max_ns: Option<u64>,
}

impl Histogram {
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        let at = bins::index::<FINENESS>(value);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.most = self.most.max(value);
    }

    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.most)
    }

    /// The quantile `permille`/1000: the middle of its bin.
    pub(crate) fn quantile(&self, permille: u64) -> Option<u64> {
        let rank = u64::try_from((u128::from(self.count) * u128::from(permille)).div_ceil(1000))
            .unwrap_or(u64::MAX)
            .max(1);
        if rank >= self.count {
            return self.max();
        }
        let mut seen = 0;
        let at = self.counts.iter().position(|&count| {
            seen += count;
            seen >= rank
        })?;
        let (low, width) = bins::extent::<FINENESS>(at);
        Some(u64::midpoint(low, (low + (width - 1)).min(self.most)))
    }

    pub(crate) fn spread(&self) -> Spread {
        let mean =
            self.sum.checked_div(u128::from(self.count)).and_then(|mean| u64::try_from(mean).ok());
        Spread {
            mean_ns: mean,
            p50_ns: self.quantile(500),
            p99_ns: self.quantile(990),
            max_ns: self.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;
    use proptest::prelude::*;

    proptest! {

        #[test]
        fn quantiles_are_those_of_the_sorted_values(
            drawn in prop::collection::vec((0..40_u32, any::<u32>()), 1..200),
        ) {
            let values: Vec<u64> =
                drawn.into_iter().map(|(shift, value)| (u64::from(value) << 8) >> shift).collect();
            let mut histogram = Histogram::default();
            for value in &values {
                histogram.add(*value);
            }
            let mut sorted = values.clone();
            sorted.sort_unstable();
            for permille in [1, 500, 900, 990, 1000] {
                let exact = sorted[(values.len() * permille).div_ceil(1000).max(1) - 1];
                let found = histogram.quantile(permille as u64).unwrap();
                prop_assert!(found.abs_diff(exact) <= exact / 64, "{found} instead of {exact}");
            }
            prop_assert_eq!(histogram.spread().max_ns, sorted.last().copied());
            prop_assert_eq!(
                histogram.spread().mean_ns,
                Some(values.iter().sum::<u64>() / values.len() as u64)
            );
        }
    }

    #[test]
    fn no_bin_is_ever_full() {
        let most = u32::MAX.into();
        let mut histogram = Histogram { counts: vec![most], count: most, ..Histogram::default() };
        histogram.add(0);
        assert_eq!(histogram.counts[0], histogram.count);
    }

    #[test]
    fn no_packets_no_result() {
        assert_eq!(Histogram::default().spread(), super::Spread::default());
    }
}
