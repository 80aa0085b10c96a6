//! A link, with all its parts.

use serde::{Deserialize, Serialize};

use super::{
    BucketDescription, DelayStepsDescription, DuplicateDescription, JitterDescription,
    LossDescription, OutageDescription, QueueDescription, RateStepDescription,
    RecordedDelayDescription, ReorderDescription, TraceDescription,
};

/// A link: policer → queue → shaper → rate → wire. Whatever is not given is not there: no rate
/// means no waiting, no queue means one without a limit.
///
/// The wire is what happens to a packet behind its transmission: loss, duplication, delay,
/// reordering. A packet lost there has used the rate as any other.
///
/// ```
/// use trustbed_emulate::{LinkDescription, QueueDescription};
/// let link: LinkDescription = serde_json::from_str(
///     r#"{"rate_bits_per_second": 20000000, "delay_ns": 10000000,
///         "queue": {"kind": "drop_tail", "limit_packets": 50}}"#,
/// )?;
/// let queue = QueueDescription::DropTail { limit_packets: Some(50), limit_bytes: None };
/// assert_eq!(link.queue, Some(queue));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkDescription {
    /// How fast bits are sent, always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bits_per_second: Option<u64>,
    /// Instead of `rate_bits_per_second`: a rate that changes, in order of time and the first one
    /// at 0, from the moment on at which the times of the link begin.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rate_steps: Vec<RateStepDescription>,
    /// When something can be sent, as recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_trace: Option<TraceDescription>,
    /// How long a packet travels behind its transmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ns: Option<u64>,
    /// Instead of `delay_ns`: a delay that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_steps: Option<DelayStepsDescription>,
    /// How this varies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterDescription>,
    /// Instead of `delay_ns` and `jitter`: delays as recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_recorded: Option<RecordedDelayDescription>,
    /// What waits in front of the rate, and what is dropped there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueDescription>,
    /// What is lost on the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossDescription>,
    /// What is held back, so that others overtake it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderDescription>,
    /// What comes twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<DuplicateDescription>,
    /// What is dropped before the queue because more comes than was agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policer: Option<BucketDescription>,
    /// What waits in the queue because more comes than was agreed; bursts pass at the rate of the
    /// link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaper: Option<BucketDescription>,
    /// When nothing passes, in order of time, from the moment on at which the times of the link
    /// begin.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<OutageDescription>,
}
