//! The verb `probe`: sends test packets to a session-reflector, and reports what became of each.
//!
//! Every probe is a row: its four timestamps and what follows from them, in the order of sending.
//! Negative delays are kept: they show that the clocks differ. The report has the counts, by
//! direction where the reflector counts its packets; the delays of the last 65,536 answered probes;
//! and the clock offset.

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use serde::{Deserialize, Serialize};
use trustbed_probe::{ProbeSchedule, ProbeSpacing, STAMP_BASE_BYTES, STAMP_LARGEST_BYTES};
use trustbed_units::Span;

use super::probe_loop::Prober;
use super::{Timestamps, probe_report};
use crate::session::workers::{self, span};
use crate::session::{Failure, Session};
use crate::sys::clock::{self, Granted, Priority};
use crate::sys::socket::{self, unusable};
use crate::sys::timestamping;
use crate::traffic::send::Origin;

/// Faster probes are traffic.
const SHORTEST_GAP: Span = Span::from_micros(100);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Configuration {
    /// The session-reflector; its port is 862 in RFC 8762.
    pub(super) to: SocketAddr,
    /// The address to send from, perhaps with a port; the kernel chooses by default.
    from: Option<Origin>,
    #[serde(default)]
    pub(super) spacing: Spacing,
    /// Between probes, on average.
    #[serde(default = "mean_gap_ns")]
    pub(super) mean_gap_ns: u64,
    /// Of the schedule.
    #[serde(default)]
    pub(super) seed: u64,
    /// Probes due then or later are not sent. Without it and without a count it continues until
    /// stop is requested.
    duration_ns: Option<u64>,
    /// So many are sent at most.
    count: Option<u64>,
    /// Of each probe.
    #[serde(default = "payload_bytes")]
    pub(super) payload_bytes: usize,
    /// The number of the session (RFC 8972: SSID); none by default.
    #[serde(default)]
    pub(super) session: u16,
    #[serde(default)]
    pub(super) timestamps: Timestamps,
    /// A probe without an answer for so long is lost.
    #[serde(default = "give_up_ns")]
    pub(super) give_up_ns: u64,
    /// Whether the reflector counts its packets; seen on its own by default.
    pub(super) reflector_is_stateful: Option<bool>,
    /// Where every probe is written down. Nowhere by default.
    rows: Option<PathBuf>,
    #[serde(default)]
    priority: Priority,
}

/// How probes follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Spacing {
    #[default]
    Poisson,
    Periodic,
}

/// That of OWAMP: RFC 4656, section 3.6, as `owping` has it.
const fn mean_gap_ns() -> u64 {
    100_000_000
}

const fn payload_bytes() -> usize {
    STAMP_BASE_BYTES
}

const fn give_up_ns() -> u64 {
    5_000_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    from: Option<SocketAddr>,
    to: SocketAddr,
    #[serde(flatten)]
    granted: Granted,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    sent_probes: u64,
    answered_probes: u64,
}

/// Counts so far, for progress events.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) sent: AtomicU64,
    pub(super) answered: AtomicU64,
}

/// When probes are sent, and how many.
pub(super) type Dues = Box<dyn Iterator<Item = Span> + Send>;

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    let dues = dues(&configuration)?;
    let socket = open(&configuration)?;
    let from = socket.local_addr().ok();
    let rows = configuration.rows.as_deref().map(probe_report::create).transpose()?;
    let (counters, stop) = (Arc::<Counters>::default(), session.stop());
    let (to, priority) = (configuration.to, configuration.priority);
    let mut prober = Prober::new(&configuration, socket, rows, Arc::clone(&counters));
    let (granted_sender, granted) = mpsc::channel();
    let (start_sender, start) = mpsc::channel();
    let thread = workers::spawn("probe", move || {
        let _ = granted_sender.send(clock::take_priority(priority));
        if let Ok(start) = start.recv() {
            prober.probe(&start, dues, stop);
        }
        prober
    })?;
    let granted = granted.recv().unwrap_or(Granted {
        priority: Priority::Normal,
        priority_refused: Some("its thread ended".to_owned()),
    });
    session.ready(&ReadyBody { from, to, granted })?;
    let begun = workers::wait_for_start(session)?;
    let outcome = if let Some(start) = begun {
        // If the thread has ended, joining it reports so.
        let _ = start_sender.send(start);
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let progress = || ProgressBody {
            sent_probes: read(&counters.sent),
            answered_probes: read(&counters.answered),
        };
        workers::supervise(session, || thread.is_finished(), progress)
    } else {
        drop(start_sender);
        Ok(())
    };
    stop.request();
    let prober = workers::join("probe", thread)?;
    outcome?;
    session.report(&prober.report(&configuration, from, begun))
}

/// The schedule, if it is one.
fn dues(configuration: &Configuration) -> Result<Dues, Failure> {
    let gap = span(configuration.mean_gap_ns);
    if gap < SHORTEST_GAP {
        let message = format!("mean_gap_ns: {} between probes", gap.0);
        return Err(Failure::configuration(message, format!("give {} or more", SHORTEST_GAP.0)));
    }
    let bytes = configuration.payload_bytes;
    if !(STAMP_BASE_BYTES..=STAMP_LARGEST_BYTES).contains(&bytes) {
        let message = format!("payload_bytes: {bytes}");
        return Err(Failure::configuration(
            message,
            format!("give from {STAMP_BASE_BYTES} to {STAMP_LARGEST_BYTES}"),
        ));
    }
    let spacing = match configuration.spacing {
        Spacing::Poisson => ProbeSpacing::Poisson,
        Spacing::Periodic => ProbeSpacing::Periodic,
    };
    let schedule = ProbeSchedule::new(spacing, gap, configuration.seed);
    let schedule = schedule
        .map_err(|error| Failure::configuration(error.to_string(), "give a gap above 0"))?;
    let end = configuration.duration_ns.map_or(Span::MAX, span);
    let count = usize::try_from(configuration.count.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    Ok(Box::new(schedule.take_while(move |due| *due < end).take(count)))
}

fn open(configuration: &Configuration) -> Result<UdpSocket, Failure> {
    let to = configuration.to;
    let socket = socket::datagrams_to(to, configuration.from.map(|from| from.0), None)?;
    timestamping::stamp_datagrams(&socket, true)
        .map_err(|error| unusable("no timestamps of packets to", to, &error))?;
    Ok(socket)
}
