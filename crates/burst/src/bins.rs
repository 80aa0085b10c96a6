//! Packets into bins of equal width: bytes or packets per bin, for whatever wants to see them.
//!
//! Bins are aligned to multiples of their width since the Unix epoch, so that the bins of two
//! captures, or of two parts of one, can be laid side by side and added. What becomes of a bin is
//! the business of a [`BinSink`]; stretches without packets are handed over as one length, so that
//! a clock that jumps by years costs no more than a bin.
//!
//! The bins of the first and of the last packet are kept apart ([`Binned`]): the capture may have
//! begun or ended within them. They count for rates over time, as lower bounds, and are left out of
//! every energy.

use crate::{BurstError, Packets};
use trustbed_units::{Ns, Span};

/// What is added up in a bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Counted {
    /// The lengths of the packets.
    #[default]
    Bytes,
    /// One per packet.
    Packets,
}

/// Bins of equal width, number 0 beginning at the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BinGrid {
    width: Span,
}

impl BinGrid {
    /// Bins that are `width` wide.
    ///
    /// # Errors
    /// [`BurstError::NoWindow`] unless the width is above 0.
    ///
    /// ```
    /// use trustbed_burst::BinGrid;
    /// use trustbed_units::{Ns, Span};
    /// let grid = BinGrid::new(Span::from_millis(1))?;
    /// assert_eq!([999_999, 1_000_000, -1].map(|time| grid.index(Ns(time))), [0, 1, -1]);
    /// assert_eq!(grid.start(3), Ns(3_000_000));
    /// # Ok::<(), trustbed_burst::BurstError>(())
    /// ```
    pub const fn new(width: Span) -> Result<Self, BurstError> {
        if width.0 > 0 { Ok(Self { width }) } else { Err(BurstError::NoWindow { length: width }) }
    }

    /// How wide a bin is.
    pub const fn width(self) -> Span {
        self.width
    }

    /// The number of the bin that holds a moment.
    pub const fn index(self, time: Ns) -> i64 {
        time.0.div_euclid(self.width.0)
    }

    /// When a bin begins.
    pub const fn start(self, index: i64) -> Ns {
        Ns(index.saturating_mul(self.width.0))
    }

    /// Bins 2ⁿ times as wide.
    pub(crate) const fn doubled(self, doublings: u32) -> Self {
        // Beyond 2⁶² the width has no meaning left: such bins hold all of time.
        let factor = 1_i64 << if doublings < 62 { doublings } else { 62 };
        Self { width: Span(self.width.0.saturating_mul(factor)) }
    }
}

/// One bin and what was added up in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bin {
    /// Its number.
    pub index: i64,
    /// Bytes or packets. The sum over all bins of a capture must stay below 2⁶⁴.
    pub amount: u64,
}

/// Neighbouring bins that hold no packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Silence {
    /// The number of the first one.
    pub from: i64,
    /// How many.
    pub count: u64,
}

/// A consumer of one bin after the other, without a hole: every bin comes in exactly one of the two
/// calls.
pub trait BinSink {
    /// The next bin, which holds at least one packet (possibly of length 0).
    fn bin(&mut self, bin: Bin);
    /// The next `count` bins, from number `from` on, hold no packets.
    fn silence(&mut self, from: i64, count: u64);
}

/// A sink whose halves, each fed with its own stretch of bins, can be joined as if one had seen
/// both stretches.
pub trait MergeableSink: BinSink {
    /// Joins what saw the bins right behind the last one seen here.
    fn append(&mut self, later: Self);
}

/// Two sinks that see the same bins in one pass.
impl<A: BinSink, B: BinSink> BinSink for (A, B) {
    fn bin(&mut self, bin: Bin) {
        self.0.bin(bin);
        self.1.bin(bin);
    }

    fn silence(&mut self, from: i64, count: u64) {
        self.0.silence(from, count);
        self.1.silence(from, count);
    }
}

impl<A: MergeableSink, B: MergeableSink> MergeableSink for (A, B) {
    fn append(&mut self, later: Self) {
        self.0.append(later.0);
        self.1.append(later.1);
    }
}

/// Adds packets up in bins and hands each bin on when a later one begins.
///
/// Call [`add`](Self::add) with stretches of packets in order of time; [`merge`](Self::merge) joins
/// what saw the packets that follow; [`finish`](Self::finish) ends it. Memory: two bins, and
/// whatever the sink keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binning<S> {
    grid: BinGrid,
    counted: Counted,
    sink: S,
    seen: Option<Seen>,
}

/// The bins at both ends of what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    /// The bin of the first packet, once a later one began; until then `last` is that bin too.
    first: Option<Bin>,
    last: Bin,
    earliest: Ns,
    latest: Ns,
    silence: Silence,
}

/// The result of [`Binning::finish`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binned<S> {
    /// Which bins.
    pub grid: BinGrid,
    /// What was added up.
    pub counted: Counted,
    /// The bin of the first packet, of which the capture may have missed the beginning.
    pub first: Option<Bin>,
    /// What saw the bins between `first` and `last`.
    pub sink: S,
    /// The bin of the last packet, of which the capture may have missed the end; `None` if that is
    /// `first`.
    pub last: Option<Bin>,
    /// The longest silence, the first of equal ones. One that makes up most of the capture (a clock
    /// that jumped, two captures in one file) makes up most of every energy too: its bins count as
    /// bins without traffic.
    pub longest_silence: Option<Silence>,
}

impl<S: BinSink> Binning<S> {
    /// Nothing seen yet.
    pub const fn new(grid: BinGrid, counted: Counted, sink: S) -> Self {
        Self { grid, counted, sink, seen: None }
    }

    /// Which bins.
    pub const fn grid(&self) -> BinGrid {
        self.grid
    }

    /// What saw the bins so far, without those of the first and the latest packet.
    pub const fn sink(&self) -> &S {
        &self.sink
    }

    /// The packets that come next.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] if they begin before those seen end; then none of them is added.
    pub fn add(&mut self, packets: Packets<'_>) -> Result<(), BurstError> {
        let (Some(earliest), Some(latest)) = (packets.first(), packets.last()) else {
            return Ok(());
        };
        let mut seen = match self.seen {
            None => {
                let last = Bin { index: self.grid.index(earliest), amount: 0 };
                Seen { first: None, last, earliest, latest, silence: Silence::default() }
            }
            Some(seen) => Seen { latest, ..in_order(seen, earliest)? },
        };
        match self.counted {
            Counted::Bytes => self.add_all(&mut seen, packets, |lengths| {
                lengths.iter().map(|&length| u64::from(length)).sum()
            }),
            Counted::Packets => self.add_all(&mut seen, packets, |lengths| lengths.len() as u64),
        }
        self.seen = Some(seen);
        Ok(())
    }

    /// Finds the packets of one bin after the other. A bin's end is compared with, never divided
    /// by, and while the bin lasts only every sixteenth time is compared: that times never fall is
    /// what [`Packets`] is there for.
    #[inline]
    fn add_all(&mut self, seen: &mut Seen, packets: Packets<'_>, amount: impl Fn(&[u32]) -> u64) {
        const STRIDE: usize = 16;
        let (times, lengths) = (packets.times(), packets.lengths());
        let width = self.grid.width.0.unsigned_abs();
        let mut at = 0;
        while at < times.len() {
            let start = seen.last.index.wrapping_mul(self.grid.width.0);
            // Wrapping, because the bin that holds the earliest moments of all begins before there
            // are numbers for it.
            let within = |time: i64| time.wrapping_sub(start).cast_unsigned() < width;
            let from = at;
            while at + STRIDE <= times.len() && within(times[at + STRIDE - 1]) {
                at += STRIDE;
            }
            while at < times.len() && within(times[at]) {
                at += 1;
            }
            seen.last.amount += amount(&lengths[from..at]);
            if let Some(&time) = times.get(at) {
                let index = self.grid.index(Ns(time));
                turn(&mut self.sink, seen, Bin { index, amount: 0 });
            }
        }
    }

    /// Ends it.
    pub fn finish(self) -> Binned<S> {
        let (first, last) = match self.seen {
            None => (None, None),
            Some(Seen { first: None, last, .. }) => (Some(last), None),
            Some(Seen { first, last, .. }) => (first, Some(last)),
        };
        let longest_silence =
            self.seen.map(|seen| seen.silence).filter(|silence| silence.count > 0);
        Binned {
            grid: self.grid,
            counted: self.counted,
            first,
            sink: self.sink,
            last,
            longest_silence,
        }
    }
}

impl<S: MergeableSink> Binning<S> {
    /// Joins what saw the packets that follow. A bin that both have seen part of is added up.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] if `later` begins before this ends.
    ///
    /// # Panics
    /// When the two do not add up the same thing in the same bins.
    pub fn merge(self, later: Self) -> Result<Self, BurstError> {
        assert!(
            self.grid == later.grid && self.counted == later.counted,
            "only equal bins of equal things can be joined"
        );
        let (Some(before), Some(after)) = (self.seen, later.seen) else {
            return Ok(if self.seen.is_some() { self } else { later });
        };
        in_order(before, after.earliest)?;
        let mut sink = self.sink;
        let mut seen = Seen { latest: after.latest, ..before };
        let next = after.first.unwrap_or(after.last);
        if next.index == seen.last.index {
            seen.last.amount += next.amount;
        } else {
            turn(&mut sink, &mut seen, next);
        }
        if after.first.is_some() {
            // The bin at the seam is complete; the silence behind it was already given to the later
            // sink.
            close(&mut sink, &mut seen, after.last);
            sink.append(later.sink);
            seen.silence = longer(seen.silence, after.silence);
        }
        Ok(Self { sink, seen: Some(seen), ..self })
    }
}

/// A later bin begins: the one that was open has everything.
fn turn(sink: &mut impl BinSink, seen: &mut Seen, next: Bin) {
    let silence = Silence::between(seen.last.index, next.index);
    close(sink, seen, next);
    seen.silence = longer(seen.silence, silence);
    silence.write_to(sink);
}

fn longer(earlier: Silence, later: Silence) -> Silence {
    if later.count > earlier.count { later } else { earlier }
}

/// Puts the open bin where it belongs, and opens another.
fn close(sink: &mut impl BinSink, seen: &mut Seen, next: Bin) {
    let finished = std::mem::replace(&mut seen.last, next);
    if seen.first.is_none() {
        seen.first = Some(finished);
    } else {
        sink.bin(finished);
    }
}

fn in_order(seen: Seen, time: Ns) -> Result<Seen, BurstError> {
    if time < seen.latest {
        Err(BurstError::Overlap { end: seen.latest, start: time })
    } else {
        Ok(seen)
    }
}

impl Silence {
    /// The bins strictly between two.
    pub(crate) const fn between(before: i64, after: i64) -> Self {
        Self {
            from: before.wrapping_add(1),
            count: after.wrapping_sub(before).cast_unsigned().saturating_sub(1),
        }
    }

    /// Reports it to a sink, if there are any.
    pub(crate) fn write_to(self, sink: &mut impl BinSink) {
        if self.count > 0 {
            sink.silence(self.from, self.count);
        }
    }
}
