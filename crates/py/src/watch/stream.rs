//! One stream of packets: its windows, and the trains in each.
//!
//! A train that goes on across the end of a window counts as two, one in each: its length can under-, never be overestimated.

use std::collections::VecDeque;

use trustbed_burst::{Arrivals, Plan, Row, Trains, Windows};
use trustbed_units::Ns;

/// Packets of a direction, or all of them.
pub(super) struct Stream {
    plan: Plan,
    windows: Windows,
    arrivals: Arrivals,
    /// Nothing that comes may be earlier: those windows were handed out.
    latest: Ns,
    moved: u64,
    /// The trains of the window that the last packet fell into.
    open: Option<(i64, Trains)>,
    /// Of windows that ended, with where they begin.
    closed: VecDeque<(i64, TrainFacts)>,
}

/// The trains of a window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TrainFacts {
    pub(super) trains: u64,
    pub(super) packets_mean: Option<f64>,
    pub(super) packets_most: Option<u64>,
    pub(super) bytes_most: Option<u64>,
}

/// A window, or several without packets, with its trains.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) row: Row,
    pub(super) trains: TrainFacts,
}

impl Stream {
    pub(super) fn since(plan: Plan, start: Ns) -> Self {
        let (windows, arrivals) = (Windows::since(plan, start), Arrivals::new());
        Self { plan, windows, arrivals, latest: start, moved: 0, open: None, closed: VecDeque::new() }
    }

    /// A packet; one that comes too late for its place is moved forward and counted.
    #[inline]
    pub(super) fn push(&mut self, time: Ns, length: u32) {
        self.moved += u64::from(time < self.latest);
        self.latest = self.latest.max(time);
        self.arrivals.push(self.latest, length);
    }

    /// Time has passed: nothing earlier than `now` will come.
    pub(super) fn advance(&mut self, now: Ns) {
        self.settle();
        self.latest = self.latest.max(now);
        self.windows.advance(self.latest);
    }

    pub(super) fn poll(&mut self) -> Option<Measured> {
        let row = self.windows.poll()?;
        Some(self.with_trains(row))
    }

    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// It ended: what was not polled yet.
    pub(super) fn finish(mut self, end: Ns) -> Vec<Measured> {
        self.settle();
        let windows = std::mem::replace(&mut self.windows, Windows::new(self.plan));
        windows.finish(end).into_iter().map(|row| self.with_trains(row)).collect()
    }

    fn settle(&mut self) {
        let mut packets = self.arrivals.packets();
        self.windows.push(packets);
        let length = self.plan.grid.length().0;
        while let Some(first) = packets.first() {
            let begin = first.0.div_euclid(length) * length;
            let end = begin.saturating_add(length);
            let (window, later) = packets.split_at(packets.times().partition_point(|time| *time < end));
            if self.open.as_ref().is_none_or(|(open, _)| *open != begin) {
                close(&mut self.open, &mut self.closed);
                self.open = Trains::new(Trains::GAP).ok().map(|trains| (begin, trains));
            }
            // The times of a stream never fall, so there is nothing to refuse.
            let _ = self.open.as_mut().map(|(_, trains)| trains.add(window));
            packets = later;
        }
        self.arrivals.clear();
    }

    fn with_trains(&mut self, row: Row) -> Measured {
        let mut trains = TrainFacts::default();
        if row.packets > 0 {
            if self.open.as_ref().is_some_and(|(begin, _)| *begin == row.start.0) {
                close(&mut self.open, &mut self.closed);
            }
            while let Some((begin, facts)) = self.closed.pop_front() {
                if begin == row.start.0 {
                    trains = facts;
                    break;
                }
            }
        }
        Measured { row, trains }
    }
}

fn close(open: &mut Option<(i64, Trains)>, closed: &mut VecDeque<(i64, TrainFacts)>) {
    let Some((begin, trains)) = open.take() else { return };
    let found = trains.summary();
    let facts = TrainFacts {
        trains: found.packets.count(),
        packets_mean: found.packets.mean(),
        packets_most: found.packets.max(),
        bytes_most: found.bytes.max(),
    };
    closed.push_back((begin, facts));
}

#[cfg(test)]
mod tests {
    use trustbed_burst::{Grid, Mode};
    use trustbed_units::Span;

    use super::*;

    fn plan() -> Plan {
        Plan { mode: Mode::DynamicSame, grid: Grid::aligned_to_epoch(Span::from_millis(1)).unwrap() }
    }

    fn rows(stream: &mut Stream) -> Vec<(i64, u64, u64, Option<u64>)> {
        std::iter::from_fn(|| stream.poll()).map(short).collect()
    }

    fn short(measured: Measured) -> (i64, u64, u64, Option<u64>) {
        (measured.row.start.0, measured.row.packets, measured.trains.trains, measured.trains.packets_most)
    }

    #[test]
    fn a_window_comes_with_its_trains_when_it_is_over() {
        let mut stream = Stream::since(plan(), Ns(1_200_000));
        for time in [1_300_000, 1_350_000, 1_900_000, 2_010_000, 2_020_000, 2_030_000] {
            stream.push(Ns(time), 100);
        }
        stream.advance(Ns(1_999_999));
        assert_eq!(rows(&mut stream), [(1_000_000, 3, 2, Some(2))], "the packets of the next window show that this one is over");
        stream.advance(Ns(5_000_000));
        assert_eq!(rows(&mut stream), [(2_000_000, 3, 1, Some(3)), (3_000_000, 0, 0, None)]);
        stream.push(Ns(5_100_000), 100);
        stream.push(Ns(4_000_000), 100);
        assert_eq!(stream.moved(), 1);
        let last: Vec<_> = stream.finish(Ns(5_200_000)).into_iter().collect();
        assert!(last[0].row.partial);
        assert_eq!(last.into_iter().map(short).collect::<Vec<_>>(), [(5_000_000, 2, 1, Some(2))]);
    }
}
