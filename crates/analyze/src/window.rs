//! The advertised window over time: saturated, closed, zero.

use trustbed_units::{Ns, Span};

use crate::TimeWeighted;

/// Advertised window of the receiver, from the first data to the last acknowledgement.
#[derive(Debug, Clone, Default)]
pub struct WindowTime {
    since: Option<Ns>,
    window: u32,
    largest: u32,
    levels: TimeWeighted,
    closed: i64,
    zero: i64,
    zero_events: u32,
}

impl WindowTime {
    /// The window stood at `window` when the first data was sent.
    pub fn begin(now: Ns, window: u32) -> Self {
        Self { since: Some(now), window, largest: window, ..Self::default() }
    }

    /// The receiver advertised `window`. While nothing is outstanding (`idle`) the time is not counted before more data follow.
    #[inline]
    pub fn on_window(&mut self, now: Ns, window: u32, mss: u32, idle: bool) {
        if window == 0 && self.window != 0 {
            self.zero_events += 1;
        }
        if !idle {
            self.settle(now, mss);
        }
        self.window = window;
        self.largest = self.largest.max(window);
    }

    /// Data were sent or acknowledged: what went before counts.
    #[inline]
    pub fn settle(&mut self, now: Ns, mss: u32) {
        if let Some(since) = self.since {
            let passed = (now - since).0;
            self.levels.add(u64::from(self.window), passed);
            if u64::from(self.window) < 2 * u64::from(mss) {
                self.closed += passed.max(0);
            }
            if self.window == 0 {
                self.zero += passed.max(0);
            }
        }
        self.since = Some(now);
    }

    /// Share of `duration` with at least 0.9 of the largest window.
    pub fn saturated(&self, duration: Span) -> f64 {
        self.levels.at_least(0.9 * f64::from(self.largest)) / duration.as_f64()
    }

    /// Share of `duration` with less than two segments.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds")]
    pub fn closed(&self, duration: Span) -> f64 {
        self.closed as f64 / duration.as_f64()
    }

    /// Time with a zero window, and how often it began.
    pub fn zero(&self) -> (Span, u32) {
        (Span(self.zero), self.zero_events)
    }

    /// The clock stepped.
    pub fn on_clock_step(&mut self) {
        self.since = None;
    }
}
