//! What is held back, so that others overtake it. Nothing is lost by it, and where nothing follows
//! within the time nothing is reordered.

use rand_chacha::ChaCha8Rng;
use trustbed_units::Span;

use crate::check::{probability, time};
use crate::{EmulateError, ReorderDescription, random};

/// Decides for one packet after another.
#[derive(Debug, Clone)]
pub(crate) struct Reorder {
    probability: f64,
    held: Span,
    random: ChaCha8Rng,
}

impl Reorder {
    pub(crate) fn new(
        description: ReorderDescription,
        random: ChaCha8Rng,
        location: &str,
    ) -> Result<Self, EmulateError> {
        probability(description.probability, || format!("{location}: reorder.probability"))?;
        let held = time(description.held_ns, || format!("{location}: reorder.held_ns"))?;
        Ok(Self { probability: description.probability, held: Span(held), random })
    }

    /// For how long the next packet is held back.
    pub(crate) fn next(&mut self) -> Span {
        if random::happens(&mut self.random, self.probability) { self.held } else { Span::ZERO }
    }
}
