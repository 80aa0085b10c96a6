//! What decides when packets are sent, or whether at all: token buckets, outages, a recorded rate.

use serde::{Deserialize, Serialize};

/// A token bucket, which is full at first (RFC 2697).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketDescription {
    /// How fast it fills.
    pub rate_bits_per_second: u64,
    /// How much it holds.
    pub burst_bytes: u64,
}

/// A step of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStepDescription {
    /// When it begins.
    pub at_ns: u64,
    /// How fast bits are sent from then on.
    pub rate_bits_per_second: u64,
}

/// An interval in which nothing passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutageDescription {
    /// When it begins.
    pub at_ns: u64,
    /// How long it lasts.
    pub lasts_ns: u64,
    /// Whether what would be sent meanwhile is sent afterwards rather than lost.
    #[serde(default)]
    pub keeps: bool,
}

/// Delivery opportunities in the format of mahimahi (Netravali et al., "Mahimahi: Accurate
/// Record-and-Replay for HTTP", USENIX ATC 2015): each number is a millisecond in which so many
/// bytes can leave; behind the last one it begins again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceDescription {
    /// In order; a millisecond that is listed twice carries twice as much.
    pub opportunities_ms: Vec<u64>,
    /// What one opportunity carries.
    #[serde(default = "super::defaults::opportunity_bytes")]
    pub opportunity_bytes: u32,
}
