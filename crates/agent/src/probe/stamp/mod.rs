//! The verbs `reflect` and `probe`: delay, loss and clock offset by the Simple Two-way Active
//! Measurement Protocol (RFC 8762).
//!
//! `trustbed-probe` decides what packets look like, who is answered and what became of probes; here
//! are the sockets and the clock. Both verbs follow the protocol on the wire, so that the other
//! side can be another implementation.
//!
//! A packet's arrival is the kernel's (`SO_TIMESTAMPING`) where it has one, and so is a probe's
//! departure; the timestamp in a packet is when this program handed it to the kernel. So the time
//! that an answer waits for the interface counts as delay of the reverse direction: some
//! microseconds, more on a busy host.

mod kernel;
mod probe;
mod probe_loop;
mod probe_report;
mod reflect;

use serde::Deserialize;
use trustbed_probe::{ErrorEstimate, TimeFormat};
use trustbed_units::{Ns, Span};

pub(crate) use probe::run as probe;
pub(crate) use reflect::run as reflect;

use crate::sys::clock::{self, Offset};

/// As much as UDP carries.
const LARGEST: usize = 65_536;
/// How often the state of the clock is read.
const LOOK: Span = Span::from_secs(1);

/// The format of timestamps that a side writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
enum Timestamps {
    #[default]
    Ntp,
    Ptp,
}

impl Timestamps {
    const fn format(self) -> TimeFormat {
        match self {
            Self::Ntp => TimeFormat::Ntp,
            Self::Ptp => TimeFormat::Ptp,
        }
    }
}

/// The state of this host's real-time clock, read once in a while.
#[derive(Debug, Clone, Copy)]
struct ClockState {
    format: TimeFormat,
    offset: Offset,
    synchronized: bool,
    error: Span,
    due: Ns,
}

impl ClockState {
    fn new(timestamps: Timestamps) -> Self {
        let (synchronized, error) = kernel::clock_error();
        Self {
            format: timestamps.format(),
            offset: Offset::measure(),
            synchronized,
            error,
            due: clock::monotonic() + LOOK,
        }
    }

    /// Reads the clock state again if it is time to.
    fn refresh(&mut self, now: Ns) {
        if now >= self.due {
            self.due = now + LOOK;
            self.offset.refresh();
            (self.synchronized, self.error) = kernel::clock_error();
        }
    }

    fn estimate(&self) -> ErrorEstimate {
        ErrorEstimate::of(self.error, self.synchronized, self.format)
    }
}
