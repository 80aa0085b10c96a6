//! Seeded streams of random numbers: every part of every link has its own, so that adding a part or
//! a pipe does not move the others.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The parts that draw.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    Red,
    Loss,
    Duplicate,
    Jitter,
    Reorder,
}

/// The stream of a part of the link of this name.
pub(crate) fn stream(seed: u64, link: &str, part: Part) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // Fowler, Noll and Vo's hash (FNV-1a) of the name: the order in which pipes are described does
    // not matter.
    let name = link.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    random.set_stream((name << 3) | part as u64);
    random
}

/// Evenly from 0 (included) to 1 (excluded).
#[inline]
#[expect(clippy::cast_precision_loss, reason = "53 bits are what a float holds")]
pub(crate) fn unit(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// True with a probability; draws in any case.
#[inline]
pub(crate) fn happens(random: &mut ChaCha8Rng, probability: f64) -> bool {
    unit(random) < probability
}
