//! Whether packets left as far apart as scheduled. What a sender that was kept waiting has sent is
//! another probe than the one that the estimator assumes, and is better sent again.

use trustbed_units::Span;

use crate::Sighting;

/// A gap may be off by this part of it, and by so much in any case: less than what a clock, an
/// interrupt or a small queue of the host does.
const TOLERATED_PART: f64 = 0.25;
const TOLERATED: Span = Span::from_micros(10);

/// The share of gaps that are off by more than is tolerated, 0…1; 0 of fewer than two packets.
/// `gap` is the scheduled gap behind each packet, in nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "some hundred gaps")]
pub(crate) fn distorted_share(gap: impl Fn(usize) -> f64, packets: &[Sighting]) -> f64 {
    let gaps = packets.len().saturating_sub(1);
    let is_off = |(number, pair): (usize, &[Sighting])| {
        let scheduled = gap(number);
        ((pair[1].sent - pair[0].sent).as_f64() - scheduled).abs()
            > (TOLERATED_PART * scheduled).max(TOLERATED.as_f64())
    };
    packets.windows(2).enumerate().filter(|one| is_off(*one)).count() as f64 / gaps.max(1) as f64
}
