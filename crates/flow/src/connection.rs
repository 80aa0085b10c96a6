//! One connection instance: handshake, state, both directions.

use trustbed_units::{Ns, Span};
use trustbed_wire::{Bits, Options, Packet, TcpFlags};

use crate::stream::{AT_ONCE, Acknowledged};
use crate::table::Observer;
use crate::waiting::{MOST, Waited, Waiting, are_near};
use crate::{Ack, FlowKey, Stream};

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Only a SYN was seen.
    Syn,
    /// SYN and SYN-ACK were seen.
    SynAck,
    /// The handshake is complete.
    Established,
    /// The connection was open before the capture began.
    Midstream,
    /// One side has sent its FIN.
    HalfClosed,
    /// Both sides have sent their FIN, acknowledged or not.
    Closed,
    /// A RST ended it.
    Reset,
    /// Not TCP: a flow of datagrams.
    Datagrams,
}

impl State {
    /// Reset, or both FINs seen.
    pub(crate) const fn is_over(self) -> bool {
        matches!(self, Self::Closed | Self::Reset)
    }

    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "syn_ack",
            Self::Established => "established",
            Self::Midstream => "midstream",
            Self::HalfClosed => "half_closed",
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::Datagrams => "datagrams",
        }
    }
}

/// When the three packets of the handshake were seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Handshake {
    /// First SYN.
    pub syn: Option<Ns>,
    /// First SYN-ACK.
    pub syn_ack: Option<Ns>,
    /// First packet of the initiator after the SYN-ACK.
    pub ack: Option<Ns>,
    /// The SYN was sent more than once: SYN → SYN-ACK is no round trip.
    pub syn_repeated: bool,
    /// The SYN-ACK was sent more than once.
    pub syn_ack_repeated: bool,
    /// Both sides sent a SYN: which packet answers which is undecidable.
    pub crossed: bool,
}

impl Handshake {
    /// From SYN to SYN-ACK: capture point to responder and back.
    pub fn to_responder(&self) -> Option<Span> {
        let unclear = self.syn_repeated || self.crossed;
        (!unclear).then(|| Some(at_once(self.syn_ack? - self.syn?))).flatten()
    }

    /// From SYN-ACK to the initiator's answer.
    pub fn to_initiator(&self) -> Option<Span> {
        let unclear = self.syn_ack_repeated || self.crossed;
        (!unclear).then(|| Some(at_once(self.ack? - self.syn_ack?))).flatten()
    }
}

/// An answer with the timestamp of what it answers came at once.
fn at_once(time: Span) -> Span {
    if time == Span::ZERO { AT_ONCE } else { time }
}

/// One-bit facts about a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each named")]
pub struct Flags {
    /// No SYN was seen.
    pub midstream: bool,
    /// A SYN with another initial sequence number that does not start a new instance.
    pub stray_syn: bool,
    /// A RST outside the window.
    pub stray_reset: bool,
    /// Both sides sent a SYN.
    pub simultaneous_open: bool,
    /// The capture clock stepped back during its life.
    pub clock_step: bool,
    /// A packet was taken out of a tunnel.
    pub inner: bool,
    /// A packet was cut by the snap length.
    pub snapped: bool,
    /// A router marked congestion (ECN).
    pub congestion_experienced: bool,
}

/// One instance of a connection. `T` is what an [`Observer`] keeps per transfer.
///
/// In this order: of a packet that waits only the beginning is read.
#[derive(Debug)]
#[repr(C)]
pub struct Connection<T> {
    pub(crate) hash: u64,
    /// Protocol and endpoints.
    pub key: FlowKey,
    pub(crate) epoch: u32,
    /// Where it is in its life.
    pub state: State,
    /// Direction of the initiator's packets.
    pub initiator: u8,
    /// Addresses are IPv6.
    pub ipv6: bool,
    /// Packets that waited were measured.
    caught_up: bool,
    /// Index of its first packet: its name.
    pub first_index: u64,
    /// Time of its last packet.
    pub last: Ns,
    /// Packets that came and were not measured yet.
    waiting: Option<Box<Waiting>>,
    /// What was measured of each direction's data.
    pub transfers: [Option<Box<T>>; 2],
    /// Bytes that it held when they were counted last.
    pub(crate) weight: u32,
    /// Packets after a RST, counted and not analysed.
    pub packets_after_close: u32,
    /// Number of the last SYN that was none of its own, if there was one.
    stray: u32,
    /// What happened to it.
    pub flags: Flags,
    /// Times of the handshake.
    pub handshake: Handshake,
    /// Time of its first packet.
    pub start: Ns,
    /// Both directions; 0 is sent by the lower endpoint.
    pub streams: [Stream; 2],
}

/// Everything an observer may look at beside its own transfer.
#[derive(Debug)]
pub struct Sight<'a> {
    /// Index of the connection's first packet.
    pub connection: u64,
    /// Direction of the data: 0 when the lower endpoint sends it.
    pub direction: usize,
    /// Direction of the initiator's packets.
    pub initiator: usize,
    /// Times of the handshake.
    pub handshake: &'a Handshake,
    /// The direction of the data.
    pub stream: &'a Stream,
    /// The direction of the acknowledgements.
    pub peer: &'a Stream,
}

/// The parts of a [`Sight`] that do not depend on the direction.
struct About<'a> {
    connection: u64,
    initiator: usize,
    handshake: &'a Handshake,
}

impl<'a> About<'a> {
    fn sight(&self, stream: &'a Stream, peer: &'a Stream, direction: usize) -> Sight<'a> {
        Sight {
            connection: self.connection,
            direction,
            initiator: self.initiator,
            handshake: self.handshake,
            stream,
            peer,
        }
    }
}

impl<T> Connection<T> {
    pub(crate) fn new(packet: &Packet, key: FlowKey, direction: usize, epoch: u32) -> Self {
        let mut connection = Self {
            key,
            first_index: packet.index,
            start: packet.ts,
            last: packet.ts,
            handshake: Handshake::default(),
            streams: [Stream::default(), Stream::default()],
            waiting: None,
            transfers: [None, None],
            packets_after_close: 0,
            hash: packet.flow_hash,
            epoch,
            weight: bare_weight::<T>(),
            state: State::Datagrams,
            initiator: u8::from(direction == 1),
            ipv6: packet.bits.any(Bits::IPV6),
            caught_up: false,
            stray: 0,
            flags: Flags::default(),
        };
        if key.protocol == 6 && !packet.flags.any(TcpFlags::SYN) {
            connection.state = State::Midstream;
            connection.flags.midstream = true;
            // The higher port is taken for the client's; on equal ports the first sender is.
            match key.high_port.cmp(&key.low_port) {
                std::cmp::Ordering::Greater => connection.initiator = 1,
                std::cmp::Ordering::Less => connection.initiator = 0,
                std::cmp::Ordering::Equal => {}
            }
        } else if key.protocol == 6 {
            connection.state = State::Syn;
            if packet.flags.any(TcpFlags::ACK) {
                connection.initiator = u8::from(direction == 0);
            }
        }
        connection
    }

    /// Whether a packet can wait: it changes neither the state, by which connections are searched
    /// and given up, unless as [`Connection::state_after`] says, nor what reveals a clock step.
    #[inline]
    pub(crate) fn may_wait(&self, packet: &Packet, epoch: u32) -> bool {
        let settled = match self.state {
            State::Established | State::Midstream | State::Reset => true,
            State::HalfClosed | State::Closed => {
                self.handshake.ack.is_some() || self.handshake.syn_ack.is_none()
            }
            State::Syn | State::SynAck | State::Datagrams => false,
        };
        settled
            && self.epoch == epoch
            && Waiting::suits(packet)
            && self.waiting.as_ref().is_none_or(|waiting| waiting.takes(packet))
    }

    /// The state after a packet that can wait; `None` where only measuring tells.
    #[inline]
    pub(crate) fn state_after(&self, packet: &Packet, direction: usize) -> Option<State> {
        let closes = packet.flags.any(TcpFlags::FIN) && self.state != State::Reset;
        if closes { self.closed_by(packet, direction) } else { Some(self.state) }
    }

    /// The state after a FIN whose number is near all others of its direction, so that it counts.
    fn closed_by(&self, packet: &Packet, direction: usize) -> Option<State> {
        let (own, other) = (&self.streams[direction], &self.streams[1 - direction]);
        let waiting = self.waiting.as_deref();
        let known = own.highest().is_none_or(|highest| are_near(highest, packet.seq))
            && waiting.is_none_or(|waiting| waiting.is_near(direction, packet.seq));
        let both = other.has_fin() || waiting.is_some_and(|waiting| waiting.has_fin(1 - direction));
        known.then_some(if both { State::Closed } else { State::HalfClosed })
    }

    /// Whether all that wait are to be measured with the next packet. What is measured takes more
    /// room than a thousand packets: the first wait longer, so that most connections end before.
    #[inline]
    pub(crate) fn is_full(&self, most_at_first: usize) -> bool {
        let measured = self.caught_up || self.transfers.iter().any(Option::is_some);
        self.waiting_packets() + 1 >= if measured { MOST } else { most_at_first }
    }

    fn waiting_packets(&self) -> usize {
        self.waiting.as_ref().map_or(0, |waiting| waiting.len())
    }

    /// Something of where the next packet waits.
    #[inline]
    pub(crate) fn touch_waiting(&self) -> u64 {
        let waiting = self.waiting.as_ref().map_or(0, |waiting| waiting.touch());
        self.hash ^ self.last.0.unsigned_abs() ^ waiting
    }

    /// Lets a packet wait that leaves `state` behind. Returns the bytes that this takes.
    #[inline]
    pub(crate) fn wait(
        &mut self,
        packet: &Packet,
        options: Option<&Options>,
        direction: usize,
        state: State,
    ) -> u32 {
        (self.last, self.state) = (packet.ts, state);
        let before = self.waiting_bytes();
        let waiting = self.waiting.get_or_insert_with(|| Box::new(Waiting::before(packet)));
        waiting.push(packet, options, direction);
        let more = self.waiting_bytes() - before;
        self.weight += more;
        more
    }

    fn waiting_bytes(&self) -> u32 {
        self.waiting.as_ref().map_or(0, |waiting| waiting.held_bytes())
    }

    /// Payload bytes of all that is still to be measured, where nothing was measured yet.
    pub(crate) fn unmeasured_bytes(&self) -> Option<u64> {
        let nothing = self.transfers.iter().all(Option::is_none);
        let probes: u64 = self.streams.iter().map(|stream| stream.counters.unique).sum();
        nothing.then(|| probes + self.waiting.as_ref().map_or(0, |waiting| waiting.payload))
    }

    /// Measures the packets that wait. Returns the bytes that are free by that, and whether its
    /// bytes are to be counted again.
    #[inline]
    pub(crate) fn catch_up<O: Observer<Transfer = T>>(&mut self, observer: &mut O) -> (u32, bool) {
        let free = self.waiting_bytes();
        let Some(waiting) = self.waiting.take() else { return (0, false) };
        (free, self.measure_waiting(*waiting, observer))
    }

    /// Measures packets that waited. Returns whether its bytes are to be counted again.
    fn measure_waiting<O: Observer<Transfer = T>>(
        &mut self,
        waiting: Waiting,
        observer: &mut O,
    ) -> bool {
        self.weight -= waiting.held_bytes();
        self.caught_up = true;
        let mut weigh = false;
        let (key, hash) = (self.key, self.hash);
        waiting.measure(&key, hash, |Waited { packet, direction }, options| {
            self.on_segment(&packet, options, direction, observer);
            weigh |= self.is_to_be_weighed();
        });
        weigh
    }

    /// Whether it is time to count its bytes again: often while it is young, then now and then.
    #[inline]
    pub(crate) fn is_to_be_weighed(&self) -> bool {
        let [low, high] = &self.streams;
        let packets = low.counters.packets + high.counters.packets;
        packets.is_multiple_of(WEIGHED_AGAIN) || packets.is_power_of_two()
    }

    /// Counts its bytes, those of its transfers aside. Returns what it held before and holds now.
    pub(crate) fn weigh(&mut self, transfers: usize) -> (u32, u32) {
        let streams: usize = self.streams.iter().map(Stream::held_bytes).sum();
        let now = u32::try_from(size_of::<Self>() + streams + transfers).unwrap_or(u32::MAX);
        (std::mem::replace(&mut self.weight, now), now)
    }

    /// Something of what every packet needs, from all over it.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let [low, high] = &self.streams;
        self.hash ^ self.last.0.unsigned_abs() ^ u64::from(self.epoch) ^ low.touch() ^ high.touch()
    }

    /// Direction of the initiator's packets.
    pub fn initiator_direction(&self) -> usize {
        usize::from(self.initiator)
    }

    /// Whether the connection is over.
    pub fn is_over(&self) -> bool {
        self.state.is_over()
    }

    /// Whether it may never become one: only its handshake was seen, and not all of it. Who sends
    /// data was answered, whether the capture saw it or not.
    pub(crate) fn is_half_open(&self) -> bool {
        matches!(self.state, State::Syn | State::SynAck)
            && self.streams.iter().all(|stream| !stream.seen.payload)
    }

    /// Whether a SYN (or a SYN-ACK after the end) on this key starts a new instance.
    pub(crate) fn is_succeeded_by(&self, packet: &Packet, direction: usize, silence: Span) -> bool {
        let stream = &self.streams[direction];
        if !packet.flags.any(TcpFlags::SYN) || stream.is_initial(packet.seq) {
            return false;
        }
        if packet.flags.any(TcpFlags::ACK) {
            // Who answers a stray SYN has forgotten this instance: the capture missed its end.
            let answers = self.flags.stray_syn && self.stray == packet.ack.wrapping_sub(1);
            return self.is_over() || answers;
        }
        let answered = self.streams.iter().any(|stream| stream.seen.syn_ack);
        self.is_over()
            || silence >= SILENT
            || (!answered && !self.is_unanswered_simultaneous(direction))
    }

    /// The first SYN of the other side while only one SYN was seen: a simultaneous open, not a
    /// successor.
    fn is_unanswered_simultaneous(&self, direction: usize) -> bool {
        self.state == State::Syn
            && direction != self.initiator_direction()
            && !self.streams[direction].seen.syn
    }

    pub(crate) fn on_datagram(&mut self, packet: &Packet, direction: usize) {
        let counters = &mut self.streams[direction].counters;
        counters.packets += 1;
        counters.payload += u64::from(packet.payload);
        self.last = packet.ts;
    }

    /// Takes a TCP packet of this connection. `removes_duplicates`: packets captured twice are
    /// dropped here.
    #[inline]
    pub(crate) fn on_segment<O: Observer<Transfer = T>>(
        &mut self,
        packet: &Packet,
        options: Option<&Options>,
        direction: usize,
        observer: &mut O,
    ) {
        self.last = packet.ts;
        let duplicate = self.streams[direction].is_duplicate(packet, options);
        if duplicate {
            self.streams[direction].counters.capture_duplicates += 1;
            if observer.removes_duplicates() {
                return;
            }
        }
        self.streams[direction].counters.packets += 1;
        self.note(packet);
        if self.state == State::Reset {
            self.packets_after_close += 1;
            return;
        }
        if packet.flags.any(TcpFlags::SYN) {
            if !self.on_syn(packet, options, direction) {
                return;
            }
        } else {
            if direction == self.initiator_direction() {
                if self.handshake.ack.is_none() && self.handshake.syn_ack.is_some() {
                    self.handshake.ack = Some(packet.ts);
                    self.state = State::Established;
                } else if self.state == State::SynAck {
                    self.state = State::Established; // the clock stepped within the handshake
                }
            }
            self.streams[direction].start_at(packet, self.flags.midstream);
        }
        self.on_numbers(packet, options, direction, observer);
        if packet.flags.any(TcpFlags::FIN | TcpFlags::RST) {
            self.on_close(packet, direction);
        }
    }

    #[inline]
    fn note(&mut self, packet: &Packet) {
        const RARE: u16 = Bits::INNER
            | Bits::SNAPPED
            | Bits::CONGESTION_EXPERIENCED
            | Bits::FRAGMENT_FIRST
            | Bits::FRAGMENT_LATER;
        if packet.bits.any(RARE) {
            self.flags.inner |= packet.bits.any(Bits::INNER);
            self.flags.snapped |= packet.bits.any(Bits::SNAPPED);
            self.flags.congestion_experienced |= packet.bits.any(Bits::CONGESTION_EXPERIENCED);
        }
    }

    /// Whether the SYN is of this instance.
    fn on_syn(&mut self, packet: &Packet, options: Option<&Options>, direction: usize) -> bool {
        let stream = &mut self.streams[direction];
        if stream.seen.syn {
            if stream.is_initial(packet.seq)
                && packet.flags.any(TcpFlags::ACK)
                && !stream.seen.syn_ack
            {
                // The second half of a simultaneous open (RFC 9293, figure 7).
                stream.seen.syn_ack = true;
                self.handshake.syn_ack.get_or_insert(packet.ts);
                self.state = State::SynAck;
            } else if stream.is_initial(packet.seq) {
                stream.counters.syn_retransmissions += 1;
                if packet.flags.any(TcpFlags::ACK) {
                    self.handshake.syn_ack_repeated = true;
                } else {
                    self.handshake.syn_repeated = true;
                }
            } else {
                self.flags.stray_syn = true;
                self.stray = packet.seq;
                return false;
            }
            return true;
        }
        if self.flags.midstream {
            (self.flags.stray_syn, self.stray) = (true, packet.seq);
            return true;
        }
        stream.open(packet, options);
        if packet.flags.any(TcpFlags::ACK) {
            self.handshake.syn_ack = Some(packet.ts);
            self.state = State::SynAck;
        } else if self.handshake.syn.is_none() {
            self.handshake.syn = Some(packet.ts);
        } else {
            self.flags.simultaneous_open = true;
            self.handshake.crossed = true;
            self.initiator = 0;
        }
        let [low, high] = &mut self.streams;
        if low.seen.syn && high.seen.syn {
            let both = low.seen.scale_offered && high.seen.scale_offered;
            let (low_mss, high_mss) = (low.mss_option, high.mss_option);
            low.agree(high_mss, both);
            high.agree(low_mss, both);
        }
        true
    }

    /// Sequence, acknowledgement, window and timestamps of a packet.
    #[inline]
    fn on_numbers<O: Observer<Transfer = T>>(
        &mut self,
        packet: &Packet,
        options: Option<&Options>,
        direction: usize,
        observer: &mut O,
    ) {
        let [low, high] = &mut self.streams;
        let (stream, peer) = if direction == 0 { (low, high) } else { (high, low) };
        let [low, high] = &mut self.transfers;
        let (own, other) = if direction == 0 { (low, high) } else { (high, low) };
        let syn = packet.flags.any(TcpFlags::SYN);
        // Text in a RST states why (RFC 1122, 4.2.2.12): it has no sequence numbers and reaches no
        // application.
        let data = packet.payload > 0 && !packet.flags.any(TcpFlags::RST);
        let fragment = packet.bits.any(Bits::FRAGMENT_FIRST | Bits::FRAGMENT_LATER);
        stream.seen.fragmented |= fragment;
        if packet.bits.any(Bits::FRAGMENT_LATER) {
            stream.on_later_fragment(packet);
            return;
        }
        if let Some(options) = options {
            stream.seen.multipath |= options.multipath;
        }
        let mut acknowledged = None;
        let mut answered = None;
        if packet.flags.any(TcpFlags::ACK) && !packet.flags.any(TcpFlags::RST) {
            let changed = u32::from(packet.window) << stream.shift != stream.window;
            acknowledged = peer.on_acknowledgement(packet, options, changed);
            if !syn {
                stream.advertise(packet.window, peer.outstanding());
            }
        }
        let mut echoed = None;
        if packet.bits.any(Bits::TIMESTAMP) {
            stream.seen.timestamps = true;
            (answered, echoed) =
                echo(stream, peer, packet, data, acknowledged.is_some_and(|a| a.advanced > 0));
        }
        let about = About {
            connection: self.first_index,
            initiator: usize::from(self.initiator),
            handshake: &self.handshake,
        };
        if let Some(acknowledged) = acknowledged
            && (!syn || acknowledged.advanced > 0)
            && let Some(transfer) = other.as_deref_mut()
        {
            let ack = ack_event(packet, peer, stream, &acknowledged, answered, fragment);
            if let Some(retransmission) = peer.take_disproved() {
                observer.on_disproved(
                    transfer,
                    &about.sight(peer, stream, 1 - direction),
                    &retransmission,
                );
            }
            observer.on_ack(transfer, &about.sight(peer, stream, 1 - direction), &ack);
        }
        if data {
            let srtt = own.as_deref().and_then(O::srtt);
            let window = peer.seen.window.then_some(peer.window);
            if let Some(segment) = stream.on_payload(packet, window, srtt) {
                if !peer.seen.scale_known && peer.seen.window {
                    peer.widen(stream.outstanding());
                }
                let sight = about.sight(stream, peer, direction);
                let transfer =
                    own.get_or_insert_with(|| Box::new(observer.begin(&sight, &segment)));
                observer.on_data(transfer, &sight, &segment, echoed);
            }
        } else if !packet.flags.any(TcpFlags::SYN | TcpFlags::FIN | TcpFlags::RST)
            && !stream.is_empty_keep_alive(packet)
        {
            stream.counters.pure_acks += 1;
        }
    }

    fn on_close(&mut self, packet: &Packet, direction: usize) {
        if packet.flags.any(TcpFlags::RST) {
            let window = self.streams[1 - direction].window;
            if self.streams[direction].accepts_reset(packet, window) {
                self.state = State::Reset;
            } else {
                self.flags.stray_reset = true;
            }
            return;
        }
        if !self.streams[direction].on_fin(packet) {
            return;
        }
        let both = self.streams.iter().all(Stream::has_fin);
        self.state = if both { State::Closed } else { State::HalfClosed };
    }

    /// The capture clock stepped back since the last packet of this connection.
    pub(crate) fn on_clock_step<O: Observer<Transfer = T>>(
        &mut self,
        epoch: u32,
        observer: &mut O,
    ) {
        self.epoch = epoch;
        self.flags.clock_step = true;
        self.handshake = Handshake { syn_ack: None, ack: None, ..self.handshake };
        for stream in &mut self.streams {
            stream.on_clock_step();
        }
        for transfer in self.transfers.iter_mut().flatten() {
            observer.on_clock_step(transfer);
        }
    }
}

/// Packets of a connection after which its bytes are counted again.
const WEIGHED_AGAIN: u64 = 64;

/// Bytes of a connection that holds nothing on the heap.
#[expect(clippy::cast_possible_truncation, reason = "less than a thousand")]
pub(crate) const fn bare_weight<T>() -> u32 {
    size_of::<Connection<T>>() as u32
}

/// Silence after which a SYN on the same key is a new connection whatever the state.
const SILENT: Span = Span::from_secs(120);

/// Runs both stopwatches of the timestamp option: (data → echo, the peer's pure ACK → this data).
#[inline]
fn echo(
    stream: &mut Stream,
    peer: &mut Stream,
    packet: &Packet,
    data: bool,
    advanced: bool,
) -> (Option<Span>, Option<Span>) {
    let own = stream.echo.get_or_insert_default();
    let answered_by_ack = data || packet.flags.any(TcpFlags::SYN);
    own[usize::from(!answered_by_ack)].sent(packet.tsval, packet.ts);
    let Some(theirs) = peer.echo.as_deref_mut() else { return (None, None) };
    let answered = if advanced { theirs[0].echoed(packet.tsecr, packet.ts) } else { None };
    let echoed = if data { theirs[1].echoed(packet.tsecr, packet.ts) } else { None };
    if let Some(echoed) = echoed {
        stream.nearest_echo = stream.nearest_echo.min(echoed);
    }
    (answered, echoed)
}

#[inline]
fn ack_event(
    packet: &Packet,
    data: &Stream,
    receiver: &Stream,
    acknowledged: &Acknowledged,
    answered: Option<Span>,
    fragment: bool,
) -> Ack {
    Ack {
        now: packet.ts,
        index: packet.index,
        una: data.una,
        advanced: acknowledged.advanced,
        window: receiver.window,
        duplicate: acknowledged.duplicate,
        rtt: if fragment { crate::RttOutcome::None } else { acknowledged.rtt },
        rtt_timestamp: answered,
        opening: packet.flags.any(TcpFlags::SYN),
        data: packet.payload > 0,
        tsval: packet.bits.any(Bits::TIMESTAMP).then_some(packet.tsval),
        tsecr: packet.bits.any(Bits::TIMESTAMP).then_some(packet.tsecr),
        // Accurate ECN counts in the same bits (RFC 9768): they are marks only where the classic
        // kind was agreed.
        marked: packet.flags.any(TcpFlags::ECE)
            && !packet.flags.any(TcpFlags::SYN)
            && (data.seen.ecn || receiver.seen.ecn),
    }
}
