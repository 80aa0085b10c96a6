//! What is counted at a link.

use trustbed_units::{Ns, Span};

use crate::histogram::Histogram;
use crate::queue::Found;
use crate::{Fate, Passage};

/// Counts of one link.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counters {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) passed_packets: u64,
    pub(crate) passed_bytes: u64,
    /// By the code of the fate.
    pub(crate) fates: [u64; Fate::ALL.len()],
    pub(crate) copies: u64,
    pub(crate) reordered: u64,
    pub(crate) moved_forward: u64,
    /// From arrival to the beginning of the own transmission, ns.
    pub(crate) waits: Histogram,
    pub(crate) deepest_packets: u32,
    pub(crate) deepest_units: u128,
    per_byte: u64,
    first_departure: Option<Ns>,
    last_departure: Ns,
    /// Sent behind the first departure.
    sent_bytes: u64,
}

impl Counters {
    pub(crate) fn new(per_byte: u64) -> Self {
        Self { per_byte, ..Self::default() }
    }

    #[inline]
    pub(crate) fn on_offered(&mut self, length: u32, moved: bool) {
        self.packets += 1;
        self.bytes += u64::from(length);
        self.moved_forward += u64::from(moved);
    }

    #[inline]
    pub(crate) fn on_queued(&mut self, found: Found, length: u32) {
        let units = found.units + u128::from(length) * u128::from(self.per_byte);
        self.deepest_units = self.deepest_units.max(units);
        self.deepest_packets = self.deepest_packets.max(found.packets.saturating_add(1));
    }

    #[inline]
    pub(crate) fn on_sent(&mut self, wait: Span, departure: Ns, length: u32) {
        self.waits.add(wait.0.unsigned_abs());
        if self.first_departure.is_none() {
            self.first_departure = Some(departure);
        } else {
            self.sent_bytes += u64::from(length);
        }
        self.last_departure = departure;
    }

    #[inline]
    pub(crate) const fn on_dropped(&mut self, fate: Fate) {
        self.fates[fate.code() as usize] += 1;
    }

    #[inline]
    pub(crate) fn on_passed(&mut self, passage: &Passage) {
        self.passed_packets += 1;
        self.passed_bytes += u64::from(passage.length);
        self.fates[usize::from(Fate::Passed.code())] += 1;
    }

    /// What was counted as passed did not.
    pub(crate) fn on_crowded_out(&mut self, passage: &Passage) {
        self.passed_packets -= 1;
        self.passed_bytes -= u64::from(passage.length);
        self.fates[usize::from(Fate::Passed.code())] -= 1;
        self.on_dropped(Fate::EmulatorFull);
    }

    /// Rounded up.
    pub(crate) fn deepest_bytes(&self) -> u64 {
        Found { packets: 0, units: self.deepest_units }.bytes(self.per_byte.max(1))
    }

    /// Bits sent per second, from the first departure to the last: what left behind the first one,
    /// over the time that it took.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    pub(crate) fn sent_bits_per_second(&self) -> Option<f64> {
        let time = self.last_departure - self.first_departure?;
        (time > Span::ZERO).then(|| self.sent_bytes as f64 * 8.0 / time.as_secs_f64())
    }
}
