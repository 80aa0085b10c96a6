//! Random numbers that are the same in every run and on every machine: one generator per source,
//! from its seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The generator of a source.
pub(crate) fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// The generator of one purpose of a source, whose draws do not depend on those of another.
pub(crate) fn generator_of(seed: u64, purpose: u64) -> ChaCha8Rng {
    let mut generator = generator(seed);
    generator.set_stream(purpose);
    generator
}

/// 0 … `bound` − 1; 0 when the bound is 0. Some values are likelier than others by 2⁻⁶⁴ · `bound`.
pub(crate) fn below(generator: &mut ChaCha8Rng, bound: u64) -> u64 {
    ((u128::from(generator.next_u64()) * u128::from(bound)) >> 64) as u64
}
