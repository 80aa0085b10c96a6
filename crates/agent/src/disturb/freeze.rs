//! Processes that stand and go on: SIGSTOP and SIGCONT, by the clock.
//!
//! Each turn runs first and stands then. The schedule is absolute: a step that was late does not delay the next. A process stands as soon as
//! each of its threads next returns from the kernel, microseconds later unless it copies megabytes there; what the kernel itself does for it,
//! acknowledging and sending what was written before, goes on. Of a guest nothing goes on but its emulated hardware's queues.
//!
//! A program sees nothing but a jump of its clocks.

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use super::processes::Processes;
use super::{Lateness, Schedule, share};
use crate::clock::{self, Granted, Priority};
use crate::net::attend::span;
use crate::talk::Failure;

/// Stops of which the moments are told; beyond, they are only counted.
const MOST_MOMENTS: usize = 10_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Freeze {
    stopped_ns: u64,
    every_ns: u64,
}

/// What was done.
#[derive(Debug, Default, Serialize)]
pub(super) struct Frozen {
    stops: usize,
    stopped_ns: i64,
    /// Of the time from the beginning to the end.
    stopped_share: Option<f64>,
    stop_lateness: Lateness,
    continue_lateness: Lateness,
    /// After the beginning.
    stopped_at_ns: Vec<i64>,
    continued_at_ns: Vec<i64>,
    #[serde(flatten)]
    granted: Option<Granted>,
}

impl Freeze {
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

    /// Turns until the end; whatever ends it, the processes go on.
    pub(super) fn carry_out(&self, schedule: Schedule, processes: &mut Processes) -> Frozen {
        let granted = clock::take_priority(Priority::Fifo);
        let begun = clock::monotonic();
        let (mut stops, mut late_stops, mut late_continues) = (Vec::new(), Vec::new(), Vec::new());
        let (stopped, every) = (span(self.stopped_ns), span(self.every_ns));
        // Of a start that lies in the past, turns that are over are left out.
        let mut turn = schedule.begin + Span((begun - schedule.begin).0 / every.0 * every.0);
        while schedule.wait(turn + (every - stopped)) {
            let Some(standing) = processes.stop() else { break };
            let at = clock::monotonic();
            late_stops.push((at - (turn + (every - stopped))).0);
            let in_time = schedule.wait(turn + every);
            drop(standing);
            let until = clock::monotonic();
            if in_time {
                late_continues.push((until - (turn + every)).0);
            }
            stops.push((at, until));
            processes.look(until);
            turn = turn + every;
        }
        let ended = clock::monotonic();
        frozen(
            &stops,
            begun,
            ended,
            Lateness::of(late_stops),
            Lateness::of(late_continues),
            granted,
        )
    }
}

fn frozen(
    stops: &[(Ns, Ns)],
    begun: Ns,
    ended: Ns,
    stop_lateness: Lateness,
    continue_lateness: Lateness,
    granted: Granted,
) -> Frozen {
    let stopped_ns = stops.iter().map(|(at, until)| (*until - *at).0).sum();
    let after = |moment: &Ns| (*moment - begun).0;
    Frozen {
        stops: stops.len(),
        stopped_ns,
        stopped_share: share(stopped_ns, (ended - begun).0),
        stop_lateness,
        continue_lateness,
        stopped_at_ns: stops.iter().take(MOST_MOMENTS).map(|(at, _)| after(at)).collect(),
        continued_at_ns: stops.iter().take(MOST_MOMENTS).map(|(_, until)| after(until)).collect(),
        granted: Some(granted),
    }
}
