//! What became of one packet of a probe.

use trustbed_units::{Ns, Span};

/// A packet that was sent: when, by the sender's clock, and when it came, by the receiver's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting {
    /// When it was sent.
    pub sent: Ns,
    /// When it came; nothing if it never did.
    pub received: Option<Ns>,
}

impl Sighting {
    /// Reception minus sending. The offset of the clocks is in it, so that only differences between
    /// packets mean something.
    pub fn delay(&self) -> Option<Span> {
        self.received.map(|received| received - self.sent)
    }
}

/// The share of packets that never came, 0…1; 0 of none.
#[expect(clippy::cast_precision_loss, reason = "packets of one stream")]
pub(crate) fn lost_share(packets: &[Sighting]) -> f64 {
    if packets.is_empty() {
        return 0.0;
    }
    packets.iter().filter(|packet| packet.received.is_none()).count() as f64 / packets.len() as f64
}
