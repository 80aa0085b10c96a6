//! Outstanding segments against a naive twin that keeps what is known of every single byte.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_flow::Records;
use trustbed_units::Ns;

/// What is known of a byte: when it was sent first and last, how often, whether a SACK reported it.
type Known = (i64, i64, u16, bool);

#[derive(Debug, Clone)]
enum Step {
    /// A new segment above all others, some bytes beyond the highest.
    Push { gap: i64, length: u32 },
    /// A range is sent again.
    Again(i64, i64),
    /// A range is reported by SACK.
    Sack(i64, i64),
    /// Everything below is acknowledged.
    Acknowledge(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let range = (-5_i64..90, 1_i64..20);
    prop_oneof![
        4 => (prop_oneof![4 => Just(0_i64), 1 => 1_i64..9], 1_u32..12)
            .prop_map(|(gap, length)| Step::Push { gap, length }),
        2 => range.clone().prop_map(|(start, length)| Step::Again(start, start + length)),
        2 => range.prop_map(|(start, length)| Step::Sack(start, start + length)),
        2 => (0_i64..90).prop_map(Step::Acknowledge),
    ]
}

#[derive(Debug, Default)]
struct Twin {
    bytes: BTreeMap<i64, Known>,
    top: i64,
    acknowledged: i64,
}

impl Twin {
    fn step(&mut self, step: &Step, now: i64) {
        match *step {
            Step::Push { gap, length } => {
                let start = self.top + gap;
                self.top = start + i64::from(length);
                self.bytes.extend((start..self.top).map(|byte| (byte, (now, now, 1, false))));
            }
            Step::Again(start, end) => {
                for (_, known) in self.bytes.range_mut(start..end) {
                    (known.1, known.2) = (now, known.2 + 1);
                }
            }
            Step::Sack(start, end) => {
                self.bytes.range_mut(start..end).for_each(|(_, known)| known.3 = true);
            }
            Step::Acknowledge(offset) => {
                self.acknowledged = self.acknowledged.max(offset);
                self.bytes.retain(|&byte, _| byte >= self.acknowledged);
            }
        }
    }
}

fn apply(records: &mut Records, top: &mut i64, step: &Step, now: i64) {
    match *step {
        Step::Push { gap, length } => {
            records.push(*top + gap, length, Ns(now), usize::MAX);
            *top += gap + i64::from(length);
        }
        Step::Again(start, end) => records.for_range(start, end, |record| {
            record.sent += 1;
            record.last_sent = Ns(now);
        }),
        Step::Sack(start, end) => records.for_range(start, end, |record| record.sacked = true),
        Step::Acknowledge(offset) => records.acknowledge(offset, |_, _| ()),
    }
}

proptest! {
    #[test]
    fn every_byte_is_known_as_the_twin_knows_it(
        base in prop_oneof![Just(0_i64), Just(0xffff_ffe0), any::<i32>().prop_map(i64::from)],
        steps in vec(step(), 1..60),
    ) {
        let moved = |step: &Step| match *step {
            Step::Push { gap, length } => Step::Push { gap, length },
            Step::Again(start, end) => Step::Again(base + start, base + end),
            Step::Sack(start, end) => Step::Sack(base + start, base + end),
            Step::Acknowledge(offset) => Step::Acknowledge(base + offset),
        };
        let (mut records, mut top) = (Records::default(), base);
        let mut twin = Twin { top: base, acknowledged: i64::MIN, ..Twin::default() };
        for (step, now) in steps.iter().map(moved).zip(1..) {
            apply(&mut records, &mut top, &step, now);
            twin.step(&step, now);
            prop_assert_eq!(top, twin.top);
            for byte in twin.acknowledged.max(base - 10)..top + 3 {
                let known = records
                    .holding(byte)
                    .map(|r| (r.first_sent.0, r.last_sent.0, r.sent, r.sacked));
                prop_assert_eq!(known, twin.bytes.get(&byte).copied(), "byte {}", byte - base);
            }
        }
        let mut end = i64::MIN;
        for record in records.iter() {
            let start = Records::offset(record, base);
            prop_assert!(
                record.length > 0 && start >= end,
                "records are ascending and do not overlap"
            );
            end = start + i64::from(record.length);
        }
    }

    /// A segment enters where it belongs, when a hole between others is filled.
    #[test]
    fn a_filled_hole_lies_between_its_neighbours(
        order in Just(vec![0_i64, 1, 2, 3, 4, 5, 6, 7]).prop_shuffle(),
    ) {
        let mut records = Records::default();
        for &n in &order {
            records.insert(n * 10, 10, Ns(n));
        }
        let sent: Vec<(i64, i64)> =
            records.iter().map(|r| (Records::offset(r, 40), r.first_sent.0)).collect();
        prop_assert_eq!(sent, (0..8).map(|n| (n * 10, n)).collect::<Vec<_>>());
    }
}

#[test]
fn an_acknowledgement_visits_what_it_covers_and_keeps_what_it_cuts() {
    let mut records = Records::default();
    for n in 0..4 {
        records.push(n * 10, 10, Ns(n), usize::MAX);
    }
    let mut visited = Vec::new();
    records.acknowledge(25, |record, start| visited.push((start, record.first_sent.0)));
    assert_eq!(visited, [(0, 0), (10, 1), (20, 2)]);
    assert_eq!(records.len(), 2, "the cut segment stays");
    assert_eq!(records.holding(25).map(|r| r.first_sent), Some(Ns(2)));
    records.acknowledge(40, |_, _| ());
    assert!(records.is_empty());
}

#[test]
fn the_oldest_goes_when_there_are_too_many() {
    let mut records = Records::default();
    for n in 0..10 {
        records.push(n * 10, 10, Ns(n), 4);
    }
    assert_eq!((records.len(), records.forgotten), (4, 6));
    assert_eq!(records.iter().next().map(|r| r.first_sent), Some(Ns(6)));
}

#[test]
fn what_was_sent_again_together_becomes_one_record() {
    let mut records = Records::default();
    for n in [0, 1, 2, 4, 5] {
        records.push(n * 10, 10, Ns(n), usize::MAX);
    }
    records.sack(0, 30);
    records.for_range(5, 55, |record| record.sent += 1);
    records.merge(5, 55);
    let kept: Vec<_> = records
        .iter()
        .map(|r| (Records::offset(r, 0), r.length, r.first_sent.0, r.sent, r.sacked, r.untimed))
        .collect();
    assert_eq!(
        kept,
        [(0, 5, 0, 1, true, false), (5, 50, 0, 2, false, true), (55, 5, 5, 1, false, false),]
    );
    records.merge(100, 200);
    records.merge(0, 5);
    assert_eq!(records.len(), 3);
}

#[test]
fn forgotten_times_give_no_sample() {
    let mut records = Records::default();
    records.push(0, 10, Ns(1), usize::MAX);
    records.forget_times();
    records.push(10, 10, Ns(2), usize::MAX);
    let untimed: Vec<bool> = records.iter().map(|r| records.is_untimed(r)).collect();
    assert_eq!(untimed, [true, false]);
}

#[test]
fn what_is_sent_after_a_step_of_the_clock_is_timed_wherever_it_lies() {
    let mut records = Records::default();
    for n in [0, 1, 3, 4] {
        records.push(n * 10, 10, Ns(n), usize::MAX);
    }
    records.forget_times();
    // A hole is filled, a segment cut, and one sent above all; then the clock steps again.
    records.insert(20, 10, Ns(7));
    records.for_range(35, 40, |_| ());
    records.push(50, 10, Ns(8), usize::MAX);
    let timed = |records: &Records| -> Vec<i64> {
        let timed = records.iter().filter(|r| !records.is_untimed(r));
        timed.map(|r| Records::offset(r, 0)).collect()
    };
    assert_eq!(timed(&records), [20, 50]);
    let mut visited = Vec::new();
    records.acknowledge(35, |record, start| visited.push((start, record.untimed)));
    assert_eq!(visited, [(0, true), (10, true), (20, false), (30, true)]);
    records.forget_times();
    records.push(60, 10, Ns(9), usize::MAX);
    assert_eq!(timed(&records), [60]);
    assert_eq!(size_of::<trustbed_flow::Record>(), 32, "one per segment outstanding");
}

#[test]
fn no_number_of_steps_makes_a_time_of_what_is_outstanding() {
    let mut records = Records::default();
    records.push(0, 10, Ns(1), usize::MAX);
    for step in 1..=200_000 {
        records.forget_times();
        assert!(records.iter().all(|r| records.is_untimed(r)), "after {step} steps");
    }
    records.push(10, 10, Ns(2), usize::MAX);
    let untimed: Vec<bool> = records.iter().map(|r| records.is_untimed(r)).collect();
    assert_eq!(untimed, [true, false]);
}
