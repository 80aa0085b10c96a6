//! Whether the delays of a stream rise: two tests on medians of groups, and their combination.
//!
//! Jain and Dovrolis, SIGCOMM 2002, §4.2; the denominator of the first test is that of pathload
//! 1.3.2, the number of medians, not of pairs.

/// The result for a stream, or of one test of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trend {
    /// Delays rise: the stream was faster than what was available.
    Increasing,
    /// They do not.
    None,
    /// Neither is certain.
    Unclear,
}

/// From here on a test finds rising delays; between 0.9 and 1.1 times that it is indeterminate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Of the pairwise comparison test.
    pub comparison: f64,
    /// Of the pairwise difference test.
    pub difference: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { comparison: 0.55, difference: 0.40 }
    }
}

/// What the tests found in a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendMetrics {
    /// Medians of consecutive groups of ⌊√n⌋ delays, in the delays' unit.
    pub medians: Vec<f64>,
    /// Pairwise comparison: the share of medians that are followed by a larger one, 0…1.
    pub comparison: f64,
    /// Pairwise difference: the rise from first to last over all steps up and down, −1…1.
    pub difference: f64,
    /// The result of the comparison.
    pub comparison_trend: Trend,
    /// The result of the difference.
    pub difference_trend: Trend,
    /// The result of both.
    pub trend: Trend,
}

/// Fewer medians have no trend.
const LEAST_MEDIANS: usize = 5;

impl TrendMetrics {
    /// The trend of a stream's delays, in any unit. Nothing where there are fewer than five
    /// medians.
    #[expect(clippy::cast_precision_loss, reason = "a stream has some hundred packets")]
    pub fn of(delays: &[f64], thresholds: Thresholds) -> Option<Self> {
        let group = delays.len().isqrt();
        if group == 0 {
            return None;
        }
        let medians: Vec<f64> = delays.chunks(group).map(median).collect();
        if medians.len() < LEAST_MEDIANS {
            return None;
        }
        let steps = || medians.windows(2).map(|pair| pair[1] - pair[0]);
        let comparison = steps().filter(|step| *step > 0.0).count() as f64 / medians.len() as f64;
        let path: f64 = steps().map(f64::abs).sum();
        let rise: f64 = steps().sum();
        let difference = if path > 0.0 { rise / path } else { 0.0 };
        let comparison_trend = class(comparison, thresholds.comparison);
        let difference_trend = class(difference, thresholds.difference);
        let trend = together(comparison_trend, difference_trend);
        Some(Self { medians, comparison, difference, comparison_trend, difference_trend, trend })
    }
}

fn class(value: f64, threshold: f64) -> Trend {
    if value > 1.1 * threshold {
        Trend::Increasing
    } else if value < 0.9 * threshold {
        Trend::None
    } else {
        Trend::Unclear
    }
}

fn together(one: Trend, other: Trend) -> Trend {
    match (one, other) {
        (one, other) if one == other => one,
        (Trend::Unclear, known) | (known, Trend::Unclear) => known,
        _ => Trend::Unclear,
    }
}

fn median(group: &[f64]) -> f64 {
    let mut sorted = group.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}
