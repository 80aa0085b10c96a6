//! Gaps, one after the other, into seconds.

use std::collections::VecDeque;

use trustbed_units::{Ns, Span};

use super::{AvailabilitySecond, DutyCycle, Gap, GapTally, SECOND, Window};

/// Seconds that can wait without an allocation.
const WAITING: usize = 16;

/// What a monitor is. Not to be copied: the copy of a table has no room.
#[derive(Debug)]
pub struct AvailabilitySettings {
    /// What is longer is a gap.
    pub threshold: Span,
    /// In which parts of the seconds it watches.
    pub duty: DutyCycle,
    /// Single gaps are kept in it as long as it has room; it is never made larger. What it has no
    /// room for is counted all the same.
    pub table: Vec<Gap>,
}

/// From gaps to what they come to by the second, while they are found.
///
/// In the order of time: [`on_passes`](Self::on_passes), [`on_gap`](Self::on_gap),
/// [`advance`](Self::advance); after each, [`poll_second`](Self::poll_second) until there is none,
/// and [`exchange`](Self::exchange) as often as single gaps are needed. [`finish`](Self::finish)
/// closes the last second.
///
/// Its memory is the table and the seconds not polled yet. As long as these are few, it asks the
/// system for none, so that a thread can use it while it measures.
///
/// ```
/// use trustbed_probe::{Availability, AvailabilitySettings, DutyCycle, Gap};
/// use trustbed_units::{Ns, Span};
/// let settings = AvailabilitySettings {
///     threshold: Span::from_micros(50),
///     duty: DutyCycle::always(),
///     table: Vec::with_capacity(100),
/// };
/// let mut monitor = Availability::new(settings, Ns(0));
/// monitor.on_gap(Gap { begin: Ns(990_000_000), length: Span::from_millis(30) });
/// monitor.finish(Ns(1_500_000_000));
/// let first = monitor.poll_second().unwrap();
/// assert_eq!((first.tally.lost, first.tally.share()), (Span::from_millis(10), Some(0.99)));
/// let rest = monitor.poll_second().unwrap();
/// assert_eq!((rest.tally.lost, rest.tally.share()), (Span::from_millis(20), Some(0.96)));
/// ```
#[derive(Debug)]
pub struct Availability {
    threshold: Span,
    duty: DutyCycle,
    begin: Ns,
    /// The second that is not over; its end is the end of the second of the clock.
    open: AvailabilitySecond,
    /// Of the open second.
    window: Window,
    /// What of the last gap is not counted as lost yet: it may reach into seconds that have not
    /// begun.
    pending: Window,
    table: Vec<Gap>,
    closed: VecDeque<AvailabilitySecond>,
    total: GapTally,
    seconds: u64,
    starved_seconds: u64,
}

/// What it all came to: of the seconds that are over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailabilityTotals {
    /// The beginning of the first of them.
    pub from: Ns,
    /// The end of the last of them.
    pub until: Ns,
    /// What was seen in all of them.
    pub tally: GapTally,
    /// Seconds, or parts of them, in which something was watched.
    pub seconds: u64,
    /// Those with a share below 0.9.
    pub starved_seconds: u64,
}

impl AvailabilityTotals {
    /// The time lost in gaps; where not all of it was watched, as much for the rest. What osnoise
    /// calls noise.
    #[expect(clippy::cast_possible_truncation, reason = "rounded to nanoseconds")]
    pub fn noise(&self) -> Option<Span> {
        let (all, watched) = (self.until - self.from, self.tally.watched);
        if all == watched {
            return Some(self.tally.lost);
        }
        (watched > Span::ZERO).then(|| {
            Span((self.tally.lost.as_f64() * (all.as_f64() / watched.as_f64())).round() as i64)
        })
    }

    /// As osnoise prints it: 100·(1 − noise/runtime).
    pub fn available_percent(&self) -> Option<f64> {
        self.tally.share().map(|share| 100.0 * share)
    }
}

impl Availability {
    /// A monitor that begins at a moment.
    pub fn new(settings: AvailabilitySettings, begin: Ns) -> Self {
        let AvailabilitySettings { threshold, duty, table } = settings;
        let (open, window) = opened(duty, begin);
        let pending = Window { from: begin, until: begin };
        let closed = VecDeque::with_capacity(WAITING);
        let mut monitor = Self {
            threshold,
            duty,
            begin,
            open,
            window,
            pending,
            table: Vec::new(),
            closed,
            total: GapTally::default(),
            seconds: 0,
            starved_seconds: 0,
        };
        monitor.exchange(table);
        monitor
    }

    /// The loop went round so many times more within the open second.
    pub fn on_passes(&mut self, passes: u64) {
        self.open.tally.passes += passes;
    }

    /// Two readings lay that far apart. What is not longer than the threshold is no gap. No time is
    /// lost twice, and none of a second that is over: of a gap that begins before the end of the
    /// last one, or before the open second, that part is cut off.
    pub fn on_gap(&mut self, gap: Gap) {
        let begin = gap.begin.max(self.pending.until).max(self.open.from);
        let found = Gap { begin, length: gap.end() - begin };
        if gap.length <= self.threshold || found.length <= Span::ZERO {
            return;
        }
        self.advance(begin);
        self.settle(begin);
        self.pending = Window { from: begin, until: found.end() };
        let is_recorded = self.has_room();
        if is_recorded {
            self.table.push(found);
        }
        self.open.tally.on_gap(found, is_recorded);
    }

    /// It is so late: seconds that are over by now are closed.
    pub fn advance(&mut self, now: Ns) {
        // The last second that a clock can show has no end.
        while now >= self.open.until && self.open.from < self.open.until {
            self.close(self.open.until);
        }
    }

    /// The monitor ends, and with it the second that is open; what of a gap lies behind the end is
    /// not lost.
    pub fn finish(&mut self, end: Ns) {
        self.advance(end);
        if end > self.open.from {
            self.close(end);
        }
    }

    /// The earliest second that is over and was not polled.
    pub fn poll_second(&mut self) -> Option<AvailabilitySecond> {
        self.closed.pop_front()
    }

    /// The gaps that were recorded since the last exchange.
    pub fn recorded(&self) -> &[Gap] {
        &self.table
    }

    /// Whether another gap can be recorded.
    pub const fn has_room(&self) -> bool {
        self.table.len() < self.table.capacity()
    }

    /// Hands out the gaps that were recorded, and goes on with another table, which is emptied.
    pub fn exchange(&mut self, mut empty: Vec<Gap>) -> Vec<Gap> {
        empty.clear();
        std::mem::replace(&mut self.table, empty)
    }

    /// All seconds that are over.
    pub fn totals(&self) -> AvailabilityTotals {
        AvailabilityTotals {
            from: self.begin,
            until: self.open.from,
            tally: self.total.clone(),
            seconds: self.seconds,
            starved_seconds: self.starved_seconds,
        }
    }

    /// Counts as lost what of the last gap lies before a moment, which is in the open second or its
    /// end.
    fn settle(&mut self, at: Ns) {
        let until = self.pending.until.min(at);
        self.open.tally.lost += self.window.overlap(self.pending.from, until);
        self.pending.from = self.pending.from.max(until);
    }

    fn close(&mut self, at: Ns) {
        self.settle(at);
        let (next, window) = opened(self.duty, at);
        let mut over = std::mem::replace(&mut self.open, next);
        over.until = at;
        over.tally.watched = self.window.overlap(over.from, at);
        self.window = window;
        self.total.merge(&over.tally);
        self.seconds += u64::from(over.tally.watched > Span::ZERO);
        self.starved_seconds += u64::from(over.is_starved() == Some(true));
        self.closed.push_back(over);
    }
}

/// What of a second lies behind a moment in it, and the window of that second.
fn opened(duty: DutyCycle, from: Ns) -> (AvailabilitySecond, Window) {
    let second = from.0.div_euclid(SECOND.0);
    let until = Ns(second.saturating_mul(SECOND.0)) + SECOND;
    (AvailabilitySecond { from, until, tally: GapTally::default() }, duty.in_second(second))
}
