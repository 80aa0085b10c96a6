//! Packets of the receiver that came together although it had sent them apart.

use trustbed_analyze::AcksHeld;
use trustbed_units::Ns;

const MILLI: i64 = 1_000_000;

/// Acknowledgements at (arrival, stamp), both in milliseconds, 10 µs apart where arrivals are
/// equal.
fn held(arrivals: impl IntoIterator<Item = (i64, u32)>) -> AcksHeld {
    let mut acks = AcksHeld::default();
    let mut last = (i64::MIN, 0);
    for (arrival, stamp) in arrivals {
        last = if arrival == last.0 { (arrival, last.1 + 1) } else { (arrival, 0) };
        acks.on_ack(Ns(arrival * MILLI + last.1 * 10_000), stamp);
    }
    acks.on_end();
    acks
}

/// One every 5 ms for a second, as it was sent; what is sent while `stopped` comes at its end.
fn stopped(tick: u32, stopped: impl Fn(i64) -> Option<i64>) -> AcksHeld {
    held((0..200_u32).map(|n| {
        let sent = i64::from(n * 5);
        (stopped(sent).unwrap_or(sent), n * 5 / tick)
    }))
}

#[test]
fn what_comes_as_it_was_sent_is_not_held() {
    let acks = stopped(1, |_| None);
    assert_eq!((acks.count, acks.time), (0, 0));
}

#[test]
fn what_was_sent_apart_and_comes_together_was_held() {
    // 35 of every 50 ms: sent at 0, 5, … 30 of them, they come at 35.
    let acks = stopped(1, |sent| (sent >= 200 && sent % 50 < 35).then(|| sent / 50 * 50 + 35));
    assert_eq!(acks.count, 16);
    // 35 ms apart with the one that came in time, less a tick and what passed while they came.
    assert!((33..=35).contains(&(acks.time / MILLI / 16)), "{}", acks.time);
}

#[test]
fn a_coarse_tick_shows_nothing_and_a_burst_is_none() {
    let acks = stopped(10, |sent| (sent >= 200 && sent % 50 < 35).then(|| sent / 50 * 50 + 35));
    assert_eq!(acks.count, 0);
    // Sent together after a pause, as a receiver does that ran late itself.
    let acks = held((0..100_u32).map(|n| (i64::from(n / 10 * 50), n / 10 * 50)));
    assert_eq!(acks.count, 0);
}

#[test]
fn nothing_is_held_longer_than_since_the_packet_before() {
    // A clock that jumps between two packets of one instant.
    let acks = held((0..200_u32).map(|n| (i64::from(n / 2 * 10), n / 2 * 10 + n % 2 * 50)));
    assert!(acks.time <= 100 * 10 * MILLI, "{}", acks.time);
}

/// The same with data that pass every `every` microseconds while `running`, and once when the
/// machine runs again.
fn stopped_beside_data(every: i64, running: impl Fn(i64) -> bool) -> AcksHeld {
    let mut acks = AcksHeld::default();
    let mut events: Vec<(i64, Option<u32>)> = (0..200_u32)
        .map(|n| {
            let sent = i64::from(n * 5) * MILLI;
            let held = n >= 40 && n % 10 < 7;
            let group = i64::from(n / 10 * 50) * MILLI + 35 * MILLI + i64::from(n % 10) * 10_000;
            (if held { group } else { sent }, Some(n * 5))
        })
        .collect();
    let data = (0..1_000_000 / every).map(|n| n * every * 1000 + 1);
    events.extend(data.filter(|at| running(at / MILLI % 50)).map(|at| (at, None)));
    events.sort_unstable();
    for (at, stamp) in events {
        match stamp {
            Some(stamp) => acks.on_ack(Ns(at), stamp),
            None => acks.on_data(Ns(at), 0),
        }
    }
    acks.on_end();
    acks
}

#[test]
fn a_machine_that_sends_meanwhile_did_not_stop() {
    assert_eq!(stopped_beside_data(100, |_| true).count, 0, "paced");
    assert_eq!(stopped_beside_data(3000, |_| true).count, 0, "slowly paced");
    assert_eq!(stopped_beside_data(100, |at| at >= 35).count, 16, "stopped with it");
    assert_eq!(stopped_beside_data(100, |at| at >= 33).count, 0, "ran before");
}

#[test]
fn late_data_are_counted_and_a_step_of_the_clock_forgets() {
    let mut acks = AcksHeld::default();
    for lag in [0, 3 * MILLI, 4 * MILLI, 90 * MILLI] {
        acks.on_data(Ns(0), lag);
    }
    assert_eq!(acks.data, 2);
    acks.on_ack(Ns(0), 0);
    acks.on_clock_step();
    acks.on_ack(Ns(10_000), 900);
    acks.on_end();
    assert_eq!(acks.count, 0);
}
