//! What an acknowledgement covers, whether it is a duplicate (RFC 5681), and whether it is a round
//! trip: Karn's rule on bytes.
//!
//! Where the bytes of an acknowledgement were sent twice, or not all captured, there is no sample;
//! an acknowledgement that was delayed makes its sample too long.

use trustbed_units::{Ns, Span};
use trustbed_wire::{Options, Packet, TcpFlags};

use super::{AT_ONCE, Stream, WILD, hole};
use crate::recovery::Hole;

/// Whether an acknowledgement allowed a round-trip sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttOutcome {
    /// It acknowledged nothing new.
    None,
    /// A sample; `lone` when a single segment of at most one MSS was outstanding (an ACK may have
    /// been delayed).
    Sample {
        /// The round-trip time.
        rtt: Span,
        /// Only this segment was outstanding.
        lone: bool,
    },
    /// Something in the acknowledged range was sent more than once (Karn).
    Ambiguous,
    /// The acknowledged bytes were not, or not all, seen by the capture.
    Unseen,
    /// The acknowledgement ends inside a wire segment.
    Inside,
    /// Not positive: a clock fault.
    NotPositive,
}

/// A packet from the receiver of the data, as the data's direction sees it.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each named")]
pub struct Ack {
    /// When.
    pub now: Ns,
    /// The packet's index in the capture.
    pub index: u64,
    /// Highest acknowledged offset after it.
    pub una: i64,
    /// Bytes newly acknowledged.
    pub advanced: i64,
    /// Advertised window, scaled.
    pub window: u32,
    /// A duplicate acknowledgement (RFC 5681, or new SACK information).
    pub duplicate: bool,
    /// Whether it allowed a round-trip sample.
    pub rtt: RttOutcome,
    /// A sample by the timestamp option from data to its echo.
    pub rtt_timestamp: Option<Span>,
    /// It is a SYN-ACK that acknowledges data (a SYN with payload, RFC 7413): good for a round-trip
    /// time and for nothing else, because the window of a SYN counts in no statistic.
    pub opening: bool,
    /// It carried data of the receiver's own.
    pub data: bool,
    /// Its own timestamp.
    pub tsval: Option<u32>,
    /// Timestamp that it echoes.
    pub tsecr: Option<u32>,
    /// It echoed a congestion mark (ECN, RFC 3168).
    pub marked: bool,
}

/// What an acknowledgement did to the data's direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged {
    pub(crate) advanced: i64,
    pub(crate) duplicate: bool,
    pub(crate) rtt: RttOutcome,
}

impl Stream {
    /// Takes an acknowledgement from the peer for this direction's data.
    #[inline]
    pub(crate) fn on_acknowledgement(
        &mut self,
        packet: &Packet,
        options: Option<&Options>,
        window_changed: bool,
    ) -> Option<Acknowledged> {
        if !self.seen.sequence {
            self.base = packet.ack;
            self.seen.sequence = true;
        }
        let mut to = self.unwrap(packet.ack, self.snd_max);
        if (to - self.snd_max).abs() > WILD {
            self.note_wild(1);
            return None;
        }
        if !self.seen.acknowledged && !self.seen.syn && to < self.una {
            // Already running when the capture began: what is outstanding reaches further back than
            // what was seen.
            self.una = to;
        }
        self.seen.acknowledged = true;
        self.records.heard = true;
        let with_fin = to == self.fin.saturating_add(1);
        if with_fin {
            to = self.fin;
        }
        let from = self.una;
        let advanced = to - from;
        let fresh_sack = options.is_some_and(|o| o.sack_count > 0 && self.on_sack(o, to));
        let mut outcome =
            Acknowledged { advanced: advanced.max(0), duplicate: false, rtt: RttOutcome::None };
        if advanced > 0 {
            outcome.rtt = self.advance(from, to, packet, with_fin);
        } else if advanced == 0
            && self.snd_max > from
            && packet.payload == 0
            && !packet.flags.any(TcpFlags::SYN | TcpFlags::FIN)
            && (!window_changed || fresh_sack)
        {
            self.duplicates += 1;
            self.counters.duplicate_acks += 1;
            outcome.duplicate = true;
        }
        Some(outcome)
    }

    #[inline]
    fn advance(&mut self, from: i64, to: i64, packet: &Packet, with_fin: bool) -> RttOutcome {
        self.duplicates = 0;
        let mut unseen = from < self.lowest;
        if to > self.snd_max {
            if self.seen.probe && to == self.snd_max + 1 {
                // The byte of a window probe was taken after all.
                self.counters.unique += 1;
            } else {
                self.open_hole(Hole { tsval: None, ..hole(self.snd_max, to, packet) });
            }
            self.snd_max = to;
            self.seen.probe = false;
            unseen = true;
        }
        if let Some(recovery) = self.recovery.as_deref_mut() {
            recovery.duplicates_at_retransmission = 0;
            unseen |= recovery.hole_bytes(from, to) > 0;
            recovery.sacked.remove_below(to);
        }
        let mss = i64::from(self.mss());
        let lone = self.records.len() == 1;
        let now = packet.ts;
        let mut ambiguous = false;
        let mut untimed = false;
        let mut last: Option<(Ns, i64, i64)> = None;
        self.records.acknowledge(to, |record, start| {
            ambiguous |= record.sent > 1;
            untimed |= record.untimed;
            last = Some((record.first_sent, start, start + i64::from(record.length)));
        });
        self.una = to;
        let Some((sent, start, end)) = last else { return RttOutcome::Unseen };
        if ambiguous {
            return RttOutcome::Ambiguous;
        }
        if unseen || untimed || to > end {
            return RttOutcome::Unseen;
        }
        if to != end && (end - start <= mss || (to - start) % mss != 0) {
            return RttOutcome::Inside;
        }
        // An acknowledgement of data and FIN together answers the FIN, unless the FIN was on the
        // last data segment.
        if with_fin && !self.seen.fin_with_data {
            return RttOutcome::None;
        }
        let rtt = now - sent;
        if rtt <= Span::ZERO {
            if rtt == Span::ZERO {
                // No round trip can be read from it, but whoever answers within the same stamp is
                // beside the capture: simulators answer in no time.
                self.nearest_answer = AT_ONCE;
            }
            return RttOutcome::NotPositive;
        }
        self.nearest_answer = self.nearest_answer.min(rtt);
        RttOutcome::Sample { rtt, lone: lone && end - start <= mss }
    }
}
