//! From connection events to numbers: round trips, timers, spacing, windows, delivery rate, loss,
//! limiting states, and where the capture was taken. Pure and streaming: time is the capture's,
//! memory is bounded per transfer.

mod achievable;
mod ack_silences;
mod acks_held;
mod answers;
mod bins;
mod bucket;
mod capture_point;
mod clock;
mod connection_row;
mod delivery;
mod distribution;
mod elsewhere;
mod engine;
mod exchanges;
mod host_overlap;
mod loss;
mod meter;
mod over_time;
mod packet_pairs;
mod phases;
mod policing;
mod profile;
mod ranks;
mod rto;
mod samples;
mod sender;
mod series;
mod stalls;
mod stretch;
mod summary;
mod transfer;
mod transfer_row;
mod window;

pub use achievable::{Path, window_bound};
pub use ack_silences::{AckSilences, Outstanding, Stamp};
pub use acks_held::AcksHeld;
pub use answers::{Answers, Passing};
pub use bucket::Bucket;
pub use capture_point::{At, CapturePoint, CapturePointSource, Location};
pub use clock::HostClock;
pub use connection_row::ConnectionRow;
pub use delivery::{Delivery, Rates};
pub use distribution::Distribution;
pub use elsewhere::{Elsewhere, Recent};
pub use engine::{Crossing, Rows, SHARDS, Shards, shard_of};
pub use exchanges::{Exchange, Exchanges, Quiet};
pub use host_overlap::host_overlap;
pub use loss::{Losses, Silence, Silences};
pub use meter::{Ended, Meter, Options};
pub use over_time::TimeWeighted;
pub use packet_pairs::PacketPairs;
pub use phases::{
    Account, Afar, Arrival, Budget, Change, Departure, Level, Phase, STATES, Sending, State, Whole,
    Window,
};
pub use policing::{Policed, Policing, RoundTrips};
pub use profile::{Bend, Floor, FloorStep, Profile};
pub use rto::{Rto, RtoValues};
pub use samples::{RttKind, RttRow, Samples, SegmentRow, SpacingRow, TransferId};
pub use sender::{Category, Pause, SenderView, Sent, Turn};
pub use series::{Point, Series, Thinned};
pub use stalls::{HostStall, host_stalls};
pub use stretch::{Drawn, Step, Stretch, Stretches, Stroke};
pub use transfer::{Refused, Transfer};
pub use transfer_row::{Charts, Times, Trail, TransferRow};
pub use window::WindowTime;
