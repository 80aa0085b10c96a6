//! Which bytes of a segment are new, and what the segment is: new data, a retransmission, the
//! filling of a hole, a keep-alive, a probe.
//!
//! Bytes that the capture never held are in holes; a segment that meets only holes is no
//! retransmission, whatever the sender meant by it.

use trustbed_units::Span;
use trustbed_wire::{Bits, Packet, TcpFlags};

use super::{Cause, Class, Segment, Stream, WILD, hole};
use crate::recovery::Hole;

/// Outstanding segments kept while the peer was never heard: a one-sided capture must not grow.
const MOST_UNHEARD: usize = 1024;

/// Outstanding segments that a retransmission may cover before they are kept as one: it would visit
/// them all, again and again.
const MOST_COVERED: usize = 1024;

/// Segments in a row that lie far beyond all others, but …
const IN_A_ROW: u32 = 16;
/// … so many bytes from each other at most.
const NEIGHBOURS: u32 = 1 << 24;

impl Stream {
    /// Classifies a packet of this direction that carries payload. `peer_window` is the peer's last
    /// advertised window.
    #[inline]
    pub(crate) fn on_payload(
        &mut self,
        packet: &Packet,
        peer_window: Option<u32>,
        srtt: Option<Span>,
    ) -> Option<Segment> {
        let seq =
            if packet.flags.any(TcpFlags::SYN) { packet.seq.wrapping_add(1) } else { packet.seq };
        let mut start = self.unwrap(seq, self.snd_max);
        if (start - self.snd_max).abs() > WILD {
            self.note_wild(1);
            if !self.goes_on_at(seq, packet) {
                return None;
            }
            start = self.snd_max;
        }
        let length = packet.payload;
        let end = start + i64::from(length);
        let probing = length <= 1;
        if probing
            && !packet.flags.any(TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST)
            && self.is_probe(start, peer_window)
        {
            return None;
        }
        if !self.seen.payload {
            self.seen.payload = true;
            if self.seen.mss_known && packet.bits.any(Bits::TIMESTAMP) {
                self.mss = self.mss.saturating_sub(12);
            }
        }
        self.note_size(length, packet.flags.any(TcpFlags::PSH));
        self.counters.data_packets += 1;
        self.counters.payload += u64::from(length);
        if end > self.fin {
            self.seen.data_after_fin = true;
        }
        let (class, cause, overlap) = if start >= self.snd_max {
            self.append(start, length, packet);
            (Class::New, Cause::None, 0)
        } else {
            self.below(start, end, packet, srtt)
        };
        self.counters.unique += u64::from(length - overlap);
        Some(Segment {
            now: packet.ts,
            index: packet.index,
            start,
            length,
            overlap,
            class,
            cause,
            outstanding: self.outstanding(),
            tsval: packet.bits.any(Bits::TIMESTAMP).then_some(packet.tsval),
            tsecr: packet.bits.any(Bits::TIMESTAMP).then_some(packet.tsecr),
            headers: packet.header_length,
        })
    }

    /// Whether data go on beyond a gap of more than 2³⁰ bytes, which the capture missed: so many in
    /// a row that follow each other are not made up. Then the gap is a hole.
    #[cold]
    fn goes_on_at(&mut self, seq: u32, packet: &Packet) -> bool {
        let data = self.counters.data_packets;
        let far = &mut self.recovery.get_or_insert_default().far_ahead;
        let apart = seq.wrapping_sub(far.next).cast_signed().unsigned_abs();
        far.count = if apart < NEIGHBOURS && far.after == data { far.count + 1 } else { 1 };
        (far.next, far.after) = (seq.wrapping_add(packet.payload), data);
        let sure = far.count >= IN_A_ROW;
        let Some(highest) = self.highest().filter(|_| sure) else { return false };
        let start = self.snd_max + i64::from(seq.wrapping_sub(highest));
        self.open_hole(hole(self.snd_max, start, packet));
        self.records.forget_all();
        (self.una, self.snd_max) = (start, start);
        true
    }

    /// The rest of a segment that IP fragmented: its bytes were captured, and it is no segment of
    /// its own.
    #[cold]
    pub(crate) fn on_later_fragment(&mut self, packet: &Packet) {
        self.counters.payload += u64::from(packet.payload);
        if !packet.bits.any(Bits::SEQUENCE) || !self.seen.sequence {
            return;
        }
        let start = self.unwrap(packet.seq, self.snd_max);
        if (start - self.snd_max).abs() > WILD {
            self.note_wild(1);
            return;
        }
        let end = start + i64::from(packet.payload);
        let mut seen_before = 0;
        if start >= self.snd_max {
            self.append(start, packet.payload, packet);
            self.records.for_range(start, end, |record| record.untimed = true);
        } else {
            let (low, top) = (start.max(self.lowest), end.min(self.snd_max));
            let holes = self.recovery.as_ref().map_or(0, |r| r.hole_bytes(low, top));
            seen_before = u64::try_from(top - low - holes).unwrap_or(0);
            self.see(start, end, Cause::None, packet);
        }
        self.counters.unique += u64::from(packet.payload).saturating_sub(seen_before);
    }

    /// Keep-alives (RFC 1122, 4.2.3.6) and window probes are neither data nor retransmissions.
    fn is_probe(&mut self, start: i64, peer_window: Option<u32>) -> bool {
        if start == self.next_number() - 1 && self.seen.sequence && self.counters.packets > 1 {
            self.counters.keep_alives += 1;
            return true;
        }
        if peer_window == Some(0) && (start == self.snd_max || start == self.una) {
            self.counters.window_probes += 1;
            self.seen.probe = start == self.snd_max;
            return true;
        }
        false
    }

    /// A keep-alive without payload: at the highest number used.
    #[inline]
    pub(crate) fn is_empty_keep_alive(&mut self, packet: &Packet) -> bool {
        if !self.seen.sequence || self.counters.packets <= 1 {
            return false;
        }
        let keep_alive = self.unwrap(packet.seq, self.snd_max) == self.next_number() - 1;
        self.counters.keep_alives += u32::from(keep_alive);
        keep_alive
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most 1460 where it is cut")]
    fn note_size(&mut self, length: u32, pushed: bool) {
        if self.seen.mss_known {
            if let Some(size) = self.size.add(length, pushed, self.mss) {
                self.mss = size;
            }
            self.seen.offloaded |= length > u32::from(self.mss);
        } else if length > 1460 {
            self.seen.offloaded = true;
        } else {
            self.mss = self.mss.max(length as u16);
        }
    }

    #[inline]
    fn append(&mut self, start: i64, length: u32, packet: &Packet) {
        if start > self.snd_max {
            let (from, to) = (self.snd_max, start);
            if self.counters.data_packets == 1 && !self.seen.syn && !self.seen.acknowledged {
                // The first data of a connection that was already running: what came before is
                // unknown, not missing.
                (self.lowest, self.una, self.snd_max) = (start, start, start);
            } else {
                self.open_hole(hole(from, to, packet));
            }
        }
        let most = if self.seen.acknowledged { usize::MAX } else { MOST_UNHEARD };
        self.records.push(start, length, packet.ts, most);
        self.snd_max = start + i64::from(length);
        self.seen.probe = false;
    }

    /// A segment that starts below the highest byte: retransmission or fill.
    fn below(
        &mut self,
        start: i64,
        end: i64,
        packet: &Packet,
        srtt: Option<Span>,
    ) -> (Class, Cause, u32) {
        let top = end.min(self.snd_max);
        let low = start.max(self.lowest);
        let holes = self.recovery.as_ref().map_or(0, |r| r.hole_bytes(low, top));
        let overlap = (top - low).max(0) - holes;
        let result = if overlap > 0 {
            let cause = self.retransmission(start, end, packet, srtt);
            self.counters.retransmitted += 1;
            self.counters.retransmitted_bytes += overlap.unsigned_abs();
            (Class::Retransmission, cause, u32::try_from(overlap).unwrap_or(u32::MAX))
        } else {
            let cause = self.fill_cause(start, top, packet);
            match cause {
                Cause::Reordered => self.counters.reordered += 1,
                _ => self.counters.lost_upstream += 1,
            }
            (Class::Fill, cause, 0)
        };
        self.see(start, end, result.1, packet);
        result
    }

    /// Enters the bytes of a segment below `snd_max` into what is seen and outstanding.
    fn see(&mut self, start: i64, end: i64, cause: Cause, packet: &Packet) {
        let now = packet.ts;
        if end < self.lowest {
            self.open_hole(Hole { before: true, ..hole(end, self.lowest, packet) });
        }
        let (from, upto) = (start.max(self.una), end.min(self.snd_max));
        let mut covered = 0;
        self.records.for_range(from, upto, |record| {
            record.sent = record.sent.saturating_add(1);
            record.last_sent = now;
            covered += 1;
        });
        if let Some(recovery) = self.recovery.as_deref_mut() {
            let (records, una) = (&mut self.records, self.una);
            recovery.fill(start, end, |hole| {
                if hole.end > una
                    && let Ok(length) = u32::try_from(hole.end - hole.start)
                {
                    records.insert(hole.start, length, now);
                    // A byte that was lost before the capture has been sent before: it gives no
                    // sample.
                    if cause != Cause::Reordered {
                        records.for_range(hole.start, hole.end, |r| r.untimed = true);
                    }
                }
            });
        }
        if covered > MOST_COVERED {
            self.records.merge(from, upto);
        }
        self.lowest = self.lowest.min(start);
        if end > self.snd_max {
            let fresh = u32::try_from(end - self.snd_max).unwrap_or(0);
            let most = if self.seen.acknowledged { usize::MAX } else { MOST_UNHEARD };
            self.records.push(self.snd_max, fresh, now, most);
            self.snd_max = end;
        }
    }
}
