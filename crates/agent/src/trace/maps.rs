//! The memory that the kernel's programs and this one share: a slot for every thread, and for every
//! processor a ring of returned calls with its counters.

use std::fs;
use std::io;
use std::sync::atomic::Ordering;

use super::assembler::halves;
use super::kernel::Array;

/// The flag of a thread whose calls are recorded.
pub(super) const TRACED: u32 = 1;
/// The flag of a process that is recorded once it runs the command.
pub(super) const CANDIDATE: u32 = 2;

/// A slot: when the thread entered its call (0 while it is in none; when counting, how many it
/// made), the call's number, flags; where descriptors are recorded, the call's first argument.
const SLOT_BYTES: u32 = 16;
const WIDE_SLOT_BYTES: u32 = 24;
pub(super) const SLOT_ENTERED: i16 = 0;
pub(super) const SLOT_CALL: i16 = 8;
pub(super) const SLOT_FLAGS: i16 = 12;
pub(super) const SLOT_FIRST: i16 = 16;

/// The counters of a processor. What the reader writes has a cache line of its own.
pub(super) const CONTROL_BYTES: u32 = 128;
pub(super) const HEAD: i16 = 0;
pub(super) const LOST: i16 = 8;
pub(super) const ALONE: i16 = 16;
pub(super) const SWITCHES: i16 = 24;
pub(super) const PREEMPTIONS: i16 = 32;
pub(super) const BLOCK_REQUESTS: i16 = 40;
pub(super) const TAIL: i16 = 64;

/// A row of a ring. The upper half of the call is its first argument.
pub(super) const ROW_BYTES: u32 = 40;
pub(super) const ROW_ENTERED: i16 = 0;
pub(super) const ROW_RETURNED: i16 = 8;
pub(super) const ROW_RESULT: i16 = 16;
pub(super) const ROW_THREAD: i16 = 24;
pub(super) const ROW_CALL: i16 = 32;

/// Counts of a processor, by number: the last one is of all beyond.
pub(super) const COUNTS: u32 = 1024;

/// A call that returned, or the last one of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Returned {
    /// By the monotonic clock.
    pub(super) entered: u64,
    pub(super) left: u64,
    /// The smallest number for one that does not return.
    pub(super) result: i64,
    pub(super) process: u32,
    pub(super) thread: u32,
    pub(super) call: u32,
    /// The lower half of the call's first argument, where descriptors are recorded.
    pub(super) first: i32,
    pub(super) processor: u16,
}

/// The arrays.
#[derive(Debug)]
pub(super) struct Maps {
    pub(super) slots: Array,
    pub(super) control: Array,
    pub(super) ring: Array,
    pub(super) counts: Array,
    pub(super) processors: u32,
    pub(super) threads: u32,
    /// Rows of each ring: a power of two.
    pub(super) ring_rows: u32,
    slot_bytes: u32,
}

impl Maps {
    /// All arrays, empty; with room for the first argument of calls if `descriptors` are recorded.
    pub(super) fn create(ring_rows: u32, descriptors: bool) -> io::Result<Self> {
        let slot_bytes = if descriptors { WIDE_SLOT_BYTES } else { SLOT_BYTES };
        let processors = possible_processors()?;
        let threads = most_threads()?;
        let rows = processors.checked_mul(ring_rows).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self {
            slots: Array::create(threads, slot_bytes)?,
            control: Array::create(processors, CONTROL_BYTES)?,
            ring: Array::create(rows, ROW_BYTES)?,
            counts: Array::create(processors * COUNTS, 8)?,
            processors,
            threads,
            ring_rows,
            slot_bytes,
        })
    }

    fn slot(&self, thread: u32, field: i16) -> usize {
        thread as usize * self.slot_bytes as usize + usize::from(field.cast_unsigned())
    }

    fn of_processor(processor: u32, field: i16) -> usize {
        processor as usize * CONTROL_BYTES as usize + usize::from(field.cast_unsigned())
    }

    /// Sets flags of a thread; whether one of them was not set before.
    pub(super) fn set(&self, thread: u32, flags: u32) -> bool {
        thread < self.threads
            && self.slots.word(self.slot(thread, SLOT_FLAGS)).fetch_or(flags, Ordering::AcqRel)
                & flags
                != flags
    }

    /// Threads whose slot has a number, with that and their call: those that are in a call, or,
    /// when counting, those that made some.
    pub(super) fn busy(&self) -> impl Iterator<Item = (u32, u64, u32)> + '_ {
        (0..self.threads).filter_map(|thread| {
            let number = self.slots.double(self.slot(thread, SLOT_ENTERED)).load(Ordering::Acquire);
            let call = || self.slots.word(self.slot(thread, SLOT_CALL)).load(Ordering::Relaxed);
            (number > 0).then(|| (thread, number, call()))
        })
    }

    /// A counter of a processor.
    pub(super) fn counter(&self, processor: u32, field: i16) -> u64 {
        self.control.double(Self::of_processor(processor, field)).load(Ordering::Acquire)
    }

    /// A counter over all processors.
    pub(super) fn total(&self, field: i16) -> u64 {
        (0..self.processors).map(|processor| self.counter(processor, field)).sum()
    }

    /// Gives the rows before a position back to the kernel.
    pub(super) fn release(&self, processor: u32, tail: u64) {
        self.control.double(Self::of_processor(processor, TAIL)).store(tail, Ordering::Release);
    }

    /// The row at a position between tail and head of a processor's ring.
    #[inline]
    pub(super) fn row(&self, processor: u32, position: u64) -> Returned {
        let row =
            u64::from(processor * self.ring_rows) + (position & u64::from(self.ring_rows - 1));
        let base = usize::try_from(row).unwrap_or(0) * ROW_BYTES as usize;
        let field = |field: i16| {
            self.ring.double(base + usize::from(field.cast_unsigned())).load(Ordering::Relaxed)
        };
        let (thread, process) = halves(field(ROW_THREAD));
        let (call, first) = halves(field(ROW_CALL));
        Returned {
            entered: field(ROW_ENTERED),
            left: field(ROW_RETURNED),
            result: field(ROW_RESULT).cast_signed(),
            process,
            thread,
            call,
            first: first.cast_signed(),
            processor: u16::try_from(processor).unwrap_or(u16::MAX),
        }
    }

    /// How often a call of a number was made, when counting.
    pub(super) fn counted(&self, number: u32) -> u64 {
        (0..self.processors)
            .map(|processor| {
                let value = (processor * COUNTS + number) as usize * 8;
                self.counts.double(value).load(Ordering::Acquire)
            })
            .sum()
    }
}

/// Processors that could ever be there: `0-1`.
pub(super) fn possible_processors() -> io::Result<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/possible")?;
    text.trim()
        .rsplit([',', '-'])
        .next()
        .and_then(|last| last.parse::<u32>().ok())
        .map(|last| last + 1)
        .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Rows of each ring, of as many processors as there could be: machines to which processors can be
/// added have many that never are.
pub(super) fn usual_ring_rows(processors: u32) -> u32 {
    const MOST: u32 = 1 << 18;
    const LEAST: u32 = 1 << 12;
    const ALL_RINGS: u32 = 256 << 20;
    let each = ALL_RINGS / ROW_BYTES / processors.max(1);
    (1 << each.max(LEAST).ilog2()).min(MOST)
}

/// Numbers of threads are below this.
fn most_threads() -> io::Result<u32> {
    let text = fs::read_to_string("/proc/sys/kernel/pid_max")?;
    text.trim().parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

#[cfg(test)]
mod tests {
    use super::{ROW_BYTES, usual_ring_rows};

    #[test]
    fn rings_of_processors_that_could_be_there_are_bounded_together() {
        assert_eq!(usual_ring_rows(2), 1 << 18);
        assert_eq!(usual_ring_rows(16), 1 << 18);
        assert_eq!(usual_ring_rows(128), 1 << 15);
        assert_eq!(usual_ring_rows(8192), 1 << 12);
        assert!(u64::from(usual_ring_rows(128)) * 128 * u64::from(ROW_BYTES) <= 256 << 20);
    }
}
