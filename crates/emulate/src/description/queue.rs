//! Queues, and what they drop.

use serde::{Deserialize, Serialize};

/// What waits in front of the rate. A limit counts the packet being sent: as a packet, or with
/// those of its bytes that are not sent yet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueDescription {
    /// Takes everything.
    Unlimited {},
    /// Takes what fits; one of the limits must be given.
    DropTail {
        /// How many packets fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_packets: Option<u32>,
        /// How many bytes fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_bytes: Option<u64>,
    },
    /// Controlled delay (RFC 8289).
    Codel {
        /// The standing wait that is tolerated, in nanoseconds.
        #[serde(default = "super::defaults::target_ns")]
        target_ns: u64,
        /// For how long a longer wait is tolerated.
        #[serde(default = "super::defaults::interval_ns")]
        interval_ns: u64,
        /// With no more than this waiting, nothing is dropped.
        #[serde(default = "super::defaults::mtu_bytes")]
        mtu_bytes: u32,
        /// How many packets fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_packets: Option<u32>,
        /// How many bytes fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_bytes: Option<u64>,
    },
    /// Random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion
    /// Avoidance", 1993).
    Red {
        /// Below this average nothing is dropped.
        minimum_packets: f64,
        /// From this average on everything is dropped, or with `gentle` from twice this.
        maximum_packets: f64,
        /// The probability of a drop when the average reaches the maximum.
        #[serde(default = "super::defaults::maximum_probability")]
        maximum_probability: f64,
        /// How much the present length moves the average.
        #[serde(default = "super::defaults::weight")]
        weight: f64,
        /// Whether the probability rises to 1 between the maximum and twice the maximum (Floyd,
        /// 2000) rather than at once.
        #[serde(default = "super::defaults::yes")]
        gentle: bool,
        /// A typical packet, in bytes: gives how many could have left while the queue was empty.
        #[serde(default = "super::defaults::mean_packet_bytes")]
        mean_packet_bytes: u32,
        /// How many packets fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_packets: Option<u32>,
        /// How many bytes fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_bytes: Option<u64>,
    },
}
