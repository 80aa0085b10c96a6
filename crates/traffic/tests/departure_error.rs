//! Departure errors against a sorted list, merged in any order, and as JSON.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::cast_precision_loss, reason = "means are floats")]

use proptest::prelude::*;
use trustbed_traffic::DepartureError;
use trustbed_units::Span;

fn of(values: &[i64]) -> DepartureError {
    let mut departure_error = DepartureError::default();
    for &value in values {
        departure_error.add(Span(value));
    }
    departure_error
}

fn any_error() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 0..2_000_i64,
        4 => 0..3_000_000_i64,
        1 => 0..10_000_000_000_i64,
        1 => -5_000..0_i64
    ]
}

proptest! {

    #[test]
    fn it_equals_a_sorted_list(values in prop::collection::vec(any_error(), 1..400)) {
        let summary = of(&values).summary();
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let count = values.len();
        let late = values.iter().filter(|&&value| value > 1_000_000).count();
        let mean = values.iter().map(|&value| value as f64).sum::<f64>() / count as f64;
        prop_assert_eq!((summary.packets, summary.over_1ms_packets), (count as u64, late as u64));
        prop_assert!((summary.mean_ns.unwrap() - mean).abs() <= 1e-9 * mean.abs().max(1.0));
        prop_assert_eq!(summary.max_ns, sorted.last().copied());
        prop_assert_eq!(summary.generator_late, late * 100 > count);
        prop_assert_eq!(
            summary.early_packets,
            values.iter().filter(|&&value| value < 0).count() as u64
        );
        prop_assert_eq!(summary.earliest_ns, (-sorted[0]).max(0));
        // A bin of negative values is not kept: all of them count as 0.
        let exact = sorted[(count * 99).div_ceil(100) - 1].max(0) as f64;
        let found = summary.p99_ns.unwrap().max(0.0);
        prop_assert!((found - exact).abs() <= exact / 256.0 + 0.5, "{} for {}", found, exact);
        let exact = sorted[count.div_ceil(2) - 1].max(0) as f64;
        let found = of(&values).median().unwrap().max(0.0);
        prop_assert!((found - exact).abs() <= exact / 256.0 + 0.5, "{} for {}", found, exact);
    }

    #[test]
    fn merging_is_adding(
        values in prop::collection::vec(any_error(), 0..100),
        cut in 0..100_usize,
    ) {
        let (left, right) = values.split_at(cut.min(values.len()));
        let mut merged = of(left);
        merged.merge(&of(right));
        prop_assert_eq!(&merged, &of(&values));
        let mut other = of(right);
        other.merge(&of(left));
        prop_assert_eq!(merged, other);
    }
}

#[test]
fn one_packet_in_a_hundred_may_be_late() {
    let mut values = vec![1_000_000; 99];
    values.push(1_000_001);
    assert!(!of(&values).summary().generator_late);
    values.push(1_000_001);
    assert!(of(&values).summary().generator_late);
}

#[test]
fn it_is_written_as_its_summary() {
    let written = serde_json::to_value(of(&[1000, 3000])).unwrap();
    let expected = serde_json::json!({
        "packets": 2, "mean_ns": 2000.0, "p99_ns": 2996.0, "max_ns": 3000,
        "over_1ms_packets": 0, "over_1ms_share": 0.0,
        "early_packets": 0, "earliest_ns": 0, "generator_late": false,
    });
    assert_eq!(written, expected);
    let nothing = serde_json::to_value(DepartureError::default()).unwrap();
    assert!(
        ["mean_ns", "p99_ns", "max_ns", "over_1ms_share"].iter().all(|key| nothing[key].is_null())
    );
    assert_eq!(nothing["generator_late"], false);
}
