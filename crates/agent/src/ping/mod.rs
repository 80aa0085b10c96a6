//! The verb `ping`: round trips to another host, before anything else is measured; and by which address and interface this host gets there.
//!
//!     {"to": "10.0.0.2", "way": "auto", "port": 40001, "count": 10, "interval_ns": 1000000000}
//!
//! By ICMP echoes ([`echo`]), or by TCP handshakes ([`handshake`]), which any port answers that is open, or closed and not silent. `auto` begins
//! with echoes, and goes on with handshakes when the first [`TRIED`] had no answer; what is reported is of the way that was used last. Moments
//! of sending are multiples of the interval, whatever became of the pings before. One that is not answered within `timeout_ns`, or until the
//! next is due, is lost.
//!
//! Round trips are those of the kernel where it says: it stamps echoes when they come, and measures handshakes itself. What a program that
//! was woken late adds is in the moment of sending an echo (microseconds), and in a handshake that was refused.

mod echo;
mod handshake;
mod interface;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use crate::net::attend::{self, Start, span};
use crate::net::socket::unusable;
use crate::talk::{Failure, Stop, Talk};

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
    /// The address to ping from; the kernel chooses unless given.
    from: Option<IpAddr>,
    #[serde(default)]
    way: Way,
    /// Of handshakes. 7 unless given: nobody has to listen there.
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
enum Way {
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

/// What became of the pings of one way.
#[derive(Debug, Serialize)]
struct Found {
    way: Way,
    /// In the order of sending; null for those that were not answered.
    round_trips_ns: Vec<Option<i64>>,
    /// Why there is no echo, where that is known.
    refused: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(talk: &mut Talk) -> Result<(), Failure> {
    let asked: Configuration = talk.configuration()?;
    check(&asked)?;
    let from = source(&asked)?;
    let interface = interface::of(from).ok().flatten();
    talk.ready(&ReadyBody { from, interface: &interface })?;
    let to = asked.to;
    let begun = attend::wait_for_start(talk)?;
    let found = match begun {
        Some(start) => ping_until_done(talk, asked, from, start)?,
        None => Found { way: asked.way, round_trips_ns: Vec::new(), refused: None },
    };
    talk.report(&Report {
        start_ns: begun.map(|start| start.realtime.0),
        to,
        from,
        interface,
        found,
    })
}

fn check(asked: &Configuration) -> Result<(), Failure> {
    if asked.count > MOST {
        return Err(Failure::configuration(
            format!("count: {} pings", asked.count),
            format!("give at most {MOST}"),
        ));
    }
    if span(asked.interval_ns) < SHORTEST_INTERVAL {
        let message = format!("interval_ns: {} between pings", asked.interval_ns);
        return Err(Failure::configuration(
            message,
            format!("give {} or more", SHORTEST_INTERVAL.0),
        ));
    }
    if asked.from.is_some_and(|from| from.is_ipv4() != asked.to.is_ipv4()) {
        return Err(Failure::configuration(
            "from and to are of different versions of IP",
            "give both as IPv4 or both as IPv6",
        ));
    }
    Ok(())
}

/// The address that packets to there have: a socket that is connected knows, and sends nothing.
fn source(asked: &Configuration) -> Result<IpAddr, Failure> {
    let to = SocketAddr::new(asked.to, asked.port.max(1));
    let any: IpAddr = if to.is_ipv4() {
        std::net::Ipv4Addr::UNSPECIFIED.into()
    } else {
        std::net::Ipv6Addr::UNSPECIFIED.into()
    };
    let from = SocketAddr::new(asked.from.unwrap_or(any), 0);
    let socket =
        UdpSocket::bind(from).map_err(|error| unusable("cannot ping from", from, &error))?;
    socket.connect(to).map_err(|error| unusable("no way to", to, &error))?;
    Ok(socket.local_addr().map_err(|error| unusable("no address towards", to, &error))?.ip())
}

fn ping_until_done(
    talk: &Talk,
    asked: Configuration,
    from: IpAddr,
    start: Start,
) -> Result<Found, Failure> {
    let done = Arc::new(AtomicUsize::new(0));
    let (told, stop) = (Arc::clone(&done), talk.stop());
    let thread = attend::spawn("ping", move || ping(&asked, from, &start, stop, &told))?;
    let outcome = attend::converse(
        talk,
        || thread.is_finished(),
        || ProgressBody { pings: done.load(Ordering::Relaxed) },
    );
    let found = attend::join("ping", thread)?;
    outcome.map(|()| found)
}

/// All pings, one after the other.
fn ping(
    asked: &Configuration,
    from: IpAddr,
    start: &Start,
    stop: Stop,
    done: &AtomicUsize,
) -> Found {
    let mut found = Found { way: asked.way, round_trips_ns: Vec::new(), refused: None };
    let mut echoes = (asked.way != Way::Tcp).then(|| echo::Echoes::open(asked.to, from));
    let (interval, timeout) = (span(asked.interval_ns), span(asked.timeout_ns));
    for number in 0..asked.count {
        let due = start.monotonic
            + Span(interval.0.saturating_mul(i64::try_from(number).unwrap_or(i64::MAX)));
        if !stop.wait_until(due) {
            break;
        }
        let until = due + timeout.min(interval);
        let silent =
            found.round_trips_ns.len() >= TRIED && found.round_trips_ns.iter().all(Option::is_none);
        if asked.way == Way::Auto && (silent || matches!(echoes, Some(Err(_)))) {
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
            None => handshake::ping(SocketAddr::new(asked.to, asked.port), from, until, stop),
        };
        found.round_trips_ns.push(round_trip.map(|span| span.0));
        done.fetch_add(1, Ordering::Relaxed);
    }
    if asked.way == Way::Auto {
        found.way = if echoes.is_some() { Way::Icmp } else { Way::Tcp };
    }
    found
}
