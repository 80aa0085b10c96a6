//! What the bytes of a stretch of time look like, on average, in Poisson traffic.

use trustbed_units::Span;

use crate::{PoissonDescription, PoissonMode};

/// The bytes of one stretch of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Their mean.
    pub mean_bytes: f64,
    /// Their variance, in bytes².
    pub variance: f64,
    /// The energy of octaves of that width in the wavelet energy plot: the binary logarithm of the
    /// variance, for traffic without memory.
    pub energy_log2: f64,
    /// Standard deviation over mean.
    pub coefficient_of_variation: f64,
}

impl PoissonDescription {
    /// What the model promises for a stretch of time. For mode `bytes` it holds from the unit on;
    /// below, packets are spaced evenly.
    ///
    /// ```
    /// use trustbed_traffic::{PoissonDescription, PoissonMode};
    /// use trustbed_units::Span;
    /// let packets: PoissonDescription =
    ///     serde_json::from_str(r#"{"rate_bits_per_second": 3300000}"#).unwrap();
    /// let bytes = PoissonDescription { mode: PoissonMode::Bytes, ..packets.clone() };
    /// let variation = |model: &PoissonDescription| {
    ///     model.level(Span::from_millis(1)).coefficient_of_variation
    /// };
    /// assert_eq!(format!("{:.3} {:.3}", variation(&packets), variation(&bytes)), "1.907 0.049");
    /// ```
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn level(&self, stretch: Span) -> Level {
        let mean_bytes = self.rate_bits_per_second as f64 / 8.0 * stretch.as_secs_f64();
        let at_once = match self.mode {
            PoissonMode::Packets => f64::from(self.packet_bytes),
            PoissonMode::Bytes => 1.0,
        };
        let variance = at_once * mean_bytes;
        Level {
            mean_bytes,
            variance,
            energy_log2: variance.log2(),
            coefficient_of_variation: variance.sqrt() / mean_bytes,
        }
    }
}
