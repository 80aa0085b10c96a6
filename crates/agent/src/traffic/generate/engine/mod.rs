//! The loop that generates: opens what is due, writes what is due, reads what has come, waits.
//!
//! One thread serves both ends of all connections; descriptors report changes only
//! (edge-triggered), and every change is served until there is nothing left.

mod due;
mod ready;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use trustbed_traffic::structural::{Offer, Population, Session, Side};
use trustbed_units::Span;

use super::connection::Connection;
use super::flow::Flow;
use super::report::{self, Begun, ClassCounts, Counts, Kind, Report};
use super::servers::Servers;
use super::{LONGEST_WAIT, Progress};
use crate::output::rows::Rows;
use crate::session::workers::Start;
use crate::session::{Failure, Stop};
use crate::sys::clock;
use crate::sys::kernel::{self, Poll};
use crate::sys::readiness::{Interest, Readiness};
use crate::sys::socket::TcpOptions;

/// What is read at once.
const BUFFER: usize = 256 << 10;
/// Descriptors that are not those of connections.
const RESERVED_FILES: usize = 512;
/// Numbers of descriptors: those of listeners and of servers of datagrams have one of these bits.
const LISTENER: u64 = 1 << 63;
const DATAGRAMS: u64 = 1 << 62;
const GENERATIONS: u64 = (1 << 30) - 1;
/// Headers of IPv4 and TCP without options.
const HEADERS: u32 = 40;
/// The smallest segment that Linux accepts.
const LEAST_SEGMENT: u32 = 88;
/// The largest window that a socket is held to.
const MOST_WINDOW: u32 = 128 << 10;
/// Of ordinary Ethernet.
const FULL_PACKET: u32 = 1500;

/// Addresses by the numbers of hosts.
#[derive(Debug)]
pub(super) struct Addresses {
    pub(super) clients: Vec<IpAddr>,
    pub(super) servers: Vec<IpAddr>,
}

/// All connections, and what they come from.
pub(super) struct Engine {
    population: Population,
    /// By class.
    ports: Vec<u16>,
    addresses: Addresses,
    servers: Servers,
    tcp: TcpOptions,
    progress: Arc<Progress>,
    stop: Stop,
    readiness: Readiness,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Connections whose server's end is not accepted yet, by the addresses of both ends.
    expected: HashMap<(SocketAddr, SocketAddr), usize>,
    /// Flows by the server's socket and the client's address.
    flows: HashMap<(usize, SocketAddr), usize>,
    timers: BinaryHeap<Reverse<(Span, usize, u32, usize)>>,
    buffer: Vec<u8>,
    counts: Counts,
    rows: Option<Rows>,
    most: usize,
    number: u64,
    now: Span,
    start: Option<Start>,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    /// When each side is to be served next: other timers of it are stale.
    timers: [Option<Span>; 2],
    what: What,
}

#[derive(Debug, Default)]
enum What {
    #[default]
    Nothing,
    Stream(Box<Connection>),
    Datagrams(Box<Flow>),
}

impl Engine {
    pub(super) fn new(
        population: Population,
        offer: &Offer,
        addresses: Addresses,
        servers: Servers,
        tcp: TcpOptions,
        progress: Arc<Progress>,
        stop: Stop,
    ) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            Failure::running(
                format!("the connections cannot be waited for: {error}"),
                "raise the limit of open files (ulimit -n)",
            )
        };
        let readiness = Readiness::new().map_err(failed)?;
        for (index, listener) in (0..).zip(&servers.listeners) {
            readiness.add(listener, LISTENER | index, Interest::Read).map_err(failed)?;
        }
        for (index, (_, socket)) in (0..).zip(&servers.datagrams) {
            readiness.add(socket, DATAGRAMS | index, Interest::Read).map_err(failed)?;
        }
        let classes = offer.classes.iter();
        let counts = Counts {
            classes: classes
                .clone()
                .map(|class| ClassCounts { name: class.name.clone(), ..ClassCounts::default() })
                .collect(),
            ..Counts::default()
        };
        Ok(Self {
            population,
            ports: classes.map(|class| class.port).collect(),
            addresses,
            servers,
            tcp,
            progress,
            stop,
            readiness,
            slots: Vec::new(),
            free: Vec::new(),
            expected: HashMap::new(),
            flows: HashMap::new(),
            timers: BinaryHeap::new(),
            buffer: vec![0; BUFFER],
            counts,
            rows: None,
            most: usize::MAX,
            number: 0,
            now: Span::ZERO,
            start: None,
        })
    }

    /// The same with at most so many connections at once, writing down what begins.
    pub(super) fn limited(mut self, most: usize, rows: Option<&Path>) -> Result<Self, Failure> {
        // Two descriptors each, and some for everything else.
        let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let room = files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
        self.most = most.min(room.saturating_sub(RESERVED_FILES) / 2);
        self.rows = rows.map(report::create).transpose()?;
        Ok(self)
    }

    /// Generates for a time, or until stop is requested.
    pub(super) fn run(&mut self, start: &Start, duration: Option<Span>) -> Report {
        // Where it fails, what is due begins up to 50 µs later.
        let _ = kernel::tighten_timers();
        if !self.stop.wait_until(start.monotonic) {
            return self.report(Span::ZERO, 0.0);
        }
        self.start = Some(*start);
        let used = clock::thread_time();
        while !self.stop.is_requested() {
            self.now = start.elapsed();
            if duration.is_some_and(|duration| self.now >= duration) {
                break;
            }
            self.open_due();
            self.serve_due();
            if self.wait(start).is_err() {
                break;
            }
            self.now = start.elapsed();
            self.serve_ready();
        }
        let lasted = start.elapsed();
        let cpu = (clock::thread_time() - used).as_secs_f64() / lasted.as_secs_f64().max(1e-9);
        self.report(lasted, cpu)
    }

    fn report(&mut self, lasted: Span, cpu_share: f64) -> Report {
        let counts = std::mem::take(&mut self.counts);
        let [client_sent, server_sent] = counts.sent;
        let [client_received, server_received] = counts.received;
        Report {
            duration_ns: lasted.0,
            connections: counts.classes.iter().map(|class| class.connections).sum(),
            failed_connections: counts.classes.iter().flat_map(|class| class.failed.values()).sum(),
            classes: counts.classes,
            most_open_connections: counts.most_open,
            open_connections: self.slots.len() - self.free.len(),
            sessions: self.population.going_on(),
            start_error: counts.starts.summary(),
            start_error_median_ns: counts.starts.median(),
            cpu_share,
            client_sent_bytes_per_second: client_sent,
            server_sent_bytes_per_second: server_sent,
            client_received_bytes_per_second: client_received,
            server_received_bytes_per_second: server_received,
            rows: self.rows.take().map(Rows::finish),
        }
    }

    /// Waits for the next thing that is due, or for a descriptor.
    fn wait(&mut self, start: &Start) -> io::Result<()> {
        let timer = self.timers.peek().map(|Reverse((due, ..))| *due);
        let due = self.population.due().into_iter().chain(timer).min();
        let left = due.map_or(LONGEST_WAIT, |due| (due - start.elapsed()).min(LONGEST_WAIT));
        if left > Span::ZERO {
            let descriptors = [self.readiness.descriptor(), self.stop.descriptor()];
            Poll::new(&descriptors).wait(Some(left))?;
        }
        Ok(())
    }

    // Ends.

    /// Everything was said: the client closes, the server when it learns of it.
    fn finish(&mut self, slot: usize) {
        let What::Stream(connection) = &mut self.slots[slot].what else { return };
        connection.over = true;
        connection.ends[0] = None;
        let (class, session) = (connection.class, connection.session);
        self.counts.classes[class].completed += 1;
        self.population.on_over(session, self.now);
    }

    fn fail(&mut self, slot: usize, reason: &'static str) {
        let What::Stream(connection) = &self.slots[slot].what else { return };
        let (class, session, over) = (connection.class, connection.session, connection.over);
        self.release(slot);
        if !over {
            self.failed(class, session, reason);
        }
    }

    fn failed(&mut self, class: usize, session: Session, reason: &'static str) {
        *self.counts.classes[class].failed.entry(reason).or_default() += 1;
        self.population.on_over(session, self.now);
    }

    /// A side is to be served at a moment, and at no later one before.
    fn set_timer(&mut self, slot: usize, side: Side, due: Span) {
        let found = &mut self.slots[slot];
        let own = &mut found.timers[side.index()];
        if own.is_none_or(|set| due < set) {
            *own = Some(due);
            self.timers.push(Reverse((due, slot, found.generation, side.index())));
        }
    }

    fn occupy(&mut self, make: impl FnOnce() -> What) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        self.slots[slot].what = make();
        slot
    }

    fn release(&mut self, slot: usize) {
        let Some(found) = self.slots.get_mut(slot) else { return };
        match std::mem::take(&mut found.what) {
            What::Nothing => return,
            What::Datagrams(flow) => {
                self.flows.remove(&(flow.server, flow.peer));
            }
            What::Stream(connection) => {
                if connection.ends[1].is_none() {
                    self.expected.remove(&connection.addresses);
                }
            }
        }
        found.generation = found.generation.wrapping_add(1);
        found.timers = [None; 2];
        self.free.push(slot);
    }

    fn descriptor_number(&self, slot: usize, side: Side) -> u64 {
        let generation = u64::from(self.slots[slot].generation) & GENERATIONS;
        (generation << 32) | ((slot as u64) << 1) | side.index() as u64
    }

    // Counts.

    fn note(
        &mut self,
        due: Span,
        (connection, class, client): (u64, usize, u32),
        (kind, bytes): (Kind, u64),
    ) {
        self.now = self.start.map_or(self.now, |start| start.elapsed());
        self.counts.starts.add(self.now - due);
        if let Some(rows) = &mut self.rows {
            Begun { connection, class, client, kind, due, at: self.now, bytes }.append(rows);
        }
    }

    fn sent(&mut self, class: usize, side: Side, bytes: u64) {
        if bytes > 0 {
            self.counts.classes[class].sent_bytes[side.index()] += bytes;
            self.counts.sent[side.index()].add_after(self.now, bytes);
            let before = self.progress.bytes.load(Ordering::Relaxed);
            self.progress.bytes.store(before + bytes, Ordering::Relaxed);
        }
    }

    fn received(&mut self, class: usize, side: Side, bytes: u64) {
        if bytes > 0 {
            self.counts.classes[class].received_bytes[side.index()] += bytes;
            self.counts.received[side.index()].add_after(self.now, bytes);
        }
    }
}

/// A server that hears nothing begins all the same after this time; and as long is received what
/// was sent last.
const UNHEARD: Span = Span::from_secs(1);

/// What an error is called in reports.
fn fault(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "refused",
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => "unreachable",
        io::ErrorKind::TimedOut => "timed_out",
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionAborted => "reset",
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse => "no_port",
        _ => "other",
    }
}
