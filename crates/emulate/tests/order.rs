//! What happens in a network happens in order of time, whenever it is polled and whatever comes
//! late.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use common::course::{
    Traffic, address, conserved, dumbbell, host, links, network, packet, run, traffic,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use trustbed_emulate::Fate;
use trustbed_units::Ns;

proptest! {

    #[test]
    fn when_it_is_polled_does_not_matter_and_nothing_disappears(
        traffic in traffic(),
        up in links(),
        down in links(),
        access in links(),
        mut polls in prop::collection::vec(0..2_000_000_000_i64, 0..50),
        end in prop_oneof![Just(i64::MAX), 0..3_000_000_000_i64],
    ) {
        let description = dumbbell(up, down, json!({"up": access, "down": access}));
        let end = end.max(traffic.last().unwrap().0);
        polls.sort_unstable();
        let (records, summary) = run(&description, &traffic, &polls, end);
        prop_assert!(conserved(&summary));
        prop_assert_eq!(summary.offered_packets, traffic.len() as u64);
        let (plain, unasked) = run(&description, &traffic, &[], end);
        prop_assert_eq!(&records, &plain);
        prop_assert_eq!(&summary, &unasked);
        // Every packet has a story from its first pipe on, and every story ends once for each copy.
        for number in 0..summary.offered_packets {
            let story: Vec<_> = records.iter().filter(|record| record.number == number).collect();
            prop_assert!(!story.is_empty());
            for record in story {
                prop_assert!(record.departed.is_none_or(|departed| departed >= record.arrived));
                prop_assert!(record.due.is_none_or(|due| due >= record.departed.unwrap()));
                prop_assert!(record.actual.is_none_or(|done| Some(done) == record.due));
            }
        }
        for (index, pipe) in summary.pipes.iter().enumerate() {
            prop_assert_eq!(
                pipe.packets + pipe.copies,
                records.iter().filter(|record| record.pipe as usize == index).count() as u64
            );
        }
    }
}

/// Four routers in a ring, a host at two of them; pipes in any order. From the first host to the
/// second packets go round as often as configured.
fn rings() -> impl Strategy<Value = Value> {
    let tied = prop::sample::select(vec![
        json!({}),
        json!({"delay_ns": 1_000_000}),
        json!({"delay_ns": 2_000_000}),
        json!({"rate_bits_per_second": 8_000_000}),
        json!({"rate_bits_per_second": 8_000_000,
            "queue": {"kind": "codel", "target_ns": 500_000, "interval_ns": 5_000_000}}),
    ]);
    let link = prop_oneof![4 => tied, 1 => links()];
    let ends: Vec<(String, String)> = (0..4)
        .flat_map(|router| [(router, (router + 1) % 4), (router, (router + 3) % 4)])
        .map(|(from, to)| (format!("r{from}"), format!("r{to}")))
        .chain(
            [("a", "r0"), ("r0", "a"), ("b", "r2"), ("r2", "b")]
                .map(|(from, to)| (from.to_owned(), to.to_owned())),
        )
        .collect();
    let turns = prop::collection::vec(any::<bool>(), 0..8);
    (Just(ends).prop_shuffle(), prop::collection::vec(link, 12), turns).prop_map(
        |(ends, links, turns)| {
            let pipe = |((from, to), mut link): ((String, String), Value)| {
                link["name"] = json!(format!("{from} {to}"));
                (link["from"], link["to"]) = (json!(from), json!(to));
                link
            };
            let pipes: Vec<Value> = ends.into_iter().zip(links).map(pipe).collect();
            let (mut at, mut through) = (0, vec!["a r0".to_owned()]);
            // As the turns say, and then on to the second host.
            for step in turns.into_iter().map(|right| if right { 1 } else { 3 }).chain([1; 4]) {
                let next = (at + step) % 4;
                through.push(format!("r{at} r{next}"));
                at = next;
            }
            while at != 2 {
                through.push(format!("r{at} r{}", (at + 1) % 4));
                at = (at + 1) % 4;
            }
            through.push("r2 b".to_owned());
            json!({"hosts": [host("a", 0), host("b", 1)],
                "routers": ["r0", "r1", "r2", "r3"], "pipes": pipes,
            "routes": [{"from": "a", "to": "b", "through": through}]})
        },
    )
}

proptest! {

    #[test]
    fn the_time_of_polling_does_not_matter_however_often_a_pipe_is_crossed(
        ring in rings(),
        steps in prop::collection::vec((0..4_i64, 0..8_u8), 1..120),
        mut polls in prop::collection::vec(0..400_i64, 0..150),
    ) {
        // Whole and half milliseconds, and packets that take a millisecond where there is a rate:
        // much happens at the same moment.
        let mut time = 0;
        let traffic: Traffic = steps
            .into_iter()
            .map(|(gap, down)| {
                time += gap * 500_000;
                (time, down > 0, 0, 1, 1000)
            })
            .collect();
        polls.sort_unstable();
        let polls: Vec<i64> = polls.into_iter().map(|step| step * 500_000).collect();
        let (records, summary) = run(&ring, &traffic, &polls, i64::MAX);
        let (plain, unasked) = run(&ring, &traffic, &[], i64::MAX);
        prop_assert_eq!(summary, unasked);
        prop_assert!(records == plain);
    }
}

#[test]
fn what_comes_to_a_pipe_at_the_same_moment_comes_in_the_order_of_the_pipes_before_it() {
    // Of two senders with the same delay, the one with the later pipe also has a packet that is due
    // earlier, and is still being sent on then.
    let description = dumbbell(
        json!({"rate_bits_per_second": 800_000}),
        json!({}),
        json!({"up": {"delay_ns": 2_000_000}}),
    );
    let traffic = vec![(0, true, 1, 0, 40), (100_000, true, 1, 0, 40), (100_000, true, 0, 0, 40)];
    let found = |polls: &[i64]| {
        let (records, _) = run(&description, &traffic, polls, i64::MAX);
        records
            .into_iter()
            .filter(|record| record.pipe == 0)
            .map(|record| (record.number, record.found_packets))
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&[]), [(0, 0), (1, 2), (2, 1)]);
    assert_eq!(found(&[2_000_000]), found(&[]));
}

#[test]
fn a_pipe_that_is_crossed_twice_decides_in_order_of_time() {
    let slow = json!({"name": "forth", "from": "x", "to": "y", "rate_bits_per_second": 8_000_000,
        "queue": {"kind": "codel", "target_ns": 500_000, "interval_ns": 5_000_000}});
    let plain = |name: &str, from: &str, to: &str| json!({"name": name, "from": from, "to": to});
    let pipes = [
        plain("in", "a", "x"),
        slow,
        plain("again", "y", "x"),
        plain("out", "y", "b"),
        plain("b in", "b", "y"),
        plain("a out", "x", "a"),
    ];
    let host = |name: &str, number| json!({"name": name, "addresses": [address(number, 0)]});
    let routes =
        json!([{"from": "a", "to": "b", "through": ["in", "forth", "again", "forth", "out"]}]);
    let description = json!({"hosts": [host("a", 0), host("b", 1)], "routers": ["x", "y"],
        "pipes": pipes, "routes": routes});
    // A packet takes a millisecond, twice.
    let traffic: Traffic = (0..60).map(|number| (number * 1_200_001, true, 0, 0, 1000)).collect();
    let often: Vec<_> = (0..2_000).map(|number| number * 100_003).collect();
    let (records, _) = run(&description, &traffic, &often, i64::MAX);
    assert!(records.iter().any(|record| record.fate == Fate::CodelDrop));
    assert!(run(&description, &traffic, &[], i64::MAX).0 == records);
}

#[test]
fn what_came_through_ahead_of_its_time_delays_no_others() {
    for later in [None, Some(Ns(7_100))] {
        let mut network = network(dumbbell(json!({}), json!({}), json!({})), 1);
        // Offered with a time that is ahead of what is requested.
        for _ in 0..2 {
            network.offer(Ns(7_000), packet(1, 0, (0, 0), 1000, "ahead")).unwrap();
        }
        // Read from another socket behind them, though it came before; perhaps others come before
        // anything is requested.
        network.offer(Ns(6_500), packet(0, 0, (1, 0), 1000, "before")).unwrap();
        if let Some(later) = later {
            network.offer(later, packet(1, 0, (0, 1), 1000, "later")).unwrap();
        }
        assert_eq!(network.next_due(), Some(Ns(6_500)));
        let taken: Vec<_> = std::iter::from_fn(|| network.take_due(Ns(6_600)))
            .map(|departure| departure.payload)
            .collect();
        assert_eq!(taken, ["before"]);
        let taken: Vec<_> = std::iter::from_fn(|| network.take_due(Ns(7_000)))
            .map(|departure| departure.payload)
            .collect();
        assert_eq!(taken, ["ahead", "ahead"]);
    }
}

#[test]
fn packets_of_one_pipe_come_to_the_next_in_order_of_time() {
    let access = json!({"up": {"rate_bits_per_second": 5_000_000, "delay_ns": 2_000_000}});
    let mut network =
        network(dumbbell(json!({"rate_bits_per_second": 8_000_000}), json!({}), access), 1);
    for number in 0..500 {
        let from = usize::from(number % 3 == 0);
        network.offer(Ns(number * 700_000), packet(0, from, (1, 0), 1000, ())).unwrap();
    }
    while network.take_due(Ns(10_000_000_000)).is_some() {}
    let summary = network.summary();
    assert!(summary.pipes.iter().all(|pipe| pipe.moved_forward == 0));
    let arrivals: Vec<_> = network
        .into_ledger()
        .iter()
        .filter(|record| record.pipe == 0)
        .map(|record| record.arrived)
        .collect();
    assert!(arrivals.is_sorted() && arrivals.len() == 500);
}

#[test]
fn a_packet_that_is_offered_late_waits_for_its_own_pipes_only() {
    let mut network = network(
        dumbbell(json!({"delay_ns": 1000}), json!({}), json!({"up": {"delay_ns": 100}})),
        1,
    );
    network.offer(Ns(5_000), packet(0, 0, (1, 0), 1000, "first")).unwrap();
    assert!(network.take_due(Ns(5_200)).is_none());
    // Read from another socket behind the first one, though it came before; the first is on the
    // bottleneck by now.
    network.offer(Ns(4_950), packet(0, 1, (1, 0), 1000, "late")).unwrap();
    // One whose clock is ahead of what is asked for: what it lets through is not given away early.
    network.offer(Ns(7_000), packet(1, 0, (0, 0), 1000, "back")).unwrap();
    assert!(network.take_due(Ns(6_099)).is_none());
    let taken: Vec<_> = std::iter::from_fn(|| network.take_due(Ns(6_100)))
        .map(|departure| (departure.payload, departure.due.0))
        .collect();
    assert_eq!(
        taken,
        [("first", 6_100), ("late", 6_100)],
        "at the bottleneck it is moved behind the first"
    );
    assert_eq!(network.summary().pipes.iter().map(|pipe| pipe.moved_forward).sum::<u64>(), 1);
    assert_eq!(network.take_due(Ns(7_000)).map(|departure| departure.payload), Some("back"));
}
