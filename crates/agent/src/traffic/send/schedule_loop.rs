//! The loop that sends: waits for the next packet of any source, exactly, and meanwhile serves
//! connections that can take more.
//!
//! Unpaced sources send a packet each in turn between the others; while they have data, nothing
//! sleeps.

use std::sync::Arc;

use trustbed_traffic::{Departure, Mixture, Schedule};
use trustbed_units::{Ns, Span};

use super::Offered;
use super::channel::{Connected, Fate};
use super::departures;
use super::source::Source;
use crate::output::rows::{Rows, RowsWritten};
use crate::session::workers::Start;
use crate::session::{Failure, Stop};
use crate::sys::clock::{self, Oversleep, Priority, Rest};
use crate::sys::kernel::{self, Poll};
use crate::sys::readiness::{Interest, Readiness};

/// No wait is longer: what becomes of the real-time clock has to be noticed.
const LONGEST_WAIT: Span = Span::from_millis(500);
/// The end waits so long for connections to take what waits.
const FAREWELL: Span = Span::from_secs(1);

/// All sources, and the loop that serves them.
pub(super) struct Sender {
    sources: Vec<Source>,
    /// Sources whose connection is waited for, and how many they are.
    waiting: Vec<bool>,
    awaited: usize,
    readiness: Readiness,
    departures: Option<Rows>,
    offered: Arc<Offered>,
    stop: Stop,
    rest: Rest,
    oversleep: Oversleep,
    real_time: bool,
}

/// Sources without times that have not ended, and the schedules of their packets.
type Unpaced = Vec<(usize, Schedule)>;

impl Sender {
    pub(super) fn new(
        sources: Vec<Source>,
        departures: Option<Rows>,
        offered: Arc<Offered>,
        stop: Stop,
    ) -> Result<Self, Failure> {
        let readiness = Readiness::new().map_err(|error| {
            Failure::running(
                format!("the connections cannot be waited for: {error}"),
                "raise the limit of open files (ulimit -n)",
            )
        })?;
        let waiting = vec![false; sources.len()];
        let (rest, oversleep) = (Rest::new(clock::monotonic()), Oversleep::new());
        Ok(Self {
            sources,
            waiting,
            awaited: 0,
            readiness,
            departures,
            offered,
            stop,
            rest,
            oversleep,
            real_time: false,
        })
    }

    /// What was granted to the thread that sends.
    pub(super) fn on_priority(&mut self, granted: Priority) {
        self.real_time = granted == Priority::Fifo;
    }

    /// How often it slept so that others could run, though it would not have slept on its own.
    pub(super) fn short_sleeps(&self) -> u64 {
        self.rest.short_sleeps()
    }

    /// The sources, and what became of the file of departures.
    pub(super) fn into_parts(self) -> (Vec<Source>, Option<RowsWritten>) {
        (self.sources, self.departures.map(Rows::finish))
    }

    /// Sends everything there is, or until stop is requested.
    pub(super) fn send(&mut self, mut start: Start) {
        self.rest = Rest::new(clock::monotonic());
        let (mut mixture, indices, mut unpaced) = self.schedules();
        let mut next = mixture.next();
        while let Some((index, departure)) = next {
            let now = self.wait_until(start.monotonic + departure.due, &mut start, &mut unpaced);
            if self.stop.is_requested() {
                break;
            }
            if let Some(index) = indices.get(index) {
                self.depart(*index, departure, now, &start);
            }
            next = mixture.next();
        }
        while !unpaced.is_empty() && !self.stop.is_requested() {
            let now = self.nap(Span::ZERO);
            let busy = self.serve_unpaced(&mut unpaced, now, &start);
            self.serve_connections(if busy { Span::ZERO } else { LONGEST_WAIT }, &start);
        }
        self.drain(&mut start);
        for (schedule, index) in mixture.schedules().iter().zip(&indices) {
            if let Some(source) = self.sources.get_mut(*index) {
                source.schedule = Some(schedule.clone());
            }
        }
    }

    /// The schedules with times as one, whose they are, and those without times.
    fn schedules(&mut self) -> (Mixture, Vec<usize>, Unpaced) {
        let (mut timed, mut indices, mut unpaced) = (Vec::new(), Vec::new(), Vec::new());
        for (index, source) in self.sources.iter_mut().enumerate() {
            match source.schedule.take() {
                Some(schedule) if source.release.has_times() => {
                    timed.push(schedule);
                    indices.push(index);
                }
                Some(schedule) => unpaced.push((index, schedule)),
                None => {}
            }
        }
        (Mixture::new(timed), indices, unpaced)
    }

    /// Waits for a moment and serves connections that can take more meanwhile. Returns the moment
    /// at which it ended: not before `due`, unless stop was requested.
    fn wait_until(&mut self, due: Ns, start: &mut Start, unpaced: &mut Unpaced) -> Ns {
        loop {
            // What waits is written even where packets are so close that nothing else has time.
            if self.awaited > 0 {
                self.serve_connections(Span::ZERO, start);
            }
            let now = self.nap(due - clock::monotonic());
            if now >= due || self.stop.is_requested() {
                return now;
            }
            let busy = self.serve_unpaced(unpaced, now, start);
            if busy {
                // Their packets took time: connections and the clock are read again.
                self.serve_connections(Span::ZERO, start);
                continue;
            }
            let (left, margin) = (due - now, self.oversleep.margin());
            if left <= margin {
                return clock::spin_until(due);
            }
            self.serve_connections((left - margin).min(LONGEST_WAIT), start);
            if left > LONGEST_WAIT {
                start.offset.refresh();
            }
        }
    }

    /// Sleeps a little if it has to, so that the kernel need not take a real-time thread off the
    /// processor for long. The moment behind it.
    fn nap(&mut self, free: Span) -> Ns {
        let now = clock::monotonic();
        if !self.real_time {
            return now;
        }
        let Some(nap) = self.rest.due(now, free) else { return now };
        kernel::sleep_until(now + nap);
        let woken = clock::monotonic();
        self.rest.on_sleep(woken - now);
        woken
    }

    /// One packet of each source without times; whether any had one that could be sent.
    fn serve_unpaced(&mut self, unpaced: &mut Unpaced, now: Ns, start: &Start) -> bool {
        let mut busy = false;
        let mut index = 0;
        while let Some((source, schedule)) = unpaced.get_mut(index) {
            let source = *source;
            index += 1;
            if self.waiting.get(source).copied().unwrap_or(true) {
                continue;
            }
            busy = true;
            // A connection that has ended takes nothing more: its source is over, or it would be
            // tried as fast as a processor can.
            let over = self.sources.get(source).is_none_or(|source| source.channel.is_broken());
            if let Some(departure) = if over { None } else { schedule.next() } {
                self.depart(source, departure, now, start);
                continue;
            }
            index -= 1;
            let (_, ended) = unpaced.swap_remove(index);
            if let Some(source) = self.sources.get_mut(source) {
                source.schedule = Some(ended);
            }
        }
        busy
    }

    /// A packet leaves.
    fn depart(&mut self, index: usize, departure: Departure, now: Ns, start: &Start) {
        let Some(source) = self.sources.get_mut(index) else { return };
        let elapsed = now - start.monotonic;
        let sequence = source.channel.sequence();
        let fate = source.channel.on_due(departure, start.offset.to_realtime(now), elapsed);
        source.on_departure(departure, elapsed);
        self.offered.add(departure.length);
        if let Some(rows) = &mut self.departures {
            departures::append(rows, source.number, sequence, departure, elapsed, fate);
        }
        if fate == Fate::Waits {
            self.await_connection(index);
        }
    }

    /// From now on the connection is written to when it can take more.
    fn await_connection(&mut self, index: usize) {
        let (Some(source), Some(waiting)) = (self.sources.get(index), self.waiting.get_mut(index))
        else {
            return;
        };
        if let (false, Connected::Stream(connection)) = (*waiting, &source.channel.socket) {
            *waiting =
                self.readiness.add(&connection.stream, index as u64, Interest::Write).is_ok();
            self.awaited += usize::from(*waiting);
        }
    }

    /// Sleeps for a while, or until connections can take more, or stop is requested; writes what
    /// waits.
    fn serve_connections(&mut self, timeout: Span, start: &Start) {
        if timeout <= Span::ZERO && self.awaited == 0 {
            return;
        }
        let before = clock::monotonic();
        let mut poll = Poll::new(&[self.stop.descriptor(), self.readiness.descriptor()]);
        // Where waiting fails nothing can be written either; the loop continues by the clock.
        let woken = poll.wait(Some(timeout)).unwrap_or(0) > 0 && poll.is_ready(1);
        drop(poll);
        if !woken {
            self.rest.on_sleep(clock::monotonic() - before);
            if timeout > Span::ZERO {
                self.oversleep.add(clock::monotonic() - before - timeout);
            }
            return;
        }
        for ready in self.readiness.wait(Some(Span::ZERO)).unwrap_or_default() {
            let index = usize::try_from(ready.number).unwrap_or(usize::MAX);
            let (Some(source), Some(waiting)) =
                (self.sources.get_mut(index), self.waiting.get_mut(index))
            else {
                continue;
            };
            let now = clock::monotonic();
            source.channel.write(start.offset.to_realtime(now), now - start.monotonic);
            if !source.channel.is_waiting() {
                if let Connected::Stream(connection) = &source.channel.socket {
                    // A descriptor that cannot be removed would be ready for ever; nothing waits
                    // for it, so it only costs time.
                    let _ = self.readiness.remove(&connection.stream);
                }
                self.awaited -= usize::from(std::mem::take(waiting));
            }
        }
    }

    /// Gives connections a moment to take what waits.
    fn drain(&mut self, start: &mut Start) {
        let until = clock::monotonic() + FAREWELL;
        while !self.stop.is_requested() && self.awaited > 0 {
            let left = until - clock::monotonic();
            if left.0 <= 0 {
                break;
            }
            self.serve_connections(left, start);
        }
    }
}
