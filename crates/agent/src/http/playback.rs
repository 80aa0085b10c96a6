//! The buffer of a player that fetches chunks: what is left to play, and when it ran dry. Pure.
//!
//! A player begins with its first chunk, plays what it has, stops when nothing is left, and goes on
//! with the next chunk.

use trustbed_units::Span;

/// A player. Times are since any one moment, and do not go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Playback {
    /// What is left to play.
    left: Span,
    /// When that was so.
    at: Span,
    begun: bool,
    /// Time without anything to play, since playing began.
    stalled: Span,
}

impl Playback {
    /// Time has passed.
    pub(super) fn advance(&mut self, now: Span) {
        let passed = now - self.at;
        self.at = now;
        if self.begun {
            let played = passed.min(self.left);
            self.left -= played;
            self.stalled += passed - played;
        }
    }

    /// A chunk is complete. Playing begins with the first.
    pub(super) fn on_chunk(&mut self, length: Span, now: Span) {
        self.advance(now);
        self.begun = true;
        self.left += length;
    }

    /// What is left to play, at the time of the last call.
    pub(super) fn left(&self) -> Span {
        self.left
    }

    /// The total time without anything to play, up to the last call.
    pub(super) fn stalled(&self) -> Span {
        self.stalled
    }

    /// How long to wait until a chunk fits into a buffer.
    pub(super) fn wait_for_room(&self, length: Span, buffer: Span) -> Span {
        (self.left + length - buffer).max(Span::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: i64) -> Span {
        Span::from_secs(seconds)
    }

    #[test]
    fn a_player_stalls_until_the_next_chunk() {
        let mut playback = Playback::default();
        playback.advance(s(3));
        // Nothing was to be played yet.
        assert_eq!((playback.left(), playback.stalled()), (s(0), s(0)));
        playback.on_chunk(s(4), s(5));
        playback.advance(s(7));
        assert_eq!((playback.left(), playback.stalled()), (s(2), s(0)));
        // It runs dry at 9 s, and goes on at 12 s.
        playback.on_chunk(s(4), s(12));
        assert_eq!((playback.left(), playback.stalled()), (s(4), s(3)));
        playback.on_chunk(s(4), s(14));
        assert_eq!((playback.left(), playback.stalled()), (s(6), s(3)));
    }

    #[test]
    fn a_chunk_waits_until_there_is_room() {
        let mut playback = Playback::default();
        assert_eq!(playback.wait_for_room(s(4), s(10)), s(0));
        playback.on_chunk(s(4), s(1));
        playback.on_chunk(s(4), s(1));
        assert_eq!(playback.wait_for_room(s(4), s(10)), s(2));
        playback.advance(s(3));
        assert_eq!(playback.wait_for_room(s(4), s(10)), s(0));
    }
}
