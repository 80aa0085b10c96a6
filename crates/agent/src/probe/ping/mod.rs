//! The verb `ping`: round trips to another host, and the address and interface by which this host
//! reaches it.
//!
//! ```json
//! {"to": "10.0.0.2", "method": "auto", "port": 40001, "count": 10, "interval_ns": 1000000000}
//! ```
//!
//! By ICMP echo ([`echo`]), or by TCP handshake ([`handshake`]), which any port answers that is
//! open, or closed and not silent. `auto` begins with echoes, and changes to handshakes when the
//! first [`TRIED`] have no answer; the report is of the method used last. Pings leave at multiples
//! of the interval, whatever became of those before. A ping is lost when it is not answered within
//! `timeout_ns`, or an interval.
//!
//! Round trips are the kernel's where it has them: it timestamps echoes on arrival, and measures
//! handshakes itself. A late wake-up of this program affects the departure of an echo
//! (microseconds), and a refused handshake.

mod echo;
mod handshake;
mod interface;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use crate::session::workers::{self, Start, span};
use crate::session::{Failure, Session, Stop};
use crate::sys::clock;
use crate::sys::socket::unusable;

/// More are another kind of measurement.
const MOST: usize = 100_000;
/// Faster pings are traffic.
const SHORTEST_INTERVAL: Span = Span::from_millis(1);
/// Echoes that may stay without an answer before handshakes are tried.
const TRIED: usize = 2;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    to: IpAddr,
    /// The address to ping from; the kernel chooses by default.
    from: Option<IpAddr>,
    #[serde(default)]
    method: Method,
    /// Of handshakes. 7 by default: no listener is needed.
    #[serde(default = "port")]
    port: u16,
    #[serde(default = "count")]
    count: usize,
    #[serde(default = "a_second")]
    interval_ns: u64,
    #[serde(default = "a_second")]
    timeout_ns: u64,
}

/// How a ping is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Method {
    Icmp,
    Tcp,
    /// Whichever is answered.
    #[default]
    Auto,
}

const fn port() -> u16 {
    7
}

const fn count() -> usize {
    10
}

const fn a_second() -> u64 {
    1_000_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody<'a> {
    from: IpAddr,
    interface: &'a Option<String>,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    pings: usize,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    to: IpAddr,
    from: IpAddr,
    /// The one that has this address; null where none has.
    interface: Option<String>,
    #[serde(flatten)]
    found: Found,
}

/// What became of the pings of one method.
#[derive(Debug, Serialize)]
struct Found {
    method: Method,
    /// In the order of sending; null for those that were not answered.
    round_trips_ns: Vec<Option<i64>>,
    /// Why there is no echo, where that is known.
    refused: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    check(&configuration)?;
    let from = source(&configuration)?;
    let interface = interface::of(from).ok().flatten();
    session.ready(&ReadyBody { from, interface: &interface })?;
    let to = configuration.to;
    let begun = workers::wait_for_start(session)?;
    let found = match begun {
        Some(start) => ping_until_done(session, configuration, from, start)?,
        None => Found { method: configuration.method, round_trips_ns: Vec::new(), refused: None },
    };
    session.report(&Report {
        start_ns: begun.map(|start| start.realtime.0),
        to,
        from,
        interface,
        found,
    })
}

fn check(configuration: &Configuration) -> Result<(), Failure> {
    if configuration.count > MOST {
        return Err(Failure::configuration(
            format!("count: {} pings", configuration.count),
            format!("give at most {MOST}"),
        ));
    }
    if span(configuration.interval_ns) < SHORTEST_INTERVAL {
        let message = format!("interval_ns: {} between pings", configuration.interval_ns);
        return Err(Failure::configuration(
            message,
            format!("give {} or more", SHORTEST_INTERVAL.0),
        ));
    }
    if configuration.from.is_some_and(|from| from.is_ipv4() != configuration.to.is_ipv4()) {
        return Err(Failure::configuration(
            "from and to are of different versions of IP",
            "give both as IPv4 or both as IPv6",
        ));
    }
    Ok(())
}

/// The source address of packets to there: connecting a UDP socket determines it without sending.
fn source(configuration: &Configuration) -> Result<IpAddr, Failure> {
    let to = SocketAddr::new(configuration.to, configuration.port.max(1));
    let any: IpAddr = if to.is_ipv4() {
        std::net::Ipv4Addr::UNSPECIFIED.into()
    } else {
        std::net::Ipv6Addr::UNSPECIFIED.into()
    };
    let from = SocketAddr::new(configuration.from.unwrap_or(any), 0);
    let socket =
        UdpSocket::bind(from).map_err(|error| unusable("cannot ping from", from, &error))?;
    socket.connect(to).map_err(|error| unusable("no route to", to, &error))?;
    Ok(socket.local_addr().map_err(|error| unusable("no address towards", to, &error))?.ip())
}

fn ping_until_done(
    session: &Session,
    configuration: Configuration,
    from: IpAddr,
    start: Start,
) -> Result<Found, Failure> {
    let done = Arc::new(AtomicUsize::new(0));
    let (counted, stop) = (Arc::clone(&done), session.stop());
    let thread =
        workers::spawn("ping", move || ping(&configuration, from, &start, stop, &counted))?;
    let outcome = workers::supervise(
        session,
        || thread.is_finished(),
        || ProgressBody { pings: done.load(Ordering::Relaxed) },
    );
    let found = workers::join("ping", thread)?;
    outcome.map(|()| found)
}

/// All pings, one after the other.
fn ping(
    configuration: &Configuration,
    from: IpAddr,
    start: &Start,
    stop: Stop,
    done: &AtomicUsize,
) -> Found {
    let mut found =
        Found { method: configuration.method, round_trips_ns: Vec::new(), refused: None };
    let mut echoes =
        (configuration.method != Method::Tcp).then(|| echo::Echoes::open(configuration.to, from));
    let (interval, timeout) = (span(configuration.interval_ns), span(configuration.timeout_ns));
    for number in 0..configuration.count {
        let due = start.monotonic
            + Span(interval.0.saturating_mul(i64::try_from(number).unwrap_or(i64::MAX)));
        if !stop.wait_until(due) {
            break;
        }
        // From now: a process that stalled past the next ping has its answer all the same.
        let until = clock::monotonic() + timeout.min(interval);
        let silent =
            found.round_trips_ns.len() >= TRIED && found.round_trips_ns.iter().all(Option::is_none);
        // Once: handshakes that nobody answers are lost.
        let tries = configuration.method == Method::Auto && echoes.is_some();
        if tries && (silent || matches!(echoes, Some(Err(_)))) {
            if let Some(Err(why)) = &echoes {
                found.refused = Some(why.to_string());
            }
            echoes = None;
            found.round_trips_ns.clear();
        }
        let round_trip = match &mut echoes {
            Some(Ok(echoes)) => echoes.ping(until, stop).unwrap_or_else(|why| {
                found.refused = Some(why.to_string());
                None
            }),
            Some(Err(why)) => {
                found.refused = Some(why.to_string());
                None
            }
            None => handshake::ping(
                SocketAddr::new(configuration.to, configuration.port),
                from,
                until,
                stop,
            ),
        };
        found.round_trips_ns.push(round_trip.map(|span| span.0));
        done.fetch_add(1, Ordering::Relaxed);
    }
    if configuration.method == Method::Auto {
        found.method = if echoes.is_some() { Method::Icmp } else { Method::Tcp };
    }
    found
}
