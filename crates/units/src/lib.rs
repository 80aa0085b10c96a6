//! Quantities with types, and the one grammar in which people write them.
//!
//! Nothing in this workspace passes a bare number of milliseconds or megabits: a moment is [`Ns`],
//! a duration is [`Span`], a TCP sequence number is [`Seq`], and what a person types (`20ms`,
//! `10Mbit/s`, `0.1%`, `64KiB`) is read by [`Span`], [`Rate`], [`Ratio`] and [`Size`] through
//! [`std::str::FromStr`].

pub mod bins;
mod error;
mod grammar;
mod quantity;
mod seq;
mod time;

pub use error::QuantityError;
pub use quantity::{Rate, Ratio, Size};
pub use seq::Seq;
pub use time::{Ns, Span};
