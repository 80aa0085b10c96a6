//! The receiving side of a round: opens the ports, lets in what was declared, and waits until all of it has ended.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use super::declared::{self, ByRole, Connection, Nonce, Role};
use super::door::{Come, Door};
use super::roll::{Refused, Roll};
use super::rows::{Close, Row};
use super::taking::Phase;
use crate::clock;
use crate::net::attend::{self, Start, span};
use crate::net::open_streams::OpenStreams;
use crate::net::socket::{self, TcpOptions, unusable};
use crate::talk::{Failure, Talk};

/// How late the end of a connection or of the phase may be noticed.
const LOOK: Span = Span::from_millis(20);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReceiveConfiguration {
    /// Where the ports are: the address that is measured.
    listen: IpAddr,
    /// Their numbers; 0, as unless given, lets the kernel choose, and `ready` names them.
    #[serde(default)]
    ports: ByRole<u16>,
    /// Whose connections are taken.
    peer: IpAddr,
    round: u64,
    nonce: Nonce,
    connections: Vec<Connection>,
    /// The largest window (`TCP_WINDOW_CLAMP`), and the receive buffer with it.
    #[serde(default = "window_bytes")]
    window_bytes: ByRole<u32>,
    #[serde(default)]
    tcp: TcpOptions,
    /// Of each connection: it is not read faster. No limit unless given.
    rate_bits_per_second: Option<u64>,
    /// How long a connection may take to show its header.
    #[serde(default = "header_timeout_ns")]
    header_timeout_ns: u64,
    /// How long after it was accepted a connection may be complete.
    #[serde(default = "transfer_timeout_ns")]
    transfer_timeout_ns: u64,
    /// It ends by itself after this time.
    #[serde(default = "duration_ns")]
    duration_ns: u64,
}

const fn window_bytes() -> ByRole<u32> {
    ByRole { probe: 16 << 10, data: 64 << 10 }
}

const fn header_timeout_ns() -> u64 {
    10_000_000_000
}

const fn transfer_timeout_ns() -> u64 {
    300_000_000_000
}

/// A probe and its data one after the other, each as long as it may last, and a minute.
const fn duration_ns() -> u64 {
    660_000_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    listening: ByRole<Option<SocketAddr>>,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    payload_bytes: u64,
    open_connections: usize,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    round: u64,
    listening: ByRole<Option<SocketAddr>>,
    /// Every declared connection, in the order of the configuration.
    connections: Vec<Row>,
    /// Whether any of them failed.
    partial: bool,
    /// Whether it ended because its time was over.
    time_is_over: bool,
    /// Connections that were not taken.
    refused: Refused,
}

/// Runs the receiving side.
pub(super) fn run(talk: &Talk, asked: ReceiveConfiguration) -> Result<(), Failure> {
    check(&asked)?;
    socket::allow_many_files();
    let listeners =
        ByRole { probe: asked.listener(Role::Probe)?, data: asked.listener(Role::Data)? };
    let bound = |role| {
        listeners.of(role).as_ref().and_then(|listener: &TcpListener| listener.local_addr().ok())
    };
    let listening = ByRole { probe: bound(Role::Probe), data: bound(Role::Data) };
    talk.ready(&ReadyBody { listening })?;
    let (round, end) = (asked.round, span(asked.duration_ns));
    let report = |start: Option<Start>, taken: Taken| Report {
        start_ns: start.map(|start| start.realtime.0),
        round,
        listening,
        partial: taken.rows.iter().any(|row| row.failed),
        connections: taken.rows,
        time_is_over: taken.time_is_over,
        refused: taken.refused,
    };
    let roll = Roll::new(asked.round, asked.nonce, asked.connections);
    let rows = |close, failure: &str| {
        roll.connections.iter().map(|one| Row::new(one, close, failure)).collect()
    };
    let Some(start) = attend::wait_for_start(talk)? else {
        let rows = rows(Close::Stopped, "the end was asked for before the start");
        return talk.report(&report(None, Taken { rows, ..Taken::default() }));
    };
    let rows = rows(Close::Absent, "no connection showed its header before the end");
    let phase = Arc::new(Phase {
        round,
        window_bytes: asked.window_bytes,
        rate_bits_per_second: asked.rate_bits_per_second,
        transfer_timeout: span(asked.transfer_timeout_ns),
        open: OpenStreams::default(),
        read: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        stop: talk.stop(),
    });
    let door = Door::open(listeners, asked.peer, span(asked.header_timeout_ns), roll, talk.stop());
    let door = door.map_err(|error| cannot_wait(&error))?;
    let for_thread = Arc::clone(&phase);
    let thread = attend::spawn("pairs", move || {
        Taken { rows, ..Taken::default() }.take_all(&for_thread, door, &start, end)
    })?;
    let progress = || ProgressBody {
        payload_bytes: phase.read.load(Ordering::Relaxed),
        open_connections: phase.open.count(),
    };
    let outcome = attend::converse(talk, || thread.is_finished(), progress);
    let taken = attend::join("pairs", thread)??;
    outcome?;
    talk.report(&report(Some(start), taken))
}

fn cannot_wait(error: &io::Error) -> Failure {
    Failure::running(
        format!("connections cannot be waited for: {error}"),
        "raise the limit of open files (ulimit -n)",
    )
}

fn check(asked: &ReceiveConfiguration) -> Result<(), Failure> {
    declared::check(&asked.connections)?;
    declared::check_rate(asked.rate_bits_per_second)?;
    declared::check_address("listen", asked.listen)?;
    if asked.listen.is_ipv4() != asked.peer.is_ipv4() {
        let message = format!(
            "listen: {} and peer: {} are of different versions of IP",
            asked.listen, asked.peer
        );
        return Err(Failure::configuration(message, "give both as IPv4 or both as IPv6"));
    }
    for role in Role::BOTH {
        let bytes = *asked.window_bytes.of(role);
        if bytes == 0 || libc::c_int::try_from(bytes).is_err() {
            let message = format!("window_bytes: {bytes} is out of range");
            return Err(Failure::configuration(
                message,
                "give from 1 to 2147483647, for probe and data",
            ));
        }
    }
    if asked.tcp.window_clamp_bytes.is_some() || asked.tcp.receive_buffer_bytes.is_some() {
        let message =
            "tcp: window_clamp_bytes and receive_buffer_bytes are the same for probes and data";
        return Err(Failure::configuration(
            message,
            r#"as in {"window_bytes": {"probe": 16384, "data": 65536}}"#,
        ));
    }
    Ok(())
}

impl ReceiveConfiguration {
    /// The port of a role, if any connection has it.
    fn listener(&self, role: Role) -> Result<Option<TcpListener>, Failure> {
        if self.connections.iter().all(|one| one.role != role) {
            return Ok(None);
        }
        let window = *self.window_bytes.of(role);
        let options = TcpOptions {
            window_clamp_bytes: Some(window),
            receive_buffer_bytes: Some(first_buffer(window)),
            ..self.tcp.clone()
        };
        let address = SocketAddr::new(self.listen, *self.ports.of(role));
        let listener = options.listen(address)?;
        listener.local_addr().map_err(|error| unusable("cannot listen at", address, &error))?;
        Ok(Some(listener))
    }
}

/// The receive buffer of a port, for a window of so many bytes.
///
/// With the first full segment a kernel learns how much of its memory is payload, and may then advertise up to twice the size that was
/// asked for, whatever the limit was; the limit can only be set again when a program has run. Half a buffer cannot be raised above the
/// window meanwhile, and still has the scale on the wire that the window needs. So the first flight sees half of the window, everything
/// behind it all. A window that is no power of two gets more than half, or its scale would be too small: there the first flight may see up
/// to twice as much.
pub(super) const fn first_buffer(window: u32) -> u32 {
    match window.checked_next_power_of_two() {
        Some(power) => power.div_ceil(2),
        None => window,
    }
}

/// What came of a phase.
#[derive(Debug, Default)]
struct Taken {
    rows: Vec<Row>,
    time_is_over: bool,
    refused: Refused,
}

impl Taken {
    /// Takes connections until every declared one has ended, the time is over, or the end is asked for.
    fn take_all(
        mut self,
        phase: &Arc<Phase>,
        mut door: Door,
        start: &Start,
        duration: Span,
    ) -> Result<Self, Failure> {
        let mut threads: Vec<(usize, JoinHandle<Row>)> = Vec::new();
        let end = start.monotonic + duration;
        let mut broken = None;
        while !door.is_done() && !phase.stop.is_asked() && clock::monotonic() < end {
            match door.turn(LOOK.min(end - clock::monotonic()).max(Span::ZERO)) {
                Ok(come) => {
                    come.into_iter().for_each(|come| self.begin(phase, come, start, &mut threads))
                }
                Err(error) => {
                    broken = Some(cannot_wait(&error));
                    break;
                }
            }
        }
        // From here on nobody comes in: the ports are gone.
        self.refused = door.close();
        while broken.is_none() && !threads.iter().all(|(_, thread)| thread.is_finished()) {
            if !phase.stop.wait_until(end.min(clock::monotonic() + LOOK))
                || clock::monotonic() >= end
            {
                break;
            }
        }
        let is_whole = self.rows.len() == threads.len()
            && threads.iter().all(|(_, thread)| thread.is_finished());
        self.time_is_over = !is_whole && !phase.stop.is_asked() && clock::monotonic() >= end;
        phase.is_over.store(self.time_is_over, Ordering::Release);
        phase.open.end();
        for (number, thread) in threads {
            let row = attend::join("pairs", thread)?;
            if let Some(place) = self.rows.get_mut(number) {
                *place = row;
            }
        }
        broken.map_or(Ok(self), Err)
    }

    /// A thread for a connection that has come in.
    fn begin(
        &mut self,
        phase: &Arc<Phase>,
        come: Come,
        start: &Start,
        threads: &mut Vec<(usize, JoinHandle<Row>)>,
    ) {
        let (number, declared) = (come.number, come.declared);
        let (for_thread, start) = (Arc::clone(phase), *start);
        match attend::spawn("pair", move || for_thread.take(&come, &start)) {
            Ok(thread) => threads.push((number, thread)),
            Err(failure) => {
                if let Some(row) = self.rows.get_mut(number) {
                    *row = Row::new(&declared, Close::Refused, failure.message());
                }
            }
        }
    }
}
