//! Bounds of throughput: their formulas, and when there is none.

use trustbed_analyze::{Path, window_bound};

fn path() -> Path {
    Path {
        window: Some(64_000.0),
        payload: 1448.0,
        packet: 1500.0,
        rtt_base: Some(0.020),
        rtt: Some(0.025),
        loss: Some(0.01),
        capacity: Some(1.25e6),
    }
}

fn equal(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() <= 1e-12 * b.abs())
}

#[test]
fn the_four_bounds() {
    assert!(equal(path().x0(), 64_000.0 * 1448.0 / (1500.0 * 0.020)));
    assert!(equal(path().x1(), 64_000.0 * 1448.0 / (1500.0 * 0.025)));
    assert!(equal(path().x2(), 1448.0 / 0.025 * (1.5_f64 / 0.01).sqrt()), "Mathis et al. 1997");
    assert!(equal(path().x3(), 1.25e6 * 1448.0 / 1500.0));
}

#[test]
fn no_window_or_no_round_trip_no_bound() {
    for (window, rtt) in [
        (0.0, 0.02),
        (-1.0, 0.02),
        (64_000.0, 0.0),
        (64_000.0, -0.01),
        (f64::NAN, 0.02),
        (64_000.0, f64::NAN),
    ] {
        assert_eq!(window_bound(window, 1448.0, 1500.0, rtt), None, "W = {window}, R = {rtt}");
    }
    assert_eq!(Path { window: None, ..path() }.x0(), None);
    assert_eq!(Path { rtt_base: None, ..path() }.x0(), None);
    assert_eq!(Path { rtt: None, ..path() }.x1(), None);
}

#[test]
fn without_loss_or_capacity_there_is_no_bound_by_them() {
    assert_eq!(Path { loss: Some(0.0), ..path() }.x2(), None);
    assert_eq!(Path { loss: None, ..path() }.x2(), None);
    assert_eq!(Path { rtt: Some(0.0), ..path() }.x2(), None);
    assert_eq!(Path { capacity: None, ..path() }.x3(), None);
}

#[test]
fn the_packet_period_is_the_slower_of_window_and_capacity() {
    let by_window = 1500.0 * 0.020 / 64_000.0;
    assert!(equal(Path { capacity: None, ..path() }.packet_period(), by_window));
    assert!(equal(path().packet_period(), 1500.0 / 1.25e6), "10 Mbit/s: 1.2 ms per packet");
    assert!(
        equal(Path { capacity: Some(1.25e9), ..path() }.packet_period(), by_window),
        "10 Gbit/s"
    );
    assert_eq!(Path { window: Some(0.0), ..path() }.packet_period(), None);
    assert_eq!(Path { rtt_base: None, ..path() }.packet_period(), None);
}
