//! Where a transfer's time went: every moment in one state, in one pass.
//!
//! A [`Budget`] takes departures of data and arrivals of the receiver's packets in the order and at
//! the times at which the sender saw them, and cuts the time between into pieces. What a moment
//! shows by itself (a full window, a silence, a repair) is decided there; whether data sent at the
//! pace of acknowledgements met a full path is decided at the end, when the path's capacity and
//! floor are known ([`Account`]).
//!
//! After T-RAT (Zhang et al., SIGCOMM 2002) and Siekkinen et al. (Computer Networks 2008), with the
//! states of the Linux kernel's `tcp_info` where they exist.
//!
//! Bounded: 1,024 pieces, joined in pairs beyond; shares stay exact, 256 phases are kept.
//!
//! Bias: a silence of less than a quarter of the base round trip (5 ms at most) is nobody's. A
//! queue shorter than three packets is not seen, so a window that just fills the path is called the
//! window's.

mod account;
mod changes;
mod events;
mod machine;
mod pieces;
mod state;
mod train;

pub use account::{Account, Phase, Whole};
pub use changes::Change;
pub use events::{Afar, Arrival, Departure, Level, Sending, Window};
pub use machine::Budget;
pub use state::{STATES, State};
