//! The verb `capture`: the frames of an interface into a pcapng file, which is whole at any time and says what it lacks.
//!
//! It captures from `ready` on. At the end it waits for what the kernel still holds, so that everything that passed before the end is in
//! the file, and nothing that passed behind it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use trustbed_capture::{
    Counters, Frame, Live, LiveError, LiveOptions, Statistics, WriteError, Writer, Written,
};
use trustbed_units::{Ns, Size, Span};
use trustbed_wire::{Contents, Filter};

use crate::clock;
use crate::filter;
use crate::net::attend::{self, span};
use crate::talk::{Failure, Stop, Talk};

/// Frames between two looks whether the end was asked for.
const BATCH: usize = 4096;
/// How long it waits for frames before that.
const WAIT: Span = Span::from_millis(50);
/// How often the file is brought up to date.
const FLUSH: Duration = Duration::from_secs(1);
/// The end takes no longer than this, whatever still passes.
const FAREWELL: Duration = Duration::from_secs(10);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    interface: String,
    path: PathBuf,
    /// Bytes that are kept of a frame, 0 for all. 128 unless given.
    #[serde(default = "snap_length")]
    snap_length: u32,
    /// Which frames are kept, in the language of tcpdump. All of them unless given.
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
    /// It ends by itself after this, counted from `ready`. Not before it is told to unless given.
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
    /// Whether everything that passed and was asked for is in the file.
    complete: bool,
    /// What went wrong, in the order in which it did.
    troubles: Vec<Trouble>,
}

#[derive(Debug, Serialize)]
struct Trouble {
    message: String,
    hint: String,
}

/// Troubles that are told of.
const MOST_TROUBLES: usize = 100;

/// Runs the verb.
pub(crate) fn run(talk: &mut Talk) -> Result<(), Failure> {
    let asked: Configuration = talk.configuration()?;
    let filter = asked.filter.as_deref().map(filter::parse).transpose()?;
    let options = LiveOptions {
        snap_length: asked.snap_length,
        ring: Size(asked.ring_bytes),
        block_timeout: span(asked.block_timeout_ns),
        promiscuous: asked.promiscuous,
        hardware_timestamps: false,
    };
    let live = Live::open(&asked.interface, options).map_err(|error| not_open(&error))?;
    let start = clock::realtime();
    let facts = live.facts();
    let writer = begin(&asked.path, &facts.description())
        .map_err(|error| Failure::running(error.to_string(), error.hint()))?;
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
    let stop = talk.stop();
    let thread = attend::spawn("capture", move || worker.run(stop))?;
    talk.ready(&ReadyBody {
        interface: &facts.name,
        path: &asked.path,
        snap_length: facts.snap_length,
        ring_bytes: facts.ring.0,
        hardware_timestamps: facts.hardware_timestamps,
    })?;
    let limited = attend::limit(stop, asked.duration_ns);
    let started = limited.and_then(|()| attend::wait_for_start(talk));
    let outcome = match &started {
        Ok(Some(_)) => attend::converse(
            talk,
            || thread.is_finished(),
            || ProgressBody { frames: frames.load(Ordering::Relaxed) },
        ),
        _ => Ok(()),
    };
    stop.ask();
    let report = attend::join("capture", thread)?;
    started?;
    outcome?;
    talk.report(&report)
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
            if stop.is_asked() {
                break self.farewell();
            }
            match self.take(WAIT, Ns::MAX) {
                Ok(_) => {}
                // It may come up again.
                Err(error @ LiveError::InterfaceDown { .. }) => {
                    self.trouble(error.to_string(), error.hint())
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

    /// The frames that passed until now; those that wait in a block of the ring come within two of its timeouts, or when a processor that
    /// is withheld comes back to its timer.
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

    /// A full disk is said once; the writer counts what it leaves out.
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

/// What a look into the ring brought.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    shown: usize,
    /// Whether some came behind the end.
    late: bool,
}

fn is_meant(filter: &Filter, frame: &Frame<'_>) -> bool {
    filter.matches(&frame.record().map(|record| Contents::of(&record, false)).unwrap_or_default())
}
