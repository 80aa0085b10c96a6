//! The packets of one transfer seen at two places: which arrived, how long the way took, and how the clocks of the two places differ.
//!
//! Two captures are read twice. The first time a [`Sketch`] of each keeps some thousand frames that are the same in both, and [`Relation`]
//! compares the clocks by them. The second time [`Join`] finds every frame of one capture in the other, in the order of time, and sums up
//! each direction of each connection as a [`Crossing`].
//!
//! A frame is known again by its addresses, ports, TCP numbers, lengths, IP identification and timestamp; super-packets of offload are cut
//! into the frames that were on the wire. What a box on the way rewrites (addresses, sequence numbers, segments) is not known again: such
//! captures are not joined, and say so by what was seen at one place only.

mod crossing;
mod crossing_row;
mod frame;
mod join;
mod pending;
mod places;
mod relation;
mod round_trips;
mod sketch;
mod steered;

pub use crossing::{Crossing, Tally};
pub use crossing_row::{CrossingRow, Quantiles};
pub use frame::{Frame, Frames};
pub use join::{Join, JoinFacts, JoinLimits};
pub use relation::{Relation, RelationError};
pub use round_trips::RoundTrips;
pub use sketch::{Meeting, Sketch};

/// One of the two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// Where the first capture was taken.
    First,
    /// Where the second was.
    Second,
}

impl End {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// For arrays that have something for either.
    pub const fn index(self) -> usize {
        self as usize
    }
}
