//! Estimators of available bandwidth: which packets they send, and what they conclude from when
//! these arrive.
//!
//! [`Pathload`] sends streams at constant rates and looks for the rate from which on delays rise;
//! [`PathChirp`] sends chirps, whose rate grows from packet to packet, and looks for the packet
//! from which on they do. Both take what became of their packets ([`Sighting`]) and give what to
//! send next; they open no socket and read no clock, so the same estimator runs between two hosts
//! and over a link in virtual time.
//!
//! Sender and receiver may have different clocks: only differences on one clock enter, and a
//! constant offset cancels. A skew does not: 50 ppm are 0.4 µs over a stream of 8 ms.
//!
//! And what a host gives to a measurement on it: [`Availability`] turns the gaps of a thread that
//! is always runnable into the share of a core that it had in every second.
//!
//! And the delay of probes in either direction: the packets of the Simple Two-way Active
//! Measurement Protocol ([`SenderPacket`], [`ReflectorPacket`]), who answers them ([`Reflector`]),
//! when they are sent ([`ProbeSchedule`]), what became of them ([`SenderSession`]), how long they
//! took ([`Delays`]), and how the clocks of the two hosts differ ([`ClockComparison`]).

mod availability;
mod chirp;
mod clock_comparison;
mod delay_summary;
mod envelope;
mod error;
mod excursion;
mod fleet;
mod pathchirp;
mod pathload;
mod probe_schedule;
mod round_trip;
mod search;
mod sender_session;
mod sighting;
mod spacing;
mod stamp;
mod stream;
mod train;
mod trend;

pub use availability::{
    Availability, AvailabilitySecond, AvailabilitySettings, AvailabilityTotals, Charge, Charging,
    DutyCycle, Gap, GapLengths, GapTally, Window, cpu_share, gap_threshold, node_percent,
};
pub use chirp::Chirp;
pub use clock_comparison::{ClockComparison, ClockOffset, ClockVerdict, Skew};
pub use delay_summary::{DelaySummary, DelayVariation, Delays};
pub use envelope::{Envelope, SkewLine};
pub use error::ProbeError;
pub use excursion::{Excursions, Scan};
pub use fleet::{FleetRules, FleetTrend, Quality};
pub use pathchirp::{Estimate, PathChirp, PathChirpSettings};
pub use pathload::{Ending, Pathload, PathloadReport, PathloadSettings, Step};
pub use probe_schedule::{ProbeSchedule, ProbeSpacing};
pub use round_trip::RoundTrip;
pub use search::{Bracket, Search};
pub use sender_session::{
    AnswerFate, Answered, DirectionCounts, Outcome, SenderSession, SessionCounts,
};
pub use sighting::Sighting;
pub use stamp::{
    Accepted, BASE_BYTES as STAMP_BASE_BYTES, ErrorEstimate, LARGEST_BYTES as STAMP_LARGEST_BYTES,
    Reflector, ReflectorCounts, ReflectorPacket, ReflectorSettings, Refusal, SenderPacket,
    StampTime, TimeFormat,
};
pub use stream::{Stream, StreamLimits};
pub use train::dispersion_rate;
pub use trend::{Thresholds, Trend, TrendMetrics};
