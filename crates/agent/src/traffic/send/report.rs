//! The report of the senders.

use std::net::SocketAddr;

use serde::Serialize;
use trustbed_traffic::{
    BacklogCounts, Departure, DepartureError, DepartureErrorSummary, Release, Transport,
};
use trustbed_units::Span;

use super::channel::{Connected, Connection, Sent};
use super::source::Source;
use crate::output::rows::RowsWritten;
use crate::output::seconds::Seconds;
use crate::session::workers::Start;
use crate::sys::socket::{self, Granted};
use crate::sys::tcp_info::TcpInfo;

/// The whole of it.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    offered_packets: u64,
    offered_ip_bytes: u64,
    /// Of all sources together.
    offered_ip_bytes_per_second: Seconds,
    departure_error: DepartureErrorSummary,
    /// Whether any source was late: then what was sent is not what was requested.
    generator_late: bool,
    /// How often a sender with real-time priority slept only because it had left no time to others.
    short_sleeps: u64,
    sources: Vec<SourceReport>,
    departures: Option<RowsWritten>,
}

#[derive(Debug, Serialize)]
struct SourceReport {
    name: String,
    source: u16,
    transport: Transport,
    from: Option<SocketAddr>,
    to: SocketAddr,
    kind: &'static str,
    release: Release,
    seed: u64,
    offered_packets: u64,
    offered_ip_bytes: u64,
    offered_payload_bytes: u64,
    #[serde(flatten)]
    sent: Sent,
    first_due_ns: Option<i64>,
    last_due_ns: Option<i64>,
    last_late_ns: Option<i64>,
    /// Absent where packets have no times.
    departure_error: Option<DepartureErrorSummary>,
    playback: Option<trustbed_traffic::PlaybackCounts>,
    connection: Option<ConnectionReport>,
    offered_ip_bytes_per_second: Seconds,
}

#[derive(Debug, Serialize)]
struct ConnectionReport {
    #[serde(flatten)]
    backlog: BacklogCounts,
    /// How long after they were due writes were taken as a whole.
    taken: DepartureErrorSummary,
    broken: Option<String>,
    #[serde(flatten)]
    granted: Granted,
    tcp: Option<TcpInfo>,
}

impl Report {
    pub(super) fn of(
        sources: &[Source],
        start: Option<Start>,
        departures: Option<RowsWritten>,
    ) -> Self {
        let (mut departure_error, mut seconds) = (DepartureError::default(), Seconds::default());
        for source in sources {
            departure_error.merge(&source.departure_error);
            seconds.merge(&source.seconds);
        }
        Self {
            start_ns: start.map(|start| start.realtime.0),
            end_ns: start.map(|start| (start.realtime + start.elapsed()).0),
            offered_packets: sources.iter().map(|source| source.counts.packets).sum(),
            offered_ip_bytes: sources.iter().map(|source| source.counts.ip_bytes).sum(),
            offered_ip_bytes_per_second: seconds,
            departure_error: departure_error.summary(),
            generator_late: sources
                .iter()
                .any(|source| source.departure_error.summary().generator_late),
            short_sleeps: 0,
            sources: sources.iter().map(SourceReport::of).collect(),
            departures,
        }
    }
}

impl Report {
    /// The same, of a sender that slept so often.
    pub(super) fn with_short_sleeps(self, short_sleeps: u64) -> Self {
        Self { short_sleeps, ..self }
    }
}

impl SourceReport {
    fn of(source: &Source) -> Self {
        let counts = &source.counts;
        Self {
            name: source.name.clone(),
            source: source.number,
            transport: source.channel.transport(),
            from: source.channel.local_address(),
            to: source.to,
            kind: source.kind,
            release: source.release,
            seed: source.seed,
            offered_packets: counts.packets,
            offered_ip_bytes: counts.ip_bytes,
            offered_payload_bytes: counts.payload_bytes,
            sent: source.channel.sent.clone(),
            first_due_ns: counts.first_due.map(|due| due.0),
            last_due_ns: counts.last_due.map(|due| due.0),
            last_late_ns: counts.last_late.map(|late| late.0),
            departure_error: source.release.has_times().then(|| source.departure_error.summary()),
            playback: source.schedule.as_ref().and_then(trustbed_traffic::Schedule::playback),
            connection: ConnectionReport::of(&source.channel.socket),
            offered_ip_bytes_per_second: source.seconds.clone(),
        }
    }
}

impl ConnectionReport {
    fn of(socket: &Connected) -> Option<Self> {
        let Connected::Stream(connection) = socket else { return None };
        let Connection { stream, backlog, broken, .. } = &**connection;
        Some(Self {
            backlog: backlog.counts(),
            taken: backlog.delays().summary(),
            broken: broken.clone(),
            granted: socket::granted(stream),
            tcp: socket::tcp_info(stream),
        })
    }
}

impl Source {
    /// Counts a packet that fell due.
    pub(super) fn on_departure(&mut self, departure: Departure, elapsed: Span) {
        let counts = &mut self.counts;
        counts.packets += 1;
        counts.ip_bytes += u64::from(departure.length);
        counts.payload_bytes += u64::from(departure.payload);
        counts.first_due.get_or_insert(departure.due);
        counts.last_due = Some(departure.due);
        self.seconds.add_after(elapsed, departure.length.into());
        if self.release.has_times() {
            let late = elapsed - departure.due;
            self.departure_error.add(late);
            self.counts.last_late = Some(late);
        }
    }
}
