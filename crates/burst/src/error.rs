//! What can be wrong with the options or the columns of a burstiness analysis.

use trustbed_units::{Ns, Rate, Span};

/// A rate, a window or columns that no measure of this crate can work with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BurstError {
    /// A link of rate 0 never sends anything.
    #[error("a link of 0 bit/s never sends a packet; give a rate above 0")]
    ZeroRate,
    /// Above what the exact arithmetic was sized for, and above any link.
    #[error("{rate} is beyond the largest rate that is measured, {largest}")]
    RateTooHigh {
        /// The rate that was given.
        rate: Rate,
        /// The largest that is accepted.
        largest: Rate,
    },
    /// A window, bin or time scale must have a length.
    #[error("a window of {length} is no window; give a length above 0")]
    NoWindow {
        /// The length that was given.
        length: Span,
    },
    /// One column is longer than the other.
    #[error("{times} arrival times and {lengths} lengths do not make packets")]
    UnequalColumns {
        /// How many times there are.
        times: usize,
        /// How many lengths there are.
        lengths: usize,
    },
    /// Times that must be in order are not.
    #[error(
        "packet {index} arrives at {time:?}, before its predecessor at {earlier:?}; put the \
         packets in order first"
    )]
    RunsBackwards {
        /// Which packet, counted from 0.
        index: usize,
        /// When it arrives.
        time: Ns,
        /// When the one in front of it arrived.
        earlier: Ns,
    },
    /// Parts of a capture are joined in the order of time.
    #[error(
        "a part that begins at {start:?} cannot follow one that ends at {end:?}; join the parts \
         in order of time"
    )]
    Overlap {
        /// The last packet of the earlier part.
        end: Ns,
        /// The first packet of the later part.
        start: Ns,
    },
}
