//! The logscale diagram: energy against octave, with the bias of a logarithm of a mean removed and
//! confidence intervals.
//!
//! P. Abry and D. Veitch, *Wavelet analysis of long-range-dependent traffic* (IEEE Trans. IT 44(1),
//! 1998); D. Veitch and P. Abry, *A wavelet-based joint estimator of the parameters of long-range
//! dependence* (IEEE Trans. IT 45(3), 1999). The intervals assume Gaussian, independent
//! coefficients: for heavy-tailed traffic they are too narrow, most of all at the finest octaves.
//! The authors' routine takes ⌊n/2⌋ in the variance instead of n/2. Treating bins as samples (a₀ =
//! x) biases octaves 1 and 2 a little.

use crate::special::{digamma, trigamma};
use std::f64::consts::LN_2;
use trustbed_units::Span;

/// The 97.5 % quantile of the normal distribution.
pub(crate) const NORMAL_975: f64 = 1.959_964;

/// The wavelet coefficients of one octave, summed up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Octave {
    /// Its number *j*, from 1.
    pub octave: u32,
    /// How many coefficients.
    pub count: u64,
    /// The mean of their squares, μ.
    pub mean_square: f64,
}

impl Octave {
    /// Octaves of fewer coefficients carry no information and are not shown.
    pub const LEAST_COUNT: u64 = 3;

    /// Whether there are enough coefficients to show it.
    pub const fn is_shown(&self) -> bool {
        self.count >= Self::LEAST_COUNT
    }

    /// The time scale: 2^(*j*−1) bins, the length of the blocks that a Haar coefficient compares.
    pub fn scale(&self, width: Span) -> Span {
        let blocks = 1_i64.checked_shl(self.octave.saturating_sub(1)).filter(|blocks| *blocks > 0);
        Span(width.0.saturating_mul(blocks.unwrap_or(i64::MAX)))
    }

    /// log2 μ; `None` when nothing varies at this scale (μ = 0), where the logarithm is −∞.
    pub fn energy(&self) -> Option<f64> {
        (self.mean_square > 0.0).then(|| self.mean_square.log2())
    }

    /// By how much log2 of a mean of `count` squares lies above the log2 of what it estimates, on
    /// average: ψ(n/2)/ln 2 − log2(n/2).
    pub fn bias(&self) -> f64 {
        let half = self.half();
        digamma(half) / LN_2 - half.log2()
    }

    /// y = energy − bias, what is drawn and fitted.
    pub fn corrected(&self) -> Option<f64> {
        self.energy().map(|energy| energy - self.bias())
    }

    /// The variance of y: ψ′(n/2)/ln² 2, about 2/(n·ln² 2).
    pub fn variance(&self) -> f64 {
        trigamma(self.half()) / (LN_2 * LN_2)
    }

    /// The 95 % confidence interval of y.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let reach = NORMAL_975 * self.variance().sqrt();
        self.corrected().map(|y| (y - reach, y + reach))
    }

    #[expect(clippy::cast_precision_loss, reason = "beyond 2⁵³ coefficients the bias is nil")]
    fn half(&self) -> f64 {
        self.count.max(1) as f64 / 2.0
    }
}
