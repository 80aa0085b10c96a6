//! Packets on the wire, until they come out.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use trustbed_units::Ns;

use crate::Outcome;
use crate::counters::Counters;

/// In the order in which they come out: a plain row where none overtakes another.
#[derive(Debug, Clone)]
pub(crate) enum Flight<T> {
    Ordered(VecDeque<(Ns, Outcome<T>)>),
    Unordered(Box<Overtaking<T>>),
}

/// Packets that overtake one another. The heap holds moments, numbers and indices only: it is what
/// is moved about most.
#[derive(Debug, Clone)]
pub(crate) struct Overtaking<T> {
    heap: BinaryHeap<Reverse<(Ns, u64, usize)>>,
    slots: Vec<Option<Outcome<T>>>,
    free: Vec<usize>,
    launched: u64,
    /// The number of the latest launched of those that have come out.
    latest: u64,
}

impl<T> Flight<T> {
    pub(crate) fn new(keeps_order: bool) -> Self {
        if keeps_order {
            return Self::Ordered(VecDeque::new());
        }
        Self::Unordered(Box::new(Overtaking {
            heap: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            launched: 0,
            latest: 0,
        }))
    }

    #[inline]
    pub(crate) fn launch(&mut self, due: Ns, outcome: Outcome<T>) {
        match self {
            Self::Ordered(row) => row.push_back((due, outcome)),
            Self::Unordered(overtaking) => overtaking.launch(due, outcome),
        }
    }

    /// The next one that has come out at `now`. One that comes out behind one launched later is
    /// counted as reordered (RFC 4737 §3.3).
    #[inline]
    pub(crate) fn land(&mut self, now: Ns, counters: &mut Counters) -> Option<Outcome<T>> {
        if self.next_due()? > now {
            return None;
        }
        match self {
            Self::Ordered(row) => row.pop_front().map(|(_, outcome)| outcome),
            Self::Unordered(overtaking) => overtaking.land(counters),
        }
    }

    #[inline]
    pub(crate) fn next_due(&self) -> Option<Ns> {
        match self {
            Self::Ordered(row) => row.front().map(|(due, _)| *due),
            Self::Unordered(overtaking) => overtaking.heap.peek().map(|Reverse((due, ..))| *due),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ordered(row) => row.len(),
            Self::Unordered(overtaking) => overtaking.heap.len(),
        }
    }
}

impl<T> Overtaking<T> {
    fn launch(&mut self, due: Ns, outcome: Outcome<T>) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(outcome);
        self.launched += 1;
        self.heap.push(Reverse((due, self.launched, slot)));
    }

    fn land(&mut self, counters: &mut Counters) -> Option<Outcome<T>> {
        let Reverse((_, number, slot)) = self.heap.pop()?;
        counters.reordered += u64::from(number < self.latest);
        self.latest = number.max(self.latest);
        self.free.push(slot);
        self.slots[slot].take()
    }
}
