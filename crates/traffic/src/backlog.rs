//! Writes that fell due on a TCP connection and that it has not taken yet.
//!
//! A write that would block is tried again when the connection can take more; those that fell due
//! meanwhile follow at once, in order. What waits is at most one second of traffic (counted from
//! the time at which the first waiting write was due); writes beyond that are dropped and counted.
//! So after a long stall a connection catches up with one second of its traffic, not with all of
//! it.
//!
//! Order of calls: [`on_due`](Backlog::on_due) when a departure falls due; then, and whenever the
//! socket is writable, as long as [`next_write`](Backlog::next_write) has something: write that
//! many bytes, and [`on_written`](Backlog::on_written) for what was taken. An unpaced source
//! ([`crate::Release::Unpaced`]) is always due: hand over its next departure when nothing waits.

use std::collections::VecDeque;

use serde::Serialize;
use trustbed_units::Span;

use crate::{Departure, DepartureError};

/// The waiting writes of a connection.
///
/// ```
/// use trustbed_traffic::{Backlog, Departure};
/// use trustbed_units::Span;
/// let mut backlog = Backlog::default();
/// let write = |due| Departure { due: Span::from_millis(due), length: 1500, payload: 1448 };
/// assert!(backlog.on_due(write(0)));
/// backlog.on_written(1000, Span::ZERO); // the socket took no more
/// assert!(backlog.on_due(write(999)));
/// assert!(!backlog.on_due(write(1000)));
/// assert_eq!(backlog.next_write(), Some(448));
/// assert_eq!((backlog.counts().dropped_writes, backlog.counts().waiting_bytes), (1, 448 + 1448));
/// ```
#[derive(Debug, Clone)]
pub struct Backlog {
    waiting: VecDeque<Write>,
    limit: Span,
    counts: BacklogCounts,
    delays: DepartureError,
}

#[derive(Debug, Clone, Copy)]
struct Write {
    due: Span,
    left: u32,
}

/// What became of the writes of a connection. Those that were due are written, dropped or waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct BacklogCounts {
    /// Writes that fell due.
    pub due_writes: u64,
    /// Their bytes.
    pub due_bytes: u64,
    /// Writes of which the connection took the last byte.
    pub written_writes: u64,
    /// Bytes that the connection took, those of a write it took in part among them.
    pub written_bytes: u64,
    /// Writes that were dropped because a second of traffic was waiting.
    pub dropped_writes: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Bytes that wait now.
    pub waiting_bytes: u64,
    /// The most that ever waited.
    pub deepest_bytes: u64,
}

impl Default for Backlog {
    /// One that holds a second of traffic.
    fn default() -> Self {
        Self::holding(Span::from_secs(1))
    }
}

impl Backlog {
    /// One that holds the traffic of so much time.
    pub fn holding(limit: Span) -> Self {
        Self {
            waiting: VecDeque::new(),
            limit,
            counts: BacklogCounts::default(),
            delays: DepartureError::default(),
        }
    }

    /// A departure falls due: it waits to be written, or is dropped because too much waits.
    pub fn on_due(&mut self, departure: Departure) -> bool {
        let bytes = u64::from(departure.payload);
        self.counts.due_writes += 1;
        self.counts.due_bytes += bytes;
        if self.waiting.front().is_some_and(|first| departure.due - first.due >= self.limit) {
            self.counts.dropped_writes += 1;
            self.counts.dropped_bytes += bytes;
            return false;
        }
        self.waiting.push_back(Write { due: departure.due, left: departure.payload });
        self.counts.waiting_bytes += bytes;
        self.counts.deepest_bytes = self.counts.deepest_bytes.max(self.counts.waiting_bytes);
        true
    }

    /// How many bytes the next write should have: what is left of the first that waits.
    pub fn next_write(&self) -> Option<u32> {
        self.waiting.front().map(|write| write.left)
    }

    /// The connection took bytes at a time after the start.
    pub fn on_written(&mut self, bytes: u64, now: Span) {
        let mut taken = bytes;
        while let Some(first) = self.waiting.front_mut() {
            let part = taken.min(first.left.into());
            first.left -= u32::try_from(part).unwrap_or(first.left);
            taken -= part;
            self.counts.written_bytes += part;
            self.counts.waiting_bytes -= part;
            if first.left > 0 {
                return;
            }
            self.delays.add(now - first.due);
            self.counts.written_writes += 1;
            self.waiting.pop_front();
            if taken == 0 {
                return;
            }
        }
    }

    /// What became of the writes so far.
    pub const fn counts(&self) -> BacklogCounts {
        self.counts
    }

    /// How long after it was due a write was taken as a whole. That is the network's doing as much
    /// as the sender's: how late a sender was is the time of its first attempt.
    pub const fn delays(&self) -> &DepartureError {
        &self.delays
    }
}
