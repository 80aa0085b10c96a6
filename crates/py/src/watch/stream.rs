//! One stream of packets: its windows, and the packet trains in each.
//!
//! A train is what follows each other by at most [`Trains::GAP`]. One that goes on across the end
//! of a window counts as two, one in each: its length can under-, never be overestimated.

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
    /// The window that the last packet fell into.
    open: Option<Tally>,
    /// Windows with packets that are not handed out yet.
    closed: VecDeque<Tally>,
}

/// What is counted in a window while its packets come.
#[derive(Debug, Clone, Copy)]
struct Tally {
    /// Where the window begins and ends, in nanoseconds since the epoch.
    begin: i64,
    end: i64,
    packets: u64,
    /// Trains that ended.
    trains: u64,
    packets_most: u64,
    bytes_most: u64,
    /// The train that may go on: packets, bytes, when its last packet came.
    train: (u64, u64, Ns),
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
        Self {
            plan,
            windows,
            arrivals,
            latest: start,
            moved: 0,
            open: None,
            closed: VecDeque::new(),
        }
    }

    /// Packets of one moment, all but the last of which may be given as one; what comes too late
    /// for its position is moved forward and counted.
    #[inline]
    pub(super) fn push(&mut self, time: Ns, length: u32, packets: u32) {
        self.moved += if time < self.latest { u64::from(packets) } else { 0 };
        self.latest = self.latest.max(time);
        self.arrivals.push(self.latest, length);
        match &mut self.open {
            Some(tally) if self.latest.0 < tally.end => tally.add(self.latest, length, packets),
            _ => self.begin(length, packets),
        }
    }

    /// Time has passed: nothing earlier than `now` will come.
    pub(super) fn advance(&mut self, now: Ns) {
        self.settle();
        self.latest = self.latest.max(now);
        self.windows.advance(self.latest);
    }

    pub(super) fn poll(&mut self) -> Option<Measured> {
        let row = self.windows.poll()?;
        Some(self.with_tally(row))
    }

    pub(super) fn moved(&self) -> u64 {
        self.moved
    }

    /// It ended: what was not polled yet.
    pub(super) fn finish(mut self, end: Ns) -> Vec<Measured> {
        self.settle();
        let windows = std::mem::replace(&mut self.windows, Windows::new(self.plan));
        windows.finish(end).into_iter().map(|row| self.with_tally(row)).collect()
    }

    fn settle(&mut self) {
        self.windows.push(self.arrivals.packets());
        self.arrivals.clear();
    }

    /// The first packets of a window.
    fn begin(&mut self, length: u32, packets: u32) {
        self.closed.extend(self.open.take());
        let window = self.plan.grid.length().0;
        let begin = self.latest.0.div_euclid(window).saturating_mul(window);
        let train = (u64::from(packets), u64::from(length), self.latest);
        let end = begin.saturating_add(window);
        self.open = Some(Tally {
            begin,
            end,
            packets: train.0,
            trains: 0,
            packets_most: 0,
            bytes_most: 0,
            train,
        });
    }

    /// The row with what was counted in its window.
    fn with_tally(&mut self, row: Row) -> Measured {
        let found = if row.packets == 0 {
            None
        } else if self.closed.front().is_some_and(|tally| tally.begin == row.start.0) {
            self.closed.pop_front()
        } else {
            self.open.take_if(|tally| tally.begin == row.start.0)
        };
        let packets = found.map_or(row.packets, |tally| tally.packets);
        Measured {
            row: Row { packets, ..row },
            trains: found.map_or_else(TrainFacts::default, Tally::trains),
        }
    }
}

impl Tally {
    #[inline]
    fn add(&mut self, time: Ns, length: u32, packets: u32) {
        self.packets += u64::from(packets);
        if time - self.train.2 > Trains::GAP {
            self.close();
        }
        self.train.0 += u64::from(packets);
        self.train.1 += u64::from(length);
        self.train.2 = time;
    }

    /// Ends the train.
    fn close(&mut self) {
        let (packets, bytes, _) = self.train;
        self.trains += 1;
        self.packets_most = self.packets_most.max(packets);
        self.bytes_most = self.bytes_most.max(bytes);
        (self.train.0, self.train.1) = (0, 0);
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    fn trains(mut self) -> TrainFacts {
        self.close();
        TrainFacts {
            trains: self.trains,
            packets_mean: Some(self.packets as f64 / self.trains as f64),
            packets_most: Some(self.packets_most),
            bytes_most: Some(self.bytes_most),
        }
    }
}

#[cfg(test)]
mod tests {
    use trustbed_burst::{Drain, Grid, Mode, Packets};
    use trustbed_units::{Rate, Span};

    use super::*;

    fn plan() -> Plan {
        Plan {
            mode: Mode::DynamicSame,
            grid: Grid::aligned_to_epoch(Span::from_millis(1)).unwrap(),
        }
    }

    fn rows(stream: &mut Stream) -> Vec<(i64, u64, u64, Option<u64>)> {
        std::iter::from_fn(|| stream.poll()).map(short).collect()
    }

    fn short(measured: Measured) -> (i64, u64, u64, Option<u64>) {
        (
            measured.row.start.0,
            measured.row.packets,
            measured.trains.trains,
            measured.trains.packets_most,
        )
    }

    #[test]
    fn a_window_comes_with_its_trains_when_it_is_over() {
        let mut stream = Stream::since(plan(), Ns(1_200_000));
        for time in [1_300_000, 1_350_000, 1_900_000, 2_010_000, 2_020_000, 2_030_000] {
            stream.push(Ns(time), 100, 1);
        }
        stream.advance(Ns(1_999_999));
        assert_eq!(
            rows(&mut stream),
            [(1_000_000, 3, 2, Some(2))],
            "the packets of the next window show that this one is over"
        );
        stream.advance(Ns(5_000_000));
        assert_eq!(rows(&mut stream), [(2_000_000, 3, 1, Some(3)), (3_000_000, 0, 0, None)]);
        stream.push(Ns(5_100_000), 100, 1);
        stream.push(Ns(4_000_000), 100, 1);
        assert_eq!(stream.moved(), 1);
        let last: Vec<_> = stream.finish(Ns(5_200_000)).into_iter().collect();
        assert!(last[0].row.partial);
        assert_eq!(last.into_iter().map(short).collect::<Vec<_>>(), [(5_000_000, 2, 1, Some(2))]);
    }

    /// Packets of one moment, given one by one or all but the last as one, come to the same; and
    /// trains are those of the engine.
    #[test]
    fn packets_of_a_moment_may_be_given_as_two() {
        let modes = [Mode::DynamicSame, Mode::DynamicPrevious, Mode::DynamicSameCarry];
        for mode in modes.into_iter().chain(Drain::at(Rate(50_000_000)).map(Mode::Static)) {
            let plan = Plan { mode, ..plan() };
            let (mut singly, mut joined) = (Stream::since(plan, Ns(0)), Stream::since(plan, Ns(0)));
            let mut trains = Trains::new(Trains::GAP).unwrap();
            let mut time = 10_000;
            for number in 0..900_u32 {
                time += i64::from(number * 7_919 % 13) * 11_000;
                let (count, length, last) = (1 + number * 31 % 45, 1_514, 60 + number % 1_000);
                for nth in 1..=count {
                    let length = if nth == count { last } else { length };
                    singly.push(Ns(time), length, 1);
                    if time < 1_000_000 {
                        trains.add(Packets::new(&[time], &[length]).unwrap()).unwrap();
                    }
                }
                if count > 1 {
                    joined.push(Ns(time), (count - 1) * length, count - 1);
                }
                joined.push(Ns(time), last, 1);
            }
            let (singly, joined) = (singly.finish(Ns(time)), joined.finish(Ns(time)));
            assert!(
                singly.len() > 50
                    && singly.iter().any(|measured| measured
                        .row
                        .peaks
                        .is_some_and(|peaks| !peaks.wait.is_zero()))
            );
            for (one, other) in singly.iter().zip(&joined) {
                assert_eq!((one.row, one.trains), (other.row, other.trains));
            }
            let (found, summary) = (joined[0].trains, trains.summary());
            assert_eq!(
                (found.trains, found.packets_mean),
                (summary.packets.count(), summary.packets.mean())
            );
            assert_eq!(
                (found.packets_most, found.bytes_most),
                (summary.packets.max(), summary.bytes.max())
            );
        }
    }
}
