//! The verb `send`: background traffic of several sources from one process, on schedule.
//!
//! Times count from the start, so that nothing drifts; nothing leaves early. Every packet names its
//! source, number and departure time (`traffic::payload_header`). A packet that the socket refuses
//! is counted and not sent again; TCP queues at most a second's worth
//! ([`trustbed_traffic::Backlog`]). The report has the departure error: late packets are other
//! traffic than the requested one.
//!
//! The departure time is read just before the system call: a packet is on the network a few
//! microseconds later.

mod channel;
mod departures;
mod playback;
mod report;
mod schedule_loop;
mod source;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use serde::{Deserialize, Serialize};

use crate::session::workers::{self, Start};
use crate::session::{Failure, Session, Stop};
use crate::sys::clock::{self, Granted, Priority};
use crate::sys::idle::{self, Idle};
use crate::sys::socket;
use playback::Recordings;
use report::Report;
use schedule_loop::Sender;
pub(crate) use source::Origin;
use source::{Source, SourceConfiguration};

/// Sources that one process serves: as many as a timestamp can name.
const MOST_SOURCES: usize = 65_536;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    sources: Vec<SourceConfiguration>,
    /// What all senders and sinks of a run share. 0 by default.
    #[serde(default)]
    nonce: u16,
    /// The number of the first source, for runs with several senders. 0 by default.
    #[serde(default)]
    first_source: u16,
    #[serde(default)]
    priority: Priority,
    /// What idle processors do meanwhile.
    #[serde(default)]
    idle: Idle,
    /// Where every departure is written down: when it was due, when it left. Nowhere by default.
    departures: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct ReadyBody<'a> {
    sources: Vec<source::Opened<'a>>,
    #[serde(flatten)]
    granted: Granted,
    #[serde(flatten)]
    idle: &'a idle::Granted,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    offered_packets: u64,
    offered_ip_bytes: u64,
}

/// Offered so far, for progress events.
#[derive(Debug, Default)]
struct Offered {
    packets: AtomicU64,
    ip_bytes: AtomicU64,
}

impl Offered {
    fn add(&self, ip_bytes: u32) {
        // One thread writes: nothing can come between reading and writing.
        let more = |number: &AtomicU64, by: u64| {
            number.store(number.load(Ordering::Relaxed) + by, Ordering::Relaxed);
        };
        more(&self.packets, 1);
        more(&self.ip_bytes, ip_bytes.into());
    }
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    check(&configuration)?;
    socket::allow_many_files();
    let stop = session.stop();
    let mut recordings = Recordings::default();
    let mut sources = Vec::with_capacity(configuration.sources.len());
    for (number, source) in (configuration.first_source..=u16::MAX).zip(&configuration.sources) {
        let recording =
            recordings.of(&source.model, stop).map_err(|failure| failure.within(&source.name))?;
        sources.push(
            Source::open(source, number, configuration.nonce, recording, stop)
                .map_err(|failure| failure.within(&source.name))?,
        );
        if stop.is_requested() {
            return session.report(&Report::of(&sources, None, None));
        }
    }
    let departures = configuration.departures.as_deref().map(departures::create).transpose()?;
    let offered = Arc::new(Offered::default());
    let mut sender = Sender::new(sources, departures, Arc::clone(&offered), stop)?;
    // The thread that sends takes its priority before anything is promised.
    let (granted_sender, granted) = mpsc::channel();
    let (start_sender, start) = mpsc::channel();
    let priority = configuration.priority;
    let idle = idle::request(configuration.idle);
    let thread = workers::spawn("send", move || {
        let granted = clock::take_priority(priority);
        sender.on_priority(granted.priority);
        let _ = granted_sender.send(granted);
        if let Ok(start) = start.recv() {
            sender.send(start);
        }
        sender
    })?;
    let granted = granted.recv().unwrap_or(Granted {
        priority: Priority::Normal,
        priority_refused: Some("its thread ended".to_owned()),
    });
    let opened = configuration.sources.iter().map(source::Opened::of).collect();
    session.ready(&ReadyBody { sources: opened, granted, idle: &idle.granted })?;
    let begun = workers::wait_for_start(session)?;
    match begun {
        // If the thread has ended, joining it reports so.
        Some(start) => drop(start_sender.send(start)),
        None => drop(start_sender),
    }
    finish(session, thread, begun, &offered, stop)
}

fn finish(
    session: &Session,
    thread: workers::Worker<Sender>,
    begun: Option<Start>,
    offered: &Offered,
    stop: Stop,
) -> Result<(), Failure> {
    let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
    let progress = || ProgressBody {
        offered_packets: read(&offered.packets),
        offered_ip_bytes: read(&offered.ip_bytes),
    };
    let outcome = if begun.is_some() {
        workers::supervise(session, || thread.is_finished(), progress)
    } else {
        Ok(())
    };
    stop.request();
    let sender = workers::join("send", thread)?;
    outcome?;
    let short_sleeps = sender.short_sleeps();
    let (sources, departures) = sender.into_parts();
    session.report(&Report::of(&sources, begun, departures).with_short_sleeps(short_sleeps))
}

fn check(configuration: &Configuration) -> Result<(), Failure> {
    let count = configuration.sources.len();
    if count == 0 {
        return Err(Failure::configuration(
            "sources: there is nothing to send",
            r#"{"sources": [{"name": …, "transport": "udp", "to": …, "model": …}]}"#,
        ));
    }
    let room = MOST_SOURCES - usize::from(configuration.first_source);
    if count > room {
        let message = format!(
            "sources: {count} from number {} on do not fit into 16 bits",
            configuration.first_source
        );
        return Err(Failure::configuration(
            message,
            format!("give at most {room} here, and the others to another sender"),
        ));
    }
    Ok(())
}
