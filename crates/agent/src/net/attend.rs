//! Conversing while threads work: waits for the start, tells how it goes once a second, and waits for the end.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;
use trustbed_units::{Ns, Span};

use crate::clock::{self, Offset};
use crate::talk::{Command, Failure, Started, Stop, Talk};

/// How late the end of a thread, or the command to stop, may be noticed.
const LOOK: Duration = Duration::from_millis(20);
const TELL: Duration = Duration::from_secs(1);

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
    /// The moment that was asked for, or this one.
    pub(crate) fn of(started: Started) -> Self {
        let offset = Offset::measure();
        let monotonic = started.at.map_or_else(clock::monotonic, |at| offset.to_monotonic(at));
        Self { monotonic, realtime: offset.to_realtime(monotonic), offset }
    }

    /// Nanoseconds since the start.
    pub(crate) fn elapsed(&self) -> Span {
        clock::monotonic() - self.monotonic
    }

    /// Sleeps until the start; shorter when the end is asked for.
    pub(crate) fn wait(&self, talk: &Talk) {
        while !talk.stop().is_asked() && self.elapsed().0 < 0 {
            let left = Duration::from_nanos(self.elapsed().0.unsigned_abs());
            thread::sleep(left.min(LOOK));
        }
    }
}

/// A time of a configuration.
pub(crate) fn span(nanoseconds: u64) -> Span {
    Span(i64::try_from(nanoseconds).unwrap_or(i64::MAX))
}

/// What is said at the start.
#[derive(Debug, Serialize)]
pub(crate) struct StartedBody {
    start_ns: i64,
}

/// Waits for the command to start, and says that it came; none when the end came first.
pub(crate) fn wait_for_start(talk: &Talk) -> Result<Option<Start>, Failure> {
    let Some(started) = talk.wait_for_start()? else { return Ok(None) };
    let start = Start::of(started);
    talk.started(&StartedBody { start_ns: start.realtime.0 })?;
    Ok(Some(start))
}

/// Converses until `is_done` or the end is asked for; `progress` is told once a second. Afterwards threads that look for the end see it.
pub(crate) fn converse<P: Serialize>(
    talk: &Talk,
    is_done: impl Fn() -> bool,
    mut progress: impl FnMut() -> P,
) -> Result<(), Failure> {
    let mut told = Instant::now();
    let outcome = loop {
        match talk.next(LOOK) {
            Ok(Some(Command::Stop)) => break Ok(()),
            // A second start changes nothing.
            Ok(Some(Command::Start { .. } | Command::Times { .. }) | None) => {}
            Err(failure) => break Err(failure),
        }
        if is_done() {
            break Ok(());
        }
        if told.elapsed() >= TELL {
            told += TELL;
            if let Err(failure) = talk.progress(&progress()) {
                break Err(failure);
            }
        }
    };
    talk.stop().ask();
    outcome
}

/// Starts a thread with a name.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Failure> {
    thread::Builder::new().name(name.to_owned()).stack_size(512 << 10).spawn(work).map_err(
        |error| {
            Failure::running(
                format!("no thread for {name}: {error}"),
                "raise the limit of processes (ulimit -u)",
            )
        },
    )
}

/// Asks for the end once so much time has passed, if it is limited: nobody may be there any more who would.
pub(crate) fn limit(stop: Stop, duration_ns: Option<u64>) -> Result<(), Failure> {
    let Some(duration) = duration_ns else { return Ok(()) };
    let due = clock::monotonic() + span(duration);
    spawn("limit", move || {
        if stop.wait_until(due) {
            stop.ask();
        }
    })?;
    Ok(())
}

/// What a thread came to.
pub(crate) fn join<T>(name: &str, thread: JoinHandle<T>) -> Result<T, Failure> {
    let broken = |_| {
        Failure::running(
            format!("the thread of {name} broke off"),
            "this is a mistake in the agent; its standard error says where",
        )
    };
    thread.join().map_err(broken)
}
