//! The thread that captures: frames from the ring to the meter and to the file, until stop is
//! requested or the interface is gone.
//!
//! It shares windows and counters with its callers ([`Session`]). What goes wrong is an [`Event`]:
//! a full disk and an interface that went down are reported once and do not end it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use trustbed_capture::{
    Counters, Frame, Live, LiveError, LiveFacts, LiveOptions, Statistics, User, WriteError, Writer,
    Written, give_up_privileges,
};
use trustbed_units::{Ns, Span};

use super::meter::{Counted, Meter};
use super::stream::Measured;

/// Frames between two looks at what is complete.
const BATCH: usize = 4096;
/// How long the thread waits for frames before it looks whether it is to end.
const WAIT: Span = Span::from_millis(50);
/// How often others are shown what was found out: often enough for windows to come soon, and
/// without a cost that grows with the load.
const SHARE: Duration = Duration::from_millis(10);
/// How often the file is brought up to date.
const FLUSH: Duration = Duration::from_secs(1);
/// How often the file records what was dropped so far; of several statements readers take the last
/// one.
const DROPS_INTERVAL: Duration = Duration::from_secs(10);
/// The end of a capture takes no longer than this, whatever still passes.
const FAREWELL: Duration = Duration::from_secs(10);
/// Windows that may wait to be fetched; of more, the oldest are left out and counted.
const WAITING: usize = 100_000;

/// A capture in a thread of its own.
pub(super) struct Session {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
}

/// What the thread has found out so far.
pub(super) struct State {
    rows: VecDeque<(&'static str, Measured)>,
    events: Vec<Event>,
    pub(super) facts: LiveFacts,
    pub(super) statistics: Statistics,
    pub(super) counted: Counted,
    pub(super) file: Option<FileState>,
    /// Windows that no caller fetched in time.
    pub(super) windows_left_out: u64,
    pub(super) ended: bool,
}

/// An event that is reported at once.
#[derive(Debug, Clone)]
pub(super) struct Event {
    /// `write_failed`, `interface_down`, `interface_up`, `interface_gone`, `capture_failed`.
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) hint: String,
}

/// What became of the file.
#[derive(Debug, Clone)]
pub(super) struct FileState {
    pub(super) path: PathBuf,
    /// Frames that were given to it.
    pub(super) given: u64,
    /// Once it is finished.
    pub(super) written: Option<Written>,
    pub(super) failed: bool,
}

/// Why no capture begins.
pub(super) enum NotOpen {
    Live(LiveError),
    Write(WriteError),
}

impl Session {
    /// Opens the interface, then the file, and begins. With a `successor` the process gives up its
    /// privileges in between, before frames are looked at.
    pub(super) fn begin(
        interface: &str,
        options: LiveOptions,
        write: Option<&Path>,
        successor: Option<User>,
        meter: impl FnOnce(&LiveFacts, Ns) -> Meter,
    ) -> Result<Self, NotOpen> {
        let live = Live::open(interface, options).map_err(NotOpen::Live)?;
        let (facts, start) = (live.facts(), now());
        let writer =
            write.map(|path| open_file(path, &facts)).transpose().map_err(NotOpen::Write)?;
        let failed = |step| {
            move |source| {
                NotOpen::Live(LiveError::Kernel { name: interface.to_owned(), step, source })
            }
        };
        if successor.is_some() {
            give_up_privileges(successor).map_err(failed("give up privileges"))?;
        }
        let meter = meter(&facts, start);
        let file = write.map(|path| FileState {
            path: path.to_owned(),
            given: 0,
            written: None,
            failed: false,
        });
        let state = State {
            rows: VecDeque::new(),
            events: Vec::new(),
            facts,
            statistics: Statistics::default(),
            counted: Counted::default(),
            file,
            windows_left_out: 0,
            ended: false,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            stop: AtomicBool::new(false),
        });
        let worker = Worker {
            shared: Arc::clone(&shared),
            live,
            meter,
            writer,
            start,
            given: 0,
            shared_at: Instant::now(),
            late: 0,
            down: false,
        };
        let thread =
            std::thread::Builder::new().name("watch".to_owned()).spawn(move || worker.run());
        let thread = thread.map_err(failed("start a thread"))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Windows that became complete, in order; waits for some, at most for `timeout`. None of them
    /// when it passed or the capture ended.
    pub(super) fn next(&self, timeout: Duration) -> Vec<(&'static str, Measured)> {
        let state = self.state();
        let waits =
            |state: &mut State| state.rows.is_empty() && state.events.is_empty() && !state.ended;
        let waited = self.shared.changed.wait_timeout_while(state, timeout, waits);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.rows.drain(..).collect()
    }

    /// What happened since the last call.
    pub(super) fn events(&self) -> Vec<Event> {
        std::mem::take(&mut self.state().events)
    }

    /// What was found out so far.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panicked leaves numbers that are whole all the same.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the capture and waits until the file is complete.
    pub(super) fn end(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

fn open_file(path: &Path, facts: &LiveFacts) -> Result<Writer, WriteError> {
    let mut writer = Writer::create(path, concat!("trustbed ", env!("CARGO_PKG_VERSION")))?;
    writer.interface(&facts.description())?;
    Ok(writer)
}

/// What the thread owns.
struct Worker {
    shared: Arc<Shared>,
    live: Live,
    meter: Meter,
    writer: Option<Writer>,
    start: Ns,
    /// Frames that are measured, and in the file.
    given: u64,
    shared_at: Instant,
    /// Frames that passed after the end.
    late: u64,
    down: bool,
}

impl Worker {
    fn run(mut self) {
        let (mut flushed, mut drops_recorded) = (Instant::now(), Instant::now());
        let end = loop {
            if self.shared.stop.load(Ordering::Relaxed) {
                break self.farewell();
            }
            if !self.turn() {
                break now();
            }
            if flushed.elapsed() >= FLUSH {
                flushed = Instant::now();
                let records_drops = drops_recorded.elapsed() >= DROPS_INTERVAL;
                if records_drops {
                    drops_recorded = flushed;
                }
                self.bring_up_to_date(records_drops);
            }
        };
        self.finish(end);
    }

    /// Frames that have come, or none for a while. False when no more can come.
    fn turn(&mut self) -> bool {
        let begun = now();
        match self.take(BATCH, WAIT, Ns::MAX) {
            Ok((0, _)) => {
                // After a wait of this length every older frame has been seen, unless some wait for
                // a timer that is late; the 10 ms are for times that are a little out of order.
                if self.live.waiting().is_ok_and(|frames| frames == 0) {
                    let facts = self.live.facts();
                    let ahead = facts.hardware_clock_ahead.map_or(0, |ahead| ahead.0.min(0));
                    let seen = begun - Span(2 * facts.block_timeout.0) - Span::from_millis(10);
                    self.meter.settle(Some(seen + Span(ahead)));
                }
            }
            Ok(_) => {
                if std::mem::take(&mut self.down) {
                    let message = format!("{}: the interface is up again", self.live.facts().name);
                    self.report(Event { code: "interface_up", message, hint: String::new() });
                }
                self.meter.settle(None);
            }
            Err(error) => return self.on_error(&error),
        }
        self.share();
        true
    }

    /// Takes up to `limit` frames that are not later than `end`, and counts the others.
    fn take(&mut self, limit: usize, timeout: Span, end: Ns) -> Result<(usize, usize), LiveError> {
        let Self { live, meter, writer, given, .. } = self;
        let mut late = 0;
        let mut failure = None;
        let shown = live.frames(limit, timeout, |frame: &Frame<'_>| {
            if frame.ts > end {
                late += 1;
            } else if meter.frame(frame) {
                *given += 1;
                if let Some(error) = writer.as_mut().and_then(|writer| writer.frame(frame).err()) {
                    failure = Some(error);
                }
            }
        })?;
        self.late += late as u64;
        if let Some(error) = failure {
            on_write_failure(&self.shared, &error);
        }
        Ok((shown, late))
    }

    /// The frames that passed until now; those that still wait in a block of the ring come within
    /// two of its timeouts, or when a processor that stalls comes back to its timer.
    fn farewell(&mut self) -> Ns {
        let (end, begun) = (now(), Instant::now());
        let patience = Span(2 * self.live.facts().block_timeout.0);
        while begun.elapsed() < FAREWELL {
            match self.take(BATCH, patience, end) {
                Ok((0, _))
                    if begun.elapsed() < Duration::from_nanos(patience.0.unsigned_abs())
                        || self.live.waiting().is_ok_and(|frames| frames > 0) => {}
                Ok((0, _) | (_, 1..)) | Err(_) => break,
                Ok(_) => self.meter.settle(None),
            }
        }
        end
    }

    /// True where it goes on.
    fn on_error(&mut self, error: &LiveError) -> bool {
        let code = match error {
            LiveError::InterfaceDown { .. } => "interface_down",
            LiveError::InterfaceGone { .. } => "interface_gone",
            _ => "capture_failed",
        };
        self.report(Event { code, message: error.to_string(), hint: error.hint() });
        self.down = code == "interface_down";
        self.down
    }

    fn finish(mut self, end: Ns) {
        self.bring_up_to_date(true);
        let rows = self.meter.finish(end);
        let written = self.writer.take().map(Writer::finish);
        let mut state = lock(&self.shared);
        state.take(rows);
        state.counted = self.meter.counted();
        state.facts = self.live.facts();
        // What passed after the end was not requested.
        state.statistics.received =
            state.statistics.received.min(state.statistics.shown - self.late);
        state.statistics.shown -= self.late;
        if let (Some(file), Some(written)) = (&mut state.file, written) {
            match written {
                Ok(written) => file.written = Some(written),
                Err(error) => state.on_write_failure(&error),
            }
        }
        state.ended = true;
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Everything that was taken is in the file afterwards; with `records_drops` also what was
    /// dropped.
    fn bring_up_to_date(&mut self, records_drops: bool) {
        let statistics = self.live.statistics();
        if let Ok(statistics) = &statistics {
            lock(&self.shared).statistics = *statistics;
        }
        let Some(writer) = &mut self.writer else { return };
        let mut result = Ok(());
        if let (true, Ok(statistics)) = (records_drops, &statistics) {
            let dropped = statistics.dropped;
            result = writer.statistics(
                0,
                &Counters {
                    start: self.start,
                    end: now(),
                    received: self.given + dropped,
                    dropped,
                },
            );
        }
        if let Err(error) = result.and_then(|()| writer.flush()) {
            on_write_failure(&self.shared, &error);
        }
    }

    /// Lets others see what is complete and what was counted, now and then.
    fn share(&mut self) {
        if self.shared_at.elapsed() < SHARE {
            return;
        }
        self.shared_at = Instant::now();
        let statistics = self.live.statistics();
        let counted = self.meter.counted();
        let mut state = lock(&self.shared);
        let before = state.rows.len();
        state.take(self.meter.poll());
        state.counted = counted;
        if let Ok(statistics) = statistics {
            state.statistics = statistics;
        }
        if state.facts.hardware_clock_ahead.is_none() {
            state.facts.hardware_clock_ahead = self.live.facts().hardware_clock_ahead;
        }
        if let Some(file) = &mut state.file {
            file.given = self.given;
        }
        let changed = state.rows.len() > before;
        drop(state);
        if changed {
            self.shared.changed.notify_all();
        }
    }

    fn report(&self, event: Event) {
        lock(&self.shared).events.push(event);
        self.shared.changed.notify_all();
    }
}

impl State {
    fn take(&mut self, rows: impl IntoIterator<Item = (&'static str, Measured)>) {
        self.rows.extend(rows);
        let surplus = self.rows.len().saturating_sub(WAITING);
        self.rows.drain(..surplus);
        self.windows_left_out += surplus as u64;
    }

    fn on_write_failure(&mut self, error: &WriteError) {
        self.events.push(Event {
            code: "write_failed",
            message: error.to_string(),
            hint: error.hint(),
        });
        if let Some(file) = &mut self.file {
            file.failed = true;
        }
    }
}

fn on_write_failure(shared: &Shared, error: &WriteError) {
    lock(shared).on_write_failure(error);
    shared.changed.notify_all();
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The system clock's time; the kernel stamps frames with the same.
fn now() -> Ns {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ns(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
