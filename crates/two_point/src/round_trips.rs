//! Round trips split into time at the receiver and time on the path, independent of the clock
//! offset.
//!
//! The round trip runs from a data frame to its acknowledgement at the sender, by the sender's
//! clock; the turnaround from arrival to acknowledgement at the receiver, by the receiver's clock.
//! The difference is the time on the path in both directions. No clock is compared with another; a
//! skew of 100 ppm is a microsecond in ten milliseconds.
//!
//! Only acknowledgements that end exactly at a frame's end count. Two captures show which
//! transmission arrived, so retransmitted bytes are timed from the copy that did; bytes that
//! arrived twice before their acknowledgement do not count (Karn and Partridge, SIGCOMM 1987). A
//! delayed acknowledgement is part of the turnaround.

use std::collections::BTreeMap;

use trustbed_analyze::Distribution;
use trustbed_units::{Ns, Span};

/// The round trips of one direction of data.
#[derive(Debug, Default)]
pub struct RoundTrips {
    /// From a frame to its acknowledgement at the sender, in nanoseconds.
    pub whole: Distribution,
    /// From its arrival to that acknowledgement at the receiver.
    pub turnaround: Distribution,
    /// The rest: time on the path in both directions.
    pub path: Distribution,
    /// Round trips shorter than their turnaround: late timestamps in one capture.
    pub negative: u64,
    /// Frames that give none, because too many were unacknowledged.
    pub left_out: u64,
    outstanding: BTreeMap<i64, Outstanding>,
}

#[derive(Debug, Clone, Copy)]
struct Outstanding {
    sent: Ns,
    arrived: Ns,
    is_ambiguous: bool,
}

/// Unacknowledged frames at most; older ones are left out.
const MOST: usize = 1 << 16;

impl RoundTrips {
    /// A data frame ending at this offset was sent and delivered.
    pub(crate) fn on_data(&mut self, end: i64, sent: Ns, arrived: Ns) {
        self.outstanding
            .entry(end)
            .and_modify(|held| held.is_ambiguous = true)
            .or_insert(Outstanding { sent, arrived, is_ambiguous: false });
        if self.outstanding.len() > MOST {
            self.keep(MOST);
        }
    }

    /// Frames that are not acknowledged.
    pub(crate) fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Drops the oldest unacknowledged frames beyond so many.
    pub(crate) fn keep(&mut self, most: usize) {
        while self.outstanding.len() > most {
            self.outstanding.pop_first();
            self.left_out += 1;
        }
    }

    /// A data frame was lost: a later delivery of its last byte is a retransmission.
    pub(crate) fn on_lost(&mut self, end: i64) {
        if let Some(held) = self.outstanding.get_mut(&end) {
            held.is_ambiguous = true;
        }
    }

    /// An acknowledgement of everything below an offset left the receiver and reached the sender.
    pub(crate) fn on_ack(&mut self, to: i64, left: Ns, arrived: Ns) {
        let exact = self.outstanding.get(&to).copied();
        self.outstanding = self.outstanding.split_off(&(to + 1));
        let Some(frame) = exact.filter(|frame| !frame.is_ambiguous) else { return };
        let (whole, turnaround) = (arrived - frame.sent, left - frame.arrived);
        let path = whole - turnaround;
        if path < Span::ZERO || turnaround < Span::ZERO {
            self.negative += 1;
            return;
        }
        self.whole.add(whole.0);
        self.turnaround.add(turnaround.0);
        self.path.add(path.0);
    }
}
