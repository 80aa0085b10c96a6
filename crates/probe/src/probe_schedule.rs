//! When probes are sent.
//!
//! *Poisson*: gaps are exponential, so that probes see what an independent observer would see, and
//! nothing periodic on the path can be in step with them (RFC 2330, section 11.1.1; the default of
//! OWAMP, RFC 4656, section 3.6). *Periodic*: equal gaps from a random moment of the first (RFC
//! 3432); what is periodic on the path may be hit always or never.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rand_distr::{Distribution, Exp1};
use trustbed_units::Span;

use crate::ProbeError;

/// How probes follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProbeSpacing {
    /// Exponential gaps.
    #[default]
    Poisson,
    /// Equal gaps.
    Periodic,
}

/// The moments of probes, after the start; never ends before 292 years.
///
/// ```
/// use trustbed_probe::{ProbeSchedule, ProbeSpacing};
/// use trustbed_units::Span;
/// let schedule = ProbeSchedule::new(ProbeSpacing::Poisson, Span::from_millis(100), 7)?;
/// let first: Vec<Span> = schedule.clone().take(3).collect();
/// assert!(first.is_sorted());
/// assert_eq!(schedule.take(3).collect::<Vec<_>>(), first);
/// # Ok::<(), trustbed_probe::ProbeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ProbeSchedule {
    random: ChaCha8Rng,
    spacing: ProbeSpacing,
    mean_gap: Span,
    /// The latest moment; none before the first.
    last: Option<Span>,
    /// What comes to it: kept apart, so that hours lose no precision.
    fraction: f64,
}

impl ProbeSchedule {
    /// Probes a gap apart, on average.
    ///
    /// # Errors
    /// [`ProbeError::NotPositive`] for a gap that is not above 0.
    pub fn new(spacing: ProbeSpacing, mean_gap: Span, seed: u64) -> Result<Self, ProbeError> {
        if mean_gap <= Span::ZERO {
            return Err(ProbeError::NotPositive {
                name: "mean_gap",
                value: mean_gap.as_secs_f64(),
            });
        }
        Ok(Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            spacing,
            mean_gap,
            last: None,
            fraction: 0.0,
        })
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole nanoseconds; what is beyond 292 years ends the schedule"
    )]
    fn exponential(&mut self) -> Span {
        let draw: f64 = Exp1.sample(&mut self.random);
        let gap = draw * self.mean_gap.as_f64() + self.fraction;
        self.fraction = gap.fract();
        Span(gap as i64)
    }

    /// A moment of the first gap.
    fn phase(&mut self) -> Span {
        let drawn =
            (u128::from(self.random.next_u64()) * u128::from(self.mean_gap.0.unsigned_abs())) >> 64;
        Span(i64::try_from(drawn).unwrap_or(0))
    }
}

impl Iterator for ProbeSchedule {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let gap = match (self.spacing, self.last) {
            (ProbeSpacing::Poisson, _) => self.exponential(),
            (ProbeSpacing::Periodic, None) => self.phase(),
            (ProbeSpacing::Periodic, Some(_)) => self.mean_gap,
        };
        let due = self.last.unwrap_or(Span::ZERO).0.checked_add(gap.0)?;
        self.last = Some(Span(due));
        self.last
    }
}
