//! The verb `inject`: injects a host fault into processes on a schedule, and undoes it at the end.
//!
//! Three kinds: a stop/continue [`duty_cycle`], a [`spinner`] that competes for their processor, a
//! [`quota`] on their control group. Each is undone when the duration is over, stop is requested or
//! standard input ends: a killed runner leaves no process stopped.
//!
//! The report has what was measured: begin and end, departure error of each step, CPU time of the
//! processes meanwhile. Bias: CPU time of processes that start and end between two readings, and of
//! interrupts on their behalf, is not counted.

mod duty_cycle;
mod processes;
mod quota;
mod spinner;

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use crate::session::workers::{self, Start, span};
use crate::session::{Failure, Session, Stop};
use crate::sys::clock;
use processes::{Processes, Used};

/// CPU time is read so often: of a process that ends, no more than the last interval is lost. No
/// event of the kernel has it: who has ended and was waited for is gone with its time.
const LOOK: Span = Span::from_millis(20);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    /// Who is affected, with all that descends from them.
    processes: Vec<i32>,
    fault: Fault,
    /// From the start on. Until stop is requested by default.
    duration_ns: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Fault {
    #[serde(rename = "freeze")]
    DutyCycle(duty_cycle::DutyCycle),
    Spinner(spinner::Spinner),
    Quota(quota::Quota),
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    processes: usize,
}

#[derive(Debug, Serialize)]
struct ProgressBody {}

#[derive(Debug, Serialize)]
struct Report {
    /// Of the real-time clock.
    begun_ns: Option<i64>,
    ended_ns: Option<i64>,
    processes: Vec<Used>,
    #[serde(flatten)]
    done: Option<Done>,
}

/// The results of each kind of fault.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Done {
    DutyCycle(duty_cycle::DutyCycleReport),
    Spinner(spinner::Spun),
    Quota(quota::Limited),
}

/// When a fault begins and ends. Times are of the monotonic clock.
#[derive(Debug, Clone, Copy)]
struct Schedule {
    begin: Ns,
    end: Option<Ns>,
    stop: Stop,
}

impl Schedule {
    /// Waits until a moment. False when everything is over before, or then.
    fn wait(&self, due: Ns) -> bool {
        let until = self.end.map_or(due, |end| due.min(end));
        self.stop.wait_until(until) && self.end.is_none_or(|end| due < end)
    }
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    let mut processes = Processes::of(&configuration.processes)?;
    // Undone when it is dropped, if not before.
    let pinned = match &configuration.fault {
        Fault::DutyCycle(duty_cycle) => duty_cycle.check().map(|()| None)?,
        Fault::Spinner(spinner) => Some(spinner.prepare(&processes)?),
        Fault::Quota(quota) => quota.check().map(|()| None)?,
    };
    session.ready(&ReadyBody { processes: processes.count() })?;
    let Some(start) = workers::wait_for_start(session)? else {
        return session.report(&Report {
            begun_ns: None,
            ended_ns: None,
            processes: Vec::new(),
            done: None,
        });
    };
    let begin = start.monotonic;
    let schedule = Schedule {
        begin,
        end: configuration.duration_ns.map(|lasts| begin + span(lasts)),
        stop: session.stop(),
    };
    let thread = workers::spawn("inject", move || {
        inject(&configuration.fault, schedule, &mut processes, &start)
    })?;
    let outcome = workers::supervise(session, || thread.is_finished(), || ProgressBody {});
    let report = workers::join("inject", thread)?;
    drop(pinned);
    outcome?;
    session.report(&report?)
}

/// From the first step to the last.
fn inject(
    fault: &Fault,
    schedule: Schedule,
    processes: &mut Processes,
    start: &Start,
) -> Result<Report, Failure> {
    let over = schedule.end.is_some_and(|end| clock::monotonic() >= end);
    if over || !schedule.wait(schedule.begin) {
        return Ok(Report { begun_ns: None, ended_ns: None, processes: Vec::new(), done: None });
    }
    let begun = clock::monotonic();
    processes.begin(begun);
    let done = match fault {
        Fault::DutyCycle(duty_cycle) => Done::DutyCycle(duty_cycle.carry_out(schedule, processes)),
        Fault::Spinner(spinner) => Done::Spinner(spinner.carry_out(schedule, processes)?),
        Fault::Quota(quota) => Done::Quota(quota.carry_out(schedule, processes)?),
    };
    let ended = clock::monotonic();
    processes.look(ended);
    Ok(Report {
        begun_ns: Some(start.offset.to_realtime(begun).0),
        ended_ns: Some(start.offset.to_realtime(ended).0),
        processes: processes.used(),
        done: Some(done),
    })
}

/// How late steps were.
#[expect(
    clippy::struct_field_names,
    reason = "outside, names carry what they are of and their unit"
)]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
struct DepartureError {
    p50_ns: Option<i64>,
    p99_ns: Option<i64>,
    max_ns: Option<i64>,
}

impl DepartureError {
    /// Percentiles by rank: the smallest value that so many are not above.
    fn of(mut late: Vec<i64>) -> Self {
        late.sort_unstable();
        let at = |percent: usize| {
            late.get((late.len() * percent).div_ceil(100).saturating_sub(1)).copied()
        };
        Self { p50_ns: at(50), p99_ns: at(99), max_ns: late.last().copied() }
    }
}

/// A share of a time.
#[expect(clippy::cast_precision_loss, reason = "a share is a float")]
fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departure_error_percentiles_are_by_rank() {
        assert_eq!(DepartureError::of(Vec::new()), DepartureError::default());
        assert_eq!(
            DepartureError::of(vec![7]),
            DepartureError { p50_ns: Some(7), p99_ns: Some(7), max_ns: Some(7) }
        );
        let hundred = DepartureError::of((1..=100).rev().collect());
        assert_eq!(
            hundred,
            DepartureError { p50_ns: Some(50), p99_ns: Some(99), max_ns: Some(100) }
        );
    }
}
