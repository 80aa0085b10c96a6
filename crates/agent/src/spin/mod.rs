//! The verb `spin`: what share of a core a thread has that always wants to run, by the second, as lines of JSON.
//!
//! It burns what it measures: a whole core (or one thread per core that the program may use), or a window of every second. One thread, where the
//! kernel puts it and with the priority that the agent was started with, is the situation of a tenant's process; class, niceness and affinity
//! are reported, and nothing is changed. What a gap, a share and a starved second are, and the biases of the method, is said by
//! `trustbed_probe::Availability`; here are the clock, the threads and the file.
//!
//! The file begins with a line that says what every other has. Each of those is a second of one thread ([`log`]); what the host tells of the
//! same time (steal, throttling by a quota) stands in the lines of the first thread. Seconds are those of the real-time clock, by what it was
//! ahead at the start; when it was set since, the report says so.
//!
//! Bias: who writes the lines runs besides, some 0.1 ms in a second, on the same core where there is no other.

mod figures;
mod log;
pub(crate) mod spinner;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use rustix::thread::{CpuSet, sched_getaffinity};
use serde::{Deserialize, Serialize};
use trustbed_probe::{DutyCycle, gap_threshold};
use trustbed_units::Span;

use crate::json_lines::JsonLines;
use crate::kernel;
use crate::net::attend::{self, Start, span};
use crate::sample::NotTold;
use crate::talk::{Failure, Stop, Talk};
use log::{Host, Log};
use spinner::{Outlet, Spinner, Spun};

/// Lines that may wait until they are written; what does not fit is left out and counted, since who spins must not wait.
const LINES_WAITING: usize = 600;
/// Tables of gaps that go round between a thread that fills them and who writes them.
const TABLES: usize = 8;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    path: PathBuf,
    #[serde(default)]
    cores: Cores,
    /// So much of every second. All of it unless given.
    window_ns: Option<u64>,
    /// Of where windows lie in their seconds.
    #[serde(default)]
    seed: u64,
    /// From which length on there is a gap. Found out unless given.
    threshold_ns: Option<u64>,
    /// From the start on. Until the end is asked for unless given.
    duration_ns: Option<u64>,
    /// Single gaps in a line; those beyond are counted.
    #[serde(default = "most_gaps")]
    most_gaps: usize,
    /// Directories of control groups. Those of the agent itself unless given.
    cgroups: Option<Vec<PathBuf>>,
}

const fn most_gaps() -> usize {
    4096
}

/// Where threads spin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Cores {
    /// One thread, wherever the kernel puts it.
    #[default]
    One,
    /// One on each core that the program may use.
    All,
}

/// How it is done: the first line of the file, and what is said when everything stands.
#[derive(Debug, Clone, Serialize)]
struct Manner {
    path: PathBuf,
    /// Cores that the program may use, by their numbers; a quota makes them no fewer.
    affinity: Vec<usize>,
    /// Cores to which the threads are held, in their order; none where the kernel chooses.
    processors: Vec<Option<usize>>,
    /// As sched(7) names it.
    scheduling_class: Option<&'static str>,
    niceness: Option<i32>,
    threshold_ns: i64,
    /// From one reading of the clock to the next, as it was tried; none where the threshold was given.
    pass_median_ns: Option<i64>,
    /// The part of the time that is watched.
    duty: f64,
    seed: u64,
}

impl Manner {
    fn cores(&self) -> u32 {
        u32::try_from(self.affinity.len()).unwrap_or(u32::MAX)
    }
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    lines: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    #[serde(flatten)]
    manner: Manner,
    threads: Vec<Spun>,
    lines: u64,
    /// By how much the real-time clock was set since the start, if it was: as much as seconds are wrong.
    clock_set_ns: Option<i64>,
    not_told: Vec<NotTold>,
    error: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(talk: &mut Talk) -> Result<(), Failure> {
    let asked: Configuration = talk.configuration()?;
    let (manner, duty) = prepare(&asked)?;
    let log = Log::new(
        JsonLines::create(&asked.path)?,
        Host::open(asked.cgroups.as_deref()),
        manner.cores(),
    );
    talk.ready(&manner)?;
    let Some(start) = attend::wait_for_start(talk)? else {
        return talk.report(&report(None, manner, Vec::new(), &log));
    };
    let lines = log.count();
    let at_work = begin(&asked, &manner, duty, &start, talk.stop(), log)?;
    let outcome = attend::converse(
        talk,
        || at_work.is_over(),
        || ProgressBody { lines: lines.load(Ordering::Relaxed) },
    );
    let (threads, log) = at_work.join()?;
    outcome?;
    talk.report(&report(Some(&start), manner, threads, &log))
}

/// Finds out what there is, and what a gap is; refuses what cannot be.
fn prepare(asked: &Configuration) -> Result<(Manner, DutyCycle), Failure> {
    let set = sched_getaffinity(None).map_err(|error| {
        Failure::running(
            format!("no cores are known that may be used: {error}"),
            "see sched_setaffinity(2)",
        )
    })?;
    let affinity: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect();
    let duty = match asked.window_ns {
        Some(window) => DutyCycle::of(span(window), asked.seed).map_err(|error| {
            Failure::configuration(
                format!("window_ns: {error}"),
                "leave it out to spin all the time",
            )
        })?,
        None => DutyCycle::always(),
    };
    let mut passes = Vec::new();
    let threshold = match asked.threshold_ns {
        Some(0) => {
            return Err(Failure::configuration(
                "threshold_ns: 0 makes every pass a gap",
                "leave it out, or give some microseconds",
            ));
        }
        Some(given) => span(given),
        None => {
            passes = spinner::trial();
            gap_threshold(&mut passes)
        }
    };
    let manner = Manner {
        path: asked.path.clone(),
        processors: if asked.cores == Cores::All {
            affinity.iter().copied().map(Some).collect()
        } else {
            vec![None]
        },
        affinity,
        scheduling_class: kernel::scheduling_class(),
        niceness: rustix::process::getpriority_process(None).ok(),
        threshold_ns: threshold.0,
        pass_median_ns: passes.get(passes.len() / 2).map(|median| median.0),
        duty: duty.share(),
        seed: asked.seed,
    };
    Ok((manner, duty))
}

/// The threads that spin, and the one that writes.
struct AtWork {
    spinners: Vec<JoinHandle<Result<Spun, Failure>>>,
    log: JoinHandle<Log>,
}

fn begin(
    asked: &Configuration,
    manner: &Manner,
    duty: DutyCycle,
    start: &Start,
    stop: Stop,
    mut log: Log,
) -> Result<AtWork, Failure> {
    log.begin(start, manner);
    let (tell, told) = sync_channel(LINES_WAITING);
    let end = asked.duration_ns.map(|lasts| start.monotonic + span(lasts));
    let (mut spinners, mut homes) = (Vec::new(), Vec::new());
    for (thread, processor) in manner.processors.iter().copied().enumerate() {
        let (outlet, home) = Outlet::new(tell.clone(), TABLES, asked.most_gaps);
        homes.push(home);
        let threshold = Span(manner.threshold_ns);
        let spinner = Spinner {
            thread,
            processor,
            cores: manner.cores(),
            duty,
            threshold,
            start: *start,
            end,
            stop,
        };
        spinners.push(attend::spawn("spin", move || spinner.run(outlet))?);
    }
    // The end of the last thread that tells is the end of the file.
    drop(tell);
    Ok(AtWork { spinners, log: attend::spawn("log", move || log.follow(&told, &homes))? })
}

impl AtWork {
    fn is_over(&self) -> bool {
        self.spinners.iter().all(JoinHandle::is_finished)
    }

    fn join(self) -> Result<(Vec<Spun>, Log), Failure> {
        let spun = self
            .spinners
            .into_iter()
            .map(|thread| attend::join("spin", thread).and_then(|spun| spun))
            .collect::<Vec<_>>();
        let log = attend::join("log", self.log)?;
        Ok((spun.into_iter().collect::<Result<_, _>>()?, log))
    }
}

fn report(start: Option<&Start>, manner: Manner, threads: Vec<Spun>, log: &Log) -> Report {
    Report {
        start_ns: start.map(|start| start.realtime.0),
        manner,
        threads,
        lines: log.count().load(Ordering::Relaxed),
        clock_set_ns: start.and_then(|start| start.offset.clone().refresh()).map(|moved| moved.0),
        not_told: log.not_told().to_vec(),
        error: log.error(),
    }
}
