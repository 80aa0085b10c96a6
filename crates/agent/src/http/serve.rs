//! The verb `serve`: objects of any size, `GET /bytes/N`, one thread for each connection.
//!
//! Content is computed and never read from a disk. Responses have no `Date`: nothing here depends
//! on the clock.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::LONGEST_HEAD;
use super::object::Pattern;
use super::request::{self, Request, Target};
use crate::session::workers;
use crate::session::{Failure, Session, Stop};
use crate::sys::listeners::Listeners;
use crate::sys::open_streams::OpenStreams;
use crate::sys::socket::{self, TcpOptions};

/// Content of a refused request that is passed over; with more the connection is closed.
const MOST_CONTENT: u64 = 1 << 20;
const MOST_CONNECTIONS: usize = 1 << 14;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    listen: Vec<SocketAddr>,
    /// Those beyond wait to be accepted.
    #[serde(default = "most_connections")]
    most_connections: usize,
    /// How long a connection may stay without a request, and an answer without progress.
    #[serde(default = "a_minute")]
    idle_timeout_ns: u64,
    #[serde(default)]
    tcp: TcpOptions,
}

const fn most_connections() -> usize {
    1024
}

const fn a_minute() -> u64 {
    60_000_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    listening: Vec<SocketAddr>,
}

/// What was served so far.
#[derive(Debug, Default)]
struct Counters {
    connections: AtomicU64,
    answers: AtomicU64,
    refusals: AtomicU64,
    payload_bytes: AtomicU64,
    /// Connections that ended in the middle of a request or an answer.
    broken: AtomicU64,
    /// Connections that were closed as idle.
    idle: AtomicU64,
}

#[derive(Debug, Serialize)]
struct Served {
    connections: u64,
    answers: u64,
    refusals: u64,
    payload_bytes: u64,
    broken_connections: u64,
    idle_connections: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    #[serde(flatten)]
    served: Served,
    refused_connections: u64,
    accept_error: Option<String>,
}

/// Shared by the threads.
struct Server {
    open: OpenStreams,
    counters: Counters,
    pattern: Pattern,
    idle: Duration,
    stop: Stop,
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    if configuration.most_connections == 0 || configuration.most_connections > MOST_CONNECTIONS {
        let message =
            format!("most_connections: {} is out of range", configuration.most_connections);
        return Err(Failure::configuration(message, format!("give from 1 to {MOST_CONNECTIONS}")));
    }
    socket::allow_many_files();
    let listeners = Listeners::open(&configuration.listen, &configuration.tcp)?;
    let idle = Duration::from_nanos(configuration.idle_timeout_ns.max(1));
    let server = Server {
        open: OpenStreams::default(),
        counters: Counters::default(),
        pattern: Pattern::new(),
        idle,
        stop: session.stop(),
    };
    let server = Arc::new(server);
    session.ready(&ReadyBody { listening: listeners.addresses() })?;
    let (for_thread, stop) = (Arc::clone(&server), server.stop);
    // It answers from now on: those who fetch have their own start.
    let thread = workers::spawn("accept", move || {
        let begin = move |number, stream: TcpStream, ended| {
            let server = Arc::clone(&for_thread);
            workers::spawn_signalling("serve", ended, move || server.serve(number, &stream))
        };
        listeners.serve(stop, configuration.most_connections, begin, |()| {})
    })?;
    let started = workers::wait_for_start(session);
    let outcome = match &started {
        Ok(Some(_)) => {
            workers::supervise(session, || thread.is_finished(), || server.counters.read())
        }
        _ => Ok(()),
    };
    server.stop.request();
    server.open.end();
    let refused = workers::join("accept", thread)?;
    let start = started?;
    outcome?;
    session.report(&Report {
        start_ns: start.map(|start| start.realtime.0),
        served: server.counters.read(),
        refused_connections: refused.connections,
        accept_error: refused.error,
    })
}

impl Counters {
    fn read(&self) -> Served {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Served {
            connections: read(&self.connections),
            answers: read(&self.answers),
            refusals: read(&self.refusals),
            payload_bytes: read(&self.payload_bytes),
            broken_connections: read(&self.broken),
            idle_connections: read(&self.idle),
        }
    }
}

fn count(number: &AtomicU64, more: u64) {
    number.fetch_add(more, Ordering::Relaxed);
}

impl Server {
    /// One connection until either side ends it.
    fn serve(&self, number: usize, stream: &TcpStream) {
        count(&self.counters.connections, 1);
        let outcome = self.open.add(number, stream).and_then(|_entry| {
            stream.set_read_timeout(Some(self.idle))?;
            stream.set_write_timeout(Some(self.idle))?;
            self.answer_all(stream)
        });
        match outcome {
            Ok(()) => {}
            // At the end connections are cut in any state.
            Err(_) if self.stop.is_requested() => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                count(&self.counters.idle, 1);
            }
            Err(_) => count(&self.counters.broken, 1),
        }
    }

    fn answer_all(&self, mut stream: &TcpStream) -> io::Result<()> {
        let mut come: Vec<u8> = Vec::with_capacity(1024);
        let mut piece = vec![0; LONGEST_HEAD];
        loop {
            let Some(request) = request::read(&come) else {
                match stream.read(&mut piece) {
                    Ok(0) if come.is_empty() => return Ok(()),
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(length) => come.extend_from_slice(piece.get(..length).unwrap_or_default()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
                continue;
            };
            come.drain(..request.head.min(come.len()));
            let keep = request.keep && request.content <= MOST_CONTENT;
            self.answer(stream, &request, keep)?;
            if !keep {
                return linger(stream, &mut piece);
            }
            pass_over(stream, &mut come, request.content, &mut piece)?;
        }
    }

    fn answer(&self, mut stream: &TcpStream, request: &Request, keep: bool) -> io::Result<()> {
        let connection = match (keep, request.old) {
            (false, _) => "Connection: close\r\n",
            (true, true) => "Connection: keep-alive\r\n",
            (true, false) => "",
        };
        let bytes = match request.target {
            Target::Object { bytes } => bytes,
            Target::Refused(status) => {
                count(&self.counters.refusals, 1);
                let text = "objects are at /bytes/N, with N their size in bytes\n";
                let line = status.line();
                let answer = format!(
                    "HTTP/1.1 {line}\r\nAllow: GET, HEAD\r\nContent-Type: text/plain\r\n\
                     Content-Length: {}\r\n{connection}\r\n{}",
                    text.len(),
                    if request.head_only { "" } else { text }
                );
                return stream.write_all(answer.as_bytes());
            }
        };
        let mut first = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\
            Content-Length: {bytes}\r\n{connection}\r\n"
        )
        .into_bytes();
        let bytes = if request.head_only { 0 } else { bytes };
        // A small object leaves together with its head.
        let beginning = self.pattern.from(0, bytes.min(32 << 10));
        first.extend_from_slice(beginning);
        stream.write_all(&first)?;
        let mut offset = beginning.len() as u64;
        count(&self.counters.payload_bytes, offset);
        while offset < bytes {
            let piece = self.pattern.from(offset, bytes - offset);
            stream.write_all(piece)?;
            offset += piece.len() as u64;
            count(&self.counters.payload_bytes, piece.len() as u64);
        }
        count(&self.counters.answers, 1);
        Ok(())
    }
}

/// Throws away the content of a request.
fn pass_over(
    mut stream: &TcpStream,
    come: &mut Vec<u8>,
    content: u64,
    piece: &mut [u8],
) -> io::Result<()> {
    let mut left = content;
    let here = usize::try_from(left).unwrap_or(usize::MAX).min(come.len());
    come.drain(..here);
    left -= here as u64;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        match stream.read(piece.get_mut(..most).unwrap_or_default()) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => left -= length as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Closes so that the client gets the whole answer, even if it is still sending (RFC 9112, section
/// 9.6).
fn linger(mut stream: &TcpStream, piece: &mut [u8]) -> io::Result<()> {
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut left = MOST_CONTENT;
    while left > 0 {
        match stream.read(piece) {
            Ok(0) | Err(_) => break,
            Ok(length) => left = left.saturating_sub(length as u64),
        }
    }
    Ok(())
}
