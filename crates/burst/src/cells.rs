//! From packets to windows that hold packets: each becomes a cell, what a bottleneck of the
//! window's rate sees from the window's first packet to its last. What waited in front of the
//! window is not known yet; [`crate::rows`] puts it in, and the windows without packets.
//!
//! In the dynamic modes a window's rate is known when its last packet is: the packets of the open
//! window are kept, 12 bytes each.

use trustbed_units::Ns;

use crate::{Arrivals, Chunk, Drain, Mode, Packets, Plan};

/// A window that holds packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The number of the window.
    pub(crate) index: i128,
    pub(crate) chunk: Chunk,
    /// Whether the rate is known; otherwise the chunk's backlogs mean nothing.
    pub(crate) rated: bool,
}

/// Makes cells of packets in order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cells {
    plan: Plan,
    open: Open,
    /// Bytes of the last window that had any, for `DynamicPrevious`.
    previous: Option<u64>,
}

/// The window that the last packet fell into.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Open {
    None,
    Measured(Cell),
    Kept { index: i128, packets: Arrivals },
}

impl Cells {
    pub(crate) const fn new(plan: Plan) -> Self {
        Self { plan, open: Open::None, previous: None }
    }

    /// Continues after a window that had `bytes`, more than none.
    pub(crate) const fn after(plan: Plan, bytes: u64) -> Self {
        Self { plan, open: Open::None, previous: Some(bytes) }
    }

    /// Takes packets; hands the windows that they complete to `done`.
    pub(crate) fn push(&mut self, mut packets: Packets<'_>, done: &mut impl FnMut(Cell)) {
        while let Some(first) = packets.first() {
            let index = self.plan.grid.index(first);
            let (window, later) = packets.split_at(self.plan.grid.count_in(index, packets));
            if self.open_index() != Some(index) {
                self.close(done);
            }
            if later.is_empty() || self.open_index().is_some() {
                self.keep(index, window);
            } else if let Some(cell) = self.measure(index, window) {
                done(cell);
            }
            packets = later;
        }
    }

    /// Ends the open window.
    pub(crate) fn close(&mut self, done: &mut impl FnMut(Cell)) {
        match std::mem::replace(&mut self.open, Open::None) {
            Open::None => {}
            Open::Measured(cell) => done(cell),
            Open::Kept { index, packets } => {
                if let Some(cell) = self.measure(index, packets.packets()) {
                    done(cell);
                }
            }
        }
    }

    /// Ends the open window if it lies before window `index`.
    pub(crate) fn close_before(&mut self, index: i128, done: &mut impl FnMut(Cell)) {
        if self.open_index().is_some_and(|open| open < index) {
            self.close(done);
        }
    }

    /// Takes a cell that was measured elsewhere, at the same given rate, and follows what is here.
    pub(crate) fn join(&mut self, later: Cell, done: &mut impl FnMut(Cell)) {
        match &mut self.open {
            Open::Measured(cell) if cell.index == later.index => {
                cell.chunk = cell.chunk.merge(&later.chunk);
            }
            _ => {
                self.close(done);
                self.open = Open::Measured(later);
            }
        }
    }

    /// Whether no window is open.
    pub(crate) const fn is_closed(&self) -> bool {
        matches!(self.open, Open::None)
    }

    /// When the first packet of the open window arrived.
    pub(crate) fn first(&self) -> Option<Ns> {
        match &self.open {
            Open::None => None,
            Open::Measured(cell) => Some(cell.chunk.first()),
            Open::Kept { packets, .. } => packets.packets().first(),
        }
    }

    /// The window that is open.
    pub(crate) fn open_index(&self) -> Option<i128> {
        match &self.open {
            Open::None => None,
            Open::Measured(cell) => Some(cell.index),
            Open::Kept { index, .. } => Some(*index),
        }
    }

    /// Adds packets to the open window, or opens it with them.
    fn keep(&mut self, index: i128, window: Packets<'_>) {
        match (&mut self.open, self.plan.mode) {
            (Open::Measured(cell), Mode::Static(link)) => {
                if let Some(more) = Chunk::of(link, window) {
                    cell.chunk = cell.chunk.merge(&more);
                }
            }
            (_, Mode::Static(_)) => {
                self.open = self.measure(index, window).map_or(Open::None, Open::Measured);
            }
            (Open::Kept { packets, .. }, _) => packets.append(window),
            _ => {
                let mut packets = Arrivals::new();
                packets.append(window);
                self.open = Open::Kept { index, packets };
            }
        }
    }

    /// Measures a whole window, or at a given rate its beginning. `None` when it is empty.
    fn measure(&mut self, index: i128, window: Packets<'_>) -> Option<Cell> {
        let length = self.plan.grid.length();
        let (link, rated) = match self.plan.mode {
            Mode::Static(link) => (link, true),
            Mode::DynamicSame | Mode::DynamicSameCarry => {
                (Drain::average(window.bytes(), length), true)
            }
            Mode::DynamicPrevious => {
                (Drain::average(self.previous.unwrap_or(0), length), self.previous.is_some())
            }
        };
        let chunk = Chunk::of(link, window)?;
        if chunk.bytes() > 0 {
            self.previous = Some(chunk.bytes());
        }
        Some(Cell { index, chunk, rated })
    }
}

/// Packets of which the first may come before `latest`: they are moved there. Returns how many
/// were.
pub(crate) fn in_order(
    latest: Option<Ns>,
    packets: Packets<'_>,
    take: &mut impl FnMut(Packets<'_>),
) -> u64 {
    let early = latest.map_or(0, |latest| packets.times().partition_point(|time| *time < latest.0));
    let (moved, others) = packets.split_at(early);
    if early > 0 {
        let times = vec![latest.map_or(0, |latest| latest.0); early];
        take(Packets::in_order(&times, moved.lengths()));
    }
    take(others);
    early as u64
}
