//! The verb `sink`: receives background traffic and counts it by source.
//!
//! Datagrams are counted by their payload headers (`traffic::payload_header`): received, lost,
//! reordered, duplicated. Of TCP connections the bytes are counted. Drops at a full socket buffer
//! are counted apart, as far as the kernel reports them: they are not the network's.
//!
//! A packet's time is when it was read from its socket, never before it arrived: delays can be
//! over-, never under-estimated.
//!
//! A report is one line, so it describes as many sources and connections as have room in it; of the
//! others it has what they were together.

mod datagrams;
mod room;
mod streams;
mod tally;

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use trustbed_traffic::Transport;
use trustbed_units::Span;

use crate::output::seconds::Seconds;
use crate::session::workers::{self, Start};
use crate::session::{Failure, Session, Stop};
use crate::sys::readiness::{Interest, Readiness, Ready};
use crate::sys::socket::{self, TcpOptions};
use datagrams::{Datagrams, DatagramsReport};
use room::Room;
use streams::{Streams, StreamsReport};

/// Draining ends after this time, whatever still arrives.
const FAREWELL: Duration = Duration::from_secs(2);
/// The most sources counted apart; others are counted together.
pub(crate) const MOST_SOURCES: usize = 65_536;
/// The number by which the end is known among what is ready; connections are numbered from the
/// second half on.
const END: u64 = u64::MAX;
const CONNECTIONS: u64 = 1 << 32;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    listen: Vec<Listen>,
    /// Datagrams that name another one, or none before their sender has named this one, are not
    /// counted as a source's: a source whose datagrams are all too short for a header is not known.
    /// Every one counts by default.
    nonce: Option<u16>,
    /// Of each UDP socket.
    #[serde(default = "receive_buffer_bytes")]
    receive_buffer_bytes: u32,
    /// Of the TCP sockets.
    #[serde(default)]
    tcp: TcpOptions,
}

/// An address to receive at. Port 0: the kernel chooses one, which `ready` names.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listen {
    transport: Transport,
    address: SocketAddr,
}

const fn receive_buffer_bytes() -> u32 {
    8 << 20
}

/// Where is listened.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Listening {
    pub(crate) transport: Transport,
    pub(crate) address: SocketAddr,
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    listening: Vec<Listening>,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    packets: u64,
    payload_bytes: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    #[serde(flatten)]
    datagrams: DatagramsReport,
    #[serde(flatten)]
    streams: StreamsReport,
    /// Of all sources together, from the start on.
    payload_bytes_per_second: Seconds,
}

/// Received so far, for progress events.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    packets: AtomicU64,
    payload_bytes: AtomicU64,
}

impl Counted {
    fn add(&self, packets: u64, bytes: u64) {
        self.packets.fetch_add(packets, Ordering::Relaxed);
        self.payload_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    if configuration.listen.is_empty() {
        return Err(Failure::configuration(
            "listen: there is no address to receive at",
            r#"{"listen": [{"transport": "udp", "address": "…:9000"}]}"#,
        ));
    }
    socket::allow_many_files();
    let sink = Sink::open(&configuration)?;
    session.ready(&ReadyBody { listening: sink.listening.clone() })?;
    let Some(start) = workers::wait_for_start(session)? else {
        return session.report(&sink.report(None));
    };
    let (counted, stop) = (Arc::clone(&sink.counted), session.stop());
    let thread = workers::spawn("sink", move || sink.count(start, stop))?;
    let outcome = workers::supervise(
        session,
        || thread.is_finished(),
        || {
            let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
            ProgressBody {
                packets: read(&counted.packets),
                payload_bytes: read(&counted.payload_bytes),
            }
        },
    );
    let sink = workers::join("sink", thread)??;
    outcome?;
    session.report(&sink.report(Some(start)))
}

/// All sockets and their counts.
struct Sink {
    /// In the order of the configuration.
    listening: Vec<Listening>,
    readiness: Readiness,
    datagrams: Datagrams,
    streams: Streams,
    counted: Arc<Counted>,
}

impl Sink {
    fn open(configuration: &Configuration) -> Result<Self, Failure> {
        let counted = Arc::new(Counted::default());
        let mut sockets: Vec<UdpSocket> = Vec::new();
        let mut listeners: Vec<TcpListener> = Vec::new();
        let mut listening = Vec::new();
        for Listen { transport, address } in configuration.listen.iter().copied() {
            let bound = match transport {
                Transport::Udp => {
                    let socket = socket::datagrams_at(address, configuration.receive_buffer_bytes)?;
                    let bound = socket.local_addr();
                    sockets.push(socket);
                    bound
                }
                Transport::Tcp => {
                    let listener = configuration.tcp.listen(address)?;
                    let bound = listener.local_addr();
                    listeners.push(listener);
                    bound
                }
            };
            listening
                .push(Listening { transport, address: bound.map_err(|error| broken(&error))? });
        }
        let readiness = Readiness::new().map_err(|error| broken(&error))?;
        let numbered = |index: usize| u64::try_from(index).unwrap_or(END);
        for (index, socket) in sockets.iter().enumerate() {
            readiness
                .add(socket, numbered(index), Interest::Read)
                .map_err(|error| broken(&error))?;
        }
        for (index, listener) in listeners.iter().enumerate() {
            readiness
                .add(listener, numbered(sockets.len() + index), Interest::Read)
                .map_err(|error| broken(&error))?;
        }
        let datagrams = Datagrams::new(sockets, configuration.nonce, Arc::clone(&counted))
            .map_err(|error| broken(&error))?;
        let streams = Streams::new(listeners, configuration.nonce, Arc::clone(&counted))
            .map_err(|error| broken(&error))?;
        Ok(Self { listening, readiness, datagrams, streams, counted })
    }

    /// Counts until stop is requested, and then what waits in the sockets.
    fn count(mut self, start: Start, stop: Stop) -> Result<Self, Failure> {
        self.readiness
            .add(&stop.descriptor(), END, Interest::Read)
            .map_err(|error| broken(&error))?;
        while !stop.is_requested() {
            let ready = self.readiness.wait(None).map_err(|error| broken(&error))?;
            self.take(&ready, &start)?;
        }
        let begun = Instant::now();
        while begun.elapsed() < FAREWELL {
            let ready = self.readiness.wait(Some(Span::ZERO)).map_err(|error| broken(&error))?;
            if ready.iter().all(|one| one.number == END) {
                break;
            }
            self.take(&ready, &start)?;
        }
        Ok(self)
    }

    fn take(&mut self, ready: &[Ready], start: &Start) -> Result<(), Failure> {
        for one in ready.iter().filter(|one| one.number != END) {
            if let Some(connection) = one.number.checked_sub(CONNECTIONS) {
                self.streams
                    .take(index_of(connection), start, &self.readiness)
                    .map_err(|error| broken(&error))?;
                continue;
            }
            match index_of(one.number).checked_sub(self.datagrams.sockets()) {
                None => self.datagrams.take(index_of(one.number), start),
                Some(listener) => self
                    .streams
                    .accept(listener, CONNECTIONS, &self.readiness)
                    .map_err(|error| broken(&error))?,
            }
        }
        Ok(())
    }

    fn report(&self, start: Option<Start>) -> Report {
        let mut payload_bytes_per_second = Seconds::default();
        self.datagrams.add_to(&mut payload_bytes_per_second);
        self.streams.add_to(&mut payload_bytes_per_second);
        let mut room = Room::default();
        Report {
            start_ns: start.map(|start| start.realtime.0),
            end_ns: start.map(|start| (start.realtime + start.elapsed()).0),
            datagrams: self.datagrams.report(&mut room),
            streams: self.streams.report(&mut room),
            payload_bytes_per_second,
        }
    }
}

fn index_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn broken(error: &io::Error) -> Failure {
    Failure::running(
        format!("the sockets cannot be waited for: {error}"),
        "raise the limits of open files and memory (ulimit -n, ulimit -l)",
    )
}
