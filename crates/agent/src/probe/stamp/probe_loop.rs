//! The loop that probes: sends what is due, receives answers, and writes rows in the order of
//! sending.
//!
//! It sleeps until something is due and does not spin: a probe may leave some tens of microseconds
//! late, which its timestamps include and no delay contains. It ends with the answer to the last
//! probe: a duplicate of that one is not seen.

use std::collections::VecDeque;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use trustbed_probe::{
    AnswerFate, ClockComparison, Outcome, ReflectorPacket, RoundTrip, SenderPacket, SenderSession,
    StampTime, TimeFormat,
};
use trustbed_traffic::DepartureError;
use trustbed_units::{Ns, Span};

use super::probe::{Configuration, Counters, Dues};
use super::{ClockState, LARGEST, LOOK, probe_report};
use crate::output::rows::Rows;
use crate::session::Stop;
use crate::session::workers::{Start, span};
use crate::sys::clock;
use crate::sys::kernel::Poll;
use crate::sys::timestamping::{self, Queue, ReceiveErrors};

/// Probes that are in transit when stop is requested are waited for no longer than this.
const FAREWELL: Span = Span::from_secs(1);
/// Packets that are taken before something that is due has its turn.
const TURN: usize = 64;
/// Answered probes whose delays are summed up: the last ones.
const MOST_TRIPS: usize = 65_536;
/// The clock offset is from the best probe of each such interval.
const INTERVAL: Span = Span::from_secs(10);

/// The socket, the probes of the session, and their results.
pub(super) struct Prober {
    socket: UdpSocket,
    pub(super) session: SenderSession,
    number_of_session: u16,
    format: TimeFormat,
    payload_bytes: usize,
    give_up: Span,
    pub(super) clock: ClockState,
    /// When each probe that is waited for was due.
    dues: VecDeque<Span>,
    pub(super) departure_error: DepartureError,
    pub(super) clocks: ClockComparison,
    pub(super) trips: VecDeque<(u64, RoundTrip)>,
    /// The reflector's latest state of its clock.
    pub(super) reflector_clock: Option<trustbed_probe::ErrorEstimate>,
    pub(super) failures: Failures,
    pub(super) rows: Option<Rows>,
    counters: Arc<Counters>,
}

/// What went wrong besides.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub(super) struct Failures {
    /// Probes that found no room in this host's queue; they were not sent.
    no_room_probes: u64,
    /// Probes that could not be sent for another reason, and the first one.
    failed_probes: u64,
    failure: Option<String>,
    /// Port-unreachable errors.
    unreachable_answers: u64,
    #[serde(flatten)]
    receive_errors: ReceiveErrors,
    /// Packets that are no answers: too short.
    too_short_packets: u64,
    /// Probes whose moment of sending is this program's, because the kernel had none.
    stamped_early_probes: u64,
    /// Answers whose moment is this program's.
    stamped_late_answers: u64,
}

impl Prober {
    pub(super) fn new(
        configuration: &Configuration,
        socket: UdpSocket,
        rows: Option<Rows>,
        counters: Arc<Counters>,
    ) -> Self {
        let give_up = span(configuration.give_up_ns);
        Self {
            socket,
            session: SenderSession::new(
                configuration.session,
                give_up,
                configuration.reflector_is_stateful,
            ),
            number_of_session: configuration.session,
            format: configuration.timestamps.format(),
            payload_bytes: configuration.payload_bytes,
            give_up,
            clock: ClockState::new(configuration.timestamps),
            dues: VecDeque::new(),
            departure_error: DepartureError::default(),
            clocks: ClockComparison::new(INTERVAL),
            trips: VecDeque::new(),
            reflector_clock: None,
            failures: Failures::default(),
            rows,
            counters,
        }
    }

    /// Probes until the schedule is over and everything is answered or given up, or stop is
    /// requested.
    pub(super) fn probe(&mut self, start: &Start, mut dues: Dues, stop: Stop) {
        let mut buffer = vec![0; LARGEST];
        let mut next = dues.next();
        let mut end: Option<Ns> = None;
        loop {
            let now = clock::monotonic();
            if stop.is_requested() {
                next = None;
                end = end.or(Some(now + FAREWELL.min(self.give_up)));
            }
            if let Some(due) = next
                && start.monotonic + due <= now
            {
                self.send(due, now - start.monotonic);
                next = dues.next();
            }
            self.clock.refresh(now);
            self.take(&mut buffer);
            while let Some(outcome) = self.session.poll_outcome(now) {
                self.on_outcome(&outcome);
            }
            if next.is_none()
                && (self.session.unanswered() == 0 || end.is_some_and(|end| now >= end))
            {
                break;
            }
            let wakeup = self.session.next_wakeup();
            let due = next.map(|due| start.monotonic + due);
            let until = [due, wakeup, end].into_iter().flatten().min().unwrap_or(now);
            self.wait((until - clock::monotonic()).min(LOOK), stop);
        }
        let now = clock::monotonic();
        while let Some(outcome) = self.session.poll_remaining(now) {
            self.on_outcome(&outcome);
        }
    }

    /// Waits for a packet; a stop request wakes it once.
    fn wait(&self, longest: Span, stop: Stop) {
        if longest > Span::ZERO {
            let both = [self.socket.as_fd(), stop.descriptor()];
            let waited = if stop.is_requested() { &both[..1] } else { &both[..] };
            // Where waiting fails, so will receiving, which counts it.
            let _ = Poll::new(waited).wait(Some(longest));
        }
    }

    fn send(&mut self, due: Span, elapsed: Span) {
        let sequence = self.session.sequence();
        // The kernel reports an answer to an earlier probe instead of sending this one: once more
        // then.
        for _ in 0..2 {
            let (now, sent) = (clock::monotonic(), clock::realtime());
            let timestamp = StampTime::of(sent, self.format);
            let packet = SenderPacket {
                sequence,
                timestamp,
                error_estimate: self.clock.estimate(),
                session: self.number_of_session,
            };
            match self.socket.send(&packet.payload(self.payload_bytes)) {
                Ok(_) => {
                    self.session.on_sent(timestamp, sent, now);
                    self.dues.push_back(due);
                    self.departure_error.add(elapsed - due);
                    self.counters.sent.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    self.failures.unreachable_answers += 1;
                }
                Err(error)
                    if error.kind() == std::io::ErrorKind::WouldBlock
                        || error.raw_os_error() == Some(libc::ENOBUFS) =>
                {
                    self.failures.no_room_probes += 1;
                    return;
                }
                Err(error) => {
                    self.failures.failed_probes += 1;
                    self.failures.failure.get_or_insert_with(|| error.to_string());
                    return;
                }
            }
        }
        self.failures.failed_probes += 1;
    }

    /// Takes what waits: first when probes left, so that their answers find it.
    fn take(&mut self, buffer: &mut [u8]) {
        for queue in [Queue::Sent, Queue::Received] {
            for _ in 0..TURN {
                match timestamping::receive(&self.socket, buffer, queue) {
                    Ok(Some(datagram)) => {
                        let payload = buffer.get(..datagram.length).unwrap_or_default();
                        match queue {
                            Queue::Sent => self.on_left(payload, datagram.stamp),
                            Queue::Received => self.on_answer(payload, datagram.stamp),
                        }
                    }
                    Ok(None) => break,
                    Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                        self.failures.unreachable_answers += 1;
                    }
                    Err(error) => {
                        self.failures.receive_errors.count(&error);
                        break;
                    }
                }
            }
        }
    }

    /// A copy of a probe that left; it may have the headers before it that it was sent with.
    fn on_left(&mut self, copy: &[u8], stamp: Option<Ns>) {
        let payload =
            copy.len().checked_sub(self.payload_bytes).and_then(|headers| copy.get(headers..));
        if let (Some(packet), Some(stamp)) = (payload.and_then(SenderPacket::read), stamp) {
            self.session.on_left(packet.sequence, stamp);
        }
    }

    fn on_answer(&mut self, payload: &[u8], stamp: Option<Ns>) {
        let Some(packet) = ReflectorPacket::read(payload) else {
            self.failures.too_short_packets += 1;
            return;
        };
        if self.session.on_answer(&packet, stamp.unwrap_or_else(clock::realtime))
            == AnswerFate::Answer
        {
            self.failures.stamped_late_answers += u64::from(stamp.is_none());
            self.counters.answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn on_outcome(&mut self, outcome: &Outcome) {
        let due = self.dues.pop_front();
        self.failures.stamped_early_probes += u64::from(!outcome.kernel_stamped);
        if let Some(answer) = &outcome.answer {
            self.clocks.add(&answer.trip);
            self.reflector_clock = Some(answer.estimate);
            if self.trips.len() >= MOST_TRIPS {
                self.trips.pop_front();
            }
            self.trips.push_back((outcome.sequence, answer.trip));
        }
        if let Some(rows) = &mut self.rows {
            probe_report::append(rows, outcome, due);
        }
    }
}
