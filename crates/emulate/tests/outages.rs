//! Outages against a plain walk in fractions: a sender that works, stalls, and goes on.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use common::fraction::Fraction;
use common::{Packet, after_gaps, by_number, link, pass};
use proptest::prelude::*;
use trustbed_emulate::{
    BucketDescription, Fate, Link, LinkDescription, OutageDescription, Passage,
};
use trustbed_units::Ns;

/// Begin, end, and whether packets are kept.
type Outage = (i64, i64, bool);

fn described(rate: Option<u64>, outages: &[Outage]) -> LinkDescription {
    let outages = outages.iter().map(|&(begin, end, keeps)| OutageDescription {
        at_ns: begin.unsigned_abs(),
        lasts_ns: (end - begin).unsigned_abs(),
        keeps,
    });
    LinkDescription {
        rate_bits_per_second: rate,
        outages: outages.collect(),
        ..LinkDescription::default()
    }
}

/// When the last bit of each packet is sent, and whether it is lost. Times of the outages count
/// from 0.
fn plain(rate: Option<u64>, outages: &[Outage], packets: &[Packet]) -> Vec<(i64, Fate)> {
    let kept: Vec<_> = outages
        .iter()
        .filter(|outage| outage.2)
        .map(|&(begin, end, _)| (Fraction::whole(begin), Fraction::whole(end)))
        .collect();
    let mut free = Fraction::whole(i64::MIN);
    let mut found = vec![];
    for &(time, length) in packets {
        let mut now = free.max(Fraction::whole(time));
        let mut left = rate.map_or(Fraction::whole(0), |rate| {
            Fraction::new(i128::from(length) * 8_000_000_000, rate.into())
        });
        let mut start = None;
        loop {
            while let Some((_, end)) = kept.iter().find(|(begin, end)| *begin <= now && now < *end)
            {
                now = *end;
            }
            start.get_or_insert(now);
            match kept.iter().find(|(begin, _)| *begin > now && *begin < now + left) {
                None => break,
                Some((begin, end)) => {
                    left = left - (*begin - now);
                    now = *end;
                }
            }
        }
        free = now + left;
        let start = start.unwrap();
        let lost = outages.iter().filter(|outage| !outage.2).any(|&(begin, end, _)| {
            let (begin, end) = (Fraction::whole(begin), Fraction::whole(end));
            start < end && (begin < free || begin <= start)
        });
        found.push((free.ceil(), if lost { Fate::Outage } else { Fate::Passed }));
    }
    found
}

fn sent(passages: &[Passage]) -> Vec<(i64, Fate)> {
    passages.iter().map(|passage| (passage.departed.unwrap().0, passage.fate)).collect()
}

fn through(description: &LinkDescription, packets: &[Packet]) -> Vec<Passage> {
    let mut link = Link::new(description, 1).unwrap();
    link.start(Ns(0));
    let mut outcomes = vec![];
    for (number, &(time, length)) in (0..).zip(packets) {
        outcomes.extend(link.offer(Ns(time), length, number));
    }
    outcomes.extend(std::iter::from_fn(|| link.poll(Ns::MAX)));
    by_number(&outcomes)
}

fn outages() -> impl Strategy<Value = Vec<Outage>> {
    let gap = prop_oneof![Just(0), 0..1_000_i64, 0..10_000_000_i64];
    let lasts = prop_oneof![1..1_000_i64, 1..20_000_000_i64];
    prop::collection::vec((gap, lasts, any::<bool>()), 1..20).prop_map(|steps| {
        let mut time = 0;
        steps
            .into_iter()
            .map(|(gap, lasts, keeps)| {
                let begin = time + gap;
                time = begin + lasts;
                (begin, time, keeps)
            })
            .collect()
    })
}

fn traffic() -> impl Strategy<Value = Vec<Packet>> {
    let gap = prop_oneof![Just(0), 0..1_000_i64, 0..1_000_000_i64, 0..20_000_000_i64];
    let length = prop_oneof![Just(1514_u32), 0..1514_u32];
    (-1_000_000..1_000_000_i64, prop::collection::vec((gap, length), 1..100))
        .prop_map(|(start, steps)| after_gaps(start, steps))
}

proptest! {

    #[test]
    fn it_is_the_plain_walk(
        packets in traffic(),
        outages in outages(),
        rate in prop_oneof![
            8_000..1_000_000_u64,
            1_000_000..1_000_000_000_u64,
            Just(7_000_000),
            Just(9_999_999_999_973)
        ]
        .prop_map(Some),
    ) {
        prop_assert_eq!(
            sent(&through(&described(rate, &outages), &packets)),
            plain(rate, &outages, &packets)
        );
    }

    #[test]
    fn without_a_rate_packets_wait_for_the_end_alone(packets in traffic(), outages in outages()) {
        prop_assert_eq!(
            sent(&through(&described(None, &outages), &packets)),
            plain(None, &outages, &packets)
        );
    }

    #[test]
    fn the_backlog_stalls_too(
        packets in traffic(),
        outages in outages(),
        rate in 1_000_000..100_000_000_u64,
        shaper in prop::option::of((500_000..20_000_000_u64, 1514..5_000_u64)),
    ) {
        // The plain link, for packets that come by the sender's own clock.
        let kept: Vec<Outage> =
            outages.into_iter().map(|(begin, end, _)| (begin, end, true)).collect();
        let own = |now: i64| {
            now - kept.iter().map(|(begin, end, _)| (now.min(*end) - begin).max(0)).sum::<i64>()
        };
        let moved: Vec<Packet> =
            packets.iter().map(|&(time, length)| (own(time), length)).collect();
        let queue = link(r#"{"queue": {"kind": "drop_tail", "limit_bytes": 6000}}"#).queue;
        let shaper = shaper.map(|(rate_bits_per_second, burst_bytes)| BucketDescription {
            rate_bits_per_second,
            burst_bytes,
        });
        let limited = |outages| LinkDescription { queue, shaper, ..described(Some(rate), outages) };
        let (found, expected) =
            (through(&limited(&kept), &packets), pass(&limited(&[]), 1, &moved));
        for (found, expected) in found.iter().zip(by_number(&expected)) {
            prop_assert_eq!((found.fate, found.found_bytes), (expected.fate, expected.found_bytes));
            prop_assert_eq!(
                found.departed.map(|departed| own(departed.0)),
                expected.departed.map(|departed| departed.0)
            );
        }
    }
}

#[test]
fn what_is_lost_has_used_the_rate_and_what_is_kept_comes_later() {
    // A packet takes a millisecond.
    let packets: Vec<Packet> = (0..6).map(|number| (number * 1_000_000, 1000)).collect();
    let millisecond = 1_000_000;
    let fates = |keeps| {
        sent(&through(
            &described(Some(8_000_000), &[(2 * millisecond, 4 * millisecond, keeps)]),
            &packets,
        ))
    };
    let (lost, kept) = (fates(false), fates(true));
    assert_eq!(
        lost.iter().map(|(left, _)| left / millisecond).collect::<Vec<_>>(),
        [1, 2, 3, 4, 5, 6]
    );
    let of_lost: Vec<_> = lost.iter().map(|(_, fate)| *fate == Fate::Outage).collect();
    assert_eq!(of_lost, [false, false, true, true, false, false]);
    assert_eq!(
        kept.iter().map(|(left, _)| left / millisecond).collect::<Vec<_>>(),
        [1, 2, 5, 6, 7, 8]
    );
    assert!(kept.iter().all(|(_, fate)| *fate == Fate::Passed));
}

#[test]
fn what_a_shaper_held_back_before_an_outage_it_holds_back_behind_it() {
    // 8 Mbit/s in the long run, 2000 bytes at once, at 80 Mbit/s; five packets of 1000 bytes, and
    // nothing passes from 0.2 to 10 ms.
    let shaped = link(
        r#"{"rate_bits_per_second": 80000000, "shaper": {"rate_bits_per_second": 8000000,
            "burst_bytes": 2000},
            "outages": [{"at_ns": 200000, "lasts_ns": 9800000, "keeps": true}]}"#,
    );
    let left: Vec<_> = through(&shaped, &[(0, 1000); 5])
        .iter()
        .map(|passage| passage.departed.unwrap().0 / 1000)
        .collect();
    assert_eq!(left, [100, 200, 10_900, 11_900, 12_900]);
}

#[test]
fn what_is_on_the_wire_arrives() {
    let description = link(r#"{"delay_ns": 5000, "outages": [{"at_ns": 100, "lasts_ns": 1000}]}"#);
    let passages = through(&description, &[(99, 1000), (100, 1000), (1099, 1000), (1100, 1000)]);
    let dues: Vec<_> = passages.iter().map(|passage| passage.due).collect();
    assert_eq!(dues, [Some(Ns(5099)), None, None, Some(Ns(6100))]);
}

#[test]
fn an_outage_does_not_move_what_the_wire_does_to_others() {
    let wire = r#""loss": {"kind": "independent", "probability": 0.3}, "jitter":
        {"kind": "normal", "deviation_ns": 100, "keep_order": false}"#;
    let packets: Vec<Packet> = (0..1000).map(|number| (number * 1000, 1000)).collect();
    let plain = through(&link(&format!("{{{wire}}}")), &packets);
    let broken = through(
        &link(&format!(r#"{{{wire}, "outages": [{{"at_ns": 200000, "lasts_ns": 300000}}]}}"#)),
        &packets,
    );
    assert_eq!((&plain[..200], &plain[500..]), (&broken[..200], &broken[500..]));
    assert!(broken[200..500].iter().all(|passage| passage.fate == Fate::Outage));
}

#[test]
fn nobody_waits_for_what_an_outage_took() {
    // Lost at 1.95 s with a delay of 300 ms; from 2 s on the delay is 20 ms.
    let description = link(
        r#"{"outages": [{"at_ns": 1000000000, "lasts_ns": 1000000000}], "delay_steps":
            {"steps": [{"at_ns": 0, "delay_ns": 300000000},
                       {"at_ns": 2000000000, "delay_ns": 20000000}]}}"#,
    );
    let packets: Vec<Packet> = (0..30).map(|number| (number * 100_000_000, 1000)).collect();
    let passages = through(&description, &packets);
    assert!(passages[10..20].iter().all(|passage| passage.fate == Fate::Outage));
    for passage in &passages[20..] {
        assert_eq!(passage.due.map(|due| (due - passage.arrived).0), Some(20_000_000));
    }
}

#[test]
fn times_wait_until_they_are_released() {
    let description = link(
        r#"{"outages": [{"at_ns": 1000, "lasts_ns": 1000}], "delay_steps":
            {"steps": [{"at_ns": 0, "delay_ns": 5}, {"at_ns": 1500, "delay_ns": 7}]}}"#,
    );
    let fates = |hold: bool| {
        let mut link = Link::new(&description, 1).unwrap();
        if hold {
            link.hold_times();
        }
        link.start(Ns(0));
        let mut outcomes = vec![];
        for number in 0..10_u32 {
            if hold && number == 3 {
                link.begin_times(Ns(4000));
            }
            outcomes.extend(link.offer(Ns(i64::from(number) * 1000 + 500), 100, number));
        }
        outcomes.extend(std::iter::from_fn(|| link.poll(Ns::MAX)));
        by_number(&outcomes)
            .iter()
            .map(|passage| passage.due.map(|due| (due - passage.arrived).0))
            .collect::<Vec<_>>()
    };
    let (five, seven) = (Some(5), Some(7));
    assert_eq!(fates(false), [five, None, seven, seven, seven, seven, seven, seven, seven, seven]);
    assert_eq!(fates(true), [five, five, five, five, five, None, seven, seven, seven, seven]);
}
