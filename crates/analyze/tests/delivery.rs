//! Delivery rates against a twin that keeps every acknowledgement and follows the definition word
//! by word.
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of a test"
)]

use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_analyze::{Delivery, Rates};
use trustbed_units::{Ns, Span};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;
const START: i64 = 1_700_000_000 * SECOND;

/// An acknowledgement: nanoseconds since the first data, everything below, mean round-trip time so
/// far.
type Seen = (i64, i64, Option<i64>);

/// The percentiles that the definition gives: from min(1 s, D/4) on, each advancing ACK against the
/// earliest within τ = max(RTT, 50 ms).
fn twin(acks: &[Seen], duration: i64) -> Option<[f64; 3]> {
    let skip = SECOND.min(duration / 4);
    let mut rates: Vec<f64> = Vec::new();
    for (n, &(t, acknowledged, rtt)) in acks.iter().enumerate() {
        let tau = rtt.unwrap_or(0).max(50 * MS);
        let earliest = acks[..n].iter().find(|&&(then, ..)| then >= t - tau && then < t);
        if let Some(&(then, before, _)) = earliest.filter(|_| t >= skip) {
            rates.push((acknowledged - before) as f64 / ((t - then) as f64 / 1e9));
        }
    }
    rates.sort_by(f64::total_cmp);
    let rank = |q: f64| rates.get(((rates.len() as f64 - 1.0) * q) as usize).copied();
    Some([rank(0.1)?, rank(0.5)?, rank(0.9)?])
}

fn measured(acks: &[Seen], duration: i64) -> Option<Rates> {
    let mut delivery = Delivery::default();
    for &(t, acknowledged, rtt) in acks {
        delivery.on_ack(Ns(START + t), acknowledged, Span(t), rtt.map(Span));
    }
    delivery.rates(Span(duration))
}

fn agree(rates: Option<Rates>, twin: Option<[f64; 3]>, error: f64) -> bool {
    match (rates, twin) {
        (Some(rates), Some(twin)) => [rates.p10, rates.p50, rates.p90]
            .iter()
            .zip(twin)
            .all(|(a, b)| (a - b).abs() <= error * b + 1.0),
        (None, None) => true,
        _ => false,
    }
}

/// Advancing acknowledgements with round trips that grow and shrink.
fn acks(most: usize, longest: i64) -> impl Strategy<Value = Vec<Seen>> {
    let rtt = prop_oneof![1 => Just(None), 4 => (MS..200 * MS).prop_map(Some)];
    vec((1..longest, 1_i64..30_000, rtt), 2..most).prop_map(|steps| {
        let (mut now, mut acknowledged) = (0, 0);
        let seen = steps.into_iter().map(|(passed, bytes, rtt)| {
            now += passed;
            acknowledged += bytes;
            (now, acknowledged, rtt)
        });
        seen.collect()
    })
}

/// With round trips that only become shorter: a window that grew again would need what a stream has
/// let go.
fn shrinking(acks: &[Seen]) -> Vec<Seen> {
    let mut smallest = i64::MAX;
    let fixed = acks.iter().map(|&(t, a, rtt)| {
        smallest = smallest.min(rtt.unwrap_or(0).max(50 * MS));
        (t, a, Some(smallest))
    });
    fixed.collect()
}

proptest! {
    #[test]
    fn few_rates_are_exact(acks in acks(60, 60 * MS)) {
        let acks = shrinking(&acks);
        let duration = acks.last().map_or(0, |a| a.0);
        prop_assert!(
            agree(measured(&acks, duration), twin(&acks, duration), 1e-12),
            "{:?} {:?}",
            measured(&acks, duration),
            twin(&acks, duration)
        );
    }

    #[test]
    fn many_rates_are_within_a_bin(acks in acks(500, 40 * MS)) {
        let acks = shrinking(&acks);
        let duration = acks.last().map_or(0, |a| a.0);
        prop_assert!(
            agree(measured(&acks, duration), twin(&acks, duration), 0.008),
            "{:?} {:?}",
            measured(&acks, duration),
            twin(&acks, duration)
        );
    }

    /// Short transfers leave out their first quarter, long ones their first second.
    #[test]
    fn the_beginning_is_left_out(
        slow in 1_000_i64..5_000,
        fast in 50_000_i64..90_000,
        millis in 400_i64..9_000,
    ) {
        let skip = (millis / 4).min(1_000);
        // Slow until the cut, fast from then on; τ reaches back over the cut for a while.
        let rise = |sum: &mut i64, t: i64| {
            *sum += if t <= skip { slow } else { fast };
            Some((t * MS, *sum, None))
        };
        let acks: Vec<Seen> = (0..=millis).step_by(2).scan(0, rise).collect();
        let rates = measured(&acks, millis * MS);
        prop_assert!(
            agree(rates, twin(&acks, millis * MS), 0.008),
            "{:?} {:?}",
            rates,
            twin(&acks, millis * MS)
        );
        prop_assert!(rates.is_some_and(|r| r.p90 > fast as f64 * 490.0));
    }
}

#[test]
fn a_steady_transfer_has_one_rate_however_dense_its_acknowledgements() {
    for (gap, length) in [(10_000, 2), (100_000, 3), (1_000_000, 20), (20_000, 6)] {
        let count = length * SECOND / gap;
        let acks: Vec<Seen> =
            (1..=count).map(|n| (n * gap, n * gap / 1_000, Some(20 * MS))).collect();
        let rates = measured(&acks, length * SECOND).expect("there are rates");
        for rate in [rates.p10, rates.p50, rates.p90] {
            assert!(
                (rate - 1e6).abs() < 0.01e6,
                "1 byte per µs: {rate}, one ACK per {gap} ns for {length} s"
            );
        }
    }
}

#[test]
fn thinning_the_first_second_keeps_its_proportion() {
    // 1.6 s long, 30 000 acknowledgements, of which those after 0.4 s count: slow for a third of
    // that, or for two thirds.
    for (until, slow_share) in [(800 * MS, 1), (1_200 * MS, 2)] {
        let step = 1_600 * MS / 30_000;
        let rise = |sum: &mut i64, n: i64| {
            *sum += if n * step < until { 100 } else { 500 };
            Some((n * step, *sum, None))
        };
        let acks: Vec<Seen> = (1..=30_000).scan(0, rise).collect();
        let rates = measured(&acks, 1_600 * MS).expect("there are rates");
        let slow = 100.0 / (step as f64 / 1e9);
        let expected = [slow, if slow_share == 1 { 5.0 * slow } else { slow }, 5.0 * slow];
        for (rate, expected) in [rates.p10, rates.p50, rates.p90].iter().zip(expected) {
            assert!((rate - expected).abs() < 0.01 * expected, "{rates:?}, slow is {slow}");
        }
    }
}

#[test]
fn without_a_second_acknowledgement_within_the_window_there_is_no_rate() {
    assert_eq!(measured(&[], SECOND), None);
    assert_eq!(measured(&[(0, 1_000, None)], SECOND), None);
    assert_eq!(measured(&[(0, 1_000, None), (51 * MS, 2_000, None)], 51 * MS), None);
    assert!(measured(&[(0, 1_000, None), (50 * MS, 2_000, None)], 50 * MS).is_some());
    assert!(
        measured(&[(0, 1_000, None), (80 * MS, 2_000, Some(80 * MS))], 80 * MS).is_some(),
        "a longer round trip reaches further"
    );
}

#[test]
fn no_rate_spans_a_step_of_the_clock() {
    let mut delivery = Delivery::default();
    delivery.on_ack(Ns(START), 1_000, Span(0), None);
    delivery.on_clock_step();
    delivery.on_ack(Ns(START + 10 * MS), 2_000, Span(10 * MS), None);
    assert_eq!(delivery.rates(Span(10 * MS)), None);
}
