//! Clocks that were slewed, or set by a little, while packets were captured: no line lies under
//! all delays then.
//!
//! A frame bounds the offset from one side at its moment: from above by what it took from the first
//! point, from below by what it took from the second. A clock that runs differently by no more than
//! a rate carries a bound to other moments, wider by that rate times the distance. Where the
//! closest bounds are about as far apart as the shortest round trip, the offset is taken in their
//! middle, as for clocks that run evenly. From there to the next such moment, while a queue
//! persists or few frames are compared, it is taken to be straight as far as the bounds allow, and
//! may be wrong by what lies between it and the farther of them: no more than a clock could have
//! gone meanwhile.
//!
//! Where two frames contradict each other the clock was stepped in between. Frames that only one
//! side of such a jump explains are left out, and the offset is taken to be straight across. Clocks
//! are stepped seldom: where many frames contradict each other, the rate was larger.
//!
//! Bias: a clock that was slewed faster than by the rate that is taken is found within the delays,
//! but what it did looks like a queue, or half of a queue like what it did. Between the last frame
//! in front of a jump and the first behind it an offset is wrong by up to the jump.

use trustbed_units::{Ns, Span};

use crate::RelationError;
use crate::relation::{Delays, MOST_SKEW};

/// How far the second clock is ahead, over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlewedClocks {
    course: Vec<Moment>,
    /// By how much it may be wrong, at the worst of these moments.
    pub(crate) error: Span,
    /// From the least to the most, where no queue hides it, without the skew that the clocks have
    /// on average.
    pub(crate) reach: Span,
}

/// The offset at a moment.
type Moment = (Ns, Span);

/// Clocks are slewed by 500 ppm (adjtime, NTP), but chrony may go to 83 333 ppm (`maxslewrate`).
const FASTEST: f64 = 83_333e-6;
/// Clocks that went further than this at once were not slewed, but set (RFC 5905: a clock is
/// stepped from 128 ms on).
const MOST: Span = Span::from_millis(128);
/// A clock is set no more often than this, and once more.
const SELDOM: Span = Span::from_secs(60);
/// This part of the round trips are as short as they are without a queue.
const QUICKEST: usize = 10;
/// Bounds that are no farther apart than so many of the shortest round trips give the offset by
/// themselves.
const CLOSE: f64 = 1.5;

/// What a frame shows of the offset: no more than it took from the first capture point, no less
/// than minus what it took from the second.
#[derive(Debug, Clone, Copy)]
struct Bound {
    at: Ns,
    direction: usize,
    ahead: Span,
}

/// Between which the offset lies at a moment: the least and the most; none where nothing shows it.
type Bounds = [Option<Span>; 2];

impl SlewedClocks {
    /// Follows the clocks. Of clocks that do not run evenly `round_trip` shows that they contradict
    /// each other.
    pub(crate) fn of(delays: &Delays, round_trip: Span) -> Result<Self, RelationError> {
        let mut all: Vec<Bound> = Vec::with_capacity(delays[0].len() + delays[1].len());
        all.extend(delays[0].iter().map(|(at, delay)| Bound {
            at: *at,
            direction: 0,
            ahead: *delay,
        }));
        all.extend(delays[1].iter().map(|(at, delay)| Bound {
            at: *at,
            direction: 1,
            ahead: -*delay,
        }));
        all.sort_by_key(|one| (one.at, one.direction));
        let rate = slew(&all);
        let known: Vec<(Ns, [Span; 2])> = all
            .iter()
            .zip(combined(&all, rate))
            .filter_map(|(one, bounds)| both(one.at, bounds))
            .collect();
        if 2 * known.len() < all.len() {
            return Err(RelationError::Contradiction { round_trip });
        }
        let trip = quickest(&all);
        let is_close = |[least, most]: [Span; 2]| (most - least).as_f64() <= CLOSE * trip.as_f64();
        let middles = known
            .iter()
            .filter(|(_, bounds)| is_close(*bounds))
            .map(|(at, bounds)| (*at, middle(*bounds)));
        let clear: Vec<Moment> = middles.collect();
        let course: Vec<Moment> = known
            .iter()
            .map(|(at, bounds)| (*at, nearest(straight(&clear, *at), *bounds, trip)))
            .collect();
        let jump =
            |two: &[Moment]| Span((two[1].1 - two[0].1).0.abs()) - moved(rate, two[0].0, two[1].0);
        if let Some(by) = course.windows(2).map(jump).max().filter(|jump| *jump > MOST) {
            return Err(RelationError::Stepped { by });
        }
        let farthest = known
            .iter()
            .zip(&course)
            .map(|((_, [least, most]), (_, ahead))| (*most - *ahead).max(*ahead - *least))
            .max();
        let error = farthest.unwrap_or_default().max(Span(trip.0 / 2));
        Ok(Self { course, error, reach: reach(&clear) })
    }

    /// How far the clock is ahead at a moment.
    pub(crate) fn at(&self, moment: Ns) -> Span {
        straight(&self.course, moment).unwrap_or_default()
    }
}

/// What lies straight between the moments around this one.
fn straight(course: &[Moment], moment: Ns) -> Option<Span> {
    let next = course.partition_point(|(at, _)| *at <= moment);
    match (next.checked_sub(1).and_then(|before| course.get(before)), course.get(next)) {
        (Some((from, low)), Some((to, high))) => {
            let part = i128::from((*high - *low).0) * i128::from((moment - *from).0)
                / i128::from((*to - *from).0.max(1));
            Some(*low + Span(i64::try_from(part).unwrap_or(0)))
        }
        (Some((_, only)), None) | (None, Some((_, only))) => Some(*only),
        (None, None) => None,
    }
}

/// What is nearest to an offset and leaves each direction its half of the shortest round trip; the
/// middle where that is too much.
fn nearest(offset: Option<Span>, bounds: [Span; 2], trip: Span) -> Span {
    let (least, most) = (bounds[0] + Span(trip.0 / 2), bounds[1] - Span(trip.0 / 2));
    offset
        .filter(|_| least <= most)
        .map_or_else(|| middle(bounds), |offset| offset.clamp(least, most))
}

fn middle([least, most]: [Span; 2]) -> Span {
    least + Span((most - least).0 / 2)
}

/// From the least to the most offset, without the skew by least squares.
fn reach(course: &[Moment]) -> Span {
    let Some(first) = course.first() else { return Span::ZERO };
    let points =
        || course.iter().map(|(at, ahead)| ((*at - first.0).as_f64(), (*ahead - first.1).as_f64()));
    #[expect(clippy::cast_precision_loss, reason = "some thousand")]
    let count = course.len() as f64;
    let mean = points()
        .fold((0.0, 0.0), |sums, (at, ahead)| (sums.0 + at / count, sums.1 + ahead / count));
    let square: f64 = points().map(|(at, _)| (at - mean.0).powi(2)).sum();
    let product: f64 = points().map(|(at, ahead)| (at - mean.0) * (ahead - mean.1)).sum();
    let skew = if square > 0.0 { (product / square).clamp(-MOST_SKEW, MOST_SKEW) } else { 0.0 };
    let offsets = || course.iter().map(|(at, ahead)| *ahead - moved(skew, first.0, *at));
    offsets().max().zip(offsets().min()).map_or(Span::ZERO, |(most, least)| most - least)
}

/// The rate by which clocks were slewed: what is usual if it explains all frames but for a few
/// jumps. If not, the least that leaves no jumps but those that no slew explains, and twice that,
/// since how long the directions take hides some of it.
fn slew(all: &[Bound]) -> f64 {
    let jumps = |rate| carried(all.iter(), rate).1;
    let duration =
        all.first().zip(all.last()).map_or(Span::ZERO, |(first, last)| last.at - first.at);
    let (seldom, sure) = (1 + usize::try_from(duration.0 / SELDOM.0).unwrap_or(0), jumps(FASTEST));
    let mut rate = MOST_SKEW;
    if jumps(rate) <= seldom.max(sure) {
        return rate;
    }
    while rate < FASTEST && jumps(rate) > sure {
        rate *= 2.0;
    }
    2.0 * rate
}

/// By how much a clock can have moved between two moments.
fn moved(rate: f64, from: Ns, to: Ns) -> Span {
    #[expect(clippy::cast_possible_truncation, reason = "far less than the distance")]
    let nanoseconds = (rate * (to - from).as_f64()).round() as i64;
    Span(nanoseconds)
}

/// The bounds at each of the frames by it and those before it, forgotten at jumps; and how many
/// jumps there were.
fn carried<'a>(all: impl Iterator<Item = &'a Bound>, rate: f64) -> (Vec<Bounds>, usize) {
    let (mut held, mut jumps, mut before): (Bounds, usize, Option<Ns>) = ([None; 2], 0, None);
    let bounds = all
        .map(|one| {
            let wider =
                before.map_or(Span::ZERO, |before| Span(moved(rate, before, one.at).0.abs()));
            before = Some(one.at);
            held = [held[0].map(|least| least - wider), held[1].map(|most| most + wider)];
            let contradicted = if one.direction == 0 {
                held[0].is_some_and(|least| one.ahead < least)
            } else {
                held[1].is_some_and(|most| one.ahead > most)
            };
            if contradicted {
                (held, jumps) = ([None; 2], jumps + 1);
            }
            if one.direction == 0 {
                held[1] = Some(held[1].map_or(one.ahead, |most| most.min(one.ahead)));
            } else {
                held[0] = held[0].max(Some(one.ahead));
            }
            held
        })
        .collect();
    (bounds, jumps)
}

/// The bounds at each of the frames by those before and behind it.
fn combined(all: &[Bound], rate: f64) -> Vec<Bounds> {
    let (ahead, mut behind) = (carried(all.iter(), rate).0, carried(all.iter().rev(), rate).0);
    behind.reverse();
    let most = |one: Option<Span>, other: Option<Span>| one.into_iter().chain(other).min();
    ahead
        .into_iter()
        .zip(behind)
        .map(|(one, other)| [one[0].max(other[0]), most(one[1], other[1])])
        .collect()
}

/// Bounds of both sides that do not contradict each other.
fn both(at: Ns, bounds: Bounds) -> Option<(Ns, [Span; 2])> {
    let [Some(least), Some(most)] = bounds else { return None };
    (least <= most).then_some((at, [least, most]))
}

/// What the path there and back takes together without queues: a frame and the next of the other
/// direction at a time.
fn quickest(all: &[Bound]) -> Span {
    let opposite = all.windows(2).filter(|two| two[0].direction != two[1].direction);
    let mut trips: Vec<Span> = opposite
        .map(|two| {
            if two[0].direction == 0 {
                two[0].ahead - two[1].ahead
            } else {
                two[1].ahead - two[0].ahead
            }
        })
        .filter(|trip| *trip > Span::ZERO)
        .collect();
    trips.sort_unstable();
    trips.get(trips.len() / QUICKEST).copied().unwrap_or(Span::ZERO)
}
