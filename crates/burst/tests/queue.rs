//! Drop-tail queues, packet by packet against a plain one.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod reference;

use proptest::prelude::*;
use reference::{Packet, columns, cuts, rates, speed, traffic};
use trustbed_burst::{BurstError, Chunk, Drain, DropTail, Histogram, Packets, Sweep};
use trustbed_units::{Rate, Size};

/// What a plain queue does: which packets it loses, how long the others wait (whole ns), and the
/// most it holds in 1/(8·10⁹) bytes.
fn plain(rate: Rate, buffer: u64, packets: &[Packet]) -> (Vec<u64>, Vec<u64>, i128) {
    let speed = speed(rate);
    let (mut lost, mut waits) = (vec![], vec![]);
    let (mut held, mut most) = (0_i128, 0);
    let mut before = packets.first().map_or(0, |packet| packet.0);
    for (number, &(time, length)) in (0..).zip(packets) {
        held = speed.drain(held, i128::from(time) - i128::from(before));
        before = time;
        let length = i128::from(length) * speed.denominator;
        if held + length > i128::from(buffer) * speed.denominator {
            lost.push(number);
        } else {
            waits.push(u64::try_from(held / speed.numerator).unwrap());
            held += length;
            most = most.max(held);
        }
    }
    (lost, waits, most)
}

fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|value| histogram.add(value));
    histogram
}

/// The lengths of rows of neighbouring numbers.
fn runs(numbers: &[u64]) -> Vec<u64> {
    numbers.chunk_by(|one, next| one + 1 == *next).map(|run| run.len() as u64).collect()
}

proptest! {

    #[test]
    fn losses_and_waits_are_those_of_a_plain_queue(
        packets in traffic(400, 1 << 40),
        rate in rates(),
        buffer in prop_oneof![0..5_000_u64, 0..200_000_u64, any::<u64>()],
        indexes in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let (times, lengths) = columns(&packets);
        let all = Packets::new(&times, &lengths)?;
        let mut queue = DropTail::new(rate, Some(Size(buffer)))?;
        let mut lost = vec![];
        for cut in cuts(packets.len(), &indexes).windows(2) {
            queue.push_each(all.slice(cut[0]..cut[1]), &mut |packet| lost.push(packet));
        }
        let (expected, waits, most) = plain(rate, buffer, &packets);
        prop_assert_eq!(&lost, &expected);
        prop_assert_eq!(
            (queue.packets(), queue.lost_packets()),
            (packets.len() as u64, expected.len() as u64)
        );
        let bytes = |numbers: &[u64]| {
            numbers
                .iter()
                .map(|number| u64::from(lengths[usize::try_from(*number).unwrap()]))
                .sum::<u64>()
        };
        prop_assert_eq!((queue.bytes(), queue.lost_bytes()), (all.bytes(), bytes(&expected)));
        prop_assert_eq!(queue.waits(), &histogram(waits));
        prop_assert_eq!(queue.loss_runs(), histogram(runs(&expected)));
        prop_assert!(reference::same(queue.deepest(), most, 8_000_000_000));
    }

    #[test]
    fn the_system_backlog_is_the_least_buffer_without_loss(
        packets in traffic(300, 1 << 30),
        rate in 1_000_000..2_000_000_000_u64,
    ) {
        prop_assume!(packets.iter().any(|packet| packet.1 > 0));
        let (times, lengths) = columns(&packets);
        let all = Packets::new(&times, &lengths)?;
        let system = Chunk::of(Drain::at(Rate(rate))?, all).unwrap().peaks().system;
        let (units, per_byte) = system.fraction();
        let enough = u64::try_from(units.div_ceil(per_byte.into()))?;
        let mut sweep =
            Sweep::new(&[Rate(rate)], &[Some(Size(enough)), Some(Size(enough - 1)), None])?;
        sweep.push(all);
        let lost: Vec<bool> = sweep.queues().iter().map(|queue| queue.lost_packets() > 0).collect();
        prop_assert_eq!(lost, [false, true, false]);
        prop_assert_eq!(sweep.queues()[2].deepest(), system);
    }

    #[test]
    fn a_sweep_is_its_queues(
        packets in traffic(400, 1 << 30),
        some in prop::collection::vec(rates(), 1..4),
        bytes in 0..100_000_u64,
    ) {
        let (times, lengths) = columns(&packets);
        let all = Packets::new(&times, &lengths)?;
        let buffers = [Some(Size(bytes)), None, Some(Size(bytes / 2))];
        let mut sweep = Sweep::new(&some, &buffers)?;
        sweep.push(all);
        let expected = some.iter().flat_map(|rate| buffers.iter().map(|buffer| (*rate, *buffer)));
        prop_assert_eq!(sweep.queues().len(), some.len() * buffers.len());
        for (queue, (rate, buffer)) in sweep.queues().iter().zip(expected) {
            let mut alone = DropTail::new(rate, buffer)?;
            alone.push(all);
            prop_assert_eq!((queue.rate(), queue.buffer()), (rate, buffer));
            prop_assert_eq!(
                (queue.lost_packets(), queue.waits(), queue.deepest()),
                (alone.lost_packets(), alone.waits(), alone.deepest())
            );
        }
    }
}

#[test]
fn many_packets_and_long_silences_are_measured_alike() {
    let packets: Vec<Packet> = (0..10_000)
        .map(|index| (index * 700 + if index % 3000 == 2999 { 1 << 50 } else { 0 }, 1500))
        .collect();
    let mut packets = packets;
    packets.sort_unstable();
    let (times, lengths) = columns(&packets);
    for rate in [Rate(10_000_000_000), Rate(9_876_543_211), Rate(9_999_999_999_973)] {
        let mut queue = DropTail::new(rate, Some(Size(64_000))).unwrap();
        let mut lost = vec![];
        queue.push_each(Packets::new(&times, &lengths).unwrap(), &mut |packet| lost.push(packet));
        assert_eq!(lost, plain(rate, 64_000, &packets).0, "{rate}");
    }
}

#[test]
fn shares_are_unknown_without_packets() {
    let queue = DropTail::new(Rate(1_000_000), Some(Size(1500))).unwrap();
    assert_eq!(
        (queue.loss_of_packets(), queue.loss_of_bytes(), queue.waits().mean()),
        (None, None, None)
    );
    let mut queue = queue;
    queue.push(Packets::new(&[0, 0, 0, 0], &[1000, 1000, 500, 1500]).unwrap());
    // The second and the fourth find no room; the third does.
    assert_eq!((queue.loss_of_packets(), queue.loss_of_bytes()), (Some(0.5), Some(0.625)));
}

#[test]
fn impossible_links_are_refused() {
    assert_eq!(DropTail::new(Rate(0), None).err(), Some(BurstError::ZeroRate));
    assert!(matches!(
        Sweep::new(&[Rate(1), Rate(u64::MAX)], &[None]),
        Err(BurstError::RateTooHigh { .. })
    ));
}
