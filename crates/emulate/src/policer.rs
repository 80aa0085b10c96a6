//! A policer: packets that a token bucket has no bytes for are dropped, before the queue.
//!
//! The single-rate meter of RFC 2697 without its second bucket, with the packets that are not green
//! dropped. What it lets through it does not delay. A packet that is longer than the bucket is deep
//! never passes; one that the queue drops afterwards has used its bytes.

use trustbed_units::Ns;

use crate::bucket::Bucket;
use crate::{BucketDescription, EmulateError};

/// Decides for one packet after another.
#[derive(Debug, Clone)]
pub(crate) struct Policer(Bucket);

impl Policer {
    pub(crate) fn new(
        description: BucketDescription,
        location: &str,
    ) -> Result<Self, EmulateError> {
        Bucket::new(description, &format!("{location}: policer")).map(Self)
    }

    /// Whether a packet that comes now passes.
    pub(crate) fn passes(&mut self, now: Ns, length: u32) -> bool {
        self.0.takes(now, length)
    }
}
