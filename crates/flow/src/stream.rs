//! One direction of a TCP connection: sequence unwrapping, what was seen, what is outstanding, segment classes
//! (with their sub-classes) and the round-trip sample that an acknowledgement allows.
//!
//! Offsets are 64-bit and relative to the first payload byte; the SYN is −1. In a connection that was already running
//! the first sequence number seen is offset 0 and negative offsets are legal. Loss inference follows RFC 6675 (`DupThresh` 3),
//! RFC 2883 (DSACK) and RFC 8985 (tail-loss probe); round-trip samples follow Karn's rule on bytes.

use trustbed_units::{Ns, Seq, Span};
use trustbed_wire::{Bits, Options, Packet, TcpFlags};

use crate::recovery::Hole;
use crate::{Echo, Records, Recovery, Retransmission};

/// What a segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Opens the connection.
    Syn,
    /// Closes one direction, without payload.
    Fin,
    /// Aborts. Text in it explains why (RFC 1122, 4.2.2.12) and is no data: it has no sequence numbers.
    Rst,
    /// No payload and no flag that consumes a sequence number.
    PureAck,
    /// At most one byte, at the highest number used (a FIN uses one): asks whether the peer is alive.
    KeepAlive,
    /// At most one byte into a closed window.
    WindowProbe,
    /// Bytes never seen before, at or above everything seen.
    New,
    /// At least one byte seen before.
    Retransmission,
    /// Below the highest byte, but no byte of it seen before.
    Fill,
}

impl Class {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::Fin => "fin",
            Self::Rst => "rst",
            Self::PureAck => "pure_ack",
            Self::KeepAlive => "keep_alive",
            Self::WindowProbe => "window_probe",
            Self::New => "new",
            Self::Retransmission => "retransmission",
            Self::Fill => "fill",
        }
    }
}

/// Why a segment was retransmitted, or how a hole came to be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Neither.
    None,
    /// Not needed: acknowledged or reported by SACK before, or reported twice later.
    Spurious,
    /// After duplicate acknowledgements or SACK evidence.
    Fast,
    /// After a timeout.
    Timeout,
    /// A tail-loss probe.
    TailLossProbe,
    /// Overtaken on the way to the capture.
    Reordered,
    /// The original was lost before the capture point, or the capture missed it.
    LostUpstream,
}

impl Cause {
    /// Name in tables; empty when there is none.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Spurious => "spurious",
            Self::Fast => "fast",
            Self::Timeout => "timeout",
            Self::TailLossProbe => "tail_loss_probe",
            Self::Reordered => "reordered",
            Self::LostUpstream => "lost_upstream",
        }
    }
}

/// A packet with payload, as its direction saw it.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// When.
    pub now: Ns,
    /// The packet's index in the capture.
    pub index: u64,
    /// Offset of the first byte.
    pub start: i64,
    /// Payload bytes.
    pub length: u32,
    /// Bytes seen before.
    pub overlap: u32,
    /// What it is.
    pub class: Class,
    /// Why.
    pub cause: Cause,
    /// Bytes outstanding after it.
    pub outstanding: i64,
    /// Timestamp option of the sender.
    pub tsval: Option<u32>,
    /// IP and TCP headers with options, in bytes.
    pub headers: u16,
}

impl Segment {
    /// One past the last byte.
    #[inline]
    pub fn end(&self) -> i64 {
        self.start + i64::from(self.length)
    }
}

/// Whether an acknowledgement allowed a round-trip sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttOutcome {
    /// It acknowledged nothing new.
    None,
    /// A sample; `lone` when a single segment of at most one MSS was outstanding (an ACK may have been delayed).
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
    /// It is a SYN-ACK that acknowledges data (a SYN with payload, RFC 7413): good for a round-trip time and for nothing else,
    /// because the window of a SYN counts in no statistic.
    pub opening: bool,
}

/// What one direction sent, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// All packets.
    pub packets: u64,
    /// Payload of data packets in bytes (keep-alives and window probes not included).
    pub payload: u64,
    /// Payload bytes that were seen for the first time.
    pub unique: u64,
    /// Bytes of retransmissions that had been seen before.
    pub retransmitted_bytes: u64,
    /// Payload bytes of packets that were retransmissions or filled holes already acknowledged.
    pub data_packets: u32,
    /// Data packets with at least one byte seen before.
    pub retransmitted: u32,
    /// … by sub-class.
    pub spurious: u32,
    /// After duplicate ACKs or SACKs.
    pub fast: u32,
    /// After a timeout (tail-loss probes included).
    pub timeout: u32,
    /// Tail-loss probes.
    pub tail_loss_probes: u32,
    /// Holes filled because of reordering.
    pub reordered: u32,
    /// Holes filled because the original never reached the capture.
    pub lost_upstream: u32,
    /// Pure acknowledgements sent.
    pub pure_acks: u32,
    /// Duplicate acknowledgements received for this direction's data.
    pub duplicate_acks: u32,
    /// Keep-alive probes.
    pub keep_alives: u32,
    /// Window probes.
    pub window_probes: u32,
    /// Packets captured twice.
    pub capture_duplicates: u32,
    /// Sequence numbers of this direction, and acknowledgements and SACK blocks for it, that lie far from all others: each was ignored.
    pub wild: u32,
    /// SYNs beyond the first.
    pub syn_retransmissions: u16,
    /// FINs beyond the first.
    pub fin_retransmissions: u16,
}

/// One direction: the endpoint that sends in it, and what is known of its data.
#[derive(Debug, Clone)]
pub struct Stream {
    /// What was counted.
    pub counters: Counters,
    /// What is outstanding.
    pub records: Records,
    pub(crate) recovery: Option<Box<Recovery>>,
    pub(crate) echo: Option<Box<[Echo; 2]>>,
    /// Highest end seen.
    pub snd_max: i64,
    /// Highest acknowledgement from the peer.
    pub una: i64,
    /// Lowest offset seen.
    lowest: i64,
    /// Offset of the FIN, `i64::MAX` while none was sent.
    pub fin: i64,
    /// Smallest time from this direction's data to the peer's answer, as seen at the capture point.
    pub nearest_answer: Span,
    /// Smallest time from the peer's pure ACK to this direction's data that echoes it.
    pub nearest_echo: Span,
    /// Sequence number of offset 0.
    base: u32,
    /// Window that this endpoint advertised last, scaled.
    pub window: u32,
    /// Largest window this endpoint advertised, scaled.
    pub window_max: u32,
    /// Smallest.
    pub window_min: u32,
    pub(crate) duplicates: u32,
    /// MSS option of this endpoint's SYN, 0 when absent.
    pub mss_option: u16,
    window_raw: u16,
    /// Largest segment this direction may send: from the handshake, or the largest payload up to 1460 seen.
    mss: u16,
    /// Window shift of this endpoint.
    pub shift: u8,
    /// What was seen of this endpoint.
    pub seen: Seen,
    prints: [(u32, u32); 4],
}

/// One-bit facts about an endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each named")]
pub struct Seen {
    /// A sequence number of its own, or its peer's acknowledgement: offsets are defined.
    pub sequence: bool,
    /// Its SYN.
    pub syn: bool,
    /// Its SYN offered window scaling.
    pub scale_offered: bool,
    /// The shift is known from both SYNs, not estimated.
    pub scale_known: bool,
    /// The MSS is known from the handshake.
    pub mss_known: bool,
    /// It used timestamps.
    pub timestamps: bool,
    /// Its SYN with an acknowledgement.
    pub syn_ack: bool,
    /// Its SYN permitted SACK.
    pub sack: bool,
    /// A window that counts (not of a SYN).
    pub window: bool,
    /// A data segment larger than the MSS.
    pub offloaded: bool,
    /// Data beyond its own FIN.
    pub data_after_fin: bool,
    /// A segment that was fragmented by IP.
    pub fragmented: bool,
    /// A sequence or acknowledgement number far from all others; [`Counters::wild`] counts them.
    pub wild: bool,
    /// Payload.
    pub payload: bool,
    /// Its FIN was on a segment with data.
    pub fin_with_data: bool,
    /// A window probe occupies the byte at `snd_max`.
    probe: bool,
    /// Its peer acknowledged at least once.
    acknowledged: bool,
    /// A sequence number of its own.
    number: bool,
}

/// A field further than this from where it is expected is ignored (RFC 793 windows are smaller than 2³⁰).
const WILD: i64 = 1 << 30;
/// Outstanding segments kept while the peer was never heard: a one-sided capture must not grow.
const MOST_UNHEARD: usize = 1024;
/// Age below which a filled hole may be reordering.
const REORDERING: Span = Span::from_millis(3);
/// Slack of the tail-loss probe timer beyond two smoothed round trips (timer granularity).
const PROBE_SLACK: Span = Span::from_millis(10);
/// Two equal packets closer than this are one packet captured twice.
const DUPLICATE_MICROS: u32 = 1000;

impl Default for Stream {
    fn default() -> Self {
        Self {
            counters: Counters::default(),
            records: Records::default(),
            recovery: None,
            echo: None,
            snd_max: 0,
            una: 0,
            lowest: 0,
            fin: i64::MAX,
            nearest_answer: Span::MAX,
            nearest_echo: Span::MAX,
            base: 0,
            window: 0,
            window_max: 0,
            window_min: u32::MAX,
            duplicates: 0,
            mss_option: 0,
            window_raw: 0,
            mss: 0,
            shift: 0,
            seen: Seen::default(),
            prints: [(0, 0); 4],
        }
    }
}

impl Stream {
    /// Bytes sent and not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> i64 {
        self.snd_max - self.una
    }

    /// The largest payload that one wire segment of this direction carries.
    #[inline]
    pub fn mss(&self) -> u32 {
        if self.mss == 0 { 1448 } else { u32::from(self.mss) }
    }

    /// Bytes that the receiver acknowledged and the capture never held. What was sent before the capture held anything of the sender is
    /// not among them.
    pub fn acknowledged_unseen(&self) -> u64 {
        let Some(recovery) = &self.recovery else { return 0 };
        let end = if self.fin == i64::MAX { self.una - 1 } else { self.una };
        // A missing FIN looks like one missing byte at the very end.
        recovery.forgotten_bytes + recovery.missing_bytes(end).unsigned_abs()
    }

    /// Whether both ends of this direction are closed and acknowledged.
    pub fn finished(&self) -> bool {
        self.fin != i64::MAX
    }

    /// Whether this packet was captured before, within a millisecond.
    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "fingerprints and microseconds modulo 2³²")]
    pub(crate) fn is_duplicate(&mut self, packet: &Packet) -> bool {
        let print = print(packet);
        let micros = (packet.ts.0 >> 10) as u32;
        if self.counters.packets > 0 && self.prints.iter().any(|&(p, t)| p == print && micros.wrapping_sub(t) <= DUPLICATE_MICROS) {
            return true;
        }
        self.prints.rotate_right(1);
        self.prints[0] = (print, micros);
        false
    }

    /// The initial sequence number was seen.
    pub(crate) fn open(&mut self, packet: &Packet, options: Option<&Options>) {
        self.base = packet.seq.wrapping_add(1);
        (self.seen.sequence, self.seen.number) = (true, true);
        self.seen.syn = true;
        self.seen.syn_ack = packet.flags.any(TcpFlags::ACK);
        (self.snd_max, self.una, self.lowest) = (0, 0, 0);
        // The window of a SYN is never scaled and counts in no statistic, but it holds until the next packet.
        self.window = u32::from(packet.window);
        if let Some(options) = options {
            self.mss_option = options.mss.unwrap_or(0);
            self.seen.scale_offered = options.window_scale.is_some();
            self.shift = options.window_scale.unwrap_or(0).min(14);
            self.seen.sack = options.sack_permitted;
        }
    }

    /// Whether `seq` is the initial sequence number of this direction.
    pub(crate) fn is_initial(&self, seq: u32) -> bool {
        self.seen.syn && self.base == seq.wrapping_add(1)
    }

    /// The segment size agreed in the handshake.
    pub(crate) fn agree(&mut self, peer_mss: u16, both_scale: bool) {
        self.seen.scale_known = true;
        if !both_scale {
            self.shift = 0;
        }
        let agreed = match (self.mss_option, peer_mss) {
            (0, 0) => 0,
            (0, one) | (one, 0) => one,
            (a, b) => a.min(b),
        };
        if agreed > 64 {
            self.mss = agreed;
            self.seen.mss_known = true;
        }
    }

    /// The first number of an endpoint whose SYN was not seen: it defines offset 0, unless the peer's acknowledgements did before.
    #[inline]
    pub(crate) fn start_at(&mut self, packet: &Packet, midstream: bool) {
        if !self.seen.number {
            self.on_first_number(packet, midstream);
        }
    }

    #[cold]
    fn on_first_number(&mut self, packet: &Packet, midstream: bool) {
        if !self.seen.sequence {
            self.base = packet.seq;
            (self.seen.sequence, self.seen.number) = (true, true);
            return;
        }
        let at = self.unwrap(packet.seq, self.snd_max);
        // Anybody may have made up the number of a RST, and a later fragment has none.
        if packet.flags.any(TcpFlags::RST) || packet.bits.any(Bits::FRAGMENT_LATER) || (at - self.snd_max).abs() > WILD {
            return;
        }
        self.seen.number = true;
        if !midstream {
            return;
        }
        if let Some(recovery) = self.recovery.as_deref_mut() {
            recovery.excuse_below(at);
        }
        if at > self.snd_max {
            self.open_hole(Hole { before: true, ..hole(self.snd_max, at, packet) });
            self.snd_max = at;
        }
    }

    /// The window field of this endpoint's packet (never of a SYN).
    #[inline]
    pub(crate) fn advertise(&mut self, raw: u16, peer_outstanding: i64) {
        self.window_raw = raw;
        self.seen.window = true;
        if !self.seen.scale_known {
            while self.shift < 14 && raw > 0 && (i64::from(raw) << self.shift) < peer_outstanding {
                self.shift += 1;
            }
        }
        self.window = u32::from(raw) << self.shift;
        self.window_max = self.window_max.max(self.window);
        self.window_min = self.window_min.min(self.window);
    }

    /// More is outstanding than the estimated shift allows: the shift is larger.
    pub(crate) fn widen(&mut self, peer_outstanding: i64) {
        self.advertise(self.window_raw, peer_outstanding);
    }

    #[inline]
    fn unwrap(&self, field: u32, near: i64) -> i64 {
        // `near + base` has the low bits that the field would have at `near`.
        Seq(field.wrapping_sub(self.base)).unwrap_near(near)
    }

    /// Classifies a packet of this direction that carries payload. `peer_window` is the peer's last advertised window.
    #[inline]
    pub(crate) fn on_payload(&mut self, packet: &Packet, peer_window: Option<u32>, srtt: Option<Span>) -> Option<Segment> {
        let seq = if packet.flags.any(TcpFlags::SYN) { packet.seq.wrapping_add(1) } else { packet.seq };
        let start = self.unwrap(seq, self.snd_max);
        if (start - self.snd_max).abs() > WILD {
            self.note_wild(1);
            return None;
        }
        let length = packet.payload;
        let end = start + i64::from(length);
        let probing = length <= 1;
        if probing && !packet.flags.any(TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST) && self.is_probe(start, peer_window) {
            return None;
        }
        if !self.seen.payload {
            self.seen.payload = true;
            if self.seen.mss_known && packet.bits.any(Bits::TIMESTAMP) {
                self.mss = self.mss.saturating_sub(12);
            }
        }
        self.note_size(length);
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
            headers: packet.header_length,
        })
    }

    #[cold]
    fn note_wild(&mut self, fields: u32) {
        self.seen.wild = true;
        self.counters.wild += fields;
    }

    /// The number after the highest that this side has used: a FIN uses one (RFC 9293, section 3.4).
    #[inline]
    fn next_number(&self) -> i64 {
        if self.fin == i64::MAX { self.snd_max } else { self.snd_max.max(self.fin + 1) }
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
    fn note_size(&mut self, length: u32) {
        if self.seen.mss_known {
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
                // The first data of a connection that was already running: what came before is unknown, not missing.
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

    fn open_hole(&mut self, hole: Hole) {
        self.recovery.get_or_insert_default().add_hole(hole);
    }

    /// A segment that starts below the highest byte: retransmission or fill.
    fn below(&mut self, start: i64, end: i64, packet: &Packet, srtt: Option<Span>) -> (Class, Cause, u32) {
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
        self.records.for_range(start.max(self.una), end.min(self.snd_max), |record| {
            record.sent = record.sent.saturating_add(1);
            record.last_sent = now;
        });
        if let Some(recovery) = self.recovery.as_deref_mut() {
            let (records, una) = (&mut self.records, self.una);
            recovery.fill(start, end, |hole| {
                if hole.end > una
                    && let Ok(length) = u32::try_from(hole.end - hole.start)
                {
                    records.insert(hole.start, length, now);
                    // A byte that was lost before the capture has been sent before: it gives no sample.
                    if cause != Cause::Reordered {
                        records.for_range(hole.start, hole.end, |r| r.untimed = true);
                    }
                }
            });
        }
        self.lowest = self.lowest.min(start);
        if end > self.snd_max {
            let fresh = u32::try_from(end - self.snd_max).unwrap_or(0);
            let most = if self.seen.acknowledged { usize::MAX } else { MOST_UNHEARD };
            self.records.push(self.snd_max, fresh, now, most);
            self.snd_max = end;
        }
    }

    fn retransmission(&mut self, start: i64, end: i64, packet: &Packet, srtt: Option<Span>) -> Cause {
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
        if start <= self.una {
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
            (Some(srtt), Some(waited)) if end == self.snd_max && waited <= Span(srtt.0 * 2) + PROBE_SLACK => Cause::TailLossProbe,
            _ => Cause::Timeout,
        }
    }

    fn fill_cause(&self, start: i64, end: i64, packet: &Packet) -> Cause {
        let limit = if self.nearest_answer == Span::MAX { REORDERING } else { REORDERING.max(Span(self.nearest_answer.0 / 2)) };
        let Some(recovery) = self.recovery.as_deref() else { return Cause::LostUpstream };
        let Some(hole) = recovery.hole_at(start, end) else { return Cause::LostUpstream };
        let evidence = (start <= self.una && self.duplicates >= 3) || recovery.sacked.bytes_above(end) > 2 * i64::from(self.mss());
        let newer = packet.bits.any(Bits::TIMESTAMP) && Seq(packet.tsval).unwrap_near(i64::from(hole.tsval)) > i64::from(hole.tsval);
        if packet.ts - hole.since < limit && !evidence && !newer { Cause::Reordered } else { Cause::LostUpstream }
    }

    /// Takes an acknowledgement from the peer for this direction's data.
    #[inline]
    pub(crate) fn on_acknowledgement(&mut self, packet: &Packet, options: Option<&Options>, window_changed: bool) -> Option<Acknowledged> {
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
            // Already running when the capture began: what is outstanding reaches further back than what was seen.
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
        let mut outcome = Acknowledged { advanced: advanced.max(0), duplicate: false, rtt: RttOutcome::None };
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
                self.open_hole(hole(self.snd_max, to, packet));
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
        // An acknowledgement of data and FIN together answers the FIN, unless the FIN was on the last data segment.
        if with_fin && !self.seen.fin_with_data {
            return RttOutcome::None;
        }
        let rtt = now - sent;
        if rtt <= Span::ZERO {
            return RttOutcome::NotPositive;
        }
        self.nearest_answer = self.nearest_answer.min(rtt);
        RttOutcome::Sample { rtt, lone: lone && end - start <= mss }
    }

    /// The retransmission that the last SACK declared unnecessary (RFC 2883), once.
    #[inline]
    pub(crate) fn take_disproved(&mut self) -> Option<Retransmission> {
        self.recovery.as_deref_mut().and_then(|r| r.disproved.take())
    }

    /// Enters SACK blocks; whether they said something new.
    fn on_sack(&mut self, options: &Options, ack: i64) -> bool {
        let count = usize::from(options.sack_count).min(4);
        let una = self.una.max(ack);
        let snd_max = self.snd_max;
        let block = |n: usize| {
            let (left, right) = options.sack[n];
            let left = self.unwrap(left, snd_max);
            (left, left + i64::from(right.wrapping_sub(options.sack[n].0)))
        };
        let blocks = [block(0), block(1.min(count - 1)), block(2.min(count - 1)), block(3.min(count - 1))];
        let valid = |&(left, right): &(i64, i64)| left < right && (left - snd_max).abs() <= WILD && right <= snd_max;
        let wild = blocks[..count].iter().filter(|b| (b.0 - snd_max).abs() > WILD).count();
        if wild > 0 {
            self.note_wild(u32::try_from(wild).unwrap_or(0));
        }
        let first = blocks[0];
        let duplicate = valid(&first) && (first.1 <= una || (count > 1 && blocks[1].0 <= first.0 && first.1 <= blocks[1].1));
        let recovery = self.recovery.get_or_insert_default();
        if duplicate && let Some(retransmission) = recovery.disprove(first.0, first.1) {
            self.counters.spurious += 1;
            match retransmission.cause {
                Cause::Fast => self.counters.fast -= 1,
                Cause::TailLossProbe => {
                    self.counters.timeout -= 1;
                    self.counters.tail_loss_probes -= 1;
                }
                _ => self.counters.timeout -= 1,
            }
            recovery.disproved = Some(retransmission);
        }
        let records = &mut self.records;
        let mut fresh = false;
        for &(left, right) in blocks[..count].iter().skip(usize::from(duplicate)).filter(|b| valid(b)) {
            if recovery.is_full() {
                break;
            }
            recovery.sacked.insert(left.max(una), right, |from, to| {
                fresh = true;
                records.sack(from, to);
            });
        }
        fresh
    }

    /// A FIN at the end of this packet. Whether it belongs to this connection.
    pub(crate) fn on_fin(&mut self, packet: &Packet) -> bool {
        let at = self.unwrap(packet.seq, self.snd_max) + i64::from(packet.payload);
        if self.fin == i64::MAX {
            if (at - self.snd_max).abs() > WILD {
                self.note_wild(1);
                return false;
            }
            self.fin = at;
            self.seen.fin_with_data = packet.payload > 0;
            return true;
        }
        self.counters.fin_retransmissions += 1;
        true
    }

    /// Whether a RST of this endpoint lies where the peer would accept it: at or above what the peer has acknowledged, within its window.
    pub(crate) fn accepts_reset(&self, packet: &Packet, peer_window: u32) -> bool {
        if !self.seen.sequence {
            return true;
        }
        let at = self.unwrap(packet.seq, self.snd_max);
        let right = self.snd_max.max(self.una + i64::from(peer_window)) + 1;
        (self.una - 1..=right).contains(&at)
    }

    /// The clock stepped: nothing that spans the step is a time.
    pub(crate) fn on_clock_step(&mut self) {
        self.records.forget_times();
        if let Some(echo) = self.echo.as_deref_mut() {
            echo[0].clear();
            echo[1].clear();
        }
    }
}

/// Bytes that are missing since `packet`.
fn hole(start: i64, end: i64, packet: &Packet) -> Hole {
    Hole { start, end, since: packet.ts, tsval: packet.tsval, before: false }
}

/// Sequence, acknowledgement, length, flags, timestamp, IP identification and checksum of a packet, mixed to 32 bits: enough to know it
/// again among the last four of its direction.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves are mixed")]
fn print(packet: &Packet) -> u32 {
    let numbers = (u64::from(packet.seq) << 32 | u64::from(packet.ack)) ^ (u64::from(packet.payload) << 16 | u64::from(packet.flags.0));
    let rest = u64::from(packet.tsval) << 32 | u64::from(packet.ip_id) << 16 | u64::from(packet.checksum);
    let mixed = u128::from(numbers ^ 0x9e37_79b9_7f4a_7c15) * u128::from(rest ^ 0xc2b2_ae3d_27d4_eb4f);
    let folded = mixed as u64 ^ (mixed >> 64) as u64;
    folded as u32 ^ (folded >> 32) as u32
}

/// What an acknowledgement did to the data's direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged {
    pub(crate) advanced: i64,
    pub(crate) duplicate: bool,
    pub(crate) rtt: RttOutcome,
}
