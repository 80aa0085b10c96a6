//! Frames that were seen at one place and are waited for at the other, found again by their print, oldest first.

use std::collections::VecDeque;

use hashbrown::HashTable;
use trustbed_units::Ns;

use crate::Frame;

/// What waits. The moments are by the clock of the first place.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    waiting: HashTable<Waiting>,
    /// In the order in which they came; some have been met since.
    order: VecDeque<(u64, u64)>,
    next: u64,
}

/// A frame that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) frame: Frame,
    /// When it was seen.
    pub(crate) seen: Ns,
    /// Its number in the order of its place and direction.
    pub(crate) serial: u64,
}

impl Pending {
    /// A frame begins to wait.
    pub(crate) fn push(&mut self, frame: &Frame, seen: Ns) {
        let waiting = Waiting { frame: *frame, seen, serial: self.next };
        self.order.push_back((frame.print, self.next));
        self.waiting.insert_unique(frame.print, waiting, |held| held.frame.print);
        self.next += 1;
    }

    /// A frame that need not wait; its number.
    pub(crate) fn skip(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Takes out the one of this print that has waited longest.
    pub(crate) fn take(&mut self, print: u64) -> Option<Waiting> {
        let oldest = self
            .waiting
            .iter_hash(print)
            .filter(|held| held.frame.print == print)
            .map(|held| held.serial)
            .min()?;
        self.remove(print, oldest)
    }

    /// Takes out the oldest one that came before a moment.
    pub(crate) fn expire(&mut self, before: Ns) -> Option<Waiting> {
        self.pop_if(|waiting| waiting.seen < before)
    }

    /// Takes out the oldest one.
    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        self.pop_if(|_| true)
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    fn pop_if(&mut self, is_due: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        while let Some(&(print, serial)) = self.order.front() {
            let held =
                self.waiting.find(print, |held| held.serial == serial && held.frame.print == print);
            match held {
                Some(held) if !is_due(held) => return None,
                Some(_) => {
                    self.order.pop_front();
                    return self.remove(print, serial);
                }
                None => {
                    self.order.pop_front();
                }
            }
        }
        None
    }

    fn remove(&mut self, print: u64, serial: u64) -> Option<Waiting> {
        let entry = self
            .waiting
            .find_entry(print, |held| held.serial == serial && held.frame.print == print)
            .ok()?;
        Some(entry.remove().0)
    }
}
