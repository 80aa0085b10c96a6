//! The figures of a time in which a thread spun, for the file and the report.

use std::collections::BTreeMap;

use serde::Serialize;
use trustbed_probe::{Charge, GapTally, node_percent};

/// Statistics of gaps.
#[derive(Debug, Serialize)]
pub(super) struct Figures {
    /// How long it was watched, and how much of that was lost in gaps.
    watched_ns: i64,
    lost_ns: i64,
    /// Of one core; none where nothing was watched.
    share: Option<f64>,
    /// Of the node: the share divided by the cores that the program may use.
    availability_percent: Option<f64>,
    passes: u64,
    /// Gaps that began in it.
    gaps: u64,
    /// Some of them are missing among the single ones, and nowhere else.
    gaps_truncated: bool,
    longest_gap_ns: Option<i64>,
    /// How many there were by the power of two of nanoseconds that they reach.
    gap_lengths: BTreeMap<u32, u64>,
}

impl Figures {
    pub(super) fn of(tally: &GapTally, cores: u32) -> Self {
        Self {
            watched_ns: tally.watched.0,
            lost_ns: tally.lost.0,
            share: tally.share(),
            availability_percent: tally.share().map(|share| node_percent(share, cores)),
            passes: tally.passes,
            gaps: tally.gaps,
            gaps_truncated: tally.gaps_left_out > 0,
            longest_gap_ns: tally.longest.map(|longest| longest.0),
            gap_lengths: tally.lengths.counts().collect(),
        }
    }
}

/// What the kernel reports that the thread used of a processor, between two readings of the
/// thread's clock in that time.
#[derive(Debug, Serialize)]
pub(super) struct Charged {
    elapsed_ns: i64,
    used_ns: i64,
    share: Option<f64>,
    /// By how much more than the thread had.
    excess_share: Option<f64>,
    /// So much that the processor itself must have been descheduled without steal.
    in_vain: Option<bool>,
}

impl From<Charge> for Charged {
    fn from(charge: Charge) -> Self {
        Self {
            elapsed_ns: charge.elapsed.0,
            used_ns: charge.charged.0,
            share: charge.share(),
            excess_share: charge.excess(),
            in_vain: charge.is_in_vain(),
        }
    }
}
