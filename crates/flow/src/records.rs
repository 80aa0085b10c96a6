//! What is outstanding: one record per segment that was sent and not yet acknowledged, 32 bytes
//! each.

use std::collections::VecDeque;

use trustbed_units::Ns;

/// A sent, not yet acknowledged segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Low 32 bits of the first byte's offset; see [`Records::offset`].
    start: u32,
    /// Length in bytes.
    pub length: u32,
    /// When it was sent first.
    pub first_sent: Ns,
    /// When it was sent last.
    pub last_sent: Ns,
    /// How often it was sent.
    pub sent: u16,
    /// The receiver has reported it by SACK.
    pub sacked: bool,
    /// No round-trip time may be taken from it, whatever the clock did: see
    /// [`Records::is_untimed`].
    pub untimed: bool,
    /// Steps of the clock before it was sent first; see [`Records::forget_times`].
    steps: u16,
}

/// The outstanding segments of one direction, ascending by offset.
#[derive(Debug, Clone, Default)]
pub struct Records {
    queue: VecDeque<Record>,
    /// Steps of the clock so far, less the whole 65,536s.
    steps: u16,
    /// Records dropped because the receiver's side was never heard or the table was full.
    pub forgotten: u32,
    /// The receiver has acknowledged something.
    pub heard: bool,
}

/// More outstanding segments than this are not kept: a gigabyte in flight, or a capture that never
/// sees an ACK.
const MOST: usize = 1 << 16;
/// And no more than this while the receiver was never heard.
const MOST_UNHEARD: usize = 1024;

impl Records {
    /// How many segments are outstanding.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing is outstanding.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The 64-bit offset of a record's first byte, given any offset within 2³¹ of it.
    #[inline]
    pub fn offset(record: &Record, near: i64) -> i64 {
        trustbed_units::Seq(record.start).unwrap_near(near)
    }

    /// Appends a segment that lies above all others.
    #[inline]
    pub fn push(&mut self, start: i64, length: u32, now: Ns, most: usize) {
        if self.queue.len() >= most.min(MOST) {
            self.queue.pop_front();
            self.forgotten = self.forgotten.saturating_add(1);
        }
        self.queue.push_back(self.fresh(start, length, now));
    }

    /// Nothing is outstanding any longer that was.
    pub(crate) fn forget_all(&mut self) {
        self.queue.clear();
    }

    /// Inserts a segment at its position below others (a hole that was filled).
    pub fn insert(&mut self, start: i64, length: u32, now: Ns) {
        if self.is_full() {
            self.forgotten = self.forgotten.saturating_add(1);
            return;
        }
        let at = self.queue.partition_point(|r| Self::offset(r, start) < start);
        self.queue.insert(at, self.fresh(start, length, now));
    }

    /// The record that holds the byte at `offset`.
    pub fn holding(&self, offset: i64) -> Option<&Record> {
        let at = self.first_ending_above(offset);
        self.queue.get(at).filter(|r| Self::offset(r, offset) <= offset)
    }

    /// Calls `visit` with every record that overlaps `[start, end)`, cutting records at both edges
    /// first.
    pub fn for_range(&mut self, start: i64, end: i64, mut visit: impl FnMut(&mut Record)) {
        self.cut_at(start);
        self.cut_at(end);
        let first = self.first_ending_above(start);
        for record in self.queue.range_mut(first..) {
            if Self::offset(record, start) >= end {
                break;
            }
            visit(record);
        }
    }

    /// Makes one record of those within `[start, end)`, and of what lies between them. They were
    /// sent again together: it gives no round-trip time.
    pub fn merge(&mut self, start: i64, end: i64) {
        let first = self.first_ending_above(start);
        let upto = self.queue.partition_point(|r| Self::offset(r, start) < end);
        let Some(&top) =
            upto.checked_sub(1).filter(|at| *at > first).and_then(|at| self.queue.get(at))
        else {
            return;
        };
        let mut one = self.queue[first];
        for next in self.queue.range(first + 1..upto) {
            one.last_sent = one.last_sent.max(next.last_sent);
            one.sent = one.sent.max(next.sent);
            one.sacked &= next.sacked;
        }
        one.length = top.start.wrapping_add(top.length).wrapping_sub(one.start);
        one.untimed = true;
        self.queue[first] = one;
        self.queue.drain(first + 1..upto);
    }

    /// Marks the records that lie inside `[start, end)` as reported by SACK.
    pub fn sack(&mut self, start: i64, end: i64) {
        let first = self.queue.partition_point(|r| Self::offset(r, start) < start);
        for record in self.queue.range_mut(first..) {
            if Self::offset(record, start) + i64::from(record.length) > end {
                break;
            }
            record.sacked = true;
        }
    }

    /// Takes away what `acknowledged` covers, oldest first, calling `visit` with each record that
    /// overlaps `[.., acknowledged)`: one that gives no round-trip time is marked as untimed. A
    /// record that is covered partly stays.
    #[inline]
    pub fn acknowledge(&mut self, acknowledged: i64, mut visit: impl FnMut(&Record, i64)) {
        let steps = self.steps;
        while let Some(record) = self.queue.front_mut() {
            let start = Self::offset(record, acknowledged);
            if start >= acknowledged {
                break;
            }
            record.untimed |= record.steps != steps;
            visit(record, start);
            if start + i64::from(record.length) > acknowledged {
                break;
            }
            self.queue.pop_front();
        }
    }

    /// The clock stepped: nothing outstanding may give a round-trip time any more. The step is only
    /// counted, so that a clock that steps again and again costs little however much is
    /// outstanding.
    pub fn forget_times(&mut self) {
        self.steps = self.steps.wrapping_add(1);
        if self.steps == 0 {
            // The count begins anew: what remembers one of before would be taken for fresh.
            for record in &mut self.queue {
                record.untimed = true;
            }
        }
    }

    /// Whether a record of these gives no round-trip time: the clock stepped while it was
    /// outstanding, it was sent again together with others, or before the capture began.
    pub fn is_untimed(&self, record: &Record) -> bool {
        record.untimed || record.steps != self.steps
    }

    /// The outstanding segments, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Record> {
        self.queue.iter()
    }

    /// Gives the memory back when nothing is outstanding.
    pub fn release(&mut self) {
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
    }

    /// Bytes on the heap.
    pub fn held_bytes(&self) -> usize {
        self.queue.capacity() * size_of::<Record>()
    }

    #[inline]
    fn fresh(&self, start: i64, length: u32, now: Ns) -> Record {
        Record {
            start: low32(start),
            length,
            first_sent: now,
            last_sent: now,
            sent: 1,
            sacked: false,
            untimed: false,
            steps: self.steps,
        }
    }

    fn is_full(&self) -> bool {
        self.queue.len() >= if self.heard { MOST } else { MOST_UNHEARD }
    }

    fn first_ending_above(&self, offset: i64) -> usize {
        self.queue.partition_point(|r| Self::offset(r, offset) + i64::from(r.length) <= offset)
    }

    fn cut_at(&mut self, offset: i64) {
        let at = self.first_ending_above(offset);
        let full = self.is_full();
        let Some(record) = self.queue.get_mut(at).filter(|_| !full) else { return };
        let start = Self::offset(record, offset);
        if start >= offset {
            return;
        }
        let left = u32::try_from(offset - start).unwrap_or(record.length);
        let mut tail = *record;
        tail.start = low32(offset);
        tail.length = record.length - left;
        record.length = left;
        self.queue.insert(at + 1, tail);
    }
}

#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the low 32 bits are what is kept"
)]
fn low32(offset: i64) -> u32 {
    offset as u32
}
