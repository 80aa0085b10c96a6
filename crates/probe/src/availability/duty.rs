//! When a monitor spins that must not burn a whole core: once in every second, at a moment that is
//! drawn anew each time, so that it cannot fall into step with a disturbance that comes
//! periodically.
//!
//! Bias: a window over-estimates what a thread would have that always runs. A thread that has slept
//! is preferred when it wakes up, and the budget of a quota is fresh then: of a quota of 30 in
//! every 100 ms, a window of 100 ms that begins in the middle of a period sees two budgets.

use trustbed_units::{Ns, Span};

use super::SECOND;
use crate::ProbeError;

/// A part of every second. Where it lies follows from the seed and the number of the second alone.
///
/// ```
/// use trustbed_probe::DutyCycle;
/// use trustbed_units::{Ns, Span};
/// let duty = DutyCycle::of(Span::from_millis(100), 7).unwrap();
/// let window = duty.in_second(1_600_000_000);
/// assert_eq!(window.until - window.from, Span::from_millis(100));
/// assert_eq!(duty.at(window.from), window);
/// assert_eq!(duty.at(window.until), duty.in_second(1_600_000_001));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DutyCycle {
    length: Span,
    seed: u64,
}

/// From one moment up to another, which does not belong to it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its first moment.
    pub from: Ns,
    /// The first moment behind it.
    pub until: Ns,
}

impl Window {
    /// How much of it lies from one moment to another.
    pub fn overlap(&self, from: Ns, until: Ns) -> Span {
        (self.until.min(until) - self.from.max(from)).max(Span::ZERO)
    }
}

impl DutyCycle {
    /// The whole of every second.
    pub const fn always() -> Self {
        Self { length: SECOND, seed: 0 }
    }

    /// So much of every second.
    ///
    /// # Errors
    /// [`ProbeError::Duty`] for nothing of it, or more than all.
    pub fn of(length: Span, seed: u64) -> Result<Self, ProbeError> {
        if length <= Span::ZERO || length > SECOND {
            return Err(ProbeError::Duty { nanoseconds: length.0 });
        }
        Ok(Self { length, seed })
    }

    /// The part of the time that is watched, above 0 to 1.
    pub fn share(&self) -> f64 {
        self.length.as_secs_f64()
    }

    /// The window of a second, by its number since the zero of the clock.
    pub fn in_second(&self, second: i64) -> Window {
        let free = (SECOND - self.length).0.unsigned_abs();
        let drawn = u128::from(mixed(self.seed, second.cast_unsigned())) * u128::from(free + 1);
        let phase = Span(i64::try_from(drawn >> 64).unwrap_or(0));
        let from = Ns(second.saturating_mul(SECOND.0)) + phase;
        Window { from, until: from + self.length }
    }

    /// The window that a moment lies in, or else the next one.
    pub fn at(&self, now: Ns) -> Window {
        let second = now.0.div_euclid(SECOND.0);
        let window = self.in_second(second);
        if now < window.until { window } else { self.in_second(second + 1) }
    }
}

/// Output `number` of the generator `SplitMix64` (Steele, Lea and Flood, *Fast Splittable
/// Pseudorandom Number Generators*, OOPSLA 2014), which needs no earlier one: a monitor that begins
/// later draws the same windows.
const fn mixed(seed: u64, number: u64) -> u64 {
    let mut bits = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let first: Vec<u64> = (0..3).map(|number| mixed(1_234_567, number)).collect();
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn windows_lie_within_their_seconds_and_everywhere_in_them() {
        let duty = DutyCycle::of(Span::from_millis(100), 1).unwrap();
        let phases: Vec<i64> =
            (0..10_000).map(|second| duty.in_second(second).from.0 - second * SECOND.0).collect();
        assert!(phases.iter().all(|phase| (0..=900_000_000).contains(phase)));
        for tenth in 0..9 {
            let within = phases.iter().filter(|phase| **phase / 100_000_000 == tenth).count();
            assert!(
                (1_000..1_230).contains(&within),
                "{within} of 10000 in {tenth} tenths of a second"
            );
        }
        let other = DutyCycle::of(Span::from_millis(100), 2).unwrap();
        assert!((0..100).all(|second| other.in_second(second) != duty.in_second(second)));
    }

    #[test]
    fn always_is_one_window_behind_the_other() {
        let always = DutyCycle::always();
        for second in [-2, 0, 5] {
            assert_eq!(
                always.in_second(second),
                Window { from: Ns(second * SECOND.0), until: Ns((second + 1) * SECOND.0) }
            );
        }
        assert_eq!(always.at(Ns(-1)), always.in_second(-1));
    }

    #[test]
    fn nothing_and_more_than_all_are_refused() {
        for length in [0, -5, 1_000_000_001] {
            assert!(DutyCycle::of(Span(length), 0).is_err());
        }
    }
}
