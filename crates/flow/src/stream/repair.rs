//! Why a segment was sent again, and how a hole came to be filled: RFC 6675 (`DupThresh` 3), RFC
//! 8985 (tail-loss probe).
//!
//! A timeout as early as a probe would be is taken for a probe. A reordered segment that comes
//! late, or that the receiver asked for, is taken for a repair unless its timestamp is older than
//! that of what overtook it: reordering is rather under- than over-estimated.

use std::cmp::Ordering;

use trustbed_units::{Ns, Seq, Span};
use trustbed_wire::{Bits, Packet};

use super::{Cause, Stream};
use crate::Retransmission;

/// Age below which a filled hole may be reordering.
const REORDERING: Span = Span::from_millis(3);
/// Slack of the tail-loss probe timer beyond two smoothed round trips (timer granularity).
const PROBE_SLACK: Span = Span::from_millis(10);

impl Stream {
    pub(super) fn retransmission(
        &mut self,
        start: i64,
        end: i64,
        packet: &Packet,
        srtt: Option<Span>,
    ) -> Cause {
        let cause = self.retransmission_cause(start, end, packet.ts, srtt);
        match cause {
            Cause::Spurious => self.counters.spurious += 1,
            Cause::Fast => self.counters.fast += 1,
            Cause::TailLossProbe => {
                self.counters.timeout += 1;
                self.counters.tail_loss_probes += 1;
            }
            _ => self.counters.timeout += 1,
        }
        let duplicates = self.duplicates;
        let recovery = self.recovery.get_or_insert_default();
        recovery.note_evidence(start, end);
        recovery.remember(Retransmission { start, end, sent: packet.ts, cause });
        if start <= self.una && self.una < end {
            recovery.duplicates_at_retransmission = duplicates;
        }
        cause
    }

    fn retransmission_cause(&self, start: i64, end: i64, now: Ns, srtt: Option<Span>) -> Cause {
        let recovery = self.recovery.as_deref();
        if end <= self.una || recovery.is_some_and(|r| r.sacked.covers(start.max(self.una), end)) {
            return Cause::Spurious;
        }
        let already = recovery.map_or(0, |r| r.duplicates_at_retransmission);
        let lowest = start <= self.una;
        if lowest && self.duplicates.saturating_sub(already) >= 3 {
            return Cause::Fast;
        }
        // Evidence counts from the last transmission on.
        let before = recovery.map_or(0, |r| r.evidence_before(start));
        let above = recovery.map_or(0, |r| r.sacked.bytes_above(end));
        if above - before > 2 * i64::from(self.mss()) {
            return Cause::Fast;
        }
        let waited = self.records.holding(end - 1).map(|r| now - r.last_sent);
        match (srtt, waited) {
            (Some(srtt), Some(waited))
                if end == self.snd_max && waited <= Span(srtt.0 * 2) + PROBE_SLACK =>
            {
                Cause::TailLossProbe
            }
            _ => Cause::Timeout,
        }
    }

    pub(super) fn fill_cause(&self, start: i64, end: i64, packet: &Packet) -> Cause {
        let limit = if self.nearest_answer == Span::MAX {
            REORDERING
        } else {
            REORDERING.max(Span(self.nearest_answer.0 / 2))
        };
        let Some(recovery) = self.recovery.as_deref() else { return Cause::LostUpstream };
        let Some(hole) = recovery.hole_at(start, end) else { return Cause::LostUpstream };
        let evidence = (start <= self.una && self.duplicates >= 3)
            || recovery.sacked.bytes_above(end) > 2 * i64::from(self.mss());
        // What is sent again carries the time of its sending; what was overtaken an older one.
        let age = hole
            .tsval
            .map(i64::from)
            .filter(|_| packet.bits.any(Bits::TIMESTAMP))
            .map_or(Ordering::Equal, |since| Seq(packet.tsval).unwrap_near(since).cmp(&since));
        let is_soon = packet.ts - hole.since < limit && !evidence;
        if age == Ordering::Less || (is_soon && age == Ordering::Equal) {
            Cause::Reordered
        } else {
            Cause::LostUpstream
        }
    }
}
