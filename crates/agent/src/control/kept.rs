//! What was said over a way that may be lost: kept until the other side has it, so that it can be said again over the next way.
//!
//! Both sides count the frames that came whole. The first frame on a way says how many those are (`resume`), and what lies behind them is sent
//! again; in between, every so often, the same number lets the other side forget what it keeps (`kept`). Neither of the two is counted.
//!
//! Bias: what has come is not yet what was read: a frame counts when it is here, and the streams' windows bound how much that can be.

use std::collections::VecDeque;

/// After so many frames the other side is told that they have come.
pub(super) const EVERY: u64 = 16;

/// Frames that the other side may not have.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The number of the first, from 0 on.
    first: u64,
    frames: VecDeque<Vec<u8>>,
}

impl Kept {
    /// One more was said.
    pub(super) fn push(&mut self, frame: Vec<u8>) {
        self.frames.push_back(frame);
    }

    /// The other side has so many from the first one on. False if that cannot be.
    pub(super) fn forget(&mut self, count: u64) -> bool {
        let Some(more) = count
            .checked_sub(self.first)
            .and_then(|more| usize::try_from(more).ok())
            .filter(|more| *more <= self.frames.len())
        else {
            return false;
        };
        self.frames.drain(..more);
        self.first = count;
        true
    }

    /// What the other side may not have, in order.
    pub(super) fn rest(&self) -> impl Iterator<Item = &[u8]> {
        self.frames.iter().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_is_forgotten_and_the_rest_is_said_again_in_order() {
        let mut kept = Kept::default();
        for frame in [b"a", b"b", b"c"] {
            kept.push(frame.to_vec());
        }
        assert!(kept.forget(1));
        assert!(kept.forget(1));
        assert_eq!(kept.rest().collect::<Vec<_>>(), [b"b", b"c"]);
        assert!(kept.forget(3));
        assert_eq!(kept.rest().count(), 0);
    }

    #[test]
    fn what_was_never_said_cannot_have_come_nor_can_it_come_back() {
        let mut kept = Kept::default();
        kept.push(b"a".to_vec());
        assert!(!kept.forget(2));
        assert!(kept.forget(1));
        assert!(!kept.forget(0));
    }
}
