//! Networks: hosts, routers, pipes, routes; and the two shorthands.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{
    BucketDescription, DelayStepsDescription, DuplicateDescription, JitterDescription,
    LinkDescription, LossDescription, OutageDescription, QueueDescription, RateStepDescription,
    RecordedDelayDescription, ReorderDescription, TraceDescription,
};

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
    /// Paths that packets take instead of the computed ones.
    pub routes: Vec<RouteDescription>,
    /// Two routers with the bottleneck between them; nothing else may be given beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dumbbell: Option<DumbbellDescription>,
    /// Two hosts and the pipes between them, one after another; nothing else may be given beside
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<ChainDescription>,
    /// The host through which every address is reached that no host has; without it such packets
    /// are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// How much may be inside the whole network at once, each packet counted with
    /// [`crate::OVERHEAD`]; if not given, [`crate::LIMIT_INSIDE`].
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
    /// Pipes of its own for every address: each address is then an emulated host with its own
    /// access link.
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
    /// The links of each address, in the order of the addresses, instead of `up` and `down`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub each: Vec<AddressDescription>,
}

/// The access link of one address.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AddressDescription {
    /// From the address into the network.
    pub up: LinkDescription,
    /// From the network to the address.
    pub down: LinkDescription,
}

/// A pipe: a link with two ends. The keys of the link are beside its own.
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rate_steps: Vec<RateStepDescription>,
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

/// A route from one host to another.
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

/// Hosts on two sides of one bottleneck: routers `left` and `right`, pipes `up` (left to right) and
/// `down`.
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

/// Two hosts with links in a row between them. One link in each direction is a bare link: pipes
/// `up` and `down`; several are `up1`, `up2` …
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainDescription {
    /// The two hosts.
    pub ends: [HostDescription; 2],
    /// The links from the first to the second, in that order.
    pub up: Vec<LinkDescription>,
    /// The links from the second to the first, in that order; the same as `up` from behind if not
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<Vec<LinkDescription>>,
}

impl PipeDescription {
    /// A pipe with a link in it.
    pub fn new(
        name: impl Into<String>,
        from: impl Into<String>,
        to: impl Into<String>,
        link: LinkDescription,
    ) -> Self {
        Self {
            name: name.into(),
            from: from.into(),
            to: to.into(),
            rate_bits_per_second: link.rate_bits_per_second,
            rate_steps: link.rate_steps,
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
            rate_steps: self.rate_steps.clone(),
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
