//! The receiving side of a round: opens the ports, admits the declared connections, and waits until
//! all have ended.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use super::acceptor::{Acceptor, Admitted};
use super::admission::{Admission, Refused};
use super::declared::{self, ByRole, Connection, Nonce, Role};
use super::receiver::Phase;
use super::rows::{Close, Row};
use crate::session::workers::{self, Start, Worker, span};
use crate::session::{Failure, Session};
use crate::sys::clock;
use crate::sys::kernel::Event;
use crate::sys::socket::{self, TcpOptions, unusable};
use crate::tcp::connections::Connections;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReceiveConfiguration {
    /// Where the ports are: the address that is measured.
    listen: IpAddr,
    /// Their numbers; 0, as by default, lets the kernel choose, and `ready` names them.
    #[serde(default)]
    ports: ByRole<u16>,
    /// The peer whose connections are admitted.
    peer: IpAddr,
    round: u64,
    nonce: Nonce,
    connections: Vec<Connection>,
    /// The largest window (`TCP_WINDOW_CLAMP`), and the receive buffer with it; null leaves both to
    /// the kernel's autotuning.
    #[serde(default = "window_bytes")]
    window_bytes: ByRole<Option<u32>>,
    #[serde(default)]
    tcp: TcpOptions,
    /// Of each connection: it is not read faster. No limit by default.
    rate_bits_per_second: Option<u64>,
    /// How long a connection may take to show its header.
    #[serde(default = "header_timeout_ns")]
    header_timeout_ns: u64,
    /// How long after it was accepted a connection may be complete.
    #[serde(default = "transfer_timeout_ns")]
    transfer_timeout_ns: u64,
    /// It ends on its own after this time.
    #[serde(default = "duration_ns")]
    duration_ns: u64,
}

const fn window_bytes() -> ByRole<Option<u32>> {
    ByRole { probe: Some(16 << 10), data: Some(64 << 10) }
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
    /// Refused connections.
    refused: Refused,
}

/// Runs the receiving side.
pub(super) fn run(session: &Session, configuration: ReceiveConfiguration) -> Result<(), Failure> {
    check(&configuration)?;
    socket::allow_many_files();
    let listeners = ByRole {
        probe: configuration.listener(Role::Probe)?,
        data: configuration.listener(Role::Data)?,
    };
    let bound = |role| {
        listeners.of(role).as_ref().and_then(|listener: &TcpListener| listener.local_addr().ok())
    };
    let listening = ByRole { probe: bound(Role::Probe), data: bound(Role::Data) };
    session.ready(&ReadyBody { listening })?;
    let (round, end) = (configuration.round, span(configuration.duration_ns));
    let report = |start: Option<Start>, taken: Taken| Report {
        start_ns: start.map(|start| start.realtime.0),
        round,
        listening,
        partial: taken.rows.iter().any(|row| row.failed),
        connections: taken.rows,
        time_is_over: taken.time_is_over,
        refused: taken.refused,
    };
    let admission =
        Admission::new(configuration.round, configuration.nonce, configuration.connections);
    let rows = |close, failure: &str| {
        admission.connections.iter().map(|one| Row::new(one, close, failure)).collect()
    };
    let Some(start) = workers::wait_for_start(session)? else {
        let rows = rows(Close::Stopped, "stop was requested before the start");
        return session.report(&report(None, Taken { rows, ..Taken::default() }));
    };
    let rows = rows(Close::Absent, "no connection showed its header before the end");
    let phase = Arc::new(Phase {
        round,
        window_bytes: configuration.window_bytes,
        rate_bits_per_second: configuration.rate_bits_per_second,
        transfer_timeout: span(configuration.transfer_timeout_ns),
        connections: Connections::new(session.stop()),
        is_over: AtomicBool::new(false),
        ended: Arc::new(Event::new().map_err(|error| cannot_wait(&error))?),
    });
    let acceptor = Acceptor::open(
        listeners,
        configuration.peer,
        span(configuration.header_timeout_ns),
        admission,
        session.stop(),
    );
    let acceptor = acceptor.map_err(|error| cannot_wait(&error))?;
    let for_thread = Arc::clone(&phase);
    let thread = workers::spawn("pairs", move || {
        Taken { rows, ..Taken::default() }.take_all(&for_thread, acceptor, &start, end)
    })?;
    let progress = || phase.connections.progress();
    let outcome = workers::supervise(session, || thread.is_finished(), progress);
    let taken = workers::join("pairs", thread)??;
    outcome?;
    session.report(&report(Some(start), taken))
}

fn cannot_wait(error: &io::Error) -> Failure {
    Failure::running(
        format!("connections cannot be waited for: {error}"),
        "raise the limit of open files (ulimit -n)",
    )
}

fn check(configuration: &ReceiveConfiguration) -> Result<(), Failure> {
    declared::check(&configuration.connections)?;
    declared::check_rate(configuration.rate_bits_per_second)?;
    declared::check_address("listen", configuration.listen)?;
    socket::check_peer(configuration.listen, configuration.peer)?;
    for role in Role::BOTH {
        let Some(bytes) = *configuration.window_bytes.of(role) else { continue };
        if bytes == 0 || libc::c_int::try_from(bytes).is_err() {
            let message = format!("window_bytes: {bytes} is out of range");
            return Err(Failure::configuration(
                message,
                "give from 1 to 2147483647, or null for no limit, for probe and data",
            ));
        }
    }
    if configuration.tcp.window_clamp_bytes.is_some()
        || configuration.tcp.receive_buffer_bytes.is_some()
        || configuration.tcp.window_bytes.is_some()
    {
        let message = "tcp: window_clamp_bytes, receive_buffer_bytes and window_bytes are the same \
                       for probes and data";
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
            window_clamp_bytes: window,
            receive_buffer_bytes: window.map(socket::first_buffer),
            ..self.tcp.clone()
        };
        let address = SocketAddr::new(self.listen, *self.ports.of(role));
        let listener = options.listen(address)?;
        listener.local_addr().map_err(|error| unusable("cannot listen at", address, &error))?;
        Ok(Some(listener))
    }
}

/// The results of a phase.
#[derive(Debug, Default)]
struct Taken {
    rows: Vec<Row>,
    time_is_over: bool,
    refused: Refused,
}

impl Taken {
    /// Serves connections until every declared one has ended, the time is over, or stop is
    /// requested.
    fn take_all(
        mut self,
        phase: &Arc<Phase>,
        mut acceptor: Acceptor,
        start: &Start,
        duration: Span,
    ) -> Result<Self, Failure> {
        let mut threads: Vec<(usize, Worker<Row>)> = Vec::new();
        let end = start.monotonic + duration;
        let (mut broken, stop) = (None, phase.connections.stop);
        while !acceptor.is_done() && !stop.is_requested() && clock::monotonic() < end {
            match acceptor.turn(end) {
                Ok(admitted) => {
                    for one in admitted {
                        self.begin(phase, one, start, &mut threads);
                    }
                }
                Err(error) => {
                    broken = Some(cannot_wait(&error));
                    break;
                }
            }
        }
        // The ports are closed: no more connections are admitted.
        self.refused = acceptor.close();
        while broken.is_none() && !stop.is_requested() && clock::monotonic() < end {
            phase.ended.clear();
            if threads.iter().all(|(_, thread)| thread.is_finished()) {
                break;
            }
            broken = stop.wait_for(&phase.ended, end).err().map(|error| cannot_wait(&error));
        }
        let is_whole = self.rows.len() == threads.len()
            && threads.iter().all(|(_, thread)| thread.is_finished());
        self.time_is_over = !is_whole && !stop.is_requested() && clock::monotonic() >= end;
        phase.is_over.store(self.time_is_over, Ordering::Release);
        phase.connections.open.end();
        for (number, thread) in threads {
            let row = workers::join("pairs", thread)?;
            if let Some(slot) = self.rows.get_mut(number) {
                *slot = row;
            }
        }
        broken.map_or(Ok(self), Err)
    }

    /// A thread for an admitted connection.
    fn begin(
        &mut self,
        phase: &Arc<Phase>,
        admitted: Admitted,
        start: &Start,
        threads: &mut Vec<(usize, Worker<Row>)>,
    ) {
        let (number, declared) = (admitted.number, admitted.declared);
        let (for_thread, start) = (Arc::clone(phase), *start);
        let take = move || for_thread.take(&admitted, &start);
        match workers::spawn_signalling("pair", Arc::clone(&phase.ended), take) {
            Ok(thread) => threads.push((number, thread)),
            Err(failure) => {
                if let Some(row) = self.rows.get_mut(number) {
                    *row = Row::new(&declared, Close::Refused, failure.message());
                }
            }
        }
    }
}
