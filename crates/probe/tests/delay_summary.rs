//! Delays in a few numbers, and when probes are sent.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "a test may fail loudly; its floats are exact"
)]

use proptest::prelude::*;
use trustbed_probe::{Delays, ProbeError, ProbeSchedule, ProbeSpacing, RoundTrip, SkewLine};
use trustbed_units::{Ns, Span};

/// A probe of a number, sent at that many tenths of a second: delays there and back.
fn probe(number: u64, forward: i64, backward: i64) -> (u64, RoundTrip) {
    let sent = Ns(i64::try_from(number).unwrap() * 100_000_000);
    let there = sent + Span(forward);
    (
        number,
        RoundTrip {
            sent,
            reflector_received: there,
            reflector_sent: there + Span(50),
            received: there + Span(50 + backward),
        },
    )
}

#[test]
fn of_ten_probes() {
    let forward = [5, 1, 4, 2, 3, 10, -6, 7, 8, 9];
    let probes: Vec<_> = (0..)
        .zip(forward)
        .filter(|(number, _)| *number != 4)
        .map(|(number, delay)| probe(number, delay, 20))
        .collect();
    let found = Delays::of(&probes, None).unwrap();
    let there = found.forward;
    assert_eq!(
        (there.probes, there.negative, there.least, there.most, there.mean_ns),
        (9, 1, Span(-6), Span(10), 40.0 / 9.0)
    );
    // Sorted: −6, 1, 2, 4, 5, 7, 8, 9, 10.
    assert_eq!(
        (there.p50, there.p95, there.p99, there.jitter()),
        (Span(5), Span(10), Span(10), Span(5))
    );
    // Neighbours: 1−5, 4−1, 2−4, not 10−2, −6−10, 7+6, 8−7, 9−8.
    let variation = there.variation.unwrap();
    assert_eq!(
        (variation.pairs, variation.least, variation.most, variation.p95_absolute),
        (7, Span(-16), Span(13), Span(16))
    );
    assert_eq!(variation.mean_absolute_ns, 40.0 / 7.0);
    assert_eq!(
        (found.round_trip.least, found.round_trip.most, found.backward.jitter()),
        (Span(14), Span(30), Span(0))
    );
}

#[test]
fn of_none_and_of_one() {
    assert_eq!(Delays::of(&[], None), None);
    let found = Delays::of(&[probe(3, 7, 8)], None).unwrap();
    assert_eq!(
        (found.forward.p50, found.forward.p99, found.backward.p50, found.round_trip.p50),
        (Span(7), Span(7), Span(8), Span(15))
    );
    assert_eq!(found.forward.variation, None);
}

#[test]
fn the_rate_of_a_clock_is_taken_out_of_one_way_delays() {
    // The reflector's clock gains 100 µs a second.
    let gained = |number: u64| i64::try_from(number).unwrap() * 10_000;
    let probes: Vec<_> = (0..600)
        .map(|number| probe(number, 1_000_000 + gained(number), 2_000_000 - gained(number)))
        .collect();
    let raw = Delays::of(&probes, None).unwrap();
    assert!(raw.forward.jitter() > Span(2_000_000));
    let line = SkewLine { at: Ns(0), height: Span(123), slope: 100e-6 };
    let level = Delays::of(&probes, Some(&line)).unwrap();
    // Over one round trip of 3 ms the clock gains 0.3 µs.
    assert!(
        level.forward.most - Span(1_000_000) < Span(400) && level.forward.jitter() < Span(400),
        "{level:?}"
    );
    assert!(
        level.backward.least - Span(2_000_000) > Span(-400) && level.backward.jitter() < Span(400),
        "{level:?}"
    );
    assert_eq!(level.round_trip, raw.round_trip);
}

proptest! {

    #[test]
    fn percentiles_are_nearest_ranks(delays in prop::collection::vec(-1000..1000_i64, 1..300)) {
        let probes: Vec<_> =
            (0..).zip(&delays).map(|(number, delay)| probe(number, *delay, 1)).collect();
        let found = Delays::of(&probes, None).unwrap().forward;
        // The slow method: the least value that so many are at most.
        let slow = |share: f64| {
            let enough = |value: i64| {
                delays.iter().filter(|delay| **delay <= value).count() as f64
                    >= share * delays.len() as f64 - 1e-9
            };
            Span(*delays.iter().filter(|value| enough(**value)).min().unwrap())
        };
        prop_assert_eq!((found.p50, found.p95, found.p99), (slow(0.5), slow(0.95), slow(0.99)));
    }
}

#[test]
fn gaps_of_a_poisson_schedule_are_exponential() {
    let schedule = ProbeSchedule::new(ProbeSpacing::Poisson, Span::from_millis(100), 3).unwrap();
    let due: Vec<i64> = std::iter::once(0).chain(schedule.take(40_000).map(|due| due.0)).collect();
    let gaps: Vec<f64> = due.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e8).collect();
    let count = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / count;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
    // Standard errors are 0.005 and 0.014; of the share beyond three means, which is e⁻³, 0.0011.
    assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.06, "{mean} {variance}");
    let beyond = gaps.iter().filter(|gap| **gap > 3.0).count() as f64 / count;
    assert!((beyond - (-3.0_f64).exp()).abs() < 0.004, "{beyond}");
}

#[test]
fn a_periodic_schedule_begins_at_a_moment_of_its_seed() {
    let phases: Vec<i64> = (0..20)
        .map(|seed| {
            let due: Vec<i64> = ProbeSchedule::new(ProbeSpacing::Periodic, Span(1000), seed)
                .unwrap()
                .take(5)
                .map(|due| due.0)
                .collect();
            assert!(
                (0..1000).contains(&due[0]) && due.windows(2).all(|pair| pair[1] - pair[0] == 1000),
                "{due:?}"
            );
            due[0]
        })
        .collect();
    assert!(phases.iter().max().unwrap() - phases.iter().min().unwrap() > 500, "{phases:?}");
}

#[test]
fn a_schedule_needs_a_gap_and_ends_with_time() {
    for gap in [Span::ZERO, Span(-5)] {
        assert!(matches!(
            ProbeSchedule::new(ProbeSpacing::Poisson, gap, 1),
            Err(ProbeError::NotPositive { name: "mean_gap", .. })
        ));
    }
    let far = ProbeSchedule::new(ProbeSpacing::Periodic, Span::MAX, 1).unwrap();
    assert!(far.count() <= 2);
}
