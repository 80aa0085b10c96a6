//! The retransmission timer that the sender could have computed (RFC 6298), in three readings.

use trustbed_units::Span;

/// Smoothed round-trip time and its variation, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rto {
    smoothed: Option<(f64, f64)>,
    back_off: u32,
    margin: Option<f64>,
}

/// The timer in three readings, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RtoValues {
    /// No lower limit, granularity 1 ms: what a plot against the RTT needs.
    pub raw: f64,
    /// Lower limit 1 s (RFC 6298).
    pub rfc: f64,
    /// Lower limit of the variation term 200 ms (Linux).
    pub linux: f64,
}

const SECOND: f64 = 1e9;
const GRANULARITY: f64 = 1e6;
const LINUX_VARIATION: f64 = 200e6;
const LONGEST: f64 = 60.0 * SECOND;

impl Rto {
    /// Enters a round-trip time.
    pub fn on_sample(&mut self, rtt: Span) {
        let rtt = rtt.as_f64();
        if self.smoothed.is_some() {
            let margin = self.values().raw - rtt;
            self.margin = Some(self.margin.map_or(margin, |m| m.min(margin)));
        }
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2.0),
            Some((srtt, var)) => {
                (0.875 * srtt + 0.125 * rtt, 0.75 * var + 0.25 * (srtt - rtt).abs())
            }
        });
        self.back_off = 0;
    }

    /// The timer expired: it doubles until the next valid sample.
    pub fn on_timeout(&mut self) {
        self.back_off = (self.back_off + 1).min(16);
    }

    /// The smoothed round-trip time.
    #[expect(clippy::cast_possible_truncation, reason = "nanoseconds of a round trip")]
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|(srtt, _)| Span(srtt as i64))
    }

    /// The smoothed round-trip time and its variation, in nanoseconds.
    pub fn smoothed(&self) -> Option<(f64, f64)> {
        self.smoothed
    }

    /// The timer now; 1 s before any sample.
    pub fn values(&self) -> RtoValues {
        let factor = f64::from(1_u32 << self.back_off);
        let Some((srtt, var)) = self.smoothed else {
            let first = (SECOND * factor).min(LONGEST);
            return RtoValues { raw: first, rfc: first, linux: first };
        };
        let base = srtt + GRANULARITY.max(4.0 * var);
        RtoValues {
            raw: (base * factor).min(LONGEST),
            rfc: (base.max(SECOND) * factor).min(LONGEST),
            linux: ((srtt + LINUX_VARIATION.max(4.0 * var)) * factor).min(LONGEST),
        }
    }

    /// The smallest distance between the raw timer before a sample and that sample, in nanoseconds:
    /// positive means that no round trip was long enough to fire it.
    pub fn margin(&self) -> Option<f64> {
        self.margin
    }
}
