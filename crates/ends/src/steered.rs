//! Clocks that were steered, or set by a little, while packets were captured: no line lies under all delays then, but one does under those of
//! a short stretch.
//!
//! In each stretch the least delays of both directions bound the offset as they do for clocks that run evenly. What lies between the middles
//! of two stretches is taken to be straight. Stretches in which the ways there and back add up to less than half of what is usual hold a
//! jump, and are left out.
//!
//! Bias: within a stretch a clock is taken to stand as the least delays say, so an offset is wrong by what it was steered by in half a stretch
//! beyond the error that is stated.

use trustbed_units::{Ns, Span};

/// How far a clock is from a fixed offset, over time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Steered(Vec<(Ns, Span)>);

/// Frames of a stretch: as many as there can be, since the more there are, the less of their delays are queues.
const LENGTHS: [usize; 4] = [128, 32, 16, 8];
/// Clocks that went further than this were not steered, but set (RFC 5905: a clock is stepped from 128 ms on).
const MOST: Span = Span::from_millis(128);

impl Steered {
    /// Looks for stretches. The offset at the first of them, how far the clocks go from there, and what the ways there and back take
    /// together; none where that does not explain the delays either.
    pub(crate) fn of(ways: &[Vec<(Ns, Span)>; 2]) -> Option<(Span, Self, Span)> {
        LENGTHS.into_iter().find_map(|length| Self::in_stretches(ways, length))
    }

    fn in_stretches(ways: &[Vec<(Ns, Span)>; 2], length: usize) -> Option<(Span, Self, Span)> {
        let stretches = bounds(ways, length);
        let mut trips: Vec<Span> = stretches.iter().map(|one| one.round_trip).collect();
        trips.sort_unstable();
        let usual = *trips.get(trips.len() / 2)?;
        let kept: Vec<(Ns, Span)> = stretches.iter().filter(|one| one.round_trip.0 >= usual.0 / 2).map(|one| (one.at, one.ahead)).collect();
        if usual <= Span::ZERO || kept.len() < 2 || 2 * kept.len() < stretches.len() {
            return None;
        }
        let first = kept[0].1;
        let steered = Self(kept.into_iter().map(|(at, ahead)| (at, ahead - first)).collect());
        (steered.reach() <= MOST).then_some((first, steered, usual))
    }

    /// How far the clock is from the offset at a moment.
    pub(crate) fn at(&self, moment: Ns) -> Span {
        let next = self.0.partition_point(|(at, _)| *at <= moment);
        match (next.checked_sub(1).and_then(|before| self.0.get(before)), self.0.get(next)) {
            (Some((from, low)), Some((to, high))) => {
                let part = i128::from((*high - *low).0) * i128::from((moment - *from).0) / i128::from((*to - *from).0.max(1));
                *low + Span(i64::try_from(part).unwrap_or(0))
            }
            (Some((_, only)), None) | (None, Some((_, only))) => *only,
            (None, None) => Span::ZERO,
        }
    }

    /// From the least to the most.
    pub(crate) fn reach(&self) -> Span {
        let offsets = || self.0.iter().map(|(_, ahead)| *ahead);
        offsets().max().zip(offsets().min()).map_or(Span::ZERO, |(most, least)| most - least)
    }
}

/// What a stretch tells.
struct Stretch {
    at: Ns,
    ahead: Span,
    round_trip: Span,
}

/// Stretches of so many frames, those with frames of one direction only left out.
fn bounds(ways: &[Vec<(Ns, Span)>; 2], length: usize) -> Vec<Stretch> {
    let mut all: Vec<(Ns, usize, Span)> = Vec::with_capacity(ways[0].len() + ways[1].len());
    for (way, seen) in ways.iter().enumerate() {
        all.extend(seen.iter().map(|(at, delay)| (*at, way, *delay)));
    }
    all.sort_unstable_by_key(|(at, way, _)| (*at, *way));
    all.chunks(length)
        .filter_map(|chunk| {
            let least = |way: usize| chunk.iter().filter(|(_, of, _)| *of == way).min_by_key(|(_, _, delay)| *delay);
            let ((there_at, _, there), (back_at, _, back)) = (least(0)?, least(1)?);
            Some(Stretch {
                at: *there_at + Span((*back_at - *there_at).0 / 2),
                ahead: Span((*there - *back).0 / 2),
                round_trip: *there + *back,
            })
        })
        .collect()
}
