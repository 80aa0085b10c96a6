//! Packet trains: packets that follow each other closely.
//!
//! A train goes on while the gap to the next packet is at most a given one, and ends with a longer
//! gap (R. Jain and S. A. Routhier, *Packet trains – measurements and a new model for computer
//! network traffic*, IEEE JSAC 4(6), 1986: the maximum allowed inter-car gap). What a train is
//! depends on that gap, so every result has it. A single packet is a train of one.
//!
//! The trains at both ends count as they were seen; the capture may have cut them.

use crate::histogram::Histogram;
use crate::{BurstError, Packets};
use trustbed_units::{Ns, Span};

/// Packets that follow each other closely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Train {
    /// When the first packet arrives.
    pub start: Ns,
    /// When the last packet arrives.
    pub end: Ns,
    /// How many packets.
    pub packets: u64,
    /// Their lengths, summed up.
    pub bytes: u64,
}

impl Train {
    const fn of(time: Ns, length: u32) -> Self {
        Self { start: time, end: time, packets: 1, bytes: length as u64 }
    }

    /// From the arrival of the first packet to that of the last; 0 for a single one.
    pub fn duration(&self) -> Span {
        self.end - self.start
    }

    fn join(&mut self, later: &Self) {
        self.end = later.end;
        self.packets += later.packets;
        self.bytes += later.bytes;
    }
}

/// Finds trains while packets arrive; mergeable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trains {
    gap: Span,
    /// The first train, once another began: an earlier part may hold its beginning.
    first: Option<Train>,
    /// The latest train, which may go on.
    open: Option<Train>,
    found: TrainSummary,
}

/// The distributions over all trains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainSummary {
    /// The longest gap within a train.
    pub gap: Span,
    /// Packets per train.
    pub packets: Histogram,
    /// Bytes per train.
    pub bytes: Histogram,
    /// First to last arrival of each train, in nanoseconds.
    pub durations: Histogram,
    /// Gaps within trains, in nanoseconds.
    pub spacing: Histogram,
    /// Gaps between trains, in nanoseconds.
    pub pauses: Histogram,
    /// The train of the most packets; of equal ones, the first.
    pub longest: Option<Train>,
}

impl TrainSummary {
    const fn new(gap: Span) -> Self {
        let none = Histogram::new;
        Self {
            gap,
            packets: none(),
            bytes: none(),
            durations: none(),
            spacing: none(),
            pauses: none(),
            longest: None,
        }
    }

    fn enter(&mut self, train: &Train) {
        self.packets.add(train.packets);
        self.bytes.add(train.bytes);
        self.durations.add(train.end.0.abs_diff(train.start.0));
        self.rank(train);
    }

    fn rank(&mut self, train: &Train) {
        let before =
            |longest: &Train| (longest.packets, train.start) < (train.packets, longest.start);
        if self.longest.as_ref().is_none_or(before) {
            self.longest = Some(*train);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.packets.merge(&other.packets);
        self.bytes.merge(&other.bytes);
        self.durations.merge(&other.durations);
        self.spacing.merge(&other.spacing);
        self.pauses.merge(&other.pauses);
        other.longest.iter().for_each(|train| self.rank(train));
    }
}

impl Trains {
    /// The longest gap within a train by default, 100 µs: longer than a full frame takes at 1
    /// Gbit/s (12 µs), with room for the jitter of a host, and shorter than the 1 ms of the finest
    /// kernel timer, so that what one tick released is one train.
    pub const GAP: Span = Span::from_micros(100);

    /// Nothing seen yet; gaps up to `gap` lie within a train.
    ///
    /// # Errors
    /// [`BurstError::NoWindow`] when the gap is negative. With 0 the trains are packets of equal
    /// time.
    pub const fn new(gap: Span) -> Result<Self, BurstError> {
        if gap.0 < 0 {
            return Err(BurstError::NoWindow { length: gap });
        }
        Ok(Self { gap, first: None, open: None, found: TrainSummary::new(gap) })
    }

    /// The packets that come next.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] if they begin before those seen end; then none of them is added.
    pub fn add(&mut self, packets: Packets<'_>) -> Result<(), BurstError> {
        if let Some(first) = packets.first() {
            self.in_order(first)?;
        }
        packets.iter().for_each(|(time, length)| self.follow(Train::of(time, length)));
        Ok(())
    }

    /// Joins what saw the packets that follow. A train that goes on across the seam is one.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] if `later` begins before this ends; then nothing is joined.
    ///
    /// # Panics
    /// When the two allow different gaps.
    pub fn merge(&mut self, later: &Self) -> Result<(), BurstError> {
        assert_eq!(self.gap, later.gap, "only trains of equal gaps can be joined");
        let Some(next) = later.first.or(later.open) else { return Ok(()) };
        self.in_order(next.start)?;
        self.follow(next);
        if let (Some(_), Some(open)) = (later.first, later.open) {
            self.close(open);
        }
        self.found.merge(&later.found);
        Ok(())
    }

    fn in_order(&self, time: Ns) -> Result<(), BurstError> {
        match self.open {
            Some(open) if time < open.end => {
                Err(BurstError::Overlap { end: open.end, start: time })
            }
            _ => Ok(()),
        }
    }

    /// Packets that come next and are one train: they lengthen the open one or end it.
    #[inline]
    fn follow(&mut self, next: Train) {
        let Some(open) = &mut self.open else {
            self.open = Some(next);
            return;
        };
        let gap = next.start.0.abs_diff(open.end.0);
        if gap <= self.gap.0.unsigned_abs() {
            open.join(&next);
            self.found.spacing.add(gap);
        } else {
            self.found.pauses.add(gap);
            self.close(next);
        }
    }

    /// The open train is complete; `next` is the open one now.
    fn close(&mut self, next: Train) {
        let Some(done) = self.open.replace(next) else { return };
        if self.first.is_none() {
            self.first = Some(done);
        } else {
            self.found.enter(&done);
        }
    }

    /// The distributions so far, with the first train and the one that may go on counted as they
    /// stand.
    pub fn summary(&self) -> TrainSummary {
        let mut found = self.found.clone();
        self.first.iter().chain(&self.open).for_each(|train| found.enter(train));
        found
    }
}
