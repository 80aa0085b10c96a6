//! State only for a direction with losses or reordering: holes in what was seen, ranges reported by
//! SACK, and the retransmissions that a later DSACK may still declare unnecessary. Allocated when
//! the first of them appears.

use std::collections::VecDeque;

use trustbed_units::Ns;

use crate::{Cause, RangeSet};

/// A retransmission that may still turn out to have been unnecessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// First byte.
    pub start: i64,
    /// One past the last byte.
    pub end: i64,
    /// When it was sent.
    pub sent: Ns,
    /// What it was taken for.
    pub cause: Cause,
}

/// Bytes below the highest one seen that the capture has not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hole {
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// When the hole appeared.
    pub(crate) since: Ns,
    /// `TSval` of the segment that opened it; none if an acknowledgement did, whose clock is the
    /// receiver's.
    pub(crate) tsval: Option<u32>,
    /// It was sent before the capture held anything of the sender: unknown, not missing.
    pub(crate) before: bool,
}

/// Segments in a row, each where the one before ended, that lie far beyond all others.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FarAhead {
    /// The number after the last of them.
    pub(crate) next: u32,
    /// How many.
    pub(crate) count: u32,
    /// Segments before them that lay where they were expected.
    pub(crate) after: u32,
}

/// Trouble of one direction.
#[derive(Debug, Clone, Default)]
pub struct Recovery {
    /// In order. Forgotten ones are the first, so that forgetting moves none of the others.
    holes: VecDeque<Hole>,
    /// Bytes of holes that were forgotten because there were too many.
    pub forgotten_bytes: u64,
    /// How many those were.
    pub forgotten_holes: u64,
    /// The last segments that lay far beyond all others.
    pub(crate) far_ahead: FarAhead,
    /// Ranges that the receiver reported above the cumulative acknowledgement.
    pub sacked: RangeSet,
    recent: VecDeque<Retransmission>,
    pub(crate) disproved: Option<Retransmission>,
    /// Where the last retransmission began, and how much was reported above it by then.
    evidence: (i64, i64),
    /// When the lowest outstanding segment was retransmitted last, in duplicate ACKs counted until
    /// then.
    pub(crate) duplicates_at_retransmission: u32,
}

/// Holes, and ranges reported by SACK, kept at most; a capture with more has lost so much that
/// single holes show nothing.
const MOST_HOLES: usize = 4096;
/// Retransmissions remembered for a later DSACK.
const MOST_RECENT: usize = 64;

impl Recovery {
    /// Bytes on the heap, its own among them.
    pub(crate) fn held_bytes(&self) -> usize {
        size_of::<Self>()
            + self.holes.capacity() * size_of::<Hole>()
            + self.recent.capacity() * size_of::<Retransmission>()
            + self.sacked.held_bytes()
    }

    pub(crate) fn add_hole(&mut self, hole: Hole) {
        if self.holes.len() >= MOST_HOLES
            && let Some(lowest) = self.holes.pop_front()
        {
            self.forgotten_holes += 1;
            if !lowest.before {
                self.forgotten_bytes += (lowest.end - lowest.start).unsigned_abs();
            }
        }
        let at = self.holes.partition_point(|h| h.start < hole.start);
        self.holes.insert(at, hole);
    }

    /// Takes `[start, end)` out of the holes and calls `filled` with each part that was one.
    pub(crate) fn fill(&mut self, start: i64, end: i64, mut filled: impl FnMut(Hole)) {
        let mut at = self.holes.partition_point(|h| h.end <= start);
        while let Some(&hole) = self.holes.get(at) {
            if hole.start >= end {
                break;
            }
            let (left, right) = (hole.start.max(start), hole.end.min(end));
            filled(Hole { start: left, end: right, ..hole });
            self.holes.remove(at);
            if right < hole.end {
                self.holes.insert(at, Hole { start: right, ..hole });
            }
            if hole.start < left {
                self.holes.insert(at, Hole { end: left, ..hole });
                at += 1;
            }
            if right < hole.end {
                break;
            }
        }
    }

    /// Bytes of `[start, end)` that lie in holes.
    pub fn hole_bytes(&self, start: i64, end: i64) -> i64 {
        let at = self.holes.partition_point(|h| h.end <= start);
        self.holes
            .range(at..)
            .take_while(|h| h.start < end)
            .map(|h| (h.end.min(end) - h.start.max(start)).max(0))
            .sum()
    }

    /// Bytes below `end` that were sent while the capture ran and never held by it, as far as their
    /// holes are remembered.
    pub(crate) fn missing_bytes(&self, end: i64) -> i64 {
        self.holes
            .iter()
            .take_while(|h| h.start < end)
            .filter(|h| !h.before)
            .map(|h| h.end.min(end) - h.start)
            .sum()
    }

    /// Whether any bytes below `end` are such.
    pub(crate) fn misses_any(&self, end: i64) -> bool {
        self.holes.iter().take_while(|h| h.start < end).any(|h| !h.before)
    }

    /// Whatever lies below `offset` was sent before the capture held anything of the sender.
    pub(crate) fn excuse_below(&mut self, offset: i64) {
        let mut excused = Vec::new();
        self.fill(i64::MIN / 2, offset, |hole| excused.push(Hole { before: true, ..hole }));
        for hole in excused {
            self.add_hole(hole);
        }
    }

    /// The first hole that overlaps `[start, end)`.
    pub(crate) fn hole_at(&self, start: i64, end: i64) -> Option<&Hole> {
        let at = self.holes.partition_point(|h| h.end <= start);
        self.holes.get(at).filter(|h| h.start < end)
    }

    /// A retransmission of `[start, end)` was sent: what the receiver has reported above it is
    /// known to the sender.
    pub(crate) fn note_evidence(&mut self, start: i64, end: i64) {
        self.evidence = (start, self.sacked.bytes_above(end));
    }

    /// Bytes reported above the byte at `start` when it was retransmitted last; 0 when it was not.
    pub(crate) fn evidence_before(&self, start: i64) -> i64 {
        if self.evidence.0 == start { self.evidence.1 } else { 0 }
    }

    /// Whether no further range is kept.
    pub(crate) fn is_full(&self) -> bool {
        self.sacked.len() >= MOST_HOLES
    }

    pub(crate) fn remember(&mut self, retransmission: Retransmission) {
        if self.recent.len() >= MOST_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(retransmission);
    }

    /// The oldest remembered genuine retransmission that `[start, end)` covers, taken out of the
    /// memory.
    pub(crate) fn disprove(&mut self, start: i64, end: i64) -> Option<Retransmission> {
        let at = self
            .recent
            .iter()
            .position(|r| start <= r.start && r.end <= end && r.cause != Cause::Spurious)?;
        self.recent.remove(at)
    }
}
