//! What comes twice. The copy is made on the wire and comes right behind its original: it takes no
//! rate, and is lost only with it.

use rand_chacha::ChaCha8Rng;

use crate::check::probability;
use crate::{DuplicateDescription, EmulateError, random};

/// Decides for one packet after another.
#[derive(Debug, Clone)]
pub(crate) struct Duplicate {
    probability: f64,
    random: ChaCha8Rng,
}

impl Duplicate {
    pub(crate) fn new(
        description: DuplicateDescription,
        random: ChaCha8Rng,
        location: &str,
    ) -> Result<Self, EmulateError> {
        probability(description.probability, || format!("{location}: duplicate.probability"))?;
        Ok(Self { probability: description.probability, random })
    }

    /// Whether the next packet comes twice.
    pub(crate) fn next(&mut self) -> bool {
        random::happens(&mut self.random, self.probability)
    }
}
