//! Clocks, and waiting for a moment to the microsecond.
//!
//! Everything here is scheduled by the monotonic clock, which nobody sets. The kernel stamps packets by the real-time clock, which may be set:
//! [`Offset`] translates, and notices when it was.
//!
//! A sleeping thread wakes up tens of microseconds late, a spinning one costs a core: [`wait_until`] sleeps until shortly before and spins the
//! rest. With real-time priority nothing else delays it; but who never sleeps is taken off the processor for 50 ms a second, so that others can
//! run. [`Guard`] tells when to step down before that happens.

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use crate::kernel::{self, ClockId};

/// How long before a moment sleeping gives way to spinning: a little more than how late a thread wakes up.
pub(crate) const SPIN: Span = Span::from_micros(100);
/// The priority that is asked for: above ordinary threads, below those of the kernel that run at 50.
pub(crate) const FIFO_PRIORITY: i32 = 20;

/// Now, by the clock that everything is scheduled by.
#[inline]
pub(crate) fn monotonic() -> Ns {
    kernel::read_clock(ClockId::Monotonic)
}

/// Now, by the clock that people and captures use.
pub(crate) fn realtime() -> Ns {
    kernel::read_clock(ClockId::Realtime)
}

/// What all threads of the program have used of processors.
pub(crate) fn processor_time() -> Span {
    kernel::read_clock(ClockId::Process) - Ns(0)
}

/// Waits for a moment of the monotonic clock: sleeps until [`SPIN`] before, then spins. Returns the first moment seen that is not before it.
pub(crate) fn wait_until(due: Ns) -> Ns {
    let mut now = monotonic();
    if due - now > SPIN {
        kernel::sleep_until(due - SPIN);
        now = monotonic();
    }
    while now < due {
        std::hint::spin_loop();
        now = monotonic();
    }
    now
}

/// How far the real-time clock is ahead of the monotonic one. They run at the same rate; only setting the real-time clock changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offset {
    ahead: Span,
    steps: u32,
}

impl Offset {
    /// Less than this is the uncertainty of reading two clocks, more is a clock that was set.
    const TOLERANCE: Span = Span::from_micros(20);
    const TRIES: usize = 16;

    /// Measures it.
    pub(crate) fn measure() -> Self {
        Self { ahead: Self::tightest().0, steps: 0 }
    }

    /// Measures it again, and returns by how much the real-time clock was set since, if it was.
    pub(crate) fn refresh(&mut self) -> Option<Span> {
        let (ahead, uncertain) = Self::tightest();
        let moved = ahead - self.ahead;
        if moved.0.abs() <= Self::TOLERANCE.0.max(uncertain.0) {
            return None;
        }
        self.ahead = ahead;
        self.steps += 1;
        Some(moved)
    }

    /// How often the real-time clock was set.
    pub(crate) fn steps(&self) -> u32 {
        self.steps
    }

    /// A moment of the real-time clock, by the monotonic one.
    #[inline]
    pub(crate) fn to_monotonic(self, moment: Ns) -> Ns {
        moment - self.ahead
    }

    /// A moment of the monotonic clock, by the real-time one.
    #[inline]
    pub(crate) fn to_realtime(self, moment: Ns) -> Ns {
        moment + self.ahead
    }

    /// The reading between the two nearest readings of the other clock, and how far apart those are.
    fn tightest() -> (Span, Span) {
        let reading = || {
            let (before, there, after) = (monotonic(), realtime(), monotonic());
            let apart = after - before;
            (there - (before + Span(apart.0 / 2)), apart)
        };
        let mut best = reading();
        for _ in 1..Self::TRIES {
            let one = reading();
            if one.1 < best.1 {
                best = one;
            }
        }
        best
    }
}

/// How a thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Priority {
    /// Before every ordinary thread, first in first out.
    #[default]
    Fifo,
    /// Like every other.
    Normal,
}

/// What was granted of a priority that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Granted {
    /// How the thread is scheduled.
    pub(crate) priority: Priority,
    /// Why not as asked; none when it is.
    pub(crate) priority_refused: Option<String>,
}

/// Gives the calling thread exact timers and, if permitted, the priority.
pub(crate) fn take_priority(asked: Priority) -> Granted {
    // Without it every sleep is up to 50 µs longer; spinning makes up for it.
    let _ = kernel::tighten_timers();
    let (priority, priority_refused) = match asked {
        Priority::Normal => (Priority::Normal, None),
        Priority::Fifo => match kernel::schedule_fifo(FIFO_PRIORITY) {
            Ok(()) => (Priority::Fifo, None),
            Err(error) => (Priority::Normal, Some(format!("real-time priority needs root or CAP_SYS_NICE on the host: {error}"))),
        },
    };
    Granted { priority, priority_refused }
}

/// What a thread with real-time priority has to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It has hardly slept: go on like every other thread, before the kernel takes the processor away.
    Down,
    /// It sleeps enough again.
    Up,
}

/// Watches how much a thread sleeps. Inputs: [`Guard::on_sleep`] after every sleep, [`Guard::poll`] every turn of the loop.
///
/// The kernel gives other threads 50 ms of every second that a real-time one leaves them none of, all at once. So within each 0.8 s a thread
/// has to sleep 6 %; one that does not steps down, and up again once it would have slept 15 %.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    slots: [Span; Self::SLOTS],
    current: usize,
    until: Ns,
    /// Slots that have to pass before there is a judgement.
    unknown: usize,
    down: bool,
    downs: u32,
}

impl Guard {
    const SLOTS: usize = 16;
    const SLOT: Span = Span::from_millis(50);
    const ENOUGH: Span = Span(Self::SLOT.0 * Self::SLOTS as i64 * 6 / 100);
    const PLENTY: Span = Span(Self::SLOT.0 * Self::SLOTS as i64 * 15 / 100);

    /// A guard that begins now.
    pub(crate) fn new(now: Ns) -> Self {
        Self { slots: [Span::ZERO; Self::SLOTS], current: 0, until: now + Self::SLOT, unknown: Self::SLOTS, down: false, downs: 0 }
    }

    /// The thread slept that long.
    #[inline]
    pub(crate) fn on_sleep(&mut self, slept: Span) {
        self.slots[self.current] += slept;
    }

    /// What to do, if anything.
    #[inline]
    pub(crate) fn poll(&mut self, now: Ns) -> Option<Step> {
        if now < self.until { None } else { self.turn(now) }
    }

    /// How often the thread had to step down.
    pub(crate) fn downs(&self) -> u32 {
        self.downs
    }

    fn turn(&mut self, now: Ns) -> Option<Step> {
        // A turn that took longer than a slot slept or was not run; either way the slots between hold nothing.
        while self.until <= now {
            self.current = (self.current + 1) % Self::SLOTS;
            self.slots[self.current] = Span::ZERO;
            self.unknown = self.unknown.saturating_sub(1);
            self.until = self.until.max(now - Span(Self::SLOT.0 * Self::SLOTS as i64)) + Self::SLOT;
        }
        if self.unknown > 0 {
            return None;
        }
        let slept = self.slots.iter().fold(Span::ZERO, |sum, one| sum + *one);
        let step = match self.down {
            false if slept < Self::ENOUGH => Step::Down,
            true if slept > Self::PLENTY => Step::Up,
            _ => return None,
        };
        self.down = step == Step::Down;
        self.downs += u32::from(self.down);
        self.unknown = Self::SLOTS;
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that sleeps a share of every millisecond; how often it stepped down and up within seconds.
    fn steps(guard: &mut Guard, from: Ns, seconds: i64, asleep_permille: i64) -> Vec<Step> {
        let mut found = Vec::new();
        for millisecond in 0..seconds * 1000 {
            let now = from + Span::from_millis(millisecond);
            guard.on_sleep(Span(asleep_permille * 1000));
            found.extend(guard.poll(now));
        }
        found
    }

    #[test]
    fn who_never_sleeps_steps_down_before_a_second_is_over_and_up_when_it_sleeps() {
        let mut guard = Guard::new(Ns(0));
        assert_eq!(steps(&mut guard, Ns(0), 1, 0), [Step::Down]);
        assert_eq!(steps(&mut guard, Ns(0) + Span::from_secs(1), 5, 50), []);
        assert_eq!(steps(&mut guard, Ns(0) + Span::from_secs(6), 5, 300), [Step::Up]);
        assert_eq!(guard.downs(), 1);
    }

    #[test]
    fn who_sleeps_enough_is_left_alone() {
        let mut guard = Guard::new(Ns(0));
        assert_eq!(steps(&mut guard, Ns(0), 10, 100), []);
    }

    #[test]
    fn a_long_pause_is_not_counted_slot_by_slot_for_ever() {
        let mut guard = Guard::new(Ns(0));
        let later = Ns(i64::MAX / 2);
        guard.on_sleep(later - Ns(0));
        let _ = guard.poll(later);
        assert!(guard.until > later - Span::from_secs(2));
    }

    #[test]
    fn the_offset_translates_there_and_back() {
        let offset = Offset::measure();
        let now = monotonic();
        assert_eq!(offset.to_monotonic(offset.to_realtime(now)), now);
    }

    #[test]
    fn waiting_never_ends_before_its_moment() {
        for ahead in [Span(-5), Span::from_micros(3), Span::from_micros(400)] {
            let due = monotonic() + ahead;
            assert!(wait_until(due) >= due);
            assert!(monotonic() >= due);
        }
    }
}
