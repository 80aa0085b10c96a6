//! What a transfer was like over its time, in few slots: the bytes delivered until each slot's end
//! and the smallest round trip in it.
//!
//! From it come two shapes. The *bend*: where the curve of delivered bytes lies highest above the
//! straight line from its beginning to its end, as behind a token bucket that lets a burst pass.
//! The *rise*: how far the one-way delay from the sender lies above its smallest, by the sender's
//! own clock in the timestamp option; a queue raises it, a sender that is late does not. The
//! *step*: the one moment that splits the floor of the round-trip time into two levels best, and
//! how much of its variation the two levels leave, as after a change of route.
//!
//! Bounded: 64 slots; their width doubles when a transfer outgrows them, so a long one has between
//! 32 and 64.
//!
//! Bias: a floor is the smallest of a slot, so queues that drain within every slot leave no trace.
//! A slot without a sample has none. Samples of an acknowledgement that comes alone for a whole
//! flight are left out by who calls: a receiver that reads late sends one, and it waited for the
//! flight's last segment.

use trustbed_units::Span;

/// Slots at most, as a number of widths.
const WIDTHS: i64 = 64;
/// The number of the last one.
const LAST: u8 = 63;
/// Width of a slot at first: 1 ms.
const NARROWEST: i64 = 1_000_000;
/// Slots with a floor that a step needs …
const LEAST: usize = 12;
/// … of which so many lie on either side of it.
const SIDE: usize = 4;

/// One slot of time.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Highest offset acknowledged by its end; what came before counts where it is lower.
    delivered: i64,
    /// Smallest round-trip time of the capture's own acknowledgements.
    here: i64,
    /// Smallest time to the sender and back, from echoed timestamps.
    there: i64,
    /// When the first stamped data packet came, since the start; `i64::MAX` while none has.
    stamped_at: i64,
    /// Its `TSval`.
    tsval: u32,
    /// Its number.
    at: u8,
}

impl Slot {
    const fn empty(at: u8) -> Self {
        Self { delivered: 0, here: i64::MAX, there: i64::MAX, stamped_at: i64::MAX, tsval: 0, at }
    }

    /// When the first stamped data packet came, and its `TSval`.
    fn timestamp(&self) -> Option<(i64, u32)> {
        (self.stamped_at != i64::MAX).then_some((self.stamped_at, self.tsval))
    }
}

/// The coarsest tick of a sender's clock, in nanoseconds, by which a delay is measured.
const COARSEST: f64 = 4e6;

/// Which round-trip time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Floor {
    /// Data to acknowledgement, beside the sender.
    Here,
    /// Acknowledgement to echo, beside the receiver.
    There,
    /// Both halves, between the two.
    Both,
}

/// A transfer in slots.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    width: i64,
    /// Those in which anything was seen, ascending: a short transfer has a few of the 64.
    slots: Vec<Slot>,
    /// The index of the last call's slot and where it begins: most calls fall into the same.
    last: (usize, i64),
}

/// Where the curve of delivered bytes bends down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bend {
    /// Bytes per second until then.
    pub rate_before: f64,
    /// Bytes per second from then on.
    pub rate_after: f64,
    /// Median of the floors from then on, in nanoseconds.
    pub floor_after: Option<f64>,
}

/// Where the floor of the round-trip time steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloorStep {
    /// Median floor before, in nanoseconds.
    pub before: f64,
    /// Median floor after.
    pub after: f64,
    /// Share of the floors' absolute deviation from their median that remains when each side has
    /// its own.
    pub left: f64,
    /// Rate times floor before the step over rate times floor after it: what was in flight.
    pub flight_ratio: Option<f64>,
}

impl Profile {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    /// Everything below `delivered` was acknowledged, `since_start` after the first data.
    #[inline]
    pub fn on_ack(&mut self, since_start: Span, delivered: i64) {
        let slot = self.slot(since_start);
        slot.delivered = slot.delivered.max(delivered);
    }

    /// A round-trip time was measured beside the sender.
    #[inline]
    pub fn on_rtt(&mut self, since_start: Span, rtt: Span) {
        let slot = self.slot(since_start);
        slot.here = slot.here.min(rtt.0);
    }

    /// The sender's answer to an acknowledgement was timed.
    #[inline]
    pub fn on_echo(&mut self, since_start: Span, echo: Span) {
        let slot = self.slot(since_start);
        slot.there = slot.there.min(echo.0);
    }

    /// Data came that the sender stamped when it sent them.
    #[inline]
    pub fn on_timestamp(&mut self, since_start: Span, tsval: u32) {
        let slot = self.slot(since_start);
        if slot.stamped_at == i64::MAX {
            (slot.stamped_at, slot.tsval) = (since_start.0, tsval);
        }
    }

    #[inline]
    fn slot(&mut self, since_start: Span) -> &mut Slot {
        let (at, begin) = self.last;
        if since_start.0 < begin || since_start.0 - begin >= self.width {
            return self.other_slot(since_start);
        }
        &mut self.slots[at]
    }

    fn other_slot(&mut self, since_start: Span) -> &mut Slot {
        self.width = self.width.max(NARROWEST);
        while since_start.0 / self.width >= WIDTHS {
            self.width = self.width.saturating_mul(2);
            for slot in &mut self.slots {
                slot.at /= 2;
            }
            self.slots.dedup_by(|later, slot| later.at == slot.at && join(slot, later));
        }
        let at = u8::try_from(since_start.0 / self.width).unwrap_or(0).min(LAST);
        let index = match self.slots.last() {
            Some(last) if last.at >= at => self.slots.partition_point(|slot| slot.at < at),
            _ => self.slots.len(),
        };
        if self.slots.get(index).is_none_or(|slot| slot.at != at) {
            self.slots.insert(index, Slot::empty(at));
        }
        self.last = (index, i64::from(at).saturating_mul(self.width));
        &mut self.slots[index]
    }

    /// All 64 slots up to the last one in which anything was seen.
    fn dense(&self) -> Vec<Slot> {
        let mut dense: Vec<Slot> = (0..self.len()).map(Slot::empty).collect();
        for slot in &self.slots {
            dense[usize::from(slot.at)] = *slot;
        }
        dense
    }

    /// Slots up to the last one in which anything was seen.
    fn len(&self) -> u8 {
        self.slots.last().map_or(0, |last| last.at + 1)
    }

    /// Bytes delivered until the end of each slot.
    fn delivered(&self) -> Vec<i64> {
        let mut most = 0;
        self.dense()
            .iter()
            .map(|slot| {
                most = slot.delivered.max(most);
                most
            })
            .collect()
    }

    /// Median over the slots of the one-way delay from the sender above its smallest, in
    /// nanoseconds; `tick` is the sender's, too.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a transfer")]
    pub fn rise(&self, tick: f64) -> Option<f64> {
        let mut timestamps = self.slots.iter().filter_map(Slot::timestamp);
        let (first, origin) = timestamps.clone().next().filter(|_| tick <= COARSEST)?;
        let mut delays: Vec<f64> = timestamps
            .by_ref()
            .map(|(at, tsval)| {
                (at - first) as f64 - f64::from(tsval.wrapping_sub(origin).cast_signed()) * tick
            })
            .collect();
        let least = delays.iter().copied().min_by(f64::total_cmp)?;
        (delays.len() >= LEAST).then(|| median(&mut delays)).flatten().map(|middle| middle - least)
    }

    /// Floors by slot, as the capture point allows.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of round trips")]
    fn floors(&self, floor: Floor) -> Vec<Option<f64>> {
        let known = |time: i64| (time != i64::MAX).then_some(time as f64);
        self.dense()
            .iter()
            .map(|slot| match floor {
                Floor::Here => known(slot.here),
                Floor::There => known(slot.there),
                Floor::Both => Some(known(slot.here)? + known(slot.there)?),
            })
            .collect()
    }

    /// The end of slot `at`, in seconds; the last one ends with the transfer.
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a transfer")]
    fn end(&self, at: usize, duration: Span) -> f64 {
        let end = self.width.saturating_mul(i64::try_from(at + 1).unwrap_or(WIDTHS));
        if at + 1 >= usize::from(self.len()) {
            duration.as_secs_f64()
        } else {
            end.min(duration.0) as f64 / 1e9
        }
    }

    /// Where the delivered bytes lie highest above the line from first to last; `None` where they
    /// never do.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a transfer")]
    pub fn bend(&self, duration: Span, floor: Floor) -> Option<Bend> {
        let delivered = self.delivered();
        let total = *delivered.last()? as f64;
        let whole = duration.as_secs_f64();
        let height = |at: usize| delivered[at] as f64 - total * self.end(at, duration) / whole;
        let inner = 1..delivered.len().saturating_sub(1);
        let at = inner
            .max_by(|&a, &b| height(a).total_cmp(&height(b)))
            .filter(|&at| height(at) > 0.0)?;
        let (then, before) = (self.end(at, duration), delivered[at] as f64);
        if then <= 0.0 || whole <= then {
            return None;
        }
        let mut after: Vec<f64> = self.floors(floor).into_iter().skip(at + 2).flatten().collect();
        Some(Bend {
            rate_before: before / then,
            rate_after: (total - before) / (whole - then),
            floor_after: median(&mut after),
        })
    }

    /// The step that explains the floor of the round-trip time best; `None` with too few samples,
    /// or where it never varied.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a transfer")]
    pub fn floor_step(&self, duration: Span, floor: Floor) -> Option<FloorStep> {
        let seen: Vec<(usize, f64)> = self
            .floors(floor)
            .into_iter()
            .enumerate()
            .filter_map(|(at, f)| Some((at, f?)))
            .collect();
        if seen.len() < LEAST {
            return None;
        }
        let whole = deviation(&seen).1;
        let split = (SIDE..=seen.len() - SIDE)
            .map(|at| (at, deviation(&seen[..at]), deviation(&seen[at..])))
            .min_by(|a, b| (a.1.1 + a.2.1).total_cmp(&(b.1.1 + b.2.1)))?;
        let (at, (before, left_before), (after, left_after)) = split;
        if whole <= 0.0 {
            return None;
        }
        let delivered = self.delivered();
        let last = seen[at].0.saturating_sub(1);
        let (then, until) = (self.end(last, duration), *delivered.get(last)? as f64);
        let flown = until / then * before;
        let flies = (*delivered.last()? as f64 - until) / (duration.as_secs_f64() - then) * after;
        let flight_ratio = (flies > 0.0 && flown.is_finite()).then(|| flown / flies);
        Some(FloorStep { before, after, left: (left_before + left_after) / whole, flight_ratio })
    }

    /// The clock stepped: what was seen no longer lies on one axis.
    pub fn on_clock_step(&mut self) {
        *self = Self::default();
    }
}

fn join(slot: &mut Slot, later: &Slot) -> bool {
    slot.delivered = slot.delivered.max(later.delivered);
    slot.here = slot.here.min(later.here);
    slot.there = slot.there.min(later.there);
    if slot.stamped_at == i64::MAX {
        (slot.stamped_at, slot.tsval) = (later.stamped_at, later.tsval);
    }
    true
}

/// The median of floors and the sum of their distances from it.
fn deviation(floors: &[(usize, f64)]) -> (f64, f64) {
    let mut values: Vec<f64> = floors.iter().map(|&(_, floor)| floor).collect();
    let middle = median(&mut values).unwrap_or(0.0);
    (middle, values.iter().map(|value| (value - middle).abs()).sum())
}

/// The middle one; of an even number the mean of the two in the middle.
fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let high = *values.get(half)?;
    if values.len().is_multiple_of(2) {
        Some(f64::midpoint(values[half - 1], high))
    } else {
        Some(high)
    }
}
