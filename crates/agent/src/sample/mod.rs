//! The verb `sample`: what a host and the connections of its namespace do, once a second, as lines of JSON.
//!
//! The first line says what every other has and what this host does not tell, with the reason. Counters are given as what they grew by
//! since the line before; a line is late by what `late_ns` says, and covers `interval_ns`. Nothing is changed by looking, but looking
//! costs: a socket costs about a microsecond, everything else some hundred together. [`naps`], which are only taken where they are asked for,
//! cost as much with every nap as they say.

pub(crate) mod cgroups;
mod drivers;
mod interfaces;
mod memory;
mod naps;
mod pressure;
mod processes;
pub(crate) mod processors;
mod sockets;
mod tcp;

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use crate::clock;
use crate::json_lines::JsonLines;
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
    /// How far apart the moments are for which a thread wakes up, so that it is known how late it is; a millisecond is usual. None unless given.
    naps_every_ns: Option<u64>,
    /// Whether the TCP connections of the namespace are told.
    #[serde(default = "yes")]
    sockets: bool,
    /// Connections in a line; those beyond are counted.
    #[serde(default = "most_sockets")]
    most_sockets: usize,
    /// It ends by itself after this, counted from `ready`. Not before it is told to unless given.
    duration_ns: Option<u64>,
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
pub(crate) struct NotTold {
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
    #[serde(skip_serializing_if = "Option::is_none")]
    naps: Option<naps::Napped>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<memory::Memory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp: Option<tcp::Counted>,
    cgroups: Vec<cgroups::Throttling>,
    interfaces: Vec<interfaces::Traffic>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    drivers: Vec<drivers::Counted>,
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
        return Err(Failure::configuration(
            format!("interval_ns: {} is too short", asked.interval_ns),
            format!("give {SHORTEST} or more"),
        ));
    }
    if let Some(every) = asked.naps_every_ns.filter(|every| *every < naps::SHORTEST) {
        return Err(Failure::configuration(
            format!("naps_every_ns: {every} is too short"),
            format!("give {} or more", naps::SHORTEST),
        ));
    }
    if let Some(every) = asked.naps_every_ns.filter(|every| *every > naps::LONGEST) {
        return Err(Failure::configuration(
            format!("naps_every_ns: {every} is too long"),
            format!("give {} or less", naps::LONGEST),
        ));
    }
    let lines = JsonLines::create(&asked.path)?;
    let mut sampler = Sampler::new(asked.clone(), lines);
    sampler.look(Span::ZERO);
    let not_told = sampler.not_told.clone();
    talk.ready(&ReadyBody { path: &asked.path, not_told: &not_told })?;
    attend::limit(talk.stop(), asked.duration_ns)?;
    let Some(start) = attend::wait_for_start(talk)? else {
        return talk.report(&sampler.report(None));
    };
    let (count, stop) = (Arc::clone(&sampler.count), talk.stop());
    let thread = attend::spawn("sample", move || {
        sampler.run(&start, stop);
        sampler
    })?;
    let outcome = attend::converse(
        talk,
        || thread.is_finished(),
        || ProgressBody { samples: count.load(Ordering::Relaxed) },
    );
    let mut sampler = attend::join("sample", thread)?;
    sampler.naps.take().map_or(Ok(()), naps::Naps::join)?;
    outcome?;
    talk.report(&sampler.report(Some(start)))
}

/// What looks, and where it writes.
struct Sampler {
    asked: Configuration,
    lines: JsonLines,
    processors: processors::Watch,
    pressure: pressure::Watch,
    cgroups: cgroups::Watch,
    tcp: tcp::Watch,
    interfaces: interfaces::Watch,
    drivers: drivers::Watch,
    processes: processes::Watch,
    naps: Option<naps::Naps>,
    sockets: Option<sockets::Diagnosis>,
    not_told: Vec<NotTold>,
    count: Arc<AtomicU64>,
    missed: u64,
    late_most: Span,
}

impl Sampler {
    fn new(asked: Configuration, lines: JsonLines) -> Self {
        let mut not_told = Vec::new();
        let cgroups = cgroups::Watch::of(asked.cgroups.as_deref(), &mut not_told);
        let processes = processes::Watch::of(&asked.processes);
        let sockets = asked.sockets.then(|| sockets::Diagnosis::open(asked.most_sockets)).and_then(
            |opened| {
                opened
                    .map_err(|error| {
                        not_told
                            .push(NotTold { what: "sockets".to_owned(), why: error.to_string() })
                    })
                    .ok()
            },
        );
        Self {
            asked,
            lines,
            processors: processors::Watch::default(),
            pressure: pressure::Watch::default(),
            cgroups,
            tcp: tcp::Watch::default(),
            interfaces: interfaces::Watch::default(),
            drivers: drivers::Watch::default(),
            processes,
            naps: None,
            sockets,
            not_told,
            count: Arc::new(AtomicU64::new(0)),
            missed: 0,
            late_most: Span::ZERO,
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
        self.lines.write(&head);
        let mut due = start.monotonic;
        let mut before = start.monotonic;
        // The first look is the beginning of the first interval.
        if stop.wait_until(due) {
            let naps = self.asked.naps_every_ns.map(|every| naps::Naps::start(span(every), stop));
            self.naps = naps.and_then(|started| told(started, "naps", &mut self.not_told));
            self.look(Span::ZERO);
            before = clock::monotonic();
        }
        loop {
            let missed;
            (due, missed) = after(due, clock::monotonic(), interval);
            self.missed += missed;
            if !stop.wait_until(due) {
                break;
            }
            let now = clock::monotonic();
            let (at, late) = (start.offset.to_realtime(now), now - due);
            self.late_most = self.late_most.max(late);
            let mut line = self.look(now - before);
            (line.at_ns, line.after_ns, line.late_ns) = (at.0, (now - start.monotonic).0, late.0);
            before = now;
            let written = self.lines.write(&line);
            self.count.fetch_add(written.into(), Ordering::Relaxed);
        }
    }

    /// What has changed since the last look.
    fn look(&mut self, interval: Span) -> Line {
        let not_told = &mut self.not_told;
        let found = self.sockets.as_mut().map(sockets::Diagnosis::look);
        let sockets = found.and_then(|found| told(found, "sockets", not_told));
        let (sockets, sockets_left_out) =
            sockets.map_or((None, None), |found| (Some(found.connections), Some(found.left_out)));
        Line {
            at_ns: 0,
            after_ns: 0,
            late_ns: 0,
            interval_ns: interval.0,
            processors: told(self.processors.look(), "processors", not_told).flatten(),
            run_queue: told(processors::RunQueue::look(), "run_queue", not_told),
            pressure: told(self.pressure.look(interval), "pressure", not_told),
            naps: self.naps.as_mut().map(naps::Naps::look),
            memory: told(memory::Memory::look(), "memory", not_told),
            tcp: told(self.tcp.look(), "tcp", not_told).flatten(),
            cgroups: self.cgroups.look(),
            interfaces: told(self.interfaces.look(), "interfaces", not_told).unwrap_or_default(),
            drivers: self.drivers.look(not_told),
            processes: self.processes.look(),
            sockets,
            sockets_left_out,
        }
    }

    fn report(&self, start: Option<Start>) -> Report {
        Report {
            start_ns: start.map(|start| start.realtime.0),
            path: self.lines.path().to_owned(),
            samples: self.count.load(Ordering::Relaxed),
            samples_missed: self.missed,
            late_most_ns: self.late_most.0,
            not_told: self.not_told.clone(),
            error: self.lines.error().map(str::to_owned),
        }
    }
}

/// What was found, or a note that it cannot be.
pub(crate) fn told<T, E: Display>(
    found: Result<T, E>,
    what: &str,
    not_told: &mut Vec<NotTold>,
) -> Option<T> {
    found
        .map_err(|error| {
            if !not_told.iter().any(|one| one.what == what) {
                not_told.push(NotTold { what: what.to_owned(), why: error.to_string() });
            }
        })
        .ok()
}

/// The line behind the one that was due, or a later one: none that would be more than an interval late. How many are left out for that.
fn after(due: Ns, now: Ns, interval: Span) -> (Ns, u64) {
    let next = due + interval;
    let behind = u64::try_from((now - interval - next).0).unwrap_or(0);
    let missed = behind.div_ceil(interval.0.unsigned_abs().max(1));
    (next + Span(interval.0.saturating_mul(i64::try_from(missed).unwrap_or(i64::MAX))), missed)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_would_be_too_late_are_left_out() {
        let after = |now| after(Ns(1_000), Ns(now), Span(100));
        assert_eq!([after(900), after(1_100), after(1_200)], [(Ns(1_100), 0); 3]);
        assert_eq!(
            [after(1_201), after(1_300), after(1_301)],
            [(Ns(1_200), 1), (Ns(1_200), 1), (Ns(1_300), 2)]
        );
        // However long ago it was: a start that lies in another century is told at once as well.
        let year = 365 * 86_400_000_000_000;
        assert_eq!(after(year).1, 315_360_000_000_000 - 12);
    }
}
