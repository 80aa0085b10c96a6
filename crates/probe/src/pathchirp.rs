//! pathChirp: the available bandwidth over time, from chirps.
//!
//! Ribeiro and others, PAM 2003, with the defaults of pathChirp 2.3.7. An estimate is the mean of
//! the latest eleven chirps. Rates count UDP payload. The estimate lies between the lowest and the
//! highest rate of the chirps, which follow it: at the upper end it is a lower bound.

use std::collections::VecDeque;

use trustbed_units::Span;

use crate::pathload::{LARGEST_PAYLOAD, check_payload};
use crate::{Chirp, Excursions, ProbeError, Scan, Sighting};

/// A chirp has so many packets at most.
const MOST_PACKETS: usize = 400;

/// So many estimates in a row at one end of the rates move them.
const IN_A_ROW: u32 = 3;
/// What is near the lowest rate, and near the highest, as parts of them.
const NEAR_LOWEST: f64 = 1.5;
const NEAR_HIGHEST: f64 = 0.66;
/// The new range is this factor below and above the old end; a smaller one where rates are below 1
/// Mbit/s.
const RANGE_FACTOR: f64 = 7.0;
const RANGE_FACTOR_SLOW: f64 = 4.0;
const SLOW: f64 = 1e6;
/// Mean probing rates, as parts of the lowest rate and in bit/s.
const MEAN_OF_LOWEST: (f64, f64) = (0.1, 0.2);
const MEAN: (f64, f64) = (5e3, 3e6);

/// How a path is probed. Rates in bit/s of UDP payload.
#[derive(Debug, Clone, PartialEq)]
pub struct PathChirpSettings {
    /// UDP payload of a packet, in bytes.
    pub payload: u32,
    /// The lowest rate of a chirp at first.
    pub lowest_rate: f64,
    /// The highest rate of a chirp at first.
    pub highest_rate: f64,
    /// From packet to packet the rate grows by this.
    pub spread_factor: f64,
    /// What the probe sends on average.
    pub mean_rate: f64,
    /// How many chirps an estimate is the mean of.
    pub averaged: usize,
    /// How a chirp is read.
    pub scan: Scan,
    /// Whether the rates follow the estimates.
    pub adapts: bool,
    /// Beyond this the rates do not follow: what the hosts can send.
    pub limit_rate: f64,
}

impl Default for PathChirpSettings {
    fn default() -> Self {
        Self {
            payload: 1000,
            lowest_rate: 10e6,
            highest_rate: 200e6,
            spread_factor: 1.2,
            mean_rate: 0.3e6,
            averaged: 11,
            scan: Scan::default(),
            adapts: true,
            limit_rate: 1.2e9,
        }
    }
}

impl PathChirpSettings {
    /// For cross traffic in packets as long as they come. They make delays jump up and fall back
    /// again and again, which is no queue that builds up: the packets of chirps are as long as
    /// that, their rates closer together, and an excursion ends with a deeper fall.
    pub fn for_long_packets() -> Self {
        let scan = Scan { decrease_factor: 3.0, ..Scan::default() };
        Self {
            payload: LARGEST_PAYLOAD,
            spread_factor: 1.1,
            mean_rate: 1e6,
            scan,
            ..Self::default()
        }
    }
}

/// The combined result of the latest chirps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Available bandwidth in bit/s of UDP payload.
    pub rate: f64,
    /// Whether it is near the highest rate that could be sent: then it is a lower bound.
    pub at_limit: bool,
}

/// A measurement that continues until stopped. Send [`chirp`](Self::chirp) every
/// [`interval`](Self::interval) and report to [`on_chirp`](Self::on_chirp) what became of it; both
/// may change with every answer.
#[derive(Debug, Clone)]
pub struct PathChirp {
    settings: PathChirpSettings,
    chirp: Chirp,
    mean_rate: f64,
    latest: VecDeque<f64>,
    low_in_a_row: u32,
    high_in_a_row: u32,
    unusable: u64,
}

impl PathChirp {
    /// A measurement that has not begun.
    ///
    /// # Errors
    /// [`ProbeError::NoRates`], [`ProbeError::Spread`] where chirps would have more than 400
    /// packets, [`ProbeError::Payload`], [`ProbeError::NotPositive`].
    #[expect(clippy::cast_precision_loss, reason = "for a message")]
    pub fn new(settings: PathChirpSettings) -> Result<Self, ProbeError> {
        let (lowest, highest) = (settings.lowest_rate, settings.highest_rate);
        if lowest.is_nan() || highest.is_nan() || lowest <= 0.0 || highest <= lowest {
            return Err(ProbeError::NoRates { lowest, highest });
        }
        check_payload("payload", settings.payload, u32::MAX)?;
        let factor = settings.spread_factor;
        let packets =
            if factor > 1.0 { Chirp::gaps(lowest, highest, factor) + 1 } else { usize::MAX };
        if factor.is_nan() || factor > 4.0 || packets > MOST_PACKETS {
            return Err(ProbeError::Spread { factor, packets });
        }
        let positive = [
            ("mean_rate", settings.mean_rate),
            ("averaged", settings.averaged as f64),
            ("decrease_factor", settings.scan.decrease_factor),
        ];
        for (name, value) in positive {
            if value.is_nan() || value <= 0.0 {
                return Err(ProbeError::NotPositive { name, value });
            }
        }
        let chirp = Chirp::new(settings.payload, lowest, highest, factor);
        let mean_rate = settings.mean_rate;
        Ok(Self {
            settings,
            chirp,
            mean_rate,
            latest: VecDeque::new(),
            low_in_a_row: 0,
            high_in_a_row: 0,
            unusable: 0,
        })
    }

    /// The chirp to send next.
    pub const fn chirp(&self) -> &Chirp {
        &self.chirp
    }

    /// From the start of a chirp to that of the next.
    pub fn interval(&self) -> Span {
        self.chirp.interval(self.mean_rate)
    }

    /// Chirps without a result: packets lost, overtaken, or held together in the receiver.
    pub const fn unusable(&self) -> u64 {
        self.unusable
    }

    /// What became of a chirp; an estimate once there are enough.
    #[expect(clippy::cast_precision_loss, reason = "a mean of some dozen")]
    pub fn on_chirp(&mut self, packets: &[Sighting]) -> Option<Estimate> {
        let Some(found) = Excursions::of(&self.chirp, packets, &self.settings.scan) else {
            self.unusable += 1;
            return None;
        };
        self.latest.push_back(found.estimate);
        if self.latest.len() > self.settings.averaged {
            self.latest.pop_front();
        }
        if self.latest.len() < self.settings.averaged {
            return None;
        }
        let rate = self.latest.iter().sum::<f64>() / self.latest.len() as f64;
        let at_limit = rate > NEAR_HIGHEST * self.settings.limit_rate;
        if self.settings.adapts {
            self.adapt(rate);
        }
        Some(Estimate { rate, at_limit })
    }

    /// Moves the rates when the estimates lie at one of their ends.
    fn adapt(&mut self, rate: f64) {
        let Some((&lowest, &highest)) = self.chirp.rates().first().zip(self.chirp.rates().last())
        else {
            return;
        };
        self.low_in_a_row = if rate < NEAR_LOWEST * lowest { self.low_in_a_row + 1 } else { 0 };
        let could_go_on = highest < self.settings.limit_rate;
        self.high_in_a_row =
            if rate > NEAR_HIGHEST * highest && could_go_on { self.high_in_a_row + 1 } else { 0 };
        if self.low_in_a_row >= IN_A_ROW {
            self.move_around(lowest);
        } else if self.high_in_a_row >= IN_A_ROW {
            self.move_around(highest);
        }
    }

    fn move_around(&mut self, centre: f64) {
        let factor = if centre < SLOW { RANGE_FACTOR_SLOW } else { RANGE_FACTOR };
        let highest = (centre * factor).min(self.settings.limit_rate);
        let lowest = centre / factor;
        self.chirp =
            Chirp::new(self.settings.payload, lowest, highest, self.settings.spread_factor);
        self.mean_rate = self
            .settings
            .mean_rate
            .clamp(MEAN_OF_LOWEST.0 * lowest, MEAN_OF_LOWEST.1 * lowest)
            .clamp(MEAN.0, MEAN.1);
        self.latest.clear();
        (self.low_in_a_row, self.high_in_a_row) = (0, 0);
    }
}
