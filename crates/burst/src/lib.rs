//! How bursty traffic is: the queue it would build in front of a slower link, and on which time scales its energy lies.
//!
//! Everything here works on two columns, the arrival times and the lengths of packets ([`Arrivals`] owns them, [`Packets`] is a
//! look at a stretch of them), which are in order of time. No measure changes the traffic it looks at: a sender that would have
//! slowed down behind the imagined link does not slow down here (open loop), so a queue or a loss found here can over-, never
//! under-state what a sender that reacts would see.

mod arrivals;
mod basis;
mod error;

pub use arrivals::{Arrivals, Packets};
pub use basis::Basis;
pub use error::BurstError;
