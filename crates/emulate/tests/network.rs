//! Packets through whole networks: virtual time from pipe to pipe, order, conservation, lateness, records.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::needless_pass_by_value, reason = "values of JSON, written where they are used")]

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use proptest::prelude::*;
use serde_json::{Value, json};
use trustbed_emulate::{Description, Fate, Network, Offered, Record, Refusal, Summary, Topology};
use trustbed_units::Ns;

fn network<P: Clone>(description: Value, seed: u64) -> Network<P, Vec<Record>> {
    let description: Description = serde_json::from_value(description).unwrap();
    Network::new(&Topology::new(&description).unwrap(), seed, Vec::new()).unwrap()
}

fn address(host: usize, number: usize) -> IpAddr {
    format!("10.0.{host}.{number}").parse().unwrap()
}

fn packet<P>(host: usize, from: usize, to: (usize, usize), length: u32, payload: P) -> Offered<P> {
    Offered { host, source: address(host, from), destination: address(to.0, to.1), length, payload }
}

/// Two addresses on each side, with access pipes on the left only.
fn dumbbell(up: Value, down: Value, access: Value) -> Value {
    let host = |name: &str, number| json!({"name": name, "addresses": [address(number, 0), address(number, 1)]});
    let mut left = host("left host", 0);
    left["access"] = access;
    json!({"dumbbell": {"left": [left], "right": [host("right host", 1)], "up": up, "down": down}})
}

#[test]
fn each_pipe_begins_where_the_last_one_ended() {
    // 1000 bytes: 1 ms on access, 5 ms behind it; 10 ms on the bottleneck, 20 ms behind it.
    let access = json!({"up": {"rate_bits_per_second": 8_000_000, "delay_ns": 5_000_000}, "down": {"delay_ns": 3}});
    let mut network = network(dumbbell(json!({"rate_bits_per_second": 800_000, "delay_ns": 20_000_000}), json!({}), access), 1);
    for from in [0, 0, 1] {
        network.offer(Ns(0), packet(0, from, (1, 0), 1000, from)).unwrap();
    }
    // Asked once, long after: what is due was due at its own moment.
    let taken: Vec<_> = std::iter::from_fn(|| network.take_due(Ns(1_000_000_000))).collect();
    assert_eq!(
        taken.iter().map(|departure| (departure.payload, departure.due.0)).collect::<Vec<_>>(),
        [(0, 36_000_000), (1, 46_000_000), (0, 56_000_000)]
    );
    for departure in &taken {
        assert_eq!(departure.host, 1);
        network.done(departure.ticket, departure.due);
    }
    let back = packet(1, 0, (0, 1), 1000, 9);
    network.offer(Ns(1_000_000_000), back).unwrap();
    assert_eq!(
        network.take_due(Ns(1_000_000_003)).map(|departure| (departure.payload, departure.host, departure.due)),
        Some((9, 0, Ns(1_000_000_003)))
    );
}

#[test]
fn records_tell_every_step() {
    let access = json!({"up": {"delay_ns": 7}});
    let mut network = network(
        dumbbell(json!({"rate_bits_per_second": 8_000_000, "queue": {"kind": "drop_tail", "limit_packets": 1}}), json!({}), access),
        1,
    );
    for number in 0..2 {
        assert_eq!(network.offer(Ns(100), packet(0, 0, (1, 1), 1000, ())), Ok(number));
    }
    let departure = network.take_due(Ns(2_000_000)).unwrap();
    assert!(network.take_due(Ns(2_000_000)).is_none());
    network.done(departure.ticket, Ns(1_000_200));
    let steps: Vec<_> = network
        .ledger_mut()
        .iter()
        .map(|record| (record.number, record.pipe, record.arrived.0, record.due.map(|due| due.0), record.fate))
        .collect();
    let (access, up, down) = (4, 0, 3);
    assert_eq!(
        steps,
        [
            (0, access, 100, Some(107), Fate::Passed),
            (1, access, 100, Some(107), Fate::Passed),
            (1, up, 107, None, Fate::QueueFull),
            (0, up, 107, Some(1_000_107), Fate::Passed),
            (0, down, 1_000_107, Some(1_000_107), Fate::Passed),
        ]
    );
    assert_eq!(network.ledger_mut().iter().map(|record| record.done).collect::<Vec<_>>(), [None, None, None, None, Some(Ns(1_000_200))]);
    let summary = network.summary();
    assert_eq!((summary.offered_packets, summary.delivered_packets, summary.inside_packets), (2, 1, 0));
    assert_eq!(summary.pipes[0].dropped.iter().collect::<Vec<_>>(), [(&"queue_full", &1)]);
    assert_eq!(summary.lateness.spread.max_ns, Some(93));
}

#[test]
fn lateness_is_against_the_time_of_a_full_frame() {
    let mut network = network(dumbbell(json!({"rate_bits_per_second": 8_000_000}), json!({}), json!({})), 1);
    for (late, length) in [(0, 1000), (500_000, 60), (1_514_000, 60), (1_514_001, 1000), (-300, 1000)] {
        network.offer(Ns(0), packet(0, 0, (1, 0), length, late)).unwrap();
    }
    while let Some(departure) = network.take_due(Ns(1_000_000_000)) {
        network.done(departure.ticket, Ns(departure.due.0 + departure.payload));
    }
    let lateness = network.summary().lateness;
    assert_eq!((lateness.packets, lateness.early_packets, lateness.early_max_ns), (5, 1, 300));
    assert_eq!(lateness.late_by_more_than_a_packet_time, Some(0.2));
    let written = serde_json::to_value(&lateness).unwrap();
    assert_eq!(written["max_ns"], json!(1_514_001));
}

#[test]
fn the_slowest_pipe_of_the_way_is_what_a_frame_takes() {
    let access = json!({"up": {"rate_bits_per_second": 1_000_000}, "down": {"rate_bits_per_second": 100_000_000}});
    let mut network = network(dumbbell(json!({"rate_bits_per_second": 8_000_000}), json!({}), access), 1);
    for late in [12_112_000, 12_112_001] {
        network.offer(Ns(0), packet(0, 0, (1, 0), 60, late)).unwrap();
    }
    while let Some(departure) = network.take_due(Ns(1_000_000_000)) {
        network.done(departure.ticket, Ns(departure.due.0 + departure.payload));
    }
    assert_eq!(network.summary().lateness.late_by_more_than_a_packet_time, Some(0.5));
}

#[test]
fn overdue_is_the_time_in_which_the_network_stood_still() {
    let mut network = network(dumbbell(json!({"delay_ns": 1_000_000}), json!({}), json!({})), 1);
    let millisecond = 1_000_000;
    // Due at 1, 2, …, 100 ms; nobody looks from 20 to 30 ms, nor at 50, nor at 100.
    for number in 0..100 {
        network.offer(Ns(number * millisecond), packet(0, 0, (1, 0), 100, ())).unwrap();
    }
    assert_eq!(network.summary().lateness.overdue_share, None);
    let looks = (1..=20).chain(30..=49).chain(51..=99).chain([101]).map(|at| Ns(at * millisecond));
    for now in looks.chain([Ns(101 * millisecond)]) {
        while let Some(departure) = network.take_due(now) {
            network.done(departure.ticket, now);
        }
    }
    // Overdue by more than a millisecond: from 21 (the first that waits) to 30. Those of 50 and of 100 wait for one, and not longer.
    assert_eq!(network.summary().lateness.overdue_share, Some(9.0 / 100.0));
}

#[test]
fn what_does_not_get_in_is_counted() {
    let mut description = dumbbell(json!({"delay_ns": 1_000_000}), json!({}), json!({}));
    description["limit_bytes_inside"] = json!(2 * (1000 + 128));
    let mut network = network(description, 1);
    assert_eq!(network.offer(Ns(0), packet(0, 7, (1, 0), 1000, ())), Err(Refusal::UnknownSource));
    assert_eq!(network.offer(Ns(0), packet(0, 0, (1, 7), 1000, ())), Err(Refusal::UnknownDestination));
    assert_eq!(network.offer(Ns(0), packet(0, 0, (1, 0), 1000, ())), Ok(0));
    assert_eq!(network.offer(Ns(0), packet(0, 0, (1, 0), 1000, ())), Ok(1));
    assert_eq!(network.offer(Ns(0), packet(0, 0, (1, 0), 1000, ())), Err(Refusal::EmulatorFull));
    assert_eq!((network.inside().packets, network.inside().bytes), (2, 2000));
    // They have left by then, so there is room again.
    assert_eq!(network.offer(Ns(1_000_001), packet(0, 0, (1, 0), 1000, ())), Ok(2));
    let summary = network.summary();
    assert_eq!(summary.refused.into_iter().collect::<Vec<_>>(), [("emulator_full", 1), ("unknown_destination", 1), ("unknown_source", 1)]);
    assert_eq!(summary.inside_packets, 3);
}

#[test]
fn the_rate_of_a_busy_pipe_is_the_described_one() {
    let mut network = network(
        dumbbell(json!({"rate_bits_per_second": 20_000_000, "queue": {"kind": "drop_tail", "limit_packets": 50}}), json!({}), json!({})),
        1,
    );
    for number in 0..20_000 {
        // 40 Mbit/s.
        network.offer(Ns(number * 300_000), packet(0, 0, (1, 0), 1500, ())).unwrap();
        while let Some(departure) = network.take_due(Ns(number * 300_000)) {
            network.done(departure.ticket, departure.due);
        }
    }
    let pipe = &network.summary().pipes[0];
    assert!((pipe.carried_bits_per_second.unwrap() / 20e6 - 1.0).abs() < 1e-9);
    assert_eq!((pipe.deepest_queue_packets, pipe.deepest_queue_bytes), (50, 75_000));
    // The queue is full after 100 packets, and then each one that is taken waits for 49 others and half a transmission at most.
    assert!((29_000_000..=29_400_000).contains(&pipe.queue_delay.p50_ns.unwrap()), "{:?}", pipe.queue_delay);
}

#[test]
fn pipes_do_not_share_their_chances() {
    let lossy = || json!({"loss": {"kind": "independent", "probability": 0.5}});
    let lost = |description: Value, pipe: &str| {
        let mut network = network(description, 9);
        for number in 0..200 {
            network.offer(Ns(number), packet(0, 0, (1, 0), 1000, ())).unwrap();
            while network.take_due(Ns(number)).is_some() {}
        }
        let place = network.summary().pipes.iter().position(|summary| summary.name == pipe).unwrap();
        let records = network.into_ledger().into_iter().filter(|record| record.pipe as usize == place && record.fate == Fate::Lost);
        records.map(|record| record.number).collect::<Vec<_>>()
    };
    let chain = |up: Value| json!({"chain": {"ends": [{"name": "a", "addresses": ["10.0.0.0"]}, {"name": "b", "addresses": ["10.0.1.0"]}], "up": up}});
    let first = lost(chain(json!([lossy(), lossy()])), "up1");
    assert!((60..140).contains(&first.len()));
    assert_eq!(first, lost(chain(json!([lossy(), {}, lossy()])), "up1"), "another pipe does not move it");
    assert_ne!(first, lost(chain(json!([lossy()])), "up"), "the name does");
}

/// Where, when and what: the moment, whether left to right, both numbers of addresses, the length.
type Traffic = Vec<(i64, bool, usize, usize, u32)>;

fn traffic() -> impl Strategy<Value = Traffic> {
    let gap = prop_oneof![Just(0), 0..2_000_000_i64, 0..50_000_000_i64];
    prop::collection::vec((gap, any::<bool>(), 0..2_usize, 0..2_usize, 40..1500_u32), 1..150).prop_map(|steps| {
        let mut time = 0;
        steps
            .into_iter()
            .map(|(gap, up, from, to, length)| {
                time += gap;
                (time, up, from, to, length)
            })
            .collect()
    })
}

fn links() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({}),
        json!({"rate_bits_per_second": 8_000_000, "delay_ns": 1_000_000, "queue": {"kind": "drop_tail", "limit_packets": 5}}),
        json!({"rate_bits_per_second": 3_000_000, "queue": {"kind": "codel", "target_ns": 500_000, "interval_ns": 5_000_000}}),
        json!({"rate_trace": {"opportunities_ms": [1, 2, 5]}, "queue": {"kind": "red", "minimum_packets": 2, "maximum_packets": 5, "weight": 0.3}}),
        json!({"delay_ns": 5_000_000, "jitter": {"kind": "uniform", "spread_ns": 3_000_000, "keep_order": false}, "duplicate": {"probability": 0.2}}),
        json!({"rate_bits_per_second": 9_000_000, "shaper": {"rate_bits_per_second": 4_000_000, "burst_bytes": 4000},
               "outages": [{"at_ns": 20_000_000, "lasts_ns": 30_000_000, "keeps": true}, {"at_ns": 90_000_000, "lasts_ns": 20_000_000}]}),
        json!({"policer": {"rate_bits_per_second": 2_000_000, "burst_bytes": 5000},
               "delay_steps": {"steps": [{"at_ns": 0, "delay_ns": 9_000_000}, {"at_ns": 50_000_000, "delay_ns": 2_000_000}], "keep_order": false}}),
        json!({"loss": {"kind": "periodic", "every": 5}, "reorder": {"probability": 0.2, "held_ns": 3_000_000}, "duplicate": {"probability": 0.2}}),
    ])
}

fn conserved(summary: &Summary) -> bool {
    let (mut copies, mut dropped) = (0, 0);
    for pipe in &summary.pipes {
        copies += pipe.copies;
        dropped += pipe.dropped.iter().filter(|(cause, _)| **cause != "inside").map(|(_, count)| count).sum::<u64>();
    }
    summary.offered_packets + copies == summary.delivered_packets + dropped + summary.unsent_packets + summary.inside_packets
}

/// Sends traffic, asking at these moments too; every packet is done when it was due, every seventh cannot be sent. The last moment ends it.
fn run(description: &Value, traffic: &Traffic, asked: &[i64], end: i64) -> (Vec<Record>, Summary) {
    let mut network = network(description.clone(), 5);
    let take = |network: &mut Network<usize, Vec<Record>>, now: i64| {
        let mut last = Ns::MIN;
        while let Some(departure) = network.take_due(Ns(now)) {
            assert!(departure.due.0 <= now && departure.due >= last);
            last = departure.due;
            if departure.payload % 7 == 6 { network.unsent(departure.ticket) } else { network.done(departure.ticket, departure.due) }
        }
        assert!(network.next_due().is_none_or(|due| due.0 > now));
        assert!(conserved(&network.summary()));
    };
    let mut asked = asked.iter().copied().peekable();
    for (payload, &(time, up, from, to, length)) in traffic.iter().enumerate() {
        while let Some(now) = asked.next_if(|now| *now < time) {
            take(&mut network, now);
        }
        let (host, other) = if up { (0, 1) } else { (1, 0) };
        network.offer(Ns(time), packet(host, from, (other, to), length, payload)).unwrap();
    }
    take(&mut network, end);
    let empty = network.next_due().is_none();
    assert_eq!(empty, network.inside().packets == 0 && network.inside().bytes == 0);
    network.close();
    let summary = network.summary();
    assert!(network.next_due().is_none() && network.inside().packets == 0);
    let mut records = network.into_ledger();
    records.sort_by_key(|record| (record.number, record.pipe, record.arrived, record.copy, record.due, record.fate));
    (records, summary)
}

proptest! {
    #[test]
    fn when_it_is_asked_does_not_matter_and_nothing_disappears(
        traffic in traffic(), up in links(), down in links(), access in links(), mut asked in prop::collection::vec(0..2_000_000_000_i64, 0..50),
        end in prop_oneof![Just(i64::MAX), 0..3_000_000_000_i64],
    ) {
        let description = dumbbell(up, down, json!({"up": access, "down": access}));
        let end = end.max(traffic.last().unwrap().0);
        asked.sort_unstable();
        let (records, summary) = run(&description, &traffic, &asked, end);
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
                prop_assert!(record.done.is_none_or(|done| Some(done) == record.due));
            }
        }
        for (place, pipe) in summary.pipes.iter().enumerate() {
            prop_assert_eq!(pipe.packets + pipe.copies, records.iter().filter(|record| record.pipe as usize == place).count() as u64);
        }
    }
}

#[test]
fn packets_of_one_pipe_come_to_the_next_in_order_of_time() {
    let access = json!({"up": {"rate_bits_per_second": 5_000_000, "delay_ns": 2_000_000}});
    let mut network = network(dumbbell(json!({"rate_bits_per_second": 8_000_000}), json!({}), access), 1);
    for number in 0..500 {
        let from = usize::from(number % 3 == 0);
        network.offer(Ns(number * 700_000), packet(0, from, (1, 0), 1000, ())).unwrap();
    }
    while network.take_due(Ns(10_000_000_000)).is_some() {}
    let summary = network.summary();
    assert!(summary.pipes.iter().all(|pipe| pipe.moved_forward == 0));
    let arrivals: Vec<_> = network.into_ledger().iter().filter(|record| record.pipe == 0).map(|record| record.arrived).collect();
    assert!(arrivals.is_sorted() && arrivals.len() == 500);
}

#[test]
fn a_packet_that_is_offered_late_waits_for_nobody_but_its_own_pipes() {
    let mut network = network(dumbbell(json!({"delay_ns": 1000}), json!({}), json!({"up": {"delay_ns": 100}})), 1);
    network.offer(Ns(5_000), packet(0, 0, (1, 0), 1000, "first")).unwrap();
    assert!(network.take_due(Ns(5_200)).is_none());
    // Read from another socket behind the first one, though it came before; the first is on the bottleneck by now.
    network.offer(Ns(4_950), packet(0, 1, (1, 0), 1000, "late")).unwrap();
    // One whose clock is ahead of what is asked for: what it lets through is not given away early.
    network.offer(Ns(7_000), packet(1, 0, (0, 0), 1000, "back")).unwrap();
    assert!(network.take_due(Ns(6_099)).is_none());
    let taken: Vec<_> = std::iter::from_fn(|| network.take_due(Ns(6_100))).map(|departure| (departure.payload, departure.due.0)).collect();
    assert_eq!(taken, [("first", 6_100), ("late", 6_100)], "at the bottleneck it is moved behind the first");
    assert_eq!(network.summary().pipes.iter().map(|pipe| pipe.moved_forward).sum::<u64>(), 1);
    assert_eq!(network.take_due(Ns(7_000)).map(|departure| departure.payload), Some("back"));
}

#[test]
fn a_payload_lives_as_long_as_its_packet() {
    let mut network = network(
        dumbbell(json!({"loss": {"kind": "recorded", "lost": [0]}, "duplicate": {"probability": 1}, "delay_ns": 10}), json!({}), json!({})),
        1,
    );
    let payload = std::rc::Rc::new(());
    network.offer(Ns(0), packet(0, 0, (1, 0), 1000, payload.clone())).unwrap();
    assert!(network.take_due(Ns(5)).is_none());
    assert_eq!(std::rc::Rc::strong_count(&payload), 1, "lost, and dropped at once");
    network.offer(Ns(20), packet(0, 0, (1, 0), 1000, payload.clone())).unwrap();
    let taken: Vec<_> = std::iter::from_fn(|| network.take_due(Ns(40))).collect();
    assert_eq!((taken.len(), std::rc::Rc::strong_count(&payload)), (2, 3), "it came twice");
    assert_eq!(taken.iter().map(|departure| departure.due).collect::<Vec<_>>(), [Ns(30), Ns(30)]);
    network.offer(Ns(50), packet(0, 0, (1, 0), 1000, payload.clone())).unwrap();
    drop(taken);
    network.close();
    assert_eq!(std::rc::Rc::strong_count(&payload), 1);
}

#[test]
fn nobody_is_woken_for_what_cannot_be_due() {
    let access = json!({"up": {"delay_ns": 1_000_000}, "down": {"delay_ns": 4_000_000}});
    let up = json!({"delay_ns": 20_000_000, "jitter": {"kind": "uniform", "spread_ns": 5_000_000}});
    let mut network = network(dumbbell(up, json!({"delay_ns": 7_000_000}), access), 1);
    network.offer(Ns(0), packet(0, 0, (1, 0), 1000, ())).unwrap();
    // From the left side something can be due at the other address of the host, behind its access pipe, or at the right side.
    assert_eq!(network.next_due(), Some(Ns(5_000_000)));
    assert!(network.take_due(Ns(5_000_000)).is_none());
    let due = network.next_due().unwrap();
    assert!(due >= Ns(16_000_000) && due <= Ns(26_000_000));
    assert_eq!(network.take_due(due).map(|departure| departure.due), Some(due));
    network.offer(Ns(100_000_000), packet(1, 0, (0, 0), 1000, ())).unwrap();
    assert_eq!(network.next_due(), Some(Ns(111_000_000)));
    assert_eq!(network.take_due(Ns(111_000_000)).map(|departure| departure.due), Some(Ns(111_000_000)));
}

#[test]
fn reordered_packets_are_counted_where_they_come_out() {
    let up = json!({"reorder": {"probability": 0.2, "held_ns": 3_500}, "duplicate": {"probability": 0.1}});
    let mut network = network(dumbbell(up, json!({}), json!({})), 1);
    let mut numbers = vec![];
    for number in 0..2_000 {
        network.offer(Ns(number * 1_000), packet(0, 0, (1, 0), 1000, number)).unwrap();
        numbers.extend(std::iter::from_fn(|| network.take_due(Ns(number * 1_000))).map(|departure| departure.payload));
    }
    numbers.extend(std::iter::from_fn(|| network.take_due(Ns::MAX)).map(|departure| departure.payload));
    let mut latest = -1;
    let mut behind = 0;
    for number in numbers {
        behind += u64::from(number < latest);
        latest = latest.max(number);
    }
    let pipe = &network.summary().pipes[0];
    assert!(behind > 200 && pipe.copies > 100);
    assert_eq!(pipe.reordered, behind);
}

#[test]
fn times_are_held_until_somebody_says_where_they_begin() {
    let description = json!({"chain": {"ends": [{"name": "a", "addresses": ["10.0.0.0"]}, {"name": "b", "addresses": ["10.0.1.0"]}],
        "up": [{"outages": [{"at_ns": 1000, "lasts_ns": 1000}]}, {"delay_ns": 1}]}});
    let mut network = network(description, 1);
    network.hold_times();
    network.start(Ns(0));
    for (at, number) in [(1500, 0), (5500, 1), (6500, 2), (7500, 3)] {
        if number == 1 {
            network.begin_times(Ns(5000));
        }
        network.offer(Ns(at), packet(0, 0, (1, 0), 100, number)).unwrap();
    }
    let taken: Vec<_> = std::iter::from_fn(|| network.take_due(Ns(9000))).map(|departure| departure.payload).collect();
    assert_eq!(taken, [0, 1, 3]);
    assert_eq!(network.summary().pipes[0].dropped["outage"], 1);
}

#[test]
fn a_tap_shows_what_passes_its_router_and_when() {
    // Up: every second packet is lost in front of the router, every third of the others behind it. A copy is a packet of its own.
    let description = json!({"chain": {"ends": [{"name": "a", "addresses": ["10.0.0.0"]}, {"name": "b", "addresses": ["10.0.1.0"]}],
        "up": [{"delay_ns": 100, "loss": {"kind": "periodic", "every": 2}}, {"delay_ns": 1000, "loss": {"kind": "periodic", "every": 3}}],
        "down": [{"delay_ns": 1000, "duplicate": {"probability": 1.0}}, {"delay_ns": 100}]}});
    let mut network = network(description, 1);
    let seen = Rc::new(RefCell::new(vec![]));
    let into = Rc::clone(&seen);
    network.tap("r1", move |passing| into.borrow_mut().push((passing.at.0, passing.length, *passing.payload))).unwrap();
    for number in 0..6_u32 {
        network.offer(Ns(i64::from(number) * 10), packet(0, 0, (1, 0), 100 + number, number)).unwrap();
    }
    network.offer(Ns(60), packet(1, 0, (0, 0), 60, 6)).unwrap();
    let taken = std::iter::from_fn(|| network.take_due(Ns(9000))).count();
    assert_eq!(taken, 2 + 2);
    assert_eq!(*seen.borrow(), [(100, 100, 0), (120, 102, 2), (140, 104, 4), (1060, 60, 6), (1060, 60, 6)]);
    let mut refused = |router| network.tap(router, |_| ()).unwrap_err().to_string();
    assert_eq!(refused("r2"), "taps: there is no router \"r2\"; did you mean \"r1\"?");
    assert_eq!(refused("r1"), "tap at router \"r1\" is described twice; names must differ");
}
