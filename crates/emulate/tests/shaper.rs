//! The shaper against a token bucket in fractions, alone and in front of a rate.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use common::fraction::Fraction;
use common::{Packet, after_gaps, by_number, link, pass};
use proptest::prelude::*;
use trustbed_emulate::{BucketDescription, Fate, LinkDescription, QueueDescription};

const UNITS: i128 = 8_000_000_000;

fn described(bucket: (u64, u64), rate: Option<u64>) -> LinkDescription {
    let shaper = BucketDescription { rate_bits_per_second: bucket.0, burst_bytes: bucket.1 };
    LinkDescription {
        shaper: Some(shaper),
        rate_bits_per_second: rate,
        ..LinkDescription::default()
    }
}

/// When the bucket lets each packet go, exactly: when as many bytes have come as it needs, or the
/// bucket is full.
fn let_go((rate, burst): (u64, u64), packets: &[Packet]) -> Vec<Fraction> {
    let (depth, each) = (Fraction::new(burst.into(), 1), Fraction::new(rate.into(), UNITS));
    let (mut level, mut last) = (depth, Fraction::whole(packets[0].0));
    let mut moments = vec![];
    for &(time, length) in packets {
        let now = last.max(Fraction::whole(time));
        level = (level + each * (now - last)).min(depth);
        let length = Fraction::whole(length.into());
        let missing = (length.min(depth) - level).max(Fraction::whole(0));
        last = now + missing * Fraction::new(UNITS, rate.into());
        level = level + missing - length;
        moments.push(last);
    }
    moments
}

/// When the last bit of each packet leaves, rounded up: from the bucket to the wire they go at
/// whole nanoseconds.
fn plain(bucket: (u64, u64), rate: Option<u64>, packets: &[Packet]) -> Vec<i64> {
    let mut free = Fraction::whole(packets[0].0);
    let mut departures = vec![];
    for (&(time, length), moment) in packets.iter().zip(let_go(bucket, packets)) {
        let (arrived, passed) = (Fraction::whole(time), moment.ceil());
        let wire = arrived.max(free);
        let start =
            if passed > wire.ceil() || rate.is_none() { Fraction::whole(passed) } else { wire };
        free = rate
            .map_or(start, |rate| start + Fraction::new(i128::from(length) * UNITS, rate.into()));
        departures.push(free.ceil());
    }
    departures
}

fn departures(description: &LinkDescription, packets: &[Packet]) -> Vec<i64> {
    by_number(&pass(description, 1, packets))
        .iter()
        .map(|passage| passage.departed.unwrap().0)
        .collect()
}

fn rates() -> impl Strategy<Value = u64> {
    prop_oneof![
        8_000..1_000_000_u64,
        1_000_000..1_000_000_000_u64,
        Just(7_000_000),
        Just(999_999_937)
    ]
}

/// Packets from 0 on, so that the fractions stay small.
fn traffic() -> impl Strategy<Value = Vec<Packet>> {
    let gap = prop_oneof![Just(0), 0..1_000_i64, 0..1_000_000_i64, 0..20_000_000_i64];
    let length = prop_oneof![Just(1514_u32), 40..1514_u32, 0..20_000_u32];
    prop::collection::vec((gap, length), 1..120).prop_map(|steps| after_gaps(0, steps))
}

proptest! {

    #[test]
    fn it_is_the_plain_bucket(
        packets in traffic(),
        rate in rates(),
        burst in prop_oneof![1..3_000_u64, 1..100_000_u64],
    ) {
        prop_assert_eq!(
            departures(&described((rate, burst), None), &packets),
            plain((rate, burst), None, &packets)
        );
    }

    #[test]
    fn behind_it_is_the_wire(
        packets in traffic(),
        rate in rates(),
        wire in rates(),
        burst in prop_oneof![1..3_000_u64, 1..100_000_u64],
    ) {
        let found = departures(&described((rate, burst), Some(wire)), &packets);
        prop_assert_eq!(found, plain((rate, burst), Some(wire), &packets));
    }

    #[test]
    fn never_more_passes_than_the_bucket_and_the_rate(
        packets in traffic(),
        rate in rates(),
        burst in 1514..100_000_u64,
    ) {
        let packets: Vec<Packet> =
            packets.into_iter().map(|(time, length)| (time, length.min(1514))).collect();
        let left = departures(&described((rate, burst), None), &packets);
        for first in 0..packets.len() {
            let mut bytes = 0;
            for last in first..packets.len() {
                bytes += i128::from(packets[last].1);
                let most = i128::from(burst) * UNITS
                    + i128::from(left[last] - left[first] + 1) * i128::from(rate);
                prop_assert!(bytes * UNITS <= most, "packets {first} to {last}");
            }
        }
    }

    #[test]
    fn who_decides_late_lets_go_as_early(
        packets in traffic(),
        rate in rates(),
        faster in 0..100_000_000_u64,
        burst in 1514..100_000_u64,
    ) {
        // A queue that takes packets when the link is free, and drops none of them, against one
        // that knows at once.
        let packets: Vec<Packet> =
            packets.into_iter().map(|(time, length)| (time, length.min(1514))).collect();
        let tail = described((rate, burst), Some(rate + faster));
        let day = 86_400_000_000_000;
        let queue = QueueDescription::Codel {
            target_ns: day,
            interval_ns: day,
            mtu_bytes: 1514,
            limit_packets: None,
            limit_bytes: None,
        };
        let late = LinkDescription { queue: Some(queue), ..tail.clone() };
        prop_assert_eq!(departures(&late, &packets), departures(&tail, &packets));
    }
}

#[test]
fn a_burst_passes_at_the_rate_of_the_wire_until_the_bucket_is_empty() {
    // 80 Mbit/s on the wire, 8 Mbit/s in the long run, 5000 bytes at once.
    let passages =
        by_number(&pass(&described((8_000_000, 5_000), Some(80_000_000)), 1, &[(0, 1000); 8]));
    let left: Vec<_> = passages.iter().map(|passage| passage.departed.unwrap().0 / 1000).collect();
    assert_eq!(
        left,
        [100, 200, 300, 400, 500, 1100, 2100, 3100],
        "five at once, the others when their bytes have come"
    );
}

#[test]
fn the_queue_waits_behind_it_and_counts_whole_packets() {
    let text = r#"{"shaper": {"rate_bits_per_second": 8000000, "burst_bytes": 1500}, "queue":
        {"kind": "drop_tail", "limit_bytes": 2000}}"#;
    let passages = by_number(&pass(
        &link(text),
        1,
        &[(0, 1500), (0, 1000), (0, 1000), (0, 1000), (999_999, 1), (1_000_000, 1000)],
    ));
    let fates: Vec<_> = passages.iter().map(|passage| passage.fate).collect();
    assert_eq!(
        fates,
        [Fate::Passed, Fate::Passed, Fate::Passed, Fate::QueueFull, Fate::QueueFull, Fate::Passed]
    );
    assert_eq!((passages[3].found_packets, passages[3].found_bytes), (2, 2000));
    assert_eq!((passages[5].found_packets, passages[5].found_bytes), (1, 1000));
}

#[test]
fn a_packet_longer_than_the_bucket_is_paid_back() {
    let left =
        departures(&described((8_000_000, 1_000), None), &[(0, 3_000), (0, 500), (0, 1_000)]);
    assert_eq!(left, [0, 2_500_000, 3_500_000], "2000 bytes of debt and 500 of its own; then 1000");
}

#[test]
fn a_slow_shaper_does_not_drift() {
    // 7 Mbit/s: 1500 bytes take 1714285 and 5/7 ns. The bucket holds one packet.
    let packets: Vec<Packet> = (0..100_000).map(|_| (0, 1500)).collect();
    let left = departures(&described((7_000_000, 1_500), None), &packets);
    for (number, found) in (0_i64..).zip(left) {
        assert_eq!(found, Fraction::new(i128::from(number) * 12_000_000_000_000, 7_000_000).ceil());
    }
}
