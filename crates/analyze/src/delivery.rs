//! How fast data arrived, from the acknowledgements of one transfer: delivery rate, its steadiness,
//! and from these the capacity.
//!
//! Every advancing acknowledgement gives a rate over the last τ = max(mean RTT, 50 ms). The mean
//! RTT is the mean so far (a stream cannot know the final one), and the first min(1 s, D/4) are
//! left out: while D is below 4 s the samples of the first second are kept apart, thinned evenly
//! beyond 512, so that the cut can be made at the end.

use std::collections::VecDeque;

use trustbed_units::{Ns, Span};

use crate::Distribution;

const SHORTEST_WINDOW: Span = Span::from_millis(50);
const SECOND: Span = Span::from_secs(1);
/// Acknowledgements kept of one window τ; beyond, every other one is dropped.
const KEPT: usize = 512;

/// Delivery rate of one transfer.
#[derive(Debug, Clone, Default)]
pub struct Delivery {
    recent: VecDeque<(Ns, i64)>,
    early: Vec<(Span, i64)>,
    stride: u32,
    skipped: u32,
    /// Twice as fine as others: how steady a rate is decides by its tenth.
    rates: Distribution<7>,
}

/// Percentiles of the delivery rate in bytes per second, by nearest rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// 10th percentile.
    pub p10: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
}

impl Delivery {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        self.recent.capacity() * size_of::<(Ns, i64)>()
            + self.early.capacity() * size_of::<(Span, i64)>()
            + self.rates.held_bytes()
    }

    /// An acknowledgement of everything below `acknowledged`, `since_start` after the first data.
    #[inline]
    pub fn on_ack(
        &mut self,
        now: Ns,
        acknowledged: i64,
        since_start: Span,
        rtt_mean: Option<Span>,
    ) {
        let window = rtt_mean.map_or(SHORTEST_WINDOW, |r| r.max(SHORTEST_WINDOW));
        while let Some(&(then, _)) = self.recent.front()
            && then < now - window
        {
            self.recent.pop_front();
        }
        if let Some(&(then, before)) = self.recent.front()
            && now > then
            && acknowledged > before
        {
            let rate = rate(acknowledged - before, now - then);
            if since_start >= SECOND {
                self.rates.add(rate);
            } else {
                self.keep_early(since_start, rate);
            }
        }
        if self.recent.len() >= KEPT {
            let mut odd = false;
            self.recent.retain(|_| {
                odd = !odd;
                odd
            });
        }
        self.recent.push_back((now, acknowledged));
        if since_start >= Span(4 * SECOND.0) && !self.early.is_empty() {
            self.early = Vec::new();
        }
    }

    fn keep_early(&mut self, since_start: Span, rate: i64) {
        if self.skipped < self.stride {
            self.skipped += 1;
            return;
        }
        self.skipped = 0;
        if self.early.len() >= KEPT {
            let mut odd = false;
            self.early.retain(|_| {
                odd = !odd;
                odd
            });
            self.stride = self.stride * 2 + 1;
        }
        self.early.push((since_start, rate));
    }

    /// Percentiles of the delivery rate for a transfer that lasted `duration`.
    pub fn rates(&mut self, duration: Span) -> Option<Rates> {
        let skip = SECOND.min(Span(duration.0 / 4));
        let mut all;
        let rates = if skip < SECOND && self.early.iter().any(|(t, _)| *t >= skip) {
            all = self.rates.clone();
            for &(_, rate) in self.early.iter().filter(|(t, _)| *t >= skip) {
                for _ in 0..=self.stride {
                    all.add(rate);
                }
            }
            &mut all
        } else {
            &mut self.rates
        };
        Some(Rates {
            p10: rates.nearest_rank(0.1)?,
            p50: rates.nearest_rank(0.5)?,
            p90: rates.nearest_rank(0.9)?,
        })
    }

    /// The clock stepped: no rate spans it.
    pub fn on_clock_step(&mut self) {
        self.recent.clear();
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "bytes per second of one window"
)]
fn rate(bytes: i64, time: Span) -> i64 {
    (bytes as f64 / time.as_secs_f64()) as i64
}
