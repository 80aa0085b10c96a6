//! Whether losses happen whenever a token bucket would be empty, as behind a policer (Flach et al.,
//! *An Internet-Wide Analysis of Traffic Policing*, SIGCOMM 2016).
//!
//! A policer's tokens grow at its rate and shrink with every byte that passes. All lost packets
//! then meet an empty bucket, so the bytes that had passed by each loss lie on one line over time,
//! whose slope is the rate, and every other packet met more tokens. The rank of the losses shows
//! which share of the packets met fewer: near 0 behind a policer (and at a full queue, which
//! empties at a constant rate just so: the round-trip time before losses distinguishes them), one
//! half for losses that do not depend on what was sent.
//!
//! Beside the sender a loss is dated by the first copy of what is retransmitted, away from it by
//! the packet that left a gap.
//!
//! Bounded: 128 losses and 256 sent packets, thinned evenly, kept from the first loss on; the last
//! 64 gaps.
//!
//! Bias: losses of the first 15 % of a transfer are left out, because slow start overruns any
//! bottleneck by a whole flight at once.

use std::collections::VecDeque;

use trustbed_units::Span;

/// Losses that a line needs.
const LEAST: usize = 5;
/// Losses kept.
const LOSSES: usize = 128;
/// Sent packets kept.
const PACKETS: usize = 256;
/// Gaps remembered until they are filled.
const GAPS: usize = 64;
/// Share of the transfer that is left to slow start.
const STARTING: f64 = 0.15;

/// A packet: when it was sent after the first data, in nanoseconds, and its offset.
#[derive(Debug, Clone, Copy)]
struct Mark {
    sent: i64,
    offset: i64,
    /// Bytes lost below the offset, as far as known when it was noted.
    lost: i64,
}

/// Every so many of a stream of marks, at most a fixed number.
#[derive(Debug, Clone, Default)]
struct Thinned {
    marks: Vec<Mark>,
    skipped: u32,
    stride: u32,
}

impl Thinned {
    fn add(&mut self, mark: Mark, most: usize) {
        if self.skipped < self.stride {
            self.skipped += 1;
            return;
        }
        self.skipped = 0;
        if self.marks.len() >= most {
            let mut odd = false;
            self.marks.retain(|_| {
                odd = !odd;
                odd
            });
            self.stride = self.stride * 2 + 1;
        }
        self.marks.push(mark);
    }
}

/// Losses against a token bucket. Nothing is kept before the first loss.
#[derive(Debug, Clone, Default)]
pub struct Bucket {
    lost: i64,
    kept: Option<Box<[Thinned; 2]>>,
    /// End of the highest data seen.
    top: i64,
    gaps: VecDeque<Gap>,
}

/// Bytes that were passed over, and when.
#[derive(Debug, Clone, Copy)]
struct Gap {
    start: i64,
    end: i64,
    since: Span,
    /// The last round-trip time measured by then.
    rtt: Option<Span>,
}

impl Bucket {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        let marks = self.kept.as_deref().map_or(0, |kept| {
            let marks: usize = kept.iter().map(|thinned| thinned.marks.capacity()).sum();
            size_of::<[Thinned; 2]>() + marks * size_of::<Mark>()
        });
        marks + self.gaps.capacity() * size_of::<Gap>()
    }

    /// The packet at `offset` was retransmitted for the first time; it had been sent `sent` after
    /// the first data.
    pub fn on_loss(&mut self, sent: Span, offset: i64, length: u32) {
        let [losses, _] = &mut **self.kept.get_or_insert_with(Box::default);
        losses.add(Mark { sent: sent.0, offset, lost: self.lost }, LOSSES);
        self.lost += i64::from(length);
    }

    /// Bytes at `offset` came that an earlier packet had passed over, and they had been lost on the
    /// path to here. Returns the round-trip time of the moment at which they were passed over.
    pub fn on_fill(&mut self, offset: i64, length: u32) -> Option<Span> {
        let gap = self.gaps.iter().find(|gap| gap.start <= offset && offset < gap.end).copied()?;
        self.on_loss(gap.since, offset, length);
        gap.rtt
    }

    /// New data at `offset` were sent; `rtt` is the last round-trip time measured, away from the
    /// sender. Returns the beginning of the bytes that they passed over, if they did.
    #[inline]
    pub fn on_new(
        &mut self,
        sent: Span,
        offset: i64,
        length: u32,
        rtt: Option<Span>,
    ) -> Option<i64> {
        let passed_over = (offset > self.top && self.top > 0).then_some(self.top);
        if passed_over.is_some() {
            if self.gaps.len() >= GAPS {
                self.gaps.pop_front();
            }
            self.gaps.push_back(Gap { start: self.top, end: offset, since: sent, rtt });
        }
        self.top = self.top.max(offset + i64::from(length));
        if let Some(kept) = &mut self.kept {
            kept[1].add(Mark { sent: sent.0, offset, lost: self.lost }, PACKETS);
        }
        passed_over
    }

    /// Share of the packets that met fewer tokens than the median loss; `None` with fewer than five
    /// losses after slow start.
    #[expect(clippy::cast_precision_loss, reason = "bytes and nanoseconds of a transfer")]
    pub fn rank(&self, duration: Span) -> Option<f64> {
        let [losses, packets] = &**self.kept.as_ref()?;
        let from = STARTING * duration.as_f64();
        let late: Vec<Mark> =
            losses.marks.iter().copied().filter(|mark| mark.sent as f64 > from).collect();
        if late.len() < LEAST {
            return None;
        }
        let points: Vec<(f64, f64)> =
            late.iter().map(|mark| (mark.sent as f64, (mark.offset - mark.lost) as f64)).collect();
        let (slope, middle) = line(&points)?;
        let level = |time: f64, passed: f64| middle.1 + slope * (time - middle.0) - passed;
        let mut at_loss: Vec<f64> =
            points.iter().map(|&(time, passed)| level(time, passed)).collect();
        at_loss.sort_by(f64::total_cmp);
        let median = at_loss[at_loss.len() / 2];
        let between = late
            .iter()
            .fold((i64::MAX, i64::MIN), |(a, b), mark| (a.min(mark.sent), b.max(mark.sent)));
        let mut by_offset = losses.marks.clone();
        by_offset.sort_by_key(|mark| mark.offset);
        let (mut emptier, mut all) = (0_u32, 0_u32);
        for packet in
            packets.marks.iter().filter(|mark| mark.sent >= between.0 && mark.sent <= between.1)
        {
            let passed = packet.offset as f64
                - self.lost_below(&by_offset, packet.offset, losses.stride == 0);
            all += 1;
            emptier += u32::from(level(packet.sent as f64, passed) < median);
        }
        (all > 0).then(|| f64::from(emptier) / f64::from(all))
    }

    /// Bytes lost below `offset`: when a packet was sent, the losses below it were not yet known.
    /// Between two losses that were kept of many (not `exact`), those in between are taken as
    /// evenly spread.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a transfer")]
    fn lost_below(&self, by_offset: &[Mark], offset: i64, exact: bool) -> f64 {
        let at = by_offset.partition_point(|mark| mark.offset < offset);
        let next = by_offset.get(at).map(|mark| (mark.offset, mark.lost));
        let before =
            at.checked_sub(1).and_then(|at| by_offset.get(at)).map(|mark| (mark.offset, mark.lost));
        match (before, next) {
            (Some(before), Some(next)) if !exact && next.0 > before.0 => {
                let share = (offset - before.0) as f64 / (next.0 - before.0) as f64;
                before.1 as f64 + share * (next.1 - before.1) as f64
            }
            (_, Some(next)) => next.1 as f64,
            _ => self.lost as f64,
        }
    }

    /// The clock stepped.
    pub fn on_clock_step(&mut self) {
        *self = Self::default();
    }
}

/// Least squares: slope, and the point of the means.
#[expect(clippy::cast_precision_loss, reason = "a count")]
fn line(points: &[(f64, f64)]) -> Option<(f64, (f64, f64))> {
    let n = points.len() as f64;
    let mean =
        (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let spread: f64 = points.iter().map(|p| (p.0 - mean.0).powi(2)).sum();
    let product: f64 = points.iter().map(|p| (p.0 - mean.0) * (p.1 - mean.1)).sum();
    (spread > 0.0).then(|| (product / spread, mean))
}
