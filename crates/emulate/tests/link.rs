//! A link as a whole: exact departures, limits, order, and that it does not matter when it is
//! polls.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use common::{Packet, by_number, link, pass, run, traffic};
use proptest::prelude::*;
use trustbed_emulate::{Fate, Link, LinkDescription, Outcome};
use trustbed_units::{Ns, Span};

#[test]
fn departures_of_a_busy_link_do_not_drift() {
    // 1500 bytes at 7 Mbit/s take 1714285 and 5/7 ns. A million of them, back to back.
    let mut link = Link::new(&link(r#"{"rate_bits_per_second": 7000000}"#), 1).unwrap();
    for packet in 0..1_000_000_i64 {
        assert!(link.offer(Ns(packet * 1_000_000), 1500, ()).is_none());
        let out = link.poll(Ns::MAX).unwrap();
        let exact = (i128::from(packet) + 1) * 12_000_000_000_000;
        let departed = i128::from(out.passage.departed.unwrap().0);
        assert_eq!(departed, (exact + 6_999_999) / 7_000_000, "the exact moment, rounded up");
    }
}

#[test]
fn an_idle_link_begins_at_once() {
    let outcomes =
        run(&link(r#"{"rate_bits_per_second": 8000000, "delay_ns": 500}"#), 1, 3, 5_000_000);
    let dues: Vec<_> = outcomes.iter().map(|outcome| outcome.passage.due.unwrap().0).collect();
    assert_eq!(dues, [1_000_500, 6_000_500, 11_000_500]);
}

#[test]
fn without_anything_a_link_is_nothing() {
    for outcome in run(&LinkDescription::default(), 1, 100, 10) {
        let passage = outcome.passage;
        assert_eq!(
            (passage.departed, passage.due, passage.found_packets),
            (Some(passage.arrived), Some(passage.arrived), 0)
        );
    }
}

#[test]
fn a_limit_in_packets_counts_the_one_being_sent() {
    let description = link(
        r#"{"rate_bits_per_second": 8000000, "queue": {"kind": "drop_tail", "limit_packets": 3}}"#,
    );
    let fates = |packets: &[Packet]| {
        by_number(&pass(&description, 1, packets))
            .iter()
            .map(|passage| passage.fate)
            .collect::<Vec<_>>()
    };
    let all_at_once = [(0, 1000); 5];
    assert_eq!(
        fates(&all_at_once),
        [Fate::Passed, Fate::Passed, Fate::Passed, Fate::QueueFull, Fate::QueueFull]
    );
    // The first one leaves at one millisecond, to the nanosecond.
    assert_eq!(
        fates(&[(0, 1000), (0, 1000), (0, 1000), (999_999, 1000), (1_000_000, 1000)])[3..],
        [Fate::QueueFull, Fate::Passed]
    );
}

#[test]
fn what_a_packet_finds_is_reported() {
    let outcomes = by_number(&pass(
        &link(r#"{"rate_bits_per_second": 8000000}"#),
        1,
        &[(0, 1000), (0, 500), (400_500, 200)],
    ));
    let found: Vec<_> =
        outcomes.iter().map(|passage| (passage.found_packets, passage.found_bytes)).collect();
    assert_eq!(
        found,
        [(0, 0), (1, 1000), (2, 1100)],
        "400.5 bytes are sent by then; 1099.5 are rounded up"
    );
}

#[test]
fn a_packet_before_its_predecessor_is_moved_to_it() {
    let mut link = Link::new(&LinkDescription::default(), 1).unwrap();
    assert!(link.offer(Ns(1000), 100, "first").is_none());
    assert!(link.offer(Ns(400), 100, "late").is_none());
    link.poll(Ns(1000)).unwrap();
    assert_eq!(link.poll(Ns(1000)).unwrap().passage.arrived, Ns(1000));
}

#[test]
fn what_is_inside_at_the_end_is_reported() {
    let text =
        r#"{"rate_bits_per_second": 8000000, "delay_ns": 1500000, "queue": {"kind": "codel"}}"#;
    let mut link = Link::new(&link(text), 1).unwrap();
    for packet in 0..10 {
        assert!(link.offer(Ns(0), 1000, packet).is_none());
    }
    assert_eq!(std::iter::from_fn(|| link.poll(Ns(4_000_000))).count(), 2);
    assert_eq!(link.len(), 8);
    let left = link.close();
    assert_eq!(
        left.iter().map(|outcome| outcome.content).collect::<Vec<_>>(),
        [2, 3, 4, 5, 6, 7, 8, 9]
    );
    assert!(
        left.iter()
            .all(|outcome| outcome.passage.fate == Fate::Inside && outcome.passage.due.is_none())
    );
    assert_eq!((link.len(), link.next_wakeup()), (0, None));
}

fn queues() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#""queue": {"kind": "unlimited"}"#,
        r#""queue": {"kind": "drop_tail", "limit_packets": 8}"#,
        r#""queue": {"kind": "drop_tail", "limit_bytes": 20000}"#,
        r#""queue": {"kind": "codel", "target_ns": 200000, "interval_ns": 3000000,
            "limit_packets": 40}"#,
        r#""queue": {"kind": "red", "minimum_packets": 2, "maximum_packets": 6, "weight": 0.2,
            "limit_bytes": 30000}"#,
    ])
}

fn rates() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#""rate_bits_per_second": 10000000000000"#,
        r#""rate_bits_per_second": 7000000"#,
        r#""rate_bits_per_second": 300000000"#,
        r#""rate_trace": {"opportunities_ms": [0, 3, 3, 4, 9]}"#,
        r#""shaper": {"rate_bits_per_second": 5000000, "burst_bytes": 9000}"#,
        r#""rate_bits_per_second": 100000000, "shaper": {"rate_bits_per_second": 7000000,
            "burst_bytes": 20000}"#,
        r#""rate_bits_per_second": 30000000, "outages": [{"at_ns": 5000000, "lasts_ns": 9000000,
            "keeps": true}, {"at_ns": 30000000, "lasts_ns": 100000000}]"#,
        r#""rate_trace": {"opportunities_ms": [0, 3, 9]}, "outages": [{"at_ns": 5000000,
            "lasts_ns": 9000000, "keeps": true}]"#,
        r#""policer": {"rate_bits_per_second": 5000000, "burst_bytes": 30000},
            "outages": [{"at_ns": 0, "lasts_ns": 70000000, "keeps": true}]"#,
    ])
}

fn wires() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#""loss": {"kind": "independent", "probability": 0.2}"#,
        r#""duplicate": {"probability": 0.3}, "loss": {"kind": "periodic", "every": 3}"#,
        r#""reorder": {"probability": 0.3, "held_ns": 3000000}, "duplicate": {"probability": 0.3}"#,
        r#""jitter": {"kind": "normal", "deviation_ns": 2000000, "keep_order": false}"#,
        r#""jitter": {"kind": "pareto", "deviation_ns": 2000000}, "loss": {"kind": "recorded",
            "lost": [1, 4], "period_packets": 7}"#,
        r#""delay_steps": {"steps": [{"at_ns": 0, "delay_ns": 9000000}, {"at_ns": 20000000,
            "delay_ns": 1000}], "keep_order": false}"#,
    ])
}

proptest! {

    #[test]
    fn when_it_is_polled_does_not_matter(
        packets in traffic(200, 20_000_000),
        rate in rates(),
        queue in queues(),
        wire in wires(),
        seed in any::<u64>(),
        polls in prop::collection::vec((any::<prop::sample::Index>(), 0..5_000_000_i64), 0..60),
    ) {
        let description = link(&format!("{{{rate}, {queue}, {wire}}}"));
        let mut at_the_end = pass(&description, seed, &packets);
        let mut moments: Vec<i64> = polls
            .iter()
            .map(|(at, after)| packets[at.index(packets.len())].0 + after)
            .collect();
        moments.sort_unstable();
        let mut moments = moments.into_iter().peekable();
        let mut link = Link::new(&description, seed)?;
        let mut outcomes: Vec<Outcome<u32>> = vec![];
        for (number, &(time, length)) in (0..).zip(&packets) {
            while let Some(now) = moments.next_if(|moment| *moment < time) {
                outcomes.extend(std::iter::from_fn(|| link.poll(Ns(now))));
                prop_assert!(link.next_wakeup().is_none_or(|next| next > Ns(now)));
            }
            outcomes.extend(link.offer(Ns(time), length, number));
        }
        while let Some(now) = link.next_wakeup() {
            outcomes.extend(std::iter::from_fn(|| link.poll(now)));
        }
        // Drops are reported once known, which depends on when the link is polled; what happened
        // does not.
        let key = |outcome: &Outcome<u32>| (outcome.content, outcome.passage.copy);
        at_the_end.sort_by_key(key);
        outcomes.sort_by_key(key);
        prop_assert_eq!(outcomes, at_the_end);
    }

    #[test]
    fn every_loss_is_reported(
        packets in traffic(200, 20_000_000),
        rate in rates(),
        queue in queues(),
        wire in wires(),
        seed in any::<u64>(),
    ) {
        let outcomes = pass(&link(&format!("{{{rate}, {queue}, {wire}}}")), seed, &packets);
        let originals = by_number(&outcomes);
        prop_assert_eq!(originals.len(), packets.len());
        for (passage, &(arrived, length)) in originals.iter().zip(&packets) {
            prop_assert_eq!((passage.arrived, passage.length), (Ns(arrived), length));
            prop_assert!(
                passage
                    .departed
                    .is_none_or(|departed| departed >= passage.arrived + passage.transmission
                        || rate.contains("trace"))
            );
            prop_assert!(passage.due.is_none_or(|due| passage.departed.unwrap() <= due));
            prop_assert_eq!(passage.due.is_some(), passage.fate == Fate::Passed);
            prop_assert_eq!(
                passage.departed.is_some(),
                matches!(passage.fate, Fate::Passed | Fate::Lost | Fate::Outage)
            );
        }
        let sent: Vec<_> = originals.iter().filter_map(|passage| passage.departed).collect();
        prop_assert!(sent.is_sorted(), "the transmitter keeps the order");
    }

    #[test]
    fn a_wire_that_keeps_order_keeps_it(
        packets in traffic(200, 20_000_000),
        rate in rates(),
        queue in queues(),
        seed in any::<u64>(),
    ) {
        let text = format!(
            r#"{{{rate}, {queue}, "jitter": {{"kind": "uniform", "spread_ns": 5000000}}}}"#
        );
        let dues: Vec<_> = by_number(&pass(&link(&text), seed, &packets))
            .iter()
            .filter_map(|passage| passage.due)
            .collect();
        prop_assert!(dues.is_sorted());
    }
}

#[test]
fn the_seed_decides() {
    let description = link(
        r#"{"loss": {"kind": "independent", "probability": 0.3}, "jitter": {"kind": "normal",
            "deviation_ns": 1000}, "delay_ns": 10000,
            "duplicate": {"probability": 0.1}, "reorder": {"probability": 0.1, "held_ns": 5000}}"#,
    );
    assert_eq!(run(&description, 7, 1000, 1000), run(&description, 7, 1000, 1000));
    assert_ne!(run(&description, 7, 1000, 1000), run(&description, 8, 1000, 1000));
}

#[test]
fn a_part_that_is_added_does_not_move_the_others() {
    let jitter = r#""delay_ns": 1000000, "jitter": {"kind": "normal", "deviation_ns": 100000,
        "keep_order": false}"#;
    let loss = r#""loss": {"kind": "gilbert_elliott", "good_to_bad": 0.1, "bad_to_good": 0.4}"#;
    let others =
        r#""duplicate": {"probability": 0.3}, "reorder": {"probability": 0.2, "held_ns": 7}"#;
    let of = |parts: &[&str]| {
        by_number(&run(&link(&format!("{{{}}}", parts.join(", "))), 3, 2000, 1_000_000))
    };
    let (only_jitter, only_loss, all) = (of(&[jitter]), of(&[loss]), of(&[jitter, loss, others]));
    let mut held = 0;
    for ((jitter, loss), all) in only_jitter.iter().zip(&only_loss).zip(&all) {
        assert_eq!(all.fate, loss.fate);
        if let Some(due) = all.due {
            let later = due - jitter.due.unwrap();
            assert!(later == Span(0) || later == Span(7));
            held += usize::from(later == Span(7));
        }
    }
    assert!(held > 100);
}

#[test]
fn red_keeps_the_queue_short_where_drop_tail_fills_it() {
    // 1.25 times the rate for 20 seconds: one in five must go.
    let offered = |queue: &str| {
        let text = format!(
            r#"{{"rate_bits_per_second": 8000000, "queue": {{{queue}, "limit_packets": 100}}}}"#
        );
        by_number(&run(&link(&text), 1, 25_000, 800_000))
    };
    let count = |passages: &[trustbed_emulate::Passage], fate| {
        passages.iter().filter(|passage| passage.fate == fate).count()
    };
    let tail = offered(r#""kind": "drop_tail""#);
    let gentle = offered(
        r#""kind": "red", "minimum_packets": 10, "maximum_packets": 30,
            "maximum_probability": 0.1"#,
    );
    let harsh = offered(
        r#""kind": "red", "minimum_packets": 10, "maximum_packets": 30,
            "maximum_probability": 0.5, "gentle": false"#,
    );
    assert_eq!(
        (
            count(&tail, Fate::RedDrop),
            count(&gentle, Fate::QueueFull),
            count(&harsh, Fate::QueueFull)
        ),
        (0, 0, 0)
    );
    for (passages, fate) in
        [(&tail, Fate::QueueFull), (&gentle, Fate::RedDrop), (&harsh, Fate::RedDrop)]
    {
        assert!(count(passages, fate).abs_diff(5000) < 200, "{}", count(passages, fate));
    }
    // Gaps are even in 1…1/p − 1, so one in five is dropped at p = 0.11: in the end the average
    // settles near 30.4 where 0.1 belongs to 30, and near 14.4 where 0.5 does.
    let found = [&tail, &gentle, &harsh].map(|passages| {
        passages[15_000..].iter().map(|passage| passage.found_packets).sum::<u32>() / 10_000
    });
    assert!(
        found[0] > 95 && (28..33).contains(&found[1]) && (12..17).contains(&found[2]),
        "{found:?}"
    );
}
