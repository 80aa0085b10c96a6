//! Links in virtual time: rate, delay, queue, policer, shaper, loss, outages, reordering and
//! duplication, composed into pipes, and pipes into a topology.
//!
//! Nothing here waits. The caller gives a link the arrival of a packet and gets its departure, or
//! why there is none; the caller decides what time means: the emulator's clock, a capture's, or a
//! test's. The same packets at the same moments with the same seed have the same fate, whenever the
//! caller polls.

mod agenda;
mod ahead;
mod bucket;
mod check;
mod counters;
mod delay;
mod description;
mod discipline;
mod duplicate;
mod error;
mod flight;
mod histogram;
mod jitter;
mod ledger;
mod link;
mod loss;
mod network;
mod outages;
mod paths;
mod policer;
mod queue;
mod random;
mod rate;
mod rate_steps;
mod reorder;
mod sender;
mod shaper;
mod shorthand;
mod steps;
mod summary;
mod taps;
mod topology;
mod trace;
mod wire;

pub use description::{
    AccessDescription, AddressDescription, BucketDescription, ChainDescription,
    DelayStepDescription, DelayStepsDescription, Description, DumbbellDescription,
    DuplicateDescription, HostDescription, JitterDescription, LinkDescription, LossDescription,
    OutageDescription, PipeDescription, QueueDescription, RateStepDescription,
    RecordedDelayDescription, ReorderDescription, RouteDescription, TraceDescription,
};
pub use error::EmulateError;
pub use histogram::Spread;
pub use ledger::{Column, Fate, Ledger, Record};
pub use link::{Depth, Link, Outcome, Passage};
pub use network::{Departure, Inside, LIMIT_INSIDE, Network, OVERHEAD, Offered, Refusal, Ticket};
pub use summary::{DepartureError, PipeSummary, Summary};
pub use taps::Passing;
pub use topology::{Host, Pipe, Topology};
