//! A host's clock as its timestamps show it.

use trustbed_analyze::HostClock;
use trustbed_units::{Ns, Span};

const MS: i64 = 1_000_000;

fn clock(tick: i64, spoiled: i64, packets: i64) -> Option<f64> {
    let mut clock = HostClock::default();
    for n in 0..packets {
        let sent = n * 3 * MS;
        let tsval = u32::try_from(sent / tick).unwrap_or(0).wrapping_add(u32::MAX - 3);
        clock.on_packet(tsval, Ns(sent + n % 2 * spoiled));
    }
    clock.tick()
}

#[test]
fn the_tick_is_one_that_stacks_use() {
    for tick in [1_000, MS, 2 * MS, 4 * MS, 10 * MS] {
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let expected = tick as f64;
        assert_eq!(clock(tick, 0, 200), Some(expected));
        assert_eq!(clock(tick, 2 * MS, 200), Some(expected), "jitter changes nothing");
    }
}

#[test]
fn an_odd_tick_is_accepted_after_all() {
    assert!(clock(30 * MS, 0, 200).is_some_and(|tick| (tick / 30e6 - 1.0).abs() < 0.1));
}

#[test]
fn too_little_time_or_too_few_ticks_tell_nothing() {
    assert_eq!(clock(MS, 0, 30), None, "87 ms");
    assert_eq!(clock(100 * MS, 0, 200), None, "five ticks");
}

#[test]
fn a_queue_that_grew_at_first_does_not_stay_in_the_lag() {
    // Sent every 3 ms with a tick of 1 ms; a queue grows for 300 ms, so that the tick looks like
    // 2 ms, stands for a while, and drains.
    let mut clock = HostClock::default();
    let mut lags = Vec::new();
    for n in 0..2000_i64 {
        let sent = n * 3 * MS;
        let queue = match n {
            0..=100 => sent * 9 / 10,
            101..=400 => 270 * MS,
            _ => 0,
        };
        let (tsval, now) = (u32::try_from(sent / MS).unwrap_or(0), Ns(sent + queue));
        lags.push((n, clock.lag(tsval, now, None), queue));
        clock.on_packet(tsval, now);
    }
    for (n, lag, queue) in lags.into_iter().filter(|&(n, ..)| n > 350) {
        assert!((lag - queue).abs() <= 2 * MS, "packet {n}: {lag} for a queue of {queue}");
    }
}

#[test]
fn a_clock_that_runs_slower_than_the_capture_s_is_no_queue() {
    // 100 ms in a million are 10 s in a day: 30 ms after five minutes. Data echo what passed the
    // capture 2 ms before.
    let mut clock = HostClock::default();
    let mut lag = 0;
    for n in 0..30_000_i64 {
        let now = n * 10 * MS;
        let own = now - now / 10_000;
        let tsval = u32::try_from(own / MS).unwrap_or(0);
        clock.on_packet(tsval, Ns(now));
        lag = clock.lag(tsval, Ns(now), Some(Span(2 * MS)));
    }
    assert!(lag <= 2 * MS, "{lag}");
    assert!(clock.lag(300_000, Ns(300_030 * MS), None) <= 3 * MS);
}

#[test]
fn stamps_of_microseconds_wrap_within_the_hour() {
    let mut clock = HostClock::default();
    let mut lag = 0;
    for n in 0..8_000_i64 {
        let now = n * 1_000 * MS;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it wraps")]
        let tsval = (now / 1_000) as u32;
        lag = lag.max(clock.lag(tsval, Ns(now), None));
        clock.on_packet(tsval, Ns(now));
    }
    assert_eq!((lag, clock.tick()), (0, Some(1_000.0)));
}
