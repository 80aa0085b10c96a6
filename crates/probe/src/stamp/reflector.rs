//! Who answers test packets: a session-reflector that knows one peer and bounds what it does for
//! it.
//!
//! It answers as many packets as it is allowed to, of at most so many bytes, to one address;
//! everything else is counted under a [`Refusal`] and changes nothing. An answer is at most 44
//! bytes to a packet of 14, so that little is gained by a forged address.
//!
//! A session is known by the peer's address and port, and by the identifier of RFC 8972 where one
//! is configured; without one whatever is there is returned and not looked at, since TWAMP may
//! have padding in its place.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use trustbed_units::{Ns, Span};

use super::{ErrorEstimate, ReflectorPacket, SenderPacket, StampTime};

/// Sessions whose packets are counted; a peer that comes from more ports than these is refused at
/// the others, until one was silent for long.
const MOST_SESSIONS: usize = 64;
/// A session that is silent for so long may be forgotten (REFWAIT of RFC 5357, section 4.2).
const SILENCE: Span = Span::from_secs(900);
const SECOND: u64 = 1_000_000_000;

/// What a reflector does, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReflectorSettings {
    /// Whom it answers.
    pub peer: IpAddr,
    /// The port it is answered at; any unless given.
    pub peer_port: Option<u16>,
    /// The session that packets must name; any unless given.
    pub session: Option<u16>,
    /// Whether it counts its own packets, so that the sender knows in which direction one was
    /// lost.
    pub stateful: bool,
    /// Larger packets are not answered.
    pub largest_bytes: usize,
    /// More are not answered; 0 counts as 1.
    pub packets_per_second: u32,
    /// So many may come at once; 0 counts as 1.
    pub burst_packets: u32,
}

/// Why a packet is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// It is from another sender.
    OtherPeer,
    /// It is too short to be a test packet.
    TooShort,
    /// It is longer than what is answered.
    TooLarge,
    /// It names another session.
    OtherSession,
    /// It came too soon after others.
    TooFast,
    /// The peer has too many sessions.
    TooManySessions,
}

/// What became of the packets that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReflectorCounts {
    /// Answered.
    pub answered: u64,
    /// See [`Refusal::OtherPeer`].
    pub other_peer: u64,
    /// See [`Refusal::TooShort`].
    pub too_short: u64,
    /// See [`Refusal::TooLarge`].
    pub too_large: u64,
    /// See [`Refusal::OtherSession`].
    pub other_session: u64,
    /// See [`Refusal::TooFast`].
    pub too_fast: u64,
    /// See [`Refusal::TooManySessions`].
    pub too_many_sessions: u64,
}

/// A packet that is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    from: SocketAddr,
    request: SenderPacket,
    sequence: u32,
}

#[derive(Debug, Clone, Copy)]
struct Session {
    /// Packets that were sent.
    sent: u32,
    /// When its last packet came.
    heard: Ns,
}

/// A session-reflector. For every packet: [`Reflector::on_packet`]; if it is accepted,
/// [`Reflector::answer`] with the moment of sending, and [`Reflector::on_sent`] once the answer has
/// left.
#[derive(Debug, Clone)]
pub struct Reflector {
    settings: ReflectorSettings,
    /// None where packets are not counted.
    sessions: BTreeMap<SocketAddr, Session>,
    /// When the next packet would come if packets came evenly at the highest rate.
    even: Option<Ns>,
    counts: ReflectorCounts,
}

impl Reflector {
    /// A reflector that has answered nothing.
    pub const fn new(settings: ReflectorSettings) -> Self {
        let counts = ReflectorCounts {
            answered: 0,
            other_peer: 0,
            too_short: 0,
            too_large: 0,
            other_session: 0,
            too_fast: 0,
            too_many_sessions: 0,
        };
        Self { settings, sessions: BTreeMap::new(), even: None, counts }
    }

    /// A packet came, at a moment of a clock that is never set.
    ///
    /// # Errors
    /// Why it is not answered; it is counted.
    pub fn on_packet(
        &mut self,
        from: SocketAddr,
        payload: &[u8],
        now: Ns,
    ) -> Result<Accepted, Refusal> {
        let found = self.judge(from, payload, now);
        if let Err(refusal) = found {
            let counts = &mut self.counts;
            let count = match refusal {
                Refusal::OtherPeer => &mut counts.other_peer,
                Refusal::TooShort => &mut counts.too_short,
                Refusal::TooLarge => &mut counts.too_large,
                Refusal::OtherSession => &mut counts.other_session,
                Refusal::TooFast => &mut counts.too_fast,
                Refusal::TooManySessions => &mut counts.too_many_sessions,
            };
            *count += 1;
        }
        found
    }

    /// The payload of the answer: to a payload that came at a moment with so many hops left (none
    /// where that is not known), and is answered at another. Both by the clock that the estimate is
    /// about.
    pub fn answer(
        &self,
        accepted: &Accepted,
        payload: &[u8],
        (received, ttl): (Ns, Option<u8>),
        sent: Ns,
        estimate: ErrorEstimate,
    ) -> Vec<u8> {
        let Accepted { request, sequence, .. } = *accepted;
        let format = estimate.format();
        let packet = ReflectorPacket {
            sequence,
            timestamp: StampTime::of(sent, format),
            error_estimate: estimate,
            session: request.session,
            received: StampTime::of(received, format),
            sender_sequence: request.sequence,
            sender_timestamp: request.timestamp,
            sender_error_estimate: request.error_estimate,
            sender_ttl: ttl.unwrap_or(u8::MAX),
        };
        packet.payload(payload)
    }

    /// An answer has left.
    pub fn on_sent(&mut self, accepted: &Accepted) {
        self.counts.answered += 1;
        if let Some(session) = self.sessions.get_mut(&accepted.from) {
            session.sent = session.sent.wrapping_add(1);
        }
    }

    /// What became of all packets so far.
    pub const fn counts(&self) -> ReflectorCounts {
        self.counts
    }

    fn judge(&mut self, from: SocketAddr, payload: &[u8], now: Ns) -> Result<Accepted, Refusal> {
        let settings = &self.settings;
        if from.ip().to_canonical() != settings.peer.to_canonical()
            || settings.peer_port.is_some_and(|port| port != from.port())
        {
            return Err(Refusal::OtherPeer);
        }
        if payload.len() > settings.largest_bytes {
            return Err(Refusal::TooLarge);
        }
        let request = SenderPacket::read(payload).ok_or(Refusal::TooShort)?;
        if settings.session.is_some_and(|session| session != request.session) {
            return Err(Refusal::OtherSession);
        }
        let is_new = settings.stateful && !self.sessions.contains_key(&from);
        let replaced = if is_new && self.sessions.len() >= MOST_SESSIONS {
            Some(self.silent_since(now - SILENCE).ok_or(Refusal::TooManySessions)?)
        } else {
            None
        };
        if !self.is_in_time(now) {
            return Err(Refusal::TooFast);
        }
        if !self.settings.stateful {
            return Ok(Accepted { from, request, sequence: request.sequence });
        }
        if let Some(silent) = replaced {
            self.sessions.remove(&silent);
        }
        let session = self.sessions.entry(from).or_insert(Session { sent: 0, heard: now });
        session.heard = now;
        Ok(Accepted { from, request, sequence: session.sent })
    }

    /// The session that was silent longest, if its last packet came at a moment or before.
    fn silent_since(&self, moment: Ns) -> Option<SocketAddr> {
        let (from, session) = self.sessions.iter().min_by_key(|(_, session)| session.heard)?;
        (session.heard <= moment).then_some(*from)
    }

    /// A leaky bucket as virtual scheduling (ITU-T I.371, annex A): a packet may come a burst
    /// before it is due.
    fn is_in_time(&mut self, now: Ns) -> bool {
        let gap =
            i64::try_from(SECOND / u64::from(self.settings.packets_per_second.max(1))).unwrap_or(0);
        let burst = Span(gap.saturating_mul(i64::from(self.settings.burst_packets.max(1)) - 1));
        let due = self.even.map_or(now, |even| even.max(now));
        if due - now > burst {
            return false;
        }
        self.even = Some(due + Span(gap));
        true
    }
}
