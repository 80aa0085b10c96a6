//! The description of traffic in a configuration.
//!
//! Numbers are plain and carry their unit in their name. Unknown keys are errors. A description
//! leaves out addresses, start and release: they are the sender's (see [`crate::Source`]).

use serde::{Deserialize, Serialize};
use trustbed_units::{Rate, Span};

use crate::TrafficError;
use crate::share::shares;

/// A model of traffic.
///
/// ```
/// # use trustbed_traffic::Description;
/// # fn read(text: &str) -> Description { serde_json::from_str(text).unwrap() }
/// read(r#"{"kind": "cbr", "rate_bits_per_second": 3300000, "packet_bytes": 1500}"#);
/// read(r#"{"kind": "poisson", "rate_bits_per_second": 3300000}"#);
/// read(r#"{"kind": "poisson", "rate_bits_per_second": 3300000, "mode": "bytes",
///     "unit_ns": 10000000}"#);
/// read(r#"{"kind": "playback", "capture": "trace.pcap", "filter": "src net 10.0.0.0/8"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Description {
    /// Constant rate: packets of one length at equal distances.
    Cbr(CbrDescription),
    /// Poisson arrivals of packets or of bytes.
    Poisson(PoissonDescription),
    /// The packets of a capture again.
    Playback(PlaybackDescription),
}

/// Constant bit rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CbrDescription {
    /// Rate, counted in IP lengths.
    pub rate_bits_per_second: u64,
    /// IP length of every packet. 1500 unless given.
    #[serde(default = "packet_bytes")]
    pub packet_bytes: u32,
}

/// Poisson traffic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoissonDescription {
    /// Mean rate, counted in IP lengths.
    pub rate_bits_per_second: u64,
    /// IP length of every packet (mode `packets`), of the largest (mode `bytes`). 1500 unless
    /// given.
    #[serde(default = "packet_bytes")]
    pub packet_bytes: u32,
    /// What arrives at random: packets unless given.
    #[serde(default)]
    pub mode: PoissonMode,
    /// Mode `bytes`: the unit of time for which a number of bytes is drawn. 10 ms unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_ns: Option<u64>,
    /// Mode `bytes`: shorter packets are padded to this IP length, and the next unit pays for it.
    /// 64 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_packet_bytes: Option<u32>,
}

/// What of Poisson traffic is drawn at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoissonMode {
    /// The gaps between packets of one length: exponential.
    #[default]
    Packets,
    /// The bytes of each unit of time. Nearly constant rate at ordinary rates.
    Bytes,
}

/// A capture that is played again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaybackDescription {
    /// The file. Who runs the source reads it.
    pub capture: String,
    /// Which of its packets: a filter expression that picks one direction. All of them unless
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Which of the parts into which its flows are dealt, from 0. 0 unless given.
    #[serde(default, skip_serializing_if = "is_first")]
    pub part: u16,
    /// How many parts. 1 unless given: all flows.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub parts: u16,
    /// Packets recorded within one such stretch of time leave together at its beginning. 1 ms
    /// unless given.
    #[serde(default = "together_ns")]
    pub together_ns: u64,
    /// Longer ones (super-packets of a host's offloading) leave as several packets of this IP
    /// length; UDP only. 1500 unless given.
    #[serde(default = "packet_bytes")]
    pub largest_packet_bytes: u32,
}

const fn packet_bytes() -> u32 {
    1500
}

const fn one() -> u16 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_first(part: &u16) -> bool {
    *part == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_one(parts: &u16) -> bool {
    *parts == 1
}

const fn together_ns() -> u64 {
    1_000_000
}

impl Description {
    /// Its kind, as it is written.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Cbr(_) => "cbr",
            Self::Poisson(_) => "poisson",
            Self::Playback(_) => "playback",
        }
    }

    /// The rate it aims at. A recording has the rate it has: see [`crate::Recording::mean_rate`].
    pub const fn rate(&self) -> Option<Rate> {
        match self {
            Self::Cbr(cbr) => Some(Rate(cbr.rate_bits_per_second)),
            Self::Poisson(poisson) => Some(Rate(poisson.rate_bits_per_second)),
            Self::Playback(_) => None,
        }
    }

    /// The same traffic as several sources: their rates add up to its rate, to the bit, or each
    /// plays the flows of a recording that are dealt to it.
    ///
    /// # Errors
    /// [`TrafficError::NothingToShare`] without sources, or with more sources than bits per second;
    /// [`TrafficError::NoParts`] of a recording, [`TrafficError::SharedAlready`] for a part of one.
    pub fn split(&self, sources: usize) -> Result<Vec<Self>, TrafficError> {
        let Self::Playback(playback) = self else {
            let rate = self.rate().unwrap_or(Rate(0));
            return Ok(shares(rate, sources)?.into_iter().map(|share| self.at(share)).collect());
        };
        let none = || TrafficError::NoParts { sources };
        let parts = u16::try_from(sources).ok().filter(|parts| *parts > 0).ok_or_else(none)?;
        if parts == 1 {
            return Ok(vec![self.clone()]);
        }
        if playback.parts != 1 {
            return Err(TrafficError::SharedAlready { parts: playback.parts });
        }
        let part = |part| PlaybackDescription { part, parts, ..playback.clone() };
        Ok((0..parts).map(part).map(Self::Playback).collect())
    }

    fn at(&self, rate: Rate) -> Self {
        let rate_bits_per_second = rate.0;
        match self {
            Self::Cbr(cbr) => Self::Cbr(CbrDescription { rate_bits_per_second, ..cbr.clone() }),
            Self::Poisson(poisson) => {
                Self::Poisson(PoissonDescription { rate_bits_per_second, ..poisson.clone() })
            }
            Self::Playback(_) => self.clone(),
        }
    }
}

impl PoissonDescription {
    /// The unit of mode `bytes`.
    pub fn unit(&self) -> Span {
        Span(i64::try_from(self.unit_ns.unwrap_or(10_000_000)).unwrap_or(i64::MAX))
    }

    /// The smallest packet of mode `bytes`, before headers are considered.
    pub fn minimum(&self) -> u32 {
        self.minimum_packet_bytes.unwrap_or(64)
    }
}

impl PlaybackDescription {
    /// The stretch of time whose packets leave together.
    pub fn together(&self) -> Span {
        Span(i64::try_from(self.together_ns).unwrap_or(i64::MAX))
    }
}
