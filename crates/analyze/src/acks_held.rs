//! Packets of the receiver that came together although it had sent them apart, by its own clock
//! (timestamp option, RFC 7323), and data that passed the capture later than their stamp says.
//!
//! Beside the sender, acknowledgements that were held come from a path that delivers in bursts
//! (link layers that repeat, jitter that keeps order) or wait in the capturing machine until it
//! runs. Nothing before the capture delays the sender's own data but its machine and its queue.
//! Where both happen, and no data passed while the acknowledgements waited, the machine that the
//! capture was taken in stalled. Data that a pacer keeps sending show that it ran.
//!
//! Bias: acknowledgements that were sent within a few ticks of each other show nothing, however
//! long they waited; so does a receiver without timestamps or with a tick above 4 ms.

use trustbed_units::Ns;

use crate::HostClock;

/// Packets this close together came together: interrupts are coalesced within less.
const TOGETHER: i64 = 500_000;
/// What a receiver sent this much further apart than it came was held.
const HELD: f64 = 5e6;
/// Data this late by the sender's clock were held before the capture.
const LATE: i64 = 4_000_000;

/// Acknowledgements and data that were held where the capture was taken.
#[derive(Debug, Clone, Copy, Default)]
pub struct AcksHeld {
    clock: HostClock,
    group: Option<Group>,
    /// How often acknowledgements were.
    pub count: u32,
    /// By how much in sum, in nanoseconds.
    pub time: i64,
    /// Data packets that were.
    pub data: u32,
    on_time: OnTime,
}

/// Data that passed on time, without a pause within the last of them.
#[derive(Debug, Clone, Copy, Default)]
struct OnTime {
    first: Ns,
    last: Ns,
    /// The last before the pause.
    before: Ns,
}

impl OnTime {
    #[inline]
    fn add(&mut self, now: Ns) {
        if (now - self.last).0 > TOGETHER {
            (self.first, self.before) = (now, self.last);
        }
        self.last = now;
    }

    /// Since when none passed, at `now`, without those that may have left at that moment.
    fn none_since(&self, now: Ns) -> Ns {
        let at_once = (now - self.last).0 <= TOGETHER && (now - self.first).0 <= 2 * TOGETHER;
        if at_once { self.before } else { self.last }
    }
}

/// Packets of the receiver that came together.
#[derive(Debug, Clone, Copy)]
struct Group {
    before: Ns,
    began: Ns,
    last: Ns,
    stamps: (u32, u32),
    /// Since when no data had passed.
    quiet: Ns,
}

impl AcksHeld {
    /// A packet of the receiver came, stamped `tsval`.
    #[inline]
    pub fn on_ack(&mut self, now: Ns, tsval: u32) {
        match &mut self.group {
            Some(group) if (now - group.last).0 <= TOGETHER => {
                group.last = now;
                group.stamps.1 = tsval;
            }
            group => {
                self.clock.on_packet(tsval, now);
                let before = group.map_or(now, |group| group.last);
                let quiet = self.on_time.none_since(now).max(before);
                let stamps = (tsval, tsval);
                let closed = group.replace(Group { before, began: now, last: now, stamps, quiet });
                self.close(closed);
            }
        }
    }

    /// Nanoseconds per tick of the receiver's clock, where it is fine.
    #[inline]
    pub fn tick(&self) -> Option<f64> {
        self.clock.fine_tick()
    }

    /// Data passed the capture at `now`, `lag` nanoseconds later than the sender's clock says.
    #[inline]
    pub fn on_data(&mut self, now: Ns, lag: i64) {
        if lag >= LATE {
            self.data += 1;
        } else {
            self.on_time.add(now);
        }
    }

    /// The transfer is over.
    pub fn on_end(&mut self) {
        let closed = self.group.take();
        self.close(closed);
    }

    /// The clock stepped.
    pub fn on_clock_step(&mut self) {
        self.group = None;
        self.clock = HostClock::default();
        self.on_time = OnTime::default();
    }

    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds")]
    fn close(&mut self, group: Option<Group>) {
        let Some(group) = group else { return };
        let ticks = group.stamps.1.wrapping_sub(group.stamps.0).cast_signed();
        if ticks <= 0 {
            return;
        }
        let Some(tick) = self.clock.fine_tick() else { return };
        // Nothing waits longer than since the packet before, which it would have come with.
        let apart = (f64::from(ticks - 1) * tick).min((group.began - group.before).as_f64());
        let held = apart - (group.last - group.began).as_f64();
        // As long as data pass, the machine runs.
        if held >= HELD && (group.began - group.quiet).as_f64() >= held / 2.0 {
            self.count += 1;
            self.time += held as i64;
        }
    }
}
