//! Chains of system calls: which call follows which, how probable another program's calls are on
//! such a chain, and which transitions make the difference.
//!
//! One sequence is one thread's calls in entry order; calls are numbers of an [`Alphabet`].
//! A [`Chain`] of order N counts how often each call follows each state of N calls. Chains are
//! added; a sequence that was cut into [`Piece`]s is joined over the seam. Everything that is
//! compared ([`Walk`], [`Smoothed`], [`Topology`], [`Change`]) rests on counts alone, so a
//! sequence of millions of calls is read once, however many chains it is compared with.
//!
//! A chain holds at most [`Chain::MOST`] transitions, or what its maker allows, and refuses more
//! with [`CallsError::TooManyTransitions`]: it never forgets a transition, since a forgotten one
//! would be told as one that no run made. Times, results and arguments of calls play no part, so
//! two programs that differ only in those are alike here.
//!
//! Source: J. Crussell, T. M. Kroeger, A. Brown, C. Phillips, *Virtually the Same: Comparing
//! Physical and Virtual Testbeds* (ICNC 2019), section on system-call chains.

mod alphabet;
mod chain;
mod chains;
mod changes;
mod error;
mod occurrences;
mod order;
mod piece;
mod smoothing;
mod sum;
mod threads;
mod topology;
mod walk;

pub use alphabet::Alphabet;
pub use chain::{Chain, Cursor, Transition};
pub use chains::Chains;
pub use changes::{Change, changes};
pub use error::CallsError;
pub use occurrences::{Occurred, Occurrences, PhaseCount};
pub use order::{Order, State};
pub use piece::Piece;
pub use smoothing::{Smoothed, Smoothing};
pub use threads::Threads;
pub use topology::{Pruned, Topology};
pub use walk::{Walk, Walker};
