//! The capture point of each connection, inferred from response times.
//!
//! A side's response time is the smallest of: SYN-ACK → ACK (initiator) or SYN → SYN-ACK
//! (responder), the peer's data → its acknowledgement, and the peer's pure ACK → data that echo its
//! timestamp.
//! Bias: a side whose every response is late (a host never scheduled at once) appears further away
//! than it is; the smallest of many response times guards against that.

use trustbed_flow::{AT_ONCE, Connection};
use trustbed_units::Span;

/// Capture point relative to the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CapturePoint {
    /// At the initiator.
    Initiator,
    /// At the responder.
    Responder,
    /// Between the two.
    Middle,
    /// Unknown.
    Unknown,
}

/// Capture point relative to one transfer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum At {
    /// At the sender of the data.
    Sender,
    /// At its receiver.
    Receiver,
    /// Between the two.
    Middle,
    /// Unknown.
    #[default]
    Unknown,
}

impl At {
    /// Whether the sender is known to be elsewhere.
    pub const fn is_away(self) -> bool {
        matches!(self, Self::Receiver | Self::Middle)
    }
}

/// Source of the capture point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum CapturePointSource {
    /// The caller gave it.
    Given,
    /// From the handshake.
    Handshake,
    /// From the response times of each side.
    Answers,
    /// None.
    #[default]
    Nothing,
}

/// The capture point of a connection, and its evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The capture point.
    pub point: CapturePoint,
    /// Its source.
    pub source: CapturePointSource,
    /// Smallest response time of the initiator.
    pub initiator: Option<Span>,
    /// Smallest response time of the responder.
    pub responder: Option<Span>,
    /// Both ends are at the capture point, as on the loopback interface and between containers of
    /// one host.
    pub beside_both: bool,
}

/// A side with at most this share of the round trip is at the capture point.
const BESIDE: f64 = 0.2;
/// Below this round-trip time both ends are local, and the nearer one is the capture point.
const AT_HAND: Span = Span::from_millis(1);
/// Responses from both sides as fast as this come from one machine, unless they have the timestamp
/// of what they answer: a coarse clock gives one to many packets.
const ONE_MACHINE: Span = Span::from_micros(50);
/// A faster response comes from a local host, even if the other side is unknown.
const PROMPT: Span = Span::from_micros(200);

impl Location {
    /// Infers the capture point from the connection so far.
    pub fn of<T>(connection: &Connection<T>) -> Self {
        let initiator = connection.initiator_direction();
        let (own, other) = (&connection.streams[initiator], &connection.streams[1 - initiator]);
        let handshake = &connection.handshake;
        let answers_initiator = smallest([seen(own.nearest_echo), seen(other.nearest_answer)]);
        let answers_responder = smallest([seen(other.nearest_echo), seen(own.nearest_answer)]);
        let near_initiator = smallest([answers_initiator, positive(handshake.to_initiator())]);
        let near_responder = smallest([answers_responder, positive(handshake.to_responder())]);
        let source = if answers_initiator.is_some() && answers_responder.is_some() {
            CapturePointSource::Answers
        } else if near_initiator.is_some() && near_responder.is_some() {
            CapturePointSource::Handshake
        } else if near_initiator.or(near_responder).is_some_and(|t| t <= PROMPT) {
            CapturePointSource::Answers
        } else {
            CapturePointSource::Nothing
        };
        let point = point(near_initiator, near_responder);
        let source =
            if point == CapturePoint::Unknown { CapturePointSource::Nothing } else { source };
        let at_hand = |handshake, answers| {
            let clear = |time: Option<Span>| time.filter(|time| *time > AT_ONCE);
            smallest([clear(handshake), clear(answers)]).is_some_and(|time| time <= ONE_MACHINE)
        };
        Self {
            point,
            source,
            initiator: near_initiator,
            responder: near_responder,
            beside_both: at_hand(handshake.to_initiator(), answers_initiator)
                && at_hand(handshake.to_responder(), answers_responder),
        }
    }

    /// The capture point relative to the transfer that the side `by_initiator` sends. Beside both
    /// ends, it is at the sender of either.
    pub fn at(&self, by_initiator: bool) -> At {
        if self.source != CapturePointSource::Given && self.beside_both {
            return At::Sender;
        }
        match (self.point, by_initiator) {
            (CapturePoint::Initiator, true) | (CapturePoint::Responder, false) => At::Sender,
            (CapturePoint::Initiator, false) | (CapturePoint::Responder, true) => At::Receiver,
            (CapturePoint::Middle, _) => At::Middle,
            (CapturePoint::Unknown, _) => At::Unknown,
        }
    }
}

/// The capture point by the response times of both sides.
fn point(initiator: Option<Span>, responder: Option<Span>) -> CapturePoint {
    match (initiator, responder) {
        (Some(initiator), Some(responder)) => {
            let total = initiator + responder;
            let share = initiator.as_f64() / total.as_f64().max(1.0);
            if share <= BESIDE || (total < AT_HAND && share < 0.5) {
                CapturePoint::Initiator
            } else if share >= 1.0 - BESIDE || total < AT_HAND {
                CapturePoint::Responder
            } else {
                CapturePoint::Middle
            }
        }
        (Some(initiator), None) if initiator <= PROMPT => CapturePoint::Initiator,
        (None, Some(responder)) if responder <= PROMPT => CapturePoint::Responder,
        _ => CapturePoint::Unknown,
    }
}

fn seen(time: Span) -> Option<Span> {
    (time != Span::MAX).then_some(time)
}

fn positive(time: Option<Span>) -> Option<Span> {
    time.filter(|t| *t > Span::ZERO)
}

fn smallest<const N: usize>(times: [Option<Span>; N]) -> Option<Span> {
    times.into_iter().flatten().min()
}

impl CapturePoint {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initiator => "initiator",
            Self::Responder => "responder",
            Self::Middle => "middle",
            Self::Unknown => "unknown",
        }
    }
}

impl At {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Middle => "middle",
            Self::Unknown => "unknown",
        }
    }
}

impl CapturePointSource {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Handshake => "handshake",
            Self::Answers => "answers",
            Self::Nothing => "none",
        }
    }
}
