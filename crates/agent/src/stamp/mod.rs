//! The verbs `reflect` and `probe`: delay, loss and the difference of two clocks by the Simple Two-way Active Measurement Protocol (RFC 8762).
//!
//! What packets look like, who answers them and what became of them is decided in `trustbed-probe`; here are the sockets and the clock. Both
//! verbs keep to the protocol on the wire, so that either can be another implementation.
//!
//! A packet came when the kernel took it up (`SO_TIMESTAMPING`), where the kernel says so. A probe left when the kernel handed it to its
//! interface, where that tells; its timestamp says when this program gave it to the kernel, as that of an answer always does. So what an answer
//! waits on its way down to the interface counts as delay of the way back: some microseconds, more on a busy host.

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

use crate::clock::{self, Offset};

/// As much as UDP carries.
const LARGEST: usize = 65_536;
/// How often the state of the clock is looked at.
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

/// The state of this host's real-time clock, looked at once in a while.
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

    /// Looks again if it is time to.
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
