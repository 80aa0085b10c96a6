//! The verb `sample`: a host and the TCP connections of its namespace, once a second, as lines of
//! JSON.
//!
//! The first line describes the others and lists what is unavailable, with the reason. Counters are
//! differences from the line before; a line is `late_ns` late and covers `interval_ns`. A sample
//! changes nothing but costs CPU time: about a microsecond a socket, some hundred for all the rest,
//! and up to milliseconds for the kernel's search of its table of connections. [`wakeups`] are
//! optional, and cost as much with each wake-up as they report.

pub(crate) mod cgroups;
mod drivers;
mod interfaces;
mod memory;
mod pressure;
mod processes;
pub(crate) mod processors;
mod sockets;
mod tcp;
mod wakeups;

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use crate::output::json_lines::JsonLines;
use crate::session::workers::{self, Start, span};
use crate::session::{Failure, Session, Stop};
use crate::sys::clock;

const SHORTEST: u64 = 10_000_000;
/// How far apart searches for new connections are.
const SEARCH: Span = Span(200_000_000);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    path: PathBuf,
    /// A second by default.
    #[serde(default = "a_second")]
    interval_ns: u64,
    /// Directories of control groups. Those of the agent itself by default.
    cgroups: Option<Vec<PathBuf>>,
    /// Processes whose CPU time and run-queue wait are reported.
    #[serde(default)]
    processes: Vec<u32>,
    /// How far apart the moments are for which a thread wakes up, so that it is known how late it
    /// is; a millisecond is usual. None by default.
    wakeup_interval_ns: Option<u64>,
    /// Whether the TCP connections of the namespace are reported.
    #[serde(default = "yes")]
    sockets: bool,
    /// How far apart the moments are for which the connections alone are reported, between the
    /// lines. None by default.
    sockets_interval_ns: Option<u64>,
    /// Connections in a line; those beyond are counted.
    #[serde(default = "most_sockets")]
    most_sockets: usize,
    /// Stops after this time from `ready`. No limit by default.
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
    unavailable: &'a [Unavailable],
}

/// A value that this host does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Unavailable {
    what: String,
    why: String,
}

impl Unavailable {
    /// What is missing, and why.
    pub(crate) fn new(what: &str, why: &impl Display) -> Self {
        Self { what: what.to_owned(), why: why.to_string() }
    }
}

#[derive(Debug, Serialize)]
struct ReadyBody<'a> {
    path: &'a PathBuf,
    unavailable: &'a [Unavailable],
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
    late_max_ns: i64,
    unavailable: Vec<Unavailable>,
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
    wakeups: Option<wakeups::WakeupCounts>,
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

/// The connections between two lines, and nothing else: counters are not differences here.
#[derive(Debug, Serialize)]
struct SocketsLine {
    at_ns: i64,
    after_ns: i64,
    sockets: Vec<sockets::Connection>,
    #[serde(skip_serializing_if = "is_zero")]
    sockets_left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    if configuration.interval_ns < SHORTEST {
        return Err(Failure::configuration(
            format!("interval_ns: {} is too short", configuration.interval_ns),
            format!("give {SHORTEST} or more"),
        ));
    }
    if let Some(every) = configuration.sockets_interval_ns.filter(|every| *every < SHORTEST) {
        return Err(Failure::configuration(
            format!("sockets_interval_ns: {every} is too short"),
            format!("give {SHORTEST} or more"),
        ));
    }
    if let Some(every) = configuration.wakeup_interval_ns.filter(|every| *every < wakeups::SHORTEST)
    {
        return Err(Failure::configuration(
            format!("wakeup_interval_ns: {every} is too short"),
            format!("give {} or more", wakeups::SHORTEST),
        ));
    }
    if let Some(every) = configuration.wakeup_interval_ns.filter(|every| *every > wakeups::LONGEST)
    {
        return Err(Failure::configuration(
            format!("wakeup_interval_ns: {every} is too long"),
            format!("give {} or less", wakeups::LONGEST),
        ));
    }
    let lines = JsonLines::create(&configuration.path)?;
    let mut sampler = Sampler::new(configuration.clone(), lines);
    sampler.look(Span::ZERO);
    let unavailable = sampler.unavailable.clone();
    session.ready(&ReadyBody { path: &configuration.path, unavailable: &unavailable })?;
    workers::limit(session.stop(), configuration.duration_ns)?;
    let Some(start) = workers::wait_for_start(session)? else {
        return session.report(&sampler.report(None));
    };
    let (count, stop) = (Arc::clone(&sampler.count), session.stop());
    let thread = workers::spawn("sample", move || {
        sampler.run(&start, stop);
        sampler
    })?;
    let outcome = workers::supervise(
        session,
        || thread.is_finished(),
        || ProgressBody { samples: count.load(Ordering::Relaxed) },
    );
    let mut sampler = workers::join("sample", thread)?;
    sampler.wakeups.take().map_or(Ok(()), wakeups::Wakeups::join)?;
    outcome?;
    session.report(&sampler.report(Some(start)))
}

/// The sources and the file.
struct Sampler {
    configuration: Configuration,
    lines: JsonLines,
    processors: processors::Watch,
    pressure: pressure::Watch,
    cgroups: cgroups::Watch,
    tcp: tcp::Watch,
    interfaces: interfaces::Watch,
    drivers: drivers::Watch,
    processes: processes::Watch,
    wakeups: Option<wakeups::Wakeups>,
    sockets: Option<sockets::Diagnosis>,
    unavailable: Vec<Unavailable>,
    count: Arc<AtomicU64>,
    missed: u64,
    late_max: Span,
}

impl Sampler {
    fn new(configuration: Configuration, lines: JsonLines) -> Self {
        let mut unavailable = Vec::new();
        let cgroups = cgroups::Watch::of(configuration.cgroups.as_deref(), &mut unavailable);
        let processes = processes::Watch::of(&configuration.processes);
        let sockets = configuration
            .sockets
            .then(|| sockets::Diagnosis::open(configuration.most_sockets))
            .and_then(|opened| {
                opened
                    .map_err(|error| {
                        unavailable.push(Unavailable {
                            what: "sockets".to_owned(),
                            why: error.to_string(),
                        });
                    })
                    .ok()
            });
        Self {
            configuration,
            lines,
            processors: processors::Watch::default(),
            pressure: pressure::Watch::default(),
            cgroups,
            tcp: tcp::Watch::default(),
            interfaces: interfaces::Watch::default(),
            drivers: drivers::Watch::default(),
            processes,
            wakeups: None,
            sockets,
            unavailable,
            count: Arc::new(AtomicU64::new(0)),
            missed: 0,
            late_max: Span::ZERO,
        }
    }

    /// A line for every interval until stop is requested.
    fn run(&mut self, start: &Start, stop: Stop) {
        let interval = span(self.configuration.interval_ns);
        let head = Head {
            trustbed: env!("CARGO_PKG_VERSION"),
            start_ns: start.realtime.0,
            interval_ns: self.configuration.interval_ns,
            units: "the unit of a value is in its name; shares are 0 to 1; counters are what \
                they grew by in the interval",
            cgroups: self.cgroups.names(),
            unavailable: &self.unavailable,
        };
        self.lines.write(&head);
        let mut due = start.monotonic;
        let mut before = start.monotonic;
        // The first reading begins the first interval.
        if stop.wait_until(due) {
            let wakeups = self
                .configuration
                .wakeup_interval_ns
                .map(|every| wakeups::Wakeups::start(span(every), stop));
            self.wakeups =
                wakeups.and_then(|started| or_note(started, "wakeups", &mut self.unavailable));
            self.look(Span::ZERO);
            before = clock::monotonic();
        }
        loop {
            let missed;
            (due, missed) = after(due, clock::monotonic(), interval);
            self.missed += missed;
            if !self.watch_sockets(start, due, stop) || !stop.wait_until(due) {
                break;
            }
            let now = clock::monotonic();
            let (at, late) = (start.offset.to_realtime(now), now - due);
            self.late_max = self.late_max.max(late);
            let mut line = self.look(now - before);
            (line.at_ns, line.after_ns, line.late_ns) = (at.0, (now - start.monotonic).0, late.0);
            before = now;
            let written = self.lines.write(&line);
            self.count.fetch_add(written.into(), Ordering::Relaxed);
        }
    }

    /// Reports connections at moments of their own until a line is due; false once stopped.
    fn watch_sockets(&mut self, start: &Start, due: Ns, stop: Stop) -> bool {
        let Some(every) = self.configuration.sockets_interval_ns.map(span) else { return true };
        let Some(diagnosis) = self.sockets.as_mut() else { return true };
        let mut next = clock::monotonic();
        let mut all = next + SEARCH;
        loop {
            // As far from the last reading, however long that took: what is busy is asked less.
            next = next.max(clock::monotonic()) + every;
            if next + every > due {
                return true;
            }
            if !stop.wait_until(next) {
                return false;
            }
            let now = clock::monotonic();
            let found = if now >= all {
                all = now + SEARCH;
                or_note(diagnosis.look(), "sockets", &mut self.unavailable)
            } else {
                Some(diagnosis.look_again())
            };
            let Some(found) = found.filter(|found| !found.connections.is_empty()) else { continue };
            self.lines.write(&SocketsLine {
                at_ns: start.offset.to_realtime(now).0,
                after_ns: (now - start.monotonic).0,
                sockets: found.connections,
                sockets_left_out: found.left_out,
            });
        }
    }

    /// Differences from the last reading.
    fn look(&mut self, interval: Span) -> Line {
        let unavailable = &mut self.unavailable;
        let found = self.sockets.as_mut().map(sockets::Diagnosis::look);
        let sockets = found.and_then(|found| or_note(found, "sockets", unavailable));
        let (sockets, sockets_left_out) =
            sockets.map_or((None, None), |found| (Some(found.connections), Some(found.left_out)));
        Line {
            at_ns: 0,
            after_ns: 0,
            late_ns: 0,
            interval_ns: interval.0,
            processors: or_note(self.processors.look(), "processors", unavailable).flatten(),
            run_queue: or_note(processors::RunQueue::look(), "run_queue", unavailable),
            pressure: or_note(self.pressure.look(interval), "pressure", unavailable),
            wakeups: self.wakeups.as_mut().map(wakeups::Wakeups::look),
            memory: or_note(memory::Memory::look(), "memory", unavailable),
            tcp: or_note(self.tcp.look(), "tcp", unavailable).flatten(),
            cgroups: self.cgroups.look(),
            interfaces: or_note(self.interfaces.look(), "interfaces", unavailable)
                .unwrap_or_default(),
            drivers: self.drivers.look(unavailable),
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
            late_max_ns: self.late_max.0,
            unavailable: self.unavailable.clone(),
            error: self.lines.error().map(str::to_owned),
        }
    }
}

/// The value, or a note with the reason.
pub(crate) fn or_note<T, E: Display>(
    found: Result<T, E>,
    what: &str,
    unavailable: &mut Vec<Unavailable>,
) -> Option<T> {
    found
        .map_err(|error| {
            if !unavailable.iter().any(|one| one.what == what) {
                unavailable.push(Unavailable { what: what.to_owned(), why: error.to_string() });
            }
        })
        .ok()
}

/// The line behind the one that was due, or a later one: none that would be more than an interval
/// late. How many are left out for that.
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
        // However long ago the start was.
        let year = 365 * 86_400_000_000_000;
        assert_eq!(after(year).1, 315_360_000_000_000 - 12);
    }
}
