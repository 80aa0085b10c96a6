//! The sending side: connects to a receiver, lets an estimator decide what to send, and reports its
//! conclusion.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use super::connection::Asking;
use super::drive::{Allowed, Ended, Halt, Prober, Progress};
use super::flight::Flight;
use super::report::{Found, Report, Whose};
use super::settings::Estimator;
use super::wire::MOST_PATIENCE;
use crate::session::workers::{self, Start, span};
use crate::session::{Failure, Session, Stop};
use crate::sys::clock::{self, Granted, Priority};
use crate::sys::idle::{self, Idle};
use crate::sys::socket::{self, unusable};
use crate::sys::timestamping;
use crate::traffic::send::Origin;

/// Copies of what left wait in the socket with their timestamps until the run is over: those of the
/// longest run.
const STAMPS_BYTES: usize = 8 << 20;
/// A train of the largest packets leaves at once.
const SEND_BUFFER_BYTES: u32 = 1 << 20;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendConfiguration {
    /// The receiver.
    to: SocketAddr,
    /// The address to send from; the kernel chooses by default.
    from: Option<Origin>,
    /// What the receiver expects to be named.
    nonce: u64,
    estimator: Estimator,
    /// No run is sent with which it would be more, headers included.
    #[serde(default = "largest_ip_bytes")]
    largest_ip_bytes: u64,
    /// A packet of a run is lost when it has not arrived so long after the request. That was sent
    /// behind the run, so only packets that were overtaken are still in transit.
    #[serde(default = "patience_ns")]
    patience_ns: u64,
    #[serde(default)]
    priority: Priority,
    /// What idle processors do meanwhile.
    #[serde(default)]
    idle: Idle,
}

const fn largest_ip_bytes() -> u64 {
    1_000_000_000
}

const fn patience_ns() -> u64 {
    100_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody<'a> {
    estimator: &'static str,
    from: Option<SocketAddr>,
    to: SocketAddr,
    #[serde(flatten)]
    granted: Granted,
    #[serde(flatten)]
    idle: &'a idle::Granted,
}

/// The results of the sending thread.
struct Outcome {
    ended: Ended,
    prober: Option<Box<Prober>>,
    found: Found,
}

/// Runs the sending side.
pub(super) fn run(session: &Session, configuration: &SendConfiguration) -> Result<(), Failure> {
    configuration.estimator.check()?;
    if span(configuration.patience_ns) > MOST_PATIENCE {
        let message = format!("patience_ns: {}", configuration.patience_ns);
        return Err(Failure::configuration(message, format!("give at most {}", MOST_PATIENCE.0)));
    }
    let socket = open(configuration)?;
    let mut whose = Whose {
        estimator: configuration.estimator.name(),
        from: socket.local_addr().ok(),
        to: configuration.to,
        start: None,
    };
    let (progress, stop) = (Arc::<Mutex<Progress>>::default(), session.stop());
    let idle = idle::request(configuration.idle);
    let (granted_sender, granted) = mpsc::channel();
    let (start_sender, start) = mpsc::channel::<Start>();
    let (work, shared) = (configuration.clone(), Arc::clone(&progress));
    let thread = workers::spawn("estimate", move || {
        let _ = granted_sender.send(clock::take_priority(work.priority));
        let nothing = Ok(Outcome { ended: Ended::Stopped, prober: None, found: Found::Nothing });
        let Ok(start) = start.recv() else { return nothing };
        if stop.wait_until(start.monotonic) {
            estimate(&work, socket, &shared, stop)
        } else {
            nothing
        }
    })?;
    let granted = granted.recv().unwrap_or(Granted {
        priority: Priority::Normal,
        priority_refused: Some("its thread ended".to_owned()),
    });
    session.ready(&ReadyBody {
        estimator: whose.estimator,
        from: whose.from,
        to: whose.to,
        granted,
        idle: &idle.granted,
    })?;
    whose.start = workers::wait_for_start(session)?;
    let outcome = if let Some(start) = whose.start {
        // If the thread has ended, joining it reports so.
        let _ = start_sender.send(start);
        let snapshot = || progress.lock().unwrap_or_else(PoisonError::into_inner).clone();
        workers::supervise(session, || thread.is_finished(), snapshot)
    } else {
        drop(start_sender);
        Ok(())
    };
    stop.request();
    let Outcome { ended, prober, found } = workers::join("estimate", thread)??;
    outcome?;
    session.report(&Report::of(whose, ended, prober.as_deref(), &found))
}

/// The socket whose packets the kernel timestamps, with room for the timestamps of a run.
fn open(configuration: &SendConfiguration) -> Result<UdpSocket, Failure> {
    let to = configuration.to;
    let socket =
        socket::datagrams_to(to, configuration.from.map(|from| from.0), Some(SEND_BUFFER_BYTES))?;
    timestamping::stamp_datagrams(&socket, true)
        .map_err(|error| unusable("no timestamps of packets to", to, &error))?;
    // The fragments of a packet are several, at another rate.
    let whole = if to.is_ipv4() {
        sockopt::set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO)
    } else {
        sockopt::set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::DO)
    };
    whole
        .map_err(|error| unusable("packets may be fragmented on the path to", to, &error.into()))?;
    if sockopt::set_socket_recv_buffer_size_force(&socket, STAMPS_BYTES).is_err() {
        // Only root may go beyond the limit of the host; where that is too little, a run's moments
        // are this program's.
        let set = sockopt::set_socket_recv_buffer_size(&socket, STAMPS_BYTES);
        set.map_err(|error| unusable("no room for timestamps of packets to", to, &error.into()))?;
    }
    Ok(socket)
}

fn estimate(
    configuration: &SendConfiguration,
    socket: UdpSocket,
    progress: &Arc<Mutex<Progress>>,
    stop: Stop,
) -> Result<Outcome, Failure> {
    let stopped = Outcome { ended: Ended::Stopped, prober: None, found: Found::Nothing };
    let asking = match Asking::connect(
        configuration.to,
        configuration.from.map(|from| from.0.ip()),
        configuration.nonce,
        stop,
    ) {
        Ok(asking) => asking,
        Err(_) if stop.is_requested() => return Ok(stopped),
        Err(failure) => return Err(failure),
    };
    let allowed = Allowed {
        bytes: configuration.largest_ip_bytes,
        patience: span(configuration.patience_ns),
    };
    let flight = Flight::new(socket, configuration.nonce, stop);
    let mut prober = Box::new(Prober::new(flight, asking, allowed, stop, Arc::clone(progress)));
    let (ended, found) = match measure(&configuration.estimator, &mut prober) {
        Ok(both) => both,
        Err(Halt::Ended(ended)) => (ended, Found::Nothing),
        Err(Halt::Failed(failure)) => return Err(failure),
    };
    Ok(Outcome { ended, prober: Some(prober), found })
}

fn measure(estimator: &Estimator, prober: &mut Prober) -> Result<(Ended, Found), Halt> {
    let round_trip: Span = prober.measure_round_trip()?;
    match estimator {
        Estimator::Pathload(options) => {
            let mut settings = options.settings(round_trip);
            let limits = &mut settings.limits;
            (limits.header_bytes, limits.largest_payload) =
                (prober.flight.header_bytes, prober.sound(limits.largest_payload)?);
            limits.least_payload = limits.least_payload.min(limits.largest_payload);
            let (ended, report) = prober.pathload(settings).map_err(Halt::Failed)?;
            Ok((ended, Found::Interval(report)))
        }
        Estimator::PathChirp(options) => {
            let mut settings = options.settings();
            settings.payload = prober.sound(settings.payload)?;
            let payload = settings.payload;
            let (ended, chirped) =
                prober.pathchirp(settings, options.duration()).map_err(Halt::Failed)?;
            Ok((ended, Found::Series(chirped, payload)))
        }
    }
}
