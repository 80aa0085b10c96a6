//! How links and networks are described from outside: plain numbers, with the unit in the name of
//! the key.
//!
//! Nothing is checked here but the form: an unknown key is an error, and so is a number that cannot
//! be one of its kind. What makes no sense (a rate of 0, an unknown name) is found by
//! [`crate::Link::new`] and [`crate::Topology::new`], which report where.
//!
//! A key of a link is given twice: in [`LinkDescription`], and beside the ends of a pipe in
//! [`PipeDescription`].

mod defaults;
mod delay;
mod link;
mod network;
mod queue;
mod sender;
mod wire;

pub use delay::{
    DelayStepDescription, DelayStepsDescription, JitterDescription, RecordedDelayDescription,
};
pub use link::LinkDescription;
pub use network::{
    AccessDescription, AddressDescription, ChainDescription, Description, DumbbellDescription,
    HostDescription, PipeDescription, RouteDescription,
};
pub use queue::QueueDescription;
pub use sender::{BucketDescription, OutageDescription, RateStepDescription, TraceDescription};
pub use wire::{DuplicateDescription, LossDescription, ReorderDescription};
