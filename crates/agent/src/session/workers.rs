//! Threads of a verb, and the session while they work: wait for the start, report progress once a
//! second, return when the workers are done or stop is requested.
//!
//! Nothing here polls. The session sleeps until a command arrives, a worker ends, stop is requested
//! or progress is due: an agent must not cause the wake-ups that it is there to measure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::Serialize;
use trustbed_units::{Ns, Span};

use crate::session::{Command, Failure, Session, Started, Stop, wake_event};
use crate::sys::clock::{self, Offset};
use crate::sys::kernel::{Event, Poll};

const PROGRESS_INTERVAL: Span = Span::from_secs(1);

/// When everything begins, by both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    /// By the clock that everything is scheduled by.
    pub(crate) monotonic: Ns,
    /// By the clock of the captures.
    pub(crate) realtime: Ns,
    /// Between the two.
    pub(crate) offset: Offset,
}

impl Start {
    /// The requested moment, or now.
    pub(crate) fn of(started: Started) -> Self {
        let offset = Offset::measure();
        let monotonic = started.at.map_or_else(clock::monotonic, |at| offset.to_monotonic(at));
        Self { monotonic, realtime: offset.to_realtime(monotonic), offset }
    }

    /// Nanoseconds since the start.
    pub(crate) fn elapsed(&self) -> Span {
        clock::monotonic() - self.monotonic
    }
}

/// A duration of a configuration.
pub(crate) fn span(nanoseconds: u64) -> Span {
    Span(i64::try_from(nanoseconds).unwrap_or(i64::MAX))
}

/// The body of the `started` event.
#[derive(Debug, Serialize)]
pub(crate) struct StartedBody {
    start_ns: i64,
}

/// Waits for the start command and confirms it; none when stop comes first.
pub(crate) fn wait_for_start(session: &Session) -> Result<Option<Start>, Failure> {
    let Some(started) = session.wait_for_start()? else { return Ok(None) };
    let start = Start::of(started);
    session.started(&StartedBody { start_ns: start.realtime.0 })?;
    Ok(Some(start))
}

/// Serves the session until `is_done` or stop is requested, with progress once a second. `is_done`
/// is evaluated whenever a worker ends. Afterwards stop is requested, for workers that still run.
pub(crate) fn supervise<P: Serialize>(
    session: &Session,
    is_done: impl Fn() -> bool,
    mut progress: impl FnMut() -> P,
) -> Result<(), Failure> {
    let mut due = clock::monotonic() + PROGRESS_INTERVAL;
    let mut turn = || {
        // Cleared first: whatever is signalled from here on ends the next wait.
        let wake = wake_event()?;
        wake.clear();
        // A command that failed to parse precedes the stop that it causes.
        let is_stopped = session.stop().is_requested();
        match session.next(Duration::ZERO)? {
            Some(Command::Stop) => return Ok(true),
            // A second start changes nothing.
            Some(Command::Start { .. } | Command::Times { .. }) => return Ok(false),
            None if is_stopped || is_done() => return Ok(true),
            None => {}
        }
        let now = clock::monotonic();
        if now >= due {
            due = due + PROGRESS_INTERVAL;
            session.progress(&progress())?;
        } else {
            let descriptors = [session.stop().descriptor(), wake.descriptor()];
            Poll::new(&descriptors).wait(Some(due - now)).map_err(|error| {
                Failure::running(
                    format!("the session cannot wait: {error}"),
                    "raise the limit of open files (ulimit -n)",
                )
            })?;
        }
        Ok(false)
    };
    let outcome = loop {
        match turn() {
            Ok(false) => {}
            Ok(true) => break Ok(()),
            Err(failure) => break Err(failure),
        }
    };
    session.stop().request();
    outcome
}

/// A thread that signals an event when it ends.
#[derive(Debug)]
pub(crate) struct Worker<T> {
    name: String,
    thread: JoinHandle<T>,
    is_finished: Arc<AtomicBool>,
}

impl<T> Worker<T> {
    /// Whether its work is done, so that joining it does not wait. Set before its event is
    /// signalled.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished.load(Ordering::Acquire)
    }

    /// Waits for its end.
    pub(crate) fn join(self) -> thread::Result<T> {
        self.thread.join()
    }
}

/// Signals when it is dropped, however the thread ends.
struct Ending {
    is_finished: Arc<AtomicBool>,
    event: Arc<Event>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.is_finished.store(true, Ordering::Release);
        self.event.signal();
    }
}

/// Starts a named worker of the session, which wakes [`supervise`] when it ends.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Worker<T>, Failure> {
    spawn_signalling(name, wake_event()?, work)
}

/// Starts a named worker that signals `event` when it ends.
pub(crate) fn spawn_signalling<T: Send + 'static>(
    name: &str,
    event: Arc<Event>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Worker<T>, Failure> {
    let is_finished = Arc::new(AtomicBool::new(false));
    let ending = Ending { is_finished: Arc::clone(&is_finished), event };
    let thread = thread::Builder::new()
        .name(name.to_owned())
        .stack_size(512 << 10)
        .spawn(move || {
            let _ending = ending;
            work()
        })
        .map_err(|error| {
            Failure::running(
                format!("no thread for {name}: {error}"),
                "raise the limit of processes (ulimit -u)",
            )
        })?;
    Ok(Worker { name: name.to_owned(), thread, is_finished })
}

/// Requests stop after a duration, if there is one: the controller may be gone by then.
pub(crate) fn limit(stop: Stop, duration_ns: Option<u64>) -> Result<(), Failure> {
    let Some(duration) = duration_ns else { return Ok(()) };
    let due = clock::monotonic() + span(duration);
    spawn("limit", move || {
        if stop.wait_until(due) {
            stop.request();
        }
    })?;
    Ok(())
}

/// Serves the session of a worker that works from `ready` on: confirms the start, reports progress,
/// and returns what the worker gives once it has ended or stop is requested, after `duration_ns` at
/// the latest.
///
/// # Errors
///
/// The session's failures, once the worker has ended; and the worker's own panic.
pub(crate) fn attend<T, P: Serialize>(
    session: &Session,
    worker: Worker<T>,
    duration_ns: Option<u64>,
    progress: impl FnMut() -> P,
) -> Result<T, Failure> {
    let stop = session.stop();
    let limited = limit(stop, duration_ns);
    let started = limited.and_then(|()| wait_for_start(session));
    let outcome = match &started {
        Ok(Some(_)) => supervise(session, || worker.is_finished(), progress),
        _ => Ok(()),
    };
    stop.request();
    let name = worker.name.clone();
    let result = join(&name, worker)?;
    started?;
    outcome?;
    Ok(result)
}

/// The result of a worker.
pub(crate) fn join<T>(name: &str, worker: Worker<T>) -> Result<T, Failure> {
    let panicked = |_| {
        Failure::running(
            format!("the thread of {name} panicked"),
            "this is a bug in the agent; its standard error says where",
        )
    };
    worker.join().map_err(panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_finished_before_its_event_is_signalled() {
        let event = Arc::new(Event::new().unwrap());
        let worker = spawn_signalling("test", Arc::clone(&event), || 7).unwrap();
        Poll::new(&[event.descriptor()]).wait(None).unwrap();
        assert!(worker.is_finished());
        assert_eq!(worker.join().unwrap(), 7);
    }
}
