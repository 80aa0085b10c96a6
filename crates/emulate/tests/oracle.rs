//! The link against the virtual bottleneck: the same packets, the same losses, the same backlog,
//! bit for bit.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use common::traffic;
use proptest::prelude::*;
use trustbed_burst::{Chunk, Drain, DropTail, Packets};
use trustbed_emulate::{BucketDescription, Fate, Link, LinkDescription, QueueDescription};
use trustbed_units::{Ns, Rate, Size};

fn rates() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(20_000_000),
        8..1_000_u64,
        1_000..100_000_000_000_u64,
        Just(9_999_999_999_973),
        Just(8_000_000_000)
    ]
}

proptest! {

    #[test]
    fn a_queue_limited_in_bytes_loses_what_the_burst_crate_computes(
        packets in traffic(300, 1 << 40),
        rate in rates(),
        buffer in prop_oneof![1..5_000_u64, 1..200_000_u64, 1..u64::MAX / 2],
    ) {
        let (times, lengths): (Vec<i64>, Vec<u32>) = packets.iter().copied().unzip();
        let mut oracle = DropTail::new(Rate(rate), Some(Size(buffer)))?;
        let mut expected = vec![];
        oracle.push_each(Packets::new(&times, &lengths)?, &mut |packet| expected.push(packet));
        let queue = QueueDescription::DropTail { limit_packets: None, limit_bytes: Some(buffer) };
        let description = LinkDescription {
            rate_bits_per_second: Some(rate),
            queue: Some(queue),
            ..LinkDescription::default()
        };
        let mut link = Link::new(&description, 1)?;
        let (mut lost, mut waits) = (vec![], vec![]);
        for (number, &(time, length)) in (0..).zip(&packets) {
            if let Some(outcome) = link.offer(Ns(time), length, number) {
                prop_assert_eq!(outcome.passage.fate, Fate::QueueFull);
                lost.push(outcome.content);
            }
        }
        while let Some(outcome) = link.poll(Ns::MAX) {
            let (passage, (arrived, length)) =
                (outcome.passage, packets[usize::try_from(outcome.content)?]);
            prop_assert_eq!(
                (passage.arrived, passage.length, passage.fate),
                (Ns(arrived), length, Fate::Passed)
            );
            let left = passage.departed.unwrap();
            waits.push((left - passage.arrived - passage.transmission).0);
        }
        prop_assert_eq!(lost, expected);
        prop_assert_eq!(
            (link.deepest().units, link.deepest().per_byte),
            oracle.deepest().fraction()
        );
        // Rounding: the departure is up, the length of the transmission and the wait are down.
        let longest = oracle.waits().max().map(|wait| i64::try_from(wait).unwrap());
        let found = waits.iter().max().copied();
        prop_assert!(
            found.zip(longest).is_none_or(|(found, longest)| (found - longest).abs() <= 1),
            "{:?} {:?}",
            found,
            longest
        );
        prop_assert_eq!(waits.len() as u64, oracle.waits().count());
    }

    #[test]
    fn the_backlog_of_an_unlimited_queue_is_that_of_the_virtual_bottleneck(
        packets in traffic(300, 1 << 40),
        rate in rates(),
    ) {
        let (times, lengths): (Vec<i64>, Vec<u32>) = packets.iter().copied().unzip();
        let peaks =
            Chunk::of(Drain::at(Rate(rate))?, Packets::new(&times, &lengths)?).unwrap().peaks();
        let description =
            LinkDescription { rate_bits_per_second: Some(rate), ..LinkDescription::default() };
        let mut link = Link::new(&description, 1)?;
        let mut found = 0;
        for &(time, length) in &packets {
            prop_assert!(link.offer(Ns(time), length, ()).is_none());
        }
        while let Some(outcome) = link.poll(Ns::MAX) {
            found = found.max(outcome.passage.found_bytes);
        }
        prop_assert_eq!((link.deepest().units, link.deepest().per_byte), peaks.system.fraction());
        let (units, per_byte) = peaks.wait.fraction();
        prop_assert_eq!(u128::from(found), units.div_ceil(u128::from(per_byte)));
    }

    #[test]
    fn a_policer_drops_what_a_queue_of_its_depth_would_lose(
        packets in traffic(300, 1 << 40),
        rate in rates(),
        burst in prop_oneof![1..5_000_u64, 1..200_000_u64],
    ) {
        // What a bucket lacks is what a queue would hold that is drained at its rate.
        let (times, lengths): (Vec<i64>, Vec<u32>) = packets.iter().copied().unzip();
        let mut oracle = DropTail::new(Rate(rate), Some(Size(burst)))?;
        let mut expected = vec![];
        oracle.push_each(Packets::new(&times, &lengths)?, &mut |packet| expected.push(packet));
        let policer = BucketDescription { rate_bits_per_second: rate, burst_bytes: burst };
        let mut link = Link::new(
            &LinkDescription { policer: Some(policer), ..LinkDescription::default() },
            1,
        )?;
        let mut dropped = vec![];
        for (number, &(time, length)) in (0..).zip(&packets) {
            if let Some(outcome) = link.offer(Ns(time), length, number) {
                prop_assert_eq!(outcome.passage.fate, Fate::Policed);
                dropped.push(outcome.content);
            }
        }
        prop_assert_eq!(dropped, expected);
    }
}
