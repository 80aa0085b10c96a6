//! The verb `generate`: users of a model of traffic, as real connections between many hosts.
//!
//! Every emulated host is an address: clients' are of the namespace in which this runs, servers' of
//! another one, whose file is named. Both ends of every connection are in this process, so that a
//! server knows what to answer without a word of it on the wire, and every byte that the model says
//! is a byte on the wire. The kernel's TCP does the rest: what is sent gives way as TCP does.
//!
//! What begins when is decided by [`trustbed_traffic::structural`]; here are sockets and the clock.
//! The report has the error of the generator itself: when each request, response and connection was
//! due against when it began.

mod connection;
mod engine;
mod flow;
mod report;
mod servers;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use serde::{Deserialize, Serialize};
use trustbed_traffic::structural::{Offer, Population};
use trustbed_units::Span;

use self::engine::{Addresses, Engine};
use self::servers::Servers;
use crate::session::workers::{self, Start};
use crate::session::{Failure, Session};
use crate::sys::clock::{self, Granted, Priority};
use crate::sys::socket::{self, TcpOptions};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    /// The file of the [`Offer`], as JSON.
    offer: PathBuf,
    /// Addresses of the clients, in the order of their numbers.
    clients: Vec<IpAddr>,
    /// Addresses of the servers, in the order of their numbers.
    servers: Vec<IpAddr>,
    /// The file of the network namespace in which the servers' addresses are.
    server_namespace: PathBuf,
    seed: u64,
    /// For how long the users have been there when the start comes. Ten minutes by default.
    #[serde(default = "past")]
    past_ns: u64,
    /// Until stop is requested, if not given.
    duration_ns: Option<u64>,
    /// Where every request, response and opening is written down: when it was due, when it began.
    rows: Option<PathBuf>,
    /// Connections at once; beyond them none are opened. 30,000 by default.
    #[serde(default = "most_connections")]
    most_connections: usize,
    #[serde(default)]
    tcp: TcpOptions,
    #[serde(default)]
    priority: Priority,
}

fn past() -> u64 {
    600_000_000_000
}

fn most_connections() -> usize {
    30_000
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    classes: Vec<String>,
    clients: usize,
    servers: usize,
    #[serde(flatten)]
    granted: Granted,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    connections: u64,
    open_connections: u64,
    bytes: u64,
}

/// What has come about so far, for progress events.
#[derive(Debug, Default)]
struct Progress {
    connections: AtomicU64,
    open: AtomicU64,
    bytes: AtomicU64,
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    socket::allow_many_files();
    let offer = read(&configuration.offer)?;
    check(&offer, &configuration)?;
    let population = Population::new(&offer, configuration.seed)
        .map_err(|error| Failure::configuration(error.to_string(), "see `trustbed model show`"))?
        .since(workers::span(configuration.past_ns));
    let progress = Arc::new(Progress::default());
    let stop = session.stop();
    let (ready_sender, ready) = mpsc::channel();
    let (start_sender, start) = mpsc::channel::<Start>();
    let names: Vec<String> = offer.classes.iter().map(|class| class.name.clone()).collect();
    let (clients, servers) = (configuration.clients.len(), configuration.servers.len());
    let shared = Arc::clone(&progress);
    let thread = workers::spawn("generate", move || {
        // Sockets of servers are opened by this thread, which returns to its own namespace.
        let prepared =
            Servers::open(&offer, &configuration.servers, &configuration.server_namespace)
                .and_then(|servers| {
                    let addresses = Addresses {
                        clients: configuration.clients,
                        servers: configuration.servers,
                    };
                    Engine::new(
                        population,
                        &offer,
                        addresses,
                        servers,
                        configuration.tcp,
                        shared,
                        stop,
                    )
                })
                .and_then(|engine| {
                    engine.limited(configuration.most_connections, configuration.rows.as_deref())
                });
        let mut engine = match prepared {
            Ok(engine) => engine,
            Err(failure) => {
                let _ = ready_sender.send(Err(failure));
                return None;
            }
        };
        let _ = ready_sender.send(Ok(clock::take_priority(configuration.priority)));
        let start = start.recv().ok()?;
        Some(engine.run(&start, configuration.duration_ns.map(workers::span)))
    })?;
    let granted = ready.recv().map_err(|_| {
        Failure::running(
            "the thread that generates ended",
            "this is a bug in the agent; its standard error says where",
        )
    })??;
    session.ready(&ReadyBody { classes: names, clients, servers, granted })?;
    match workers::wait_for_start(session)? {
        // If the thread has ended, joining it reports so.
        Some(start) => drop(start_sender.send(start)),
        None => drop(start_sender),
    }
    let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let outcome = workers::supervise(
        session,
        || thread.is_finished(),
        || ProgressBody {
            connections: read(&progress.connections),
            open_connections: read(&progress.open),
            bytes: read(&progress.bytes),
        },
    );
    stop.request();
    let report = workers::join("generate", thread)?;
    outcome?;
    report.map_or(Ok(()), |report| session.report(&report))
}

fn read(path: &PathBuf) -> Result<Offer, Failure> {
    let failed = |error: String| {
        Failure::configuration(
            format!("offer: {}: {error}", path.display()),
            "a file of classes as JSON, which `trustbed run` makes of a model",
        )
    };
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))
}

/// Hosts that the offer names must have addresses.
fn check(offer: &Offer, configuration: &Configuration) -> Result<(), Failure> {
    if offer.classes.is_empty() {
        return Err(Failure::configuration(
            "offer: there is no class that sends",
            "a model with at least one connection",
        ));
    }
    for class in &offer.classes {
        for (key, numbers, addresses) in [
            ("clients", &class.clients, &configuration.clients),
            ("servers", &class.servers, &configuration.servers),
        ] {
            let most = numbers.iter().max().copied().unwrap_or(0) as usize;
            if most >= addresses.len() {
                return Err(Failure::configuration(
                    format!(
                        "class {}: {key} has number {most}, and there are {} addresses",
                        class.name,
                        addresses.len()
                    ),
                    "numbers of hosts count from 0",
                ));
            }
        }
    }
    Ok(())
}

/// No wait is longer than this: stop has to be noticed.
const LONGEST_WAIT: Span = Span::from_millis(200);
