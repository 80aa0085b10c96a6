//! Frames of one capture that are pending in the other, found by fingerprint, oldest first.
//!
//! Every step takes the same few operations however many frames are alike: frames of one
//! fingerprint form a queue, and all frames form a list by age. The index is a search tree and not
//! a hash table, because whoever makes a capture can choose fingerprints that share a bucket.
//! Memory follows the most frames that were pending at a time, never how many passed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use trustbed_units::Ns;

use crate::Frame;

/// Pending frames; times are by the clock of the first capture.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The queue of every pending fingerprint.
    alike: BTreeMap<u64, Ends>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Oldest and youngest of all, in capture order.
    all: Option<Ends>,
    next: u64,
}

/// A pending frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) frame: Frame,
    /// Capture time.
    pub(crate) seen: Ns,
    /// Its number in its capture and direction.
    pub(crate) serial: u64,
}

/// First and last slot of a queue that is not empty.
#[derive(Debug, Clone, Copy)]
struct Ends {
    oldest: u32,
    youngest: u32,
}

/// A pending frame and its neighbours.
#[derive(Debug, Clone, Copy)]
struct Slot {
    waiting: Waiting,
    older: Option<u32>,
    younger: Option<u32>,
    /// The next frame with this fingerprint.
    alike: Option<u32>,
}

/// Slots that an empty queue may keep for the next frames.
const KEPT: usize = 64;

impl Pending {
    /// Adds a pending frame.
    pub(crate) fn push(&mut self, frame: &Frame, seen: Ns) {
        let waiting = Waiting { frame: *frame, seen, serial: self.next };
        self.next += 1;
        let older = self.all.map(|all| all.youngest);
        let slot = self.store(Slot { waiting, older, younger: None, alike: None });
        if let Some(older) = older {
            self.slots[older as usize].younger = Some(slot);
        }
        let oldest = self.all.map_or(slot, |all| all.oldest);
        self.all = Some(Ends { oldest, youngest: slot });
        match self.alike.entry(frame.fingerprint) {
            Entry::Vacant(entry) => {
                entry.insert(Ends { oldest: slot, youngest: slot });
            }
            Entry::Occupied(mut entry) => {
                let queue = entry.get_mut();
                self.slots[queue.youngest as usize].alike = Some(slot);
                queue.youngest = slot;
            }
        }
    }

    /// Numbers a frame that is matched at once.
    pub(crate) fn skip(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Removes the oldest pending frame with this fingerprint.
    pub(crate) fn take(&mut self, fingerprint: u64) -> Option<Waiting> {
        let Entry::Occupied(mut queue) = self.alike.entry(fingerprint) else { return None };
        let slot = queue.get().oldest;
        match self.slots[slot as usize].alike {
            Some(next) => queue.get_mut().oldest = next,
            None => {
                queue.remove();
            }
        }
        Some(self.unlink(slot))
    }

    /// Removes the oldest pending frame if it was captured before `before`.
    pub(crate) fn expire(&mut self, before: Ns) -> Option<Waiting> {
        let oldest = self.slots[self.all?.oldest as usize].waiting;
        (oldest.seen < before).then(|| self.pop()).flatten()
    }

    /// Removes the oldest pending frame.
    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        // The oldest of all is the oldest of its fingerprint.
        let oldest = self.slots[self.all?.oldest as usize].waiting;
        self.take(oldest.frame.fingerprint)
    }

    /// Number of pending frames.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[expect(clippy::cast_possible_truncation, reason = "a join holds far fewer than 2³² frames")]
    fn store(&mut self, slot: Slot) -> u32 {
        if let Some(at) = self.free.pop() {
            self.slots[at as usize] = slot;
            return at;
        }
        self.slots.push(slot);
        (self.slots.len() - 1) as u32
    }

    /// Removes a frame from the list by age.
    fn unlink(&mut self, at: u32) -> Waiting {
        let Slot { waiting, older, younger, .. } = self.slots[at as usize];
        if let Some(older) = older {
            self.slots[older as usize].younger = younger;
        }
        if let Some(younger) = younger {
            self.slots[younger as usize].older = older;
        }
        self.all = self.all.and_then(|all| {
            let oldest = if all.oldest == at { younger? } else { all.oldest };
            let youngest = if all.youngest == at { older? } else { all.youngest };
            Some(Ends { oldest, youngest })
        });
        self.free.push(at);
        if self.all.is_none() && self.slots.capacity() > KEPT {
            (self.slots, self.free) = (Vec::new(), Vec::new());
        }
        waiting
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use trustbed_flow::FlowKey;

    use super::*;

    fn frame(fingerprint: u64) -> Frame {
        Frame {
            at: Ns(0),
            fingerprint,
            key: FlowKey { low: [1; 16], high: [2; 16], low_port: 1, high_port: 2, protocol: 6 },
            direction: 0,
            seq: 0,
            ack: None,
            payload: 0,
            length: 0,
            opens: false,
        }
    }

    #[test]
    fn identical_frames_are_one_queue_and_leave_in_order() {
        let mut pending = Pending::default();
        for number in 0..100_000 {
            pending.push(&frame(7), Ns(number));
        }
        assert_eq!((pending.alike.len(), pending.len()), (1, 100_000));
        for number in 0..100_000 {
            assert_eq!(pending.take(7).map(|waiting| waiting.serial), Some(number));
        }
        assert!(pending.take(7).is_none() && pending.pop().is_none());
        assert_eq!(pending.slots.capacity(), 0, "an empty queue lets go of its memory");
    }

    #[test]
    fn frames_that_pass_behind_one_that_stays_cost_no_memory() {
        let mut pending = Pending::default();
        pending.push(&frame(1), Ns(0));
        for number in 0..100_000 {
            pending.push(&frame(2 + number % 3), Ns(1));
            pending.take(2 + number % 3);
        }
        assert_eq!((pending.len(), pending.slots.len()), (1, 2));
    }

    /// The slow twin: a list, searched from its front.
    #[derive(Default)]
    struct Twin(Vec<Waiting>);

    impl Twin {
        fn take(&mut self, is: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
            let at = self.0.iter().position(is)?;
            Some(self.0.remove(at))
        }
    }

    proptest! {
        #[test]
        fn it_holds_what_a_list_holds(steps in vec((0_u8..5, 0_u64..4, 0_i64..8), 0..200)) {
            let (mut pending, mut twin) = (Pending::default(), Twin::default());
            for (step, fingerprint, seen) in steps {
                let serial = |waiting: Option<Waiting>| waiting.map(|waiting| waiting.serial);
                match step {
                    0 | 1 => {
                        let (frame, seen) = (frame(fingerprint), Ns(seen));
                        twin.0.push(Waiting { frame, seen, serial: pending.next });
                        pending.push(&frame, seen);
                    }
                    2 => prop_assert_eq!(
                        serial(pending.take(fingerprint)),
                        serial(twin.take(|held| held.frame.fingerprint == fingerprint))
                    ),
                    3 => {
                        let due = twin.0.first().is_some_and(|oldest| oldest.seen < Ns(seen));
                        let expected = if due { twin.take(|_| true) } else { None };
                        prop_assert_eq!(serial(pending.expire(Ns(seen))), serial(expected));
                    }
                    _ => prop_assert_eq!(serial(pending.pop()), serial(twin.take(|_| true))),
                }
                prop_assert_eq!(pending.len(), twin.0.len());
            }
        }
    }
}
