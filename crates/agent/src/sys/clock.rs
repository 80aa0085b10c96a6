//! Clocks, and waiting for a moment to the microsecond.
//!
//! Everything is scheduled by the monotonic clock, which cannot be stepped. The kernel's packet
//! timestamps are of the real-time clock, which can: [`Offset`] translates, and notices a step.
//!
//! A sleeping thread wakes up tens of microseconds late, a spinning one costs a core: exact waits
//! sleep until shortly before ([`Oversleep`]) and spin the rest ([`spin_until`]). With real-time
//! priority no other thread delays it; but the kernel throttles a real-time thread that never
//! sleeps for 50 ms a second. [`Rest`] computes when to sleep briefly before that happens.
//!
//! Bias: none of this sees a hypervisor. While it runs another guest, no thread runs and no timer
//! expires; the wait ends that much later, and only the kernel's steal time (proc(5)) shows why.

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use crate::sys::kernel::{self, ClockId};

/// How long before a moment sleeping gives way to spinning: a little more than how late a thread
/// wakes up.
pub(crate) const SPIN: Span = Span::from_micros(100);
/// The priority that is requested: above ordinary threads, below those of the kernel that run at
/// 50.
pub(crate) const FIFO_PRIORITY: i32 = 10;
/// That of the emulator: what generators send must not wait in it because they are still sending.
pub(crate) const EMULATOR_PRIORITY: i32 = 20;

/// Now, by the clock that everything is scheduled by.
#[inline]
pub(crate) fn monotonic() -> Ns {
    kernel::read_clock(ClockId::Monotonic)
}

/// Now, by the clock of captures.
pub(crate) fn realtime() -> Ns {
    kernel::read_clock(ClockId::Realtime)
}

/// CPU time of the calling thread.
pub(crate) fn thread_time() -> Span {
    kernel::read_clock(ClockId::Thread) - Ns(0)
}

/// Spins until a moment of the monotonic clock. Returns the first moment seen that is not before
/// it.
pub(crate) fn spin_until(due: Ns) -> Ns {
    loop {
        let now = monotonic();
        if now >= due {
            return now;
        }
        std::hint::spin_loop();
    }
}

/// How far the real-time clock is ahead of the monotonic one. They run at the same rate; only a
/// step of the real-time clock changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offset {
    ahead: Span,
    steps: u32,
}

impl Offset {
    /// Less than this is the uncertainty of reading two clocks, more is a step.
    const TOLERANCE: Span = Span::from_micros(20);
    const TRIES: usize = 16;

    /// Measures it.
    pub(crate) fn measure() -> Self {
        Self { ahead: Self::tightest().0, steps: 0 }
    }

    /// Measures it again, and returns by how much the real-time clock was stepped since, if it was.
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

    /// How often the real-time clock was stepped.
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

    /// The reading between the two nearest readings of the other clock, and how far apart those
    /// are.
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

/// Wake-up latency, learned from each sleep: the time to spin instead of sleep.
///
/// It follows the 99th percentile: an estimate that rises by 99 steps when it was too low and falls
/// by one when it was not rests there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Oversleep(Span);

impl Oversleep {
    const STEP: Span = Span(50);
    const LEAST: Span = Span::from_micros(20);
    const MOST: Span = Span::from_micros(250);

    /// Nothing is known yet.
    pub(crate) fn new() -> Self {
        Self(SPIN)
    }

    /// How long before a moment to stop sleeping.
    #[inline]
    pub(crate) fn margin(self) -> Span {
        self.0
    }

    /// A sleep ended so much late.
    #[inline]
    pub(crate) fn add(&mut self, late: Span) {
        let moved =
            if late > self.0 { self.0 + Span(99 * Self::STEP.0) } else { self.0 - Self::STEP };
        self.0 = moved.clamp(Self::LEAST, Self::MOST);
    }
}

/// How a thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Priority {
    /// `SCHED_FIFO`: before every ordinary thread.
    #[default]
    Fifo,
    /// Like any other thread.
    Normal,
}

/// The granted priority.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Granted {
    /// How the thread is scheduled.
    pub(crate) priority: Priority,
    /// Why not as requested; none when it is.
    pub(crate) priority_refused: Option<String>,
}

/// Gives the calling thread exact timers and, if permitted, the priority.
pub(crate) fn take_priority(requested: Priority) -> Granted {
    take_priority_of(requested, FIFO_PRIORITY)
}

/// The same, of a level among real-time threads.
pub(crate) fn take_priority_of(requested: Priority, level: i32) -> Granted {
    // Without it every sleep is up to 50 µs longer; spinning makes up for it.
    let _ = kernel::tighten_timers();
    let (priority, priority_refused) = match requested {
        Priority::Normal => (Priority::Normal, None),
        Priority::Fifo => match kernel::schedule_fifo(level) {
            Ok(()) => (Priority::Fifo, None),
            Err(error) => (
                Priority::Normal,
                Some(format!("real-time priority needs root or CAP_SYS_NICE on the host: {error}")),
            ),
        },
    };
    Granted { priority, priority_refused }
}

/// How long a real-time thread must sleep for others to run. Inputs: [`Rest::on_sleep`] after every
/// sleep, [`Rest::due`] when it would not sleep.
///
/// On each processor the kernel lets real-time threads have 950 ms of a second, and takes the rest
/// all at once: always, where it was built with limits for groups of real-time threads; where it
/// was not, from Linux 6.12 on, when an ordinary thread starves there. A thread that sleeps 6 % of
/// every few milliseconds on its own never gets there: what it delays is late by a short sleep
/// instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rest {
    owed: Span,
    counted: Ns,
    short_sleeps: u64,
}

impl Rest {
    const PERCENT: i64 = 6;
    /// What earlier sleep is remembered: no more, or a second that begins with it would have less
    /// than 50 of its 60 ms left to come.
    const CREDIT: Span = Span::from_millis(-5);
    /// What is owed when a short sleep is taken, if nothing comes due in it; and if something does.
    const SOON: Span = Span::from_micros(60);
    const NOW: Span = Span::from_micros(90);
    /// What is owed at most: others that were starved for longer have had their 50 ms.
    const MOST: Span = Span::from_millis(1);
    /// A short sleep lasts longer than requested by about this, unless the processor is busy
    /// meanwhile; then the rest is owed for the next.
    const LONGER: Span = Span::from_micros(40);
    const SHORTEST: Span = Span::from_micros(20);

    /// Nothing is owed yet.
    pub(crate) fn new(now: Ns) -> Self {
        Self { owed: Span::ZERO, counted: now, short_sleeps: 0 }
    }

    /// The thread slept that long. Moments in which it hardly left the processor do not count.
    #[inline]
    pub(crate) fn on_sleep(&mut self, slept: Span) {
        if slept > Span::from_micros(5) {
            self.owed = (self.owed - slept).max(Self::CREDIT);
        }
    }

    /// How long to sleep now, if at all; `free` is the time until something has to be done.
    #[inline]
    pub(crate) fn due(&mut self, now: Ns, free: Span) -> Option<Span> {
        self.owed =
            (self.owed + Span((now - self.counted).0 * Self::PERCENT / 100)).min(Self::MOST);
        self.counted = now;
        let waits = free > self.owed + Self::LONGER;
        if self.owed < (if waits { Self::SOON } else { Self::NOW }) {
            return None;
        }
        self.short_sleeps += 1;
        Some((self.owed - Self::LONGER).max(Self::SHORTEST))
    }

    /// How often it was.
    pub(crate) fn short_sleeps(self) -> u64 {
        self.short_sleeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_translates_there_and_back() {
        let offset = Offset::measure();
        let now = monotonic();
        assert_eq!(offset.to_monotonic(offset.to_realtime(now)), now);
    }

    /// The share of a second that a thread is off the processor which would never sleep on its own,
    /// when short sleeps last longer than requested.
    fn rested(rest: &mut Rest, from: Ns, longer: Span) -> f64 {
        let (mut now, mut slept) = (from, Span::ZERO);
        while now - from < Span::from_secs(1) {
            now = now + Span::from_micros(2);
            if let Some(sleep) = rest.due(now, Span::ZERO) {
                let sleep = sleep + longer;
                (now, slept) = (now + sleep, slept + sleep);
                rest.on_sleep(sleep);
            }
        }
        slept.as_secs_f64()
    }

    #[test]
    fn a_thread_that_never_sleeps_rests_more_than_the_kernel_requires() {
        for longer in [0, 3, 45, 400] {
            let mut rest = Rest::new(Ns(0));
            rest.on_sleep(Span::from_secs(100));
            let share = rested(&mut rest, Ns(0), Span::from_micros(longer));
            assert!((0.05..0.07).contains(&share), "sleeps {longer} µs longer: {share}");
            assert!(rest.short_sleeps() > 0);
        }
    }

    #[test]
    fn a_rest_waits_for_a_gap_but_not_for_ever() {
        let mut rest = Rest::new(Ns(0));
        let owing = |owed: i64| Ns(owed * 100 / Rest::PERCENT);
        assert_eq!(rest.due(owing(70_000), Span::from_micros(30)), None);
        assert!(rest.clone().due(owing(70_000), Span::from_micros(200)).is_some());
        assert!(rest.due(owing(90_001), Span::from_micros(30)).is_some());
    }

    #[test]
    fn a_thread_that_sleeps_enough_needs_no_rest() {
        let mut rest = Rest::new(Ns(0));
        for millisecond in 1..5000 {
            rest.on_sleep(Span::from_micros(70));
            assert_eq!(rest.due(Ns(0) + Span::from_millis(millisecond), Span::ZERO), None);
        }
    }

    #[test]
    fn oversleeping_is_learned_and_forgotten() {
        let mut oversleep = Oversleep::new();
        for number in 0..20_000 {
            oversleep.add(Span::from_micros(40 + number % 30));
        }
        assert!(
            (Span::from_micros(66)..Span::from_micros(76)).contains(&oversleep.margin()),
            "{:?}",
            oversleep.margin()
        );
        for _ in 0..20_000 {
            oversleep.add(Span::from_millis(5));
        }
        assert_eq!(oversleep.margin(), Oversleep::MOST);
        for _ in 0..20_000 {
            oversleep.add(Span(-3));
        }
        assert_eq!(oversleep.margin(), Oversleep::LEAST);
    }

    #[test]
    fn waiting_never_ends_before_its_moment() {
        for ahead in [Span(-5), Span::from_micros(3), Span::from_micros(400)] {
            let due = monotonic() + ahead;
            assert!(spin_until(due) >= due);
            assert!(monotonic() >= due);
        }
    }
}
