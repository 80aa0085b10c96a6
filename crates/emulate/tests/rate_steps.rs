//! A rate in steps against the integral of the rate over time, and against a constant one.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use common::{Packet, by_number, link, traffic};
use proptest::prelude::*;
use trustbed_emulate::{Fate, Link, LinkDescription, Outcome, RateStepDescription};
use trustbed_units::Ns;

/// Units of a byte, of which a rate in bits per second passes that many in a nanosecond.
const BYTE: u128 = 8_000_000_000;

fn described(steps: &[(u64, u64)]) -> LinkDescription {
    let step = |&(at_ns, rate_bits_per_second)| RateStepDescription { at_ns, rate_bits_per_second };
    LinkDescription { rate_steps: steps.iter().map(step).collect(), ..Default::default() }
}

fn through(description: &LinkDescription, packets: &[Packet]) -> Vec<Outcome<u32>> {
    let mut link = Link::new(description, 1).unwrap();
    link.start(Ns(0));
    let mut outcomes = vec![];
    for (number, &(time, length)) in (0..).zip(packets) {
        outcomes.extend(link.offer(Ns(time), length, number));
    }
    outcomes.extend(std::iter::from_fn(|| link.poll(Ns::MAX)));
    outcomes
}

fn departures(outcomes: &[Outcome<u32>]) -> Vec<i64> {
    by_number(outcomes).iter().map(|passage| passage.departed.unwrap().0).collect()
}

fn steps() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let rate = prop_oneof![1_000_000..1_000_000_000_u64, 8_000_000_000..90_000_000_000_u64];
    prop::collection::vec((1..3_000_u64, rate), 1..8).prop_map(|drawn| {
        let mut at = 0;
        let rising = |(number, (gap, rate)): (usize, (u64, u64))| {
            at += if number > 0 { gap } else { 0 };
            (at, rate)
        };
        drawn.into_iter().enumerate().map(rising).collect()
    })
}

/// How much could pass from 0 up to a moment.
fn integral(steps: &[(u64, u64)], moment: i64) -> u128 {
    let moment = u64::try_from(moment).unwrap();
    let ends = steps.iter().skip(1).map(|step| step.0).chain([u64::MAX]);
    let pieces = steps.iter().zip(ends).map(|(&(begin, rate), end)| {
        u128::from(moment.min(end).saturating_sub(begin)) * u128::from(rate)
    });
    pieces.sum()
}

proptest! {

    #[test]
    fn each_packet_leaves_when_the_integral_of_the_rate_has_carried_it(
        steps in steps(),
        packets in prop::collection::vec((0..900_i64, 1..1_500_u32), 1..40),
    ) {
        let packets = common::after_gaps(0, packets);
        let outcomes = through(&described(&steps), &packets);
        let mut carried = 0;
        for (&(arrived, length), left) in packets.iter().zip(departures(&outcomes)) {
            carried = integral(&steps, arrived).max(carried) + u128::from(length) * BYTE;
            prop_assert!(integral(&steps, left) >= carried, "all of it has left");
            prop_assert!(integral(&steps, left - 1) < carried, "and not long before");
        }
    }

    #[test]
    fn steps_of_one_rate_are_a_constant_rate(
        packets in traffic(200, 1 << 40),
        rate in prop_oneof![Just(20_000_000), 8..1_000_u64, 1_000..100_000_000_000_u64],
        turns in prop::collection::vec(1..10_000_000_000_u64, 0..5),
        limit in 1..200_000_u64,
    ) {
        let mut at = 0;
        let mut steps = vec![(0, rate)];
        steps.extend(turns.into_iter().map(|gap| {
            at += gap;
            (at, rate)
        }));
        let queue = link(&format!(
            r#"{{"queue": {{"kind": "drop_tail", "limit_bytes": {limit}}}}}"#
        )).queue;
        let stepped = LinkDescription { queue, ..described(&steps) };
        let constant = LinkDescription {
            queue, rate_bits_per_second: Some(rate), ..LinkDescription::default()
        };
        prop_assert_eq!(common::pass(&stepped, 1, &packets), common::pass(&constant, 1, &packets));
    }
}

#[test]
fn a_packet_that_is_being_sent_goes_on_at_the_new_rate() {
    // 1000 bytes take 1000 ns at first, and half a microsecond from 1500 ns on.
    let fast = described(&[(0, 8_000_000_000), (1500, 16_000_000_000)]);
    assert_eq!(departures(&through(&fast, &[(0, 1000); 4])), [1000, 1750, 2250, 2750]);
    let slow = described(&[(0, 16_000_000_000), (1250, 8_000_000_000)]);
    assert_eq!(departures(&through(&slow, &[(0, 1000); 4])), [500, 1000, 1750, 2750]);
}

#[test]
fn the_first_rate_holds_until_times_begin() {
    let mut link = Link::new(&described(&[(0, 8_000_000_000), (10, 800_000_000)]), 1).unwrap();
    link.hold_times();
    link.start(Ns(0));
    for number in 0..3 {
        assert!(link.offer(Ns(0), 1000, number).is_none());
    }
    link.begin_times(Ns(5000));
    for number in 3..5 {
        assert!(link.offer(Ns(5010), 1000, number).is_none());
    }
    let outcomes: Vec<_> = std::iter::from_fn(|| link.poll(Ns::MAX)).collect();
    assert_eq!(departures(&outcomes), [1000, 2000, 3000, 15_010, 25_010]);
}

#[test]
fn an_outage_delays_no_step() {
    // The sender pauses from 1000 to 3000 ns; the rate falls at 2000 ns.
    let text = r#"{"rate_steps": [{"at_ns": 0, "rate_bits_per_second": 8000000000},
                                  {"at_ns": 2000, "rate_bits_per_second": 4000000000}],
                   "outages": [{"at_ns": 1000, "lasts_ns": 2000, "keeps": true}]}"#;
    assert_eq!(departures(&through(&link(text), &[(0, 1500); 2])), [4000, 7000]);
}

#[test]
fn a_queue_limited_in_bytes_drains_at_the_rate_of_the_moment() {
    // At 2000 ns, 1000 of 3000 bytes are left; at the low rate 100 more leave in 1000 ns.
    let text = r#"{"rate_steps": [{"at_ns": 0, "rate_bits_per_second": 8000000000},
                                  {"at_ns": 2000, "rate_bits_per_second": 800000000}],
                   "queue": {"kind": "drop_tail", "limit_bytes": 3000}}"#;
    let packets = [(0, 3000), (3000, 2101), (3000, 2100)];
    let outcomes = through(&link(text), &packets);
    let fates: Vec<Fate> = by_number(&outcomes).iter().map(|passage| passage.fate).collect();
    assert_eq!(fates, [Fate::Passed, Fate::QueueFull, Fate::Passed]);
}
