//! The verb `reflect`: answers the test packets of one peer only.
//!
//! It is bound to one address, and limited in packets a second, bytes a packet, and time. Anything
//! else is counted by reason and not answered.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use trustbed_probe::{Reflector, ReflectorSettings, STAMP_BASE_BYTES, STAMP_LARGEST_BYTES};
use trustbed_units::{Ns, Span};

use super::{ClockState, LARGEST, Timestamps};
use crate::session::workers::{self, Start, span};
use crate::session::{Failure, Session, Stop};
use crate::sys::clock::{self, Granted, Priority};
use crate::sys::kernel::Poll;
use crate::sys::socket::{self, unusable};
use crate::sys::timestamping::{self, ReceiveErrors};
use crate::traffic::send::Origin;

/// Packets that are taken before the clock is read again.
const TURN: usize = 256;
/// What waits in the socket: a second of the highest rate of probes that anybody sends.
const RECEIVE_BUFFER_BYTES: u32 = 4 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    /// Where packets are received: an address of this host. Port 0: the kernel chooses one, which
    /// `ready` names.
    listen: SocketAddr,
    /// Whose packets are answered: an address, and perhaps a port.
    peer: Origin,
    /// The session that packets must name (RFC 8972: SSID); any by default.
    session: Option<u16>,
    /// Whether its own packets are counted (a stateful reflector), so that the sender knows in
    /// which direction one was lost. Yes by default.
    #[serde(default = "yes")]
    stateful: bool,
    #[serde(default)]
    timestamps: Timestamps,
    /// Larger payloads are not answered.
    #[serde(default = "largest_payload_bytes")]
    largest_payload_bytes: usize,
    #[serde(default = "packets_per_second")]
    packets_per_second: u32,
    /// The allowed burst.
    #[serde(default = "burst_packets")]
    burst_packets: u32,
    /// It ends on its own after this time.
    #[serde(default = "duration_ns")]
    duration_ns: u64,
    #[serde(default)]
    priority: Priority,
}

const fn yes() -> bool {
    true
}

const fn largest_payload_bytes() -> usize {
    1472
}

const fn packets_per_second() -> u32 {
    1000
}

const fn burst_packets() -> u32 {
    100
}

/// A day.
const fn duration_ns() -> u64 {
    86_400_000_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    listening: SocketAddr,
    #[serde(flatten)]
    granted: Granted,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    answered_packets: u64,
    received_packets: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    listening: SocketAddr,
    /// Whether it ended because its time was over.
    time_is_over: bool,
    received_packets: u64,
    answered_packets: u64,
    other_peer_packets: u64,
    too_short_packets: u64,
    too_large_packets: u64,
    other_session_packets: u64,
    too_fast_packets: u64,
    too_many_sessions_packets: u64,
    /// Answers that found no room in this host's queue.
    no_room_packets: u64,
    /// Answers that could not be sent for another reason, and the first one.
    failed_packets: u64,
    failure: Option<String>,
    #[serde(flatten)]
    receive_errors: ReceiveErrors,
    /// Of those that were answered, packets that this program stamped because the kernel did not.
    stamped_late_packets: u64,
    /// Lost here and not in the network; absent where the kernel does not report it.
    dropped_by_socket_packets: Option<u32>,
    /// How often this host's real-time clock was stepped meanwhile.
    clock_steps: u32,
    clock_is_synchronized: bool,
    clock_error_ns: i64,
}

/// Counts so far, for progress events.
#[derive(Debug, Default)]
struct Counters {
    received: AtomicU64,
    answered: AtomicU64,
}

/// The socket, who decides what is answered, and what became of answers.
struct Answering {
    socket: UdpSocket,
    listening: SocketAddr,
    reflector: Reflector,
    clock: ClockState,
    duration: Span,
    counters: Arc<Counters>,
    time_is_over: bool,
    no_room: u64,
    failed: u64,
    failure: Option<String>,
    receive_errors: ReceiveErrors,
    stamped_late: u64,
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    check(&configuration)?;
    let answering = Answering::open(&configuration)?;
    let (listening, counters, stop) =
        (answering.listening, Arc::clone(&answering.counters), session.stop());
    let (granted_sender, granted) = std::sync::mpsc::channel();
    let (start_sender, start) = std::sync::mpsc::channel::<Start>();
    let thread = workers::spawn("reflect", move || {
        let _ = granted_sender.send(clock::take_priority(configuration.priority));
        let mut answering = answering;
        if let Ok(start) = start.recv() {
            answering.answer_all(&start, stop);
        }
        answering
    })?;
    let granted = granted.recv().unwrap_or(Granted {
        priority: Priority::Normal,
        priority_refused: Some("its thread ended".to_owned()),
    });
    session.ready(&ReadyBody { listening, granted })?;
    let begun = workers::wait_for_start(session)?;
    let outcome = if let Some(start) = begun {
        // If the thread has ended, joining it reports so.
        let _ = start_sender.send(start);
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let progress = || ProgressBody {
            answered_packets: read(&counters.answered),
            received_packets: read(&counters.received),
        };
        workers::supervise(session, || thread.is_finished(), progress)
    } else {
        drop(start_sender);
        Ok(())
    };
    stop.request();
    let answering = workers::join("reflect", thread)?;
    outcome?;
    session.report(&answering.report(begun))
}

fn check(configuration: &Configuration) -> Result<(), Failure> {
    let Configuration {
        listen,
        peer,
        largest_payload_bytes,
        packets_per_second,
        burst_packets,
        ..
    } = configuration;
    if listen.ip().is_unspecified() {
        let hint = "give the address that is measured: answers then come from the address that \
            probes go to";
        return Err(Failure::configuration(
            format!("listen: {listen} is every address of this host"),
            hint,
        ));
    }
    socket::check_peer(listen.ip(), peer.0.ip())?;
    if !(STAMP_BASE_BYTES..=STAMP_LARGEST_BYTES).contains(largest_payload_bytes) {
        let message = format!("largest_payload_bytes: {largest_payload_bytes}");
        return Err(Failure::configuration(
            message,
            format!("give from {STAMP_BASE_BYTES} to {STAMP_LARGEST_BYTES}"),
        ));
    }
    if *packets_per_second == 0 || *burst_packets == 0 {
        let message =
            "packets_per_second and burst_packets: a reflector with 0 of either answers nothing";
        return Err(Failure::configuration(message, "give both above 0"));
    }
    Ok(())
}

impl Answering {
    fn open(configuration: &Configuration) -> Result<Self, Failure> {
        let listen = configuration.listen;
        let failed = |error: std::io::Error| unusable("cannot receive at", listen, &error);
        let socket = socket::datagrams_at(listen, RECEIVE_BUFFER_BYTES)?;
        timestamping::stamp_datagrams(&socket, false).map_err(failed)?;
        let listening = socket.local_addr().map_err(failed)?;
        let reflector = Reflector::new(ReflectorSettings {
            peer: configuration.peer.0.ip(),
            peer_port: Some(configuration.peer.0.port()).filter(|port| *port != 0),
            session: configuration.session,
            stateful: configuration.stateful,
            largest_bytes: configuration.largest_payload_bytes,
            packets_per_second: configuration.packets_per_second,
            burst_packets: configuration.burst_packets,
        });
        Ok(Self {
            socket,
            listening,
            reflector,
            clock: ClockState::new(configuration.timestamps),
            duration: span(configuration.duration_ns),
            counters: Arc::default(),
            time_is_over: false,
            no_room: 0,
            failed: 0,
            failure: None,
            receive_errors: ReceiveErrors::default(),
            stamped_late: 0,
        })
    }

    /// Answers until stop is requested or the time is over.
    fn answer_all(&mut self, start: &Start, stop: Stop) {
        let end = start.monotonic + self.duration;
        let mut buffer = vec![0; LARGEST];
        while !stop.is_requested() {
            let now = clock::monotonic();
            if now >= end {
                self.time_is_over = true;
                break;
            }
            self.clock.refresh(now);
            let socket = std::os::fd::AsFd::as_fd(&self.socket);
            // Where waiting fails, so will receiving, which counts it.
            let _ = Poll::new(&[stop.descriptor(), socket]).wait(Some(super::LOOK.min(end - now)));
            for _ in 0..TURN {
                if !self.answer_next(&mut buffer) {
                    break;
                }
            }
        }
    }

    /// Takes a packet and answers it; whether there was one.
    fn answer_next(&mut self, buffer: &mut [u8]) -> bool {
        let Some(datagram) = self.receive_errors.receive(&self.socket, buffer) else {
            return false;
        };
        self.counters.received.fetch_add(1, Ordering::Relaxed);
        let (Some(from), Some(payload)) = (datagram.from, buffer.get(..datagram.length)) else {
            return true;
        };
        let Ok(accepted) = self.reflector.on_packet(from, payload, clock::monotonic()) else {
            return true;
        };
        let received = datagram.stamp.unwrap_or_else(clock::realtime);
        let answer = self.reflector.answer(
            &accepted,
            payload,
            (received, datagram.ttl),
            clock::realtime(),
            self.clock.estimate(),
        );
        match self.socket.send_to(&answer, from) {
            Ok(_) => {
                self.reflector.on_sent(&accepted);
                self.stamped_late += u64::from(datagram.stamp.is_none());
                self.counters.answered.fetch_add(1, Ordering::Relaxed);
            }
            Err(error)
                if error.kind() == std::io::ErrorKind::WouldBlock
                    || error.raw_os_error() == Some(libc::ENOBUFS) =>
            {
                self.no_room += 1;
            }
            Err(error) => {
                self.failed += 1;
                self.failure.get_or_insert_with(|| error.to_string());
            }
        }
        true
    }

    fn report(&self, start: Option<Start>) -> Report {
        let counts = self.reflector.counts();
        Report {
            start_ns: start.map(|start| start.realtime.0),
            end_ns: start.map(|start| end(&start).0),
            listening: self.listening,
            time_is_over: self.time_is_over,
            received_packets: self.counters.received.load(Ordering::Relaxed),
            answered_packets: counts.answered,
            other_peer_packets: counts.other_peer,
            too_short_packets: counts.too_short,
            too_large_packets: counts.too_large,
            other_session_packets: counts.other_session,
            too_fast_packets: counts.too_fast,
            too_many_sessions_packets: counts.too_many_sessions,
            no_room_packets: self.no_room,
            failed_packets: self.failed,
            failure: self.failure.clone(),
            receive_errors: self.receive_errors.clone(),
            stamped_late_packets: self.stamped_late,
            dropped_by_socket_packets: socket::drops(&self.socket),
            clock_steps: self.clock.offset.steps(),
            clock_is_synchronized: self.clock.synchronized,
            clock_error_ns: self.clock.error.0,
        }
    }
}

/// The moment by the real-time clock, counted from the start.
fn end(start: &Start) -> Ns {
    start.realtime + start.elapsed()
}
