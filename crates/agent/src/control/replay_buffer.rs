//! Frames sent over a transport that may be lost: stored until the controller has received them, so
//! that they can be sent again over the next transport.
//!
//! Both sides count the frames they have received whole. The first frame on a transport has that
//! count (`resume`), and later frames are sent again; in between, every so often, the same count
//! lets the other side discard frames (`received`). Neither of the two is counted.
//!
//! Bias: received is not yet processed: a frame counts when it has arrived, and the streams'
//! windows bound the difference.

use std::collections::VecDeque;

/// Received frames are acknowledged each so many.
pub(super) const EVERY: u64 = 16;

/// Frames that the other side may not have.
#[derive(Debug, Default)]
pub(super) struct ReplayBuffer {
    /// The number of the first, from 0 on.
    first: u64,
    frames: VecDeque<Vec<u8>>,
}

impl ReplayBuffer {
    /// Another frame was sent.
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
    fn received_frames_are_discarded_and_the_rest_is_sent_again_in_order() {
        let mut buffer = ReplayBuffer::default();
        for frame in [b"a", b"b", b"c"] {
            buffer.push(frame.to_vec());
        }
        assert!(buffer.forget(1));
        assert!(buffer.forget(1));
        assert_eq!(buffer.rest().collect::<Vec<_>>(), [b"b", b"c"]);
        assert!(buffer.forget(3));
        assert_eq!(buffer.rest().count(), 0);
    }

    #[test]
    fn a_count_beyond_the_frames_sent_or_below_an_earlier_count_is_refused() {
        let mut buffer = ReplayBuffer::default();
        buffer.push(b"a".to_vec());
        assert!(!buffer.forget(2));
        assert!(buffer.forget(1));
        assert!(!buffer.forget(0));
    }
}
