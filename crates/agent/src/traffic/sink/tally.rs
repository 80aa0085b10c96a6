//! Packets received of one source: counts, loss, order, duplicates, delay.
//!
//! A packet is *reordered* when its number is smaller than an earlier one's (RFC 4737, section
//! 3.3), a *duplicate* when its number was received before. *Lost* are the missing numbers between
//! the first and the last; losses after the last one received are unknown here: compare with the
//! sender's report. A packet more than [`WINDOW`] numbers late counts as reordered, though it may
//! be a duplicate (then one loss too few is counted).

use serde::Serialize;
use trustbed_units::{Ns, Span};

use crate::traffic::payload_header::PayloadHeader;

/// Numbers below the highest one that are remembered.
const WINDOW: u64 = 8192;
const WORDS: usize = (WINDOW / 64) as usize;

/// What arrived of one source.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    packets: u64,
    payload_bytes: u64,
    /// Packets too short for a header.
    unnumbered: u64,
    duplicated: u64,
    reordered: u64,
    /// The highest number so far, unwrapped to 64 bits; the first one seen.
    highest: Option<u64>,
    lowest: u64,
    seen: Box<[u64; WORDS]>,
    delay: Delay,
    first: Option<Ns>,
    last: Option<Ns>,
}

/// From the moment of sending to the moment of taking; means something when both ends share a
/// clock.
#[derive(Debug, Clone, Copy, Default)]
struct Delay {
    count: u64,
    sum: i128,
    least: i64,
    most: i64,
}

/// A tally for others to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct TallyReport {
    pub(crate) packets: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) lost_packets: u64,
    pub(crate) reordered_packets: u64,
    pub(crate) duplicated_packets: u64,
    pub(crate) unnumbered_packets: u64,
    pub(crate) first_sequence: Option<u64>,
    pub(crate) last_sequence: Option<u64>,
    pub(crate) first_ns: Option<i64>,
    pub(crate) last_ns: Option<i64>,
    pub(crate) delay_least_ns: Option<i64>,
    pub(crate) delay_mean_ns: Option<i64>,
    pub(crate) delay_most_ns: Option<i64>,
}

impl Tally {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            packets: 0,
            payload_bytes: 0,
            unnumbered: 0,
            duplicated: 0,
            reordered: 0,
            highest: None,
            lowest: 0,
            seen: Box::new([0; WORDS]),
            delay: Delay::default(),
            first: None,
            last: None,
        }
    }

    /// Counts a packet that was taken at a moment of the real-time clock.
    pub(crate) fn on_packet(&mut self, payload_bytes: u64, stamp: Option<PayloadHeader>, at: Ns) {
        self.packets += 1;
        self.payload_bytes += payload_bytes;
        self.first.get_or_insert(at);
        self.last = Some(at);
        let Some(stamp) = stamp else {
            self.unnumbered += 1;
            return;
        };
        if let Some(sent) = stamp.sent {
            self.delay.add(at - sent);
        }
        self.on_number(stamp.sequence);
    }

    fn on_number(&mut self, sequence: u32) {
        let Some(highest) = self.highest else {
            let number = u64::from(sequence);
            (self.highest, self.lowest) = (Some(number), number);
            self.mark(number);
            return;
        };
        let number = unwrap(sequence, highest);
        if number > highest {
            self.forget(highest, number);
            self.highest = Some(number);
            self.mark(number);
        } else if highest - number >= WINDOW {
            self.reordered += 1;
        } else if self.is_marked(number) {
            self.duplicated += 1;
        } else {
            self.reordered += 1;
            self.mark(number);
        }
        self.lowest = self.lowest.min(number);
    }

    /// The slots of the numbers above the old highest up to the new one held older numbers.
    fn forget(&mut self, old: u64, new: u64) {
        if new - old >= WINDOW {
            self.seen.fill(0);
            return;
        }
        for number in old + 1..=new {
            let (word, bit) = bit_of(number);
            self.seen[word] &= !bit;
        }
    }

    fn mark(&mut self, number: u64) {
        let (word, bit) = bit_of(number);
        self.seen[word] |= bit;
    }

    fn is_marked(&self, number: u64) -> bool {
        let (word, bit) = bit_of(number);
        self.seen[word] & bit != 0
    }

    /// The counts.
    pub(crate) fn report(&self) -> TallyReport {
        let numbered = self.packets - self.unnumbered - self.duplicated;
        let span = self.highest.map_or(0, |highest| highest - self.lowest + 1);
        TallyReport {
            packets: self.packets,
            payload_bytes: self.payload_bytes,
            // Packets without room for their number count in the sequence all the same.
            lost_packets: span.saturating_sub(numbered).saturating_sub(self.unnumbered),
            reordered_packets: self.reordered,
            duplicated_packets: self.duplicated,
            unnumbered_packets: self.unnumbered,
            first_sequence: self.highest.map(|_| self.lowest),
            last_sequence: self.highest,
            first_ns: self.first.map(|at| at.0),
            last_ns: self.last.map(|at| at.0),
            delay_least_ns: self.delay.known(self.delay.least),
            delay_mean_ns: self.delay.mean(),
            delay_most_ns: self.delay.known(self.delay.most),
        }
    }
}

impl Delay {
    fn add(&mut self, delay: Span) {
        (self.least, self.most) = if self.count == 0 {
            (delay.0, delay.0)
        } else {
            (self.least.min(delay.0), self.most.max(delay.0))
        };
        self.count += 1;
        self.sum += i128::from(delay.0);
    }

    fn known(&self, value: i64) -> Option<i64> {
        (self.count > 0).then_some(value)
    }

    fn mean(&self) -> Option<i64> {
        let count = i128::from(self.count);
        (count > 0).then(|| i64::try_from(self.sum / count).unwrap_or(i64::MAX))
    }
}

const fn bit_of(number: u64) -> (usize, u64) {
    (((number % WINDOW) / 64) as usize, 1 << (number % 64))
}

/// The number with these low 32 bits that is nearest to `near`.
fn unwrap(sequence: u32, near: u64) -> u64 {
    let low = (near & 0xffff_ffff) as u32;
    let ahead = i64::from(sequence.wrapping_sub(low).cast_signed());
    // A number from before the first wrap cannot be below zero: then it is far ahead.
    near.checked_add_signed(ahead).unwrap_or_else(|| near + u64::from(sequence.wrapping_sub(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(numbers: &[u32]) -> TallyReport {
        let mut tally = Tally::new();
        for (index, sequence) in (0_i64..).zip(numbers) {
            let stamp = PayloadHeader {
                nonce: 0,
                source: 0,
                sequence: *sequence,
                sent: Some(Ns(index * 10)),
            };
            tally.on_packet(100, Some(stamp), Ns(index * 10 + 5 + index));
        }
        tally.report()
    }

    fn counts(report: &TallyReport) -> (u64, u64, u64, u64) {
        (report.packets, report.lost_packets, report.reordered_packets, report.duplicated_packets)
    }

    #[test]
    fn missing_numbers_are_lost() {
        let report = tally(&[3, 4, 7, 8]);
        assert_eq!(
            (counts(&report), report.first_sequence, report.last_sequence),
            ((4, 2, 0, 0), Some(3), Some(8))
        );
        assert_eq!(
            (report.delay_least_ns, report.delay_mean_ns, report.delay_most_ns),
            (Some(5), Some(6), Some(8))
        );
        assert_eq!(counts(&tally(&[])), (0, 0, 0, 0));
    }

    #[test]
    fn late_packets_are_reordered_and_not_lost() {
        assert_eq!(counts(&tally(&[0, 2, 3, 1, 4])), (5, 0, 1, 0));
        assert_eq!(counts(&tally(&[1, 0])), (2, 0, 1, 0));
    }

    #[test]
    fn duplicates_are_counted_once() {
        assert_eq!(counts(&tally(&[0, 1, 1, 2, 0, 5])), (6, 2, 0, 2));
    }

    #[test]
    fn numbers_wrap() {
        let report = tally(&[u32::MAX - 1, u32::MAX, 1, 0, 2]);
        assert_eq!((counts(&report), report.last_sequence), ((5, 0, 1, 0), Some((1 << 32) + 2)));
    }

    #[test]
    fn window_slots_are_reused() {
        let window = u32::try_from(WINDOW).expect("small");
        assert_eq!(counts(&tally(&[0, window, 1])), (3, u64::from(window) - 2, 1, 0));
        assert_eq!(counts(&tally(&[5, 5 + 3 * window, 5 + 2 * window, 5])).2, 2);
    }

    #[test]
    fn packets_too_short_for_a_number_are_not_lost() {
        let mut tally = Tally::new();
        for sequence in [Some(0), None, Some(2), Some(4)] {
            let stamp = sequence.map(|sequence| PayloadHeader {
                nonce: 0,
                source: 0,
                sequence,
                sent: None,
            });
            tally.on_packet(1, stamp, Ns(1));
        }
        let report = tally.report();
        assert_eq!(
            (report.unnumbered_packets, report.lost_packets, report.delay_mean_ns),
            (1, 1, None)
        );
    }
}
