//! The reorder buffer: a stable sort within 10 ms, and what becomes of time when the clock steps.

use proptest::prelude::*;
use trustbed_burst::{Order, OrderFacts};
use trustbed_units::{Ns, Span};

const MS: i64 = 1_000_000;

/// Times and marks in the order handed on; the mark of a frame is its index among the timestamps.
fn ordered(stamps: &[i64]) -> (Vec<(i64, u64)>, OrderFacts) {
    let mut order = Order::new();
    let mut seen = Vec::new();
    for (mark, stamp) in (0..).zip(stamps) {
        let time = order.stamp(Ns(*stamp));
        order.push(time, mark + 1000, u64::from(mark));
        order.flush(|times, lengths, marks| {
            assert!(
                lengths.iter().zip(marks).all(|(length, mark)| u64::from(*length) == mark + 1000)
            );
            seen.extend(times.iter().copied().zip(marks.iter().copied()));
        });
    }
    order.finish(|times, _, marks| seen.extend(times.iter().copied().zip(marks.iter().copied())));
    (seen, order.facts())
}

fn times(stamps: &[i64]) -> Vec<i64> {
    ordered(stamps).0.into_iter().map(|(time, _)| time).collect()
}

#[test]
fn equal_times_stay_as_they_came() {
    let (seen, facts) = ordered(&[5, 3, 5, 3, 5]);
    assert_eq!(seen, [(3, 1), (3, 3), (5, 0), (5, 2), (5, 4)]);
    assert_eq!(
        (facts.reordered, facts.reordered_most, facts.steps_back, facts.equal),
        (2, Span(2), 0, 0)
    );
}

#[test]
fn time_goes_on_when_the_clock_steps_back() {
    let (seen, facts) = ordered(&[1000 * MS, 1001 * MS, 500 * MS, 502 * MS, 503 * MS]);
    assert_eq!(
        seen.iter().map(|(time, _)| time / MS).collect::<Vec<_>>(),
        [1000, 1001, 1001, 1003, 1004]
    );
    assert_eq!(
        (facts.steps_back, facts.step_back_most, facts.step_back_frame),
        (1, Span(501 * MS), Some(3))
    );
    assert_eq!((facts.first, facts.last), (Ns(500 * MS), Ns(1001 * MS)));
}

#[test]
fn a_single_late_frame_moves_nothing_else() {
    assert_eq!(
        times(&[0, 100 * MS, 50 * MS, 101 * MS, 102 * MS]),
        [0, 100 * MS, 100 * MS, 101 * MS, 102 * MS]
    );
}

#[test]
fn exactly_ten_milliseconds_are_sorted_in() {
    assert_eq!(times(&[20 * MS, 10 * MS]), [10 * MS, 20 * MS]);
    assert_eq!(times(&[20 * MS, 10 * MS - 1]), [20 * MS, 20 * MS]);
}

#[test]
fn the_ends_of_time_are_times() {
    assert_eq!(times(&[i64::MIN, i64::MAX]), [i64::MIN, i64::MAX]);
    assert_eq!(times(&[i64::MAX, i64::MIN, i64::MAX]), [i64::MAX; 3]);
}

#[test]
fn what_has_no_times_is_not_held_for_ever() {
    let mut order = Order::new();
    let mut most = 0;
    let mut frames = 0;
    for _ in 0..5_000_000 {
        let time = order.stamp(Ns(7));
        order.push(time, 1, 0);
        order.flush(|times, _, _| {
            most = most.max(times.len());
            frames += times.len();
        });
    }
    assert!(frames >= 1 << 22 && most <= 16 * 1024, "{frames} {most}");
    order.finish(|times, _, _| frames += times.len());
    assert_eq!(frames, 5_000_000);
}

#[test]
fn frames_that_were_spread_are_sorted_in_or_moved_forward() {
    let mut order = Order::new();
    let mut seen = Vec::new();
    for frame in 0..100_000_i64 {
        let time = order.stamp(Ns(frame * 1_000_000));
        // Far behind, and far ahead.
        order.push(Ns(time.0 - 500 * MS), 0, 0);
        order.push(Ns(time.0 + 500 * MS), 0, 0);
        order.flush(|times, _, _| seen.extend_from_slice(times));
    }
    order.finish(|times, _, _| seen.extend_from_slice(times));
    assert_eq!(seen.len(), 200_000);
    assert!(seen.is_sorted());
    assert_eq!(order.facts().steps_back, 0);
}

proptest! {

    #[test]
    fn within_the_buffer_it_is_a_stable_sort(
        gaps in prop::collection::vec((0..2 * MS, 0..10 * MS), 0..60_000),
    ) {
        let mut now = 0;
        let stamps: Vec<i64> = gaps
            .iter()
            .map(|(gap, back)| {
                now += gap;
                now - back
            })
            .collect();
        // Only where no frame is more than 10 ms behind the latest one.
        let mut latest = i64::MIN;
        prop_assume!(stamps.iter().all(|stamp| {
            latest = latest.max(*stamp);
            latest - stamp <= 10 * MS
        }));
        let (seen, facts) = ordered(&stamps);
        let mut sorted: Vec<(i64, u64)> = stamps.iter().copied().zip(0..).collect();
        sorted.sort_by_key(|(time, _)| *time);
        prop_assert_eq!(facts.steps_back, 0);
        prop_assert!(seen == sorted);
    }

    #[test]
    fn whatever_comes_leaves_in_order(
        stamps in prop::collection::vec(prop_oneof![any::<i64>(), 0..100 * MS], 0..300),
    ) {
        let (seen, facts) = ordered(&stamps);
        prop_assert!(seen.is_sorted_by_key(|(time, _)| *time));
        prop_assert_eq!(seen.len(), stamps.len());
        prop_assert_eq!(facts.frames, stamps.len() as u64);
    }
}
