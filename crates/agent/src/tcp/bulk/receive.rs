//! The receiving side of bulk transfers: reads until the sender ends, then ends as well.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::rows::{Outcome, Transfer};
use super::{MOST_CONNECTIONS, check_piece, piece};
use crate::session::workers::{self, Start};
use crate::session::{Failure, Session};
use crate::sys::clock;
use crate::sys::listeners::Listeners;
use crate::sys::socket::{self, TcpOptions};
use crate::tcp::connections::Connections;
use crate::tcp::pace::{Pace, Pacer};

/// Transfers that are reported; what is beyond is counted.
const MOST_TRANSFERS: usize = 100_000;
/// The least receive buffer of Linux (`SOCK_MIN_RCVBUF`).
const LEAST_WINDOW: u32 = 2304;
/// The largest window that a header can state (RFC 7323).
const LARGEST_WINDOW: u32 = 1 << 29;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReceiveConfiguration {
    listen: Vec<SocketAddr>,
    /// What is read at once.
    #[serde(default = "piece")]
    read_bytes: u32,
    /// When it reads: an application that does not keep up. Always by default.
    read: Option<Pace>,
    /// Delayed acknowledgements, set after every read. The kernel's by default.
    delayed_ack: Option<DelayedAck>,
    #[serde(default)]
    tcp: TcpOptions,
}

/// Whether acknowledgements are delayed (`TCP_QUICKACK` of tcp(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum DelayedAck {
    /// As long as the kernel permits: until a second full segment or its timer.
    Always,
    /// Not longer than until the data are read.
    Never,
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    listening: Vec<SocketAddr>,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    transfers: Vec<Transfer>,
    connections_left_out: u64,
    accept_error: Option<String>,
}

/// Shared by the threads.
struct Shared {
    configuration: ReceiveConfiguration,
    connections: Connections,
}

/// Runs the receiving side.
pub(super) fn run(session: &Session, configuration: ReceiveConfiguration) -> Result<(), Failure> {
    check_piece("read_bytes", configuration.read_bytes)?;
    configuration.read.map_or(Ok(()), |pace| pace.check("read"))?;
    check_window(&configuration.tcp)?;
    socket::allow_many_files();
    let listeners = Listeners::open(&configuration.listen, &configuration.tcp)?;
    let shared = Arc::new(Shared { connections: Connections::new(session.stop()), configuration });
    session.ready(&ReadyBody { listening: listeners.addresses() })?;
    let Some(start) = workers::wait_for_start(session)? else {
        return session.report(&Report {
            start_ns: None,
            transfers: Vec::new(),
            connections_left_out: 0,
            accept_error: None,
        });
    };
    let for_thread = Arc::clone(&shared);
    let stop = session.stop();
    let thread = workers::spawn("accept", move || {
        let (mut transfers, mut left_out) = (Vec::new(), 0);
        let begin = move |connection, stream: TcpStream, ended| {
            let shared = Arc::clone(&for_thread);
            let transfer = move || shared.transfer(connection, &stream, &start);
            workers::spawn_signalling("bulk", ended, transfer)
        };
        let refused = listeners.serve(stop, MOST_CONNECTIONS, begin, |transfer| {
            if transfers.len() < MOST_TRANSFERS { transfers.push(transfer) } else { left_out += 1 }
        });
        transfers.sort_by_key(|transfer: &Transfer| transfer.connection);
        Report {
            start_ns: Some(start.realtime.0),
            transfers,
            connections_left_out: left_out + refused.connections,
            accept_error: refused.error,
        }
    })?;
    let progress = || shared.connections.progress();
    let outcome = workers::supervise(session, || thread.is_finished(), progress);
    shared.connections.open.end();
    let report = workers::join("accept", thread)?;
    outcome?;
    session.report(&report)
}

/// Refuses a window that no socket can have, or beside which another key has no effect.
fn check_window(tcp: &TcpOptions) -> Result<(), Failure> {
    let Some(bytes) = tcp.window_bytes else { return Ok(()) };
    if !(LEAST_WINDOW..=LARGEST_WINDOW).contains(&bytes) {
        return Err(Failure::configuration(
            format!("tcp.window_bytes: {bytes} is out of range"),
            format!("give from {LEAST_WINDOW} to {LARGEST_WINDOW}"),
        ));
    }
    if tcp.receive_buffer_bytes.is_some() || tcp.window_clamp_bytes.is_some() {
        return Err(Failure::configuration(
            "tcp.window_bytes decides about the receive buffer and the clamp itself",
            "leave receive_buffer_bytes and window_clamp_bytes out",
        ));
    }
    Ok(())
}

impl Shared {
    /// Serves a connection until its sender ends.
    fn transfer(&self, connection: usize, stream: &TcpStream, start: &Start) -> Transfer {
        let now = Some(start.elapsed().0);
        let mut transfer = Transfer {
            connection,
            local: stream.local_addr().ok(),
            peer: stream.peer_addr().ok(),
            begun_ns: now,
            connected_ns: now,
            granted: Some(socket::granted(stream)),
            ..Transfer::default()
        };
        let outcome = self
            .connections
            .open
            .add(connection, stream)
            .and_then(|_entry| self.read_all(stream, &mut transfer, start));
        transfer.tcp = socket::tcp_info(stream);
        transfer.goodput_bits_per_second =
            transfer.goodput(transfer.payload_bytes, transfer.last_byte_ns);
        match outcome {
            _ if self.connections.stop.is_requested() => transfer.outcome = Outcome::Stopped,
            Ok(()) => transfer.outcome = Outcome::Complete,
            Err(error) => {
                transfer.outcome = Outcome::Failed;
                transfer.error = Some(error.to_string());
            }
        }
        transfer
    }

    fn read_all(
        &self,
        mut stream: &TcpStream,
        transfer: &mut Transfer,
        start: &Start,
    ) -> io::Result<()> {
        let mut piece = vec![0; self.configuration.read_bytes as usize];
        let mut pacer = Pacer::new(self.configuration.read);
        let window = self.configuration.tcp.window_bytes;
        loop {
            if let Some(configuration) = self.configuration.delayed_ack {
                socket::set_quick_ack(stream, configuration == DelayedAck::Never)?;
            }
            let room = pacer.piece(piece.len());
            let length = match stream.read(piece.get_mut(..room).unwrap_or_default()) {
                Ok(0) => return Ok(()),
                Ok(length) => length as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let now = start.elapsed();
            if let Some(bytes) = window {
                if transfer.payload_bytes == 0 {
                    socket::open_window(stream, bytes)?;
                } else {
                    socket::hold_window(stream, bytes)?;
                }
            }
            transfer.payload_bytes += length;
            transfer.first_byte_ns.get_or_insert(now.0);
            transfer.last_byte_ns = Some(now.0);
            transfer.payload_bytes_per_second.add_after(now, length);
            self.connections.count(length);
            if let Some(pause) = pacer.on_moved(length, clock::monotonic()) {
                self.connections.pause(pause)?;
            }
        }
    }
}
