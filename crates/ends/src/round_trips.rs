//! Round trips taken apart: what of each was spent at the receiver, and what on the way, whatever the clocks say.
//!
//! A data frame leaves the sender and is acknowledged there later: the round trip, by the sender's clock. At the receiver it arrives, and the
//! acknowledgement leaves: the turnaround, by the receiver's clock. The difference was spent on the way there and back. No clock is compared
//! with another; a skew of 100 ppm is a microsecond in ten milliseconds.
//!
//! Only acknowledgements that end exactly where a frame did count. Which transmission arrived is known here, so bytes that were sent again are
//! timed from the copy that did; of bytes that arrived twice before they were acknowledged none count (Karn and Partridge, SIGCOMM 1987). A
//! delayed acknowledgement is part of the turnaround.

use std::collections::BTreeMap;

use trustbed_analyze::Distribution;
use trustbed_units::{Ns, Span};

/// The round trips of one direction of data.
#[derive(Debug, Default)]
pub struct RoundTrips {
    /// From a frame's leaving to its acknowledgement, at the sender, in nanoseconds.
    pub whole: Distribution,
    /// From its arrival to that acknowledgement, at the receiver.
    pub turnaround: Distribution,
    /// What is left for the way there and back.
    pub path: Distribution,
    /// Round trips that were shorter than their turnaround: one of the captures was late in stamping.
    pub negative: u64,
    outstanding: BTreeMap<i64, Outstanding>,
}

#[derive(Debug, Clone, Copy)]
struct Outstanding {
    sent: Ns,
    arrived: Ns,
    is_ambiguous: bool,
}

/// Frames that are waiting for an acknowledgement; older ones are given up.
const MOST: usize = 1 << 16;

impl RoundTrips {
    /// A data frame that ends with this offset was sent, and arrived.
    pub(crate) fn on_data(&mut self, end: i64, sent: Ns, arrived: Ns) {
        self.outstanding
            .entry(end)
            .and_modify(|held| held.is_ambiguous = true)
            .or_insert(Outstanding { sent, arrived, is_ambiguous: false });
        if self.outstanding.len() > MOST {
            self.outstanding.pop_first();
        }
    }

    /// A data frame was sent and did not arrive: what ends there has been sent more than once if it ever arrives.
    pub(crate) fn on_lost(&mut self, end: i64) {
        if let Some(held) = self.outstanding.get_mut(&end) {
            held.is_ambiguous = true;
        }
    }

    /// An acknowledgement of everything below an offset left the receiver, and arrived at the sender.
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
