//! Wake-up latency of a thread that sleeps a millisecond at a time: an indicator of a processor
//! that is not available, which burns none.
//!
//! What delays this thread after its timer expires (an exhausted quota, a hypervisor, a long
//! interrupt, real-time threads) would delay another as well. A wake-up more than 0.25 ms after its
//! deadline is late: timers of an idle host are some 0.05 ms late, and some 0.2 ms where a
//! processor wakes from deep sleep.
//!
//! Bias: it sees less than a thread that always runs. The kernel favours threads that slept, so it
//! notices little of competing ordinary threads; it uses so little CPU that only others of its
//! group can exhaust a quota; and of each pause it sees what lies after its next deadline.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use trustbed_probe::GapLengths;
use trustbed_units::{Ns, Span};

use crate::session::workers;
use crate::session::{Failure, Stop};
use crate::sys::clock;
use crate::sys::kernel;

/// The shortest distance of moments: more often would cost more than a indicator may.
pub(super) const SHORTEST: u64 = 1_000_000;

/// The longest: a thread that is woken up more seldom is no indicator.
pub(super) const LONGEST: u64 = 10_000_000_000;
/// How long a stop request may go unnoticed.
const DEAF: Span = Span::from_millis(50);

/// A later wake-up is late.
const LATE: Span = Span::from_micros(250);

/// The wake-ups of an interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct WakeupCounts {
    /// How often the thread woke up.
    count: u64,
    /// Moments that passed before it had woken up for an earlier one.
    missed: u64,
    /// Wakeups that ended more than 0.25 ms late.
    late: u64,
    /// How long the thread was due and did not run, in those alone. One that has not ended counts
    /// up to the end of the interval.
    late_ns: i64,
    late_share: f64,
    late_max_ns: Option<i64>,
    /// How many wakeups by the power of two of nanoseconds that their `departure_error` reaches.
    departure_error: BTreeMap<u32, u64>,
    /// CPU time of the thread itself.
    used_ns: i64,
}

/// A thread that wakeups until stop is requested.
#[derive(Debug)]
pub(super) struct Wakeups {
    seen: Arc<Mutex<Seen>>,
    /// The last reading.
    looked: Ns,
    thread: workers::Worker<()>,
}

impl Wakeups {
    pub(super) fn start(every: Span, stop: Stop) -> Result<Self, Failure> {
        let now = clock::monotonic();
        let seen = Arc::new(Mutex::new(Seen::new(now, every)));
        let shared = Arc::clone(&seen);
        let thread = workers::spawn("wakeups", move || wake_repeatedly(&shared, stop))?;
        Ok(Self { seen, looked: now, thread })
    }

    /// Wake-ups since the last reading.
    pub(super) fn look(&mut self) -> WakeupCounts {
        let now = clock::monotonic();
        let interval = now - std::mem::replace(&mut self.looked, now);
        lock(&self.seen).look(now, interval)
    }

    /// Waits for the end, which was requested.
    pub(super) fn join(self) -> Result<(), Failure> {
        workers::join("wakeups", self.thread)
    }
}

fn wake_repeatedly(seen: &Mutex<Seen>, stop: Stop) {
    // Without it every wake-up is up to 50 µs longer.
    let _ = kernel::tighten_timers();
    let mut due = lock(seen).due;
    while sleep(due, stop) {
        let now = clock::monotonic();
        due = lock(seen).on_wake(now, clock::thread_time());
    }
}

/// Sleeps until a moment; false when stop was requested before. The last part is one call with an
/// absolute moment, which is what is read; before it, a stop request ends the sleep.
fn sleep(due: Ns, stop: Stop) -> bool {
    if due - clock::monotonic() > DEAF && !stop.wait_until(due - DEAF) {
        return false;
    }
    if stop.is_requested() {
        return false;
    }
    kernel::sleep_until(due);
    true
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wake-ups since the last reading.
#[derive(Debug)]
struct Seen {
    every: Span,
    /// The moment that is slept for.
    due: Ns,
    /// Up to where `departure_error` is counted already.
    counted: Ns,
    count: u64,
    missed: u64,
    late: u64,
    late_time: Span,
    most: Option<Span>,
    departure_error: GapLengths,
    /// What the thread has used, in all and up to the last reading.
    used: Span,
    used_before: Span,
}

impl Seen {
    fn new(now: Ns, every: Span) -> Self {
        Self {
            every,
            due: now + every,
            counted: now,
            count: 0,
            missed: 0,
            late: 0,
            late_time: Span::ZERO,
            most: None,
            departure_error: GapLengths::default(),
            used: Span::ZERO,
            used_before: Span::ZERO,
        }
    }

    /// The thread woke up. Returns its next deadline: the first that is not over.
    fn on_wake(&mut self, now: Ns, used: Span) -> Ns {
        let late = now - self.due;
        self.count += 1;
        self.late += u64::from(late > LATE);
        self.most = self.most.max(Some(late));
        self.departure_error.add(late);
        self.count_late(now);
        self.used = used;
        let passed = late.0.max(0) / self.every.0.max(1);
        self.missed += passed.unsigned_abs();
        self.due = self.due + Span(self.every.0.saturating_mul(passed + 1));
        self.due
    }

    /// Counts how long the thread has been late by now, once.
    fn count_late(&mut self, now: Ns) {
        if now - self.due > LATE {
            self.late_time += now - self.due.max(self.counted);
            self.counted = now;
        }
    }

    fn look(&mut self, now: Ns, interval: Span) -> WakeupCounts {
        self.count_late(now);
        let found = WakeupCounts {
            count: self.count,
            missed: self.missed,
            late: self.late,
            late_ns: self.late_time.0,
            late_share: if interval.0 > 0 {
                self.late_time.as_f64() / interval.as_f64()
            } else {
                0.0
            },
            late_max_ns: self.most.map(|most| most.0),
            departure_error: self.departure_error.counts().collect(),
            used_ns: (self.used - self.used_before).0,
        };
        *self = Self {
            due: self.due,
            counted: self.counted,
            used: self.used,
            used_before: self.used,
            ..Self::new(now, self.every)
        };
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(from_start: f64) -> Ns {
        #[expect(clippy::cast_possible_truncation, reason = "some seconds")]
        Ns((from_start * 1e6) as i64)
    }

    fn seen() -> Seen {
        Seen::new(Ns(0), Span::from_millis(1))
    }

    #[test]
    fn wakeups_follow_a_grid_and_past_deadlines_count_as_missed() {
        let mut seen = seen();
        assert_eq!(seen.on_wake(milliseconds(1.05), Span(5)), milliseconds(2.0));
        assert_eq!(seen.on_wake(milliseconds(5.3), Span(9)), milliseconds(6.0));
        let found = seen.look(milliseconds(5.5), Span::from_millis(5));
        assert_eq!((found.count, found.missed, found.late, found.used_ns), (2, 3, 1, 9));
        assert_eq!((found.late_ns, found.late_max_ns), (3_300_000, Some(3_300_000)));
        assert!((found.late_share - 0.66).abs() < 1e-9);
        assert_eq!(found.departure_error, BTreeMap::from([(15, 1), (21, 1)]));
        let nothing = seen.look(milliseconds(5.9), Span(400_000));
        assert_eq!(
            (nothing.count, nothing.late_ns, nothing.late_max_ns, nothing.used_ns),
            (0, 0, None, 0)
        );
    }

    #[test]
    fn an_overdue_wakeup_is_late_up_to_now_and_no_moment_counts_twice() {
        let mut seen = seen();
        let first = seen.look(milliseconds(101.0), Span::from_millis(101));
        let second = seen.look(milliseconds(201.0), Span::from_millis(100));
        assert_eq!((first.late_ns, first.count, second.late_ns), (100_000_000, 0, 100_000_000));
        assert!((second.late_share - 1.0).abs() < 1e-9);
        assert_eq!(seen.on_wake(milliseconds(221.5), Span(1)), milliseconds(222.0));
        let last = seen.look(milliseconds(221.6), Span(20_600_000));
        assert_eq!(
            (last.late_ns, last.late_max_ns, last.count, last.missed),
            (20_500_000, Some(220_500_000), 1, 220)
        );
    }
}
