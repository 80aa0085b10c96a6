//! A competitor for the processor: a thread that spins for part of every period, on the processor
//! that the processes are pinned to.
//!
//! `busy` is the time in which it is runnable, not what it gets: at ordinary priority it shares the
//! processor; at real-time priority it has it all. It never fills a second, so that nothing starves
//! for long.

use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use super::processes::{Pinned, Processes};
use super::{DepartureError, Schedule, share};
use crate::session::Failure;
use crate::session::workers::{self, span};
use crate::sys::clock;
use crate::sys::kernel;

/// Of real-time threads the least: it goes before every ordinary thread, and after everything of
/// ours.
const PRIORITY: i32 = 1;
/// The least that a real-time spinner leaves to others, in percent; and how long it may be busy at
/// once.
const LEFT_PERCENT: u64 = 10;
const LONGEST_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Policy {
    Normal,
    Realtime,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spinner {
    processor: usize,
    busy_ns: u64,
    every_ns: u64,
    policy: Policy,
}

/// The results of the fault.
#[derive(Debug, Serialize)]
pub(super) struct Spun {
    processor: usize,
    turns: u64,
    /// CPU time for which it was runnable, and which it got.
    busy_ns: i64,
    ran_ns: i64,
    /// Of the time from the beginning to the end.
    ran_share: Option<f64>,
    departure_error: DepartureError,
}

impl Spinner {
    /// Checks that it can be, and puts the processes where it will be.
    pub(super) fn prepare(self, processes: &Processes) -> Result<Pinned, Failure> {
        if self.busy_ns == 0 || self.busy_ns > self.every_ns {
            let message = format!("busy_ns: {} is not above 0 and up to every_ns", self.busy_ns);
            return Err(Failure::configuration(message, "it is busy in a part of every turn"));
        }
        let most = self.every_ns / 100 * (100 - LEFT_PERCENT);
        if self.policy == Policy::Realtime && (self.busy_ns > most || self.busy_ns > LONGEST_NS) {
            let message = format!(
                "busy_ns: {} of {} with real-time priority would starve the machine",
                self.busy_ns, self.every_ns
            );
            return Err(Failure::configuration(
                message,
                format!("at most 1 s at once, and {} % of the time", 100 - LEFT_PERCENT),
            ));
        }
        workers::join("trial", workers::spawn("trial", move || self.settle())?)??;
        processes.pin(self.processor)
    }

    /// Puts the calling thread on its processor, with its priority.
    fn settle(self) -> Result<(), Failure> {
        let mut only = CpuSet::new();
        only.set(self.processor);
        sched_setaffinity(None, &only).map_err(|error| {
            Failure::running(
                format!("processor {} cannot be used: {error}", self.processor),
                "name one that this process may use",
            )
        })?;
        // Without it every sleep is up to 50 µs longer.
        let _ = kernel::tighten_timers();
        if self.policy == Policy::Realtime {
            kernel::schedule_fifo(PRIORITY).map_err(|error| {
                Failure::running(
                    format!("no real-time priority: {error}"),
                    "run as root, or choose the policy normal",
                )
            })?;
        }
        Ok(())
    }

    /// Runs until the end.
    pub(super) fn carry_out(
        self,
        schedule: Schedule,
        processes: &mut Processes,
    ) -> Result<Spun, Failure> {
        self.settle()?;
        let (busy, every) = (span(self.busy_ns), span(self.every_ns));
        let (begun, ran_before) = (clock::monotonic(), clock::thread_time());
        let (mut late, mut demanded, mut turns) = (Vec::new(), Span::ZERO, 0);
        // For a start in the past, periods that are over are left out.
        let mut turn = schedule.begin + Span((begun - schedule.begin).0 / every.0 * every.0);
        while schedule.wait(turn) {
            // A period that had begun before has no departure error of its own.
            if turn >= begun {
                late.push((clock::monotonic() - turn).0);
            }
            let until = schedule.end.map_or(turn + busy, |end| end.min(turn + busy));
            spin(until, schedule);
            demanded += (until - turn.max(begun)).max(Span::ZERO);
            turns += 1;
            turn = turn + every;
            processes.look(clock::monotonic());
        }
        let ran_ns = (clock::thread_time() - ran_before).0;
        Ok(Spun {
            processor: self.processor,
            turns,
            busy_ns: demanded.0,
            ran_ns,
            ran_share: share(ran_ns, (clock::monotonic() - begun).0),
            departure_error: DepartureError::of(late),
        })
    }
}

fn spin(until: Ns, schedule: Schedule) {
    while clock::monotonic() < until && !schedule.stop.is_requested() {
        std::hint::spin_loop();
    }
}
