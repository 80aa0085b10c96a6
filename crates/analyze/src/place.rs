//! Where the capture was taken, per connection: how soon each side answers tells how near it is.
//!
//! A side's answer time is the smallest of: SYN-ACK → ACK (initiator) or SYN → SYN-ACK (responder), the peer's data → its
//! acknowledgement, and the peer's pure ACK → data that echo its timestamp. Bias: a side that answers late every single time
//! (a machine that is never scheduled at once) looks further away than it is; the smallest of many answers guards against it.

use trustbed_flow::Connection;
use trustbed_units::Span;

/// Where the capture was taken, seen from the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Beside the initiator.
    Initiator,
    /// Beside the responder.
    Responder,
    /// Between the two.
    Middle,
    /// It cannot be told.
    Unknown,
}

/// Where the capture was taken, seen from one transfer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum At {
    /// Beside the sender of the data.
    Sender,
    /// Beside its receiver.
    Receiver,
    /// Between the two.
    Middle,
    /// It cannot be told.
    #[default]
    Unknown,
}

/// How the place is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum PlaceFrom {
    /// Somebody said so.
    Given,
    /// From the handshake.
    Handshake,
    /// From how soon each side's answers follow.
    Answers,
    /// It is not.
    #[default]
    Nothing,
}

/// What is known about where the capture was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Where.
    pub place: Place,
    /// How that is known.
    pub from: PlaceFrom,
    /// Smallest answer time of the initiator.
    pub initiator: Option<Span>,
    /// Smallest answer time of the responder.
    pub responder: Option<Span>,
}

/// A side whose share of the round trip is at most this is beside the capture.
const BESIDE: f64 = 0.2;
/// Below this round-trip time both ends are at hand, and the nearer one is taken.
const AT_HAND: Span = Span::from_millis(1);
/// An answer faster than this comes from a machine at hand, even if nothing is known of the other side.
const PROMPT: Span = Span::from_micros(200);

impl Location {
    /// Infers the place from what the connection has shown so far.
    pub fn of<T>(connection: &Connection<T>) -> Self {
        let initiator = connection.initiator_direction();
        let (own, other) = (&connection.streams[initiator], &connection.streams[1 - initiator]);
        let handshake = &connection.handshake;
        let answers_initiator = smallest([seen(own.nearest_echo), seen(other.nearest_answer)]);
        let answers_responder = smallest([seen(other.nearest_echo), seen(own.nearest_answer)]);
        let near_initiator = smallest([answers_initiator, positive(handshake.to_initiator())]);
        let near_responder = smallest([answers_responder, positive(handshake.to_responder())]);
        let from = if answers_initiator.is_some() && answers_responder.is_some() {
            PlaceFrom::Answers
        } else if near_initiator.is_some() && near_responder.is_some() {
            PlaceFrom::Handshake
        } else if near_initiator.or(near_responder).is_some_and(|t| t <= PROMPT) {
            PlaceFrom::Answers
        } else {
            PlaceFrom::Nothing
        };
        let place = place(near_initiator, near_responder);
        let from = if place == Place::Unknown { PlaceFrom::Nothing } else { from };
        Self { place, from, initiator: near_initiator, responder: near_responder }
    }

    /// The place seen from the transfer that the side `by_initiator` sends.
    pub fn at(&self, by_initiator: bool) -> At {
        match (self.place, by_initiator) {
            (Place::Initiator, true) | (Place::Responder, false) => At::Sender,
            (Place::Initiator, false) | (Place::Responder, true) => At::Receiver,
            (Place::Middle, _) => At::Middle,
            (Place::Unknown, _) => At::Unknown,
        }
    }
}

/// From the answer times of both sides to the place.
fn place(initiator: Option<Span>, responder: Option<Span>) -> Place {
    match (initiator, responder) {
        (Some(initiator), Some(responder)) => {
            let total = initiator + responder;
            let share = initiator.as_f64() / total.as_f64().max(1.0);
            if share <= BESIDE || (total < AT_HAND && share < 0.5) {
                Place::Initiator
            } else if share >= 1.0 - BESIDE || total < AT_HAND {
                Place::Responder
            } else {
                Place::Middle
            }
        }
        (Some(initiator), None) if initiator <= PROMPT => Place::Initiator,
        (None, Some(responder)) if responder <= PROMPT => Place::Responder,
        _ => Place::Unknown,
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

impl Place {
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

impl PlaceFrom {
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
