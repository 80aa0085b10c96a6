//! Finding the next record where the one before it is invalid.
//!
//! An offset is accepted when several record headers follow one another from there: three within a
//! day of the last known time, five otherwise, fewer when the last of them ends exactly with the
//! file. Bias: a capture of a transfer of capture files holds such chains in its payload; after
//! damage, the reader can take one of those for its own.

use super::header::{LARGEST_USUAL, RecordHeader};
use crate::hit::Hit;

/// What the headers of this file look like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern {
    pub(super) header_length: usize,
    pub(super) units: u32,
    pub(super) exchanged: bool,
    pub(super) either: bool,
    /// Seconds of the last record that was accepted.
    pub(super) near: Option<u32>,
}

const CHAIN_NEAR: usize = 3;
const CHAIN_FAR: usize = 5;
const DAY_SECONDS: u32 = 86_400;

/// Bytes of a frame on the wire above which a header is not plausible: four times the largest
/// offloaded packet.
const LARGEST_ORIGINAL: u32 = 2 * 1024 * 1024;

impl Pattern {
    /// How many bytes from an offset may have to be looked at.
    pub(super) const fn reach(&self) -> usize {
        CHAIN_FAR * (self.header_length + LARGEST_USUAL as usize) + self.header_length
    }

    /// Looks for the first plausible offset in `from..to`.
    pub(super) fn find<const BIG: bool>(
        &self,
        window: &[u8],
        from: usize,
        to: usize,
        complete: bool,
    ) -> Hit {
        for at in from..to.min(window.len()) {
            match self.chain::<BIG>(window, at, complete) {
                Chain::Holds => return Hit::At(at),
                Chain::Breaks => {}
                Chain::Reaches(end) => return Hit::NeedMore { from: at, length: end - at },
            }
        }
        if to <= window.len() || complete {
            Hit::Nowhere
        } else {
            Hit::NeedMore { from: window.len().max(from), length: self.header_length }
        }
    }

    fn chain<const BIG: bool>(&self, window: &[u8], start: usize, complete: bool) -> Chain {
        let mut at = start;
        let mut near = true;
        for links in 0..CHAIN_FAR {
            if links >= CHAIN_NEAR && near {
                return Chain::Holds;
            }
            if complete && at == window.len() && links > 0 && near {
                return Chain::Holds;
            }
            let Some(header) = RecordHeader::load::<BIG>(window, at, self.exchanged) else {
                return self.at_the_edge(links, complete, at);
            };
            let Some(captured) = self.plausible(header) else { return Chain::Breaks };
            near &= self.is_near(header);
            at += self.header_length + captured as usize;
            if at > window.len() {
                return self.at_the_edge(links, complete, at);
            }
        }
        Chain::Holds
    }

    /// A chain that the window cuts: open, or, at the end of the file, accepted when it has
    /// two whole links.
    fn at_the_edge(&self, links: usize, complete: bool, at: usize) -> Chain {
        match (complete, links) {
            (false, _) => Chain::Reaches(at + self.header_length),
            (true, 2..) => Chain::Holds,
            (true, _) => Chain::Breaks,
        }
    }

    /// The captured length of a header that looks like one.
    fn plausible(&self, header: RecordHeader) -> Option<u32> {
        let RecordHeader { mut captured, mut original, fraction, .. } = header;
        if self.either && captured > original {
            (captured, original) = (original, captured);
        }
        let lengths = (1..=LARGEST_USUAL).contains(&captured)
            && (captured..=LARGEST_ORIGINAL).contains(&original);
        (lengths && fraction < self.units).then_some(captured)
    }

    fn is_near(&self, header: RecordHeader) -> bool {
        self.near.is_none_or(|near| header.seconds.abs_diff(near) <= DAY_SECONDS)
    }
}

enum Chain {
    Holds,
    Breaks,
    /// The window would have to reach this far.
    Reaches(usize),
}
