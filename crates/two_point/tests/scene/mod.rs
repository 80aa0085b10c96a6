//! A connection between two capture points, made up: what either saw of it, by its own clock, and
//! what is true of it.
#![allow(dead_code, reason = "every test file uses its own part")]

use trustbed_flow::FlowKey;
use trustbed_two_point::{Capture, Direction, Frame, Join, JoinLimits, Match, Relation, Sketch};
use trustbed_units::{Ns, Span};

pub(crate) const MS: i64 = 1_000_000;
pub(crate) const S: i64 = 1_000_000_000;
/// Bytes of a data frame.
pub(crate) const PAYLOAD: u32 = 1000;

/// What happens to a data frame in transit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It takes so long, in nanoseconds.
    Takes(i64),
    /// It is lost behind the first point, and sent again after this long.
    Lost(i64),
    /// It is not in the first capture, and takes so long.
    Missed(i64),
}

/// The clock of the second point against the first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) ahead: i64,
    pub(crate) skew: f64,
}

impl Clock {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "nanoseconds of hours"
    )]
    pub(crate) fn read(self, at: i64) -> Ns {
        Ns(at + self.ahead + (self.skew * at as f64).round() as i64)
    }
}

/// When the client sends, and how long it takes until it is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    pub(crate) key: FlowKey,
    pub(crate) begin: i64,
    pub(crate) every: i64,
    /// From a frame's arrival to its acknowledgement.
    pub(crate) turnaround: i64,
    /// How long that takes in transit.
    pub(crate) back: i64,
}

impl Default for Client {
    fn default() -> Self {
        Self { key: key(40_000), begin: S, every: 2 * MS, turnaround: 50_000, back: 10 * MS }
    }
}

/// What either point saw.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    pub(crate) seen: [Vec<Frame>; 2],
    pub(crate) number: u64,
}

pub(crate) fn key(port: u16) -> FlowKey {
    FlowKey { low: [1; 16], high: [2; 16], low_port: port, high_port: 80, protocol: 6 }
}

/// From the lower endpoint, which is near the first point.
pub(crate) fn frame(key: FlowKey, direction: usize, number: u64) -> Frame {
    Frame {
        at: Ns(0),
        fingerprint: fingerprint(number),
        key,
        direction,
        seq: 0,
        ack: None,
        payload: 0,
        length: 0,
        opens: false,
    }
}

/// A number that looks like any other.
pub(crate) fn fingerprint(number: u64) -> u64 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

impl Scene {
    /// A connection whose client sends frames, each of which is acknowledged.
    pub(crate) fn transfer(&mut self, client: Client, fates: &[Fate], clock: Clock) {
        let Client { key, begin, every, turnaround, back } = client;
        let mut at = begin;
        for (index, fate) in fates.iter().enumerate() {
            let seq = u32::try_from(index).unwrap_or(0).wrapping_mul(PAYLOAD);
            let (left, taken) = match *fate {
                Fate::Takes(taken) | Fate::Missed(taken) => (at, taken),
                Fate::Lost(after) => {
                    let lost = self.frame(key, 0, seq, PAYLOAD);
                    self.seen[0].push(Frame { at: Ns(at), ..lost });
                    (at + after, 10 * MS)
                }
            };
            let data = self.frame(key, 0, seq, PAYLOAD);
            if !matches!(fate, Fate::Missed(_)) {
                self.seen[0].push(Frame { at: Ns(left), ..data });
            }
            self.seen[1].push(Frame { at: clock.read(left + taken), ..data });
            let answer = Frame { ack: Some(seq.wrapping_add(PAYLOAD)), ..self.frame(key, 1, 7, 0) };
            self.seen[1].push(Frame { at: clock.read(left + taken + turnaround), ..answer });
            self.seen[0].push(Frame { at: Ns(left + taken + turnaround + back), ..answer });
            at += every;
        }
    }

    fn frame(&mut self, key: FlowKey, direction: usize, seq: u32, payload: u32) -> Frame {
        self.number += 1;
        Frame { seq, payload, length: payload, ..frame(key, direction, self.number) }
    }

    /// Each capture is in the order of its own clock.
    pub(crate) fn sorted(mut self) -> Self {
        for frames in &mut self.seen {
            frames.sort_by_key(|frame| frame.at);
        }
        self
    }

    pub(crate) fn relation(&self) -> Result<Relation, trustbed_two_point::RelationError> {
        Relation::of(&self.matches())
    }

    /// The same, where it is known by how much the second clock is ahead.
    pub(crate) fn stated(
        &self,
        ahead: Span,
    ) -> Result<Relation, trustbed_two_point::RelationError> {
        Relation::stated(&self.matches(), ahead)
    }

    fn matches(&self) -> Vec<Match> {
        let [first, second] = self.seen.each_ref().map(|frames| {
            let mut sketch = Sketch::default();
            for frame in frames {
                sketch.on_frame(frame);
            }
            sketch
        });
        first.matches(&second)
    }

    pub(crate) fn join(&self, relation: Relation, limits: &JoinLimits) -> (Join, Vec<Direction>) {
        let mut all: Vec<(Capture, Frame)> = Vec::new();
        for (end, frames) in [Capture::First, Capture::Second].into_iter().zip(&self.seen) {
            all.extend(frames.iter().map(|frame| (end, *frame)));
        }
        all.sort_by_key(|(end, frame)| relation.by_first(*end, frame.at));
        let mut join = Join::new(relation, limits);
        let mut left = self.seen.each_ref().map(Vec::len);
        for (end, frame) in &all {
            join.on_frame(*end, frame);
            left[end.index()] -= 1;
            if left[end.index()] == 0 {
                join.on_end(*end);
            }
        }
        let two_point = join.finish();
        (join, two_point)
    }
}

pub(crate) fn span(nanoseconds: i64) -> Span {
    Span(nanoseconds)
}
