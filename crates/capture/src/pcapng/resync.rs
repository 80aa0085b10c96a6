//! Finding the next block where one is invalid.
//!
//! A block states its length at both ends. A known type, a possible length and an equal length at
//! the other end are enough: damage fakes that once in 2³² offsets. Bias: a capture of a transfer
//! of capture files holds blocks in its payload; after damage, the reader can take one of those for
//! its own.

use super::block;
use super::order::Words;
use crate::hit::Hit;

/// A search does not accept longer blocks, so that it need not hold more than this.
const LARGEST_SOUGHT: usize = 1024 * 1024;

/// Looks for the first plausible block in `from..to`.
pub(super) fn find<const BIG: bool>(window: &[u8], from: usize, to: usize, complete: bool) -> Hit {
    for at in from..to.min(window.len()) {
        match plausible::<BIG>(&window[at..], complete) {
            Plausibility::Yes => return Hit::At(at),
            Plausibility::No => {}
            Plausibility::NeedMore(length) => return Hit::NeedMore { from: at, length },
        }
    }
    if to <= window.len() || complete {
        Hit::Nowhere
    } else {
        Hit::NeedMore { from: window.len().max(from), length: block::SHORTEST }
    }
}

/// Whether a block of a known type begins here, as far as its two lengths show.
pub(super) enum Plausibility {
    Yes,
    No,
    NeedMore(usize),
}

pub(super) fn plausible<const BIG: bool>(bytes: &[u8], complete: bool) -> Plausibility {
    let missing =
        |length: usize| if complete { Plausibility::No } else { Plausibility::NeedMore(length) };
    let (Some(kind), Some(length)) = (Words::<BIG>::word(bytes, 0), Words::<BIG>::word(bytes, 4))
    else {
        return missing(block::SHORTEST);
    };
    if kind == block::SECTION_HEADER {
        let Some(order) = Words::<false>::word(bytes, 8) else { return missing(block::SHORTEST) };
        return match order {
            block::BYTE_ORDER_MAGIC => bounded::<false>(bytes, complete),
            block::BYTE_ORDER_MAGIC_SWAPPED => bounded::<true>(bytes, complete),
            _ => Plausibility::No,
        };
    }
    if !block::is_known(kind) || length as usize > LARGEST_SOUGHT {
        return Plausibility::No;
    }
    bounded::<BIG>(bytes, complete)
}

/// Whether the length at the end of the block is the length at its beginning.
fn bounded<const BIG: bool>(bytes: &[u8], complete: bool) -> Plausibility {
    let Some(length) = Words::<BIG>::word(bytes, 4) else { return Plausibility::No };
    let size = length as usize;
    if !(block::SHORTEST..=LARGEST_SOUGHT).contains(&size) || !size.is_multiple_of(4) {
        return Plausibility::No;
    }
    match Words::<BIG>::word(bytes, size - 4) {
        Some(trailer) if trailer == length => Plausibility::Yes,
        Some(_) => Plausibility::No,
        None if complete => Plausibility::No,
        None => Plausibility::NeedMore(size),
    }
}
