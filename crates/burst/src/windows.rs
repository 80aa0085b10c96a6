//! Burstiness window by window: as packets come ([`Windows`]), or part by part on several cores
//! ([`Part`]).
//!
//! In a window: the average rate, the largest wait and the largest system backlog
//! ([`crate::Chunk`]), and how many packets. The backlog at the start of a window counts for its
//! system backlog, for its wait only if a packet meets it. The window in which a capture begins is
//! taken as a whole one, so its average can under-, never overestimate; the one in which it ends is
//! marked partial.

use std::collections::VecDeque;

use trustbed_units::Ns;

use crate::cells::{Cell, Cells, in_order};
use crate::rows::{Row, Rows};
use crate::{Arrivals, BurstError, Mode, Packets, Plan};

/// Windows of packets that come in order of time. Call [`Windows::push`] (and, while nothing comes,
/// [`Windows::advance`]), then [`Windows::poll`] until there is no row left; at the end
/// [`Windows::finish`].
#[derive(Debug, Clone)]
pub struct Windows {
    plan: Plan,
    cells: Cells,
    rows: Rows,
    ready: VecDeque<Row>,
    latest: Option<Ns>,
    steps_back: u64,
}

/// Windows of a part of a capture, to be joined with its neighbours: bit for bit what the whole
/// would have given, wherever it was cut.
///
/// It holds one cell per window with packets, and in the dynamic modes the packets of the windows
/// at its borders. In `DynamicPrevious` these reach to the second window with bytes.
#[derive(Debug, Clone)]
pub struct Part {
    plan: Plan,
    head: Head,
    cells: Cells,
    done: Vec<Cell>,
    latest: Option<Ns>,
    steps_back: u64,
}

/// The packets of the first windows of a part, whose measurement needs what comes before the part.
#[derive(Debug, Clone, Default)]
struct Head {
    packets: Arrivals,
    /// The last window of the head: its number, its bytes, and whether an earlier one exists.
    window: Option<(i128, u64, bool)>,
    complete: bool,
}

impl Windows {
    /// Windows that begin with the first packet's.
    pub fn new(plan: Plan) -> Self {
        let (cells, rows) = (Cells::new(plan), Rows::new(plan));
        Self { plan, cells, rows, ready: VecDeque::new(), latest: None, steps_back: 0 }
    }

    /// Windows that begin with the one that holds `start`, even if no packet comes: for measuring
    /// live.
    pub fn since(plan: Plan, start: Ns) -> Self {
        Self { rows: Rows::since(plan, start), latest: Some(start), ..Self::new(plan) }
    }

    /// Takes packets. Those that come before the latest moment known are moved there and counted.
    pub fn push(&mut self, packets: Packets<'_>) {
        let Self { cells, rows, ready, .. } = self;
        self.steps_back += in_order(self.latest, packets, &mut |packets| {
            cells.push(packets, &mut |cell| rows.on_cell(&cell, &mut |row| ready.push_back(row)));
        });
        self.latest = self.latest.max(packets.last());
    }

    /// Time has passed: the windows that ended before `now` are complete, and no packet will come
    /// that is earlier than `now`.
    pub fn advance(&mut self, now: Ns) {
        let Self { cells, rows, ready, .. } = self;
        let index = self.plan.grid.index(now);
        let mut done = |row| ready.push_back(row);
        cells.close_before(index, &mut |cell| rows.on_cell(&cell, &mut done));
        // The window that is open is not complete, but those in front of it are.
        rows.empty_before(cells.open_index().map_or(index, |open| open.min(index)), &mut done);
        self.latest = self.latest.max(Some(now));
    }

    /// The next complete window, or several without packets.
    pub fn poll(&mut self) -> Option<Row> {
        self.ready.pop_front()
    }

    /// How many packets were moved forward because they came out of order.
    pub const fn steps_back(&self) -> u64 {
        self.steps_back
    }

    /// The capture ended at `end`, or with its last packet if that is later. Returns the rows that
    /// were not polled yet.
    #[must_use]
    pub fn finish(mut self, end: Ns) -> Vec<Row> {
        let end = self.latest.map_or(end, |latest| latest.max(end));
        let (rows, ready) = (&mut self.rows, &mut self.ready);
        let index = self.plan.grid.index(end);
        self.cells.close(&mut |cell| {
            let partial = cell.index == index;
            rows.on_cell(&cell, &mut |row| {
                ready.push_back(Row { partial: partial && row.packets > 0, ..row });
            });
        });
        rows.finish(end, &mut |row| ready.push_back(row));
        self.ready.into()
    }
}

impl Part {
    /// A part without packets.
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            head: Head::default(),
            cells: Cells::new(plan),
            done: Vec::new(),
            latest: None,
            steps_back: 0,
        }
    }

    /// Takes packets. Those that come before the latest of this part are moved there and counted.
    pub fn push(&mut self, packets: Packets<'_>) {
        let latest = self.latest;
        self.steps_back += in_order(latest, packets, &mut |packets| self.take(packets));
        self.latest = self.latest.max(packets.last());
    }

    /// Joins a part with the one that follows it in time.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] when the later one begins before this one ends.
    pub fn merge(mut self, later: Self) -> Result<Self, BurstError> {
        let steps_back = self.steps_back + later.steps_back;
        let Some(start) = later.first() else { return Ok(Self { steps_back, ..self }) };
        let Some(end) = self.latest else { return Ok(Self { steps_back, ..later }) };
        if start < end {
            return Err(BurstError::Overlap { end, start });
        }
        self.take(later.head.packets.packets());
        let done = &mut self.done;
        if matches!(self.plan.mode, Mode::Static(_)) {
            let (mut open, mut cells) = (None, later.cells);
            cells.close(&mut |cell| open = Some(cell));
            for cell in later.done.into_iter().chain(open) {
                self.cells.join(cell, &mut |cell| done.push(cell));
            }
        } else if later.head.complete {
            self.cells.close(&mut |cell| done.push(cell));
            done.extend(later.done);
            self.cells = later.cells;
            self.head.complete = true;
        }
        Ok(Self { latest: later.latest, steps_back, ..self })
    }

    /// How many packets were moved forward because they came out of order.
    pub const fn steps_back(&self) -> u64 {
        self.steps_back
    }

    /// The capture ended at `end`, or with its last packet if that is later: all rows.
    #[must_use]
    pub fn finish(self, end: Ns) -> Vec<Row> {
        let mut windows = Windows::new(self.plan);
        windows.push(self.head.packets.packets());
        windows.latest = self.latest;
        if self.plan.mode.needs_packets() && !self.head.complete {
            return windows.finish(end);
        }
        let Windows { cells, rows, ready, .. } = &mut windows;
        let mut done = |row| ready.push_back(row);
        cells.close(&mut |cell| rows.on_cell(&cell, &mut done));
        for cell in &self.done {
            rows.on_cell(cell, &mut done);
        }
        windows.cells = self.cells;
        windows.finish(end)
    }

    fn first(&self) -> Option<Ns> {
        let begun =
            || self.done.first().map(|cell| cell.chunk.first()).or_else(|| self.cells.first());
        self.head.packets.packets().first().or_else(begun)
    }

    fn take(&mut self, packets: Packets<'_>) {
        let done = &mut self.done;
        let rest = if self.plan.mode.needs_packets() {
            self.head.take(&self.plan, packets)
        } else {
            packets
        };
        if self.head.complete && self.cells.is_closed() && done.is_empty() {
            let bytes = self.head.window.map_or(0, |(_, bytes, _)| bytes);
            self.cells = Cells::after(self.plan, bytes);
        }
        self.cells.push(rest, &mut |cell| done.push(cell));
    }
}

impl Head {
    /// Takes the packets of windows that belong to the head, returns the others.
    fn take<'a>(&mut self, plan: &Plan, mut packets: Packets<'a>) -> Packets<'a> {
        while let (false, Some(first)) = (self.complete, packets.first()) {
            let index = plan.grid.index(first);
            let begins = self.window.is_none_or(|(window, ..)| window != index);
            if begins
                && self.window.is_some_and(|(_, bytes, later)| {
                    plan.mode != Mode::DynamicPrevious || (later && bytes > 0)
                })
            {
                self.complete = true;
                break;
            }
            let (window, rest) = packets.split_at(plan.grid.count_in(index, packets));
            let bytes = window.bytes();
            self.window = match self.window {
                Some((_, before, later)) if !begins => Some((index, before + bytes, later)),
                earlier => Some((index, bytes, earlier.is_some())),
            };
            self.packets.append(window);
            packets = rest;
        }
        packets
    }
}
