//! The thread that reads the clock in a loop.
//!
//! The loop makes no system calls: the clock is read through the vDSO (vdso(7)), tables of gaps are
//! allocated and touched before, and the writer of lines is notified without waiting. Once a
//! second, and at both ends of a window, the thread reads its own CPU time.

use std::hint::black_box;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use rustix::thread::{CpuSet, sched_setaffinity};
use serde::Serialize;
use trustbed_probe::{
    Availability, AvailabilitySecond, AvailabilitySettings, Charge, Charging, DutyCycle, Gap,
};
use trustbed_units::{Ns, Span};

use super::figures::{Charged, Figures};
use crate::session::workers::Start;
use crate::session::{Failure, Stop};
use crate::sys::clock;
use crate::sys::kernel;

/// How long passes are tried, and how many at most.
const TRIAL: Span = Span::from_millis(10);
const MOST_PASSES: usize = 1 << 19;

/// How long passes take, of some milliseconds.
pub(crate) fn trial() -> Vec<Span> {
    let mut passes = Vec::with_capacity(MOST_PASSES);
    let begin = clock::monotonic();
    let mut before = begin;
    while passes.len() < MOST_PASSES {
        let now = clock::monotonic();
        passes.push(now - before);
        before = now;
        if now - begin > TRIAL {
            break;
        }
    }
    passes
}

/// A second that is over.
#[derive(Debug)]
pub(super) struct SpunSecond {
    pub(super) thread: usize,
    pub(super) processor: Option<usize>,
    pub(super) second: AvailabilitySecond,
    /// The gaps that began in it, as far as the table had room.
    pub(super) gaps: Vec<Gap>,
    /// Nothing where the thread's clock was not read in it: it was not watched, or over before the
    /// thread ran again.
    pub(super) charge: Option<Charge>,
}

/// Where seconds go, and empty tables come from, without waiting for either.
#[derive(Debug)]
pub(super) struct Outlet {
    sender: SyncSender<SpunSecond>,
    home: SyncSender<Vec<Gap>>,
    spare: Receiver<Vec<Gap>>,
    left_out: u64,
}

impl Outlet {
    /// An outlet with as many tables as can go round, and where they come back to.
    pub(super) fn new(
        sender: SyncSender<SpunSecond>,
        tables: usize,
        room: usize,
    ) -> (Self, SyncSender<Vec<Gap>>) {
        let (home, spare) = sync_channel(tables);
        while home.try_send(table(room)).is_ok() {}
        (Self { sender, home: home.clone(), spare, left_out: 0 }, home)
    }

    /// A table that is empty; one without room when all of them are under way.
    fn spare(&self) -> Vec<Gap> {
        self.spare.try_recv().unwrap_or_default()
    }

    /// The gaps that were recorded. A table that holds none is kept, unless it has no room: it was
    /// taken while all others were under way.
    fn change_table(&self, monitor: &mut Availability) -> Vec<Gap> {
        if monitor.recorded().is_empty() && monitor.has_room() {
            Vec::new()
        } else {
            monitor.exchange(self.spare())
        }
    }

    fn send(&mut self, spun: SpunSecond) {
        if let Err(TrySendError::Full(spun) | TrySendError::Disconnected(spun)) =
            self.sender.try_send(spun)
        {
            self.left_out += 1;
            return_table(&self.home, spun.gaps);
        }
    }
}

/// Brings a table back. One without room stays away: it would replace one with.
pub(super) fn return_table(home: &SyncSender<Vec<Gap>>, table: Vec<Gap>) {
    if table.capacity() > 0 {
        // There is room for every table that was taken.
        let _ = home.try_send(table);
    }
}

/// An empty table whose memory is there: writing to it asks the system for nothing.
fn table(room: usize) -> Vec<Gap> {
    let mut table = vec![Gap { begin: Ns::MIN, length: Span::MAX }; room];
    black_box(&mut table).clear();
    table
}

/// The task of a thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spinner {
    pub(super) thread: usize,
    /// The core to which it is held; none where the kernel chooses.
    pub(super) processor: Option<usize>,
    /// How many cores the program may use.
    pub(super) cores: u32,
    pub(super) duty: DutyCycle,
    pub(super) threshold: Span,
    pub(super) start: Start,
    /// By the monotonic clock.
    pub(super) end: Option<Ns>,
    pub(super) stop: Stop,
}

/// The results of a thread.
#[derive(Debug, Serialize)]
pub(super) struct Spun {
    thread: usize,
    processor: Option<usize>,
    from_ns: i64,
    until_ns: i64,
    seconds: u64,
    starved_seconds: u64,
    #[serde(flatten)]
    figures: Figures,
    /// The same as `lost_ns` if all of the time was watched; otherwise as much for the rest of it.
    noise_ns: Option<i64>,
    charged: Option<Charged>,
    /// Seconds that are not in the file because who writes it was behind.
    lines_left_out: u64,
}

impl Spinner {
    /// Spins from the start to the end.
    pub(super) fn run(self, outlet: Outlet) -> Result<Spun, Failure> {
        // Without it a window begins up to 50 µs later.
        let _ = kernel::tighten_timers();
        if let Some(processor) = self.processor {
            let mut only = CpuSet::new();
            only.set(processor);
            sched_setaffinity(None, &only).map_err(|error| {
                Failure::running(
                    format!("processor {processor} cannot be used: {error}"),
                    "spin on one core, which the kernel chooses",
                )
            })?;
        }
        self.stop.wait_until(self.start.monotonic);
        let mut spinning = Spinning::begin(self, outlet);
        spinning.spin();
        Ok(spinning.end())
    }
}

/// A thread that spins.
struct Spinning {
    requested: Spinner,
    monitor: Availability,
    outlet: Outlet,
    /// The last reading of the clock.
    now: Ns,
    charging: Charging,
    /// Of the open second, when its thread's clock was read.
    charge: Option<Charge>,
    charged: Option<Charge>,
}

impl Spinning {
    fn begin(requested: Spinner, outlet: Outlet) -> Self {
        let now = clock::monotonic();
        let settings = AvailabilitySettings {
            threshold: requested.threshold,
            duty: requested.duty,
            table: outlet.spare(),
        };
        Self {
            monitor: Availability::new(settings, requested.start.offset.to_realtime(now)),
            charging: Charging::begin(now, clock::thread_time()),
            requested,
            outlet,
            now,
            charge: None,
            charged: None,
        }
    }

    /// Window after window; where there is no duty cycle, second after second.
    fn spin(&mut self) {
        while !self.is_over() {
            let offset = self.requested.start.offset;
            let window = self.requested.duty.at(offset.to_realtime(self.now));
            let (from, until) =
                (offset.to_monotonic(window.from), offset.to_monotonic(window.until));
            if from > self.now && !self.sleep(from) {
                break;
            }
            self.pass(self.by_the_end(until));
            let charge = self.charging.read(self.now, clock::thread_time());
            self.charge = Some(charge);
            self.charged = Some(sum(self.charged, charge));
            self.hand_over();
        }
    }

    fn is_over(&self) -> bool {
        self.requested.stop.is_requested() || self.requested.end.is_some_and(|end| self.now >= end)
    }

    /// Sleeps until a window begins; false when it is all over before. Who is kept from waking up
    /// is paused: the time until it does is a gap.
    fn sleep(&mut self, from: Ns) -> bool {
        let until = self.by_the_end(from);
        let came = self.requested.stop.wait_until(until);
        self.now = if came { until } else { clock::monotonic() };
        if self.is_over() {
            return false;
        }
        self.hand_over();
        let woken = clock::monotonic();
        if woken - self.now > self.requested.threshold {
            self.notice(woken);
        }
        self.now = woken;
        self.charging = Charging::begin(woken, clock::thread_time());
        true
    }

    /// A moment, or the end if that is earlier.
    fn by_the_end(&self, moment: Ns) -> Ns {
        self.requested.end.map_or(moment, |end| end.min(moment))
    }

    /// Reads the clock until a moment, or until stop is requested.
    ///
    /// Without a pause instruction on purpose: a hypervisor takes a guest that pauses in a loop for
    /// one that waits for a lock, and gives its processor to another.
    #[inline(never)]
    fn pass(&mut self, until: Ns) {
        let (stop, threshold) = (self.requested.stop, self.requested.threshold);
        let mut passes = 0;
        loop {
            // Asked before the clock: of a pause that ends with the request nothing is lost.
            let over = stop.is_requested();
            let now = clock::monotonic();
            passes += 1;
            if now - self.now > threshold {
                self.charging.on_gap(now - self.now);
                self.notice(now);
            }
            self.now = now;
            if now >= until || over {
                break;
            }
        }
        self.monitor.on_passes(passes);
    }

    /// The thread did not run from the last reading of the clock to this one.
    fn notice(&mut self, now: Ns) {
        self.monitor.on_gap(Gap {
            begin: self.requested.start.offset.to_realtime(self.now),
            length: now - self.now,
        });
    }

    /// Reports the seconds that are over.
    fn hand_over(&mut self) {
        self.monitor.advance(self.requested.start.offset.to_realtime(self.by_the_end(self.now)));
        while let Some(second) = self.monitor.poll_second() {
            let gaps = self.outlet.change_table(&mut self.monitor);
            let charge = self.charge.take();
            self.outlet.send(SpunSecond {
                thread: self.requested.thread,
                processor: self.requested.processor,
                second,
                gaps,
                charge,
            });
        }
    }

    fn end(mut self) -> Spun {
        self.now = self.by_the_end(self.now);
        self.monitor.finish(self.requested.start.offset.to_realtime(self.now));
        self.hand_over();
        let totals = self.monitor.totals();
        Spun {
            thread: self.requested.thread,
            processor: self.requested.processor,
            from_ns: totals.from.0,
            until_ns: totals.until.0,
            seconds: totals.seconds,
            starved_seconds: totals.starved_seconds,
            figures: Figures::of(&totals.tally, self.requested.cores),
            noise_ns: totals.noise().map(|noise| noise.0),
            charged: self.charged.map(Charged::from),
            lines_left_out: self.outlet.left_out,
        }
    }
}

fn sum(before: Option<Charge>, more: Charge) -> Charge {
    before.map_or(more, |before| Charge {
        elapsed: before.elapsed + more.elapsed,
        lost: before.lost + more.lost,
        charged: before.charged + more.charged,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_recorded_again_once_a_table_is_returned() {
        let (sender, _receiver) = sync_channel(1);
        let (outlet, home) = Outlet::new(sender, 1, 3);
        let settings = AvailabilitySettings {
            threshold: Span(1),
            duty: DutyCycle::always(),
            table: outlet.spare(),
        };
        let mut monitor = Availability::new(settings, Ns(0));
        let record = |monitor: &mut Availability, at: i64| {
            monitor.on_gap(Gap { begin: Ns(at), length: Span(5) });
        };
        record(&mut monitor, 10);
        let under_way = outlet.change_table(&mut monitor);
        assert_eq!(
            (under_way.len(), monitor.has_room()),
            (1, false),
            "the only table is under way"
        );
        record(&mut monitor, 20);
        return_table(&home, outlet.change_table(&mut monitor));
        assert!(monitor.recorded().is_empty() && !monitor.has_room());
        return_table(&home, under_way);
        assert!(outlet.change_table(&mut monitor).is_empty());
        record(&mut monitor, 30);
        assert_eq!(outlet.change_table(&mut monitor), [Gap { begin: Ns(30), length: Span(5) }]);
    }
}
