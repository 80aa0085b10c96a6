//! Finding the next block where one cannot be believed.
//!
//! A block states its length at both ends. A known type, a possible length and an equal length at
//! the other end are enough: damage fakes that once in 2³² offsets. Bias: a capture of a transfer
//! of capture files holds blocks in its payload; after damage, the reader can take one of those for
//! its own.

use super::block;
use super::order::Words;
use crate::hit::Hit;

/// A search does not believe in longer blocks, so that it need not hold more than this.
const LARGEST_SOUGHT: usize = 1024 * 1024;

/// Looks for the first believable block in `from..to`.
pub(super) fn find<const BIG: bool>(window: &[u8], from: usize, to: usize, complete: bool) -> Hit {
    for at in from..to.min(window.len()) {
        match believable::<BIG>(&window[at..], complete) {
            Belief::Yes => return Hit::At(at),
            Belief::No => {}
            Belief::NeedMore(length) => return Hit::NeedMore { from: at, length },
        }
    }
    if to <= window.len() || complete {
        Hit::Nowhere
    } else {
        Hit::NeedMore { from: window.len().max(from), length: block::SHORTEST }
    }
}

/// Whether a block of a known type begins here, as far as its two lengths show.
pub(super) enum Belief {
    Yes,
    No,
    NeedMore(usize),
}

pub(super) fn believable<const BIG: bool>(bytes: &[u8], complete: bool) -> Belief {
    let missing = |length: usize| if complete { Belief::No } else { Belief::NeedMore(length) };
    let (Some(kind), Some(length)) = (Words::<BIG>::word(bytes, 0), Words::<BIG>::word(bytes, 4))
    else {
        return missing(block::SHORTEST);
    };
    if kind == block::SECTION_HEADER {
        let Some(order) = Words::<false>::word(bytes, 8) else { return missing(block::SHORTEST) };
        return match order {
            block::BYTE_ORDER_MAGIC => bounded::<false>(bytes, complete),
            block::BYTE_ORDER_MAGIC_SWAPPED => bounded::<true>(bytes, complete),
            _ => Belief::No,
        };
    }
    if !block::is_known(kind) || length as usize > LARGEST_SOUGHT {
        return Belief::No;
    }
    bounded::<BIG>(bytes, complete)
}

/// Whether the length at the end of the block is the length at its beginning.
fn bounded<const BIG: bool>(bytes: &[u8], complete: bool) -> Belief {
    let Some(length) = Words::<BIG>::word(bytes, 4) else { return Belief::No };
    let size = length as usize;
    if !(block::SHORTEST..=LARGEST_SOUGHT).contains(&size) || !size.is_multiple_of(4) {
        return Belief::No;
    }
    match Words::<BIG>::word(bytes, size - 4) {
        Some(trailer) if trailer == length => Belief::Yes,
        Some(_) => Belief::No,
        None if complete => Belief::No,
        None => Belief::NeedMore(size),
    }
}
