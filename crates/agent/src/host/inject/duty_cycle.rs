//! A stop/continue duty cycle: SIGSTOP and SIGCONT on an absolute schedule.
//!
//! Each period runs first and stops then; a late step does not delay the next. A process stops when
//! each of its threads next returns from the kernel, microseconds later unless it copies megabytes
//! there. The kernel goes on acknowledging and sending what the process wrote before. Of a stopped
//! guest, only the queues of its emulated hardware go on.
//!
//! To the stopped program, its clocks jump.

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use super::processes::Processes;
use super::{DepartureError, Schedule, share};
use crate::session::Failure;
use crate::session::workers::span;
use crate::sys::clock::{self, Granted, Priority};

/// Stops whose times are reported; beyond, they are only counted.
const MOST_MOMENTS: usize = 10_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DutyCycle {
    stopped_ns: u64,
    every_ns: u64,
}

/// The results of the fault.
#[derive(Debug, Default, Serialize)]
pub(super) struct DutyCycleReport {
    stops: usize,
    stopped_ns: i64,
    /// Of the time from the beginning to the end.
    stopped_share: Option<f64>,
    stop_departure_error: DepartureError,
    continue_departure_error: DepartureError,
    /// After the beginning.
    stopped_at_ns: Vec<i64>,
    continued_at_ns: Vec<i64>,
    #[serde(flatten)]
    granted: Option<Granted>,
}

impl DutyCycle {
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.stopped_ns == 0 || self.stopped_ns >= self.every_ns {
            let message = format!("stopped_ns: {} is not between 0 and every_ns", self.stopped_ns);
            return Err(Failure::configuration(
                message,
                "processes must run in between, or nothing ever ends",
            ));
        }
        Ok(())
    }

    /// Runs the duty cycle until the end; the processes continue after any end.
    pub(super) fn carry_out(
        &self,
        schedule: Schedule,
        processes: &mut Processes,
    ) -> DutyCycleReport {
        let granted = clock::take_priority(Priority::Fifo);
        let begun = clock::monotonic();
        let (mut stops, mut late_stops, mut late_continues) = (Vec::new(), Vec::new(), Vec::new());
        let (stopped, every) = (span(self.stopped_ns), span(self.every_ns));
        // For a start in the past, periods that are over are left out.
        let mut turn = schedule.begin + Span((begun - schedule.begin).0 / every.0 * every.0);
        while schedule.wait(turn + (every - stopped)) {
            let Some(stopped_now) = processes.stop() else { break };
            let at = clock::monotonic();
            late_stops.push((at - (turn + (every - stopped))).0);
            let in_time = schedule.wait(turn + every);
            drop(stopped_now);
            let until = clock::monotonic();
            if in_time {
                late_continues.push((until - (turn + every)).0);
            }
            stops.push((at, until));
            processes.look(until);
            turn = turn + every;
        }
        let ended = clock::monotonic();
        report(
            &stops,
            begun,
            ended,
            DepartureError::of(late_stops),
            DepartureError::of(late_continues),
            granted,
        )
    }
}

fn report(
    stops: &[(Ns, Ns)],
    begun: Ns,
    ended: Ns,
    stop_departure_error: DepartureError,
    continue_departure_error: DepartureError,
    granted: Granted,
) -> DutyCycleReport {
    let stopped_ns = stops.iter().map(|(at, until)| (*until - *at).0).sum();
    let after = |moment: &Ns| (*moment - begun).0;
    DutyCycleReport {
        stops: stops.len(),
        stopped_ns,
        stopped_share: share(stopped_ns, (ended - begun).0),
        stop_departure_error,
        continue_departure_error,
        stopped_at_ns: stops.iter().take(MOST_MOMENTS).map(|(at, _)| after(at)).collect(),
        continued_at_ns: stops.iter().take(MOST_MOMENTS).map(|(_, until)| after(until)).collect(),
        granted: Some(granted),
    }
}
