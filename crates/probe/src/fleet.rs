//! A fleet: several streams at one rate, and their combined result.

use crate::{Sighting, Stream, StreamLimits, Thresholds, Trend, TrendMetrics};

/// When streams agree, and when losses speak instead of delays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FleetRules {
    /// From this share of the usable streams on a trend is the fleet's: 0.6, in the paper 0.7.
    pub majority: f64,
    /// What counts as rising.
    pub thresholds: Thresholds,
    /// A stream that lost this share of its packets means that the rate was too high.
    pub heavy_loss: f64,
    /// From here on a stream's loss is medium; half of the streams with medium loss mean that the
    /// rate was too high.
    pub medium_loss: f64,
}

impl Default for FleetRules {
    fn default() -> Self {
        Self {
            majority: 0.6,
            thresholds: Thresholds::default(),
            heavy_loss: 0.15,
            medium_loss: 0.03,
        }
    }
}

/// The result of a fleet at its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetTrend {
    /// Above what was available.
    Increasing,
    /// Below.
    NoTrend,
    /// Sometimes above, sometimes below.
    Grey,
}

/// What is known of a fleet while its streams come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    /// It goes on.
    Open,
    /// Losses mean that the rate was too high; the other streams need not be sent.
    Lossy,
}

/// The streams of one rate that were received.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fleet {
    trends: Vec<Option<Trend>>,
    streams: usize,
    rates: Vec<f64>,
    medium: usize,
    lossy: bool,
}

impl Fleet {
    /// A stream came, or what is left of it. `streams` is how many the fleet will have.
    pub(crate) fn on_stream(
        &mut self,
        stream: &Stream,
        seen: &[Sighting],
        limits: &StreamLimits,
        rules: &FleetRules,
        streams: usize,
    ) -> Quality {
        let lost = Stream::lost_share(seen);
        self.streams += 1;
        self.rates.extend(stream.sent_rate(seen));
        self.medium += usize::from(lost >= rules.medium_loss);
        if lost >= rules.heavy_loss || 2 * self.medium >= streams.max(2) {
            self.lossy = true;
            return Quality::Lossy;
        }
        let parts = stream.cleaned(seen, limits);
        let found = parts
            .iter()
            .map(|part| TrendMetrics::of(part, rules.thresholds).map(|metrics| metrics.trend));
        let before = self.trends.len();
        self.trends.extend(found);
        if self.trends.len() == before {
            self.trends.push(None);
        }
        Quality::Open
    }

    /// How many streams came.
    pub(crate) const fn streams(&self) -> usize {
        self.streams
    }

    /// The mean rate at which its streams were really sent, bit/s.
    #[expect(clippy::cast_precision_loss, reason = "some dozen streams")]
    pub(crate) fn rate(&self) -> Option<f64> {
        (!self.rates.is_empty()).then(|| self.rates.iter().sum::<f64>() / self.rates.len() as f64)
    }

    /// The result; nothing where fewer than half of the streams could be used.
    pub(crate) fn trend(&self, rules: &FleetRules) -> Option<FleetTrend> {
        if self.lossy {
            return Some(FleetTrend::Increasing);
        }
        let usable: Vec<Trend> = self.trends.iter().flatten().copied().collect();
        (!usable.is_empty() && 2 * usable.len() >= self.trends.len())
            .then(|| FleetTrend::of(&usable, rules.majority))
    }
}

impl FleetTrend {
    /// The combined result of the streams, where `majority` of them decide.
    #[expect(clippy::cast_precision_loss, reason = "some dozen streams")]
    pub fn of(trends: &[Trend], majority: f64) -> Self {
        let share = |kind| {
            trends.iter().filter(|trend| **trend == kind).count() as f64
                / trends.len().max(1) as f64
        };
        if share(Trend::Increasing) >= majority {
            Self::Increasing
        } else if share(Trend::None) >= majority {
            Self::NoTrend
        } else {
            Self::Grey
        }
    }
}
