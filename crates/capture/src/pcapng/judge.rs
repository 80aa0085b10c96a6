//! The slow path: whether a block that the fast path did not take is valid.

use super::block::{
    BYTE_ORDER_MAGIC, BYTE_ORDER_MAGIC_SWAPPED, LONGEST, SECTION_HEADER, SHORTEST, TRAILER,
};
use super::order::Words;
use super::resync::{self, Plausibility};
use crate::hit::Hit;
use crate::sink::Stop;

/// What a position in the window is.
#[derive(Debug)]
pub(super) enum Judgement {
    /// A block that ends at `end`; `odd` states what is wrong with it all the same.
    Block { kind: u32, end: usize, odd: Option<String> },
    /// No block.
    Garbage(String),
    /// A block that the end of the file cuts.
    Cut(String),
    /// Nothing for now.
    Stop(Stop),
}

impl Judgement {
    /// Judges the block at a position in the window.
    #[cold]
    pub(super) fn of<const BIG: bool>(window: &[u8], position: usize, complete: bool) -> Judgement {
        let block = &window[position..];
        let (Some(kind), Some(length)) =
            (Words::<BIG>::word(block, 0), Words::<BIG>::word(block, 4))
        else {
            return Self::short(block, complete);
        };
        if kind != SECTION_HEADER {
            return Self::bounds::<BIG>(window, position, complete, kind, length);
        }
        // Of a section header, only the byte-order magic shows how to read the length.
        match Words::<false>::word(block, 8) {
            None => Self::short(block, complete),
            Some(BYTE_ORDER_MAGIC) => {
                Self::bounds::<false>(window, position, complete, kind, u32::from_le(native(block)))
            }
            Some(BYTE_ORDER_MAGIC_SWAPPED) => {
                Self::bounds::<true>(window, position, complete, kind, u32::from_be(native(block)))
            }
            Some(other) => Judgement::Garbage(format!(
                "a section header has the byte-order magic {other:#010x}, which is none"
            )),
        }
    }

    fn short(block: &[u8], complete: bool) -> Judgement {
        match (complete, block.len()) {
            (false, _) => Judgement::Stop(Stop::NeedMore(SHORTEST)),
            (true, 0) => Judgement::Stop(Stop::End),
            (true, there) => Judgement::Cut(format!(
                "the file ends within the header of a block: {there} bytes of it are there"
            )),
        }
    }

    fn bounds<const BIG: bool>(
        window: &[u8],
        position: usize,
        complete: bool,
        kind: u32,
        length: u32,
    ) -> Judgement {
        let size = length as usize;
        let rest = window.len() - position;
        if !(SHORTEST..=LONGEST).contains(&size) || !size.is_multiple_of(4) {
            return Judgement::Garbage(format!(
                "a block of type {kind:#x} states a length of {length} bytes, which cannot be"
            ));
        }
        if rest < size {
            if !complete {
                return Judgement::Stop(Stop::NeedMore(size));
            }
            // The file is cut here, unless blocks follow within what the length claims.
            if let Hit::At(_) = resync::find::<BIG>(window, position + 1, window.len(), complete) {
                return Judgement::Garbage(format!(
                    "a block of type {kind:#x} states a length of {length} bytes, but others begin \
                     within it"
                ));
            }
            return Judgement::Cut(format!(
                "the file ends within a block of type {kind:#x}: {rest} of {size} bytes are there"
            ));
        }
        let end = position + size;
        match Words::<BIG>::word(window, end - TRAILER) {
            Some(trailer) if trailer != length => {
                Self::two_lengths::<BIG>(window, position, complete, (kind, length, trailer))
            }
            _ => Judgement::Block { kind, end, odd: None },
        }
    }

    /// The lengths at the two ends of a block differ: the first one is right if it leads to another
    /// block.
    fn two_lengths<const BIG: bool>(
        window: &[u8],
        position: usize,
        complete: bool,
        (kind, length, trailer): (u32, u32, u32),
    ) -> Judgement {
        let end = position + length as usize;
        let what = format!(
            "a block of type {kind:#x} states a length of {length} bytes at its beginning and of \
             {trailer} at its end"
        );
        if end == window.len() && complete {
            return Judgement::Block { kind, end, odd: Some(what) };
        }
        match resync::plausible::<BIG>(&window[end..], complete) {
            Plausibility::Yes => Judgement::Block {
                kind,
                end,
                odd: Some(format!("{what}; the first one leads to the next block and is used")),
            },
            Plausibility::No => Judgement::Garbage(what),
            Plausibility::NeedMore(more) => Judgement::Stop(Stop::NeedMore(length as usize + more)),
        }
    }
}

/// The length field of a block, in no order yet.
fn native(block: &[u8]) -> u32 {
    block.get(4..).and_then(|rest| rest.first_chunk()).copied().map_or(0, u32::from_ne_bytes)
}
