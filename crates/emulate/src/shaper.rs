//! A shaper: packets wait until a token bucket has bytes for them.
//!
//! It is between the queue and the rate, so that a burst passes at the wire's rate until the bucket
//! is empty, and everything behind it at the shaper's own rate. A packet goes to the wire as a
//! whole, at the first whole nanosecond at which there are bytes for it. One that is longer than
//! the bucket is deep goes when the bucket is full, and what it took too much comes back before
//! anything else passes.

use trustbed_units::Ns;

use crate::bucket::Bucket;
use crate::{BucketDescription, EmulateError};

/// Delays one packet after another.
#[derive(Debug, Clone)]
pub(crate) struct Shaper(Bucket);

impl Shaper {
    pub(crate) fn new(
        description: BucketDescription,
        location: &str,
    ) -> Result<Self, EmulateError> {
        Bucket::new(description, &format!("{location}: shaper")).map(Self)
    }

    /// When a packet that is there since `ready` could go to the wire.
    pub(crate) fn when(&self, ready: Ns, length: u32) -> Ns {
        self.0.when(ready, length)
    }

    /// Lets it go then.
    pub(crate) fn pass(&mut self, ready: Ns, length: u32) -> Ns {
        self.0.pass(ready, length)
    }

    /// How long so many bytes take in the mean, in nanoseconds.
    pub(crate) fn mean_time(&self, bytes: u32) -> f64 {
        self.0.mean_time(bytes)
    }
}
