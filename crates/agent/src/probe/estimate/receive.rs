//! The receiving side: stores the arrival times of the latest run, and returns them over the
//! sender's connection.
//!
//! It is bound to one address, at which it accepts datagrams and connections of one peer with its
//! nonce. It serves one run and one sender at a time. Anything else is counted by reason and not
//! answered. Ordinary priority is enough: timestamps are the kernel's and wait in the socket.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use super::arrivals::{Fate, Run};
use super::connection::{Served, Serving};
use super::wire::{LARGEST_PAYLOAD, Label};
use crate::session::workers::{self, Start, span};
use crate::session::{Failure, Session, Stop};
use crate::sys::clock::{self, Offset};
use crate::sys::idle::{self, Idle, IdleGranted};
use crate::sys::kernel::Poll;
use crate::sys::socket::{self, TcpOptions, unusable};
use crate::sys::timestamping::{self, ReceiveErrors};

/// Packets that are taken before anything else has its turn.
const TURN: usize = 256;
/// Packets that are taken behind the end at most.
const FAREWELL: usize = 16 * TURN;
/// What waits in the socket: a run of the largest packets several times over.
const RECEIVE_BUFFER_BYTES: u32 = 8 << 20;
/// Answers are small and requested one by one; there is always room for one.
const SEND_BUFFER_BYTES: u32 = 256 << 10;
/// As much as UDP carries.
const LARGEST: usize = 65_536;
/// No wait is longer: the clock is read.
const LOOK: Span = Span::from_secs(1);
const SECOND: Span = Span::from_secs(1);
/// How often a port is chosen that has to be free for datagrams and connections alike.
const TRIES: usize = 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReceiveConfiguration {
    /// Where datagrams and connections are taken: an address of this host. Port 0: one is chosen,
    /// which `ready` names.
    listen: SocketAddr,
    /// Whose.
    peer: IpAddr,
    /// What the sender has to name.
    nonce: u64,
    /// The most probes recorded in a second.
    #[serde(default = "packets_per_second")]
    packets_per_second: u32,
    /// It ends on its own after this time.
    #[serde(default = "duration_ns")]
    duration_ns: u64,
    /// What idle processors do meanwhile: a halted one receives packets late.
    #[serde(default)]
    idle: Idle,
}

/// A stream of 2 Gbit/s and more.
const fn packets_per_second() -> u32 {
    200_000
}

/// A day.
const fn duration_ns() -> u64 {
    86_400_000_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody<'a> {
    listening: SocketAddr,
    #[serde(flatten)]
    idle: &'a idle::Granted,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    received_packets: u64,
    kept_packets: u64,
    answered_requests: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    listening: SocketAddr,
    /// Whether it ended because its time was over.
    time_is_over: bool,
    received_packets: u64,
    kept_packets: u64,
    #[serde(flatten)]
    refused: Refused,
    #[serde(flatten)]
    served: Served,
    #[serde(flatten)]
    receive_errors: ReceiveErrors,
    /// Of the recorded packets, those without a kernel timestamp.
    stamped_late_packets: u64,
    /// Lost here and not in the network; absent where the kernel does not report it.
    dropped_by_socket_packets: Option<u32>,
    /// How often this host's real-time clock was stepped meanwhile.
    clock_steps: u32,
}

/// Packets that are not recorded, by reason.
#[derive(Debug, Clone, Default, Serialize)]
#[expect(clippy::struct_field_names, reason = "outside, names carry what they are of")]
struct Refused {
    other_peer_packets: u64,
    too_short_packets: u64,
    too_large_packets: u64,
    other_nonce_packets: u64,
    /// No sender has greeted.
    without_sender_packets: u64,
    too_fast_packets: u64,
    duplicate_packets: u64,
    late_packets: u64,
    beyond_packets: u64,
}

/// Counts so far, for progress events.
#[derive(Debug, Default)]
struct Counters {
    received: AtomicU64,
    recorded: AtomicU64,
    answered: AtomicU64,
}

/// Runs the receiving side.
pub(super) fn run(session: &Session, configuration: &ReceiveConfiguration) -> Result<(), Failure> {
    check(configuration)?;
    let receiving = Receiving::open(configuration)?;
    let (listening, counters, stop) =
        (receiving.listening, Arc::clone(&receiving.counters), session.stop());
    let idle: IdleGranted = idle::request(configuration.idle);
    session.ready(&ReadyBody { listening, idle: &idle.granted })?;
    let Some(start) = workers::wait_for_start(session)? else {
        return session.report(&receiving.report(None));
    };
    let mut receiving = receiving;
    let thread = workers::spawn("estimate", move || {
        receiving.receive(&start, stop);
        receiving
    })?;
    let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let progress = || ProgressBody {
        received_packets: read(&counters.received),
        kept_packets: read(&counters.recorded),
        answered_requests: read(&counters.answered),
    };
    let outcome = workers::supervise(session, || thread.is_finished(), progress);
    stop.request();
    let receiving = workers::join("estimate", thread)?;
    outcome?;
    session.report(&receiving.report(Some(start)))
}

fn check(configuration: &ReceiveConfiguration) -> Result<(), Failure> {
    let ReceiveConfiguration { listen, peer, packets_per_second, .. } = configuration;
    if listen.ip().is_unspecified() {
        let hint = "give the address that is measured";
        return Err(Failure::configuration(
            format!("listen: {listen} is every address of this host"),
            hint,
        ));
    }
    socket::check_peer(listen.ip(), *peer)?;
    if *packets_per_second == 0 {
        return Err(Failure::configuration(
            "packets_per_second: a receiver with 0 of them keeps nothing",
            "give one above 0",
        ));
    }
    Ok(())
}

/// How much may be recorded in a second.
#[derive(Debug)]
struct Budget {
    per_second: u32,
    left: u32,
    until: Ns,
}

impl Budget {
    fn take(&mut self, now: Ns) -> bool {
        if now >= self.until {
            (self.left, self.until) = (self.per_second, now + SECOND);
        }
        let granted = self.left > 0;
        self.left -= u32::from(granted);
        granted
    }
}

/// The sockets, the sender that is served, and the latest run.
struct Receiving {
    socket: UdpSocket,
    listener: TcpListener,
    listening: SocketAddr,
    peer: IpAddr,
    nonce: u64,
    duration: Span,
    run: Run,
    budget: Budget,
    serving: Serving,
    clock: Offset,
    refused: Refused,
    counters: Arc<Counters>,
    time_is_over: bool,
    receive_errors: ReceiveErrors,
    stamped_late: u64,
}

impl Receiving {
    fn open(configuration: &ReceiveConfiguration) -> Result<Self, Failure> {
        let (socket, listener, listening) = open_both(configuration.listen)?;
        timestamping::stamp_datagrams(&socket, false)
            .map_err(|error| unusable("cannot receive at", listening, &error))?;
        Ok(Self {
            socket,
            listener,
            listening,
            peer: configuration.peer,
            nonce: configuration.nonce,
            duration: span(configuration.duration_ns),
            run: Run::default(),
            budget: Budget {
                per_second: configuration.packets_per_second,
                left: 0,
                until: Ns(i64::MIN),
            },
            serving: Serving::new(configuration.peer, configuration.nonce),
            clock: Offset::measure(),
            refused: Refused::default(),
            counters: Arc::default(),
            time_is_over: false,
            receive_errors: ReceiveErrors::default(),
            stamped_late: 0,
        })
    }

    /// Receives until stop is requested or the time is over.
    fn receive(&mut self, start: &Start, stop: Stop) {
        let end = start.monotonic + self.duration;
        let mut buffer = vec![0; LARGEST];
        let mut look = clock::monotonic() + LOOK;
        while !stop.is_requested() {
            let now = clock::monotonic();
            if now >= end {
                self.time_is_over = true;
                break;
            }
            if now >= look {
                look = now + LOOK;
                self.clock.refresh();
            }
            self.wait(LOOK.min(end - now), stop);
            // Before anything is answered: a run is whole when its packets have been taken.
            let more = (0..TURN).all(|_| self.take_next(&mut buffer));
            self.serve(more);
        }
        // Packets that arrived before the end count, except for a flood.
        for _ in 0..FAREWELL {
            if !self.take_next(&mut buffer) {
                break;
            }
        }
    }

    fn wait(&self, longest: Span, stop: Stop) {
        let mut awaited = vec![stop.descriptor(), self.socket.as_fd(), self.listener.as_fd()];
        awaited.extend(self.serving.descriptor());
        let due = self
            .serving
            .due()
            .map_or(longest, |due| (due - clock::monotonic()).clamp(Span::ZERO, longest));
        // Where waiting fails, so will receiving, which counts it.
        let _ = Poll::new(&awaited).wait(Some(due));
    }

    /// Takes those who connect, and answers the one who has greeted. While `more` packets wait,
    /// what is requested may be among them.
    fn serve(&mut self, more: bool) {
        let greeted = self.serving.has_greeted();
        self.serving.accept(&self.listener);
        self.serving.read();
        if !greeted && self.serving.has_greeted() {
            // Another sender: run numbers restart.
            self.run = Run::default();
        }
        let Some(request) = self
            .serving
            .request_to_answer(clock::monotonic(), more, |request| self.run.is_whole(request))
        else {
            return;
        };
        self.clock.refresh();
        let arrivals = self.run.answer(request, self.clock.steps(), socket::drops(&self.socket));
        if self.serving.answer(&arrivals) {
            self.counters.answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a packet; whether there was one.
    fn take_next(&mut self, buffer: &mut [u8]) -> bool {
        let Some(datagram) = self.receive_errors.receive(&self.socket, buffer) else {
            return false;
        };
        self.counters.received.fetch_add(1, Ordering::Relaxed);
        let payload = buffer.get(..datagram.length).unwrap_or_default();
        let label = match self.label(datagram.from, payload) {
            Ok(label) => label,
            Err(counter) => {
                *counter += 1;
                return true;
            }
        };
        let fate = self.run.on_packet(label, datagram.stamp.unwrap_or_else(clock::realtime));
        let counter = match fate {
            Fate::Accepted => {
                self.stamped_late += u64::from(datagram.stamp.is_none());
                self.counters.recorded.fetch_add(1, Ordering::Relaxed);
                return true;
            }
            Fate::Duplicate => &mut self.refused.duplicate_packets,
            Fate::Late => &mut self.refused.late_packets,
            Fate::Beyond => &mut self.refused.beyond_packets,
        };
        *counter += 1;
        true
    }

    /// A packet's label, or the reason for which it is counted.
    fn label(&mut self, from: Option<SocketAddr>, payload: &[u8]) -> Result<Label, &mut u64> {
        let refused = &mut self.refused;
        if from.is_none_or(|from| from.ip() != self.peer) {
            return Err(&mut refused.other_peer_packets);
        }
        if payload.len() > LARGEST_PAYLOAD {
            return Err(&mut refused.too_large_packets);
        }
        let Some(label) = Label::read(payload) else { return Err(&mut refused.too_short_packets) };
        if label.nonce != self.nonce {
            return Err(&mut refused.other_nonce_packets);
        }
        if !self.serving.has_greeted() {
            return Err(&mut refused.without_sender_packets);
        }
        if !self.budget.take(clock::monotonic()) {
            return Err(&mut refused.too_fast_packets);
        }
        Ok(label)
    }

    fn report(&self, start: Option<Start>) -> Report {
        Report {
            start_ns: start.map(|start| start.realtime.0),
            end_ns: start.map(|start| (start.realtime + start.elapsed()).0),
            listening: self.listening,
            time_is_over: self.time_is_over,
            received_packets: self.counters.received.load(Ordering::Relaxed),
            kept_packets: self.counters.recorded.load(Ordering::Relaxed),
            refused: self.refused.clone(),
            served: self.serving.counts().clone(),
            receive_errors: self.receive_errors.clone(),
            stamped_late_packets: self.stamped_late,
            dropped_by_socket_packets: socket::drops(&self.socket),
            clock_steps: self.clock.steps(),
        }
    }
}

/// Both sockets at one address; where the port is chosen, at one that is free for both.
fn open_both(listen: SocketAddr) -> Result<(UdpSocket, TcpListener, SocketAddr), Failure> {
    let options =
        TcpOptions { send_buffer_bytes: Some(SEND_BUFFER_BYTES), ..TcpOptions::default() };
    let mut tries = if listen.port() == 0 { TRIES } else { 1 };
    loop {
        tries -= 1;
        let listener = options.listen(listen)?;
        let bound = listener
            .local_addr()
            .map_err(|error: io::Error| unusable("cannot listen at", listen, &error))?;
        match socket::datagrams_at(bound, RECEIVE_BUFFER_BYTES) {
            Ok(socket) => return Ok((socket, listener, bound)),
            Err(failure) if tries == 0 => return Err(failure),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_renewed_every_second() {
        let mut budget = Budget { per_second: 2, left: 0, until: Ns(i64::MIN) };
        let granted = |budget: &mut Budget, at: i64| budget.take(Ns(at));
        assert_eq!([5, 6, 7].map(|at| granted(&mut budget, at)), [true, true, false]);
        assert_eq!(
            [1_000_000_004, 1_000_000_005].map(|at| granted(&mut budget, at)),
            [false, true]
        );
    }
}
