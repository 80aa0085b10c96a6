//! Frames of one capture that are pending in the other, found by fingerprint, oldest first.

use std::collections::VecDeque;

use hashbrown::HashTable;
use trustbed_units::Ns;

use crate::Frame;

/// Pending frames; times are by the clock of the first capture.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    waiting: HashTable<Waiting>,
    /// In capture order; some are matched by now.
    order: VecDeque<(u64, u64)>,
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

impl Pending {
    /// Adds a pending frame.
    pub(crate) fn push(&mut self, frame: &Frame, seen: Ns) {
        let waiting = Waiting { frame: *frame, seen, serial: self.next };
        self.order.push_back((frame.fingerprint, self.next));
        self.waiting.insert_unique(frame.fingerprint, waiting, |held| held.frame.fingerprint);
        self.next += 1;
    }

    /// Numbers a frame that is matched at once.
    pub(crate) fn skip(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Removes the oldest pending frame with this fingerprint.
    pub(crate) fn take(&mut self, fingerprint: u64) -> Option<Waiting> {
        let oldest = self
            .waiting
            .iter_hash(fingerprint)
            .filter(|held| held.frame.fingerprint == fingerprint)
            .map(|held| held.serial)
            .min()?;
        self.remove(fingerprint, oldest)
    }

    /// Removes the oldest pending frame captured before `before`.
    pub(crate) fn expire(&mut self, before: Ns) -> Option<Waiting> {
        self.pop_if(|waiting| waiting.seen < before)
    }

    /// Removes the oldest pending frame.
    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        self.pop_if(|_| true)
    }

    /// Number of pending frames.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    fn pop_if(&mut self, is_due: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        while let Some(&(fingerprint, serial)) = self.order.front() {
            let held = self.waiting.find(fingerprint, |held| {
                held.serial == serial && held.frame.fingerprint == fingerprint
            });
            match held {
                Some(held) if !is_due(held) => return None,
                Some(_) => {
                    self.order.pop_front();
                    return self.remove(fingerprint, serial);
                }
                None => {
                    self.order.pop_front();
                }
            }
        }
        None
    }

    fn remove(&mut self, fingerprint: u64, serial: u64) -> Option<Waiting> {
        let entry = self
            .waiting
            .find_entry(fingerprint, |held| {
                held.serial == serial && held.frame.fingerprint == fingerprint
            })
            .ok()?;
        Some(entry.remove().0)
    }
}
