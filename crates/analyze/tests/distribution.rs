//! Distributions in bounded memory against the values themselves: exact while there are few, within
//! a bin beyond.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of a test"
)]

use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_analyze::{Distribution, TimeWeighted};

/// Values kept as they are.
const EXACT: usize = 64;
/// A bin is at most this share of its value wide.
const BIN: f64 = 1.0 / 64.0;

fn distribution(values: &[i64]) -> Distribution {
    let mut distribution = Distribution::default();
    for &value in values {
        distribution.add(value);
    }
    distribution
}

fn sorted(values: &[i64]) -> Vec<i64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted
}

/// Hyndman and Fan, type 7.
fn type_7(values: &[i64], q: f64) -> f64 {
    let sorted = sorted(values);
    let rank = (sorted.len() - 1) as f64 * q;
    let (low, high) = (sorted[rank.floor() as usize] as f64, sorted[rank.ceil() as usize] as f64);
    low + (rank - rank.floor()) * (high - low)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1.0)
}

/// Durations over many scales, as round trips and pauses are.
fn value() -> impl Strategy<Value = i64> {
    prop_oneof![
        0..200_i64,
        0..100_000_i64,
        1_000_000..40_000_000_i64,
        0..10_000_000_000_i64,
        Just(20_000_000)
    ]
}

proptest! {
    #[test]
    fn up_to_64_values_everything_is_exact(
        values in vec(value(), 1..=EXACT),
        q in 0.0..=1.0_f64,
        threshold in -10.0..1e10_f64,
    ) {
        let mut d = distribution(&values);
        prop_assert!(d.quantile(q).is_some_and(|x| close(x, type_7(&values, q))));
        let rank = ((values.len() - 1) as f64 * q).floor() as usize;
        prop_assert_eq!(d.nearest_rank(q), Some(sorted(&values)[rank] as f64));
        let over: Vec<i64> = values.iter().copied().filter(|&v| v as f64 > threshold).collect();
        prop_assert_eq!(
            d.above(threshold),
            (over.len() as f64, over.iter().map(|&v| v as f64).sum::<f64>())
        );
    }

    #[test]
    fn counts_sums_and_extremes_are_always_exact(values in vec(value(), 1..400)) {
        let d = distribution(&values);
        prop_assert_eq!(d.count(), values.len() as u64);
        prop_assert_eq!(d.sum(), values.iter().sum::<i64>());
        prop_assert_eq!(
            (d.min(), d.max()),
            (values.iter().min().copied(), values.iter().max().copied())
        );
        let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
        prop_assert!(d.mean().is_some_and(|m| close(m, mean)));
        let squares: f64 = values.iter().map(|&v| (v as f64 - mean).powi(2)).sum();
        let deviation = (squares / (values.len() as f64 - 1.0)).sqrt();
        prop_assert!(
            d.deviation().is_none_or(|s| (s - deviation).abs() <= 1e-6 * mean.max(1.0)),
            "{:?} and {}",
            d.deviation(),
            deviation
        );
        prop_assert_eq!(d.deviation().is_some(), values.len() > 1);
    }

    #[test]
    fn a_quantile_lies_within_a_bin_of_the_values_around_it(
        values in vec(value(), EXACT + 1..600),
        q in 0.0..=1.0_f64,
    ) {
        let mut d = distribution(&values);
        let sorted = sorted(&values);
        let rank = (sorted.len() - 1) as f64 * q;
        let (low, high) =
            (sorted[rank.floor() as usize] as f64, sorted[rank.ceil() as usize] as f64);
        let x = d.quantile(q).unwrap_or(f64::NAN);
        prop_assert!(
            x >= low * (1.0 - BIN) - 1.0 && x <= high * (1.0 + BIN) + 1.0,
            "{} is not between {} and {}",
            x,
            low,
            high
        );
        let nearest = d.nearest_rank(q).unwrap_or(f64::NAN);
        prop_assert!((nearest - low).abs() <= BIN * low + 1e-9, "{} is not {}", nearest, low);
    }

    /// Where values are dense the error is below 0.8 %.
    #[test]
    fn a_quantile_of_many_values_is_right(
        low in 1_000..1_000_000_i64,
        spread in 1_i64..20,
        q in 0.02..0.98_f64,
        n in 2_000..6_000_i64,
    ) {
        let values: Vec<i64> = (0..n).map(|k| low + low * spread * ((k * 7919) % n) / n).collect();
        let mut d = distribution(&values);
        let exact = type_7(&values, q);
        prop_assert!(d.quantile(q).is_some_and(|x| (x - exact).abs() <= 0.008 * exact));
    }

    #[test]
    fn what_lies_above_is_right_but_for_the_bin_that_is_cut(
        values in vec(value(), EXACT + 1..600),
        threshold in prop_oneof![0.0..300.0_f64, 0.0..5e7, 0.0..1e10],
    ) {
        let mut d = distribution(&values);
        let (n, sum) = d.above(threshold);
        let over = |limit: f64| {
            let over = values.iter().map(|&v| v as f64).filter(|&v| v > limit);
            over.fold((0.0, 0.0), |(n, sum), v| (n + 1.0, sum + v))
        };
        let (least, most) =
            (over(threshold * (1.0 + BIN) + 1.0), over(threshold * (1.0 - BIN) - 1.0));
        prop_assert!(
            least.0 - 1e-9 <= n && n <= most.0 + 1e-9,
            "{} values, between {} and {}",
            n,
            least.0,
            most.0
        );
        prop_assert!(
            least.1 * (1.0 - BIN) - 1.0 <= sum && sum <= most.1 * (1.0 + BIN) + most.0 + 1.0,
            "sum {}, between {} and {}",
            sum,
            least.1,
            most.1
        );
    }

    #[test]
    fn the_cumulative_distribution_rises_to_one(
        values in vec(value(), 1..500),
        most in 2_usize..100,
    ) {
        let mut d = distribution(&values);
        let points = d.cumulative(most);
        prop_assert!(points.len() <= most + 1);
        prop_assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
        prop_assert_eq!(points.last().map(|p| p.1), Some(1.0));
        for (value, share) in points {
            let below = |limit: f64| {
                values.iter().filter(|&&v| v as f64 <= limit).count() as f64 / values.len() as f64
            };
            prop_assert!(
                below(value * (1.0 - BIN) - 1.0) <= share + 1e-9
                    && share <= below(value * (1.0 + BIN) + 1.0) + 1e-9
            );
        }
    }

    #[test]
    fn negative_values_enter_as_zero(values in vec(-1_000_i64..1_000, 1..100)) {
        let clamped: Vec<i64> = values.iter().map(|&v| v.max(0)).collect();
        prop_assert_eq!(distribution(&values), distribution(&clamped));
    }
}

#[test]
fn an_empty_distribution_knows_nothing() {
    let mut d: Distribution = Distribution::default();
    assert_eq!((d.count(), d.min(), d.max(), d.mean(), d.deviation()), (0, None, None, None, None));
    assert_eq!((d.quantile(0.5), d.nearest_rank(0.5)), (None, None));
    assert_eq!(d.above(0.0), (0.0, 0.0));
    assert!(d.cumulative(10).is_empty());
}

#[test]
fn equal_values_have_that_quantile() {
    for n in [1, 64, 65, 10_000] {
        let mut d = distribution(&vec![20_000_000; n]);
        for q in [0.0, 0.1, 0.5, 0.99, 1.0] {
            assert_eq!((d.quantile(q), d.nearest_rank(q)), (Some(20e6), Some(20e6)), "{n} values");
        }
    }
}

// A quantity over time.

/// (value, nanoseconds it stood)
fn levels(most: usize) -> impl Strategy<Value = Vec<(u64, i64)>> {
    vec((prop_oneof![0..100_u64, 0..10_000_000_u64], -5..1_000_000_i64), 1..most)
}

fn weighted(levels: &[(u64, i64)]) -> TimeWeighted {
    let mut over_time = TimeWeighted::default();
    for &(value, duration) in levels {
        over_time.add(value, duration);
    }
    over_time
}

fn at_least(levels: &[(u64, i64)], threshold: f64) -> f64 {
    levels.iter().filter(|(v, d)| *v as f64 >= threshold && *d > 0).map(|(_, d)| *d as f64).sum()
}

proptest! {
    #[test]
    fn up_to_64_levels_the_time_is_exact(
        levels in levels(EXACT),
        threshold in prop_oneof![0.0..120.0_f64, 0.0..1e7],
    ) {
        prop_assert!(close(weighted(&levels).at_least(threshold), at_least(&levels, threshold)));
        for &(value, _) in &levels {
            prop_assert!(
                close(weighted(&levels).at_least(value as f64), at_least(&levels, value as f64)),
                "a level counts for its own threshold"
            );
        }
    }

    #[test]
    fn totals_and_means_are_always_exact(levels in levels(400)) {
        let over_time = weighted(&levels);
        let total: i64 = levels.iter().map(|(_, d)| (*d).max(0)).sum();
        prop_assert_eq!(over_time.total(), total);
        let product: f64 = levels.iter().map(|(v, d)| *v as f64 * (*d).max(0) as f64).sum();
        prop_assert_eq!(over_time.mean().is_some(), total > 0);
        prop_assert!(over_time.mean().is_none_or(|m| close(m, product / total as f64)));
    }

    #[test]
    fn beyond_them_it_is_right_but_for_the_bin_that_is_cut(
        levels in levels(600),
        threshold in prop_oneof![0.0..120.0_f64, 0.0..1e7],
    ) {
        let time = weighted(&levels).at_least(threshold);
        let (least, most) = (
            at_least(&levels, threshold * (1.0 + BIN) + 1.0),
            at_least(&levels, threshold * (1.0 - BIN) - 1.0),
        );
        prop_assert!(
            least - 1e-3 <= time && time <= most + 1e-3,
            "{} is not between {} and {}",
            time,
            least,
            most
        );
    }
}
