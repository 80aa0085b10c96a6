//! A few thousand frames that two captures choose alike: those with the smallest fingerprints (a
//! bottom-k sketch, Broder, SEQUENCES 1997).
//!
//! The choice depends on the frames alone and not on their times: two captures of the same traffic
//! store the same frames however far their clocks are apart, in one pass and bounded memory. Frames
//! with a repeated fingerprint are ignored.
//!
//! If one capture is a small part of the other, the larger stores few of its frames. The larger is
//! then read once more, for the frames that the smaller stores.

use std::collections::{BTreeMap, BTreeSet};

use trustbed_flow::FlowKey;
use trustbed_units::Ns;

use crate::Frame;

/// The stored frames of one capture.
#[derive(Debug, Clone)]
pub struct Sketch {
    most: usize,
    /// The only fingerprints to store, instead of the smallest.
    selected: Option<BTreeSet<u64>>,
    samples: BTreeMap<u64, Sample>,
    frames: u64,
}

/// A stored frame.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Ns,
    key: FlowKey,
    direction: usize,
    is_repeated: bool,
}

/// A frame in both captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// Its connection.
    pub key: FlowKey,
    /// Its direction: 0 from the lower endpoint of the key to the higher.
    pub direction: usize,
    /// Time in the first capture, by its clock.
    pub first: Ns,
    /// Time in the second capture, by its clock.
    pub second: Ns,
}

impl Default for Sketch {
    /// Sixteen thousand frames, some megabytes.
    fn default() -> Self {
        Self::of(1 << 14)
    }
}

impl Sketch {
    /// Stores at most `most` frames.
    pub const fn of(most: usize) -> Self {
        Self { most, selected: None, samples: BTreeMap::new(), frames: 0 }
    }

    /// Stores exactly the frames that `other` stores.
    #[must_use]
    pub fn like(other: &Self) -> Self {
        Self { selected: Some(other.samples.keys().copied().collect()), ..Self::of(other.most) }
    }

    /// Whether this sketch may lack frames in both captures because it was full; reading this
    /// capture again finds them.
    pub fn may_have_more_of(&self, other: &Self) -> bool {
        self.selected.is_none() && self.samples.len() >= self.most && self.frames > other.frames
    }

    /// Takes a frame of the capture.
    pub fn on_frame(&mut self, frame: &Frame) {
        self.frames += 1;
        if self.selected.as_ref().is_some_and(|selected| !selected.contains(&frame.fingerprint)) {
            return;
        }
        if self.samples.len() >= self.most
            && self
                .samples
                .last_key_value()
                .is_some_and(|(largest, _)| frame.fingerprint > *largest)
        {
            return;
        }
        let samples =
            Sample { at: frame.at, key: frame.key, direction: frame.direction, is_repeated: false };
        self.samples
            .entry(frame.fingerprint)
            .and_modify(|held| held.is_repeated = true)
            .or_insert(samples);
        if self.samples.len() > self.most {
            self.samples.pop_last();
        }
    }

    /// Number of frames taken.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// The frames in both sketches, by time in the first.
    pub fn matches(&self, second: &Self) -> Vec<Match> {
        let both = self
            .samples
            .iter()
            .filter_map(|(fingerprint, here)| Some((here, second.samples.get(fingerprint)?)));
        let once = both.filter(|(here, there)| !here.is_repeated && !there.is_repeated);
        let mut found: Vec<Match> = once
            .map(|(here, there)| Match {
                key: here.key,
                direction: here.direction,
                first: here.at,
                second: there.at,
            })
            .collect();
        found.sort_by_key(|common| (common.first, common.second));
        found
    }
}
