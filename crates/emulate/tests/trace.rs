//! A rate from a trace, against a plain walk from opportunity to opportunity.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use std::collections::VecDeque;

use common::{Packet, by_number, link, pass};
use proptest::prelude::*;
use trustbed_emulate::{Link, LinkDescription, TraceDescription};
use trustbed_units::Ns;

const MILLISECOND: i64 = 1_000_000;

/// As mahimahi's link does it: at every opportunity, bytes go to the packets that wait, and are
/// lost when none does. Departures by number.
fn plain(opportunities_ms: &[i64], bytes: u32, packets: &[Packet]) -> Vec<i64> {
    let period = opportunities_ms.last().unwrap() * MILLISECOND;
    let mut departures = vec![];
    let mut waiting: VecDeque<u32> = VecDeque::new();
    let mut coming = packets.iter().peekable();
    let mut base = packets[0].0;
    while departures.len() < packets.len() {
        for opportunity in opportunities_ms {
            let now = base + opportunity * MILLISECOND;
            while let Some((_, length)) = coming.next_if(|packet| packet.0 < now) {
                waiting.push_back(*length);
            }
            let mut left = bytes;
            while let Some(needed) = waiting.front_mut() {
                let taken = left.min(*needed);
                *needed -= taken;
                left -= taken;
                // An opportunity that is used up serves no packet, not even one without bytes.
                if *needed > 0 {
                    break;
                }
                waiting.pop_front();
                departures.push(now);
                if left == 0 {
                    break;
                }
            }
        }
        base += period;
    }
    departures
}

fn described(opportunities_ms: &[i64], opportunity_bytes: u32) -> LinkDescription {
    let opportunities_ms = opportunities_ms.iter().map(|ms| ms.unsigned_abs()).collect();
    LinkDescription {
        rate_trace: Some(TraceDescription { opportunities_ms, opportunity_bytes }),
        ..LinkDescription::default()
    }
}

fn departures(description: &LinkDescription, packets: &[Packet]) -> Vec<i64> {
    by_number(&pass(description, 1, packets))
        .iter()
        .map(|passage| passage.departed.unwrap().0)
        .collect()
}

proptest! {

    #[test]
    fn it_is_the_plain_walk(
        mut trace in prop::collection::vec(0..40_i64, 1..12),
        bytes in prop_oneof![Just(1504_u32), 1..4000_u32],
        steps in prop::collection::vec(
            (
                prop_oneof![Just(0), 0..20_000_000_i64, 0..200_000_000_i64, Just(MILLISECOND)],
                1..3000_u32,
            ),
            1..80,
        ),
        start in -1_000_000_000..1_000_000_000_i64,
    ) {
        trace.sort_unstable();
        if trace.last() == Some(&0) {
            trace.push(5);
        }
        let mut time = start;
        let packets: Vec<Packet> = steps
            .iter()
            .map(|&(gap, length)| {
                time += gap;
                (time, length)
            })
            .collect();
        prop_assert_eq!(
            departures(&described(&trace, bytes), &packets),
            plain(&trace, bytes, &packets)
        );
    }
}

#[test]
fn opportunities_are_shared_split_and_lost() {
    let trace = described(&[1, 2, 3, 10], 1504);
    // Two small ones share; a long one takes two; the one at 3 ms is unused; the trace
    // begins again at 10 ms.
    let packets = [
        (0, 700),
        (0, 700),
        (1_500_000, 2000),
        (4_000_000, 1000),
        (4_000_000, 1000),
        (4_000_000, 40),
    ];
    assert_eq!(departures(&trace, &packets), [1, 1, 3, 10, 11, 11].map(|ms| ms * MILLISECOND));
}

#[test]
fn the_rate_is_that_of_the_trace() {
    // 5 opportunities of 1504 bytes in 6 ms: 10.0267 Mbit/s, offered twice as much.
    let trace = described(&[1, 2, 4, 5, 6], 1504);
    let packets: Vec<Packet> = (0..20_000).map(|number| (number * 600_000, 1504)).collect();
    let departures = departures(&trace, &packets);
    let time = departures[departures.len() - 1] - departures[0];
    assert_eq!(
        time,
        (4000 * 6 - 1) * MILLISECOND,
        "4000 times around, from the first opportunity to the last"
    );
}

#[test]
fn it_begins_when_it_is_started() {
    let mut link = Link::new(&described(&[5], 1504), 1).unwrap();
    link.start(Ns(0));
    assert!(link.offer(Ns(12 * MILLISECOND), 1000, ()).is_none());
    assert_eq!(link.next_wakeup(), Some(Ns(15 * MILLISECOND)));
    let mut link = Link::new(&described(&[5], 1504), 1).unwrap();
    assert!(link.offer(Ns(12 * MILLISECOND), 1000, ()).is_none());
    assert_eq!(link.next_wakeup(), Some(Ns(17 * MILLISECOND)));
}

#[test]
fn a_queue_in_front_of_a_trace_counts_whole_packets() {
    let description = link(
        r#"{"rate_trace": {"opportunities_ms": [1, 10]}, "queue": {"kind": "drop_tail",
            "limit_bytes": 3000}}"#,
    );
    let passages = by_number(&pass(
        &description,
        1,
        &[(0, 2000), (0, 1000), (0, 1), (5_000_000, 1), (10_500_000, 1000)],
    ));
    let taken: Vec<_> = passages.iter().map(|passage| passage.departed.is_some()).collect();
    assert_eq!(
        taken,
        [true, true, false, false, true],
        "the first one is being sent from 1 to 10 ms, and counts with all its bytes until then"
    );
}
