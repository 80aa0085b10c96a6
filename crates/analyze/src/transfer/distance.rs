//! How far the sender of the data is from the capture point, by the smallest times there and back.

use trustbed_flow::Sight;
use trustbed_units::Span;

/// A sender that answers faster than this is beside the capture.
const FAR_FLOOR: Span = Span::from_micros(300);

/// The handshake's time from the capture point to the sender of the data and back.
pub(super) fn to_sender(sight: &Sight<'_>) -> Option<Span> {
    let handshake = if sight.direction == sight.initiator {
        sight.handshake.to_initiator()
    } else {
        sight.handshake.to_responder()
    };
    handshake.filter(|t| *t > Span::ZERO)
}

/// The smallest time from the capture point to the sender of the data and back.
pub(super) fn rtt_to_sender(sight: &Sight<'_>) -> Option<Span> {
    [Some(sight.stream.nearest_echo), Some(sight.peer.nearest_answer), to_sender(sight)]
        .into_iter()
        .flatten()
        .filter(|t| *t != Span::MAX)
        .min()
}

/// Whether the capture is so far from the sender that the sender's view must be reconstructed.
pub(super) fn far_is_needed(sight: &Sight<'_>) -> bool {
    let Some((rtt, onward)) = both_ways(sight) else { return false };
    rtt.0 > FAR_FLOOR.0 && rtt.0.saturating_mul(4) > onward.0
}

/// Whether the sender is further from the capture than the receiver.
pub(super) fn is_further_than_receiver(sight: &Sight<'_>) -> bool {
    both_ways(sight).is_some_and(|(rtt, onward)| rtt.0 > FAR_FLOOR.0 && rtt > onward)
}

/// The smallest times from the capture point to the sender and back, and to the receiver.
fn both_ways(sight: &Sight<'_>) -> Option<(Span, Span)> {
    let rtt = rtt_to_sender(sight)?;
    let handshake = if sight.direction == sight.initiator {
        sight.handshake.to_responder()
    } else {
        sight.handshake.to_initiator()
    };
    let onward = [Some(sight.stream.nearest_answer), handshake]
        .into_iter()
        .flatten()
        .filter(|t| *t != Span::MAX && *t > Span::ZERO)
        .min();
    Some((rtt, onward?))
}
