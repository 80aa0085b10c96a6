//! One transfer under measurement: everything that is kept between its first data packet and its
//! end.

mod distance;
mod drawing;
mod losses;

use trustbed_flow::{Ack, Cause, Class, RttOutcome, Segment, Sight};
use trustbed_units::{Ns, Span};

use self::distance::{far_is_needed, is_further_than_receiver, rtt_to_sender, to_sender};
use crate::clock::held_by_network;
use crate::loss::{Losses, Silences};
use crate::samples::{RttKind, RttRow, Samples, TransferId};
use crate::series::{FAR, Series, since};
use crate::window::WindowTime;
use crate::{
    AckSilences, AcksHeld, Afar, Answers, Arrival, At, Bucket, Budget, Delivery, Departure,
    Distribution, Elsewhere, Exchanges, HostClock, Options, Outstanding, PacketPairs, Passing,
    Policing, Profile, Recent, Rto, SenderView, Sending, Sent, Stamp, Step, Window,
};

/// A delayed acknowledgement may be in a sample this much above the smallest one (RFC 1122 allows
/// 500 ms; 40 ms is common).
const DELAYED_ACK: Span = Span::from_millis(35);
/// Full segments that one acknowledgement covers as a rule (RFC 1122, RFC 5681).
const USUALLY_COVERED: i64 = 2;
/// Distinct segment sizes counted where the handshake did not show the MSS.
const SIZES: usize = 16;
/// The largest payload that is taken for one wire segment where the handshake did not show the MSS.
const LARGEST_PLAIN: u32 = 1460;
/// The segment size assumed where no packet shows it.
pub(crate) const USUAL: u32 = 1448;

/// Samples of one transfer that were refused, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refused {
    /// Something in the range was sent more than once (Karn).
    pub ambiguous: u32,
    /// The acknowledged bytes were not all captured.
    pub unseen: u32,
    /// The acknowledgement ended inside a wire segment.
    pub inside: u32,
    /// Not positive: a clock fault.
    pub not_positive: u32,
}

/// What is measured of one transfer.
#[derive(Debug)]
pub struct Transfer {
    pub(crate) id: TransferId,
    pub(crate) start: Ns,
    pub(crate) start_offset: i64,
    pub(crate) last_ack: Option<(Ns, i64)>,
    pub(crate) last_data: Ns,
    pub(crate) last_new: Ns,
    pub(crate) headers: u16,
    pub(crate) near: SenderView,
    pub(crate) delivery: Delivery,
    pub(crate) rtt: Distribution,
    pub(crate) rto: Rto,
    pub(crate) window: WindowTime,
    pub(crate) losses: Losses,
    pub(crate) silences: Silences,
    pub(crate) answers: Answers,
    pub(crate) bucket: Bucket,
    pub(crate) policing: Policing,
    /// Where the time went, seen from here; none once it is known that the sender is elsewhere.
    pub(crate) budget: Option<Budget>,
    pub(crate) exchanges: Exchanges,
    pub(crate) packet_pairs: Option<Box<PacketPairs>>,
    /// The first retransmission of the present recovery: end of its bytes and its timestamp.
    repaired: Option<(i64, u32)>,
    /// Fast recoveries that nothing had been lost for, by the timestamps of the Eifel algorithm,
    /// and all of them.
    pub(crate) needless: (u32, u32),
    pub(crate) ack_silences: AckSilences,
    pub(crate) acks_held: AcksHeld,
    /// The receiver's timestamp of its last new acknowledgement.
    acknowledged_tsval: Option<u32>,
    /// Everything below was acknowledged when nothing was outstanding last.
    emptied: Option<i64>,
    /// Times to the sender and back of late.
    recent: Recent,
    /// How long the last data had been under way to the capture beyond the least.
    lag: i64,
    pub(crate) profile: Profile,
    pub(crate) clock: HostClock,
    pub(crate) far: Option<Box<Elsewhere>>,
    /// Holes filled by what had been sent before the data behind them: overtaken, not lost.
    pub(crate) overtaken: u32,
    pub(crate) echo: Distribution,
    /// From the handshake: capture point to the sender of the data and back.
    pub(crate) opening: Option<Span>,
    pub(crate) rtt_timestamp: (u64, i64, i64),
    pub(crate) refused: Refused,
    pub(crate) delack_suspects: u32,
    pub(crate) segments_wire: u64,
    pub(crate) retransmitted_wire: u64,
    pub(crate) spurious_wire: u64,
    sizes: Vec<(u32, u32)>,
    last_length: u32,
    /// The caller says that the sender is elsewhere, or that it is here.
    far_given: bool,
    here_given: bool,
    pub(crate) series: Option<Box<Series>>,
    /// Known to be too short to judge: where its time went, and what changed over it, is asked of
    /// others only.
    pub(crate) brief: bool,
}

/// Where a packet's rows go, if anywhere.
pub(crate) type Rows<'a> = Option<&'a mut Samples>;

impl Transfer {
    /// A transfer that begins with `segment`.
    pub(crate) fn begin(
        sight: &Sight<'_>,
        segment: &Segment,
        options: Options,
        rows: Rows<'_>,
    ) -> Self {
        let (stream, peer) = (sight.stream, sight.peer);
        // Nothing came from the receiver: data in a SYN (RFC 7413), or a capture that began here.
        let unheard = !peer.seen.syn && !peer.seen.window;
        let mut transfer = Self {
            id: TransferId {
                connection: sight.connection,
                by_responder: sight.direction != sight.initiator,
            },
            start: segment.now,
            start_offset: segment.start,
            last_ack: None,
            last_data: segment.now,
            last_new: segment.now,
            headers: segment.headers,
            near: SenderView::new(
                stream.una,
                if unheard { u32::MAX } else { peer.window },
                segment.start,
            ),
            delivery: Delivery::default(),
            rtt: Distribution::default(),
            rto: Rto::default(),
            window: if unheard {
                WindowTime::default()
            } else {
                WindowTime::begin(segment.now, peer.window)
            },
            losses: Losses::default(),
            silences: Silences::default(),
            answers: Answers::default(),
            bucket: Bucket::default(),
            policing: Policing::default(),
            budget: (!options.at.is_some_and(At::is_away))
                .then(|| Budget::new(stream.una, Window::of(peer), segment.start)),
            exchanges: Exchanges::default(),
            packet_pairs: options.packet_pairs.then(Box::default),
            repaired: None,
            needless: (0, 0),
            ack_silences: AckSilences::default(),
            acks_held: AcksHeld::default(),
            acknowledged_tsval: None,
            emptied: None,
            recent: Recent::default(),
            lag: 0,
            profile: Profile::default(),
            clock: HostClock::default(),
            far: None,
            overtaken: 0,
            echo: Distribution::default(),
            opening: to_sender(sight),
            rtt_timestamp: (0, 0, i64::MAX),
            refused: Refused::default(),
            delack_suspects: 0,
            segments_wire: 0,
            retransmitted_wire: 0,
            spurious_wire: 0,
            sizes: Vec::new(),
            last_length: 0,
            far_given: options.at.is_some_and(At::is_away),
            here_given: options.at == Some(At::Sender),
            series: options.series.then(Box::default),
            brief: false,
        };
        transfer.take_handshake(sight, segment.index, rows);
        transfer
    }

    /// The handshake's round trip is the first sample.
    fn take_handshake(&mut self, sight: &Sight<'_>, index: u64, rows: Rows<'_>) {
        let by_initiator = sight.direction == sight.initiator;
        let handshake = sight.handshake;
        let (rtt, at) = if by_initiator {
            (handshake.to_responder(), handshake.syn_ack)
        } else {
            (handshake.to_initiator(), handshake.ack)
        };
        if let (Some(rtt), Some(at)) = (rtt, at)
            && rtt > Span::ZERO
        {
            self.rtt.add(rtt.0);
            self.rto.on_sample(rtt);
            if let Some(rows) = rows {
                let rto = Some(self.rto.values());
                rows.rtt.push(RttRow {
                    index,
                    transfer: self.id,
                    ts: at,
                    rtt,
                    kind: RttKind::Syn,
                    delack_suspect: false,
                    rto,
                });
            }
        }
    }

    /// Smallest round-trip time so far.
    #[inline]
    pub(crate) fn rtt_base(&self) -> Option<Span> {
        self.rtt.min().map(Span)
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds of a round trip")]
    fn rtt_mean(&self) -> Option<Span> {
        self.rtt.mean().map(|m| Span(m as i64))
    }

    /// A data packet was seen.
    #[inline]
    pub(crate) fn on_data(
        &mut self,
        sight: &Sight<'_>,
        segment: &Segment,
        echoed: Option<Span>,
        mut rows: Rows<'_>,
    ) {
        let stream = sight.stream;
        let mss = stream.mss();
        let now = segment.now;
        let fresh = i64::from(segment.length - segment.overlap);
        let outstanding_before = segment.outstanding > fresh;
        self.count(segment, mss, stream.seen.mss_known);
        if let Some(echoed) = echoed {
            self.on_echo(segment, echoed, rows.as_deref_mut());
        }
        if !outstanding_before {
            self.window.settle(now, mss);
        }
        let repeats =
            segment.class == Class::Retransmission || segment.cause == Cause::LostUpstream;
        let mut lost = false;
        if segment.class == Class::Retransmission {
            let genuine = segment.cause != Cause::Spurious;
            lost = self.losses.on_retransmission(
                segment.start,
                stream.snd_max,
                stream.una,
                since(self.start, now),
                genuine,
            ) && genuine;
            self.note_loss(sight, segment);
            if lost
                && segment.cause == Cause::Fast
                && let Some(tsval) = segment.tsval
            {
                self.repaired = Some((segment.end(), tsval));
            }
            if segment.cause == Cause::Timeout {
                self.rto.on_timeout();
            }
        } else {
            let pending = outstanding_before || self.last_length >= mss;
            self.silences.on_new(now, pending, outstanding_before);
            self.last_new = now;
            self.note_new(segment, mss);
        }
        self.note_exchange(sight, segment);
        let crossing = sight.peer.seen.payload && sight.peer.outstanding() > 0;
        self.exchanges.on_data(since(self.start, segment.now), segment, crossing);
        if let Some(pairs) = &mut self.packet_pairs {
            pairs.on_data(segment, mss);
        }
        self.ack_silences.on_data(now);
        self.answers.on_passing(
            now,
            segment.length >= mss,
            segment.class == Class::Retransmission,
            self.echo.min().map(Span),
        );
        let passing = match (segment.class, segment.cause) {
            _ if lost => Passing::Recovery,
            (Class::Retransmission, Cause::Spurious) => Passing::InVain,
            (Class::Retransmission, _) => Passing::Again,
            _ => Passing::New,
        };
        self.answers.on_data(now, stream.snd_max, passing);
        let sent = Sent {
            now,
            end: segment.end(),
            length: segment.length,
            repeats,
            mss,
            rtt_base: self.rtt_base(),
            held_by_network: false,
        };
        let in_recovery = self.losses.in_recovery(stream.una);
        let turn = self.near.on_send(&sent, in_recovery);
        let departure = self.departure(sight, segment, echoed);
        if let Some(budget) = self.budget.as_mut().filter(|_| !self.brief) {
            budget.on_departure(&departure);
        }
        if self.watches_far(sight) {
            self.on_data_far(sight, sent, segment, (in_recovery, departure));
            self.note_lag(segment);
        }
        if let Some(tsval) = segment.tsval {
            self.clock.on_packet(tsval, now);
            if !self.brief {
                self.profile.on_timestamp(since(self.start, now), tsval);
            }
        }
        self.last_data = now;
        self.last_length = segment.length;
        if rows.is_some() || self.series.is_some() {
            self.draw_data(sight, segment, turn, rows);
        }
    }

    /// The segment as its sender sent it: data that waited between the sender's stack and the
    /// capture, by the sender's own clock, left that much earlier.
    #[inline]
    fn departure(
        &mut self,
        sight: &Sight<'_>,
        segment: &Segment,
        echoed: Option<Span>,
    ) -> Departure {
        self.lag = segment.tsval.map_or(0, |tsval| self.clock.lag(tsval, segment.now, echoed));
        self.acks_held.on_data(segment.now, self.lag);
        let sending = match (segment.class, segment.cause) {
            (Class::Retransmission, Cause::Spurious) if segment.end() <= sight.stream.una => {
                Sending::Needless
            }
            (Class::Retransmission, Cause::Timeout | Cause::TailLossProbe) => Sending::Timer,
            (Class::Retransmission, _) => Sending::Repair,
            (Class::Fill, Cause::LostUpstream) => Sending::Fill,
            _ => Sending::New,
        };
        Departure {
            at: since(self.start, segment.now).0 - self.lag,
            start: segment.start,
            end: segment.end(),
            length: segment.length,
            mss: sight.stream.mss(),
            sending,
            base: self.rtt.min(),
            smoothed: self.rto.srtt().map(|srtt| srtt.0.min(FAR)),
            lag: self.lag,
            onward: 0,
            afar: None,
            prompted: false,
            unheard: segment
                .tsecr
                .zip(self.acknowledged_tsval)
                .is_some_and(|(echoed, sent)| sent.wrapping_sub(echoed).cast_signed() > 0),
        }
    }

    /// Counts wire segments (a super-packet is several) and, where the MSS is not known, sizes.
    #[inline]
    fn count(&mut self, segment: &Segment, mss: u32, mss_known: bool) {
        self.headers = segment.headers;
        let wire =
            if segment.length <= mss { 1 } else { u64::from(segment.length.div_ceil(mss.max(1))) };
        self.segments_wire += wire;
        if segment.class == Class::Retransmission {
            self.retransmitted_wire += wire;
            if segment.cause == Cause::Spurious {
                self.spurious_wire += wire;
            }
        }
        if !mss_known && segment.length <= LARGEST_PLAIN {
            if let Some(size) = self.sizes.iter_mut().find(|s| s.0 == segment.length) {
                size.1 += 1;
            } else if self.sizes.len() < SIZES {
                self.sizes.push((segment.length, 1));
            }
        }
    }

    /// The most frequent payload of at most 1460 bytes; the larger one on a tie.
    pub(crate) fn usual_size(&self) -> u32 {
        self.sizes.iter().max_by_key(|&&(size, count)| (count, size)).map_or(USUAL, |s| s.0)
    }

    fn on_echo(&mut self, segment: &Segment, echoed: Span, rows: Rows<'_>) {
        self.echo.add(echoed.0);
        self.recent.add(segment.now, (echoed.0 - self.lag).max(0));
        self.answers.on_echo(echoed);
        if !self.brief {
            self.profile.on_echo(since(self.start, segment.now), echoed);
        }
        if let Some(rows) = rows {
            rows.rtt.push(RttRow {
                index: segment.index,
                transfer: self.id,
                ts: segment.now,
                rtt: echoed,
                kind: RttKind::Timestamp,
                delack_suspect: false,
                rto: None,
            });
        }
    }

    /// Whether the sender's view must be reconstructed. Asked again now and then: answer times only
    /// shrink.
    #[inline]
    fn watches_far(&mut self, sight: &Sight<'_>) -> bool {
        const ASKED_AGAIN: u32 = 32;
        let packets = sight.stream.counters.data_packets;
        if self.budget.is_some() && (packets <= 8 || packets.is_multiple_of(ASKED_AGAIN)) {
            let needed = self.far_given || far_is_needed(sight);
            if !needed {
                self.far = None;
            } else if packets >= SETTLED && !self.here_given && is_further_than_receiver(sight) {
                self.budget = None;
            }
            return needed;
        }
        self.budget.is_none() || self.far.is_some()
    }

    /// The same through the eyes of a sender that is elsewhere.
    fn on_data_far(
        &mut self,
        sight: &Sight<'_>,
        mut sent: Sent,
        segment: &Segment,
        (in_recovery, departure): (bool, Departure),
    ) {
        let Some(rtt) = rtt_to_sender(sight) else { return };
        if let (Some(tsval), Some((last, then)), Some(tick)) =
            (segment.tsval, self.clock.last(), self.clock.tick())
        {
            sent.held_by_network =
                held_by_network(segment.now - then, tsval.wrapping_sub(last), tick);
        }
        let stream = sight.stream;
        let start = segment.start;
        let far = self.far.get_or_insert_with(|| {
            Box::new(Elsewhere::new(stream.una, sight.peer.window, Window::of(sight.peer), start))
        });
        sent.rtt_base = self.echo.min().map(Span);
        far.on_data(&sent, rtt, in_recovery);
        if self.brief {
            return;
        }
        let recent = self.recent.least().map_or(rtt, |recent| Span(recent.max(rtt.0)));
        let base = Some(recent.0 + self.rtt.min().unwrap_or(0));
        let here = self.rtt.min().unwrap_or(0);
        let onward = if here < self.echo.min().unwrap_or(0) / BESIDE { 0 } else { here };
        let afar =
            Some(Afar { whole: !stream.acknowledges_unseen(), timed: segment.tsval.is_some() });
        let departure = Departure { base, smoothed: base, onward, afar, ..departure };
        far.on_departure(&departure, recent, rtt);
    }

    /// A packet of the receiver was seen. A SYN-ACK is good for its round-trip time only: its
    /// window is not scaled, and what the sender does next answers the handshake.
    #[inline]
    pub(crate) fn on_ack(&mut self, sight: &Sight<'_>, ack: &Ack, rows: Rows<'_>) {
        let stream = sight.stream;
        let mss = stream.mss();
        let began = self.emptied.is_none_or(|all| ack.una - ack.advanced == all);
        let emptied = ack.una >= stream.snd_max;
        let alone = emptied && began && ack.advanced > USUALLY_COVERED * i64::from(mss);
        if emptied && ack.advanced > 0 {
            self.emptied = Some(ack.una);
        }
        self.on_rtt(ack, alone, rows);
        if ack.opening {
            return;
        }
        if let Some(tsval) = ack.tsval {
            self.acks_held.on_ack(ack.now, tsval);
            if ack.advanced > 0 {
                self.acknowledged_tsval = Some(tsval);
            }
        }
        let in_recovery = self.losses.in_recovery(stream.una);
        let outstanding =
            Outstanding { before: ack.una - ack.advanced, una: ack.una, high: stream.snd_max, mss };
        let there = self.far.as_ref().and_then(|_| self.echo.min()).unwrap_or(0);
        let base = self.rtt.min().or(self.far.as_ref().map(|_| 0)).map(|here| here + there);
        // Who misses data misses acknowledgements, too.
        let missed = stream.was_missed(outstanding.before, ack.una);
        let stamp = ack.tsval.map(|tsval| Stamp { tsval, tick: self.acks_held.tick() });
        self.ack_silences.on_ack(ack.now, &outstanding, base, in_recovery || missed, stamp);
        let idle = ack.advanced == 0 && stream.una >= stream.snd_max;
        if let Some(pairs) = &mut self.packet_pairs {
            pairs.on_ack(ack, mss, self.headers);
        }
        self.note_arrival(ack, mss, sight.peer.seen.scale_known);
        self.answers.on_ack(ack.now, (stream.una, stream.snd_max), ack.advanced > 0, ack.duplicate);
        if ack.advanced > 0 {
            self.silences.on_progress(ack.now, true);
            if ack.una > self.start_offset {
                self.last_ack = Some((ack.now, ack.una));
                let mean = self.rtt_mean();
                self.delivery.on_ack(ack.now, ack.una, since(self.start, ack.now), mean);
                if !self.brief {
                    self.profile.on_ack(since(self.start, ack.now), ack.una - self.start_offset);
                }
            }
        }
        self.near.on_receive(ack.now, ack.una, ack.window, mss, in_recovery);
        if let Some(far) = &mut self.far {
            far.on_ack(ack.now, ack.una, ack.window, in_recovery);
        }
        self.window.on_window(ack.now, ack.window, mss, idle);
        if let Some(series) = &mut self.series {
            #[expect(clippy::cast_precision_loss, reason = "offsets for a chart")]
            let offset = (ack.una - self.start_offset) as f64;
            series.acks.add(since(self.start, ack.now), offset, 0.0);
            let offset = ack.una - self.start_offset;
            series.stretches.on_ack(Step {
                since: since(self.start, ack.now),
                offset,
                edge: offset + i64::from(ack.window),
            });
        }
    }

    /// A packet of the receiver, for the budget of time and for exchanges.
    #[inline]
    fn note_arrival(&mut self, ack: &Ack, mss: u32, scaled: bool) {
        let at = since(self.start, ack.now);
        let rtt = match ack.rtt {
            RttOutcome::Sample { rtt, .. } => Some(rtt.0),
            RttOutcome::NotPositive => Some(0),
            _ => None,
        };
        let delay = rtt.map(|rtt| rtt.saturating_add(self.lag).min(FAR));
        let arrival = Arrival {
            at: at.0,
            una: ack.una,
            window: ack.window,
            data: ack.data,
            marked: ack.marked,
            delay,
            sent: delay.map(|delay| at.0.saturating_sub(delay)),
        };
        if let Some(budget) = self.budget.as_mut().filter(|_| !self.brief) {
            if scaled {
                budget.know_windows();
            }
            budget.on_arrival(&arrival, mss);
        }
        if let Some(far) = self.far.as_mut().filter(|_| !self.brief) {
            // Beside the receiver its own delay is no queue.
            let beside = self.rtt.min().unwrap_or(0) < self.echo.min().unwrap_or(0) / BESIDE;
            let delay = if beside { delay.map(|_| self.lag) } else { delay };
            far.on_arrival(Arrival { delay, ..arrival });
        }
        self.exchanges.on_ack(at, ack.una, ack.data);
        if let Some((end, tsval)) = self.repaired
            && ack.una >= end
        {
            self.repaired = None;
            let before = |tsecr: u32| tsval.wrapping_sub(tsecr).cast_signed() > 0;
            self.needless.0 += u32::from(ack.tsecr.is_some_and(before));
            self.needless.1 += 1;
        }
    }

    /// A retransmission turned out to have been unnecessary.
    pub(crate) fn on_disproved(
        &mut self,
        sight: &Sight<'_>,
        retransmission: &trustbed_flow::Retransmission,
    ) {
        self.losses.on_disproved(since(self.start, retransmission.sent));
        self.answers.on_disproved();
        let length = u64::try_from(retransmission.end - retransmission.start).unwrap_or(0);
        self.spurious_wire += length.div_ceil(u64::from(sight.stream.mss().max(1)));
    }

    /// An acknowledgement that comes `alone`, the only one of a flight, waited for its last segment
    /// and for its reader, and says nothing of the floor.
    #[inline]
    fn on_rtt(&mut self, ack: &Ack, alone: bool, rows: Rows<'_>) {
        let suspect = match ack.rtt {
            RttOutcome::None => false,
            RttOutcome::Sample { rtt, lone } => {
                let suspect = lone && self.rtt_base().is_some_and(|base| rtt - base >= DELAYED_ACK);
                self.delack_suspects += u32::from(suspect);
                self.rtt.add(rtt.0);
                self.rto.on_sample(rtt);
                self.answers.on_rtt(rtt);
                if !self.brief && !alone {
                    self.profile.on_rtt(since(self.start, ack.now), rtt);
                }
                self.policing.on_rtt(since(self.start, ack.now), rtt);
                suspect
            }
            RttOutcome::Ambiguous => bump(&mut self.refused.ambiguous),
            RttOutcome::Unseen => bump(&mut self.refused.unseen),
            RttOutcome::Inside => bump(&mut self.refused.inside),
            RttOutcome::NotPositive => bump(&mut self.refused.not_positive),
        };
        if let Some(rtt) = ack.rtt_timestamp {
            self.rtt_timestamp.0 += 1;
            self.rtt_timestamp.1 += rtt.0;
            self.rtt_timestamp.2 = self.rtt_timestamp.2.min(rtt.0);
        }
        if rows.is_some() || self.series.is_some() {
            self.draw_rtt(ack, suspect, rows);
        }
    }

    /// Its bytes, those on the heap included.
    pub(crate) fn held_bytes(&self) -> usize {
        let far = self.far.as_deref().map_or(0, |far| size_of::<Elsewhere>() + far.held_bytes());
        let pairs = self.packet_pairs.as_deref();
        let series = self.series.as_deref();
        size_of::<Self>()
            + self.near.held_bytes()
            + self.delivery.held_bytes()
            + self.rtt.held_bytes()
            + self.echo.held_bytes()
            + self.window.held_bytes()
            + self.losses.held_bytes()
            + self.silences.held_bytes()
            + self.answers.held_bytes()
            + self.bucket.held_bytes()
            + self.policing.held_bytes()
            + self.budget.as_ref().map_or(0, Budget::held_bytes)
            + self.exchanges.held_bytes()
            + self.profile.held_bytes()
            + self.sizes.capacity() * size_of::<(u32, u32)>()
            + pairs.map_or(0, |pairs| size_of::<PacketPairs>() + pairs.held_bytes())
            + series.map_or(0, |series| size_of::<Series>() + series.held_bytes())
            + far
    }

    /// Something of what every packet needs, from all over it.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let view = self.near.una() ^ self.near.blocked ^ self.near.empty;
        let counted = self.segments_wire ^ u64::from(self.last_length);
        let times = self.start.0 ^ self.last_data.0 ^ self.lag ^ self.answers.interrupted;
        let held = self.acks_held.time ^ self.ack_silences.time ^ self.silences.outage;
        let rest = self.window.zero().0.0 ^ i64::from(self.clock.tick().is_some());
        counted
            ^ (view ^ times ^ held ^ rest).unsigned_abs()
            ^ self.budget.as_ref().map_or(0, Budget::touch)
    }

    pub(crate) fn srtt(&self) -> Option<Span> {
        self.rto.srtt()
    }

    pub(crate) fn on_clock_step(&mut self) {
        self.near.on_clock_step();
        if let Some(far) = &mut self.far {
            far.on_clock_step();
        }
        self.delivery.on_clock_step();
        self.window.on_clock_step();
        self.silences.on_clock_step();
        self.answers.on_clock_step();
        self.bucket.on_clock_step();
        self.policing.on_clock_step();
        if let Some(budget) = &mut self.budget {
            budget.on_clock_step();
        }
        self.ack_silences.on_clock_step();
        self.acks_held.on_clock_step();
        self.profile.on_clock_step();
    }
}

fn bump(counter: &mut u32) -> bool {
    *counter = counter.saturating_add(1);
    false
}

/// A sender that is nearer to the receiver than to the capture after so many packets stays there.
const SETTLED: u32 = 1024;
/// A capture is beside the receiver when it is this many times nearer than the sender.
const BESIDE: i64 = 4;
