//! From the bytes of a frame to a [`Packet`]: link, network and transport headers, TCP options, and
//! the reason when a frame is not measured.
//!
//! A [`Decoder`] takes [`Record`]s in the order of the capture and appends one [`Packet`] each to a
//! [`Batch`], or returns why not ([`Skip`]). It reads Ethernet (VLAN tags, MPLS, `PPPoE`,
//! LLC/SNAP), PPP, Linux cooked, BSD loopback and raw IP frames; IPv4 and IPv6 with options,
//! extension headers, jumbograms and fragments; TCP and UDP; and on request what is inside VXLAN,
//! GRE, ERSPAN, Geneve and IP-in-IP tunnels, and inside the IEEE 802.11 frames of Aruba's GRE.
//!
//! It does not verify checksums (captures of offloading hosts hold wrong ones), does not put
//! fragments or segments together, and looks at no payload.
//!
//! Bias: lengths take precedence in the order IP header, then frame. A packet whose IP header
//! states no length is as long as its frame, link-layer padding included, and one that states more
//! than its frame held is counted as stated; both can over-, never under-estimate the payload, and
//! both are marked ([`Bits::LENGTH_FROM_FRAME`], [`Bits::LENGTH_BEYOND_FRAME`]).
//!
//! [`Contents`] gives of any frame, TCP or not, what a [`Filter`] needs.
//!
//! Two paths lead through a frame: a fast one for the common shapes, and a slow one, built on
//! etherparse, for everything. The second is the definition; property tests hold the first equal to
//! it.

mod batch;
mod contents;
mod decoder;
mod fast;
mod filter;
mod fragments;
mod frame;
pub mod glance;
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
mod wifi;

pub use batch::{Batch, Options};
pub use contents::{Contents, IpContents};
pub use decoder::{DecodeOptions, Decoder};
pub use filter::{Filter, FilterError};
pub use hash::fingerprint;
pub use link::LinkType;
pub use packet::{Bits, Packet, TcpFlags};
pub use record::Record;
pub use skip::Skip;
