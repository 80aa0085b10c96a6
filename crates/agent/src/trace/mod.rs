//! The verb `trace`: the system calls of processes, in the order in which each thread made them,
//! with times and results; or only how many they were.
//!
//! Programs in the kernel ([`programs`]) write into rings of memory that this process shares; it
//! wakes up a hundred times a second, puts the rings in order ([`merge`]) and writes [`rows`].
//! Calls for which there was no room are counted, by processor. [`markers`] prove that the trace
//! covers every processor from its beginning to its end.
//!
//! Bias: an entry and a return cost some tens of nanoseconds each, of which `duration_ns` contains
//! a part; and every call of the machine takes the kernel's slower way in and out while anything
//! is traced. Threads are told apart by their numbers: when counting, a number that was given
//! anew is one thread. A call that a signal ended for good (SIGKILL) never returns: it is the last
//! row of its thread unless the number was given anew.

mod assembler;
mod attached;
mod calls;
mod descriptors;
mod kernel;
mod maps;
mod markers;
mod merge;
mod programs;
mod reader;
mod rows;
mod selection;
mod tally;
mod tracefs;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use crate::host::sample::Unavailable;
use crate::output::rows::RowsWritten;
use crate::session::workers;
use crate::session::{Failure, Session};
use crate::sys::clock;
use attached::Attached;
use descriptors::{Descriptors, Used};
use maps::{ALONE, BLOCK_REQUESTS, Maps, PREEMPTIONS, SWITCHES};
use programs::Setting;
use reader::{Finished, Reader};
use selection::Selection;
use tally::{Moved, ThreadCalls};

/// Rows that wait for being written, at most: 40 GiB.
const LARGEST_RING: u32 = 1 << 30;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    /// The file of rows. None: calls are only counted.
    path: Option<PathBuf>,
    /// Whose calls. Of every process by default.
    #[serde(default)]
    select: Selection,
    /// Whether rows have the descriptor that a call is about, and its kind.
    #[serde(default)]
    descriptors: bool,
    /// Rows that wait for being written, of each processor: a power of two, of 40 bytes each. By
    /// default 262,144, or fewer where there could be many processors.
    ring_rows: Option<u32>,
    /// Stops after this time from `ready`. No limit by default.
    duration_ns: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ReadyBody<'a> {
    path: Option<&'a PathBuf>,
    architecture: &'static str,
    processors: u32,
    ring_rows: u32,
    unavailable: &'a [Unavailable],
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    calls: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: i64,
    end_ns: i64,
    architecture: &'static str,
    select: Selection,
    /// Calls that were recorded, or counted.
    calls: u64,
    /// Calls for which there was no room.
    lost: u64,
    lost_by_cpu: Vec<u64>,
    markers_made: u64,
    markers_seen: u64,
    /// Whether every call since `ready` is in the file, or counted.
    complete: bool,
    /// Calls that had not returned at the end.
    unreturned: u64,
    /// Returns whose entry was before the beginning, and those of new threads.
    returns_alone: u64,
    /// Calls of 32-bit programs, which have no name here.
    compat_calls: u64,
    by_call: BTreeMap<String, u64>,
    threads: Vec<ThreadCalls>,
    threads_left_out: usize,
    reads: Moved,
    writes: Moved,
    /// What was done with descriptors, by kind; only where they are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    descriptors: Option<BTreeMap<&'static str, Used>>,
    context_switches: Option<u64>,
    /// Context switches of threads that would have gone on.
    preemptions: Option<u64>,
    /// Requests that the threads handed to block devices; what is written later is not theirs.
    block_requests: Option<u64>,
    rows: Option<RowsWritten>,
    unavailable: Vec<Unavailable>,
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let mut configuration: Configuration = session.configuration()?;
    attached::check_namespace()?;
    configuration.select.check()?;
    let ring_rows = match configuration.ring_rows {
        Some(rows) => rows,
        None => maps::usual_ring_rows(
            maps::possible_processors().map_err(|error| attached::refused(&error))?,
        ),
    };
    if !ring_rows.is_power_of_two() || ring_rows > LARGEST_RING {
        return Err(Failure::configuration(
            format!("ring_rows: {ring_rows} is no power of two up to {LARGEST_RING}"),
            "leave it out, or give for example 262144",
        ));
    }
    let mut reader = open(&configuration, ring_rows)?;
    reader.begin()?;
    let start_ns = clock::realtime().0;
    let calls = Arc::clone(&reader.calls);
    let unavailable = reader.attached.unavailable.clone();
    let (processors, stop) = (reader.maps.processors, session.stop());
    let thread = workers::spawn("trace", move || reader.run(stop))?;
    session.ready(&ReadyBody {
        path: configuration.path.as_ref(),
        architecture: calls::ARCHITECTURE,
        processors,
        ring_rows,
        unavailable: &unavailable,
    })?;
    let finished = workers::attend(session, thread, configuration.duration_ns, || ProgressBody {
        calls: calls.load(Ordering::Relaxed),
    })??;
    session.report(&report(start_ns, configuration.select, finished))
}

fn open(configuration: &Configuration, ring_rows: u32) -> Result<Reader, Failure> {
    let selection = &configuration.select;
    // Kernels before 5.11 count maps as locked memory.
    let _ = rustix::process::setrlimit(
        rustix::process::Resource::Memlock,
        rustix::process::Rlimit { current: None, maximum: None },
    );
    let maps = Maps::create(ring_rows, configuration.descriptors)
        .map_err(|error| attached::refused(&error))?;
    let maps = Arc::new(maps);
    let setting = Setting {
        maps: &maps,
        own: std::process::id(),
        filtered: selection.is_filter(),
        counting: configuration.path.is_none(),
        descriptors: configuration.descriptors,
    };
    let attached = Attached::attach(&setting, selection, || selection.flag(&maps))?;
    let rows = configuration.path.as_deref();
    Reader::new(Arc::clone(&maps), attached, selection.clone(), rows, configuration.descriptors)
}

fn report(start_ns: i64, select: Selection, mut finished: Finished) -> Report {
    let (threads, threads_left_out) = finished.threads();
    let lost: u64 = finished.lost_by_processor.iter().sum();
    let left_out = finished.rows.as_ref().map_or(0, |rows| rows.rows_left_out);
    let (counts_switches, counts_block) = finished.attached.counted();
    let (maps, tally) = (&finished.maps, &finished.tally);
    let has_results = finished.rows.is_some();
    Report {
        start_ns,
        end_ns: clock::realtime().0,
        architecture: calls::ARCHITECTURE,
        select,
        calls: tally.calls(),
        lost,
        complete: lost == 0 && left_out == 0 && finished.markers_seen == finished.markers_made,
        lost_by_cpu: finished.lost_by_processor,
        markers_made: finished.markers_made,
        markers_seen: finished.markers_seen,
        unreturned: finished.unreturned,
        returns_alone: maps.total(ALONE),
        compat_calls: tally.compat_calls(),
        by_call: tally.by_call(),
        threads,
        threads_left_out,
        reads: tally.moved(calls::is_read, has_results),
        writes: tally.moved(calls::is_write, has_results),
        descriptors: finished.descriptors.as_ref().map(Descriptors::used),
        context_switches: counts_switches.then(|| maps.total(SWITCHES)),
        preemptions: counts_switches.then(|| maps.total(PREEMPTIONS)),
        block_requests: counts_block.then(|| maps.total(BLOCK_REQUESTS)),
        rows: finished.rows,
        unavailable: finished.attached.unavailable,
    }
}
