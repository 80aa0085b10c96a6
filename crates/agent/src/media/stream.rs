//! What a stream consists of: its frames, and the parts of each. Pure.

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use super::packet::HEADER;
use crate::session::Failure;

/// The most payload of a packet.
const MOST_PAYLOAD: u64 = 1400;
const SECOND: u64 = 1_000_000_000;
const MOST_RATE: u64 = 1_000_000_000;
const MOST_FRAMES_PER_SECOND: u32 = 1000;
/// Parts of all frames; each takes a byte of memory at the client.
const MOST_PARTS: u64 = 1 << 26;

/// Frames of a constant rate: frame `f` is sent `f / frames_per_second` after the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stream {
    /// Of the payload, headers included.
    pub(super) rate_bits_per_second: u64,
    pub(super) frames_per_second: u32,
    pub(super) frames: u32,
}

/// A part of a frame. Ordered as they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Part {
    pub(super) frame: u32,
    pub(super) part: u16,
}

impl Stream {
    /// Refuses a stream that cannot be sent.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let refused = |key: &str, value: u64, least: u64, most: u64| {
            Failure::configuration(
                format!("{key}: {value} is out of range"),
                format!("give from {least} to {most}"),
            )
        };
        let fps = u64::from(self.frames_per_second);
        let most = u64::from(MOST_FRAMES_PER_SECOND);
        if fps == 0 || fps > most {
            return Err(refused("frames_per_second", fps, 1, most));
        }
        let least = 8 * HEADER as u64 * fps;
        if self.rate_bits_per_second < least || self.rate_bits_per_second > MOST_RATE {
            let rate = self.rate_bits_per_second;
            return Err(refused("rate_bits_per_second", rate, least, MOST_RATE));
        }
        let most_frames = MOST_PARTS / u64::from(self.parts(0).saturating_add(1));
        if self.frames == 0 || u64::from(self.frames) > most_frames {
            return Err(refused("frames", u64::from(self.frames), 1, most_frames));
        }
        Ok(())
    }

    /// When a frame is sent, after the first.
    pub(super) fn due(&self, frame: u32) -> Span {
        let nanoseconds = u64::from(frame) * SECOND / u64::from(self.frames_per_second.max(1));
        Span(i64::try_from(nanoseconds).unwrap_or(i64::MAX))
    }

    /// How long it lasts.
    pub(super) fn length(&self) -> Span {
        self.due(self.frames)
    }

    /// Bytes of a frame, so that the rate holds over any number of frames.
    pub(super) fn frame_bytes(&self, frame: u32) -> u64 {
        let until = |frames: u64| {
            frames * self.rate_bits_per_second / (8 * u64::from(self.frames_per_second.max(1)))
        };
        until(u64::from(frame) + 1) - until(u64::from(frame))
    }

    /// Parts of a frame.
    pub(super) fn parts(&self, frame: u32) -> u16 {
        u16::try_from(self.frame_bytes(frame).div_ceil(MOST_PAYLOAD).max(1)).unwrap_or(u16::MAX)
    }

    /// Payload of a part: as much as a packet carries, and the rest in the last one, which is long
    /// enough for its header.
    pub(super) fn part_bytes(&self, at: Part) -> usize {
        let (bytes, parts) = (self.frame_bytes(at.frame), u64::from(self.parts(at.frame)));
        let rest = bytes - (parts - 1) * MOST_PAYLOAD;
        let moved = (HEADER as u64).saturating_sub(rest);
        let here = if u64::from(at.part) + 1 == parts {
            rest + moved
        } else if u64::from(at.part) + 2 == parts {
            MOST_PAYLOAD - moved
        } else {
            MOST_PAYLOAD
        };
        usize::try_from(here).unwrap_or(usize::MAX)
    }

    /// Whether there is such a part.
    pub(super) fn has(&self, at: Part) -> bool {
        at.frame < self.frames && at.part < self.parts(at.frame)
    }

    /// The part behind another.
    pub(super) fn next(&self, at: Part) -> Part {
        if at.part + 1 < self.parts(at.frame) {
            Part { part: at.part + 1, ..at }
        } else {
            Part { frame: at.frame + 1, part: 0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: Stream =
        Stream { rate_bits_per_second: 450_000, frames_per_second: 30, frames: 1860 };

    /// `computed.stream_shape` of `tests/golden/media_http.json`.
    #[test]
    fn the_stream_of_the_study_has_frames_of_1400_and_475_bytes() {
        let mut bytes = 0;
        for frame in 0..STUDY.frames {
            assert_eq!((STUDY.frame_bytes(frame), STUDY.parts(frame)), (1875, 2));
            let parts = [0, 1].map(|part| STUDY.part_bytes(Part { frame, part }));
            assert_eq!(parts, [1400, 475]);
            bytes += parts.iter().sum::<usize>();
        }
        assert_eq!((bytes, STUDY.length()), (3_487_500, Span::from_secs(62)));
        assert_eq!(STUDY.due(45), Span::from_millis(1500));
        assert!(STUDY.check().is_ok());
    }

    #[test]
    fn parts_make_frames_and_frames_the_rate() {
        for (rate, fps) in [(450_001, 30), (336_000, 30), (341_000, 30), (8_000_000, 24)] {
            let stream =
                Stream { rate_bits_per_second: rate, frames_per_second: fps, frames: 10 * fps };
            assert!(stream.check().is_ok());
            let (mut at, mut bytes) = (Part::default(), 0);
            while stream.has(at) {
                let here = stream.part_bytes(at);
                assert!((HEADER..=1400).contains(&here), "{rate}: {here}");
                bytes += here as u64;
                at = stream.next(at);
            }
            assert_eq!((bytes, at), (10 * rate / 8, Part { frame: 10 * fps, part: 0 }));
        }
    }

    #[test]
    fn a_frame_has_room_for_its_header() {
        let refused = [
            Stream { frames_per_second: 0, ..STUDY },
            Stream { rate_bits_per_second: 5759, ..STUDY },
            Stream { rate_bits_per_second: 2_000_000_000, ..STUDY },
            Stream { frames: 0, ..STUDY },
            Stream { frames: u32::MAX, ..STUDY },
        ];
        for stream in refused {
            assert!(stream.check().is_err(), "{stream:?}");
        }
        assert!(Stream { rate_bits_per_second: 5760, ..STUDY }.check().is_ok());
    }
}
