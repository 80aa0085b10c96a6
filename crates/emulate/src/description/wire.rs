//! What else happens to packets on the wire: loss, reordering, duplication.

use serde::{Deserialize, Serialize};

/// What is lost on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LossDescription {
    /// Each packet for itself.
    Independent {
        /// The share that is lost.
        probability: f64,
    },
    /// Two states, with a loss each (Gilbert, "Capacity of a Burst-Noise Channel", 1960; Elliott,
    /// 1963).
    GilbertElliott {
        /// The probability to become bad behind a packet.
        good_to_bad: f64,
        /// The probability to become good behind a packet.
        bad_to_good: f64,
        /// The share lost while good.
        #[serde(default)]
        loss_in_good: f64,
        /// The share lost while bad.
        #[serde(default = "super::defaults::one")]
        loss_in_bad: f64,
    },
    /// Every n-th packet.
    Periodic {
        /// n.
        every: u64,
        /// The number, from 1, of the first that is lost; n if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<u64>,
    },
    /// These packets.
    Recorded {
        /// Their numbers, from 0, rising.
        lost: Vec<u64>,
        /// Begin again behind so many packets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period_packets: Option<u64>,
    },
}

/// What is held back, so that others overtake it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderDescription {
    /// The share of packets.
    pub probability: f64,
    /// For how long.
    pub held_ns: u64,
}

/// What comes twice.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DuplicateDescription {
    /// The share of packets.
    pub probability: f64,
}
