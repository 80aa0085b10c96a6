//! Marker calls: a known number of a call that no kernel has, made by the tracer on every processor
//! that it may use, at the beginning and at the end. A trace that has all of them was recording on
//! all these processors from the one to the other.

use std::sync::Arc;
use std::thread;

use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};

use super::kernel;
use super::maps::{Maps, TRACED};
use crate::session::Failure;

/// On each processor.
const CALLS: u64 = 8;

/// Markers that were made, and the thread that made them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) calls: u64,
    pub(super) thread: u32,
}

/// Makes markers on every processor.
pub(super) fn make(maps: &Arc<Maps>) -> Result<Made, Failure> {
    let maps = Arc::clone(maps);
    let failed = |error: String| {
        Failure::running(
            format!("no thread for marker calls: {error}"),
            "raise the limit of processes (ulimit -u)",
        )
    };
    thread::Builder::new()
        .name("markers".to_owned())
        .spawn(move || on_all_processors(&maps))
        .map_err(|error| failed(error.to_string()))?
        .join()
        .map_err(|_| failed("it panicked".to_owned()))
}

fn on_all_processors(maps: &Maps) -> Made {
    let mut made = Made { calls: 0, thread: gettid().as_raw_nonzero().get().cast_unsigned() };
    maps.set(made.thread, TRACED);
    let Ok(permitted) = sched_getaffinity(None) else { return made };
    for processor in (0..CpuSet::MAX_CPU).filter(|one| permitted.is_set(*one)) {
        let mut only = CpuSet::new();
        only.set(processor);
        if sched_setaffinity(None, &only).is_ok() {
            (0..CALLS).for_each(|_| kernel::mark());
            made.calls += CALLS;
        }
    }
    made
}
