//! The policer against a token bucket in fractions.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use common::fraction::Fraction;
use common::{Packet, by_number, link, pass};
use proptest::prelude::*;
use trustbed_emulate::{BucketDescription, Fate, LinkDescription};

fn described(rate_bits_per_second: u64, burst_bytes: u64) -> LinkDescription {
    LinkDescription {
        policer: Some(BucketDescription { rate_bits_per_second, burst_bytes }),
        ..LinkDescription::default()
    }
}

/// Bytes come back at the rate, up to the depth; a packet passes if its bytes are there.
fn plain(rate: u64, burst: u64, packets: &[Packet]) -> Vec<bool> {
    let (depth, each) = (Fraction::new(burst.into(), 1), Fraction::new(rate.into(), 8_000_000_000));
    let (mut level, mut last) = (depth, packets[0].0);
    let mut passed = vec![];
    for &(time, length) in packets {
        level = (level + each * Fraction::whole(time - last)).min(depth);
        last = time;
        let needed = Fraction::whole(length.into());
        passed.push(needed <= level);
        if needed <= level {
            level = level - needed;
        }
    }
    passed
}

fn fates(description: &LinkDescription, packets: &[Packet]) -> Vec<Fate> {
    by_number(&pass(description, 1, packets)).iter().map(|passage| passage.fate).collect()
}

proptest! {

    #[test]
    fn it_is_the_plain_bucket(
        packets in common::traffic(200, 1 << 40),
        rate in prop_oneof![8..1000_u64, 1_000..10_000_000_000_u64, Just(9_999_999_999_973)],
        burst in prop_oneof![1..5_000_u64, 1..1_000_000_u64],
    ) {
        let passed: Vec<bool> = fates(&described(rate, burst), &packets)
            .iter()
            .map(|fate| *fate == Fate::Passed)
            .collect();
        prop_assert_eq!(passed, plain(rate, burst, &packets));
    }
}

#[test]
fn it_stands_before_the_queue_and_delays_nothing() {
    // 8 Mbit/s fill a byte per microsecond; the link sends ten times as fast.
    let text = r#"{"policer": {"rate_bits_per_second": 8000000, "burst_bytes": 3000},
        "rate_bits_per_second": 80000000,
                   "queue": {"kind": "drop_tail", "limit_packets": 2}}"#;
    let passages = by_number(&pass(
        &link(text),
        1,
        &[(0, 1000), (0, 1000), (0, 1000), (0, 1000), (999_999, 1000), (1_000_000, 1000)],
    ));
    let fates: Vec<_> = passages.iter().map(|passage| passage.fate).collect();
    assert_eq!(
        fates,
        [Fate::Passed, Fate::Passed, Fate::QueueFull, Fate::Policed, Fate::Policed, Fate::Passed]
    );
    assert_eq!(passages[1].departed.unwrap().0, 200_000, "it waits for the link alone");
    assert!(passages[3].departed.is_none());
    assert_eq!(passages[5].departed.unwrap().0, 1_100_000);
}

#[test]
fn in_the_long_run_the_rate_passes() {
    // Ten seconds of 10 Mbit/s through 3 Mbit/s with 20000 bytes at once: 3.75 MB and the bucket.
    let packets: Vec<Packet> = (0..12_500).map(|number| (number * 800_000, 1000)).collect();
    let passed = fates(&described(3_000_000, 20_000), &packets)
        .iter()
        .filter(|fate| **fate == Fate::Passed)
        .count();
    assert_eq!(
        passed,
        3_750 + 20 - 1,
        "the last of the ten seconds is not over when the last packet comes"
    );
}
