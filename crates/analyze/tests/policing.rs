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
    let times = Some(RoundTrips { base: RTT as f64, median: RTT as f64, onward: RTT as f64 });
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
        tsecr: None,
        headers: 52,
    }
}

/// Grows by a packet and a half per round and falls to a half every eighth.
fn sawtooth(round: i64) -> i64 {
    8 + 3 * (round % 8) / 2
}

/// A token bucket of 120 kB/s that holds 12 kB.
fn policer() -> impl FnMut(i64) -> (bool, i64) {
    let (mut tokens, mut then) = (12_000.0_f64, 0);
    move |sent| {
        tokens = (tokens + 120_000.0 * (sent - then) as f64 / 1e9).min(12_000.0);
        then = sent;
        let lost = tokens < 1000.0;
        tokens -= if lost { 0.0 } else { 1000.0 };
        (lost, 0)
    }
}

/// Ten packets at 8 ms each.
fn queue() -> impl FnMut(i64) -> (bool, i64) {
    let (mut free, each) = (0_i64, 8_000_000);
    move |sent| {
        let waits = (free - sent).max(0);
        let lost = waits > 9 * each;
        free = if lost { free } else { sent + waits + each };
        (lost, if lost { 0 } else { waits })
    }
}

#[test]
fn a_policer_drops_behind_bursts_and_without_a_queue() {
    let mut fate = policer();
    let found = exchange(sawtooth, |sent, _| fate(sent));
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
    let mut fate = queue();
    let found = exchange(sawtooth, |sent, _| fate(sent));
    assert!(found.queued.is_some_and(|queued| queued > 5.0), "{found:?}");
}

#[test]
fn without_losses_nothing_is_kept() {
    let times = Some(RoundTrips { base: 1.0, median: 1.0, onward: 1.0 });
    let mut policing = Policing::default();
    policing.on_data(Span(0), &packet(0, 0), 0, || times);
    assert_eq!(policing.result(times), None);
}

/// The same bursts seen behind the place where packets are lost: what is lost leaves a gap. A lag
/// is known of every `known`-th packet.
fn behind(known: i64, mut fate: impl FnMut(i64) -> (bool, i64)) -> (Policing, Option<RoundTrips>) {
    let times = Some(RoundTrips { base: RTT as f64, median: RTT as f64, onward: 0.0 });
    let (mut policing, mut offset, mut top) = (Policing::default(), 0, 0);
    for round in 0..60 {
        for place in 0..sawtooth(round) {
            let sent = round * RTT + place * 100_000;
            let (lost, delay) = fate(sent);
            if !lost {
                if offset > top {
                    policing.on_gap(Span(sent), top..offset, LENGTH, Span(RTT));
                }
                top = offset + i64::from(LENGTH);
                policing.on_data(Span(sent), &packet(sent, offset), 1, || times);
                if place % known == 0 {
                    policing.on_lag(Span(delay));
                }
            }
            offset += i64::from(LENGTH);
        }
    }
    (policing, times)
}

#[test]
fn behind_a_policer_gaps_are_its_losses_and_nothing_came_late() {
    let (mut policing, times) = behind(1, policer());
    let found = policing.result(times).unwrap();
    assert_eq!((found.tried, found.emptied), (1, 1), "{found:?}");
    assert!(found.queued.is_some_and(|queued| queued < 0.2), "{found:?}");
    assert!(found.rate.is_some_and(|rate| (rate / 120_000.0 - 1.0).abs() < 0.15), "{found:?}");
}

#[test]
fn behind_a_full_queue_what_came_was_late() {
    let (mut policing, times) = behind(1, queue());
    let found = policing.result(times).unwrap();
    assert!(found.queued.is_some_and(|queued| queued > 5.0), "{found:?}");
}

#[test]
fn a_queue_that_is_mostly_unknown_is_unknown() {
    let (mut policing, times) = behind(i64::MAX, policer());
    let found = policing.result(times).unwrap();
    assert_eq!((found.emptied, found.queued), (1, None));
}

#[test]
fn what_was_overtaken_was_not_lost() {
    let times = Some(RoundTrips { base: 1e6, median: 1e6, onward: 0.0 });
    let mut policing = Policing::default();
    for round in 0..40 {
        let (sent, offset) = (round * 1_000_000, round * 2000);
        policing.on_gap(Span(sent), offset..offset + 1000, LENGTH, Span(RTT));
        policing.on_data(Span(sent), &packet(sent, offset + 1000), 1, || times);
        policing.on_overtaken(offset);
        policing.on_data(Span(sent + 10), &packet(sent + 10, offset), 1, || times);
    }
    let found = policing.result(times).unwrap();
    assert_eq!((found.tried, found.losses, found.rate), (0, 0, None));
}

#[test]
fn a_gap_of_any_size_is_kept_within_bounds() {
    let times = Some(RoundTrips { base: 1e6, median: 1e6, onward: 0.0 });
    let mut policing = Policing::default();
    for at in 0..10 {
        policing.on_gap(Span(at), at << 40..(at + 1) << 40, 0, Span(RTT));
        policing.on_data(Span(at), &packet(at, (at + 1) << 40), 1, || times);
    }
    assert!(policing.result(times).is_some());
}
