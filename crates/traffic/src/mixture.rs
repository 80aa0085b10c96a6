//! Several sources as one stream in order of time, for a sender that serves them all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trustbed_units::Span;

use crate::{Departure, Schedule};

/// The departures of several schedules, each with the number of its source. What is due at the same
/// time comes in the order of the sources, and a source's own packets in their order. An unpaced
/// source is always due: it keeps the others waiting until it has ended, so give it a sender of its
/// own.
#[derive(Debug, Clone)]
pub struct Mixture {
    schedules: Vec<Schedule>,
    /// The next departure of each source that has one.
    next: Vec<Option<Departure>>,
    order: BinaryHeap<Reverse<(Span, usize)>>,
}

impl Mixture {
    /// Mixes schedules; the number of a source is its index here.
    pub fn new(mut schedules: Vec<Schedule>) -> Self {
        let next: Vec<Option<Departure>> = schedules.iter_mut().map(Iterator::next).collect();
        let order = next
            .iter()
            .enumerate()
            .filter_map(|(source, first)| first.map(|first| Reverse((first.due, source))))
            .collect();
        Self { schedules, next, order }
    }

    /// The schedules, as far as they were drawn: each is one departure ahead of what was given out.
    pub fn schedules(&self) -> &[Schedule] {
        &self.schedules
    }
}

impl Iterator for Mixture {
    type Item = (usize, Departure);

    fn next(&mut self) -> Option<(usize, Departure)> {
        let Reverse((_, source)) = self.order.pop()?;
        let departure = self.next[source].take()?;
        self.next[source] = self.schedules[source].next();
        if let Some(after) = &self.next[source] {
            self.order.push(Reverse((after.due, source)));
        }
        Some((source, departure))
    }
}
