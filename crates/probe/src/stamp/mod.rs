//! The Simple Two-way Active Measurement Protocol on the wire: RFC 8762, unauthenticated mode, with
//! the session identifier of RFC 8972.
//!
//! [`SenderPacket`] is what a session-sender sends, [`ReflectorPacket`] what comes back,
//! [`Reflector`] who decides whether anything does. Both packets are as they are in TWAMP (RFC
//! 5357) where the two overlap, so that the light form of that is understood as well (RFC 8762,
//! section 4.6): what is too short for STAMP and long enough for TWAMP is read.
//!
//! Not here: authentication, and the extensions of RFC 8972 but for padding. A reflector returns
//! what lies behind the base packet as it came; a sender of extensions finds their flag
//! "unrecognized" as it was set, which is what the RFC asks of those who do not know them.

mod error_estimate;
mod packet;
mod reflector;
mod time;

pub use error_estimate::ErrorEstimate;
pub use packet::{BASE_BYTES, LARGEST_BYTES, ReflectorPacket, SenderPacket};
pub use reflector::{Accepted, Reflector, ReflectorCounts, ReflectorSettings, Refusal};
pub use time::{StampTime, TimeFormat};
