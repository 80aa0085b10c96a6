//! Quantiles and cumulative points against sorted values.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod random;

use random::{Random, pieces};
use trustbed_burst::Histogram;

fn histogram(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for &value in values {
        histogram.add(value);
    }
    histogram
}

fn values(random: &mut Random) -> Vec<u64> {
    let count = 1 + random.index(500);
    let bits = 1 + random.below(63);
    (0..count).map(|_| random.magnitude(bits)).collect()
}

#[test]
fn quantiles_lie_in_the_bin_of_the_order_statistic() {
    let mut random = Random(1);
    for _ in 0..300 {
        let mut sorted = values(&mut random);
        let found = histogram(&sorted);
        sorted.sort_unstable();
        for percent in 0..=100_u32 {
            let q = f64::from(percent) / 100.0;
            // The smallest value that at least this share of all does not exceed, counted in
            // integers.
            let exact = sorted[(percent as usize * sorted.len()).div_ceil(100).max(1) - 1];
            let (low, high) = found.quantile_bounds(q).unwrap();
            // In floating point the share may come out one rank higher.
            let next = sorted[(percent as usize * sorted.len() / 100).min(sorted.len() - 1)];
            assert!(
                (low..=high).contains(&exact) || (low..=high).contains(&next),
                "{q}: {exact} not in {low}..={high}"
            );
            assert!(high - low <= low / 128);
        }
        assert_eq!(found.quantile_bounds(0.0), Some((sorted[0], sorted[0])));
        assert_eq!(found.quantile_bounds(1.0), sorted.last().map(|&most| (most, most)));
        assert_eq!((found.min(), found.max()), (sorted.first().copied(), sorted.last().copied()));
        assert_eq!(found.sum(), sorted.iter().map(|&v| u128::from(v)).sum::<u128>());
    }
}

#[test]
fn small_values_are_exact() {
    let found = histogram(&(0..128).collect::<Vec<_>>());
    assert_eq!(found.quantile_bounds(0.5), Some((63, 63)));
    assert_eq!(found.quantile(0.25), Some(31.0));
    assert_eq!(found.mean(), Some(63.5));
}

#[test]
fn cumulative_points_are_exact_shares() {
    let mut random = Random(2);
    for _ in 0..300 {
        let sorted = values(&mut random);
        let most = 2 + random.index(60);
        let points = histogram(&sorted).cumulative(most);
        assert!(!points.is_empty() && points.len() <= most, "{} of {most}", points.len());
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
        for (value, share) in &points {
            let below = sorted.iter().filter(|v| *v <= value).count();
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let expected = below as f64 / sorted.len() as f64;
            assert!((share - expected).abs() < 1e-12);
        }
        assert_eq!(points.last().copied(), Some((*sorted.iter().max().unwrap(), 1.0)));
    }
}

#[test]
fn parts_add_up_to_the_whole() {
    let mut random = Random(3);
    for _ in 0..300 {
        let values = values(&mut random);
        let cuts = random.cuts(values.len(), 4);
        let mut joined = Histogram::new();
        for piece in pieces(&values, &cuts) {
            joined.merge(&histogram(piece));
        }
        assert_eq!(joined, histogram(&values));
    }
}

#[test]
fn the_extremes_have_bins() {
    let found = histogram(&[0, u64::MAX, u64::MAX, u64::MAX]);
    let (low, high) = found.quantile_bounds(0.5).unwrap();
    assert!(low > u64::MAX / 128 * 127 && high == u64::MAX);
    assert_eq!(Histogram::new().quantile(0.5), None);
    assert_eq!(
        (Histogram::new().min(), Histogram::new().max(), Histogram::new().mean()),
        (None, None, None)
    );
    assert!(Histogram::new().cumulative(10).is_empty());
    assert_eq!(Histogram::new(), Histogram::default());
}
