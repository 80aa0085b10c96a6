//! A rate that changes in steps: a link whose share or modulation changes.
//!
//! A packet that is being sent at a step goes on at the new rate. As at a constant rate, the moment
//! at which the sender becomes free is an exact fraction. Until the times of the link begin, the
//! first step holds; what was decided before that moment stays as it is.

use trustbed_units::{Ns, Rate, Span};

use crate::rate::{Fraction, Sent, UNITS_PER_BYTE, greatest_common_divisor};
use crate::steps::begins;
use crate::{EmulateError, RateStepDescription};

/// Bits that leave one after another, faster or slower.
#[derive(Debug, Clone)]
pub(crate) struct SteppedRate {
    /// When each step begins, from the moment at which times begin, and how many units pass per
    /// nanosecond from then on; the first begins at 0.
    steps: Vec<(Span, u64)>,
    /// Units of a byte, the same for every step.
    denominator: u64,
    /// What the sender's clock shows when each step but the first begins; none before times begin.
    turns: Vec<i64>,
    /// Busy until `free`, and as long as `fraction` units take from there: less than a nanosecond.
    free: i64,
    fraction: u64,
}

impl SteppedRate {
    pub(crate) fn new(
        described: &[RateStepDescription],
        location: &str,
    ) -> Result<Self, EmulateError> {
        let location = format!("{location}: rate_steps");
        let begins = begins(
            described.iter().map(|step| step.at_ns),
            &location,
            "0 for the first step: the rate that it begins with",
        )?;
        for step in described {
            Fraction::of(Rate(step.rate_bits_per_second), || {
                format!("{location}.rate_bits_per_second")
            })?;
        }
        let rates = described.iter().map(|step| step.rate_bits_per_second);
        let divisor = rates.clone().fold(UNITS_PER_BYTE, greatest_common_divisor);
        Ok(Self {
            steps: begins.into_iter().zip(rates.map(|rate| rate / divisor)).collect(),
            denominator: UNITS_PER_BYTE / divisor,
            turns: vec![],
            free: i64::MIN,
            fraction: 0,
        })
    }

    /// Times are counted from `origin`; `own` gives what the sender's clock shows then.
    pub(crate) fn begin_times(&mut self, origin: Ns, own: impl Fn(Ns) -> Ns) {
        self.turns = self.steps[1..].iter().map(|&(at, _)| own(origin + at).0).collect();
    }

    pub(crate) const fn per_byte(&self) -> u64 {
        self.denominator
    }

    pub(crate) fn start(&self, ready: Ns) -> Ns {
        Ns(ready.0.max(self.free.saturating_add(i64::from(self.fraction > 0))))
    }

    pub(crate) fn send(&mut self, ready: Ns, length: u32) -> Sent {
        if ready.0 > self.free {
            self.free = ready.0;
            self.fraction = 0;
        }
        let start = self.free;
        let mut units =
            u128::from(length) * u128::from(self.denominator) + u128::from(self.fraction);
        loop {
            let (numerator, turn) = self.step(self.free);
            let passes = turn.map(|turn| u128::from(turn.abs_diff(self.free)) * numerator);
            if let (Some(turn), Some(passes)) = (turn, passes)
                && units > passes
            {
                units -= passes;
                self.free = turn;
                continue;
            }
            let whole = u64::try_from(units / numerator).unwrap_or(u64::MAX);
            self.free = self.free.saturating_add_unsigned(whole);
            self.fraction = u64::try_from(units % numerator).unwrap_or(0);
            break;
        }
        let end = self.free.saturating_add(i64::from(self.fraction > 0));
        Sent { start: Ns(start), end: Ns(end), time: Ns(self.free) - Ns(start) }
    }

    /// What of everything sent so far has not left at `now`, in units.
    pub(crate) fn unsent(&self, now: Ns) -> u128 {
        let mut at = now.0;
        if at > self.free {
            return 0;
        }
        let mut units = u128::from(self.fraction);
        while at < self.free {
            let (numerator, turn) = self.step(at);
            let until = turn.map_or(self.free, |turn| turn.min(self.free));
            units += u128::from(until.abs_diff(at)) * numerator;
            at = until;
        }
        units
    }

    /// How long so many bytes take in nanoseconds, in the mean of the steps, however long each is.
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub(crate) fn mean_time(&self, bytes: u32) -> f64 {
        let byte = |&(_, numerator): &(Span, u64)| self.denominator as f64 / numerator as f64;
        f64::from(bytes) * self.steps.iter().map(byte).sum::<f64>() / self.steps.len() as f64
    }

    /// How many units pass per nanosecond at a moment of the sender's clock, and up to when.
    fn step(&self, at: i64) -> (u128, Option<i64>) {
        let begun = self.turns.partition_point(|turn| *turn <= at);
        (u128::from(self.steps[begun].1), self.turns.get(begun).copied())
    }
}
