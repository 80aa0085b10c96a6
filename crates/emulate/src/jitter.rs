//! How a delay varies: distributions of mean 0.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Pareto, StandardNormal};
use trustbed_units::Span;

use crate::check::{bounded, time};
use crate::{EmulateError, JitterDescription, random};

/// A quarter and three quarters of two independent variables of deviation 1 have this deviation.
const MIXED: f64 = 0.790_569_415_042_094_8;
/// The shape of the Pareto part of `paretonormal`.
const SHAPE: f64 = 3.0;

/// Draws deviations from the mean.
#[derive(Debug, Clone)]
pub(crate) struct Jitter {
    shape: Shape,
    size: f64,
    random: ChaCha8Rng,
}

#[derive(Debug, Clone)]
enum Shape {
    Uniform,
    Normal,
    Pareto(Heavy),
    Paretonormal(Heavy),
}

/// A Pareto distribution moved and scaled to mean 0 and deviation 1.
#[derive(Debug, Clone)]
struct Heavy {
    pareto: Pareto<f64>,
    mean: f64,
    deviation: f64,
}

impl Jitter {
    /// The jitter, and whether packets keep their order.
    pub(crate) fn new(
        description: JitterDescription,
        random: ChaCha8Rng,
        location: &str,
    ) -> Result<(Self, bool), EmulateError> {
        let key = |key: &'static str| move || format!("{location}: jitter.{key}");
        let (shape, size, keep_order) = match description {
            JitterDescription::Uniform { spread_ns, keep_order } => {
                (Shape::Uniform, time(spread_ns, key("spread_ns"))?, keep_order)
            }
            JitterDescription::Normal { deviation_ns, keep_order } => {
                (Shape::Normal, time(deviation_ns, key("deviation_ns"))?, keep_order)
            }
            JitterDescription::Pareto { deviation_ns, shape, keep_order } => (
                Shape::Pareto(Heavy::new(shape, location)?),
                time(deviation_ns, key("deviation_ns"))?,
                keep_order,
            ),
            JitterDescription::Paretonormal { deviation_ns, keep_order } => (
                Shape::Paretonormal(Heavy::new(SHAPE, location)?),
                time(deviation_ns, key("deviation_ns"))?,
                keep_order,
            ),
        };
        Ok((Self { shape, size: Span(size).as_f64(), random }, keep_order))
    }

    /// The next deviation, to the nearest nanosecond.
    #[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
    pub(crate) fn next(&mut self) -> Span {
        let random = &mut self.random;
        let deviation = match &self.shape {
            Shape::Uniform => 2.0 * random::unit(random) - 1.0,
            Shape::Normal => StandardNormal.sample(random),
            Shape::Pareto(heavy) => heavy.next(random),
            Shape::Paretonormal(heavy) => {
                let normal: f64 = StandardNormal.sample(random);
                (0.25 * normal + 0.75 * heavy.next(random)) / MIXED
            }
        };
        Span((deviation * self.size).round() as i64)
    }
}

impl Heavy {
    fn new(shape: f64, location: &str) -> Result<Self, EmulateError> {
        let key = || format!("{location}: jitter.shape");
        bounded(shape, shape > 2.0, "a shape above 2; below there is no standard deviation", key)?;
        let pareto = Pareto::new(1.0, shape).map_err(|_| EmulateError::OutOfBounds {
            location: key(),
            value: shape,
            expected: "a finite shape",
        })?;
        let mean = shape / (shape - 1.0);
        let deviation = (shape / (shape - 2.0)).sqrt() / (shape - 1.0);
        Ok(Self { pareto, mean, deviation })
    }

    fn next(&self, random: &mut ChaCha8Rng) -> f64 {
        (self.pareto.sample(random) - self.mean) / self.deviation
    }
}
