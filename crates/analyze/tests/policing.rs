//! Policers, queues and random losses, exchange by exchange.

#![expect(clippy::cast_precision_loss, clippy::unwrap_used, reason = "a test")]

use trustbed_analyze::{Policed, Policing, RoundTrips};
use trustbed_flow::{Cause, Class, Records, Segment};
use trustbed_units::{Ns, Span};

const RTT: i64 = 100_000_000;
const LENGTH: u32 = 1000;

/// Bursts of `size(k)` packets once per RTT, 0.1 ms apart; `fate(time, place in its burst)` is
/// whether a packet is lost and by how much a queue delays it. Losses are known one RTT later.
fn exchange(size: impl Fn(i64) -> i64, mut fate: impl FnMut(i64, i64) -> (bool, i64)) -> Policed {
    let times = Some(RoundTrips { base: RTT as f64, median: RTT as f64 });
    let (mut policing, mut records, mut offset) = (Policing::default(), Records::default(), 0);
    let mut late: Vec<(i64, bool, i64, i64)> = Vec::new();
    for round in 0..60 {
        for (sent, lost, at, delay) in std::mem::take(&mut late) {
            if lost {
                policing.on_loss(at, &records, |then| Span(then.0));
            } else {
                policing.on_rtt(Span(sent + RTT + delay), Span(RTT + delay));
            }
        }
        for place in 0..size(round) {
            let sent = round * RTT + place * 100_000;
            let (lost, delay) = fate(sent, place);
            records.push(offset, LENGTH, Ns(sent), 1 << 16);
            policing.on_data(Span(sent), &packet(sent, offset), 1, || times);
            late.push((sent, lost, offset, delay));
            offset += i64::from(LENGTH);
        }
    }
    policing.result(times).unwrap()
}

fn packet(sent: i64, start: i64) -> Segment {
    Segment {
        now: Ns(sent),
        index: 0,
        start,
        length: LENGTH,
        overlap: 0,
        class: Class::New,
        cause: Cause::None,
        outstanding: 0,
        tsval: None,
        headers: 52,
    }
}

/// Grows by a packet and a half per round and falls to a half every eighth.
fn sawtooth(round: i64) -> i64 {
    8 + 3 * (round % 8) / 2
}

#[test]
fn a_policer_drops_behind_bursts_and_without_a_queue() {
    let (mut tokens, mut then) = (12_000.0_f64, 0);
    let found = exchange(sawtooth, |sent, _| {
        tokens = (tokens + 120_000.0 * (sent - then) as f64 / 1e9).min(12_000.0);
        then = sent;
        if tokens < 1000.0 {
            return (true, 0);
        }
        tokens -= 1000.0;
        (false, 0)
    });
    assert_eq!((found.tried, found.emptied), (1, 1), "{found:?}");
    assert!(found.burst_rank.is_some_and(|rank| rank > 0.6), "{found:?}");
    assert!(found.queued.is_some_and(|queued| queued < 0.1), "{found:?}");
    assert!(found.rate.is_some_and(|rate| (rate / 120_000.0 - 1.0).abs() < 0.15), "{found:?}");
}

#[test]
fn random_losses_do_not_follow_bursts() {
    let mut state = 7_u32;
    let found = exchange(sawtooth, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16 < 6000, 0)
    });
    assert!(found.burst_rank.is_some_and(|rank| (rank - 0.5).abs() < 0.15), "{found:?}");
    assert_eq!(found.emptied, 0, "{found:?}");
}

#[test]
fn a_full_queue_stands_before_its_losses() {
    let (mut free, each) = (0_i64, 8_000_000);
    let found = exchange(sawtooth, |sent, _| {
        let waits = (free - sent).max(0);
        if waits > 9 * each {
            return (true, 0);
        }
        free = sent + waits + each;
        (false, waits)
    });
    assert!(found.queued.is_some_and(|queued| queued > 5.0), "{found:?}");
}

#[test]
fn without_losses_nothing_is_kept() {
    let times = Some(RoundTrips { base: 1.0, median: 1.0 });
    let mut policing = Policing::default();
    policing.on_data(Span(0), &packet(0, 0), 0, || times);
    assert_eq!(policing.result(times), None);
}
