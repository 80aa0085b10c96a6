//! When frames are played, as far as a client knows while the stream comes. Pure.
//!
//! Playing begins with the frame that fills the buffer, and a frame that is complete too late
//! delays all that follow by as much. A player that waits to fill its buffer again after a stall
//! plays later than this: a part may be given up too early, never too late.

use trustbed_units::Span;

use super::stream::Stream;

/// The playout times of a stream. Times are since any one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadlines {
    stream: Stream,
    /// The frame whose arrival begins the playout.
    fills: u32,
    /// When frame 0 is played, stalls included.
    first: Option<Span>,
}

impl Deadlines {
    /// Nothing has come yet. A buffer longer than the stream is filled by its last frame.
    pub(super) fn new(stream: Stream, buffer: Span) -> Self {
        let nanoseconds = i128::from(buffer.0.max(0)) * i128::from(stream.frames_per_second);
        let frames = nanoseconds.div_euclid(1_000_000_000)
            + i128::from(nanoseconds.rem_euclid(1_000_000_000) > 0);
        let fills = u32::try_from(frames - 1).unwrap_or(if frames > 0 { u32::MAX } else { 0 });
        Self { stream, fills: fills.min(stream.frames.saturating_sub(1)), first: None }
    }

    /// A frame is complete.
    pub(super) fn on_frame(&mut self, frame: u32, now: Span) {
        match self.playout(frame) {
            // Frames before may be lost; playing does not wait for them.
            None if frame >= self.fills => {
                self.first = Some(now - (self.stream.due(frame) - self.stream.due(self.fills)));
            }
            Some(due) if now > due => self.first = self.first.map(|first| first + (now - due)),
            _ => {}
        }
    }

    /// Whether playing has begun.
    pub(super) const fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    /// When a frame is played; none as long as playing has not begun.
    pub(super) fn playout(&self, frame: u32) -> Option<Span> {
        self.first.map(|first| first + self.stream.due(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: Stream =
        Stream { rate_bits_per_second: 450_000, frames_per_second: 25, frames: 100 };

    fn ms(millis: i64) -> Span {
        Span::from_millis(millis)
    }

    /// `computed.playout_160ms` of `tests/golden/media_http.json`: frame 4 is due at 270 ms.
    #[test]
    fn playing_begins_when_the_buffer_is_full() {
        let mut deadlines = Deadlines::new(STREAM, ms(160));
        for (frame, at) in [(0, 0), (1, 40), (2, 70)] {
            deadlines.on_frame(frame, ms(at));
            assert_eq!(deadlines.playout(0), None);
        }
        deadlines.on_frame(3, ms(110));
        assert_eq!(deadlines.playout(4), Some(ms(270)));
        deadlines.on_frame(4, ms(400));
        assert_eq!(deadlines.playout(5), Some(ms(440)));
    }

    #[test]
    fn without_a_buffer_the_first_frame_is_played_at_once() {
        let mut deadlines = Deadlines::new(STREAM, Span::ZERO);
        deadlines.on_frame(0, ms(7));
        assert_eq!(deadlines.playout(1), Some(ms(47)));
    }

    #[test]
    fn a_lost_frame_does_not_hold_up_the_beginning() {
        let mut deadlines = Deadlines::new(STREAM, ms(160));
        deadlines.on_frame(5, ms(200));
        assert_eq!(deadlines.playout(0), Some(ms(120)));
    }

    #[test]
    fn a_buffer_is_no_longer_than_the_stream() {
        let mut deadlines = Deadlines::new(STREAM, Span::from_secs(60));
        deadlines.on_frame(98, ms(4000));
        assert_eq!(deadlines.playout(0), None);
        deadlines.on_frame(99, ms(4040));
        assert_eq!(deadlines.playout(0), Some(ms(4040)));
    }
}
