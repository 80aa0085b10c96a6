//! Packets on the wire, until they come out.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use trustbed_units::Ns;

use crate::Outcome;
use crate::counters::Counters;

/// In the order in which they come out: a plain row where none overtakes another.
#[derive(Debug, Clone)]
pub(crate) enum Flight<T> {
    Ordered(VecDeque<(Ns, Outcome<T>)>),
    Unordered { heap: BinaryHeap<Flying<T>>, launched: u64, latest: u64 },
}

/// The larger one comes out earlier.
#[derive(Debug, Clone)]
pub(crate) struct Flying<T> {
    due: Ns,
    number: u64,
    outcome: Outcome<T>,
}

impl<T> Flight<T> {
    pub(crate) const fn new(keeps_order: bool) -> Self {
        if keeps_order { Self::Ordered(VecDeque::new()) } else { Self::Unordered { heap: BinaryHeap::new(), launched: 0, latest: 0 } }
    }

    #[inline]
    pub(crate) fn launch(&mut self, due: Ns, outcome: Outcome<T>) {
        match self {
            Self::Ordered(row) => row.push_back((due, outcome)),
            Self::Unordered { heap, launched, .. } => {
                *launched += 1;
                heap.push(Flying { due, number: *launched, outcome });
            }
        }
    }

    /// The next one that has come out at `now`. One that comes out behind one launched later is counted as reordered (RFC 4737 §3.3).
    #[inline]
    pub(crate) fn land(&mut self, now: Ns, counters: &mut Counters) -> Option<Outcome<T>> {
        if self.next_due()? > now {
            return None;
        }
        match self {
            Self::Ordered(row) => row.pop_front().map(|(_, outcome)| outcome),
            Self::Unordered { heap, latest, .. } => {
                let flying = heap.pop()?;
                counters.reordered += u64::from(flying.number < *latest);
                *latest = flying.number.max(*latest);
                Some(flying.outcome)
            }
        }
    }

    #[inline]
    pub(crate) fn next_due(&self) -> Option<Ns> {
        match self {
            Self::Ordered(row) => row.front().map(|(due, _)| *due),
            Self::Unordered { heap, .. } => heap.peek().map(|flying| flying.due),
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Ordered(row) => row.len(),
            Self::Unordered { heap, .. } => heap.len(),
        }
    }
}

impl<T> Ord for Flying<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl<T> PartialOrd for Flying<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Flying<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Flying<T> {}
