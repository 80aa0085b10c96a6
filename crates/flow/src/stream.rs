//! One direction of a TCP connection: its sequence numbers, what was seen of it, what is
//! outstanding, and how it opens and closes.
//!
//! What a packet does to it is in a file for each question: `segment` (the words), `payload`
//! (which bytes are new, and what a segment is), `repair` (why a segment was sent again),
//! `acknowledgement` (what an ACK covers and whether it is a round trip), `sack` (what a SACK block
//! adds), `size` (how much a full segment carries), `counters`.
//!
//! Offsets are 64-bit and relative to the first payload byte; the SYN is −1. In a connection that
//! was already running the first sequence number seen is offset 0 and negative offsets are legal.

mod acknowledgement;
mod counters;
mod payload;
mod repair;
mod sack;
mod segment;
mod size;

use trustbed_units::{Seq, Span};
use trustbed_wire::{Bits, Options, Packet, TcpFlags};

use crate::recovery::Hole;
use crate::{Echo, Records, Recovery};

pub(crate) use acknowledgement::Acknowledged;
pub use acknowledgement::{Ack, RttOutcome};
pub use counters::Counters;
pub use segment::{Cause, Class, Segment};
use size::SegmentSize;

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
    /// Largest segment this direction may send: from the handshake, or the largest payload up to
    /// 1460 seen; less where the path or options leave less room (`SegmentSize`).
    mss: u16,
    size: SegmentSize,
    /// Window shift of this endpoint.
    pub shift: u8,
    /// What was seen of this endpoint.
    pub seen: Seen,
    fingerprints: [(u32, u32); 4],
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
    /// Its SYN-ACK agreed to classic ECN (RFC 3168): ECE without CWR.
    pub ecn: bool,
    /// Its SYN carried `MP_CAPABLE` or `MP_JOIN`, or a later segment of it DSS: where both sides
    /// did, the connection is a subflow of Multipath TCP (RFC 8684).
    pub multipath: bool,
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

/// A field further than this from where it is expected is ignored (RFC 793 windows are smaller than
/// 2³⁰).
const WILD: i64 = 1 << 30;
/// An answer with the timestamp of what it answers.
pub const AT_ONCE: Span = Span(1);
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
            size: SegmentSize::default(),
            shift: 0,
            seen: Seen::default(),
            fingerprints: [(0, 0); 4],
        }
    }
}

impl Stream {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        let echo = self.echo.as_deref().map_or(0, |[data, acks]| {
            size_of::<[Echo; 2]>() + data.held_bytes() + acks.held_bytes()
        });
        let recovery = self.recovery.as_deref().map_or(0, Recovery::held_bytes);
        self.records.held_bytes() + recovery + echo
    }

    /// Something of what every packet needs.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let counted = self.counters.packets ^ u64::from(self.counters.pure_acks);
        counted
            ^ self.una.unsigned_abs()
            ^ u64::from(self.window)
            ^ u64::from(self.fingerprints[0].0)
    }

    /// The sequence number of the highest end seen.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "modulo 2³²")]
    pub(crate) fn highest(&self) -> Option<u32> {
        self.seen.sequence.then(|| self.base.wrapping_add(self.snd_max as u32))
    }

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

    /// Bytes that the receiver acknowledged and the capture never held. What was sent before the
    /// capture held anything of the sender is not among them.
    pub fn acknowledged_unseen(&self) -> u64 {
        let Some(recovery) = &self.recovery else { return 0 };
        let end = if self.has_fin() { self.una } else { self.una - 1 };
        // A missing FIN looks like one missing byte at the very end.
        recovery.forgotten_bytes + recovery.missing_bytes(end).unsigned_abs()
    }

    /// Whether there are any, which is quicker to say.
    #[inline]
    pub fn acknowledges_unseen(&self) -> bool {
        let end = if self.has_fin() { self.una } else { self.una - 1 };
        self.recovery.as_ref().is_some_and(|r| r.forgotten_bytes > 0 || r.misses_any(end))
    }

    /// Holes that were not remembered because there were too many.
    pub fn forgotten_holes(&self) -> u64 {
        self.recovery.as_ref().map_or(0, |recovery| recovery.forgotten_holes)
    }

    /// Whether the capture never held some of `[start, end)`. Where the receiver acknowledges it,
    /// the capture has missed packets about this time.
    #[inline]
    pub fn was_missed(&self, start: i64, end: i64) -> bool {
        self.recovery
            .as_ref()
            .is_some_and(|recovery| recovery.hole_at(start, end).is_some_and(|hole| !hole.before))
    }

    /// Whether this side has sent its FIN, acknowledged or not: the last ACK of a connection is
    /// often missing from a capture.
    pub fn has_fin(&self) -> bool {
        self.fin != i64::MAX
    }

    /// Whether this packet was captured before, within a millisecond. A kernel without a socket
    /// answers every packet of a burst with the same RST of IP identification 0: nothing shows
    /// those from one that was captured twice, and they are not counted.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "fingerprints and microseconds modulo 2³²"
    )]
    pub(crate) fn is_duplicate(&mut self, packet: &Packet, options: Option<&Options>) -> bool {
        if packet.ip_id == 0 && packet.flags.any(TcpFlags::RST) {
            return false;
        }
        let fingerprint = fingerprint(packet, options);
        let micros = (packet.ts.0 >> 10) as u32;
        if self.counters.packets > 0
            && self.fingerprints.iter().any(|&(known, t)| {
                known == fingerprint && micros.wrapping_sub(t) <= DUPLICATE_MICROS
            })
        {
            return true;
        }
        self.fingerprints.rotate_right(1);
        self.fingerprints[0] = (fingerprint, micros);
        false
    }

    /// The initial sequence number was seen.
    pub(crate) fn open(&mut self, packet: &Packet, options: Option<&Options>) {
        self.base = packet.seq.wrapping_add(1);
        (self.seen.sequence, self.seen.number) = (true, true);
        self.seen.syn = true;
        self.seen.syn_ack = packet.flags.any(TcpFlags::ACK);
        self.seen.ecn = self.seen.syn_ack
            && packet.flags.any(TcpFlags::ECE)
            && !packet.flags.any(TcpFlags::CWR);
        (self.snd_max, self.una, self.lowest) = (0, 0, 0);
        // The window of a SYN is never scaled and counts in no statistic, but it holds until the
        // next packet.
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

    /// The first number of an endpoint whose SYN was not seen: it defines offset 0, unless the
    /// peer's acknowledgements did before.
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
        if packet.flags.any(TcpFlags::RST)
            || packet.bits.any(Bits::FRAGMENT_LATER)
            || (at - self.snd_max).abs() > WILD
        {
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

    #[cold]
    fn note_wild(&mut self, fields: u32) {
        self.seen.wild = true;
        self.counters.wild += fields;
    }

    /// The number after the highest that this side has used: a FIN uses one (RFC 9293, section
    /// 3.4).
    #[inline]
    fn next_number(&self) -> i64 {
        if self.has_fin() { self.snd_max.max(self.fin + 1) } else { self.snd_max }
    }

    fn open_hole(&mut self, hole: Hole) {
        self.recovery.get_or_insert_default().add_hole(hole);
    }

    /// A FIN at the end of this packet. Whether it belongs to this connection.
    pub(crate) fn on_fin(&mut self, packet: &Packet) -> bool {
        let at = self.unwrap(packet.seq, self.snd_max) + i64::from(packet.payload);
        if !self.has_fin() {
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

    /// Whether a RST of this endpoint lies where the peer would accept it: at or above what the
    /// peer has acknowledged, within its window.
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

/// Bytes that are missing since `packet` of their sender.
fn hole(start: i64, end: i64, packet: &Packet) -> Hole {
    let tsval = packet.bits.any(Bits::TIMESTAMP).then_some(packet.tsval);
    Hole { start, end, since: packet.ts, tsval, before: false }
}

/// Sequence, acknowledgement, length, flags, window, timestamp, IP identification, checksum and the
/// first SACK block of a packet (a checksum that the card will compute is none yet), mixed to 32
/// bits: enough to know it again among the last four of its direction.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves are mixed")]
fn fingerprint(packet: &Packet, options: Option<&Options>) -> u32 {
    let (left, right) = options.filter(|one| one.sack_count > 0).map_or((0, 0), |one| one.sack[0]);
    let numbers = (u64::from(packet.seq) << 32 | u64::from(packet.ack))
        ^ (u64::from(packet.payload) << 16 | u64::from(packet.flags.0))
        ^ (u64::from(left) << 32 | u64::from(right)).rotate_left(17)
        ^ u64::from(packet.window) << 40;
    let rest =
        u64::from(packet.tsval) << 32 | u64::from(packet.ip_id) << 16 | u64::from(packet.checksum);
    let mixed =
        u128::from(numbers ^ 0x9e37_79b9_7f4a_7c15) * u128::from(rest ^ 0xc2b2_ae3d_27d4_eb4f);
    let folded = mixed as u64 ^ (mixed >> 64) as u64;
    folded as u32 ^ (folded >> 32) as u32
}
