//! Reads the rings while the programs fill them, and writes rows.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trustbed_units::Span;

use super::attached::Attached;
use super::calls::MARKER;
use super::descriptors::Descriptors;
use super::maps::{COUNTS, HEAD, LOST, Maps, Returned};
use super::markers::{self, Made};
use super::merge::{self, Visible};
use super::rows::{Row, Rows};
use super::selection::{self, Selection};
use super::tally::{Tally, ThreadCalls, busiest};
use crate::output::rows::{NONE, RowsWritten};
use crate::session::{Failure, Stop};
use crate::sys::clock::{self, Offset};

/// How long the rings are left alone.
const PAUSE: Span = Span::from_millis(10);
/// How often processes are looked for that joined a control group.
const REFRESH: Span = Span::from_millis(100);

/// What reads, and what it has found.
pub(super) struct Reader {
    pub(super) maps: Arc<Maps>,
    pub(super) attached: Attached,
    pub(super) selection: Selection,
    pub(super) offset: Offset,
    pub(super) rows: Option<Rows>,
    pub(super) tally: Tally,
    descriptors: Option<Descriptors>,
    markers: Vec<Made>,
    pub(super) calls: Arc<AtomicU64>,
    rings: Vec<Visible>,
    markers_seen: u64,
    unreturned: u64,
    own: u32,
}

/// The trace at its end.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) rows: Option<RowsWritten>,
    pub(super) tally: Tally,
    pub(super) descriptors: Option<Descriptors>,
    pub(super) lost_by_processor: Vec<u64>,
    pub(super) markers_made: u64,
    pub(super) markers_seen: u64,
    /// Rows of calls that had not returned at the end.
    pub(super) unreturned: u64,
    /// Only of a count: the threads that the kernel counted.
    pub(super) counted_threads: Vec<ThreadCalls>,
    pub(super) attached: Attached,
    pub(super) maps: Arc<Maps>,
}

impl Reader {
    pub(super) fn new(
        maps: Arc<Maps>,
        attached: Attached,
        selection: Selection,
        path: Option<&Path>,
        descriptors: bool,
    ) -> Result<Self, Failure> {
        let rings =
            (0..maps.processors).map(|processor| Visible { processor, tail: 0, head: 0 }).collect();
        Ok(Self {
            rows: path.map(|path| Rows::create(path, descriptors)).transpose()?,
            maps,
            attached,
            selection,
            offset: Offset::measure(),
            tally: Tally::new(),
            descriptors: descriptors.then(Descriptors::new),
            markers: Vec::new(),
            calls: Arc::default(),
            rings,
            markers_seen: 0,
            unreturned: 0,
            own: std::process::id(),
        })
    }

    /// Makes the first markers.
    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        self.markers.push(markers::make(&self.maps)?);
        Ok(())
    }

    /// Reads until stop is requested, and then to the end of what was recorded.
    pub(super) fn run(mut self, stop: Stop) -> Result<Finished, Failure> {
        let mut refreshed = clock::monotonic();
        loop {
            let is_busy = self.drain();
            let now = clock::monotonic();
            if now - refreshed >= REFRESH {
                self.selection.refresh(&self.maps);
                refreshed = now;
            }
            if stop.is_requested() || (!is_busy && !stop.wait_until(now + PAUSE)) {
                break;
            }
        }
        self.markers.push(markers::make(&self.maps)?);
        self.attached.detach_entries();
        self.drain();
        self.attached.detach_returns();
        self.drain();
        Ok(self.finish())
    }

    /// Takes what returned up to now; whether a ring was so full that it is best to look again.
    fn drain(&mut self) -> bool {
        let until = clock::monotonic().0.cast_unsigned();
        for ring in &mut self.rings {
            ring.head = self.maps.counter(ring.processor, HEAD);
        }
        let quarter = u64::from(self.maps.ring_rows / 4);
        let is_busy = self.rings.iter().any(|ring| ring.head - ring.tail > quarter);
        let mut rings = std::mem::take(&mut self.rings);
        let maps = Arc::clone(&self.maps);
        let taken = merge::merge(
            &mut rings,
            until,
            |processor, position| maps.row(processor, position),
            |one| self.take(one),
        );
        for ring in &rings {
            maps.release(ring.processor, ring.tail);
        }
        self.rings = rings;
        self.calls.fetch_add(taken, Ordering::Relaxed);
        is_busy
    }

    fn take(&mut self, one: &Returned) {
        if one.process == self.own {
            self.markers_seen += u64::from(one.call == MARKER);
            return;
        }
        let result = (one.result != NONE).then_some(one.result);
        let lasted = i64::try_from(one.left.saturating_sub(one.entered)).unwrap_or(i64::MAX);
        self.write(one, result, result.map(|_| lasted));
    }

    fn write(&mut self, one: &Returned, result: Option<i64>, duration_ns: Option<i64>) {
        let call = self.tally.count(one.process, one.thread, one.call, result);
        let descriptor = self
            .descriptors
            .as_mut()
            .and_then(|known| known.of(one.process, call, one.first, result));
        let entered = trustbed_units::Ns(one.entered.cast_signed());
        if let Some(rows) = &mut self.rows {
            rows.append(&Row {
                entered_ns: self.offset.to_realtime(entered).0,
                process: one.process,
                thread: one.thread,
                call,
                result,
                duration_ns,
                processor: one.processor,
                descriptor,
            });
        }
    }

    fn finish(mut self) -> Finished {
        let mut counted_threads = Vec::new();
        let maps = Arc::clone(&self.maps);
        if self.rows.is_some() {
            self.write_unreturned(&maps);
        } else {
            for number in (0..COUNTS).filter(|number| *number != MARKER) {
                self.tally.add(number, maps.counted(number));
            }
            self.markers_seen = maps.counted(MARKER);
            counted_threads = self.counted_threads(&maps);
        }
        Finished {
            rows: self.rows.map(Rows::finish),
            tally: self.tally,
            descriptors: self.descriptors,
            lost_by_processor: (0..maps.processors).map(|one| maps.counter(one, LOST)).collect(),
            markers_made: self.markers.iter().map(|one| one.calls).sum(),
            markers_seen: self.markers_seen,
            unreturned: self.unreturned,
            counted_threads,
            attached: self.attached,
            maps,
        }
    }

    /// A row for every thread that is in a call, its last.
    fn write_unreturned(&mut self, maps: &Maps) {
        for (thread, entered, call) in maps.busy() {
            let process = selection::process_of(thread)
                .or_else(|| self.tally.process_of(thread))
                .unwrap_or(thread);
            if process != self.own {
                let one = Returned {
                    entered,
                    left: entered,
                    result: NONE,
                    process,
                    thread,
                    call,
                    first: -1,
                    processor: u16::MAX,
                };
                self.write(&one, None, None);
                self.unreturned += 1;
            }
        }
    }

    fn counted_threads(&self, maps: &Maps) -> Vec<ThreadCalls> {
        let counted = maps.busy().map(|(tid, calls, _)| {
            let pid = selection::process_of(tid);
            ThreadCalls { pid, tid, command: pid.and_then(selection::command), calls }
        });
        // The tracer's threads made nothing but markers.
        counted.filter(|one| self.markers.iter().all(|made| made.thread != one.tid)).collect()
    }
}

impl Finished {
    /// The busiest threads, and how many there are beyond.
    pub(super) fn threads(&mut self) -> (Vec<ThreadCalls>, usize) {
        if self.rows.is_some() {
            self.tally.threads()
        } else {
            busiest(std::mem::take(&mut self.counted_threads))
        }
    }
}
