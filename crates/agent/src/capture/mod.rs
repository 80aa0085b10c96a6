//! The verb `capture`: the frames of an interface into a pcapng file, which is whole at any time
//! and reports what it lacks.
//!
//! It captures from `ready` on. When stop is requested it drains the kernel's buffer: the file
//! holds everything that passed before the stop, and nothing after it.
//!
//! The right to capture is needed to open the interface only: the program may have it as a file
//! capability (docs/cli.md), and gives it up before it looks at a frame.

pub(crate) mod filter;

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use trustbed_capture::{
    Counters, Frame, Live, LiveError, LiveOptions, Statistics, WriteError, Writer, Written,
    give_up_privileges,
};
use trustbed_units::{Ns, Size, Span};
use trustbed_wire::{Contents, Filter};

use crate::session::workers::{self, span};
use crate::session::{Failure, Session, Stop};
use crate::sys::clock;
use crate::sys::kernel::Poll;

/// Frames between two readings whether stop was requested.
const BATCH: usize = 4096;
/// How often the file is brought up to date, and a vanished interface noticed at the latest.
const FLUSH: Duration = Duration::from_secs(1);
/// Draining ends after this time, whatever still arrives.
const FAREWELL: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    interface: String,
    path: PathBuf,
    /// Bytes captured of a frame, 0 for all. 128 by default.
    #[serde(default = "snap_length")]
    snap_length: u32,
    /// Capture filter, in the language of tcpdump. All frames by default.
    filter: Option<String>,
    /// Frames that wait for being written.
    #[serde(default = "ring_bytes")]
    ring_bytes: u64,
    /// How long a frame may wait in the kernel before it is shown.
    #[serde(default = "block_timeout_ns")]
    block_timeout_ns: u64,
    /// Whether frames for other hosts are captured as well.
    #[serde(default)]
    promiscuous: bool,
    /// Stops after this time from `ready`. No limit by default.
    duration_ns: Option<u64>,
}

const fn snap_length() -> u32 {
    128
}

const fn ring_bytes() -> u64 {
    32 << 20
}

const fn block_timeout_ns() -> u64 {
    20_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody<'a> {
    interface: &'a str,
    path: &'a Path,
    snap_length: u32,
    ring_bytes: u64,
    hardware_timestamps: bool,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    frames: u64,
}

#[derive(Debug, Default, Serialize)]
struct Report {
    start_ns: i64,
    end_ns: i64,
    /// Frames that passed, dropped ones included.
    received_frames: u64,
    /// Frames that the kernel had no room for.
    dropped_frames: u64,
    /// How often its ring was full.
    ring_full_times: u64,
    /// Frames that the filter left out.
    filtered_frames: u64,
    /// Frames in the file, and those that it could not take.
    frames: u64,
    frames_left_out: u64,
    bytes: u64,
    /// Whether everything that passed and was requested is in the file.
    complete: bool,
    /// What went wrong, in the order in which it did.
    troubles: Vec<Trouble>,
}

#[derive(Debug, Serialize)]
struct Trouble {
    message: String,
    hint: String,
}

/// Troubles that are reported.
const MOST_TROUBLES: usize = 100;

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    let filter = configuration.filter.as_deref().map(filter::parse).transpose()?;
    let options = LiveOptions {
        snap_length: configuration.snap_length,
        ring: Size(configuration.ring_bytes),
        block_timeout: span(configuration.block_timeout_ns),
        promiscuous: configuration.promiscuous,
        hardware_timestamps: false,
    };
    let live = Live::open(&configuration.interface, options).map_err(|error| not_open(&error))?;
    let start = clock::realtime();
    let facts = live.facts();
    let writer = begin(&configuration.path, &facts.description())
        .map_err(|error| Failure::running(error.to_string(), error.hint()))?;
    give_up_privileges(None).map_err(|error| {
        let message = format!("{}: privileges cannot be given up: {error}", facts.name);
        Failure::running(message, "capture with tcpdump -w FILE")
    })?;
    let frames = Arc::new(AtomicU64::new(0));
    let worker = Worker {
        live,
        writer,
        filter,
        start,
        given: 0,
        filtered: 0,
        late: 0,
        frames: Arc::clone(&frames),
        report: Report::default(),
    };
    let stop = session.stop();
    let thread = workers::spawn("capture", move || worker.run(stop))?;
    session.ready(&ReadyBody {
        interface: &facts.name,
        path: &configuration.path,
        snap_length: facts.snap_length,
        ring_bytes: facts.ring.0,
        hardware_timestamps: facts.hardware_timestamps,
    })?;
    let report = workers::attend(session, thread, configuration.duration_ns, || ProgressBody {
        frames: frames.load(Ordering::Relaxed),
    })?;
    session.report(&report)
}

fn not_open(error: &LiveError) -> Failure {
    match error {
        LiveError::NoSuchInterface { .. } | LiveError::UnsupportedLink { .. } => {
            Failure::configuration(error.to_string(), error.hint())
        }
        _ => Failure::running(error.to_string(), error.hint()),
    }
}

fn begin(
    path: &Path,
    description: &trustbed_capture::InterfaceDescription,
) -> Result<Writer, WriteError> {
    let mut writer = Writer::create(path, concat!("trustbed ", env!("CARGO_PKG_VERSION")))?;
    writer.interface(description)?;
    Ok(writer)
}

/// What the thread owns.
struct Worker {
    live: Live,
    writer: Writer,
    filter: Option<Filter>,
    start: Ns,
    /// Frames that were given to the file.
    given: u64,
    filtered: u64,
    /// Frames behind the end.
    late: u64,
    frames: Arc<AtomicU64>,
    report: Report,
}

impl Worker {
    fn run(mut self, stop: Stop) -> Report {
        let mut flushed = Instant::now();
        let end = loop {
            if stop.is_requested() {
                break self.farewell();
            }
            let due = FLUSH.saturating_sub(flushed.elapsed());
            match self.take_or_wait(stop, due) {
                Ok(()) => {}
                // It may come up again.
                Err(error @ LiveError::InterfaceDown { .. }) => {
                    self.trouble(error.to_string(), error.hint());
                }
                Err(error) => {
                    self.trouble(error.to_string(), error.hint());
                    break clock::realtime();
                }
            }
            if flushed.elapsed() >= FLUSH {
                flushed = Instant::now();
                let outcome = self.writer.flush();
                self.on_written(outcome);
            }
        };
        self.finish(end)
    }

    /// Takes what waits. Where that is nothing: sleeps until something does, stop is requested, or
    /// the time is over.
    fn take_or_wait(&mut self, stop: Stop, due: Duration) -> Result<(), LiveError> {
        if self.take(Span::ZERO, Ns::MAX)?.shown == 0 {
            let descriptors = [self.live.as_fd(), stop.descriptor()];
            let timeout = span(u64::try_from(due.as_nanos()).unwrap_or(u64::MAX));
            // Where the kernel cannot wait for both, the thread waits for frames alone.
            if Poll::new(&descriptors).wait(Some(timeout)).is_err() {
                self.take(Span::from_millis(50), Ns::MAX)?;
            }
        }
        Ok(())
    }

    /// Takes what waits, as much as is in a batch. Frames later than `end` are only counted.
    fn take(&mut self, timeout: Span, end: Ns) -> Result<Taken, LiveError> {
        let Self { live, writer, filter, given, filtered, late, .. } = self;
        let (mut taken, mut outcome) = (Taken::default(), Ok(()));
        taken.shown = live.frames(BATCH, timeout, |frame: &Frame<'_>| {
            if frame.ts > end {
                *late += 1;
                taken.late = true;
            } else if filter.as_ref().is_none_or(|filter| is_meant(filter, frame)) {
                *given += 1;
                let written = writer.frame(frame);
                if outcome.is_ok() {
                    outcome = written;
                }
            } else {
                *filtered += 1;
            }
        })?;
        self.frames.store(self.given, Ordering::Relaxed);
        self.on_written(outcome);
        Ok(taken)
    }

    /// The frames that passed until now; those that wait in a block of the ring come within two of
    /// its timeouts, or when a processor that is unavailable comes back to its timer.
    fn farewell(&mut self) -> Ns {
        let (end, begun) = (clock::realtime(), Instant::now());
        let patience = Span(2 * self.live.facts().block_timeout.0) + Span::from_millis(10);
        while begun.elapsed() < FAREWELL {
            match self.take(patience, end) {
                Ok(Taken { shown: 0, .. })
                    if begun.elapsed() < Duration::from_nanos(patience.0.unsigned_abs())
                        || self.live.waiting().is_ok_and(|frames| frames > 0) => {}
                Ok(Taken { shown: 0, .. } | Taken { late: true, .. }) | Err(_) => break,
                Ok(_) => {}
            }
        }
        end
    }

    fn finish(mut self, end: Ns) -> Report {
        let statistics = match self.live.statistics() {
            Ok(statistics) => statistics,
            Err(error) => {
                self.trouble(error.to_string(), error.hint());
                Statistics::default()
            }
        };
        let received = self.given + self.filtered + statistics.dropped;
        let counters = Counters { start: self.start, end, received, dropped: statistics.dropped };
        let outcome = self.writer.statistics(0, &counters);
        self.on_written(outcome);
        let Self { writer, mut report, start, filtered, given, .. } = self;
        let written = writer.finish().unwrap_or_else(|error| {
            report.trouble(error.to_string(), error.hint());
            Written { frames: 0, bytes: 0, frames_left_out: given, complete: false }
        });
        Report {
            start_ns: start.0,
            end_ns: end.0,
            received_frames: received,
            dropped_frames: statistics.dropped,
            ring_full_times: statistics.frozen,
            filtered_frames: filtered,
            frames: written.frames,
            frames_left_out: written.frames_left_out,
            bytes: written.bytes,
            complete: written.complete && statistics.dropped == 0 && report.troubles.is_empty(),
            troubles: report.troubles,
        }
    }

    /// A full disk is reported once; the writer counts what it leaves out.
    fn on_written(&mut self, outcome: Result<(), WriteError>) {
        if let Err(error) = outcome {
            self.trouble(error.to_string(), error.hint());
        }
    }

    fn trouble(&mut self, message: String, hint: String) {
        self.report.trouble(message, hint);
    }
}

impl Report {
    fn trouble(&mut self, message: String, hint: String) {
        if self.troubles.len() < MOST_TROUBLES {
            self.troubles.push(Trouble { message, hint });
        }
    }
}

/// The result of one reading of the ring.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    shown: usize,
    /// Whether some arrived after the stop.
    late: bool,
}

fn is_meant(filter: &Filter, frame: &Frame<'_>) -> bool {
    filter.matches(&frame.record().map(|record| Contents::of(&record, false)).unwrap_or_default())
}
