//! The search for the rate from which on delays rise: doubling, then halving, with a region between
//! in which both happen.
//!
//! Bounds are 0 while they are not known. The lower bound and the grey region only shrink while the
//! available bandwidth is constant; where a fleet contradicts an earlier one the region is
//! forgotten, so a bandwidth that moves is followed, with the time that this takes.

use crate::FleetTrend;

/// A rate search in bit/s. Call [`rate`](Self::rate), send a fleet, report its trend
/// ([`on_fleet`](Self::on_fleet)); again until that is true.
///
/// ```
/// use trustbed_probe::{FleetTrend, Search};
/// let available = 70e6;
/// let mut search = Search::new(90e6, None, 1e6, 1e9);
/// let mut rates = vec![];
/// loop {
///     let rate = search.rate();
///     rates.push(rate);
///     let busy = rate > available;
///     if search.on_fleet(rate, if busy { FleetTrend::Increasing } else { FleetTrend::NoTrend }) {
///         break;
///     }
/// }
/// assert_eq!(rates, [90e6, 45e6, 67.5e6, 78.75e6, 73.125e6, 70.3125e6, 68.90625e6]);
/// assert_eq!((search.bracket().low, search.bracket().high), (68.90625e6, 70.3125e6));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    rate: f64,
    lowest: f64,
    highest: f64,
    resolution: Option<f64>,
    /// What the resolutions are parts of: the first rate, where that was measured; otherwise what
    /// was found to be too much.
    scale: Option<f64>,
    /// The highest rate without a trend and the lowest with one.
    least: f64,
    most: f64,
    /// The bounds of the grey region.
    grey_least: f64,
    grey_most: f64,
    doubling: bool,
    before: Option<FleetTrend>,
}

/// Where the available bandwidth lies, in bit/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket {
    /// Lower bound; 0 when every fleet had a trend.
    pub low: f64,
    /// Upper bound; 0 when none had.
    pub high: f64,
    /// Whether this is the region in which streams disagreed, rather than what was left between
    /// those that did not.
    pub grey: bool,
}

/// Resolutions that are not given, as parts of the first rate; and the grey one in bit/s at most.
const RESOLUTION: f64 = 0.02;
const GREY_RESOLUTION: f64 = 0.05;
const GREY_RESOLUTION_MOST: f64 = 12e6;

impl Search {
    /// A search that begins at `first`, in bit/s, which was measured; 2 % of it is the resolution
    /// if none is given. Rates lie from `lowest` to `highest`.
    pub fn new(first: f64, resolution: Option<f64>, lowest: f64, highest: f64) -> Self {
        Self { rate: first, scale: Some(first), ..Self::guessed(resolution, lowest, highest) }
    }

    /// A search that begins in the middle, because nothing was measured.
    pub fn guessed(resolution: Option<f64>, lowest: f64, highest: f64) -> Self {
        Self {
            rate: f64::midpoint(lowest, highest),
            lowest,
            highest,
            resolution,
            scale: None,
            least: 0.0,
            most: 0.0,
            grey_least: 0.0,
            grey_most: 0.0,
            doubling: true,
            before: None,
        }
    }

    /// The rate of the next fleet.
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// A fleet at this rate (which may differ a little from the scheduled one) had this trend.
    /// Whether the search is at its end.
    pub fn on_fleet(&mut self, rate: f64, trend: FleetTrend) -> bool {
        if trend != FleetTrend::Grey {
            self.doubling &= self.before.is_none_or(|before| before == trend);
            self.before = Some(trend);
        }
        match trend {
            FleetTrend::Increasing => self.on_increasing(rate),
            FleetTrend::NoTrend => self.on_no_trend(rate),
            FleetTrend::Grey => self.on_grey(rate),
        }
        let ended = self.converged() || self.exhausted(trend);
        if !ended {
            self.rate = self.next(rate, trend).clamp(self.lowest, self.highest);
        }
        ended
    }

    /// What is known so far.
    pub fn bracket(&self) -> Bracket {
        // A grey region narrower than the resolution is one fleet that could not decide: what is
        // known are the rates around it. (The tool reports a point then, which no available
        // bandwidth lies in.)
        if self.grey_most - self.grey_least > self.resolution()
            && (self.most <= 0.0 || self.most - self.least > self.resolution())
        {
            return Bracket { low: self.grey_least, high: self.grey_most, grey: true };
        }
        // Streams are never sent at quite the scheduled rate, so that bounds can pass each other by
        // a little.
        let turned = self.most > 0.0 && self.most < self.least;
        let (low, high) = if turned { (self.most, self.least) } else { (self.least, self.most) };
        Bracket { low, high, grey: false }
    }

    /// Whether no rate was too high yet.
    pub fn is_open_above(&self) -> bool {
        self.most <= 0.0
    }

    fn on_increasing(&mut self, rate: f64) {
        if self.grey_most >= rate {
            (self.grey_least, self.grey_most) = (0.0, 0.0);
        }
        self.most = rate;
    }

    fn on_no_trend(&mut self, rate: f64) {
        if self.grey_least < rate {
            self.grey_least = 0.0;
        }
        if self.grey_most < rate {
            (self.grey_least, self.grey_most) = (0.0, 0.0);
        }
        self.least = self.least.max(rate);
    }

    fn on_grey(&mut self, rate: f64) {
        if self.grey_most <= 0.0 && self.grey_least <= 0.0 {
            (self.grey_least, self.grey_most) = (rate, rate);
        }
        if rate >= self.grey_most {
            self.grey_most = rate;
        } else if rate < self.grey_least || self.grey_least <= 0.0 {
            self.grey_least = rate;
        }
    }

    fn next(&mut self, rate: f64, trend: FleetTrend) -> f64 {
        match trend {
            FleetTrend::NoTrend if self.doubling => 2.0 * rate,
            FleetTrend::NoTrend => {
                self.below().or_else(|| self.above()).unwrap_or_else(|| self.middle())
            }
            FleetTrend::Increasing => {
                self.doubling &= !(self.has_upper() && self.upper_is_narrow());
                self.above().or_else(|| self.below()).unwrap_or_else(|| self.middle())
            }
            FleetTrend::Grey if rate >= self.grey_most => self.past_grey_top(rate),
            FleetTrend::Grey if !self.lower_is_narrow() => {
                f64::midpoint(self.least, self.grey_least)
            }
            FleetTrend::Grey => self.past_grey_top(self.grey_most),
        }
    }

    /// A rate above the grey region, or below it where what lies above is narrow already.
    fn past_grey_top(&self, rate: f64) -> f64 {
        if self.most <= 0.0 {
            1.5 * rate
        } else if self.upper_is_narrow() {
            f64::midpoint(self.least, self.grey_least)
        } else {
            f64::midpoint(self.most, self.grey_most)
        }
    }

    fn resolution(&self) -> f64 {
        self.resolution.unwrap_or(RESOLUTION * self.scale.unwrap_or(self.most))
    }

    fn grey_resolution(&self) -> f64 {
        (GREY_RESOLUTION * self.scale.unwrap_or(self.most)).min(GREY_RESOLUTION_MOST)
    }

    /// Between the grey region and what is too much, if that is still wide.
    fn above(&self) -> Option<f64> {
        (self.has_upper() && !self.upper_is_narrow())
            .then(|| f64::midpoint(self.most, self.grey_most))
    }

    /// Between what is little enough and the grey region, if that is still wide.
    fn below(&self) -> Option<f64> {
        let there = self.grey_least > 0.0 && self.grey_least <= self.most;
        (there && !self.lower_is_narrow()).then(|| f64::midpoint(self.least, self.grey_least))
    }

    fn middle(&self) -> f64 {
        f64::midpoint(self.most, self.least)
    }

    fn has_upper(&self) -> bool {
        self.grey_most > 0.0 && self.grey_most >= self.least
    }

    fn upper_is_narrow(&self) -> bool {
        self.most - self.grey_most <= self.grey_resolution()
    }

    fn lower_is_narrow(&self) -> bool {
        self.grey_least - self.least <= self.grey_resolution()
    }

    /// The bounds have met, or enclose nothing but a grey region.
    fn converged(&self) -> bool {
        let apart = self.most - self.least;
        let enclosed = self.grey_most > 0.0 && self.upper_is_narrow() && self.lower_is_narrow();
        self.most > 0.0 && apart.abs() > 0.0 && (apart <= self.resolution() || enclosed)
    }

    /// No rate is left in the direction that the fleet points to. The scheduled rate counts: what
    /// was sent is always a little beside it.
    fn exhausted(&self, trend: FleetTrend) -> bool {
        match trend {
            FleetTrend::NoTrend => self.doubling && self.rate >= self.highest,
            FleetTrend::Increasing => self.rate <= self.lowest,
            FleetTrend::Grey => self.rate >= self.highest && self.most <= 0.0,
        }
    }
}
