//! Two-point captures: the packets of a connection captured at two points. Reports which frames
//! were delivered or lost between the points, one-way delay increase, and how the two clocks
//! differ.
//!
//! Both captures are read twice. In the first pass a [`Sketch`] of each stores a few thousand
//! frames that both captures choose alike, and [`Relation`] compares the clocks by them. In the
//! second pass [`Join`] finds every frame of one capture in the other, in time order, and sums up
//! each [`Direction`] of each connection.
//!
//! Addresses, TCP numbers, lengths, IP identification and timestamp identify a frame; super-packets
//! of offload are cut into the frames on the wire. A box that rewrites addresses, sequence numbers
//! or segments defeats the match: such captures are not joined, and the counts of frames in one
//! capture only show it.

mod capture_points;
mod direction;
mod frame;
mod join;
mod pending;
mod relation;
mod round_trips;
mod row;
mod sketch;
mod slewed;

pub use direction::{Direction, Fates};
pub use frame::{Frame, Frames};
pub use join::{Join, JoinFacts, JoinLimits};
pub use relation::{Relation, RelationError};
pub use round_trips::RoundTrips;
pub use row::{Quantiles, TwoPointRow};
pub use sketch::{Match, Sketch};

/// One of the two captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Capture {
    /// The first.
    First,
    /// The second.
    Second,
}

impl Capture {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// Index into arrays with one entry per capture.
    pub const fn index(self) -> usize {
        self as usize
    }
}
