//! From which length on the time between two readings of the clock is a gap.

use trustbed_units::Span;

/// Interrupts are shorter than this on any machine that is worth measuring on; being scheduled out
/// is longer.
const LEAST: Span = Span::from_micros(50);

/// A loop whose clock is slow (one that is read by a system call) is allowed this many passes.
const PASSES: i64 = 20;

/// The larger of 50 µs and 20 times the median pass of the loop, as measured in a trial; sorts its
/// argument.
///
/// ```
/// use trustbed_probe::gap_threshold;
/// use trustbed_units::Span;
/// assert_eq!(gap_threshold(&mut [Span(40), Span(2_000_000), Span(38)]), Span::from_micros(50));
/// assert_eq!(gap_threshold(&mut [Span(4_000); 9]), Span::from_micros(80));
/// ```
pub fn gap_threshold(passes: &mut [Span]) -> Span {
    passes.sort_unstable();
    let median = passes.get(passes.len() / 2).map_or(0, |median| median.0);
    LEAST.max(Span(median.saturating_mul(PASSES)))
}
