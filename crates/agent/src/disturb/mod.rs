//! The verb `disturb`: keeps processes of a host from running, on a schedule, and not a moment longer than whoever asked for it lives.
//!
//! Three ways, each as hosts meet them: processes are stopped and go on ([`freeze`]), somebody else wants their processor ([`spinner`]),
//! their control group may use only so much of it ([`quota`]). All are undone when the duration is over, when the end is asked for, and when
//! standard input ends, so that a runner which was killed leaves nothing frozen behind.
//!
//! What was done is reported as it was measured: when it began and ended, how late each step was, how much the processes ran meanwhile.
//! Bias: time of processes that came and went between two looks, and what the kernel does for them in interrupts, is not counted.

mod freeze;
mod processes;
mod quota;
mod spinner;

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use crate::clock;
use crate::net::attend::{self, Start, span};
use crate::talk::{Failure, Stop, Talk};
use processes::{Processes, Used};

/// How much processors were used is looked at so often.
const LOOK: Span = Span::from_millis(20);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    /// Who is disturbed, with all that descends from them.
    processes: Vec<i32>,
    fault: Fault,
    /// From the start on. Until the end is asked for unless given.
    duration_ns: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum Fault {
    Freeze(freeze::Freeze),
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

/// What was done, in the words of each kind.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Done {
    Freeze(freeze::Frozen),
    Spinner(spinner::Spun),
    Quota(quota::Limited),
}

/// When a disturbance is to be, and what ends it before. Moments are of the monotonic clock.
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
pub(crate) fn run(talk: &mut Talk) -> Result<(), Failure> {
    let asked: Configuration = talk.configuration()?;
    let mut processes = Processes::of(&asked.processes)?;
    // Undone when it is dropped, if not before.
    let pinned = match &asked.fault {
        Fault::Freeze(freeze) => freeze.check().map(|()| None)?,
        Fault::Spinner(spinner) => Some(spinner.prepare(&processes)?),
        Fault::Quota(quota) => quota.check().map(|()| None)?,
    };
    talk.ready(&ReadyBody { processes: processes.count() })?;
    let Some(start) = attend::wait_for_start(talk)? else {
        return talk.report(&Report {
            begun_ns: None,
            ended_ns: None,
            processes: Vec::new(),
            done: None,
        });
    };
    let begin = start.monotonic;
    let schedule = Schedule {
        begin,
        end: asked.duration_ns.map(|lasts| begin + span(lasts)),
        stop: talk.stop(),
    };
    let thread =
        attend::spawn("disturb", move || disturb(&asked.fault, schedule, &mut processes, &start))?;
    let outcome = attend::converse(talk, || thread.is_finished(), || ProgressBody {});
    let report = attend::join("disturb", thread)?;
    drop(pinned);
    outcome?;
    talk.report(&report?)
}

/// From the first step to the last.
fn disturb(
    fault: &Fault,
    schedule: Schedule,
    processes: &mut Processes,
    start: &Start,
) -> Result<Report, Failure> {
    if !schedule.wait(schedule.begin) {
        return Ok(Report { begun_ns: None, ended_ns: None, processes: Vec::new(), done: None });
    }
    let begun = clock::monotonic();
    processes.begin(begun);
    let done = match fault {
        Fault::Freeze(freeze) => Done::Freeze(freeze.carry_out(schedule, processes)),
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
struct Lateness {
    p50_ns: Option<i64>,
    p99_ns: Option<i64>,
    max_ns: Option<i64>,
}

impl Lateness {
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
    fn lateness_is_told_by_rank() {
        assert_eq!(Lateness::of(Vec::new()), Lateness::default());
        assert_eq!(
            Lateness::of(vec![7]),
            Lateness { p50_ns: Some(7), p99_ns: Some(7), max_ns: Some(7) }
        );
        let hundred = Lateness::of((1..=100).rev().collect());
        assert_eq!(hundred, Lateness { p50_ns: Some(50), p99_ns: Some(99), max_ns: Some(100) });
    }
}
