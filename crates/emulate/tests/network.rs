//! Packets through whole networks: virtual time from pipe to pipe, order, conservation, departure
//! errors, records.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::needless_pass_by_value, reason = "values of JSON, written where they are used")]

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::course::{conserved, dumbbell, network, packet};
use common::networks::chain;
use serde_json::{Value, json};
use trustbed_emulate::{Fate, Refusal};
use trustbed_units::Ns;

#[test]
fn each_pipe_begins_where_the_last_one_ended() {
    // 1000 bytes: 1 ms on access, 5 ms behind it; 10 ms on the bottleneck, 20 ms behind it.
    let access = json!({
        "up": {"rate_bits_per_second": 8_000_000, "delay_ns": 5_000_000}, "down": {"delay_ns": 3}});
    let mut network = network(
        dumbbell(
            json!({"rate_bits_per_second": 800_000, "delay_ns": 20_000_000}),
            json!({}),
            access,
        ),
        1,
    );
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
        network.sent(departure.ticket, departure.due);
    }
    let back = packet(1, 0, (0, 1), 1000, 9);
    network.offer(Ns(1_000_000_000), back).unwrap();
    assert_eq!(
        network.take_due(Ns(1_000_000_003)).map(|departure| (
            departure.payload,
            departure.host,
            departure.due
        )),
        Some((9, 0, Ns(1_000_000_003)))
    );
}

#[test]
fn every_address_may_have_an_access_link_of_its_own() {
    let access = json!({"each": [
        {"up": {"delay_ns": 5_000_000}, "down": {"delay_ns": 1}},
        {"up": {"delay_ns": 300}, "down": {"rate_bits_per_second": 8_000_000}},
    ]});
    let mut network = network(dumbbell(json!({}), json!({}), access), 1);
    for from in [0, 1] {
        network.offer(Ns(0), packet(0, from, (1, 0), 1000, from)).unwrap();
    }
    let taken: Vec<_> = std::iter::from_fn(|| network.take_due(Ns(1_000_000_000))).collect();
    assert_eq!(
        taken.iter().map(|departure| (departure.payload, departure.due.0)).collect::<Vec<_>>(),
        [(1, 300), (0, 5_000_000)]
    );
    for to in [0, 1] {
        network.offer(Ns(1_000_000_000), packet(1, 0, (0, to), 1000, to)).unwrap();
    }
    let taken: Vec<_> = std::iter::from_fn(|| network.take_due(Ns(2_000_000_000))).collect();
    assert_eq!(
        taken.iter().map(|departure| (departure.payload, departure.due.0)).collect::<Vec<_>>(),
        [(0, 1_000_000_001), (1, 1_001_000_000)]
    );
}

#[test]
fn records_tell_every_step() {
    let access = json!({"up": {"delay_ns": 7}});
    let mut network = network(
        dumbbell(
            json!({"rate_bits_per_second": 8_000_000,
                "queue": {"kind": "drop_tail", "limit_packets": 1}}),
            json!({}),
            access,
        ),
        1,
    );
    for number in 0..2 {
        assert_eq!(network.offer(Ns(100), packet(0, 0, (1, 1), 1000, ())), Ok(number));
    }
    let departure = network.take_due(Ns(2_000_000)).unwrap();
    assert!(network.take_due(Ns(2_000_000)).is_none());
    network.sent(departure.ticket, Ns(1_000_200));
    let steps: Vec<_> = network
        .ledger_mut()
        .iter()
        .map(|record| {
            (record.number, record.pipe, record.arrived.0, record.due.map(|due| due.0), record.fate)
        })
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
    assert_eq!(
        network.ledger_mut().iter().map(|record| record.actual).collect::<Vec<_>>(),
        [None, None, None, None, Some(Ns(1_000_200))]
    );
    let summary = network.summary();
    assert_eq!(
        (summary.offered_packets, summary.delivered_packets, summary.inside_packets),
        (2, 1, 0)
    );
    assert_eq!(summary.pipes[0].dropped.iter().collect::<Vec<_>>(), [(&"queue_full", &1)]);
    assert_eq!(summary.departure_error.spread.max_ns, Some(93));
}

#[test]
fn departure_error_is_against_the_time_of_a_full_frame() {
    let mut network =
        network(dumbbell(json!({"rate_bits_per_second": 8_000_000}), json!({}), json!({})), 1);
    for (late, length) in
        [(0, 1000), (500_000, 60), (1_514_000, 60), (1_514_001, 1000), (-300, 1000)]
    {
        network.offer(Ns(0), packet(0, 0, (1, 0), length, late)).unwrap();
    }
    while let Some(departure) = network.take_due(Ns(1_000_000_000)) {
        network.sent(departure.ticket, Ns(departure.due.0 + departure.payload));
    }
    let departure_error = network.summary().departure_error;
    assert_eq!(
        (departure_error.packets, departure_error.early_packets, departure_error.early_max_ns),
        (5, 1, 300)
    );
    assert_eq!(departure_error.late_by_more_than_a_packet_time, Some(0.2));
    let written = serde_json::to_value(&departure_error).unwrap();
    assert_eq!(written["max_ns"], json!(1_514_001));
}

#[test]
fn the_slowest_pipe_of_the_path_is_what_a_frame_takes() {
    let access = json!({
        "up": {"rate_bits_per_second": 1_000_000}, "down": {"rate_bits_per_second": 100_000_000}});
    let mut network =
        network(dumbbell(json!({"rate_bits_per_second": 8_000_000}), json!({}), access), 1);
    for late in [12_112_000, 12_112_001] {
        network.offer(Ns(0), packet(0, 0, (1, 0), 60, late)).unwrap();
    }
    while let Some(departure) = network.take_due(Ns(1_000_000_000)) {
        network.sent(departure.ticket, Ns(departure.due.0 + departure.payload));
    }
    assert_eq!(network.summary().departure_error.late_by_more_than_a_packet_time, Some(0.5));
}

#[test]
fn overdue_is_the_time_in_which_the_network_stalled() {
    let mut network = network(dumbbell(json!({"delay_ns": 1_000_000}), json!({}), json!({})), 1);
    let millisecond = 1_000_000;
    // Due at 1, 2, …, 100 ms; nothing polls from 20 to 30 ms, nor at 50, nor at 100.
    for number in 0..100 {
        network.offer(Ns(number * millisecond), packet(0, 0, (1, 0), 100, ())).unwrap();
    }
    assert_eq!(network.summary().departure_error.overdue_share, None);
    let looks = (1..=20).chain(30..=49).chain(51..=99).chain([101]).map(|at| Ns(at * millisecond));
    for now in looks.chain([Ns(101 * millisecond)]) {
        while let Some(departure) = network.take_due(now) {
            network.sent(departure.ticket, now);
        }
    }
    // Overdue by more than a millisecond: from 21 (the first that waits) to 30. Those of 50 and of
    // 100 wait for one, and not longer.
    assert_eq!(network.summary().departure_error.overdue_share, Some(9.0 / 100.0));
}

#[test]
fn what_does_not_get_in_is_counted() {
    let mut description = dumbbell(json!({"delay_ns": 1_000_000}), json!({}), json!({}));
    description["limit_bytes_inside"] = json!(2 * (1000 + 128));
    let mut network = network(description, 1);
    assert_eq!(network.offer(Ns(0), packet(0, 7, (1, 0), 1000, ())), Err(Refusal::UnknownSource));
    assert_eq!(
        network.offer(Ns(0), packet(0, 0, (1, 7), 1000, ())),
        Err(Refusal::UnknownDestination)
    );
    assert_eq!(network.offer(Ns(0), packet(0, 0, (1, 0), 1000, ())), Ok(0));
    assert_eq!(network.offer(Ns(0), packet(0, 0, (1, 0), 1000, ())), Ok(1));
    assert_eq!(network.offer(Ns(0), packet(0, 0, (1, 0), 1000, ())), Err(Refusal::EmulatorFull));
    assert_eq!((network.inside().packets, network.inside().bytes), (2, 2000));
    // Nobody has taken them yet: where packets come faster than they can be sent, memory is bounded.
    let late = packet(0, 0, (1, 0), 1000, ());
    assert_eq!(network.offer(Ns(1_000_001), late), Err(Refusal::EmulatorFull));
    while let Some(departure) = network.take_due(Ns(1_000_001)) {
        network.sent(departure.ticket, departure.due);
    }
    assert_eq!(network.offer(Ns(1_000_001), packet(0, 0, (1, 0), 1000, ())), Ok(2));
    let summary = network.summary();
    assert_eq!(
        summary.refused.into_iter().collect::<Vec<_>>(),
        [("emulator_full", 2), ("unknown_destination", 1), ("unknown_source", 1)]
    );
    assert_eq!((summary.inside_packets, summary.delivered_packets), (1, 2));
}

#[test]
fn the_rate_of_a_busy_pipe_is_the_described_one() {
    let mut network = network(
        dumbbell(
            json!({"rate_bits_per_second": 20_000_000,
                "queue": {"kind": "drop_tail", "limit_packets": 50}}),
            json!({}),
            json!({}),
        ),
        1,
    );
    for number in 0..20_000 {
        // 40 Mbit/s.
        network.offer(Ns(number * 300_000), packet(0, 0, (1, 0), 1500, ())).unwrap();
        while let Some(departure) = network.take_due(Ns(number * 300_000)) {
            network.sent(departure.ticket, departure.due);
        }
    }
    let pipe = &network.summary().pipes[0];
    assert!((pipe.carried_bits_per_second.unwrap() / 20e6 - 1.0).abs() < 1e-9);
    assert_eq!((pipe.deepest_queue_packets, pipe.deepest_queue_bytes), (50, 75_000));
    // The queue is full after 100 packets, and then each one that is taken waits for 49 others and
    // half a transmission at most.
    assert!(
        (29_000_000..=29_400_000).contains(&pipe.queue_delay.p50_ns.unwrap()),
        "{:?}",
        pipe.queue_delay
    );
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
        let index =
            network.summary().pipes.iter().position(|summary| summary.name == pipe).unwrap();
        let records = network
            .into_ledger()
            .into_iter()
            .filter(|record| record.pipe as usize == index && record.fate == Fate::Lost);
        records.map(|record| record.number).collect::<Vec<_>>()
    };
    let first = lost(chain(json!([lossy(), lossy()])), "up1");
    assert!((60..140).contains(&first.len()));
    assert_eq!(
        first,
        lost(chain(json!([lossy(), {}, lossy()])), "up1"),
        "another pipe does not move it"
    );
    assert_ne!(first, lost(chain(json!([lossy()])), "up"), "the name does");
}

#[test]
fn copies_for_which_there_is_no_room_go_no_further() {
    let twice = || json!({"duplicate": {"probability": 1}, "delay_ns": 10});
    let mut description = chain(json!([twice(), twice(), twice()]));
    let mut all = network(description.clone(), 1);
    description["limit_bytes_inside"] = json!(2 * (1000 + 128));
    let mut few = network(description, 1);
    for (network, delivered) in [(&mut all, 8), (&mut few, 4)] {
        network.offer(Ns(0), packet(0, 0, (1, 0), 1000, ())).unwrap();
        for now in 0..100 {
            while let Some(departure) = network.take_due(Ns(now)) {
                network.sent(departure.ticket, departure.due);
            }
            assert!(conserved(&network.summary()));
        }
        assert_eq!(network.summary().delivered_packets, delivered);
        assert_eq!((network.inside().packets, network.inside().bytes), (0, 0));
    }
    let summary = few.summary();
    assert_eq!(summary.pipes[1].dropped.iter().collect::<Vec<_>>(), [(&"emulator_full", &2)]);
    assert_eq!((summary.pipes[1].carried_packets, summary.pipes[1].copies), (2, 2));
    let records = few.into_ledger().into_iter().filter(|record| record.fate == Fate::EmulatorFull);
    assert_eq!(
        records.map(|record| (record.pipe, record.copy, record.due)).collect::<Vec<_>>(),
        [(1, true, None), (1, true, None)]
    );
}

#[test]
fn a_payload_lives_as_long_as_its_packet() {
    let mut network = network(
        dumbbell(
            json!({"loss": {"kind": "recorded", "lost": [0]}, "duplicate": {"probability": 1},
                "delay_ns": 10}),
            json!({}),
            json!({}),
        ),
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
fn no_wake_up_for_what_cannot_be_due() {
    let access = json!({"up": {"delay_ns": 1_000_000}, "down": {"delay_ns": 4_000_000}});
    let up = json!({"delay_ns": 20_000_000, "jitter": {"kind": "uniform", "spread_ns": 5_000_000}});
    let mut network = network(dumbbell(up, json!({"delay_ns": 7_000_000}), access), 1);
    network.offer(Ns(0), packet(0, 0, (1, 0), 1000, ())).unwrap();
    // From the left side something can be due at the other address of the host, behind its access
    // pipe, or at the right side.
    assert_eq!(network.next_due(), Some(Ns(5_000_000)));
    assert!(network.take_due(Ns(5_000_000)).is_none());
    let due = network.next_due().unwrap();
    assert!(due >= Ns(16_000_000) && due <= Ns(26_000_000));
    assert_eq!(network.take_due(due).map(|departure| departure.due), Some(due));
    network.offer(Ns(100_000_000), packet(1, 0, (0, 0), 1000, ())).unwrap();
    assert_eq!(network.next_due(), Some(Ns(111_000_000)));
    assert_eq!(
        network.take_due(Ns(111_000_000)).map(|departure| departure.due),
        Some(Ns(111_000_000))
    );
}

#[test]
fn reordered_packets_are_counted_where_they_come_out() {
    let up = json!({
        "reorder": {"probability": 0.2, "held_ns": 3_500}, "duplicate": {"probability": 0.1}});
    let mut network = network(dumbbell(up, json!({}), json!({})), 1);
    let mut numbers = vec![];
    for number in 0..2_000 {
        network.offer(Ns(number * 1_000), packet(0, 0, (1, 0), 1000, number)).unwrap();
        numbers.extend(
            std::iter::from_fn(|| network.take_due(Ns(number * 1_000)))
                .map(|departure| departure.payload),
        );
    }
    numbers.extend(
        std::iter::from_fn(|| network.take_due(Ns::MAX)).map(|departure| departure.payload),
    );
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
fn times_are_held_until_they_begin() {
    let up = json!([{"outages": [{"at_ns": 1000, "lasts_ns": 1000}]}, {"delay_ns": 1}]);
    let mut network = network(chain(up), 1);
    network.hold_times();
    network.start(Ns(0));
    for (at, number) in [(1500, 0), (5500, 1), (6500, 2), (7500, 3)] {
        if number == 1 {
            network.begin_times(Ns(5000));
        }
        network.offer(Ns(at), packet(0, 0, (1, 0), 100, number)).unwrap();
    }
    let taken: Vec<_> = std::iter::from_fn(|| network.take_due(Ns(9000)))
        .map(|departure| departure.payload)
        .collect();
    assert_eq!(taken, [0, 1, 3]);
    assert_eq!(network.summary().pipes[0].dropped["outage"], 1);
}

#[test]
fn a_tap_shows_what_passes_its_router_and_when() {
    // Up: every second packet is lost in front of the router, every third of the others behind it.
    // A copy is a packet of its own.
    let mut description = chain(json!([
        {"delay_ns": 100, "loss": {"kind": "periodic", "every": 2}},
        {"delay_ns": 1000, "loss": {"kind": "periodic", "every": 3}}]));
    description["chain"]["down"] =
        json!([{"delay_ns": 1000, "duplicate": {"probability": 1.0}}, {"delay_ns": 100}]);
    let mut network = network(description, 1);
    let seen = Rc::new(RefCell::new(vec![]));
    let into = Rc::clone(&seen);
    network
        .tap("r1", move |passing| {
            into.borrow_mut().push((passing.at.0, passing.length, *passing.payload));
        })
        .unwrap();
    for number in 0..6_u32 {
        network
            .offer(Ns(i64::from(number) * 10), packet(0, 0, (1, 0), 100 + number, number))
            .unwrap();
    }
    network.offer(Ns(60), packet(1, 0, (0, 0), 60, 6)).unwrap();
    let taken = std::iter::from_fn(|| network.take_due(Ns(9000))).count();
    assert_eq!(taken, 2 + 2);
    assert_eq!(
        *seen.borrow(),
        [(100, 100, 0), (120, 102, 2), (140, 104, 4), (1060, 60, 6), (1060, 60, 6)]
    );
    let mut refused = |router| network.tap(router, |_| ()).unwrap_err().to_string();
    assert_eq!(refused("r2"), "taps: there is no router \"r2\"; did you mean \"r1\"?");
    assert_eq!(refused("r1"), "tap at router \"r1\" is described twice; names must differ");
}
