//! The four timestamps of one probe and its answer.

use trustbed_units::{Ns, Span};

/// A probe that was answered: two moments by the clock of who sent it, and in between two by the
/// clock of who answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// When the probe was sent, by the sender's clock.
    pub sent: Ns,
    /// When it came, by the reflector's clock.
    pub reflector_received: Ns,
    /// When it was answered, by the reflector's clock.
    pub reflector_sent: Ns,
    /// When the answer came, by the sender's clock.
    pub received: Ns,
}

impl RoundTrip {
    /// The time in the network, there and back: without what passed at the reflector. No difference
    /// between the clocks is in it but that of their rates over the time at the reflector.
    pub fn round_trip(&self) -> Span {
        (self.received - self.sent) - (self.reflector_sent - self.reflector_received)
    }

    /// The delay to the reflector; by how much its clock is ahead is in it, so that it may be
    /// negative.
    pub fn forward(&self) -> Span {
        self.reflector_received - self.sent
    }

    /// The delay from the reflector; by how much its clock is ahead is taken from it, so that it
    /// may be negative.
    pub fn backward(&self) -> Span {
        self.received - self.reflector_sent
    }

    /// By how much the reflector's clock is ahead if both directions took the same time (RFC 5905,
    /// section 8): wrong by half of the difference between the directions, and so by half of the
    /// round trip at most.
    pub fn ahead(&self) -> Span {
        let twice = i128::from(self.forward().0) - i128::from(self.backward().0);
        Span(i64::try_from(twice.div_euclid(2)).unwrap_or(if twice < 0 {
            i64::MIN
        } else {
            i64::MAX
        }))
    }

    /// The moment at the sender that [`RoundTrip::ahead`] is about: halfway.
    pub fn middle(&self) -> Ns {
        self.sent + Span((self.received - self.sent).0 / 2)
    }
}
