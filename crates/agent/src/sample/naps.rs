//! How late a thread wakes up that sleeps from moment to moment, a millisecond apart: a witness of processors that are withheld which burns none.
//!
//! Whatever keeps this thread from running when its timer expires (a quota that is used up, a hypervisor, an interrupt that lasts, threads
//! with real-time priority) would keep another as well. A nap longer than asked for by 0.25 ms is late: on a machine at rest timers are
//! some 0.05 ms late, and some 0.2 ms where a processor has to be woken from deep sleep.
//!
//! Bias: it sees less than a thread that always runs. The kernel prefers who has slept, so of ordinary threads that compete it notices little;
//! it needs so little of a core that a quota has to be used up by others of its group; and of each time in which nothing ran
//! it sees what lies behind the next moment that was due.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde::Serialize;
use trustbed_probe::GapLengths;
use trustbed_units::{Ns, Span};

use crate::clock;
use crate::kernel;
use crate::net::attend;
use crate::talk::{Failure, Stop};

/// The shortest distance of moments: more often would cost more than a witness may.
pub(super) const SHORTEST: u64 = 1_000_000;

/// The longest: a thread that is woken up more seldom is no witness.
pub(super) const LONGEST: u64 = 10_000_000_000;
/// How long the end may be asked for without being heard.
const DEAF: Span = Span::from_millis(50);

/// What is later than this is late.
const LATE: Span = Span::from_micros(250);

/// What came of the naps of an interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Napped {
    /// How often the thread woke up.
    count: u64,
    /// Moments that passed before it had woken up for an earlier one.
    missed: u64,
    /// Naps that ended more than 0.25 ms late.
    late: u64,
    /// How long the thread was due and did not run, in those alone. One that has not ended counts up to the end of the interval.
    late_ns: i64,
    late_share: f64,
    late_most_ns: Option<i64>,
    /// How many naps by the power of two of nanoseconds that their lateness reaches.
    lateness: BTreeMap<u32, u64>,
    /// What the thread itself used of a processor.
    used_ns: i64,
}

/// A thread that naps until the end is asked for.
#[derive(Debug)]
pub(super) struct Naps {
    seen: Arc<Mutex<Seen>>,
    /// The last look.
    looked: Ns,
    thread: JoinHandle<()>,
}

impl Naps {
    pub(super) fn start(every: Span, stop: Stop) -> Result<Self, Failure> {
        let now = clock::monotonic();
        let seen = Arc::new(Mutex::new(Seen::new(now, every)));
        let shared = Arc::clone(&seen);
        let thread = attend::spawn("naps", move || nap(&shared, stop))?;
        Ok(Self { seen, looked: now, thread })
    }

    /// What has been since the last look.
    pub(super) fn look(&mut self) -> Napped {
        let now = clock::monotonic();
        let interval = now - std::mem::replace(&mut self.looked, now);
        lock(&self.seen).look(now, interval)
    }

    /// Waits for the end, which was asked for.
    pub(super) fn join(self) -> Result<(), Failure> {
        attend::join("naps", self.thread)
    }
}

fn nap(seen: &Mutex<Seen>, stop: Stop) {
    // Without it every nap is up to 50 µs longer.
    let _ = kernel::tighten_timers();
    let mut due = lock(seen).due;
    while sleep(due, stop) {
        let now = clock::monotonic();
        due = lock(seen).on_wake(now, clock::thread_time());
    }
}

/// Sleeps until a moment; false when the end was asked for before. The last part is one call with an absolute moment, which is what is
/// looked at; before it, the end is waited for as well.
fn sleep(due: Ns, stop: Stop) -> bool {
    if due - clock::monotonic() > DEAF && !stop.wait_until(due - DEAF) {
        return false;
    }
    if stop.is_asked() {
        return false;
    }
    kernel::sleep_until(due);
    true
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What has been since the last look.
#[derive(Debug)]
struct Seen {
    every: Span,
    /// The moment that is slept for.
    due: Ns,
    /// Up to where lateness is counted already.
    counted: Ns,
    count: u64,
    missed: u64,
    late: u64,
    late_time: Span,
    most: Option<Span>,
    lateness: GapLengths,
    /// What the thread has used, in all and up to the last look.
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
            lateness: GapLengths::default(),
            used: Span::ZERO,
            used_before: Span::ZERO,
        }
    }

    /// The thread woke up. Returns until when it sleeps next: the first moment that is not over.
    fn on_wake(&mut self, now: Ns, used: Span) -> Ns {
        let late = now - self.due;
        self.count += 1;
        self.late += u64::from(late > LATE);
        self.most = self.most.max(Some(late));
        self.lateness.add(late);
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

    fn look(&mut self, now: Ns, interval: Span) -> Napped {
        self.count_late(now);
        let found = Napped {
            count: self.count,
            missed: self.missed,
            late: self.late,
            late_ns: self.late_time.0,
            late_share: if interval.0 > 0 {
                self.late_time.as_f64() / interval.as_f64()
            } else {
                0.0
            },
            late_most_ns: self.most.map(|most| most.0),
            lateness: self.lateness.counts().collect(),
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
    fn naps_follow_a_grid_and_moments_that_are_over_are_missed() {
        let mut seen = seen();
        assert_eq!(seen.on_wake(milliseconds(1.05), Span(5)), milliseconds(2.0));
        assert_eq!(seen.on_wake(milliseconds(5.3), Span(9)), milliseconds(6.0));
        let found = seen.look(milliseconds(5.5), Span::from_millis(5));
        assert_eq!((found.count, found.missed, found.late, found.used_ns), (2, 3, 1, 9));
        assert_eq!((found.late_ns, found.late_most_ns), (3_300_000, Some(3_300_000)));
        assert!((found.late_share - 0.66).abs() < 1e-9);
        assert_eq!(found.lateness, BTreeMap::from([(15, 1), (21, 1)]));
        let nothing = seen.look(milliseconds(5.9), Span(400_000));
        assert_eq!(
            (nothing.count, nothing.late_ns, nothing.late_most_ns, nothing.used_ns),
            (0, 0, None, 0)
        );
    }

    #[test]
    fn a_nap_that_has_not_ended_is_late_up_to_now_and_no_moment_of_it_twice() {
        let mut seen = seen();
        let first = seen.look(milliseconds(101.0), Span::from_millis(101));
        let second = seen.look(milliseconds(201.0), Span::from_millis(100));
        assert_eq!((first.late_ns, first.count, second.late_ns), (100_000_000, 0, 100_000_000));
        assert!((second.late_share - 1.0).abs() < 1e-9);
        assert_eq!(seen.on_wake(milliseconds(221.5), Span(1)), milliseconds(222.0));
        let last = seen.look(milliseconds(221.6), Span(20_600_000));
        assert_eq!(
            (last.late_ns, last.late_most_ns, last.count, last.missed),
            (20_500_000, Some(220_500_000), 1, 220)
        );
    }
}
