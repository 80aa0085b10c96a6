//! From windows with packets to rows of a table: what waited in front of each window is put in, and
//! so are the windows without packets.
//!
//! Windows without packets that follow each other are one row with a count, so that a gap of years
//! at windows of a microsecond costs one row. [`Row::each`] takes such a row apart.

use trustbed_units::{Ns, Span};

use crate::cells::Cell;
use crate::{Drain, Mode, Peaks, Plan};

/// A window, or several without packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Where the (first) window begins.
    pub start: Ns,
    /// How long each window is.
    pub length: Span,
    /// How many windows; more than one only if they hold no packets.
    pub windows: u64,
    /// How many packets arrived.
    pub packets: u64,
    /// The sum of their lengths.
    pub bytes: u64,
    /// The rate of the bottleneck; unknown in `DynamicPrevious` before the first average above 0.
    pub rate: Option<Drain>,
    /// The largest backlogs; unknown with the rate. In a row of several windows those of the first
    /// one: see [`Row::each`].
    pub peaks: Option<Peaks>,
    /// Whether the capture ends within the window: its average is too low. Left out of summaries.
    pub partial: bool,
}

/// Puts rows together from cells in order.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    plan: Plan,
    /// The window that comes next, once there was one.
    next: Option<i128>,
    /// What waits at its start, in units of the rate.
    backlog: i128,
    /// The rate of the last window whose average was above 0, and nothing before.
    rate: Option<Drain>,
}

impl Row {
    /// The average rate: 8 · bytes / length.
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    pub fn abw_bits_per_second(&self) -> f64 {
        self.bytes as f64 * 8e9 / self.length.as_f64()
    }

    /// The system backlogs of all its windows, summed, in units of the rate. They fall by as much
    /// from each window to the next, down to 0.
    pub(crate) fn system_units(&self) -> u128 {
        let Some((rate, peaks)) = self.rate.zip(self.peaks) else { return 0 };
        let at_first = peaks.system.fraction().0;
        let drained = u128::from(rate.numerator()) * u128::from(self.length.0.unsigned_abs());
        let windows = u128::from(self.windows)
            .min(at_first.checked_div(drained).map_or(u128::MAX, |whole| whole + 1));
        windows
            .saturating_mul(at_first)
            .saturating_sub(drained.saturating_mul(windows.saturating_mul(windows - 1) / 2))
    }

    /// The windows one by one. What was left waiting drains from one to the next.
    pub fn each(self) -> impl Iterator<Item = Self> {
        (0..self.windows).map(move |number| {
            let passed =
                u64::try_from(i128::from(number) * i128::from(self.length.0)).unwrap_or(u64::MAX);
            let start =
                Ns(i64::try_from(i128::from(self.start.0) + i128::from(passed))
                    .unwrap_or(i64::MAX));
            let peaks = self.rate.zip(self.peaks).map(|(rate, peaks)| Peaks {
                system: if number == 0 {
                    peaks.system
                } else {
                    rate.backlog(rate.after(peaks.system.units_of(rate), passed))
                },
                ..peaks
            });
            Self { start, windows: 1, peaks, ..self }
        })
    }
}

impl Rows {
    pub(crate) const fn new(plan: Plan) -> Self {
        Self { plan, next: None, backlog: 0, rate: None }
    }

    /// Begins with the window that holds `start`, whether or not packets come.
    pub(crate) fn since(plan: Plan, start: Ns) -> Self {
        Self { next: Some(plan.grid.index(start)), ..Self::new(plan) }
    }

    /// The next window with packets.
    pub(crate) fn on_cell(&mut self, cell: &Cell, done: &mut impl FnMut(Row)) {
        self.empty_before(cell.index, done);
        let (link, grid) = (cell.chunk.link(), self.plan.grid);
        let nanoseconds = |span: i128| u64::try_from(span).unwrap_or(0);
        let at_start = if self.plan.mode.carries() { self.backlog } else { 0 };
        let lead = nanoseconds(i128::from(cell.chunk.first().0) - grid.start(cell.index));
        let at_first = link.after(at_start, lead);
        let (wait, system) = cell.chunk.effect().peaks(at_first);
        let peaks = Peaks { wait: link.backlog(wait), system: link.backlog(system.max(at_start)) };
        let trail = nanoseconds(grid.start(cell.index + 1) - i128::from(cell.chunk.last().0));
        self.backlog = link.after(cell.chunk.effect().end(at_first), trail);
        self.next = Some(cell.index + 1);
        if cell.chunk.bytes() > 0 {
            self.rate = Some(Drain::average(cell.chunk.bytes(), grid.length()));
        }
        done(Row {
            packets: cell.chunk.packets(),
            bytes: cell.chunk.bytes(),
            rate: cell.rated.then_some(link),
            peaks: cell.rated.then_some(peaks),
            ..self.row(cell.index, 1)
        });
    }

    /// The windows without packets in front of window `index`.
    pub(crate) fn empty_before(&mut self, index: i128, done: &mut impl FnMut(Row)) {
        let Some(next) = self.next.filter(|next| *next < index) else { return };
        let windows = u64::try_from(index - next).unwrap_or(u64::MAX);
        let row = self.row(next, windows);
        if let Some(rate) = row.rate.filter(|_| self.plan.mode.carries()) {
            let passed = (index - next) * i128::from(self.plan.grid.length().0);
            self.backlog = rate.after(self.backlog, u64::try_from(passed).unwrap_or(u64::MAX));
        }
        self.next = Some(index);
        done(row);
    }

    /// The end of the capture. A window that it cuts, and no packet opened, is a row as well.
    pub(crate) fn finish(&mut self, end: Ns, done: &mut impl FnMut(Row)) {
        let index = self.plan.grid.index(end);
        self.empty_before(index, done);
        if self.next == Some(index) && self.plan.grid.start(index) < i128::from(end.0) {
            let row = self.row(index, 1);
            self.next = Some(index + 1);
            done(Row { partial: true, ..row });
        }
    }

    /// Windows without packets that come next.
    fn row(&self, index: i128, windows: u64) -> Row {
        let length = self.plan.grid.length();
        let rate = match self.plan.mode {
            Mode::Static(link) => Some(link),
            Mode::DynamicSame | Mode::DynamicSameCarry => Some(Drain::average(0, length)),
            Mode::DynamicPrevious => self.rate,
        };
        let backlog = if self.plan.mode.carries() { self.backlog } else { 0 };
        let peaks = rate.map(|rate| Peaks { wait: rate.backlog(0), system: rate.backlog(backlog) });
        let start = self.plan.grid.start(index).clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        let start = Ns(i64::try_from(start).unwrap_or_default());
        Row { start, length, windows, packets: 0, bytes: 0, rate, peaks, partial: false }
    }
}
