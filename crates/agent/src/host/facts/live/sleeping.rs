//! Wake-up latency of a thread that sleeps a millisecond at a time, by an absolute schedule.
//!
//! Bias: a thread that wakes after its next deadline skips that one, so that one long pause counts
//! once.

use serde::Serialize;
use trustbed_units::{Ns, Span};

use super::{quantile, sleep_until};
use crate::session::Stop;
use crate::session::workers;
use crate::sys::clock::{self, Granted, Priority};
use crate::sys::idle::{self, Idle};

const EVERY: Span = Span::from_millis(1);

/// Who sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sleeper {
    /// As any program does.
    Ordinary,
    /// With exact timers and the priority that is granted.
    Exact,
    /// The same, while idle processors poll instead of halting.
    Polling,
}

/// How late it was.
#[derive(Debug, Serialize)]
pub(in crate::host::facts) struct Sleeping {
    sleeps: usize,
    /// Moments that were over before the thread could sleep until them.
    missed: u64,
    late_p50_ns: i64,
    late_p99_ns: i64,
    late_most_ns: i64,
    timer_slack_ns: Option<u64>,
    priority: Priority,
    priority_refused: Option<String>,
    #[serde(flatten)]
    idle: idle::Granted,
}

/// Sleeps for a time, in a thread of its own.
pub(super) fn run(sleeper: Sleeper, lasting: Span, stop: Stop) -> Result<Sleeping, String> {
    let thread = workers::spawn("sleeping", move || sleep(sleeper, lasting, stop))
        .map_err(|failure| failure.message().to_owned())?;
    let found =
        workers::join("sleeping", thread).map_err(|failure| failure.message().to_owned())?;
    found.ok_or_else(|| "the end came before the first millisecond".to_owned())
}

fn sleep(sleeper: Sleeper, lasting: Span, stop: Stop) -> Option<Sleeping> {
    let ordinary = Granted { priority: Priority::Normal, priority_refused: None };
    let granted =
        if sleeper == Sleeper::Ordinary { ordinary } else { clock::take_priority(Priority::Fifo) };
    let request = idle::request(if sleeper == Sleeper::Polling { Idle::Poll } else { Idle::Halt });
    let begin = clock::monotonic();
    let (end, mut due, mut missed) = (begin + lasting, begin + EVERY, 0);
    let mut late = Vec::with_capacity(usize::try_from(lasting.0 / EVERY.0).unwrap_or(0) + 1);
    while due < end && !stop.is_requested() {
        sleep_until(due);
        let now = clock::monotonic();
        late.push(now - due);
        let passed;
        (due, passed) = next(due, now);
        missed += passed;
    }
    let [p50, p99, most] = [50, 99, 100].map(|percent| quantile(&mut late, percent));
    Some(Sleeping {
        sleeps: late.len(),
        missed,
        late_p50_ns: p50?.0,
        late_p99_ns: p99?.0,
        late_most_ns: most?.0,
        timer_slack_ns: rustix::thread::current_timer_slack().ok(),
        priority: granted.priority,
        priority_refused: granted.priority_refused,
        idle: request.granted,
    })
}

/// The next moment of the schedule that is not over, and how many were passed by.
fn next(due: Ns, now: Ns) -> (Ns, u64) {
    let behind = u64::try_from((now - due).0 / EVERY.0).unwrap_or(0);
    (
        due + Span(
            EVERY.0.saturating_mul(i64::try_from(behind).unwrap_or(i64::MAX).saturating_add(1)),
        ),
        behind,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_pause_counts_once() {
        assert_eq!(next(Ns(1_000_000), Ns(1_060_000)), (Ns(2_000_000), 0));
        assert_eq!(next(Ns(1_000_000), Ns(1_999_999)), (Ns(2_000_000), 0));
        assert_eq!(next(Ns(1_000_000), Ns(5_500_000)), (Ns(6_000_000), 4));
        assert_eq!(next(Ns(1_000_000), Ns(0)), (Ns(2_000_000), 0));
    }

    #[test]
    fn no_sleep_ends_before_its_moment() {
        let stop = Stop::never();
        let found = run(Sleeper::Ordinary, Span::from_millis(20), stop).unwrap();
        assert!(
            found.late_p50_ns >= 0
                && found.late_p50_ns <= found.late_p99_ns
                && found.late_p99_ns <= found.late_most_ns
        );
        assert!(
            (1..=19).contains(&found.sleeps) && found.sleeps as u64 + found.missed >= 19,
            "{found:?}"
        );
        assert_eq!(found.priority, Priority::Normal);
    }
}
