//! Thinned charts: bounded, in order, made of points that were there, and without the loss of any
//! peak.

use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_analyze::{Point, Thinned};
use trustbed_units::Span;

/// Points at most, between two thinnings.
const MOST: usize = 2400;
/// A bucket is at most this share of the time that the chart covers: 600 buckets of two points are
/// kept at least, and the last thinning may have doubled their width.
const BUCKET: i64 = 150;

fn thinned(points: &[(i64, f64)]) -> Thinned {
    let mut chart = Thinned::default();
    for (n, &(since, value)) in points.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        chart.add(Span(since), value, n as f64);
    }
    chart
}

fn steady(steps: &[(i64, f64)]) -> Vec<(i64, f64)> {
    steps
        .iter()
        .scan(0, |at, &(step, value)| {
            *at += step;
            Some((*at, value))
        })
        .collect()
}

#[test]
fn times_that_go_to_and_fro_end_all_the_same() {
    let points: Vec<(i64, f64)> = (0..20_000_i64)
        .map(|n| (if n % 2 == 0 { n * 1_000 } else { n * 1_000 - 37_000_000_000 }, 0.0))
        .collect();
    assert!(thinned(&points).points().len() <= MOST);
}

#[test]
fn few_points_stay_as_they_are() {
    let points: Vec<(i64, f64)> =
        (0..1200_i32).map(|n| (i64::from(n) * 1_000, f64::from(n * 7919 % 1200))).collect();
    let kept: Vec<(i64, f64)> =
        thinned(&points).points().iter().map(|p| (p.since.0, p.value)).collect();
    assert_eq!(kept, points);
}

#[test]
fn a_lone_spike_survives_any_number_of_points() {
    for spike in [0, 1, 77_777, 150_000, 299_999] {
        let mut chart = Thinned::default();
        for n in 0..300_000 {
            let value = if n == spike { 1e9 } else { 1.0 };
            chart.add(Span(i64::from(n) * 50_000), value, 0.0);
        }
        let at: Vec<i64> =
            chart.points().iter().filter(|p| p.value > 1.0).map(|p| p.since.0).collect();
        assert_eq!(at, [i64::from(spike) * 50_000]);
        assert!(chart.points().len() <= MOST);
    }
}

#[test]
fn equal_times_do_not_grow_it() {
    let mut chart = Thinned::default();
    for n in 0..100_000 {
        chart.add(Span(5), f64::from(n), 0.0);
    }
    assert!(chart.points().len() <= MOST);
    let values = || chart.points().iter().map(|p| p.value);
    assert!(
        values().any(|v| v < 0.5) && values().any(|v| v > 99_998.5),
        "the lowest and the highest are there"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_bucket_keeps_its_lowest_and_its_highest(
        steps in vec((0..2_000_000_i64, -1e3..1e3_f64), 1..12_000),
    ) {
        let points = steady(&steps);
        let chart = thinned(&points);
        let kept: &[Point] = chart.points();
        prop_assert!(kept.len() <= MOST && kept.is_sorted_by_key(|p| p.since));
        let last = points.last().map_or(0, |p| p.0);
        // Everything is near a kept point that is as high, and near one that is as low.
        let width = last / BUCKET + 1;
        for &(since, value) in points.iter().step_by(7) {
            let near = || kept.iter().filter(|p| (p.since.0 - since).abs() <= width);
            prop_assert!(
                near().any(|p| p.value >= value) && near().any(|p| p.value <= value),
                "{} at {} of {}",
                value,
                since,
                last
            );
        }
        let extreme = |least: f64, value: f64| least.min(value);
        let (lowest, highest) = (
            points.iter().map(|p| p.1).fold(f64::MAX, extreme),
            points.iter().map(|p| -p.1).fold(f64::MAX, extreme),
        );
        prop_assert!(
            kept.iter().any(|p| p.value <= lowest) && kept.iter().any(|p| -p.value <= highest)
        );
        // A kept point is one that was added, with its companion.
        for point in kept {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it was an index"
            )]
            let original = points[point.beside as usize];
            prop_assert_eq!(
                (original.0, original.1.to_bits()),
                (point.since.0, point.value.to_bits())
            );
        }
    }
}
