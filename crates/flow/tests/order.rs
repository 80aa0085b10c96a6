//! The reorder buffer against its twin: a stable sort by timestamp within epochs that steps back of
//! more than 10 ms separate.

mod packets;

use packets::{Ends, Made, batch};
use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_flow::{Order, OrderFacts};
use trustbed_units::{Ns, Span};
use trustbed_wire::Batch;

const MILLI: i64 = 1_000_000;
const BUFFER: i64 = 10 * MILLI;

/// Packets with these timestamps in nanoseconds; every third carries options that name it.
fn stamped(stamps: &[i64]) -> Batch {
    let made: Vec<Made> = stamps
        .iter()
        .zip(0_u16..)
        .map(|(&ts, n)| {
            let mut made = Ends::default().client(0);
            made.packet.ts = Ns(ts);
            if n % 3 == 0 { made.opening(n + 1, None) } else { made }
        })
        .collect();
    batch(&made)
}

/// Cuts a batch as a reader would hand it out: batch by batch, options of its own in each.
fn cut(whole: &Batch, sizes: &[usize]) -> Vec<Batch> {
    let mut parts = Vec::new();
    let mut packets = whole.packets.as_slice();
    for &size in sizes.iter().cycle() {
        if packets.is_empty() {
            break;
        }
        let (now, later) = packets.split_at(size.clamp(1, packets.len()));
        packets = later;
        let mut part = Batch::default();
        for packet in now {
            let mut packet = *packet;
            if let Some(options) = whole.options_of(&packet) {
                packet.options = u32::try_from(part.options.len()).unwrap_or(u32::MAX);
                part.options.push(*options);
            }
            part.packets.push(packet);
        }
        parts.push(part);
    }
    parts
}

/// What comes out: index, epoch, and the name in the options.
type Released = Vec<(u64, u32, Option<u16>)>;

fn drain(order: &mut Order, released: &mut Released) {
    while let Some(ready) = order.pop() {
        let named = ready
            .batch
            .packets
            .iter()
            .map(|p| (p.index, ready.epoch, ready.batch.options_of(p).and_then(|o| o.mss)));
        released.extend(named);
    }
}

fn ordered(parts: Vec<Batch>) -> (Released, OrderFacts) {
    let mut order = Order::default();
    let mut released = Vec::new();
    for part in parts {
        order.push(part);
        drain(&mut order, &mut released);
    }
    order.finish();
    drain(&mut order, &mut released);
    (released, order.facts())
}

/// The rule, word by word.
fn twin(stamps: &[i64]) -> (Vec<(u64, u32)>, OrderFacts) {
    let mut epochs: Vec<Vec<(i64, u64)>> = vec![Vec::new()];
    let mut newest = i64::MIN;
    let mut facts = Order::default().facts();
    for (&ts, index) in stamps.iter().zip(1_u64..) {
        let behind = newest.saturating_sub(ts);
        if newest != i64::MIN && behind > BUFFER {
            epochs.push(Vec::new());
            facts.clock_steps += 1;
            facts.clock_step_most = facts.clock_step_most.max(Span(behind));
            facts.clock_step_index.get_or_insert(index);
            newest = ts;
        } else if newest != i64::MIN && behind > 0 {
            facts.reordered += 1;
            facts.reordered_most = facts.reordered_most.max(Span(behind));
        }
        newest = newest.max(ts);
        if let Some(epoch) = epochs.last_mut() {
            epoch.push((ts, index));
        }
    }
    facts.packets = stamps.len() as u64;
    facts.first = stamps.iter().copied().min().map_or(Ns::MAX, Ns);
    facts.last = stamps.iter().copied().max().map_or(Ns::MIN, Ns);
    facts.equal = stamps.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64;
    facts.bunched =
        stamps.windows(2).filter(|pair| (0..=60).contains(&(pair[1] - pair[0]))).count() as u64;
    let divides = |power: i64| stamps.iter().all(|ts| ts % power == 0);
    let finest = (0..=9).rev().map(|n| 10_i64.pow(n)).find(|&power| divides(power)).unwrap_or(1);
    facts.granularity = Span(finest);
    let mut out = Vec::new();
    for (mut epoch, number) in epochs.into_iter().zip(0..) {
        epoch.sort_by_key(|&(ts, _)| ts);
        out.extend(epoch.into_iter().map(|(_, index)| (index, number)));
    }
    (out, facts)
}

/// Timestamps that mostly grow, often swap within the buffer, and sometimes step back by more.
fn stamps() -> impl Strategy<Value = Vec<i64>> {
    let step = prop_oneof![
        10 => 0..3 * MILLI,
        4 => Just(0),
        4 => -BUFFER..0,
        1 => Just(-BUFFER),
        1 => Just(-BUFFER - 1),
        1 => -40 * MILLI..-BUFFER,
        1 => -2_000_000 * MILLI..2_000_000 * MILLI,
    ];
    let unit = prop_oneof![2 => Just(1_i64), 1 => Just(1_000), 1 => Just(1_000_000)];
    (vec(step, 1..120), unit).prop_map(|(steps, unit)| {
        let mut at = 1_700_000_000_000_000_000;
        let stamps = steps.into_iter().map(|step| {
            at += step;
            at - at % unit
        });
        stamps.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn it_is_a_stable_sort_within_epochs(stamps in stamps(), sizes in vec(1_usize..30, 1..6)) {
        let whole = stamped(&stamps);
        let (released, facts) = ordered(cut(&whole, &sizes));
        let (expected, expected_facts) = twin(&stamps);
        prop_assert_eq!(
            released.iter().map(|&(index, epoch, _)| (index, epoch)).collect::<Vec<_>>(),
            expected
        );
        prop_assert_eq!(facts, expected_facts);
        for (index, _, name) in released {
            let carried = (index % 3 == 1).then(|| u16::try_from(index).unwrap_or(0));
            prop_assert_eq!(name, carried, "options travel with their packet");
        }
    }

    /// It holds back no more than it must: what lies 10 ms behind is released at once.
    #[test]
    fn it_holds_ten_milliseconds_and_the_last_batch(
        steps in vec(0..2 * MILLI, 20..200),
        size in 1_usize..10,
    ) {
        let stamps: Vec<i64> = steps
            .iter()
            .scan(0, |at, step| {
                *at += step;
                Some(*at)
            })
            .collect();
        let mut order = Order::default();
        let (mut pushed, mut released) = (0, Vec::new());
        for part in cut(&stamped(&stamps), &[size]) {
            pushed += part.packets.len();
            order.push(part);
            drain(&mut order, &mut released);
            let newest = stamps[pushed - 1];
            let settled = stamps[..pushed].iter().filter(|&&ts| ts <= newest - BUFFER).count();
            prop_assert!(
                released.len() + size > settled,
                "{} released, {} settled",
                released.len(),
                settled
            );
        }
    }
}

#[test]
fn ten_milliseconds_back_are_sorted_and_more_are_a_step() {
    for (back, order, steps) in [(BUFFER, [2, 1], 0), (BUFFER + 1, [1, 2], 1)] {
        let start = 1_000 * MILLI;
        let (released, facts) = ordered(vec![stamped(&[start, start - back])]);
        assert_eq!(released.iter().map(|r| r.0).collect::<Vec<_>>(), order, "{back} ns back");
        assert_eq!(facts.clock_steps, steps);
        assert_eq!(released[1].1, steps, "the epoch of the later one");
    }
}

#[test]
fn equal_timestamps_keep_the_order_of_the_capture() {
    let (released, facts) = ordered(cut(&stamped(&[5, 5, 5, 3, 5, 3]), &[2]));
    assert_eq!(released.iter().map(|r| r.0).collect::<Vec<_>>(), [4, 6, 1, 2, 3, 5]);
    assert_eq!((facts.reordered, facts.equal), (2, 2));
}

/// Pairs that are 8 ms apart, of which 32,000 begin within these 8 ms; and a capture without times.
#[test]
fn it_holds_a_bounded_number_of_packets() {
    const PACKETS: i64 = 60_000;
    let far = 8 * MILLI;
    for spread in [far, 0] {
        let stamps: Vec<i64> =
            (0..PACKETS).map(|n| if spread == 0 { 7 } else { n / 2 * 500 + n % 2 * far }).collect();
        let (mut order, mut pushed, mut times) = (Order::default(), 0, Vec::new());
        for part in cut(&stamped(&stamps), &[1024]) {
            pushed += part.packets.len();
            order.push(part);
            while let Some(ready) = order.pop() {
                times.extend(ready.batch.packets.iter().map(|p| p.ts));
            }
            assert!(pushed - times.len() <= 16 * 1024, "{} held", pushed - times.len());
        }
        order.finish();
        while let Some(ready) = order.pop() {
            times.extend(ready.batch.packets.iter().map(|p| p.ts));
        }
        assert_eq!(times.len(), stamps.len());
        assert!(times.is_sorted());
        assert_eq!(order.facts().clock_steps, 0);
    }
}

#[test]
fn an_empty_batch_changes_nothing() {
    let mut order = Order::default();
    order.push(Batch::default());
    assert!(order.pop().is_none());
    assert_eq!(order.facts(), Order::default().facts());
}

#[test]
fn the_granularity_is_the_coarsest_that_divides_all() {
    for (stamps, granularity) in [
        (vec![2_000_000_000, 5_000_000_000], 1_000_000_000),
        (vec![1_000, 52_000], 1_000),
        (vec![1_000, 1_010], 10),
        (vec![7], 1),
    ] {
        assert_eq!(ordered(vec![stamped(&stamps)]).1.granularity, Span(granularity), "{stamps:?}");
    }
}
