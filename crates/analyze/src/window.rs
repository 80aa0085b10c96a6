//! The advertised window over time: saturated, closed, zero.

use trustbed_units::{Ns, Span};

use crate::TimeWeighted;

/// Advertised window of the receiver, from the first data to the last acknowledgement; from the
/// first window on where none was known before.
#[derive(Debug, Clone, Default)]
pub struct WindowTime {
    /// A window was known once.
    is_known: bool,
    since: Option<Ns>,
    window: u32,
    first: u32,
    largest: u32,
    levels: TimeWeighted,
    closed: i64,
    zero: i64,
    zero_events: u32,
    shrunk: i64,
    /// Windows while nothing was outstanding, with their durations: they count once more data
    /// follow.
    idle: Vec<(u32, i64)>,
}

/// Windows kept of one idle time; more are taken for the last.
const IDLE: usize = 64;

impl WindowTime {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        self.levels.held_bytes() + self.idle.capacity() * size_of::<(u32, i64)>()
    }

    /// The window stood at `window` when the first data was sent.
    pub fn begin(now: Ns, window: u32) -> Self {
        Self {
            is_known: true,
            since: Some(now),
            window,
            first: window,
            largest: window,
            ..Self::default()
        }
    }

    /// The receiver advertised `window`. While nothing is outstanding (`idle`) the time is not
    /// counted before more data follow.
    #[inline]
    pub fn on_window(&mut self, now: Ns, window: u32, mss: u32, idle: bool) {
        if !self.is_known {
            *self = Self::begin(now, window);
            self.zero_events = u32::from(window == 0);
            return;
        }
        if window == 0 && self.window != 0 {
            self.zero_events += 1;
        }
        if idle {
            self.wait(now);
        } else {
            self.settle(now, mss);
        }
        self.window = window;
        self.largest = self.largest.max(window);
    }

    /// Data were sent or acknowledged: what went before counts.
    #[inline]
    pub fn settle(&mut self, now: Ns, mss: u32) {
        if !self.idle.is_empty() {
            let mut idle = std::mem::take(&mut self.idle);
            for (window, time) in idle.drain(..) {
                self.count(window, time, mss);
            }
            // Its memory is good for the next idle time.
            self.idle = idle;
        }
        if let Some(since) = self.since {
            self.count(self.window, (now - since).0, mss);
        }
        self.since = self.is_known.then_some(now);
    }

    /// Nothing is outstanding: the time since the last window waits for more data.
    fn wait(&mut self, now: Ns) {
        if let Some(since) = self.since {
            let time = (now - since).0;
            let full = self.idle.len() >= IDLE;
            match self.idle.last_mut() {
                Some(last) if last.0 == self.window || full => last.1 += time,
                _ => self.idle.push((self.window, time)),
            }
        }
        self.since = Some(now);
    }

    #[inline]
    fn count(&mut self, window: u32, time: i64, mss: u32) {
        self.levels.add(u64::from(window), time);
        let was_larger = window < self.largest || window == 0;
        if was_larger && u64::from(window) < 2 * u64::from(mss) {
            self.closed += time.max(0);
        }
        if window == 0 {
            self.zero += time.max(0);
        }
        if 10 * u64::from(window) < 9 * u64::from(self.largest) {
            self.shrunk += time.max(0);
        }
    }

    /// The window when the first data was sent.
    pub const fn first(&self) -> u32 {
        self.first
    }

    /// Share of `duration` with at least 0.9 of the largest window.
    pub fn saturated(&self, duration: Span) -> f64 {
        self.levels.at_least(0.9 * f64::from(self.largest)) / duration.as_f64()
    }

    /// Share of `duration` with less than two segments, after a larger window: two segments of the
    /// loopback interface are more than many a receiver offers.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds")]
    pub fn closed(&self, duration: Span) -> f64 {
        self.closed as f64 / duration.as_f64()
    }

    /// Share of `duration` with less than 0.9 of the largest window until then: it had been larger
    /// before.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds")]
    pub fn shrunk(&self, duration: Span) -> f64 {
        self.shrunk as f64 / duration.as_f64()
    }

    /// Time with a zero window, and how often it began.
    pub fn zero(&self) -> (Span, u32) {
        (Span(self.zero), self.zero_events)
    }

    /// The clock stepped.
    pub fn on_clock_step(&mut self) {
        self.since = None;
        self.idle.clear();
    }
}
