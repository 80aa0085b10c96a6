//! When a source sends, and how much: constant rate, Poisson, playback of a capture.
//!
//! A [`Schedule`] gives the nanosecond after the start at which a packet is due ([`Departure`]); a
//! [`Mixture`] puts several of them into one order of time. Nothing here waits, sends or reads a
//! file, and the same seed gives the same schedule on every machine. Times are counted from the
//! start and never from the packet before, so a sender that follows them cannot drift.
//!
//! [`DepartureError`] measures how late a sender was; a [`Backlog`] holds what a TCP connection
//! could not take at once.
//!
//! [`structural`] is traffic that reacts: users whose next request waits for the response before.
//!
//! The traffic of the others does not: a packet is due whether or not the network could carry the
//! one before. Only [`Backlog`] knows that a connection resists, and then it drops and counts.

mod backlog;
mod cbr;
mod departure_error;
mod description;
mod error;
mod headers;
mod level;
mod mixture;
mod playback;
mod poisson;
mod recording;
mod release;
mod schedule;
mod seed;
mod share;
pub mod structural;

pub use backlog::{Backlog, BacklogCounts};
pub use cbr::Cbr;
pub use departure_error::{DepartureError, DepartureErrorSummary};
pub use description::{
    CbrDescription, Description, PlaybackDescription, PoissonDescription, PoissonMode,
};
pub use error::TrafficError;
pub use headers::{Headers, IpVersion, Transport};
pub use level::Level;
pub use mixture::Mixture;
pub use playback::{Playback, PlaybackCounts};
pub use poisson::{ByteArrivals, PacketArrivals};
pub use recording::Recording;
pub use release::Release;
pub use schedule::{Departure, Schedule, Source};
pub use share::shares;
