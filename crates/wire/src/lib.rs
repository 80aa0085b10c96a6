//! From the bytes of a frame to a [`Packet`]: link, network and transport headers, TCP options, and the reason when a
//! frame is not measured.

mod batch;
mod decoder;
mod fast;
mod fragments;
mod frame;
mod hash;
mod link;
mod locate;
mod network;
mod options;
mod packet;
mod record;
mod skip;
mod slow;
mod transport;
mod tunnel;

pub use batch::{Batch, Options};
pub use decoder::{DecodeOptions, Decoder};
pub use hash::fingerprint;
pub use link::LinkType;
pub use packet::{Bits, Packet, TcpFlags};
pub use record::Record;
pub use skip::Skip;
