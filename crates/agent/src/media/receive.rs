//! The client of a stream: requests it, receives it, writes down every packet.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use super::reception::{Reception, ReceptionReport};
use super::stream::Stream;
use super::{Transport, rows, tcp, udp};
use crate::session::workers::{self, Start, span};
use crate::session::{Failure, Session, Stop};
use crate::sys::open_streams::OpenStreams;
use crate::sys::socket::{Granted, TcpOptions, datagrams_to};
use crate::traffic::send::Origin;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReceiveConfiguration {
    pub(super) transport: Transport,
    pub(super) to: SocketAddr,
    pub(super) from: Option<Origin>,
    media: Stream,
    /// How much media a player holds before it begins. It decides about deadlines only.
    #[serde(default)]
    buffer_ns: u64,
    /// Whether missing parts are reported; over UDP.
    #[serde(default)]
    repair: bool,
    /// How long the server may take to answer.
    #[serde(default = "ten_seconds")]
    pub(super) answer_timeout_ns: u64,
    /// Where every packet is written down. Nowhere by default.
    rows: Option<PathBuf>,
    #[serde(default)]
    pub(super) tcp: TcpOptions,
}

const fn ten_seconds() -> u64 {
    10_000_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    to: SocketAddr,
    transport: Transport,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    packets: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    transport: Transport,
    media: Stream,
    buffer_ns: u64,
    repair: bool,
    #[serde(flatten)]
    reception: Option<ReceptionReport>,
    /// Packets that were lost in the socket, not in the network; absent where it is not known.
    dropped_by_socket_packets: Option<u32>,
    #[serde(flatten)]
    granted: Option<Granted>,
    /// Why the stream could not be received to its end.
    error: Option<String>,
}

/// What the receiving thread needs.
pub(super) struct Receiving {
    pub(super) configuration: ReceiveConfiguration,
    pub(super) start: Start,
    pub(super) stop: Stop,
    /// The number of the stream.
    pub(super) number: u32,
    /// The connection, so that a stop ends it.
    pub(super) open: Arc<OpenStreams>,
    packets: Arc<AtomicU64>,
}

/// What the receiving thread found beside the packets.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) dropped: Option<u32>,
    pub(super) granted: Option<Granted>,
    pub(super) error: Option<String>,
}

impl Receiving {
    /// Has the session's progress state what has arrived.
    pub(super) fn on_progress(&self, reception: &Reception) {
        self.packets.store(reception.counts().packets, Ordering::Relaxed);
    }
}

/// Runs the client.
pub(super) fn run(session: &Session, configuration: ReceiveConfiguration) -> Result<(), Failure> {
    configuration.media.check()?;
    if configuration.repair && configuration.transport == Transport::Tcp {
        return Err(Failure::configuration(
            "repair: TCP retransmits what is lost itself",
            r#"leave it out, or choose "transport": "udp""#,
        ));
    }
    let (to, from) = (configuration.to, configuration.from.map(|origin| origin.0));
    // Wrong options or a wrong own address fail before anything begins.
    match configuration.transport {
        Transport::Udp => drop(datagrams_to(to, from, None)?),
        Transport::Tcp => drop(configuration.tcp.socket(to, from)?),
    }
    let mut rows = configuration.rows.as_deref().map(rows::create).transpose()?;
    session.ready(&ReadyBody { to, transport: configuration.transport })?;
    let begun = workers::wait_for_start(session)?;
    let mut report = Report {
        start_ns: begun.map(|start| start.realtime.0),
        end_ns: None,
        transport: configuration.transport,
        media: configuration.media,
        buffer_ns: configuration.buffer_ns,
        repair: configuration.repair,
        reception: None,
        dropped_by_socket_packets: None,
        granted: None,
        error: None,
    };
    let Some(start) = begun else { return session.report(&report) };
    let _ = session.stop().wait_until(start.monotonic);
    let (open, packets) = (Arc::new(OpenStreams::default()), Arc::new(AtomicU64::new(0)));
    let receiving = Receiving {
        start,
        stop: session.stop(),
        number: number_of(&start),
        open: Arc::clone(&open),
        packets: Arc::clone(&packets),
        configuration,
    };
    let rows = rows.take();
    let thread = workers::spawn("media", move || {
        let ReceiveConfiguration { transport, media, buffer_ns, repair, .. } =
            receiving.configuration;
        let mut reception = Reception::new(media, receiving.number, span(buffer_ns), repair, rows);
        let ended = match transport {
            Transport::Udp => udp::receive(&receiving, &mut reception),
            Transport::Tcp => tcp::receive(&receiving, &mut reception),
        };
        (ended, reception)
    })?;
    let outcome = workers::supervise(
        session,
        || thread.is_finished(),
        || ProgressBody { packets: packets.load(Ordering::Relaxed) },
    );
    let was_stopped = !thread.is_finished();
    open.end();
    let (ended, reception) = workers::join("media", thread)?;
    outcome?;
    let nothing = !reception.has_begun() && !was_stopped;
    report.end_ns = Some((start.realtime + start.elapsed()).0);
    report.reception = Some(reception.report());
    report.dropped_by_socket_packets = ended.dropped;
    report.granted = ended.granted;
    report.error = ended
        .error
        .filter(|_| !was_stopped)
        .or_else(|| nothing.then(|| "no packet of the stream arrived".to_owned()));
    session.report(&report)
}

/// A number that streams of the same server hardly share.
fn number_of(start: &Start) -> u32 {
    let [_, _, _, _, rest @ ..] = Span(start.realtime.0 / 1000).0.to_be_bytes();
    u32::from_be_bytes(rest)
}
