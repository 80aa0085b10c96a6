//! Writes that wait: a second of them, in order, and every one accounted for.

use proptest::prelude::*;
use trustbed_traffic::{Backlog, Departure};
use trustbed_units::Span;

fn write(due: i64, payload: u32) -> Departure {
    Departure { due: Span(due), length: payload + 52, payload }
}

/// What the connection is to do, step by step.
#[derive(Debug, Clone)]
enum Step {
    /// So long after the one before, a write of so many bytes falls due.
    Due(i64, u32),
    /// The connection takes as much as this.
    Room(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..400_000_000_i64, 1..2000_u32).prop_map(|(after, bytes)| Step::Due(after, bytes)),
        (0..6000_u64).prop_map(Step::Room),
    ]
}

/// The same, byte by byte: each waiting byte remembers when its write was due and whether it is the
/// last one.
#[derive(Default)]
struct Twin {
    bytes: Vec<(i64, bool)>,
    dropped: u64,
    delays: Vec<i64>,
}

impl Twin {
    fn on_due(&mut self, due: i64, payload: u32) {
        if self.bytes.first().is_some_and(|&(first, _)| due >= first + 1_000_000_000) {
            self.dropped += u64::from(payload);
        } else {
            self.bytes.extend((1..=payload).map(|number| (due, number == payload)));
        }
    }

    fn take(&mut self, room: usize, now: i64) {
        let taken = self.bytes.drain(..room.min(self.bytes.len()));
        self.delays.extend(taken.filter(|&(_, last)| last).map(|(due, _)| now - due));
    }
}

proptest! {

    #[test]
    fn it_does_what_a_list_of_bytes_does(
        steps in prop::collection::vec(step(), 1..80),
        at_once in any::<bool>(),
    ) {
        let (mut backlog, mut twin, mut now) = (Backlog::default(), Twin::default(), 0);
        for step in steps {
            match step {
                Step::Due(after, bytes) => {
                    now += after;
                    backlog.on_due(write(now, bytes));
                    twin.on_due(now, bytes);
                }
                Step::Room(mut room) => {
                    twin.take(usize::try_from(room).unwrap(), now);
                    if at_once {
                        backlog.on_written(room, Span(now));
                        room = 0;
                    }
                    while let (Some(expected), true) = (backlog.next_write(), room > 0) {
                        let taken = room.min(expected.into());
                        backlog.on_written(taken, Span(now));
                        room -= taken;
                    }
                }
            }
            let counts = backlog.counts();
            prop_assert_eq!(counts.waiting_bytes, twin.bytes.len() as u64);
            prop_assert_eq!(counts.dropped_bytes, twin.dropped);
            prop_assert_eq!(counts.written_writes, twin.delays.len() as u64);
            prop_assert_eq!(
                counts.due_bytes,
                counts.written_bytes + counts.dropped_bytes + counts.waiting_bytes
            );
            prop_assert!(counts.deepest_bytes >= counts.waiting_bytes);
            prop_assert_eq!(backlog.next_write().is_none(), twin.bytes.is_empty());
        }
        prop_assert_eq!(backlog.delays().summary().max_ns, twin.delays.iter().max().copied());
    }
}

#[test]
fn after_a_stall_of_ten_seconds_one_second_follows() {
    let mut backlog = Backlog::default();
    let period = 3_000_000;
    let due = |number: i64| write(number * period, 1448);
    let kept = (0..3334).filter(|&number| backlog.on_due(due(number))).count();
    assert_eq!(kept, 334);
    let counts = backlog.counts();
    assert_eq!((counts.dropped_writes, counts.waiting_bytes), (3000, 334 * 1448));
    backlog.on_written(counts.waiting_bytes, Span::from_secs(10));
    assert_eq!(backlog.next_write(), None);
    assert!(backlog.on_due(due(3334)));
    assert_eq!(backlog.delays().summary().max_ns, Some(10_000_000_000));
}

#[test]
fn another_limit_holds_as_well() {
    let mut backlog = Backlog::holding(Span::from_millis(10));
    assert!(backlog.on_due(write(0, 10)));
    assert!(backlog.on_due(write(9_999_999, 10)));
    assert!(!backlog.on_due(write(10_000_000, 10)));
    assert_eq!(backlog.counts().deepest_bytes, 20);
}
