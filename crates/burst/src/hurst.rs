//! A straight line through the logscale diagram: the scaling exponent α, the Hurst parameter, and
//! whether a line fits at all.
//!
//! Weighted least squares with the known variances of the octaves (Veitch and Abry, IEEE Trans. IT
//! 45(3), 1999). The range of octaves is chosen as in D. Veitch, P. Abry and M. S. Taqqu, *On the
//! automatic selection of the onset of scaling* (Fractals 11(4), 2003): the fit must become much
//! better by leaving fine octaves out. The slope is trusted only as far as [`Fit::quality`]: over
//! octaves that do not lie on a line, α is a number without a meaning.

use crate::logscale::{NORMAL_975, Octave};
use crate::special::chi_square_tail;

/// Which octaves to fit; what is `None` is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FitRange {
    /// The finest octave.
    pub first: Option<u32>,
    /// The coarsest octave.
    pub last: Option<u32>,
}

/// A line y = α·j + c through octaves `first` to `last`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The finest octave that was used.
    pub first: u32,
    /// The coarsest octave that was used.
    pub last: u32,
    /// How many were used. Those without energy have no logarithm and are left out, so this may be
    /// fewer than from first to last.
    pub used: u32,
    /// The slope, per octave: the scaling exponent.
    pub alpha: f64,
    /// The variance of α.
    pub alpha_variance: f64,
    /// Where the line meets octave 0.
    pub intercept: f64,
    /// Σ(distance from the line)²/variance.
    pub chi_square: f64,
    /// The probability of a larger χ² if the octaves do lie on a line; `None` for fewer than three
    /// octaves.
    pub quality: Option<f64>,
}

impl Fit {
    /// Coefficients that the coarsest octave must have to be chosen.
    pub const LEAST_COUNT: u64 = 8;
    /// The finest octave that is chosen when there are enough: below it, bins are not yet samples
    /// of the process.
    pub const FINEST: u32 = 3;
    /// How many times better the fit must become for leaving an octave out.
    pub const JUMP: f64 = 10.0;
    /// Quality below which the line is rejected.
    pub const LEAST_QUALITY: f64 = 0.05;

    /// The line through the octaves of a diagram, over the range given or chosen. `None` with fewer
    /// than two octaves of energy in it.
    pub fn of(octaves: &[Octave], range: FitRange) -> Option<Self> {
        let last = range.last.or_else(|| coarsest(octaves))?;
        let first = range.first.unwrap_or_else(|| finest(octaves, last));
        Self::over(octaves, first, last)
    }

    /// The line through octaves `first` to `last`.
    fn over(octaves: &[Octave], first: u32, last: u32) -> Option<Self> {
        let chosen = octaves.iter().filter(|octave| (first..=last).contains(&octave.octave));
        let points: Vec<Point> = chosen.filter_map(Point::of).collect();
        let (from, to) = (points.first()?.octave, points.last()?.octave);
        let sum = |power: i32| {
            points.iter().map(|point| point.at.powi(power) / point.variance).sum::<f64>()
        };
        let (s0, s1, s2) = (sum(0), sum(1), sum(2));
        let determinant = s0 * s2 - s1 * s1;
        if from == to || determinant <= 0.0 {
            return None;
        }
        let (mut alpha, mut intercept, mut alpha_variance) = (0.0, 0.0, 0.0);
        for point in &points {
            let slope_weight = (s0 * point.at - s1) / point.variance / determinant;
            alpha += slope_weight * point.y;
            alpha_variance += point.variance * slope_weight * slope_weight;
            intercept += (s2 - s1 * point.at) / point.variance / determinant * point.y;
        }
        let chi_square = points
            .iter()
            .map(|point| (point.y - alpha * point.at - intercept).powi(2) / point.variance)
            .sum();
        let used = u32::try_from(points.len()).unwrap_or(u32::MAX);
        let quality = (used > 2).then(|| chi_square_tail(chi_square, f64::from(used - 2)));
        Some(Self {
            first: from,
            last: to,
            used,
            alpha,
            alpha_variance,
            intercept,
            chi_square,
            quality,
        })
    }

    /// The 95 % confidence interval of α.
    pub fn alpha_interval(&self) -> (f64, f64) {
        let reach = NORMAL_975 * self.alpha_variance.sqrt();
        (self.alpha - reach, self.alpha + reach)
    }

    /// The Hurst parameter (α + 1)/2 of a stationary series; `None` when α contradicts that.
    pub fn hurst(&self) -> Option<f64> {
        (self.alpha > -1.0 && self.alpha < 1.0).then(|| f64::midpoint(self.alpha, 1.0))
    }

    /// The 95 % confidence interval of the Hurst parameter.
    pub fn hurst_interval(&self) -> Option<(f64, f64)> {
        let reach = NORMAL_975 * self.alpha_variance.sqrt() / 2.0;
        self.hurst().map(|hurst| (hurst - reach, hurst + reach))
    }

    /// α ≥ 1: the variance grows with time, and a Hurst parameter of the series itself does not
    /// exist.
    pub fn is_nonstationary(&self) -> bool {
        self.alpha >= 1.0
    }

    /// Whether the octaves do not lie on a line.
    pub fn is_rejected(&self) -> bool {
        self.quality.is_some_and(|quality| quality < Self::LEAST_QUALITY)
    }
}

/// An octave as a point of the diagram.
struct Point {
    octave: u32,
    at: f64,
    y: f64,
    variance: f64,
}

impl Point {
    fn of(octave: &Octave) -> Option<Self> {
        let y = octave.corrected()?;
        Some(Self {
            octave: octave.octave,
            at: f64::from(octave.octave),
            y,
            variance: octave.variance(),
        })
    }
}

/// The coarsest octave with coefficients enough.
fn coarsest(octaves: &[Octave]) -> Option<u32> {
    octaves
        .iter()
        .filter(|octave| octave.count >= Fit::LEAST_COUNT)
        .map(|octave| octave.octave)
        .max()
}

/// Where scaling begins: while leaving out one octave after the other makes the fit no worse, the
/// last one that made it [`Fit::JUMP`] times better; not finer than [`Fit::FINEST`], and at least
/// three octaves below `last`.
fn finest(octaves: &[Octave], last: u32) -> u32 {
    let highest = last.saturating_sub(2).max(1);
    let quality = |first| Fit::over(octaves, first, last).and_then(|fit| fit.quality);
    let mut chosen = 1;
    let mut before = quality(1);
    for first in 2..=highest {
        let (Some(earlier), Some(now)) = (before, quality(first)) else { break };
        if now < earlier {
            break;
        }
        if now > earlier && now >= Fit::JUMP * earlier {
            chosen = first;
        }
        before = Some(now);
    }
    chosen.max(Fit::FINEST).min(highest)
}
