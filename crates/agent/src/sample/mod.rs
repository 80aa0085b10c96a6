//! The verb `sample`: what a host and the connections of its namespace do, once a second, as lines of JSON.
//!
//! The first line says what every other has and what this host does not tell, with the reason. Counters are given as what they grew by
//! since the line before; a line is late by what `late_ns` says, and covers `interval_ns`. Nothing is changed by looking, but looking
//! costs: a socket costs about a microsecond, everything else some hundred together.

pub(crate) mod cgroups;
mod interfaces;
mod pressure;
mod processes;
mod processors;
mod sockets;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use crate::clock;
use crate::kernel::Poll;
use crate::net::attend::{self, Start, span};
use crate::talk::{Failure, Stop, Talk};

const SHORTEST: u64 = 10_000_000;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    path: PathBuf,
    /// A second unless given.
    #[serde(default = "a_second")]
    interval_ns: u64,
    /// Directories of control groups. Those of the agent itself unless given.
    cgroups: Option<Vec<PathBuf>>,
    /// Processes whose time and waiting are told.
    #[serde(default)]
    processes: Vec<u32>,
    /// Whether the TCP connections of the namespace are told.
    #[serde(default = "yes")]
    sockets: bool,
    /// Connections in a line; those beyond are counted.
    #[serde(default = "most_sockets")]
    most_sockets: usize,
}

const fn a_second() -> u64 {
    1_000_000_000
}

const fn yes() -> bool {
    true
}

const fn most_sockets() -> usize {
    1000
}

/// The first line of the file.
#[derive(Debug, Serialize)]
struct Head<'a> {
    trustbed: &'static str,
    /// By the real-time clock.
    start_ns: i64,
    interval_ns: u64,
    units: &'static str,
    cgroups: Vec<String>,
    not_told: &'a [NotTold],
}

/// What a host does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct NotTold {
    what: String,
    why: String,
}

#[derive(Debug, Serialize)]
struct ReadyBody<'a> {
    path: &'a PathBuf,
    not_told: &'a [NotTold],
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    samples: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    path: PathBuf,
    samples: u64,
    /// Lines that were skipped because the one before took longer than an interval.
    samples_missed: u64,
    late_most_ns: i64,
    not_told: Vec<NotTold>,
    error: Option<String>,
}

/// One line.
#[derive(Debug, Serialize)]
struct Line {
    at_ns: i64,
    after_ns: i64,
    late_ns: i64,
    interval_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    processors: Option<processors::Processors>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_queue: Option<processors::RunQueue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pressure: Option<pressure::Pressure>,
    cgroups: Vec<cgroups::Throttling>,
    interfaces: Vec<interfaces::Traffic>,
    processes: Vec<processes::Process>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sockets: Option<Vec<sockets::Connection>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sockets_left_out: Option<u64>,
}

/// Runs the verb.
pub(crate) fn run(talk: &mut Talk) -> Result<(), Failure> {
    let asked: Configuration = talk.configuration()?;
    if asked.interval_ns < SHORTEST {
        return Err(Failure::configuration(format!("interval_ns: {} is too short", asked.interval_ns), format!("give {SHORTEST} or more")));
    }
    let failed = |error| {
        let message = format!("{}: cannot be written: {error}", asked.path.display());
        Failure::running(message, "name a file in a directory that exists and is yours")
    };
    let file = File::create(&asked.path).map_err(failed)?;
    let mut sampler = Sampler::new(asked.clone(), file);
    sampler.look(Span::ZERO);
    let not_told = sampler.not_told.clone();
    talk.ready(&ReadyBody { path: &asked.path, not_told: &not_told })?;
    let Some(start) = attend::wait_for_start(talk)? else { return talk.report(&sampler.report(None)) };
    let (count, stop) = (Arc::clone(&sampler.count), talk.stop());
    let thread = attend::spawn("sample", move || {
        sampler.run(&start, stop);
        sampler
    })?;
    let outcome = attend::converse(talk, || thread.is_finished(), || ProgressBody { samples: count.load(Ordering::Relaxed) });
    let sampler = attend::join("sample", thread)?;
    outcome?;
    talk.report(&sampler.report(Some(start)))
}

/// What looks, and where it writes.
struct Sampler {
    asked: Configuration,
    file: BufWriter<File>,
    processors: processors::Watch,
    pressure: pressure::Watch,
    cgroups: cgroups::Watch,
    interfaces: interfaces::Watch,
    processes: processes::Watch,
    sockets: Option<sockets::Diagnosis>,
    not_told: Vec<NotTold>,
    count: Arc<AtomicU64>,
    missed: u64,
    late_most: Span,
    error: Option<String>,
}

impl Sampler {
    fn new(asked: Configuration, file: File) -> Self {
        let mut not_told = Vec::new();
        let cgroups = cgroups::Watch::of(asked.cgroups.as_deref(), &mut not_told);
        let processes = processes::Watch::of(&asked.processes);
        let sockets = asked
            .sockets
            .then(|| sockets::Diagnosis::open(asked.most_sockets))
            .and_then(|opened| opened.map_err(|error| not_told.push(NotTold { what: "sockets".to_owned(), why: error.to_string() })).ok());
        Self {
            asked,
            file: BufWriter::new(file),
            processors: processors::Watch::default(),
            pressure: pressure::Watch::default(),
            cgroups,
            interfaces: interfaces::Watch::default(),
            processes,
            sockets,
            not_told,
            count: Arc::new(AtomicU64::new(0)),
            missed: 0,
            late_most: Span::ZERO,
            error: None,
        }
    }

    /// A line for every interval until the end is asked for.
    fn run(&mut self, start: &Start, stop: Stop) {
        let interval = span(self.asked.interval_ns);
        let head = Head {
            trustbed: env!("CARGO_PKG_VERSION"),
            start_ns: start.realtime.0,
            interval_ns: self.asked.interval_ns,
            units: "the unit of a value stands in its name; shares are 0 to 1; counters are what they grew by in the interval",
            cgroups: self.cgroups.names(),
            not_told: &self.not_told,
        };
        let line = serde_json::to_vec(&head);
        self.write(line.map_err(io::Error::from));
        let mut due = start.monotonic;
        let mut before = start.monotonic;
        // The first look is the beginning of the first interval.
        if wait(due, stop) {
            self.look(Span::ZERO);
            before = clock::monotonic();
        }
        loop {
            due = due + interval;
            while due < clock::monotonic() - interval {
                due = due + interval;
                self.missed += 1;
            }
            if !wait(due, stop) {
                break;
            }
            let now = clock::monotonic();
            let (at, late) = (start.offset.to_realtime(now), now - due);
            self.late_most = self.late_most.max(late);
            let mut line = self.look(now - before);
            (line.at_ns, line.after_ns, line.late_ns) = (at.0, (now - start.monotonic).0, late.0);
            before = now;
            self.write(serde_json::to_vec(&line).map_err(io::Error::from));
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What has changed since the last look.
    fn look(&mut self, interval: Span) -> Line {
        let not_told = &mut self.not_told;
        let found = self.sockets.as_mut().map(sockets::Diagnosis::look);
        let sockets = found.and_then(|found| told(found, "sockets", not_told));
        let (sockets, sockets_left_out) = sockets.map_or((None, None), |found| (Some(found.connections), Some(found.left_out)));
        Line {
            at_ns: 0,
            after_ns: 0,
            late_ns: 0,
            interval_ns: interval.0,
            processors: told(self.processors.look(), "processors", not_told).flatten(),
            run_queue: told(processors::RunQueue::look(), "run_queue", not_told),
            pressure: told(self.pressure.look(interval), "pressure", not_told),
            cgroups: self.cgroups.look(),
            interfaces: told(self.interfaces.look(), "interfaces", not_told).unwrap_or_default(),
            processes: self.processes.look(),
            sockets,
            sockets_left_out,
        }
    }

    fn write(&mut self, line: io::Result<Vec<u8>>) {
        if self.error.is_some() {
            return;
        }
        let written = line.and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)?;
            self.file.flush()
        });
        self.error = written.err().map(|error| error.to_string());
    }

    fn report(&self, start: Option<Start>) -> Report {
        Report {
            start_ns: start.map(|start| start.realtime.0),
            path: self.asked.path.clone(),
            samples: self.count.load(Ordering::Relaxed),
            samples_missed: self.missed,
            late_most_ns: self.late_most.0,
            not_told: self.not_told.clone(),
            error: self.error.clone(),
        }
    }
}

/// What was found, or a note that it cannot be.
fn told<T>(found: io::Result<T>, what: &str, not_told: &mut Vec<NotTold>) -> Option<T> {
    found
        .map_err(|error| {
            if !not_told.iter().any(|one| one.what == what) {
                not_told.push(NotTold { what: what.to_owned(), why: error.to_string() });
            }
        })
        .ok()
}

/// Sleeps until a moment; false when the end was asked for before.
fn wait(due: Ns, stop: Stop) -> bool {
    while !stop.is_asked() {
        let left = due - clock::monotonic();
        if left.0 <= 0 {
            return true;
        }
        if Poll::new(&[stop.descriptor()]).wait(Some(left)).is_err() {
            return false;
        }
    }
    false
}

/// How much a counter grew. One that was set back has grown by what it shows now.
fn grown(before: u64, now: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

/// A part of a whole.
#[expect(clippy::cast_precision_loss, reason = "a share is a float")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
