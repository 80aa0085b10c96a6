//! Frames of an interface in, windows of every direction out.
//!
//! Packets are put in the order of their times within 10 ms, as those of a file are. A window is
//! handed out when nothing can come that belongs to it: when a packet was seen more than 10 ms
//! behind its end, or the caller states that so much time has passed. A clock that steps back by up
//! to a second keeps packets at its latest time until it has caught up, and each is counted; at a
//! longer step the windows begin anew.

use trustbed_burst::Plan;
use trustbed_capture::{Direction, Frame};
use trustbed_units::{Ns, Span};

use super::measure::{LeftOut, Measure};
use super::stream::{Measured, Stream};

/// How far back a packet is sorted in: as far as one of a file.
const BUFFER: Span = trustbed_burst::Order::REACH;
/// A clock that steps back by more than this begins anew.
const STEP: Span = Span::from_secs(1);

/// Measures while frames pass: [`Meter::frame`], now and then [`Meter::settle`], then
/// [`Meter::poll`]; at the end [`Meter::finish`].
pub(super) struct Meter {
    measure: Measure,
    plan: Plan,
    order: Order,
    /// In the order of [`Meter::names`].
    streams: Vec<Stream>,
    directions: bool,
    ready: Vec<(&'static str, Measured)>,
    counted: Counted,
}

/// What was counted besides windows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// Packets that count, those that super-packets were cut into among them.
    pub(super) packets: u64,
    /// The sum of their lengths.
    pub(super) bytes: u64,
    /// Super-packets that were cut.
    pub(super) expanded: u64,
    pub(super) left_out: LeftOut,
    /// Packets that were moved forward, because the clock had stepped back.
    pub(super) steps_back: u64,
    /// Steps back after which the windows began anew.
    pub(super) clock_steps: u64,
}

/// Packets of one moment that may yet be overtaken.
#[derive(Debug, Clone, Copy)]
struct Held {
    time: Ns,
    length: u32,
    packets: u32,
    direction: Direction,
}

/// Packets of the last 10 ms.
struct Order {
    held: Vec<Held>,
    newest: Ns,
    sorted: bool,
}

impl Meter {
    /// With `directions` what comes in and what leaves is measured apart, besides all of it.
    pub(super) fn new(measure: Measure, plan: Plan, directions: bool, start: Ns) -> Self {
        let order = Order { held: Vec::new(), newest: start, sorted: true };
        let mut meter = Self {
            measure,
            plan,
            order,
            streams: Vec::new(),
            directions,
            ready: Vec::new(),
            counted: Counted::default(),
        };
        meter.begin(start);
        meter
    }

    /// The streams, in the order in which the windows of a moment are handed out.
    pub(super) fn names(&self) -> &'static [&'static str] {
        if self.directions { &["in", "out", "all"] } else { &["all"] }
    }

    /// Takes a frame. False if the filter does not mean it.
    #[inline]
    pub(super) fn frame(&mut self, frame: &Frame<'_>) -> bool {
        // More than a step of the clock can be: what is held belongs to the time before.
        if self.order.newest - frame.ts > BUFFER {
            self.step_back(frame.ts);
        }
        let Self { measure, order, counted, .. } = self;
        let direction = frame.marked;
        measure.frame(frame, |time, length, packets| {
            counted.packets += u64::from(packets);
            counted.bytes += u64::from(length);
            order.push(Held { time, length, packets, direction });
        })
    }

    /// Nothing earlier than `until` will come, and nothing more than 10 ms before the newest
    /// packet. Completes windows.
    pub(super) fn settle(&mut self, until: Option<Ns>) {
        let seen = self.order.newest - BUFFER;
        let now = until.map_or(seen, |until| until.max(seen));
        self.order.newest = self.order.newest.max(now);
        self.release(now);
        let names = self.names();
        for (stream, name) in self.streams.iter_mut().zip(names) {
            stream.advance(now);
            self.ready
                .extend(std::iter::from_fn(|| stream.poll()).map(|measured| (*name, measured)));
        }
        // Windows of one moment stand together, also where several became complete at once.
        self.ready.sort_by_key(|(_, measured)| measured.row.start);
    }

    /// What is complete.
    pub(super) fn poll(&mut self) -> std::vec::Drain<'_, (&'static str, Measured)> {
        self.ready.drain(..)
    }

    pub(super) fn counted(&self) -> Counted {
        let moved = self.streams.iter().next_back().map_or(0, Stream::moved);
        let (expanded, left_out) = (self.measure.expanded(), self.measure.left_out());
        Counted { expanded, left_out, steps_back: self.counted.steps_back + moved, ..self.counted }
    }

    /// The capture ended: everything that was not polled yet, the windows that the end cut among
    /// it.
    pub(super) fn finish(&mut self, end: Ns) -> Vec<(&'static str, Measured)> {
        self.end_streams(end);
        std::mem::take(&mut self.ready)
    }

    fn begin(&mut self, start: Ns) {
        self.streams = self.names().iter().map(|_| Stream::since(self.plan, start)).collect();
    }

    fn end_streams(&mut self, end: Ns) {
        self.release(Ns::MAX);
        let names = self.names();
        for (stream, name) in self.streams.drain(..).zip(names) {
            self.counted.steps_back += if *name == "all" { stream.moved() } else { 0 };
            self.ready.extend(stream.finish(end).into_iter().map(|measured| (*name, measured)));
        }
        self.ready.sort_by_key(|(_, measured)| measured.row.start);
    }

    #[cold]
    fn step_back(&mut self, now: Ns) {
        if self.order.newest - now > STEP {
            self.end_streams(self.order.newest);
            self.counted.clock_steps += 1;
            self.begin(now);
        } else {
            self.release(Ns::MAX);
        }
        self.order.newest = now;
    }

    /// Hands packets up to a moment to their streams.
    fn release(&mut self, until: Ns) {
        let settled = self.order.settled(until);
        for Held { time, length, packets, direction } in self.order.held.drain(..settled) {
            match (&mut self.streams[..], direction) {
                ([inbound, _, all], Direction::Inbound) => {
                    inbound.push(time, length, packets);
                    all.push(time, length, packets);
                }
                ([_, outbound, all], Direction::Outbound) => {
                    outbound.push(time, length, packets);
                    all.push(time, length, packets);
                }
                ([.., all], _) => all.push(time, length, packets),
                ([], _) => {}
            }
        }
    }
}

impl Order {
    #[inline]
    fn push(&mut self, held: Held) {
        self.sorted &= held.time >= self.newest;
        self.newest = self.newest.max(held.time);
        self.held.push(held);
    }

    /// How many packets, from the first, are not later than a moment.
    fn settled(&mut self, until: Ns) -> usize {
        if !self.sorted {
            self.held.sort_by_key(|held| held.time);
            self.sorted = true;
        }
        self.held.partition_point(|held| held.time <= until)
    }
}

#[cfg(test)]
mod tests {
    use trustbed_burst::{Basis, Grid, Mode};
    use trustbed_wire::LinkType;

    use super::*;

    const MS: i64 = 1_000_000;
    const START: i64 = 1_700_000_000_000 * MS;

    fn meter() -> Meter {
        let plan = Plan {
            mode: Mode::DynamicSame,
            grid: Grid::aligned_to_epoch(Span::from_millis(100)).unwrap(),
        };
        Meter::new(Measure::new(Basis::Frame, None, true), plan, true, Ns(START))
    }

    fn push(meter: &mut Meter, milliseconds: i64, direction: Direction) {
        let (ts, link) = (Ns(START + milliseconds * MS), Some(LinkType::Ethernet));
        let frame = Frame {
            ts,
            index: 1,
            file: 0,
            interface: 0,
            link,
            original_length: 1_000,
            marked: direction,
            bytes: &[0; 60],
        };
        assert!(meter.frame(&frame));
    }

    fn rows(
        measured: impl IntoIterator<Item = (&'static str, Measured)>,
    ) -> Vec<(&'static str, i64, u64)> {
        measured
            .into_iter()
            .map(|(name, measured)| {
                (name, (measured.row.start.0 - START) / MS, measured.row.packets)
            })
            .collect()
    }

    #[test]
    fn directions_are_distinguished_and_windows_of_a_moment_stand_together() {
        let mut meter = meter();
        for (milliseconds, direction) in [
            (5, Direction::Inbound),
            (30, Direction::Outbound),
            (130, Direction::Inbound),
            (210, Direction::Unknown),
        ] {
            push(&mut meter, milliseconds, direction);
        }
        meter.settle(None);
        let first = [
            ("in", 0, 1),
            ("out", 0, 1),
            ("all", 0, 2),
            ("in", 100, 1),
            ("out", 100, 0),
            ("all", 100, 1),
        ];
        assert_eq!(rows(meter.poll()), first);
        assert_eq!(
            rows(meter.finish(Ns(START + 250 * MS))),
            [("in", 200, 0), ("out", 200, 0), ("all", 200, 1)]
        );
        assert_eq!((meter.counted().packets, meter.counted().bytes), (4, 4_000));
    }

    #[test]
    fn a_window_waits_for_what_may_still_be_sorted_in() {
        let mut meter = meter();
        push(&mut meter, 50, Direction::Inbound);
        push(&mut meter, 109, Direction::Inbound);
        meter.settle(None);
        assert_eq!(rows(meter.poll()), []);
        push(&mut meter, 99, Direction::Inbound);
        push(&mut meter, 110, Direction::Inbound);
        meter.settle(None);
        assert_eq!(rows(meter.poll())[0], ("in", 0, 2));
        assert_eq!(meter.counted().steps_back, 0);
        meter.settle(Some(Ns(START + 200 * MS)));
        assert_eq!(rows(meter.poll())[2], ("all", 100, 2), "time alone completes a window");
    }

    #[test]
    fn a_clock_that_steps_back_is_counted_and_a_long_step_begins_anew() {
        let mut meter = meter();
        push(&mut meter, 350, Direction::Inbound);
        push(&mut meter, 250, Direction::Inbound);
        meter.settle(Some(Ns(START + 360 * MS)));
        assert_eq!((meter.counted().steps_back, meter.counted().clock_steps), (1, 0));
        push(&mut meter, -5_000, Direction::Inbound);
        push(&mut meter, -4_800, Direction::Inbound);
        meter.settle(None);
        assert_eq!((meter.counted().steps_back, meter.counted().clock_steps), (1, 1));
        let rows = rows(meter.poll());
        assert!(rows.contains(&("all", 300, 2)) && rows.contains(&("all", -5_000, 1)), "{rows:?}");
    }
}
