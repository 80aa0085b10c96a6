//! The verb `spin`, the spin monitor: the CPU share of a thread that always runs, by the second, as
//! lines of JSON.
//!
//! It burns what it measures: a whole core (or one thread per allowed core), or a window of every
//! second. One thread at the agent's own priority, placed by the scheduler, is in the position of a
//! tenant's process; class, niceness and affinity are reported, and nothing is changed.
//! `trustbed_probe::Availability` defines gap, share and starved second, and their biases; here are
//! the clock, the threads and the file.
//!
//! The first line describes the others. Each of them is a second of one thread ([`log`]); what the
//! host reports of that second (steal, throttling) is in the lines of the first thread. Seconds
//! are those of the real-time clock, by its offset at the start; the report states when it was
//! stepped since.
//!
//! Bias: writing the lines takes some 0.1 ms of a second, on the same core where there is no other.

mod figures;
mod log;
pub(crate) mod spinner;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;

use rustix::thread::{CpuSet, sched_getaffinity};
use serde::{Deserialize, Serialize};
use trustbed_probe::{DutyCycle, gap_threshold};
use trustbed_units::Span;

use crate::host::sample::Unavailable;
use crate::output::json_lines::JsonLines;
use crate::session::workers::{self, Start, Worker, span};
use crate::session::{Failure, Session, Stop};
use crate::sys::kernel;
use log::{Host, Log};
use spinner::{Outlet, Spinner, Spun};

/// Lines that may wait until they are written; what does not fit is left out and counted, since who
/// spins must not wait.
const LINES_WAITING: usize = 600;
/// Tables of gaps that go round between a thread that fills them and who writes them.
const TABLES: usize = 8;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    path: PathBuf,
    #[serde(default)]
    cores: Cores,
    /// So much of every second. All of it by default.
    window_ns: Option<u64>,
    /// Of where windows lie in their seconds.
    #[serde(default)]
    seed: u64,
    /// From which length on there is a gap. Found out by default.
    threshold_ns: Option<u64>,
    /// From the start on. Until stop is requested by default.
    duration_ns: Option<u64>,
    /// Single gaps in a line; those beyond are counted.
    #[serde(default = "most_gaps")]
    most_gaps: usize,
    /// Directories of control groups. Those of the agent itself by default.
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

/// The method: the first line of the file, and the `ready` event.
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
    /// From one reading of the clock to the next, as it was tried; none where the threshold was
    /// given.
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
    /// By how much the real-time clock was stepped since the start, if it was: as much as seconds
    /// are wrong.
    clock_set_ns: Option<i64>,
    unavailable: Vec<Unavailable>,
    error: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    let (manner, duty) = prepare(&configuration)?;
    let log = Log::new(
        JsonLines::create(&configuration.path)?,
        Host::open(configuration.cgroups.as_deref()),
        manner.cores(),
    );
    session.ready(&manner)?;
    let Some(start) = workers::wait_for_start(session)? else {
        return session.report(&report(None, manner, Vec::new(), &log));
    };
    let lines = log.count();
    let at_work = begin(&configuration, &manner, duty, &start, session.stop(), log)?;
    let outcome = workers::supervise(
        session,
        || at_work.is_over(),
        || ProgressBody { lines: lines.load(Ordering::Relaxed) },
    );
    let (threads, log) = at_work.join()?;
    outcome?;
    session.report(&report(Some(&start), manner, threads, &log))
}

/// Finds the processors and the gap threshold; refuses impossible configurations.
fn prepare(configuration: &Configuration) -> Result<(Manner, DutyCycle), Failure> {
    let set = sched_getaffinity(None).map_err(|error| {
        Failure::running(
            format!("no cores are known that may be used: {error}"),
            "see sched_setaffinity(2)",
        )
    })?;
    let affinity: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect();
    let duty = match configuration.window_ns {
        Some(window) => DutyCycle::of(span(window), configuration.seed).map_err(|error| {
            Failure::configuration(
                format!("window_ns: {error}"),
                "leave it out to spin all the time",
            )
        })?,
        None => DutyCycle::always(),
    };
    let mut passes = Vec::new();
    let threshold = match configuration.threshold_ns {
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
        path: configuration.path.clone(),
        processors: if configuration.cores == Cores::All {
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
        seed: configuration.seed,
    };
    Ok((manner, duty))
}

/// The threads that spin, and the one that writes.
struct AtWork {
    spinners: Vec<Worker<Result<Spun, Failure>>>,
    log: Worker<Log>,
}

fn begin(
    configuration: &Configuration,
    manner: &Manner,
    duty: DutyCycle,
    start: &Start,
    stop: Stop,
    mut log: Log,
) -> Result<AtWork, Failure> {
    log.begin(start, manner);
    let (sender, seconds) = sync_channel(LINES_WAITING);
    let end = configuration.duration_ns.map(|lasts| start.monotonic + span(lasts));
    let (mut spinners, mut homes) = (Vec::new(), Vec::new());
    for (thread, processor) in manner.processors.iter().copied().enumerate() {
        let (outlet, home) = Outlet::new(sender.clone(), TABLES, configuration.most_gaps);
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
        spinners.push(workers::spawn("spin", move || spinner.run(outlet))?);
    }
    // The end of the last sender ends the file.
    drop(sender);
    Ok(AtWork { spinners, log: workers::spawn("log", move || log.follow(&seconds, &homes))? })
}

impl AtWork {
    fn is_over(&self) -> bool {
        self.spinners.iter().all(Worker::is_finished)
    }

    fn join(self) -> Result<(Vec<Spun>, Log), Failure> {
        let spun = self
            .spinners
            .into_iter()
            .map(|thread| workers::join("spin", thread).and_then(|spun| spun))
            .collect::<Vec<_>>();
        let log = workers::join("log", self.log)?;
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
        unavailable: log.unavailable().to_vec(),
        error: log.error(),
    }
}
