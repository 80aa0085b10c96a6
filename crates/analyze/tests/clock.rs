//! A host's clock as its timestamps show it.

use trustbed_analyze::HostClock;
use trustbed_units::Ns;

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
        lags.push((n, clock.lag(tsval, now), queue));
        clock.on_packet(tsval, now);
    }
    for (n, lag, queue) in lags.into_iter().filter(|&(n, ..)| n > 350) {
        assert!((lag - queue).abs() <= 2 * MS, "packet {n}: {lag} for a queue of {queue}");
    }
}
