//! The virtual bottleneck: the queue that traffic would build in front of a link of a given rate.
//!
//! With q₀ waiting at first, packet i of length Lᵢ that arrives Δᵢ after its predecessor finds
//!
//! ```text
//! waitᵢ = max(0, qᵢ₋₁ − rate·Δᵢ)        qᵢ = waitᵢ + Lᵢ
//! ```
//!
//! (Lindley's recursion, "The theory of queues with a single server", 1952). The largest wait is
//! the *burstiness*: without the packet itself, so that traffic paced at the rate has none. The
//! largest q, the *system* backlog, is what a buffer would have to hold.
//!
//! What a stretch of traffic does to the backlog q in front of it is always of the form end(q) =
//! max(q + shift, floor) and peak(q) = max(q + shift, floor). Two such functions after one another
//! are one again, so stretches can be measured in any order, on any core, and joined: [`Chunk`].
//! All of it in whole numbers; [`Server`] is the slow twin, one packet at a time.

use std::ops::{Add, Div, Mul, Sub};

use trustbed_units::Ns;

use crate::{Backlog, Drain, Packets};

/// As many packets are measured at once where their sums fit into 64 bits.
const BLOCK: usize = 4096;
/// Sums up to here cannot overflow when two of them are added or subtracted.
pub(crate) const ROOM: u128 = 1 << 61;

/// What a stretch of traffic does to the backlog q in front of it, in units of the link
/// ([`Drain`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// end(q) = max(q + `shift`, `floor`).
    pub shift: i128,
    /// The backlog at the end when there was none at first.
    pub floor: i128,
    /// Largest wait = max(q + `wait_shift`, `wait_floor`).
    pub wait_shift: i128,
    /// The largest wait when there was no backlog at first.
    pub wait_floor: i128,
    /// Largest system backlog = max(q + `system_shift`, `system_floor`).
    pub system_shift: i128,
    /// The largest system backlog when there was none at first.
    pub system_floor: i128,
}

/// A stretch of traffic, from its first packet to its last, as a bottleneck sees it; never without
/// a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    link: Drain,
    first: i64,
    last: i64,
    packets: u64,
    bytes: u64,
    effect: Effect,
}

/// The largest backlogs among some packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peaks {
    /// Found by an arriving packet, which is not counted: the burstiness.
    pub wait: Backlog,
    /// With the arriving packet: what a buffer would have to hold.
    pub system: Backlog,
}

/// A bottleneck that takes packets one at a time: slow, plain, and the yardstick of [`Chunk`].
#[derive(Debug, Clone, Copy)]
pub struct Server {
    link: Drain,
    last: Option<Ns>,
    backlog: i128,
}

impl Chunk {
    /// Measures packets; `None` when there are none.
    ///
    /// ```
    /// use trustbed_burst::{Chunk, Drain, Packets};
    /// use trustbed_units::Rate;
    /// let packets = Packets::new(&[0, 100_000, 200_000], &[1000, 1000, 1500])?;
    /// let link = Drain::at(Rate(40_000_000))?;
    /// let peaks = Chunk::of(link, packets).map(|chunk| chunk.peaks());
    /// let bytes = peaks.map(|peaks| (peaks.wait.bytes(), peaks.system.bytes()));
    /// assert_eq!(bytes, Some((1000.0, 2500.0)));
    /// # Ok::<(), trustbed_burst::BurstError>(())
    /// ```
    pub fn of(link: Drain, packets: Packets<'_>) -> Option<Self> {
        let (first, last) = (packets.first()?.0, packets.last()?.0);
        let mut effect = None;
        let mut bytes = 0;
        let mut before = first;
        for block in packets.chunks(BLOCK) {
            bytes += measure(link, before, block, &mut effect);
            before = block.last().map_or(before, |time| time.0);
        }
        Some(Self { link, first, last, packets: packets.len() as u64, bytes, effect: effect? })
    }

    /// This stretch and a later one as one. Bit for bit what measuring both together gives.
    ///
    /// When the later one begins before the end of this one, no time is taken to pass between them.
    #[must_use]
    pub fn merge(&self, later: &Self) -> Self {
        debug_assert_eq!(self.link, later.link, "chunks of different links cannot be joined");
        let silence = if later.first > self.last { later.first.abs_diff(self.last) } else { 0 };
        let drained = i128::from(self.link.numerator()) * i128::from(silence);
        Self {
            link: self.link,
            first: self.first,
            last: self.last.max(later.last),
            packets: self.packets + later.packets,
            bytes: self.bytes + later.bytes,
            effect: self.effect.drained(drained).then(&later.effect),
        }
    }

    /// The peaks when nothing waits in front of the first packet.
    pub fn peaks(&self) -> Peaks {
        self.peaks_after(Backlog::of_bytes(0))
    }

    /// The peaks when `initial` waits in front of the first packet.
    pub fn peaks_after(&self, initial: Backlog) -> Peaks {
        let (wait, system) = self.effect.peaks(initial.units_of(self.link));
        Peaks { wait: self.link.backlog(wait), system: self.link.backlog(system) }
    }

    /// What waits right after the last packet, when `initial` waits in front of the first.
    pub fn end_after(&self, initial: Backlog) -> Backlog {
        self.link.backlog(self.effect.end(initial.units_of(self.link)))
    }

    /// What this stretch does to the backlog in front of it.
    pub const fn effect(&self) -> &Effect {
        &self.effect
    }

    /// The link it was measured at.
    pub const fn link(&self) -> Drain {
        self.link
    }

    /// When the first packet arrives.
    pub const fn first(&self) -> Ns {
        Ns(self.first)
    }

    /// When the last packet arrives.
    pub const fn last(&self) -> Ns {
        Ns(self.last)
    }

    /// How many packets.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// The sum of their lengths.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Effect {
    /// The backlog at the end, when `q` waits at first.
    pub(crate) fn end(&self, q: i128) -> i128 {
        (q + self.shift).max(self.floor)
    }

    /// Largest wait and largest system backlog, when `q` waits at first.
    pub(crate) fn peaks(&self, q: i128) -> (i128, i128) {
        ((q + self.wait_shift).max(self.wait_floor), (q + self.system_shift).max(self.system_floor))
    }

    /// Followed by a silence in which so many units drain.
    fn drained(mut self, units: i128) -> Self {
        self.shift -= units;
        self.floor = (self.floor - units).max(0);
        self
    }

    /// Followed by `later`. With f for floors and s for shifts: peak₂(end₁(q)) = max(q + s₁ + p₂,
    /// f₁ + p₂, d₂).
    fn then(&self, later: &Self) -> Self {
        let peak = |(shift, floor): (i128, i128), (later_shift, later_floor): (i128, i128)| {
            (
                shift.max(self.shift + later_shift),
                floor.max(self.floor + later_shift).max(later_floor),
            )
        };
        let (wait_shift, wait_floor) =
            peak((self.wait_shift, self.wait_floor), (later.wait_shift, later.wait_floor));
        let (system_shift, system_floor) =
            peak((self.system_shift, self.system_floor), (later.system_shift, later.system_floor));
        let shift = self.shift + later.shift;
        let floor = (self.floor + later.shift).max(later.floor);
        Self { shift, floor, wait_shift, wait_floor, system_shift, system_floor }
    }
}

impl Server {
    /// A link in front of which nothing waits.
    pub const fn new(link: Drain) -> Self {
        Self { link, last: None, backlog: 0 }
    }

    /// A packet arrives. Returns what it finds in front of itself, and that together with the
    /// packet.
    pub fn on_packet(&mut self, now: Ns, length: u32) -> Peaks {
        if let Some(last) = self.last.filter(|last| *last < now) {
            self.backlog = self.link.after(self.backlog, now.0.abs_diff(last.0));
        }
        self.last = self.last.max(Some(now));
        let wait = self.backlog;
        self.backlog += i128::from(length) * i128::from(self.link.denominator());
        Peaks { wait: self.link.backlog(wait), system: self.link.backlog(self.backlog) }
    }
}

/// Adds the effect of a block whose predecessor arrived at `before`; returns its bytes. Halves the
/// block until its sums fit 64 bits; what does not fit even then, long silences at odd rates, is
/// measured in 128 bits.
pub(crate) fn measure(
    link: Drain,
    before: i64,
    block: Packets<'_>,
    effect: &mut Option<Effect>,
) -> u64 {
    const FEW: usize = 64;
    let bytes = block.bytes();
    let span = block.last().map_or(0, |last| last.0.abs_diff(before));
    let most = u128::from(bytes) * u128::from(link.denominator())
        + u128::from(link.numerator()) * u128::from(span);
    let narrow = (i64::try_from(link.numerator()), i64::try_from(link.denominator()));
    let measured = match narrow {
        (Ok(numerator), Ok(denominator)) if most < ROOM && u128::from(span) < ROOM => {
            walk(numerator, denominator, before, block)
        }
        _ if block.len() > FEW => {
            let (left, right) = block.split_at(block.len() / 2);
            measure(link, before, left, effect);
            measure(link, left.last().map_or(before, |time| time.0), right, effect);
            return bytes;
        }
        _ => walk(i128::from(link.numerator()), i128::from(link.denominator()), before, block),
    };
    *effect = Some(effect.map_or(measured, |earlier| earlier.then(&measured)));
    bytes
}

/// Whole numbers that the walk can be calculated in.
pub(crate) trait Units:
    Copy
    + Ord
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + From<i64>
    + Into<i128>
{
    /// The number, or the nearest one there is.
    fn saturating_from(wide: i128) -> Self;
    const ZERO: Self;
    const LEAST: Self;
    const MOST: Self;
}

impl Units for i64 {
    fn saturating_from(wide: i128) -> Self {
        Self::try_from(wide).unwrap_or(if wide < 0 { Self::MIN } else { Self::MAX })
    }
    const ZERO: Self = 0;
    const LEAST: Self = Self::MIN;
    const MOST: Self = Self::MAX;
}

impl Units for i128 {
    fn saturating_from(wide: i128) -> Self {
        wide
    }
    const ZERO: Self = 0;
    const LEAST: Self = Self::MIN;
    const MOST: Self = Self::MAX;
}

/// The effect of packets, without the recursion: when the link is never idle, packet i finds xᵢ =
/// ΣL − rate·t relative to the start; with idle times it finds xᵢ − min(x₁…xᵢ). Only the running
/// sum, minimum and maxima depend on the packet before.
#[inline]
fn walk<U: Units>(numerator: U, denominator: U, before: i64, block: Packets<'_>) -> Effect {
    let mut sent = U::ZERO;
    let mut lowest = U::MOST;
    let (mut wait_shift, mut wait_floor) = (U::LEAST, U::ZERO);
    let (mut system_shift, mut system_floor) = (U::LEAST, U::ZERO);
    let mut behind = U::ZERO;
    let before = U::from(before);
    for (&time, &length) in block.times().iter().zip(block.lengths()) {
        let ahead = sent - numerator * (U::from(time) - before);
        lowest = lowest.min(ahead);
        wait_shift = wait_shift.max(ahead);
        wait_floor = wait_floor.max(ahead - lowest);
        let units = denominator * U::from(i64::from(length));
        sent = sent + units;
        behind = ahead + units;
        system_shift = system_shift.max(behind);
        system_floor = system_floor.max(behind - lowest);
    }
    Effect {
        shift: behind.into(),
        floor: (behind - lowest).into(),
        wait_shift: wait_shift.into(),
        wait_floor: wait_floor.into(),
        system_shift: system_shift.into(),
        system_floor: system_floor.into(),
    }
}
