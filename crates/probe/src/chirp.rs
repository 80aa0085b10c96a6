//! A chirp: packets of one length whose rate grows by a factor from each to the next.
//!
//! Ribeiro, Riedi, Baraniuk, Navratil and Cottrell, *pathChirp: Efficient Available Bandwidth
//! Estimation for Network Paths*, PAM 2003.

use trustbed_units::Span;

use crate::Sighting;
use crate::spacing::distorted_share;

/// The packets of a chirp: one more than there are gaps.
#[derive(Debug, Clone, PartialEq)]
pub struct Chirp {
    payload: u32,
    /// Rate of every gap in bit/s of UDP payload, growing.
    rates: Vec<f64>,
}

impl Chirp {
    /// The chirp with the fewest packets whose rates reach from `lowest` (or below) to `highest`,
    /// each `factor` times the one before. Rates in bit/s of UDP payload, which is how the tool
    /// counts.
    pub fn new(payload: u32, lowest: f64, highest: f64, factor: f64) -> Self {
        let gaps = Self::gaps(lowest, highest, factor);
        let rates = (0..gaps)
            .map(|gap| highest / factor.powi(i32::try_from(gaps - 1 - gap).unwrap_or(i32::MAX)))
            .collect();
        Self { payload, rates }
    }

    /// How many gaps such a chirp has: the least n with lowest · factorⁿ ≥ highest.
    pub fn gaps(lowest: f64, highest: f64, factor: f64) -> usize {
        let mut rate = lowest;
        let mut gaps = 0;
        while rate < highest && gaps < MOST_GAPS {
            rate *= factor;
            gaps += 1;
        }
        gaps
    }

    /// The rate of every gap in bit/s of UDP payload.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// The length of a gap in nanoseconds.
    pub fn gap_ns(&self, gap: usize) -> f64 {
        self.rates.get(gap).map_or(0.0, |rate| 8e9 * f64::from(self.payload) / rate)
    }

    /// How many packets.
    pub const fn packets(&self) -> usize {
        self.rates.len() + 1
    }

    /// UDP payload of each, in bytes.
    pub const fn payload(&self) -> u32 {
        self.payload
    }

    /// When a packet is due after the first.
    #[expect(clippy::cast_possible_truncation, reason = "a chirp lasts seconds at most")]
    pub fn due(&self, number: usize) -> Span {
        Span((0..number.min(self.rates.len())).map(|gap| self.gap_ns(gap)).sum::<f64>() as i64)
    }

    /// Whether the sender kept to it: no gap was off by a quarter and 10 µs. One that was is
    /// another rate than its own.
    pub fn is_as_scheduled(&self, packets: &[Sighting]) -> bool {
        packets.len() == self.packets() && distorted_share(|gap| self.gap_ns(gap), packets) <= 0.0
    }

    /// From its first packet to its last.
    pub fn duration(&self) -> Span {
        self.due(self.rates.len())
    }

    /// How long from its start to that of the next, so that chirps load the path with `mean_rate`
    /// bit/s, and with half of the time in silence at least.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "a chirp has some dozen packets"
    )]
    pub fn interval(&self, mean_rate: f64) -> Span {
        let scheduled =
            Span((self.packets() as f64 * 8e9 * f64::from(self.payload) / mean_rate) as i64);
        scheduled.max(self.duration() + self.duration())
    }
}

/// More than any chirp may have: a factor of 1.01 over six decades.
const MOST_GAPS: usize = 1500;
