//! Poisson traffic: the rate, the spread and the shape that it promises, packet by packet as
//! obvious code draws them.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "statistics are floats"
)]

use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Exp1, Poisson};
use trustbed_traffic::{
    ByteArrivals, Departure, Headers, IpVersion, PacketArrivals, Release, Schedule, Source,
    TrafficError, Transport,
};
use trustbed_units::{Rate, Span};

const UDP: Headers = Headers::of(IpVersion::V4, Transport::Udp);
const MILLISECOND: i64 = 1_000_000;

fn packets(rate: u64, seed: u64) -> PacketArrivals {
    PacketArrivals::new(Rate(rate), 1500, UDP, seed).unwrap()
}

fn schedule(model: &str, seed: u64) -> Result<Schedule, TrafficError> {
    let source = Source {
        model: serde_json::from_str(model).unwrap(),
        headers: UDP,
        release: Release::Paced,
        seed,
        duration: Some(Span::from_secs(100)),
    };
    Schedule::new(&source, None)
}

/// Bytes of every millisecond of the first `bins`.
fn per_millisecond(departures: impl Iterator<Item = Departure>, bins: usize) -> Vec<f64> {
    let mut bytes = vec![0.0; bins];
    let packets = departures.map(|departure| {
        (usize::try_from(departure.due.0 / MILLISECOND).unwrap(), departure.length)
    });
    packets
        .take_while(|&(index, _)| index < bins)
        .for_each(|(index, length)| bytes[index] += f64::from(length));
    bytes
}

/// Mean and coefficient of variation.
fn spread(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, variance.sqrt() / mean)
}

#[test]
fn packets_have_the_rate_and_the_spread_of_the_model() {
    for seed in 0..4 {
        let (mean, variation) = spread(&per_millisecond(packets(3_300_000, seed), 200_000));
        // 55 000 packets: their number varies by 0.43 %.
        assert!((mean / 412.5 - 1.0).abs() < 0.015, "{mean}");
        assert!((variation / 1.906_925 - 1.0).abs() < 0.015, "{variation}");
    }
}

#[test]
fn bytes_have_the_rate_and_the_spread_of_the_model() {
    for seed in 0..4 {
        let arrivals =
            ByteArrivals::new(Rate(3_300_000), Span::from_millis(1), (64, 1500), UDP, seed)
                .unwrap();
        let (mean, variation) = spread(&per_millisecond(arrivals, 100_000));
        assert!((mean / 412.5 - 1.0).abs() < 0.001, "{mean}");
        assert!((variation / 0.049_236_6 - 1.0).abs() < 0.015, "{variation}");
    }
}

#[test]
fn gaps_are_exponential() {
    for seed in 0..4 {
        let due: Vec<i64> =
            packets(12_000_000, seed).take(20_000).map(|departure| departure.due.0).collect();
        let mut gaps: Vec<f64> =
            due.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
        gaps.sort_by(f64::total_cmp);
        // Kolmogorov and Smirnov: beyond 1.95/√n once in a thousand.
        let count = gaps.len() as f64;
        let distances = gaps
            .iter()
            .enumerate()
            .map(|(index, gap)| ((index as f64 + 0.5) / count - (1.0 - (-gap).exp())).abs());
        let distance = distances.fold(0.0, f64::max);
        assert!(distance * count.sqrt() < 1.95, "{distance}");
    }
}

#[test]
fn numbers_of_packets_are_independent_from_millisecond_to_millisecond() {
    let bins = per_millisecond(packets(30_000_000, 5), 100_000);
    let (mean, _) = spread(&bins);
    let variance: f64 = bins.iter().map(|bin| (bin - mean).powi(2)).sum();
    for lag in [1, 2, 10] {
        let together: f64 =
            bins.iter().zip(&bins[lag..]).map(|(one, other)| (one - mean) * (other - mean)).sum();
        assert!((together / variance).abs() < 0.015, "lag {lag}: {}", together / variance);
    }
}

#[test]
fn an_hour_of_gaps_loses_no_precision() {
    let mean = 1500.0 * 8e9 / 3_300_000.0;
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let mut sum = 0.0;
    for departure in packets(3_300_000, 9).take(990_000) {
        let draw: f64 = Exp1.sample(&mut random);
        sum += draw;
        assert!((sum * mean - departure.due.0 as f64).abs() < 2.0 + sum * mean * 1e-12);
    }
}

/// The rule for bytes, step by step: units of drawn bytes, cut into packets, a short last one
/// padded at the cost of the next unit.
fn twin(
    rate: u64,
    unit: i64,
    (minimum, largest): (u32, u32),
    seed: u64,
    units: i64,
) -> Vec<Departure> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let bytes = Poisson::new(rate as f64 / 8.0 * (unit as f64 / 1e9)).unwrap();
    let mut sent = vec![];
    let mut debt = 0_i64;
    for number in 0..units {
        let mut left = bytes.sample(&mut random) as i64 - debt;
        let mut lengths = vec![];
        while left > 0 {
            lengths.push(left.min(largest.into()).max(minimum.into()));
            left -= lengths.last().unwrap();
        }
        debt = -left;
        let count = i64::try_from(lengths.len()).unwrap();
        for (index, length) in (0..).zip(lengths) {
            let length = u32::try_from(length).unwrap();
            sent.push(Departure {
                due: Span(number * unit + index * unit / count),
                length,
                payload: length - 28,
            });
        }
    }
    sent
}

proptest! {

    #[test]
    fn bytes_are_cut_by_the_rule(
        rate in prop_oneof![1_000..1_000_000_u64, 1_000_000..100_000_000_u64],
        unit in prop_oneof![Just(100_000_i64), Just(MILLISECOND), 100_000..20_000_000_i64],
        minimum in 28..1500_u32,
        more in 0..1500_u32,
        seed in any::<u64>(),
    ) {
        let expected = twin(rate, unit, (minimum, minimum + more), seed, 200);
        let found = ByteArrivals::new(Rate(rate), Span(unit), (minimum, minimum + more), UDP, seed)
            .unwrap();
        prop_assert_eq!(found.take(expected.len()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn times_never_run_backwards_and_seeds_repeat(
        rate in 10_000..1_000_000_000_u64,
        seed in any::<u64>(),
        bytes in any::<bool>(),
    ) {
        let mode = if bytes { "bytes" } else { "packets" };
        let model =
            format!(r#"{{"kind": "poisson", "rate_bits_per_second": {rate}, "mode": "{mode}"}}"#);
        let departures: Vec<Departure> = schedule(&model, seed).unwrap().take(500).collect();
        prop_assert!(departures.windows(2).all(|pair| pair[0].due <= pair[1].due));
        prop_assert!(departures.iter().all(
            |departure| departure.due >= Span::ZERO && (28..=1500).contains(&departure.length)
        ));
        prop_assert_eq!(schedule(&model, seed).unwrap().take(500).collect::<Vec<_>>(), departures);
    }
}

#[test]
fn padding_does_not_raise_the_rate() {
    // 5 bytes a unit on average, sent as packets of 64.
    let arrivals =
        ByteArrivals::new(Rate(40_000), Span::from_millis(1), (64, 1500), UDP, 1).unwrap();
    let (mean, _) = spread(&per_millisecond(arrivals, 200_000));
    assert!((mean / 5.0 - 1.0).abs() < 0.01, "{mean}");
}

#[test]
fn sources_that_draw_bytes_begin_at_different_moments() {
    let first = |seed| {
        schedule(r#"{"kind": "poisson", "rate_bits_per_second": 3300000, "mode": "bytes"}"#, seed)
            .unwrap()
            .next()
            .unwrap()
    };
    let phases: Vec<i64> = (0..100).map(|seed| first(seed).due.0).collect();
    assert!(phases.iter().all(|phase| (0..10_000_000).contains(phase)));
    assert!((30..70).contains(&phases.iter().filter(|&&phase| phase < 5_000_000).count()));
}

#[test]
fn several_sources_have_the_variance_of_one() {
    // Poisson processes add up to one of their common rate.
    let rates = trustbed_traffic::shares(Rate(33_000_000), 10).unwrap();
    let mut sum = vec![0.0; 20_000];
    for (seed, rate) in (100..).zip(rates) {
        let bins = per_millisecond(packets(rate.0, seed), sum.len());
        sum.iter_mut().zip(bins).for_each(|(all, one)| *all += one);
    }
    let (mean, variation) = spread(&sum);
    assert!((mean / 4125.0 - 1.0).abs() < 0.02, "{mean}");
    assert!((variation / (1500.0_f64 / 4125.0).sqrt() - 1.0).abs() < 0.02, "{variation}");
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let refused = |keys: &str| {
        let model = format!(r#"{{"kind": "poisson", "rate_bits_per_second": 3300000, {keys}}}"#);
        schedule(&model, 0).map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
    };
    let errors = [
        r#""unit_ns": 5000000"#,
        r#""minimum_packet_bytes": 64"#,
        r#""mode": "bytes", "unit_ns": 0"#,
        r#""mode": "bytes", "unit_ns": 18446744073709551615"#,
        r#""mode": "bytes", "minimum_packet_bytes": 1501"#,
        r#""mode": "bytes", "minimum_packet_bytes": 1500"#,
    ]
    .map(refused);
    insta::assert_snapshot!(errors.join("\n"));
}
