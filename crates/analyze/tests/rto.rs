//! The retransmission timer (RFC 6298) against its formula, and what timeouts do to it.

use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_analyze::Rto;
use trustbed_units::Span;

const SECOND: f64 = 1e9;

fn after(micros: &[i64]) -> Rto {
    let mut rto = Rto::default();
    for &rtt in micros {
        rto.on_sample(Span::from_micros(rtt));
    }
    rto
}

fn equal(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

#[test]
fn before_any_sample_it_is_one_second() {
    let values = Rto::default().values();
    assert!(equal(values.raw, SECOND) && equal(values.rfc, SECOND) && equal(values.linux, SECOND));
    assert_eq!(Rto::default().srtt(), None);
    assert_eq!(Rto::default().margin(), None);
}

#[test]
fn the_first_sample_sets_both() {
    let rto = after(&[20_000]);
    assert_eq!(rto.smoothed(), Some((20e6, 10e6)));
    assert_eq!(rto.srtt(), Some(Span::from_millis(20)));
    let values = rto.values();
    assert!(equal(values.raw, 60e6) && equal(values.rfc, SECOND) && equal(values.linux, 220e6));
}

#[test]
fn a_steady_path_keeps_the_granularity() {
    let rto = after(&[1_000; 200]);
    assert!((rto.values().raw - 2e6).abs() < 1.0, "SRTT + G, G = 1 ms");
    assert!((rto.values().linux - 201e6).abs() < 1.0, "SRTT + 200 ms");
}

#[test]
fn it_never_exceeds_a_minute() {
    let values = after(&[50_000_000]).values();
    assert!(equal(values.raw, 60e9) && equal(values.rfc, 60e9) && equal(values.linux, 60e9));
}

#[test]
fn a_timeout_doubles_it_until_the_next_sample() {
    let mut rto = after(&[100_000]);
    let once = rto.values();
    assert!(equal(once.raw, 300e6) && equal(once.rfc, SECOND));
    for factor in [2.0, 4.0, 8.0] {
        rto.on_timeout();
        assert!(equal(rto.values().raw, once.raw * factor));
        assert!(equal(rto.values().rfc, once.rfc * factor));
        assert!(equal(rto.values().linux, once.linux * factor));
    }
    for _ in 0..100 {
        rto.on_timeout();
    }
    assert!(equal(rto.values().raw, 60e9), "at most a minute");
    rto.on_sample(Span::from_millis(100));
    assert!(equal(rto.values().raw, 100e6 + 4.0 * 37.5e6));
}

#[test]
fn before_any_sample_a_timeout_doubles_the_second() {
    let mut rto = Rto::default();
    rto.on_timeout();
    assert!(equal(rto.values().rfc, 2.0 * SECOND));
}

#[test]
fn the_margin_is_the_smallest_distance_below_the_timer() {
    let rto = after(&[20_000, 20_000, 65_000]);
    // 60 ms before the second sample, 20 + 4·7.5 = 50 ms before the third.
    assert!(rto.margin().is_some_and(|m| equal(m, 50e6 - 65e6)), "{:?}", rto.margin());
    assert!(after(&[20_000, 20_000]).margin().is_some_and(|m| equal(m, 40e6)));
}

proptest! {
    #[test]
    fn the_three_readings_follow_the_formula(samples in vec(1_i64..5_000_000, 1..60)) {
        let (mut srtt, mut variation) = (0.0_f64, 0.0_f64);
        let mut rto = Rto::default();
        for (n, &micros) in samples.iter().enumerate() {
            let rtt = Span::from_micros(micros);
            rto.on_sample(rtt);
            let r = rtt.as_f64();
            if n == 0 {
                (srtt, variation) = (r, r / 2.0);
            } else {
                variation = 0.75 * variation + 0.25 * (srtt - r).abs();
                srtt = 0.875 * srtt + 0.125 * r;
            }
            let values = rto.values();
            prop_assert!(equal(values.raw, (srtt + (4.0 * variation).max(1e6)).min(60e9)));
            prop_assert!(equal(
                values.rfc,
                (srtt + (4.0 * variation).max(1e6)).clamp(SECOND, 60e9)
            ));
            prop_assert!(equal(values.linux, (srtt + (4.0 * variation).max(200e6)).min(60e9)));
        }
    }
}
