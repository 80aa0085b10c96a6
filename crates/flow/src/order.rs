//! Packets in the order of their timestamps: a stable reorder buffer of 10 ms.
//!
//! A packet that is more than 10 ms older than the newest seen is not sorted in: the clock has
//! stepped back. Then an epoch ends: what is held is released as it is, and everything later is
//! compared with the new clock only. Within an epoch the result is exactly a stable sort by
//! timestamp, as long as 10 ms hold no more than 16,384 packets: of more the oldest are released,
//! and a packet that should have been before them gets their time.

use std::collections::VecDeque;

use trustbed_units::{Ns, Span};
use trustbed_wire::{Batch, Packet};

/// How far back a packet may be sorted.
const BUFFER: Span = Span::from_millis(10);
/// Packets held at most: more come within 10 ms where a capture has no times.
const MOST_HELD: usize = 16 * 1024;
/// The coarsest timestamp granularity that is looked for.
const COARSEST: i64 = 1_000_000_000;
/// Packets whose timestamps are all checked for granularity; later, every sixteenth is.
const CHECKED: u64 = 4096;
/// Two packets closer than this arrived as one bunch: a 64-byte frame at 10 Gbit/s takes 67 ns.
const BUNCH: Span = Span(60);

/// What the timestamps of a capture are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderFacts {
    /// Packets seen.
    pub packets: u64,
    /// Earliest timestamp.
    pub first: Ns,
    /// Latest timestamp.
    pub last: Ns,
    /// Packets that came later than a younger one, by at most 10 ms.
    pub reordered: u64,
    /// How much later at most.
    pub reordered_most: Span,
    /// Steps back of more than 10 ms.
    pub clock_steps: u32,
    /// The largest step back.
    pub clock_step_most: Span,
    /// Index of the packet at the first step back.
    pub clock_step_index: Option<u64>,
    /// The largest power of ten, in nanoseconds, that divides every timestamp.
    pub granularity: Span,
    /// Packets with the same timestamp as the one before.
    pub equal: u64,
    /// Packets nearer to the one before than a frame takes on a 10 Gbit/s link.
    pub bunched: u64,
}

/// A batch in order, with the number of clock steps before it.
#[derive(Debug)]
pub struct Reordered {
    /// The packets.
    pub batch: Batch,
    /// Backward clock steps before these packets.
    pub epoch: u32,
}

/// The reorder buffer. Feed it with [`Order::push`], take from it with [`Order::pop`], and
/// [`Order::finish`] at the end.
#[derive(Debug)]
pub struct Order {
    held: VecDeque<Reordered>,
    held_packets: usize,
    /// The time of the last packet of this epoch that was released before its time.
    released: Ns,
    newest: Ns,
    epoch: u32,
    finished: bool,
    previous: Ns,
    facts: OrderFacts,
}

impl Default for Order {
    fn default() -> Self {
        let facts = OrderFacts {
            packets: 0,
            first: Ns::MAX,
            last: Ns::MIN,
            reordered: 0,
            reordered_most: Span::ZERO,
            clock_steps: 0,
            clock_step_most: Span::ZERO,
            clock_step_index: None,
            granularity: Span(COARSEST),
            equal: 0,
            bunched: 0,
        };
        Self {
            held: VecDeque::new(),
            held_packets: 0,
            released: Ns::MIN,
            newest: Ns::MIN,
            epoch: 0,
            finished: false,
            previous: Ns::MIN,
            facts,
        }
    }
}

impl Order {
    /// Takes packets in the order of the capture.
    pub fn push(&mut self, batch: Batch) {
        let Some(first) = batch.packets.first() else { return };
        let mut sorted = first.ts >= self.newest;
        let mut last = first.ts;
        for packet in &batch.packets {
            sorted &= packet.ts >= last;
            last = packet.ts;
            self.note(packet.ts);
        }
        if sorted {
            self.newest = last;
            self.hold(batch);
        } else {
            self.merge(&batch);
        }
    }

    /// A batch whose packets can no longer be overtaken.
    pub fn pop(&mut self) -> Option<Reordered> {
        let front = self.held.front()?;
        let settled =
            self.finished || front.epoch < self.epoch || self.newest - last_of(front) >= BUFFER;
        if !settled && self.held_packets <= MOST_HELD {
            return None;
        }
        let mut popped = self.held.pop_front()?;
        if !settled {
            if let Some(later) = split(&mut popped, MOST_HELD / 2) {
                self.held.push_front(later);
            }
            self.released = last_of(&popped);
        }
        self.held_packets -= popped.batch.packets.len();
        Some(popped)
    }

    fn hold(&mut self, batch: Batch) {
        self.held_packets += batch.packets.len();
        self.held.push_back(Reordered { batch, epoch: self.epoch });
    }

    /// No packet will follow.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// What the timestamps were like.
    pub fn facts(&self) -> OrderFacts {
        self.facts
    }

    #[inline]
    fn note(&mut self, ts: Ns) {
        let facts = &mut self.facts;
        let gap = ts.0.wrapping_sub(self.previous.0);
        facts.equal += u64::from(gap == 0);
        facts.bunched += u64::from((0..=BUNCH.0).contains(&gap));
        self.previous = ts;
        facts.first = facts.first.min(ts);
        facts.last = facts.last.max(ts);
        if (facts.packets < CHECKED || facts.packets.is_multiple_of(16)) && facts.granularity.0 > 1
        {
            while ts.0 % facts.granularity.0 != 0 {
                facts.granularity.0 /= 10;
            }
        }
        facts.packets += 1;
    }

    /// The slow method: packet by packet, into one batch per epoch, each sorted stably together
    /// with what is held of it.
    fn merge(&mut self, batch: &Batch) {
        let mut current = Batch::default();
        for packet in &batch.packets {
            let behind = self.newest - packet.ts;
            if self.newest != Ns::MIN && behind > BUFFER {
                self.settle(std::mem::take(&mut current));
                self.step_back(behind, packet.index);
                self.newest = packet.ts;
            } else if behind > Span::ZERO && self.newest != Ns::MIN {
                self.facts.reordered += 1;
                self.facts.reordered_most = self.facts.reordered_most.max(behind);
            }
            self.newest = self.newest.max(packet.ts);
            let packet = Packet { ts: packet.ts.max(self.released), ..*packet };
            append(&mut current, batch, &packet);
        }
        self.settle(current);
    }

    fn step_back(&mut self, behind: Span, index: u64) {
        self.epoch += 1;
        self.released = Ns::MIN;
        self.facts.clock_steps += 1;
        self.facts.clock_step_most = self.facts.clock_step_most.max(behind);
        self.facts.clock_step_index.get_or_insert(index);
    }

    /// Sorts `current` together with the held batches of its epoch that it overlaps, and holds the
    /// result.
    fn settle(&mut self, current: Batch) {
        let Some(earliest) = current.packets.iter().map(|p| p.ts).min() else { return };
        let mut parts = vec![current];
        while let Some(back) = self.held.back()
            && back.epoch == self.epoch
            && back.batch.packets.last().is_some_and(|p| p.ts > earliest)
        {
            let overlapped = self.held.pop_back().map(|r| r.batch);
            self.held_packets -= overlapped.as_ref().map_or(0, |batch| batch.packets.len());
            parts.extend(overlapped);
        }
        let mut sorted = Batch::default();
        for part in parts.iter().rev() {
            for packet in &part.packets {
                append(&mut sorted, part, packet);
            }
        }
        sorted.packets.sort_by_key(|p| p.ts);
        self.hold(sorted);
    }
}

fn last_of(held: &Reordered) -> Ns {
    held.batch.packets.last().map_or(Ns::MIN, |p| p.ts)
}

/// Leaves the first `most` packets, and gives the others back.
fn split(held: &mut Reordered, most: usize) -> Option<Reordered> {
    if held.batch.packets.len() <= most {
        return None;
    }
    let whole = std::mem::take(&mut held.batch);
    let mut later = Batch::default();
    for (at, packet) in whole.packets.iter().enumerate() {
        append(if at < most { &mut held.batch } else { &mut later }, &whole, packet);
    }
    Some(Reordered { batch: later, epoch: held.epoch })
}

fn append(into: &mut Batch, from: &Batch, packet: &Packet) {
    let mut packet = *packet;
    if let Some(options) = from.options_of(&packet) {
        packet.options = u32::try_from(into.options.len()).unwrap_or(u32::MAX);
        into.options.push(*options);
    }
    into.packets.push(packet);
}
