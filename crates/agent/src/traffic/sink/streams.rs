//! The TCP half of the sink: reads what arrives, and counts bytes by connection.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use serde::Serialize;
use trustbed_traffic::Transport;
use trustbed_units::Ns;

use super::room::Room;
use super::{Counted, Listening, MOST_SOURCES};
use crate::output::seconds::Seconds;
use crate::session::workers::Start;
use crate::sys::clock;
use crate::sys::readiness::{Interest, Readiness};
use crate::sys::socket;
use crate::sys::tcp_info::TcpInfo;
use crate::traffic::payload_header::{LONG, PayloadHeader};

/// What is read of one connection before another has its turn.
const TURN: usize = 256 << 10;

/// All connections and their counts.
pub(super) struct Streams {
    listeners: Vec<(TcpListener, SocketAddr)>,
    nonce: Option<u16>,
    open: BTreeMap<usize, Connection>,
    ended: Vec<ConnectionReport>,
    accepted: usize,
    refused: u64,
    accept_error: Option<String>,
    buffer: Vec<u8>,
    counted: Arc<Counted>,
}

struct Connection {
    stream: TcpStream,
    listener: usize,
    peer: SocketAddr,
    /// The beginning, in which a timestamp may be.
    head: Vec<u8>,
    bytes: u64,
    seconds: Seconds,
    first: Option<Ns>,
    last: Option<Ns>,
}

/// Counts over TCP.
#[derive(Debug, Serialize)]
pub(super) struct StreamsReport {
    connections: Vec<ConnectionReport>,
    /// Beyond the limit, and those that have no room in the report.
    connections_left_out: u64,
    accept_error: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
struct ConnectionReport {
    #[serde(flatten)]
    listening: Listening,
    peer: SocketAddr,
    source: Option<u16>,
    payload_bytes: u64,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    /// Whether the sender ended it, it broke, or it was still open at the end.
    ended: Ended,
    error: Option<String>,
    tcp: Option<TcpInfo>,
    payload_bytes_per_second: Seconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    BySender,
    Broken,
    Foreign,
    Open,
}

impl Streams {
    pub(super) fn new(
        listeners: Vec<TcpListener>,
        nonce: Option<u16>,
        counted: Arc<Counted>,
    ) -> io::Result<Self> {
        let listeners = listeners.into_iter().map(|listener| {
            let address = listener.local_addr()?;
            Ok((listener, address))
        });
        Ok(Self {
            listeners: listeners.collect::<io::Result<_>>()?,
            nonce,
            open: BTreeMap::new(),
            ended: Vec::new(),
            accepted: 0,
            refused: 0,
            accept_error: None,
            buffer: vec![0; TURN],
            counted,
        })
    }

    /// Accepts those who wait; they are numbered from `first` on.
    pub(super) fn accept(
        &mut self,
        listener: usize,
        first: u64,
        readiness: &Readiness,
    ) -> io::Result<()> {
        while let Some((listening, _)) = self.listeners.get(listener) {
            match listening.accept() {
                Ok((stream, peer)) if self.accepted < MOST_SOURCES => {
                    stream.set_nonblocking(true)?;
                    readiness.add(&stream, first + self.accepted as u64, Interest::Read)?;
                    let head = Vec::with_capacity(LONG);
                    let seconds = Seconds::default();
                    self.open.insert(
                        self.accepted,
                        Connection {
                            stream,
                            listener,
                            peer,
                            head,
                            bytes: 0,
                            seconds,
                            first: None,
                            last: None,
                        },
                    );
                    self.accepted += 1;
                }
                Ok(_) => self.refused += 1,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // The peer gave up before it was accepted, or a signal arrived.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted
                    ) => {}
                Err(error) => {
                    // For instance no more files: no one else can connect, and open connections go
                    // on.
                    self.accept_error = Some(error.to_string());
                    readiness.remove(listening)?;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads what waits in a connection, as much as is its turn.
    pub(super) fn take(
        &mut self,
        number: usize,
        start: &Start,
        readiness: &Readiness,
    ) -> io::Result<()> {
        let Some(connection) = self.open.get_mut(&number) else { return Ok(()) };
        let (ended, error) = match connection.stream.read(&mut self.buffer) {
            Ok(0) => (Ended::BySender, None),
            Ok(length) => {
                let piece = self.buffer.get(..length).unwrap_or_default();
                self.counted.add(0, piece.len() as u64);
                connection.on_bytes(piece, start);
                let foreign = self.nonce.is_some_and(|nonce| {
                    connection.stamp().is_some_and(|stamp| stamp.nonce != nonce)
                });
                if !foreign {
                    return Ok(());
                }
                (Ended::Foreign, None)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                return Ok(());
            }
            Err(error) => (Ended::Broken, Some(error.to_string())),
        };
        if let Some(connection) = self.open.remove(&number) {
            readiness.remove(&connection.stream)?;
            let report = self.describe(&connection, ended, error);
            self.ended.extend(report);
        }
        Ok(())
    }

    /// Adds the amounts of each second.
    pub(super) fn add_to(&self, seconds: &mut Seconds) {
        self.ended
            .iter()
            .for_each(|connection| seconds.merge(&connection.payload_bytes_per_second));
        self.open.values().for_each(|connection| seconds.merge(&connection.seconds));
    }

    pub(super) fn report(&self, room: &mut Room) -> StreamsReport {
        let open = self
            .open
            .values()
            .filter_map(|connection| self.describe(connection, Ended::Open, None));
        let (mut connections, mut left_out) = (Vec::new(), self.refused);
        for one in self.ended.iter().cloned().chain(open) {
            if room.takes(&one) {
                connections.push(one);
            } else {
                left_out += 1;
            }
        }
        StreamsReport {
            connections,
            connections_left_out: left_out,
            accept_error: self.accept_error.clone(),
        }
    }

    fn describe(
        &self,
        connection: &Connection,
        ended: Ended,
        error: Option<String>,
    ) -> Option<ConnectionReport> {
        Some(ConnectionReport {
            listening: Listening {
                transport: Transport::Tcp,
                address: self.listeners.get(connection.listener)?.1,
            },
            peer: connection.peer,
            source: connection.stamp().map(|stamp| stamp.source),
            payload_bytes: connection.bytes,
            first_ns: connection.first.map(|at| at.0),
            last_ns: connection.last.map(|at| at.0),
            ended,
            error,
            tcp: socket::tcp_info(&connection.stream),
            payload_bytes_per_second: connection.seconds.clone(),
        })
    }
}

impl Connection {
    fn on_bytes(&mut self, piece: &[u8], start: &Start) {
        let now = clock::realtime();
        let wanted = LONG.saturating_sub(self.head.len()).min(piece.len());
        self.head.extend_from_slice(piece.get(..wanted).unwrap_or_default());
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.bytes += piece.len() as u64;
        self.seconds.add(start.realtime, now, piece.len() as u64);
    }

    fn stamp(&self) -> Option<PayloadHeader> {
        PayloadHeader::read(&self.head)
    }
}
