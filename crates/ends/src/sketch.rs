//! Some thousand frames of a capture that another capture keeps as well: those with the smallest prints (a bottom-k sketch, Broder, SEQUENCES
//! 1997).
//!
//! Which frames are kept depends on the frames alone and not on when they were seen: two captures of the same traffic keep the same ones,
//! however far their clocks are apart, in one pass and bounded memory. Frames whose print was seen twice are of no use and leave.
//!
//! Of a capture that is a small part of another hardly any frame is among those that the larger one keeps. Then the larger is looked at once
//! more, for what the smaller one keeps.

use std::collections::{BTreeMap, BTreeSet};

use trustbed_flow::FlowKey;
use trustbed_units::Ns;

use crate::Frame;

/// The kept frames of one capture.
#[derive(Debug, Clone)]
pub struct Sketch {
    most: usize,
    /// The only prints that are kept, if not the smallest are.
    wanted: Option<BTreeSet<u64>>,
    kept: BTreeMap<u64, Kept>,
    frames: u64,
}

/// A frame that is kept.
#[derive(Debug, Clone, Copy)]
struct Kept {
    at: Ns,
    key: FlowKey,
    way: usize,
    is_repeated: bool,
}

/// A frame that both captures hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meeting {
    /// Its connection.
    pub key: FlowKey,
    /// Its direction there.
    pub way: usize,
    /// When the first capture saw it, by its own clock.
    pub first: Ns,
    /// When the second one did, by its own.
    pub second: Ns,
}

impl Default for Sketch {
    /// Sixteen thousand frames, some megabytes.
    fn default() -> Self {
        Self::of(1 << 14)
    }
}

impl Sketch {
    /// Keeps so many frames at most.
    pub const fn of(most: usize) -> Self {
        Self { most, wanted: None, kept: BTreeMap::new(), frames: 0 }
    }

    /// Keeps the frames that another keeps, and no others.
    #[must_use]
    pub fn like(other: &Self) -> Self {
        Self { wanted: Some(other.kept.keys().copied().collect()), ..Self::of(other.most) }
    }

    /// Whether frames that both hold may have been left out for want of room; another look at this capture finds them.
    pub fn may_have_more_of(&self, other: &Self) -> bool {
        self.wanted.is_none() && self.kept.len() >= self.most && self.frames > other.frames
    }

    /// A frame of the capture.
    pub fn on_frame(&mut self, frame: &Frame) {
        self.frames += 1;
        if self.wanted.as_ref().is_some_and(|wanted| !wanted.contains(&frame.print)) {
            return;
        }
        if self.kept.len() >= self.most
            && self.kept.last_key_value().is_some_and(|(largest, _)| frame.print > *largest)
        {
            return;
        }
        let kept = Kept { at: frame.at, key: frame.key, way: frame.way, is_repeated: false };
        self.kept.entry(frame.print).and_modify(|held| held.is_repeated = true).or_insert(kept);
        if self.kept.len() > self.most {
            self.kept.pop_last();
        }
    }

    /// Frames that were shown.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// The frames that both hold, in the order of time of the first.
    pub fn meetings(&self, second: &Self) -> Vec<Meeting> {
        let both =
            self.kept.iter().filter_map(|(print, here)| Some((here, second.kept.get(print)?)));
        let once = both.filter(|(here, there)| !here.is_repeated && !there.is_repeated);
        let mut found: Vec<Meeting> = once
            .map(|(here, there)| Meeting {
                key: here.key,
                way: here.way,
                first: here.at,
                second: there.at,
            })
            .collect();
        found.sort_by_key(|meeting| (meeting.first, meeting.second));
        found
    }
}
