//! How links and networks are described from outside: plain numbers, with the unit in the name of the key.
//!
//! Nothing is checked here but the form: an unknown key is an error, and so is a number that cannot be one of its kind. What makes no
//! sense (a rate of 0, a name that nobody has) is found by [`crate::Link::new`] and [`crate::Topology::new`], which can say where.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A network: hosts, routers, and the pipes between them; or one of the two shorthands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Description {
    /// Where packets come from and go to.
    pub hosts: Vec<HostDescription>,
    /// Points where pipes meet. A router takes no time and holds nothing.
    pub routers: Vec<String>,
    /// One direction each.
    pub pipes: Vec<PipeDescription>,
    /// Ways that packets shall take instead of the computed ones.
    pub routes: Vec<RouteDescription>,
    /// Two routers with the bottleneck between them; nothing else may be given beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dumbbell: Option<DumbbellDescription>,
    /// Two hosts and the pipes between them, one after another; nothing else may be given beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<ChainDescription>,
    /// The host through which every address is reached that no host has; without it such packets are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// How much may be inside the whole network at once, each packet counted with [`crate::OVERHEAD`]; if not given,
    /// [`crate::LIMIT_INSIDE`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_bytes_inside: Option<u64>,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostDescription {
    /// What it is called everywhere else.
    pub name: String,
    /// Its addresses, one at least; thousands are legal.
    pub addresses: Vec<IpAddr>,
    /// Pipes of its own for every address: each address is then an emulated host with its own access link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessDescription>,
}

/// The access link of every address of a host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AccessDescription {
    /// The router at its other end; in a dumbbell the one of the host's side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub router: Option<String>,
    /// From the address into the network.
    pub up: LinkDescription,
    /// From the network to the address.
    pub down: LinkDescription,
}

/// A pipe: a link with two ends. The keys of the link stand beside its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PipeDescription {
    /// What it is called in reports and routes.
    pub name: String,
    /// The host or router where packets enter.
    pub from: String,
    /// The host or router where they come out.
    pub to: String,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bits_per_second: Option<u64>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_trace: Option<TraceDescription>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ns: Option<u64>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_steps: Option<DelayStepsDescription>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterDescription>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_recorded: Option<RecordedDelayDescription>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueDescription>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossDescription>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderDescription>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<DuplicateDescription>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<BucketDescription>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<BucketDescription>,
    /// As in [`LinkDescription`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<OutageDescription>,
}

/// A way from one host to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteDescription {
    /// The host where it begins.
    pub from: String,
    /// The host where it ends.
    pub to: String,
    /// The names of the pipes, in order; access pipes are not named.
    pub through: Vec<String>,
}

/// Hosts on two sides of one bottleneck: routers `left` and `right`, pipes `up` (left to right) and `down`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DumbbellDescription {
    /// Hosts at the router `left`. One without `access` is joined to it by pipes that take no time.
    pub left: Vec<HostDescription>,
    /// Hosts at the router `right`.
    pub right: Vec<HostDescription>,
    /// From left to right.
    pub up: LinkDescription,
    /// From right to left.
    pub down: LinkDescription,
}

/// Two hosts with links in a row between them. One link each way is a bare link: pipes `up` and `down`; several are `up1`, `up2` …
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainDescription {
    /// The two hosts.
    pub ends: [HostDescription; 2],
    /// The links from the first to the second, in that order.
    pub up: Vec<LinkDescription>,
    /// The links from the second to the first, in that order; the same as `up` from behind if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Vec<LinkDescription>>,
}

/// A link: policer → queue → shaper → rate → wire. Whatever is not given is not there: no rate means no waiting, no queue means one without a
/// limit.
///
/// The wire is what happens to a packet behind its transmission: loss, duplication, delay, reordering. A packet lost there has used the
/// rate as any other.
///
/// ```
/// use trustbed_emulate::{LinkDescription, QueueDescription};
/// let link: LinkDescription = serde_json::from_str(
///     r#"{"rate_bits_per_second": 20000000, "delay_ns": 10000000, "queue": {"kind": "drop_tail", "limit_packets": 50}}"#,
/// )?;
/// assert_eq!(link.queue, Some(QueueDescription::DropTail { limit_packets: Some(50), limit_bytes: None }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkDescription {
    /// How fast bits are sent, always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_bits_per_second: Option<u64>,
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
    /// What waits in the queue because more comes than was agreed; bursts pass at the rate of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaper: Option<BucketDescription>,
    /// When nothing passes, in order of time, from the moment on at which the times of the link begin.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<OutageDescription>,
}

/// A token bucket, which is full at first (RFC 2697).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketDescription {
    /// How fast it fills.
    pub rate_bits_per_second: u64,
    /// How much it holds.
    pub burst_bytes: u64,
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

/// A delay that changes in steps, from the moment on at which the times of the link begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayStepsDescription {
    /// In order of time; the first one at 0.
    pub steps: Vec<DelayStepDescription>,
    /// Whether a packet waits for those before it rather than overtaking them.
    #[serde(default = "defaults::yes")]
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

/// Delivery opportunities in the format of mahimahi (Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015):
/// each number is a millisecond in which so many bytes can leave; behind the last one it begins again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceDescription {
    /// In order; a millisecond that stands there twice carries twice as much.
    pub opportunities_ms: Vec<u64>,
    /// What one opportunity carries.
    #[serde(default = "defaults::opportunity_bytes")]
    pub opportunity_bytes: u32,
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
        #[serde(default = "defaults::yes")]
        keep_order: bool,
    },
    /// A normal distribution.
    Normal {
        /// Its standard deviation.
        deviation_ns: u64,
        /// As for `uniform`.
        #[serde(default = "defaults::yes")]
        keep_order: bool,
    },
    /// A Pareto distribution, moved to a mean of 0: mostly a little early, seldom very late.
    Pareto {
        /// Its standard deviation.
        deviation_ns: u64,
        /// Above 2: below, there is no standard deviation.
        #[serde(default = "defaults::shape")]
        shape: f64,
        /// As for `uniform`.
        #[serde(default = "defaults::yes")]
        keep_order: bool,
    },
    /// A quarter normal, three quarters Pareto of shape 3, as netem's table of this name, scaled to the deviation.
    Paretonormal {
        /// Its standard deviation.
        deviation_ns: u64,
        /// As for `uniform`.
        #[serde(default = "defaults::yes")]
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
    #[serde(default = "defaults::yes")]
    pub keep_order: bool,
}

/// What waits in front of the rate. A limit counts the packet being sent: as a packet, or with those of its bytes that are not sent yet.
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
        /// The wait that may stand.
        #[serde(default = "defaults::target_ns")]
        target_ns: u64,
        /// For how long a longer wait is tolerated.
        #[serde(default = "defaults::interval_ns")]
        interval_ns: u64,
        /// With no more than this waiting, nothing is dropped.
        #[serde(default = "defaults::mtu_bytes")]
        mtu_bytes: u32,
        /// How many packets fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_packets: Option<u32>,
        /// How many bytes fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_bytes: Option<u64>,
    },
    /// Random early detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993).
    Red {
        /// Below this average nothing is dropped.
        minimum_packets: f64,
        /// From this average on everything is dropped, or with `gentle` from twice this.
        maximum_packets: f64,
        /// The probability of a drop when the average reaches the maximum.
        #[serde(default = "defaults::maximum_probability")]
        maximum_probability: f64,
        /// How much the present length moves the average.
        #[serde(default = "defaults::weight")]
        weight: f64,
        /// Whether the probability rises to 1 between the maximum and twice the maximum (Floyd, 2000) rather than at once.
        #[serde(default = "defaults::yes")]
        gentle: bool,
        /// A typical packet: tells how many could have left while the queue was empty.
        #[serde(default = "defaults::mean_packet_bytes")]
        mean_packet_bytes: u32,
        /// How many packets fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_packets: Option<u32>,
        /// How many bytes fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_bytes: Option<u64>,
    },
}

/// What is lost on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LossDescription {
    /// Each packet for itself.
    Independent {
        /// The share that is lost.
        probability: f64,
    },
    /// Two states, with a loss each (Gilbert, "Capacity of a Burst-Noise Channel", 1960; Elliott, 1963).
    GilbertElliott {
        /// The probability to become bad behind a packet.
        good_to_bad: f64,
        /// The probability to become good behind a packet.
        bad_to_good: f64,
        /// The share lost while good.
        #[serde(default)]
        loss_in_good: f64,
        /// The share lost while bad.
        #[serde(default = "defaults::one")]
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

impl PipeDescription {
    /// A pipe with a link in it.
    pub fn new(name: impl Into<String>, from: impl Into<String>, to: impl Into<String>, link: LinkDescription) -> Self {
        Self {
            name: name.into(),
            from: from.into(),
            to: to.into(),
            rate_bits_per_second: link.rate_bits_per_second,
            rate_trace: link.rate_trace,
            delay_ns: link.delay_ns,
            delay_steps: link.delay_steps,
            jitter: link.jitter,
            delay_recorded: link.delay_recorded,
            queue: link.queue,
            loss: link.loss,
            reorder: link.reorder,
            duplicate: link.duplicate,
            policer: link.policer,
            shaper: link.shaper,
            outages: link.outages,
        }
    }

    /// The link in it.
    pub fn link(&self) -> LinkDescription {
        LinkDescription {
            rate_bits_per_second: self.rate_bits_per_second,
            rate_trace: self.rate_trace.clone(),
            delay_ns: self.delay_ns,
            delay_steps: self.delay_steps.clone(),
            jitter: self.jitter,
            delay_recorded: self.delay_recorded.clone(),
            queue: self.queue,
            loss: self.loss.clone(),
            reorder: self.reorder,
            duplicate: self.duplicate,
            policer: self.policer,
            shaper: self.shaper,
            outages: self.outages.clone(),
        }
    }
}

/// What holds when a key is not given.
mod defaults {
    pub(super) const fn yes() -> bool {
        true
    }
    pub(super) const fn one() -> f64 {
        1.0
    }
    /// The shape behind netem's table.
    pub(super) const fn shape() -> f64 {
        3.0
    }
    /// An Ethernet frame of 1500 bytes with the TUN header of mahimahi.
    pub(super) const fn opportunity_bytes() -> u32 {
        1504
    }
    /// RFC 8289 §4.4.
    pub(super) const fn target_ns() -> u64 {
        5_000_000
    }
    /// RFC 8289 §4.3.
    pub(super) const fn interval_ns() -> u64 {
        100_000_000
    }
    /// A full frame without its check sequence: the lengths that an interface shows.
    pub(super) const fn mtu_bytes() -> u32 {
        1514
    }
    /// Floyd's later recommendation (1997) instead of the 0.02 of the paper.
    pub(super) const fn maximum_probability() -> f64 {
        0.1
    }
    /// The paper, §8.
    pub(super) const fn weight() -> f64 {
        0.002
    }
    pub(super) const fn mean_packet_bytes() -> u32 {
        1000
    }
}
