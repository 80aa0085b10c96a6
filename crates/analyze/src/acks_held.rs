//! Packets of the receiver that came together although it had sent them apart, by its own clock
//! (timestamp option, RFC 7323), and data that passed the capture later than their stamp says.
//!
//! Beside the sender, acknowledgements that were held come from a path that delivers in bursts
//! (link layers that repeat, jitter that keeps order) or wait in the capturing machine until it
//! runs. Nothing before the capture delays the sender's own data but its machine and its queue.
//! Where both happen, the machine that the capture was taken in stalled.
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
}

/// Packets of the receiver that came together.
#[derive(Debug, Clone, Copy)]
struct Group {
    before: Ns,
    began: Ns,
    last: Ns,
    stamps: (u32, u32),
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
                let closed =
                    group.replace(Group { before, began: now, last: now, stamps: (tsval, tsval) });
                self.close(closed);
            }
        }
    }

    /// Data passed the capture `lag` nanoseconds later than the sender's clock says.
    #[inline]
    pub fn on_data(&mut self, lag: i64) {
        self.data += u32::from(lag >= LATE);
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
        if held >= HELD {
            self.count += 1;
            self.time += held as i64;
        }
    }
}
