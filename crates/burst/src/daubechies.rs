//! The discrete wavelet transform with Haar and Daubechies filters, as a pyramid over a series of
//! bins.
//!
//! With a₀ the series, low-pass filter h and high-pass filter `g[i] = (−1)^i·h[2N−1−i]`, octave *j*
//! is
//!
//! ```text
//! a(j, k) = Σ h[i]·a(j−1, 2k+i)        d(j, k) = Σ g[i]·a(j−1, 2k+i)
//! ```
//!
//! Only coefficients whose inputs all exist are made: nothing is padded and nothing wraps around,
//! so that the ends of a capture invent no energy. A wavelet with N vanishing moments does not see
//! trends of degree below N (I. Daubechies, *Ten Lectures on Wavelets*, SIAM 1992).
//!
//! The pyramid begins at the first bin it gets, wherever that lies in time, and cannot be merged.
//! Over the bins of several parts of a capture it is fed in order, for instance by
//! [`RateOverTime::pour`](crate::RateOverTime::pour).

use crate::bins::{Bin, BinSink};
use crate::logscale::Octave;

/// Which wavelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Wavelet {
    /// One vanishing moment: differences of neighbouring blocks.
    Haar,
    /// Two vanishing moments, four taps.
    Daubechies2,
    /// Three vanishing moments, six taps.
    #[default]
    Daubechies3,
}

/// The longest filter.
const MOST_TAPS: usize = 6;

impl Wavelet {
    /// N, which is half the number of taps.
    pub const fn vanishing_moments(self) -> usize {
        match self {
            Self::Haar => 1,
            Self::Daubechies2 => 2,
            Self::Daubechies3 => 3,
        }
    }

    /// The low-pass filter h, Σh = √2, 2N taps.
    pub fn low_pass(self) -> Vec<f64> {
        let root2 = 2_f64.sqrt();
        match self {
            Self::Haar => vec![1.0 / root2; 2],
            Self::Daubechies2 => {
                let r = 3_f64.sqrt();
                [1.0 + r, 3.0 + r, 3.0 - r, 1.0 - r].map(|tap| tap / (4.0 * root2)).to_vec()
            }
            Self::Daubechies3 => {
                let a = 10_f64.sqrt();
                let b = (5.0 + 2.0 * a).sqrt();
                let taps = [
                    1.0 + a + b,
                    5.0 + a + 3.0 * b,
                    10.0 - 2.0 * a + 2.0 * b,
                    10.0 - 2.0 * a - 2.0 * b,
                    5.0 + a - 3.0 * b,
                    1.0 + a - b,
                ];
                taps.map(|tap| tap / (16.0 * root2)).to_vec()
            }
        }
    }

    /// The high-pass filter g.
    pub fn high_pass(self) -> Vec<f64> {
        let backwards = self.low_pass().into_iter().rev().enumerate();
        backwards.map(|(i, tap)| if i % 2 == 0 { tap } else { -tap }).collect()
    }

    /// One step of the transform: approximations and details of a series, half as many as it is
    /// long, or fewer.
    pub fn step(self, series: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (low, high) = (self.low_pass(), self.high_pass());
        let windows = series.windows(low.len()).step_by(2);
        windows.map(|window| (dot(&low, window), dot(&high, window))).unzip()
    }

    /// The details of every octave of a series, the finest first, until an octave would be empty.
    ///
    /// ```
    /// use trustbed_burst::Wavelet;
    /// let details = Wavelet::Haar.details(&[3.0, 5.0, 1.0, 1.0]);
    /// assert_eq!(details.len(), 2);
    /// assert!((details[0][0] + 2.0_f64.sqrt()).abs() < 1e-12);
    /// assert!((details[1][0] - 3.0).abs() < 1e-12);
    /// ```
    pub fn details(self, series: &[f64]) -> Vec<Vec<f64>> {
        let mut octaves = Vec::new();
        let mut rest = series.to_vec();
        while rest.len() >= 2 * self.vanishing_moments() {
            let (approximations, details) = self.step(&rest);
            octaves.push(details);
            rest = approximations;
        }
        octaves
    }
}

fn dot(taps: &[f64], values: &[f64]) -> f64 {
    taps.iter().zip(values).map(|(tap, value)| tap * value).sum()
}

/// The transform while the series arrives: of each octave only the last few approximations, Σd² and
/// the number of coefficients are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Pyramid {
    low: Vec<f64>,
    high: Vec<f64>,
    stages: Vec<Stage>,
}

/// The filters of one octave: the approximations of the octave below that wait, and what came out.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Stage {
    waiting: [f64; MOST_TAPS],
    held: usize,
    count: u64,
    squares: f64,
}

impl Stage {
    /// The next approximation of the octave below. Returns the one of this octave that it
    /// completes.
    #[inline]
    fn push(&mut self, low: &[f64], high: &[f64], value: f64) -> Option<f64> {
        self.waiting[self.held] = value;
        self.held += 1;
        if self.held < low.len() {
            return None;
        }
        let inputs = &self.waiting[..low.len()];
        let (approximation, detail) = (dot(low, inputs), dot(high, inputs));
        self.count += 1;
        self.squares += detail * detail;
        self.waiting.copy_within(2..low.len(), 0);
        self.held -= 2;
        Some(approximation)
    }

    /// Whether everything that waits is 0, so that zeros give zeros.
    fn is_silent(&self) -> bool {
        self.waiting[..self.held].iter().all(|value| value.to_bits() << 1 == 0)
    }

    /// The next `count` inputs are 0, as those that wait are. Returns how many approximations, all
    /// 0, come out.
    fn silence(&mut self, taps: usize, count: u64) -> u64 {
        let inputs = count.saturating_add(self.held as u64);
        let outputs = if inputs < taps as u64 { 0 } else { (inputs - taps as u64) / 2 + 1 };
        self.count += outputs;
        self.held = usize::try_from(inputs - 2 * outputs).unwrap_or(self.held);
        self.waiting = [0.0; MOST_TAPS];
        outputs
    }
}

impl Pyramid {
    /// Nothing seen yet.
    pub fn new(wavelet: Wavelet) -> Self {
        Self { low: wavelet.low_pass(), high: wavelet.high_pass(), stages: Vec::new() }
    }

    /// The next value of the series.
    #[inline]
    pub fn push(&mut self, value: f64) {
        self.push_at(0, value);
    }

    #[inline]
    fn push_at(&mut self, mut stage: usize, mut value: f64) {
        loop {
            self.ensure(stage);
            match self.stages[stage].push(&self.low, &self.high, value) {
                Some(approximation) => value = approximation,
                None => return,
            }
            stage += 1;
        }
    }

    /// The next `count` values are 0. Once the few values that wait at an octave are 0 too, all
    /// that follows is 0 and only counted: time O(log `count`), and the same result as pushing each
    /// of them.
    pub fn push_silence(&mut self, count: u64) {
        let (mut stage, mut count) = (0, count);
        while count > 0 {
            self.ensure(stage);
            // A filter forgets what lies further back than its taps, so this ends after a few
            // steps.
            while !self.stages[stage].is_silent() {
                if count == 0 {
                    return;
                }
                if let Some(value) = self.stages[stage].push(&self.low, &self.high, 0.0) {
                    self.push_at(stage + 1, value);
                }
                count -= 1;
            }
            count = self.stages[stage].silence(self.low.len(), count);
            stage += 1;
        }
    }

    fn ensure(&mut self, stage: usize) {
        if stage == self.stages.len() {
            self.stages.push(Stage::default());
        }
    }

    /// All octaves with at least one coefficient, the finest first.
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn octaves(&self) -> Vec<Octave> {
        let numbered = (1..).zip(self.stages.iter().filter(|stage| stage.count > 0));
        numbered
            .map(|(octave, stage)| Octave {
                octave,
                count: stage.count,
                mean_square: stage.squares / stage.count as f64,
            })
            .collect()
    }
}

impl BinSink for Pyramid {
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "bytes in a bin are below 2⁵³")]
    fn bin(&mut self, bin: Bin) {
        self.push(bin.amount as f64);
    }

    fn silence(&mut self, _from: i64, count: u64) {
        self.push_silence(count);
    }
}
