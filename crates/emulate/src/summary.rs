//! What a network did, in numbers that can be printed.

use std::collections::BTreeMap;

use serde::Serialize;
use trustbed_units::{Ns, Span};

use crate::counters::Counters;
use crate::histogram::Histogram;
use crate::{Fate, Pipe, Spread};

/// From when on a packet counts as overdue: by less, an emulator is late in every other turn, and
/// it has harmed nothing that was measured.
const OVERDUE: Span = Span::from_millis(1);

/// What became of everything that was offered. Offered + copies = delivered + dropped in the pipes
/// + unsent + inside; what was refused is not among the offered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Packets that got in.
    pub offered_packets: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// Packets that were sent on behind their last pipe.
    pub delivered_packets: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Packets that are in the pipes, or handed over, their sending not reported yet.
    pub inside_packets: u64,
    /// Packets that came out and could not be sent on.
    pub unsent_packets: u64,
    /// Packets that did not get in, by reason; reasons that did not occur are not there.
    pub refused: BTreeMap<&'static str, u64>,
    /// How late packets were sent on.
    pub departure_error: DepartureError,
    /// The pipes, in the order of the topology.
    pub pipes: Vec<PipeSummary>,
}

/// How late packets were sent on: actual against scheduled times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DepartureError {
    /// Packets whose sending was reported.
    pub packets: u64,
    /// Of these; one sent early counts as 0.
    #[serde(flatten)]
    pub spread: Spread,
    /// Packets that were sent early.
    pub early_packets: u64,
    /// The earliest, in nanoseconds.
    pub early_max_ns: u64,
    /// The share late by more than a full frame (1514 bytes) takes on the slowest pipe of their
    /// path; nothing where no packet crossed a pipe with a rate. Not by their own time: an
    /// acknowledgement takes a few microseconds, and that it was late by as much changes nothing
    /// (docs/validation.md, "Departure errors of the emulator").
    pub late_by_more_than_a_packet_time: Option<f64>,
    /// The share of the time, from when the first packet was due to when the last was sent, in
    /// which packets were overdue, those by up to a millisecond not counted: for so long the
    /// network stalled. Nothing before there is such a time.
    pub overdue_share: Option<f64>,
}

/// What a pipe did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PipeSummary {
    /// Its name.
    pub name: String,
    /// Where packets enter.
    pub from: String,
    /// Where they come out.
    pub to: String,
    /// Packets that came.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that came out, copies included.
    pub carried_packets: u64,
    /// Their bytes.
    pub carried_bytes: u64,
    /// Bits sent per second from the first departure to the last; nothing when fewer than two
    /// packets were sent.
    pub carried_bits_per_second: Option<f64>,
    /// Packets that did not come out, by cause; causes that did not occur are not there.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Copies that it made.
    pub copies: u64,
    /// Packets that came out behind one that was sent later.
    pub reordered: u64,
    /// Packets that came with a time before their predecessor's, and were moved to it.
    pub moved_forward: u64,
    /// From coming to the beginning of the own transmission.
    pub queue_delay: Spread,
    /// The most packets in the queue, the one being sent included.
    pub deepest_queue_packets: u32,
    /// The most bytes in the queue that were not sent yet, rounded up.
    pub deepest_queue_bytes: u64,
}

/// What is counted while packets are handed over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    late: Histogram,
    early_packets: u64,
    early_max: u64,
    with_rate: u64,
    late_by_a_packet: u64,
    overdue: Overdue,
}

/// The time in which packets were overdue: spans from when a packet was due to when it was sent,
/// joined where they overlap.
///
/// Packets are reported in the order of their sending, but for those of one turn. One that was due
/// before the last span but one ended fills no gap before it: so the time is never over-estimated.
#[derive(Debug, Clone, Copy, Default)]
struct Overdue {
    /// When the first packet was due, and when the last was sent.
    whole: Option<(Ns, Ns)>,
    /// The last span, which may still grow, and when the one before it ended.
    last: Option<(Ns, Ns)>,
    floor: Option<Ns>,
    /// Of all spans but the last.
    before: Span,
}

impl Overdue {
    #[inline]
    fn add(&mut self, due: Ns, at: Ns) {
        let (first, until) = self.whole.unwrap_or((due, at));
        self.whole = Some((first.min(due), until.max(at)));
        if at - due <= OVERDUE {
            return;
        }
        let (mut begin, mut end) = self.last.unwrap_or((due, due));
        if due > end {
            self.before += end - begin;
            self.floor = Some(end);
            (begin, end) = (due, at);
        }
        let due = self.floor.map_or(due, |floor| due.max(floor));
        self.last = Some((begin.min(due), end.max(at)));
    }

    #[expect(clippy::cast_precision_loss, reason = "a share is a float")]
    fn share(&self) -> Option<f64> {
        let (first, until) = self.whole.filter(|(first, until)| until > first)?;
        let last = self.last.map_or(Span::ZERO, |(begin, end)| end - begin);
        Some((self.before + last).0 as f64 / (until - first).0 as f64)
    }
}

impl Tally {
    #[inline]
    pub(crate) fn on_sent(&mut self, due: Ns, at: Ns, packet_time: Span) {
        let late_ns = (at - due).0;
        self.overdue.add(due, at);
        self.late.add(late_ns.max(0).unsigned_abs());
        if late_ns < 0 {
            self.early_packets += 1;
            self.early_max = self.early_max.max(late_ns.unsigned_abs());
        }
        if packet_time > Span::ZERO {
            self.with_rate += 1;
            self.late_by_a_packet += u64::from(at - due > packet_time);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a share is a float")]
    pub(crate) fn departure_error(&self) -> DepartureError {
        DepartureError {
            packets: self.late.count(),
            spread: self.late.spread(),
            early_packets: self.early_packets,
            early_max_ns: self.early_max,
            late_by_more_than_a_packet_time: (self.with_rate > 0)
                .then(|| self.late_by_a_packet as f64 / self.with_rate as f64),
            overdue_share: self.overdue.share(),
        }
    }
}

impl PipeSummary {
    pub(crate) fn new(pipe: &Pipe, counters: &Counters) -> Self {
        let dropped = Fate::ALL
            .iter()
            .filter(|fate| **fate != Fate::Passed)
            .map(|fate| (fate.name(), counters.fates[usize::from(fate.code())]));
        Self {
            name: pipe.name.clone(),
            from: pipe.from.clone(),
            to: pipe.to.clone(),
            packets: counters.packets,
            bytes: counters.bytes,
            carried_packets: counters.passed_packets,
            carried_bytes: counters.passed_bytes,
            carried_bits_per_second: counters.sent_bits_per_second(),
            dropped: dropped.filter(|(_, count)| *count > 0).collect(),
            copies: counters.copies,
            reordered: counters.reordered,
            moved_forward: counters.moved_forward,
            queue_delay: counters.waits.spread(),
            deepest_queue_packets: counters.deepest_packets,
            deepest_queue_bytes: counters.deepest_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {

        /// Milliseconds, in the order of sending; only neighbours are swapped, as packets of one
        /// turn do.
        #[test]
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        fn overdue_is_what_a_slow_count_finds(
            steps in prop::collection::vec((0..20_i64, 0..15_i64), 1..60),
            swaps in any::<u64>(),
        ) {
            let mut at = 0;
            let mut spans: Vec<_> = steps
                .into_iter()
                .map(|(step, late)| {
                    at += step;
                    (at - late, at)
                })
                .collect();
            let exact: std::collections::BTreeSet<i64> = spans
                .iter()
                .filter(|(due, at)| at - due > 1)
                .flat_map(|(due, at)| *due..*at)
                .collect();
            let mut spread = Overdue::default();
            for bit in (0..spans.len() - 1).filter(|bit| swaps >> (bit % 64) & 1 == 1) {
                if spans[bit].1 == spans[bit + 1].1 {
                    spans.swap(bit, bit + 1);
                }
            }
            for (due, at) in &spans {
                spread.add(Ns(due * 1_000_000), Ns(at * 1_000_000));
            }
            let first = spans.iter().map(|span| span.0).min().unwrap();
            let Some(share) = spread.share() else { return Ok(()) };
            let found = share * (at - first) as f64;
            prop_assert!(found <= exact.len() as f64 + 1e-6, "{found} of {}", exact.len());
            let gaps_before = spans.windows(2).any(|pair| pair[1].0 < pair[0].0);
            prop_assert!(
                gaps_before || (found - exact.len() as f64).abs() < 1e-6,
                "{found} instead of {}",
                exact.len()
            );
        }
    }

    #[test]
    fn two_directions_that_stall_together_count_once() {
        let mut overdue = Overdue::default();
        // One direction: due from 20 to 30 ms; the other, reported after it, from 17 ms. Both were
        // sent at 30 ms.
        for (due, at) in [(10, 10), (20, 30), (29, 30), (17, 30), (28, 30), (40, 40)] {
            overdue.add(Ns(due * 1_000_000), Ns(at * 1_000_000));
        }
        assert_eq!(overdue.share(), Some(13.0 / 30.0));
    }
}
