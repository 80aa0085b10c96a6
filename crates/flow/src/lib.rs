//! From packets to connections: who talks to whom, which instance of a connection a packet belongs
//! to, what each segment is (new, retransmission, fill, probe …) and which acknowledgement allows a
//! round-trip sample.
//!
//! A [`Table`] takes packets in capture order and drives an [`Observer`], which measures. The table
//! itself measures nothing over time beyond what classification needs; its bias: what the capture
//! did not hold is never guessed.
//!
//! Apart from that, [`Unsegment`] cuts the super-packets of offload into the frames that were on
//! the wire.

mod connection;
mod echo;
mod key;
mod order;
mod ranges;
mod records;
mod recovery;
mod slots;
mod stream;
mod table;
mod unsegment;
mod waiting;

pub use connection::{Connection, Flags, Handshake, Sight, State};
pub use echo::Echo;
pub use key::FlowKey;
pub use order::{Order, OrderFacts, Reordered};
pub use ranges::RangeSet;
pub use records::{Record, Records};
pub use recovery::{Recovery, Retransmission};
pub use stream::{AT_ONCE, Ack, Cause, Class, Counters, RttOutcome, Seen, Segment, Stream};
pub use table::{Limits, Observer, Table, TableFacts};
pub use unsegment::{Direction, Spacing, Unsegment, UnsegmentFacts};
