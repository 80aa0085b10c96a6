//! How long packets travel: delays that change, vary, or were recorded.

use serde::{Deserialize, Serialize};

/// A delay that changes in steps, from the moment on at which the times of the link begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayStepsDescription {
    /// In order of time; the first one at 0.
    pub steps: Vec<DelayStepDescription>,
    /// Whether a packet waits for those before it rather than overtaking them.
    #[serde(default = "super::defaults::yes")]
    pub keep_order: bool,
}

/// A step of a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayStepDescription {
    /// When it begins.
    pub at_ns: u64,
    /// How long a packet travels from then on.
    pub delay_ns: u64,
}

/// How the delay varies around `delay_ns`. Below zero it is zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum JitterDescription {
    /// Evenly between minus and plus `spread_ns`.
    Uniform {
        /// The most that it deviates.
        spread_ns: u64,
        /// Whether a packet waits for those before it rather than overtaking them.
        #[serde(default = "super::defaults::yes")]
        keep_order: bool,
    },
    /// A normal distribution.
    Normal {
        /// Its standard deviation.
        deviation_ns: u64,
        /// As for `uniform`.
        #[serde(default = "super::defaults::yes")]
        keep_order: bool,
    },
    /// A Pareto distribution, moved to a mean of 0: mostly a little early, seldom very late.
    Pareto {
        /// Its standard deviation.
        deviation_ns: u64,
        /// Above 2: below, there is no standard deviation.
        #[serde(default = "super::defaults::shape")]
        shape: f64,
        /// As for `uniform`.
        #[serde(default = "super::defaults::yes")]
        keep_order: bool,
    },
    /// A quarter normal, three quarters Pareto of shape 3, as netem's table of this name, scaled to
    /// the deviation.
    Paretonormal {
        /// Its standard deviation.
        deviation_ns: u64,
        /// As for `uniform`.
        #[serde(default = "super::defaults::yes")]
        keep_order: bool,
    },
}

/// Delays as they were recorded; behind the last one it begins again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedDelayDescription {
    /// One after another.
    pub delays_ns: Vec<u64>,
    /// How long each of them holds; if not given, each is the delay of one packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_ns: Option<u64>,
    /// Whether a packet waits for those before it rather than overtaking them.
    #[serde(default = "super::defaults::yes")]
    pub keep_order: bool,
}
