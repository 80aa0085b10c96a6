//! The verb `fetch`: clients that request an object repeatedly, each request after the last
//! response.
//!
//! A failed request is a row with its reason and does not end the work. After a failed connection a
//! client waits, longer each time up to a second, so that an absent server does not count as
//! thousands of failures.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use super::client::{self, Exchange, Fault, Request};
use super::fetch_rows::{self, Fetched, Tally, TallyReport};
use crate::output::rows::{Rows, RowsWritten};
use crate::session::workers::{self, Start, span};
use crate::session::{Failure, Session, Stop};
use crate::sys::kernel::Poll;
use crate::sys::open_streams::OpenStreams;
use crate::sys::socket::{self, Granted, TcpOptions};
use crate::traffic::send::Origin;

const MOST_CONNECTIONS: usize = 4096;
const SHORTEST_WAIT: Span = Span::from_millis(10);
const LONGEST_WAIT: Span = Span::from_secs(1);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    to: SocketAddr,
    /// Addresses that the clients take in turns. The kernel chooses by default.
    #[serde(default)]
    from: Vec<Origin>,
    /// `/bytes/N` by default.
    path: Option<String>,
    /// How long the object is; another length is a failure. Any length will do by default.
    object_bytes: Option<u64>,
    /// The `Host` field. The address by default.
    host: Option<String>,
    /// Clients at once.
    #[serde(default = "one")]
    connections: usize,
    /// Whether a client keeps its connection. Yes by default.
    #[serde(default = "yes")]
    reuse: bool,
    /// No request begins later. Without this and `count` it continues until stopped.
    duration_ns: Option<u64>,
    /// Requests of all clients together.
    count: Option<u64>,
    /// Between an answer and the next request.
    #[serde(default)]
    pause_ns: u64,
    /// Of a request, connecting included.
    #[serde(default = "a_minute")]
    timeout_ns: u64,
    /// Whether the content should be that of the verb `serve`, byte for byte.
    #[serde(default)]
    check: bool,
    /// Where every request is written down. Nowhere by default.
    rows: Option<PathBuf>,
    #[serde(default)]
    tcp: TcpOptions,
}

const fn one() -> usize {
    1
}

const fn yes() -> bool {
    true
}

const fn a_minute() -> u64 {
    60_000_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody<'a> {
    to: SocketAddr,
    path: &'a str,
    connections: usize,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    requests: u64,
    open_connections: usize,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    #[serde(flatten)]
    tally: TallyReport,
    #[serde(flatten)]
    granted: Option<Granted>,
    rows: Option<RowsWritten>,
}

/// What the clients share.
struct Clients {
    configuration: Configuration,
    request: Request,
    open: OpenStreams,
    stop: Stop,
    begun: AtomicU64,
    running: AtomicUsize,
    book: Mutex<Book>,
}

/// Where requests are written down.
#[derive(Default)]
struct Book {
    tally: Tally,
    rows: Option<Rows>,
    granted: Option<Granted>,
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    let path = check(&configuration)?;
    socket::allow_many_files();
    // Wrong options or own addresses fail before anything begins.
    for origin in configuration.from.iter().map(|origin| Some(origin.0)).chain([None]) {
        drop(configuration.tcp.socket(configuration.to, origin)?);
    }
    let rows = configuration.rows.as_deref().map(fetch_rows::create).transpose()?;
    let clients = Arc::new(Clients {
        request: request(&configuration, &path),
        open: OpenStreams::default(),
        stop: session.stop(),
        begun: AtomicU64::new(0),
        running: AtomicUsize::new(configuration.connections),
        book: Mutex::new(Book { rows, ..Book::default() }),
        configuration,
    });
    session.ready(&ReadyBody {
        to: clients.configuration.to,
        path: &path,
        connections: clients.configuration.connections,
    })?;
    let begun = workers::wait_for_start(session)?;
    let outcome = match begun {
        Some(start) => fetch_all(session, &clients, start),
        None => Ok(()),
    };
    let report = clients.report(begun);
    outcome?;
    session.report(&report)
}

fn check(configuration: &Configuration) -> Result<String, Failure> {
    if configuration.connections == 0 || configuration.connections > MOST_CONNECTIONS {
        let message = format!("connections: {} is out of range", configuration.connections);
        return Err(Failure::configuration(message, format!("give from 1 to {MOST_CONNECTIONS}")));
    }
    let path = match (&configuration.path, configuration.object_bytes) {
        (Some(path), _) => path.clone(),
        (None, Some(bytes)) => format!("/bytes/{bytes}"),
        (None, None) => {
            return Err(Failure::configuration(
                "there is nothing to fetch",
                "give object_bytes for the verb `serve`, or path for another server",
            ));
        }
    };
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    if !path.starts_with('/') || !plain(&path) {
        return Err(Failure::configuration(
            format!("path: {path:?} is none"),
            "a path begins with / and has no spaces; percent-encode what is not ASCII",
        ));
    }
    match &configuration.host {
        Some(host) if !plain(host) => Err(Failure::configuration(
            format!("host: {host:?} is no name"),
            "give a name, or a name with a port",
        )),
        _ => Ok(path),
    }
}

fn request(configuration: &Configuration, path: &str) -> Request {
    let host = configuration.host.clone().unwrap_or_else(|| configuration.to.to_string());
    let connection = if configuration.reuse { "" } else { "Connection: close\r\n" };
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: trustbed\r\nAccept: */*\r\n\
         {connection}\r\n"
    );
    Request {
        head: request.into_bytes(),
        bytes: configuration.object_bytes,
        check: configuration.check,
    }
}

fn fetch_all(session: &Session, clients: &Arc<Clients>, start: Start) -> Result<(), Failure> {
    let _ = session.stop().wait_until(start.monotonic);
    let spawn = |connection: usize| {
        let clients = Arc::clone(clients);
        workers::spawn("fetch", move || clients.fetch(connection, &start))
    };
    let mut threads = Vec::new();
    let spawned = (0..clients.configuration.connections)
        .try_for_each(|connection| spawn(connection).map(|thread| threads.push(thread)));
    let outcome = spawned.and_then(|()| {
        workers::supervise(
            session,
            || clients.running.load(Ordering::Acquire) == 0,
            || ProgressBody {
                requests: clients.book().tally.requests(),
                open_connections: clients.open.count(),
            },
        )
    });
    clients.stop.request();
    clients.open.end();
    let joined = threads.into_iter().try_for_each(|thread| workers::join("fetch", thread));
    outcome.and(joined)
}

impl Clients {
    fn book(&self) -> MutexGuard<'_, Book> {
        // A thread that panicked leaves the book whole but for the row it was writing.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One client until there is nothing more to ask for.
    fn fetch(&self, connection: usize, start: &Start) {
        let mut reusable: Option<TcpStream> = None;
        let mut wait = SHORTEST_WAIT;
        while let Some(request) = self.next(start) {
            let mut fetched =
                Fetched { connection, request, begun: start.elapsed(), ..Fetched::default() };
            let outcome = self.fetch_one(&mut reusable, &mut fetched, start);
            fetched.fault = outcome
                .err()
                .map(|fault| if self.stop.is_requested() { Fault::Stopped } else { fault });
            self.write_down(&fetched);
            // Nobody there, or somebody who accepts connections and answers none.
            if fetched.fault.is_some() && fetched.exchange.status.is_none() {
                self.pause(wait);
                wait = Span(2 * wait.0).min(LONGEST_WAIT);
            } else {
                wait = SHORTEST_WAIT;
                self.pause(span(self.configuration.pause_ns));
            }
        }
        self.running.fetch_sub(1, Ordering::Release);
    }

    /// The number of the next request; none when there is no more.
    fn next(&self, start: &Start) -> Option<u64> {
        let over = self
            .configuration
            .duration_ns
            .is_some_and(|duration| start.elapsed() >= span(duration));
        if over || self.stop.is_requested() {
            return None;
        }
        let request = self.begun.fetch_add(1, Ordering::Relaxed);
        if self.configuration.count.is_some_and(|count| request >= count) {
            self.begun.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(request)
    }

    fn fetch_one(
        &self,
        reusable: &mut Option<TcpStream>,
        fetched: &mut Fetched,
        start: &Start,
    ) -> Result<(), Fault> {
        if let Some(stream) = reusable.take() {
            let outcome = self.ask(&stream, fetched, start);
            // The server had closed it meanwhile, and never saw the request: asking again is safe
            // (RFC 9112, section 9.3.1).
            let unseen = fetched.exchange.first_byte.is_none()
                && matches!(outcome, Err(Fault::Reset | Fault::ClosedEarly));
            if !unseen || self.stop.is_requested() {
                return self.keep(stream, reusable, fetched, outcome);
            }
            fetched.exchange = Exchange::default();
            self.book().tally.on_retry();
        }
        let stream = self
            .connect(fetched.connection, self.until(fetched) - start.elapsed())
            .map_err(|error| Fault::of(&error))?;
        fetched.connected = Some(start.elapsed());
        {
            let mut book = self.book();
            book.tally.on_connected();
            book.granted.get_or_insert_with(|| socket::granted(&stream));
        }
        let outcome = self.ask(&stream, fetched, start);
        self.keep(stream, reusable, fetched, outcome)
    }

    /// When a request has taken as long as it may, connecting and asking again included.
    fn until(&self, fetched: &Fetched) -> Span {
        fetched.begun + span(self.configuration.timeout_ns)
    }

    fn connect(&self, connection: usize, timeout: Span) -> io::Result<TcpStream> {
        let Configuration { to, from, tcp, .. } = &self.configuration;
        let origin = if from.is_empty() { None } else { from.get(connection % from.len()) };
        tcp.connect(*to, origin.map(|origin| origin.0), timeout, self.stop)
    }

    fn ask(&self, stream: &TcpStream, fetched: &mut Fetched, start: &Start) -> Result<(), Fault> {
        let _entry =
            self.open.add(fetched.connection, stream).map_err(|error| Fault::of(&error))?;
        client::ask(stream, &self.request, (start, self.until(fetched)), &mut fetched.exchange)
    }

    /// Keeps a connection that can serve again, and leaves one that cannot.
    fn keep(
        &self,
        stream: TcpStream,
        reusable: &mut Option<TcpStream>,
        fetched: &Fetched,
        outcome: Result<(), Fault>,
    ) -> Result<(), Fault> {
        if outcome.is_ok() && self.configuration.reuse && fetched.exchange.keep {
            *reusable = Some(stream);
        } else if outcome.is_ok() && !self.stop.is_requested() {
            client::leave(&stream);
        }
        outcome
    }

    fn write_down(&self, fetched: &Fetched) {
        let mut book = self.book();
        book.tally.on_fetched(fetched);
        if let Some(rows) = &mut book.rows {
            fetched.append(rows);
        }
    }

    /// Sleeps; shorter when stop is requested.
    fn pause(&self, span: Span) {
        if span > Span::ZERO {
            // Where waiting fails the next request comes sooner.
            let _ = Poll::new(&[self.stop.descriptor()]).wait(Some(span));
        }
    }

    fn report(&self, start: Option<Start>) -> Report {
        let mut book = self.book();
        Report {
            start_ns: start.map(|start| start.realtime.0),
            end_ns: start.map(|start| (start.realtime + start.elapsed()).0),
            tally: book.tally.report(),
            granted: book.granted.take(),
            rows: book.rows.take().map(Rows::finish),
        }
    }
}
