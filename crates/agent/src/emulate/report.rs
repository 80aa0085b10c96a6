//! The emulator's events: ready, progress, report.

use serde::Serialize;
use trustbed_emulate::Summary;
use trustbed_units::Span;

use super::ledger::Written;
use super::mover::{Fared, Mover};
use super::port::PortCounts;
use super::tap::Tapped;
use crate::sys::clock::Granted;
use crate::sys::idle;

/// The `ready` event.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Ready {
    pub(super) verb: &'static str,
    pub(super) agent_version: &'static str,
    pub(super) process: u32,
    pub(super) seed: u64,
    #[serde(flatten)]
    pub(super) granted: Granted,
    #[serde(flatten)]
    pub(super) idle: idle::Granted,
    pub(super) ports: Vec<ReadyPort>,
}

/// An interface that is bound.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ReadyPort {
    pub(super) host: String,
    pub(super) interface: String,
    pub(super) mtu_bytes: usize,
    pub(super) receive_buffer_bytes: u32,
}

/// Packets are moved.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Started {
    /// The moment that was requested, or the one at which it was requested.
    pub(super) at_ns: i64,
}

/// How it goes.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Progress {
    pub(super) received_packets: u64,
    pub(super) sent_packets: u64,
    pub(super) refused_packets: u64,
    pub(super) lost_records: u64,
}

/// The results.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) duration_ns: i64,
    #[serde(flatten)]
    pub(super) summary: Summary,
    pub(super) ports: Vec<PortCounts>,
    pub(super) ledger: Option<Written>,
    /// Captures at routers.
    pub(super) taps: Vec<Tapped>,
    pub(super) own: Own,
}

/// How the program itself fared.
#[derive(Debug, Serialize)]
pub(super) struct Own {
    #[serde(flatten)]
    granted: Granted,
    #[serde(flatten)]
    idle: idle::Granted,
    /// How often it slept although there was something to do, because real-time priority left no
    /// time for others.
    short_sleeps: u64,
    /// Of one core, by the moving thread.
    processor_share: f64,
    asleep_share: f64,
    turns: u64,
    longest_turn_ns: i64,
    /// How often the real-time clock was stepped meanwhile.
    clock_steps: u32,
    /// Frames whose timestamp could not be used.
    restamped_packets: u64,
}

impl Own {
    /// How a mover fared that ran for a time and used that much of a core.
    pub(super) fn new(mover: &Mover, idle: idle::Granted, duration: Span, processor: Span) -> Self {
        let share = |part: Span| part.as_f64() / duration.as_f64().max(1.0);
        let Fared { turns, asleep, longest_turn } = mover.fared;
        Self {
            granted: mover.granted.clone(),
            idle,
            short_sleeps: mover.rest.short_sleeps(),
            processor_share: share(processor),
            asleep_share: share(asleep),
            turns,
            longest_turn_ns: longest_turn.0,
            clock_steps: mover.time.steps(),
            restamped_packets: mover.time.restamped(),
        }
    }
}
