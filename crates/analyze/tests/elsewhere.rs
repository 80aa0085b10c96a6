//! The sender's view from a capture that is not beside it: acknowledgements arrive late, and the
//! sender's clock ticks.

use trustbed_analyze::{Category, Elsewhere, HostClock, Sent};
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

fn sent(at: i64, end: i64) -> Sent {
    Sent {
        now: Ns(at),
        end,
        length: 1000,
        repeats: false,
        mss: 1000,
        rtt_base: Some(Span(20 * MS)),
        held_by_network: false,
    }
}

#[test]
fn an_acknowledgement_reaches_the_sender_after_a_round_trip() {
    let mut far = Elsewhere::new(0, 10_000, 0);
    let rtt = Span(20 * MS);
    assert_eq!(far.on_data(&sent(0, 1000), rtt, false), None);
    far.on_ack(Ns(MS), 1000, 10_000, false);
    let turn = far.on_data(&sent(26 * MS, 2000), rtt, false);
    assert_eq!(
        turn.map(|t| (t.spacing, t.category, t.empty)),
        Some((Some(Span(5 * MS)), Category::Spacing, true)),
        "26 ms less 1 ms less the round trip"
    );
}

#[test]
fn what_is_still_in_transit_is_no_reception() {
    let mut far = Elsewhere::new(0, 10_000, 0);
    let rtt = Span(20 * MS);
    far.on_data(&sent(0, 1000), rtt, false);
    far.on_ack(Ns(10 * MS), 1000, 10_000, false);
    assert_eq!(
        far.on_data(&sent(25 * MS, 2000), rtt, false),
        None,
        "sent before the acknowledgement came"
    );
    let turn = far.on_data(&sent(31 * MS, 3000), rtt, false);
    assert_eq!(turn.and_then(|t| t.spacing), Some(Span(MS)));
}

#[test]
fn a_pause_that_the_network_explains_is_no_spacing() {
    let mut far = Elsewhere::new(0, 10_000, 0);
    far.on_data(&sent(0, 1000), Span(0), false);
    far.on_ack(Ns(MS), 1000, 10_000, false);
    let held = Sent { held_by_network: true, ..sent(200 * MS, 2000) };
    assert_eq!(far.on_data(&held, Span(0), false), None);
    assert_eq!(
        (far.view.held_by_network, far.view.spacing.count(), far.view.response.count()),
        ((1, 199 * MS), 0, 0)
    );
}

#[test]
fn nothing_crosses_a_step_of_the_clock() {
    let mut far = Elsewhere::new(0, 10_000, 0);
    far.on_data(&sent(0, 1000), Span(0), false);
    far.on_ack(Ns(MS), 1000, 10_000, false);
    far.on_clock_step();
    assert_eq!(far.on_data(&sent(5 * MS, 2000), Span(0), false), None);
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
