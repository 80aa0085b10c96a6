//! The advertised window over time.

use trustbed_analyze::WindowTime;
use trustbed_units::{Ns, Span};

const MS: i64 = 1_000_000;
const MSS: u32 = 1000;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn saturated_means_nine_tenths_of_the_largest() {
    let mut window = WindowTime::begin(Ns(0), 10_000);
    window.on_window(Ns(40 * MS), 9_000, MSS, false);
    window.on_window(Ns(70 * MS), 8_999, MSS, false);
    window.on_window(Ns(100 * MS), 8_999, MSS, false);
    assert!(close(window.saturated(Span(100 * MS)), 0.7), "40 ms at 10 000 and 30 ms at 9 000");
}

#[test]
fn a_window_that_grows_late_was_not_saturated_before() {
    let mut window = WindowTime::begin(Ns(0), 1_000);
    window.on_window(Ns(90 * MS), 60_000, MSS, false);
    window.on_window(Ns(100 * MS), 60_000, MSS, false);
    assert!(close(window.saturated(Span(100 * MS)), 0.1));
}

#[test]
fn closed_means_less_than_two_segments() {
    let mut window = WindowTime::begin(Ns(0), 10_000);
    window.on_window(Ns(10 * MS), 2_000, MSS, false);
    window.on_window(Ns(20 * MS), 1_999, MSS, false);
    window.on_window(Ns(50 * MS), 0, MSS, false);
    window.on_window(Ns(70 * MS), 10_000, MSS, false);
    window.on_window(Ns(100 * MS), 10_000, MSS, false);
    assert!(close(window.closed(Span(100 * MS)), 0.5), "30 ms at 1 999 and 20 ms at 0");
    assert_eq!(window.zero(), (Span(20 * MS), 1));
}

#[test]
fn a_zero_window_begins_once_however_often_it_is_advertised() {
    let mut window = WindowTime::begin(Ns(0), 10_000);
    for at in 1..5 {
        window.on_window(Ns(at * MS), 0, MSS, false);
    }
    window.on_window(Ns(10 * MS), 5_000, MSS, false);
    window.on_window(Ns(20 * MS), 0, MSS, false);
    window.on_window(Ns(25 * MS), 5_000, MSS, false);
    assert_eq!(window.zero(), (Span(14 * MS), 2));
}

#[test]
fn a_window_that_closes_on_everything_acknowledged_was_closed() {
    let mut window = WindowTime::begin(Ns(0), 10_000);
    window.on_window(Ns(20 * MS), 0, MSS, false);
    // The update that opens it comes while nothing is outstanding; data follow.
    window.on_window(Ns(60 * MS), 10_000, MSS, true);
    window.settle(Ns(61 * MS), MSS);
    window.on_window(Ns(100 * MS), 10_000, MSS, false);
    assert_eq!(window.zero(), (Span(40 * MS), 1));
    assert!(
        close(window.closed(Span(100 * MS)), 0.4) && close(window.saturated(Span(100 * MS)), 0.6)
    );
}

#[test]
fn time_with_nothing_outstanding_counts_once_data_follow() {
    let mut window = WindowTime::begin(Ns(0), 10_000);
    window.on_window(Ns(10 * MS), 10_000, MSS, false);
    window.on_window(Ns(50 * MS), 10_000, MSS, true);
    assert!(close(window.saturated(Span(100 * MS)), 0.1), "an idle end is not counted");
    window.settle(Ns(60 * MS), MSS);
    assert!(close(window.saturated(Span(100 * MS)), 0.6), "a pause in the middle is");
}

#[test]
fn no_time_spans_a_step_of_the_clock() {
    let mut window = WindowTime::begin(Ns(0), 10_000);
    window.on_clock_step();
    window.on_window(Ns(50 * MS), 10_000, MSS, false);
    window.on_window(Ns(60 * MS), 10_000, MSS, false);
    assert!(close(window.saturated(Span(100 * MS)), 0.1));
}
