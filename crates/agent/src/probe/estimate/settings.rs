//! Options of the two estimators; the defaults are their authors'.

use serde::Deserialize;
use trustbed_probe::{
    FleetRules, PathChirp, PathChirpSettings, Pathload, PathloadSettings, ProbeError, Scan,
    StreamLimits,
};
use trustbed_units::Span;

use super::wire::MOST_PACKETS;
use crate::session::Failure;
use crate::session::workers::span;

/// The default duration of pathChirp.
const CHIRP_NS: u64 = 60_000_000_000;

/// The estimator, and its settings.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Estimator {
    Pathload(PathloadOptions),
    PathChirp(PathChirpOptions),
}

/// Options of pathload. Rates in bit/s, with IP and UDP headers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PathloadOptions {
    /// What is not given is as it should be among packets as long as they come, instead of as the
    /// tool has it.
    long_packets: bool,
    /// Streams per fleet.
    streams: Option<usize>,
    /// Packets per stream.
    packets: Option<usize>,
    least_payload_bytes: Option<u32>,
    largest_payload_bytes: Option<u32>,
    /// The smallest gap that the hosts sustain.
    preferred_gap_ns: Option<u64>,
    /// What receiving a packet costs the receiver.
    receive_cost_ns: Option<u64>,
    /// The share of streams that decides: 0.6, in the paper 0.7.
    majority: Option<f64>,
    /// The width of the interval that is requested.
    resolution_bits_per_second: Option<f64>,
    lowest_bits_per_second: Option<f64>,
    highest_bits_per_second: Option<f64>,
    /// It ends then with what is known.
    time_limit_ns: Option<u64>,
}

/// Options of pathChirp. Rates in bit/s of UDP payload.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PathChirpOptions {
    /// What is not given is as it should be among packets as long as they come, instead of as the
    /// tool has it.
    long_packets: bool,
    payload_bytes: Option<u32>,
    lowest_bits_per_second: Option<f64>,
    highest_bits_per_second: Option<f64>,
    spread_factor: Option<f64>,
    /// What the chirps load the path with.
    mean_bits_per_second: Option<f64>,
    /// Chirps that an estimate is the mean of.
    averaged: Option<usize>,
    decrease_factor: Option<f64>,
    busy_period: Option<usize>,
    /// Packets closer together were batched in the receiver.
    coalescence_ns: Option<u64>,
    /// Whether the rates follow the estimates.
    adapts: Option<bool>,
    /// Beyond this the rates do not follow.
    limit_bits_per_second: Option<f64>,
    /// It ends after this time.
    duration_ns: Option<u64>,
}

impl Estimator {
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Pathload(_) => "pathload",
            Self::PathChirp(_) => "pathchirp",
        }
    }

    /// Refuses settings with which there is no estimator, before anything is sent.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let refused = |error: ProbeError| {
            let text = error.to_string();
            let (message, hint) =
                text.split_once("; ").unwrap_or((&text, "correct the settings of the estimator"));
            Failure::configuration(format!("estimator: {message}"), hint)
        };
        match self {
            Self::Pathload(options) => {
                let settings = options.settings(Span::ZERO);
                if settings.packets > MOST_PACKETS {
                    let message = format!("estimator: streams of {} packets", settings.packets);
                    return Err(Failure::configuration(
                        message,
                        format!("give at most {MOST_PACKETS}"),
                    ));
                }
                if !(0.5..=1.0).contains(&settings.rules.majority) {
                    let message = format!("estimator: a majority of {}", settings.rules.majority);
                    return Err(Failure::configuration(message, "give a share from 0.5 to 1"));
                }
                Pathload::new(settings).map(drop).map_err(refused)
            }
            Self::PathChirp(options) => {
                PathChirp::new(options.settings()).map(drop).map_err(refused)
            }
        }
    }
}

impl PathloadOptions {
    /// With what is not given as pathload 1.3.2 has it, or as long packets ask for.
    pub(super) fn settings(&self, round_trip: Span) -> PathloadSettings {
        let usual = if self.long_packets {
            PathloadSettings::for_long_packets()
        } else {
            PathloadSettings::default()
        };
        let limits = &usual.limits;
        PathloadSettings {
            streams: self.streams.unwrap_or(usual.streams),
            packets: self.packets.unwrap_or(usual.packets),
            limits: StreamLimits {
                least_payload: self.least_payload_bytes.unwrap_or(limits.least_payload),
                largest_payload: self.largest_payload_bytes.unwrap_or(limits.largest_payload),
                header_bytes: limits.header_bytes,
                preferred_gap: self.preferred_gap_ns.map_or(limits.preferred_gap, span),
                longest_gap: limits.longest_gap,
                receive_cost: self.receive_cost_ns.map_or(limits.receive_cost, span),
            },
            rules: FleetRules {
                majority: self.majority.unwrap_or(usual.rules.majority),
                ..usual.rules
            },
            resolution: self.resolution_bits_per_second.or(usual.resolution),
            resolution_share: usual.resolution_share,
            lowest_rate: self.lowest_bits_per_second.unwrap_or(usual.lowest_rate),
            highest_rate: self.highest_bits_per_second.unwrap_or(usual.highest_rate),
            round_trip,
            time_limit: self.time_limit_ns.map_or(usual.time_limit, span),
        }
    }
}

impl PathChirpOptions {
    /// With what is not given as pathChirp 2.3.7 has it, or as long packets ask for.
    pub(super) fn settings(&self) -> PathChirpSettings {
        let usual = if self.long_packets {
            PathChirpSettings::for_long_packets()
        } else {
            PathChirpSettings::default()
        };
        let scan = &usual.scan;
        PathChirpSettings {
            payload: self.payload_bytes.unwrap_or(usual.payload),
            lowest_rate: self.lowest_bits_per_second.unwrap_or(usual.lowest_rate),
            highest_rate: self.highest_bits_per_second.unwrap_or(usual.highest_rate),
            spread_factor: self.spread_factor.unwrap_or(usual.spread_factor),
            mean_rate: self.mean_bits_per_second.unwrap_or(usual.mean_rate),
            averaged: self.averaged.unwrap_or(usual.averaged),
            scan: Scan {
                decrease_factor: self.decrease_factor.unwrap_or(scan.decrease_factor),
                busy_period: self.busy_period.unwrap_or(scan.busy_period),
                coalescence: self.coalescence_ns.map_or(scan.coalescence, span),
            },
            adapts: self.adapts.unwrap_or(usual.adapts),
            limit_rate: self.limit_bits_per_second.unwrap_or(usual.limit_rate),
        }
    }

    /// Its duration.
    pub(super) fn duration(&self) -> Span {
        span(self.duration_ns.unwrap_or(CHIRP_NS))
    }
}
