//! The verb `emulate`: forwards packets between interfaces through a network of pipes.
//!
//! Each host of the topology lies behind one interface, usually one end of a veth pair. An incoming
//! packet is timestamped by the kernel, handed to `trustbed-emulate`, and sent to its destination's
//! interface when the network schedules it; the departure error is part of the report, and of the
//! ledger for every packet.
//!
//! Links see packets as in a capture: with Ethernet header, without checksum. Hosts have static
//! neighbour entries: anything but IPv4 or IPv6 to one host is counted by reason and not forwarded.
//! Pipes model wires: the TTL stays. Frames that offloading made longer than the MTU are counted
//! (`oversized`) and not forwarded either: no wire would take them.
//!
//! Links may change over time: outages, delay steps. Those times count from the start, or from a
//! moment that the controller sends later (`"times": "on_command"`).
//!
//! One thread forwards, with real-time priority where permitted, while no processor halts; one
//! writes the ledger, one each capture at a router; one serves the session.

mod configuration;
mod error;
mod frame;
mod kernel;
mod ledger;
mod mover;
mod port;
mod report;
mod tap;
mod timeline;
mod times;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use trustbed_emulate::{Network, Topology};
use trustbed_units::{Ns, Span};

use crate::session::{Command, Failure, Session, Stop};
use crate::sys::clock;
use crate::sys::idle;
use configuration::{Configuration, Detail};
use error::EmulatorError;
use ledger::Recorder;
use mover::{Mover, Published};
use report::{Own, Progress, Ready, ReadyPort, Report, Started};
use tap::Taps;
use times::TimesBegin;

/// The interval of progress events.
const PROGRESS: Duration = Duration::from_secs(1);

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    let (published, stop) = (Arc::new(Published::default()), session.stop());
    let (ready_sender, ready_receiver) = sync_channel(1);
    let (start, started) = sync_channel(1);
    let shared = Arc::clone(&published);
    let times = configuration.times;
    let moving = thread::Builder::new()
        .name("mover".to_owned())
        .spawn(move || {
            // When forwarding ends, for any reason, the verb stops.
            let _ended = stop.when_dropped();
            move_packets(&configuration, shared, &ready_sender, &started, stop)
        })
        .map_err(|source| EmulatorError::System { step: "start a thread", source })?;
    let ended = match ready_receiver.recv() {
        Ok(ready) => {
            session.ready(&ready).and_then(|()| converse(session, &published, &start, times))
        }
        // It ended before it was ready; its result has the reason.
        Err(_) => Ok(()),
    };
    stop.request();
    drop(start);
    let report = moving.join().map_err(|_| {
        Failure::running(
            "the moving thread ended",
            "this is an error of trustbed: please report it",
        )
    })??;
    ended?;
    report.map_or(Ok(()), |report| session.report(&report))
}

/// Waits for the start and then for the stop, and reports progress.
fn converse(
    session: &Session,
    published: &Published,
    start: &SyncSender<Option<Ns>>,
    mut times: TimesBegin,
) -> Result<(), Failure> {
    let Some(requested) = session.wait_for_start()? else { return Ok(()) };
    // The thread waits for nothing else, and the channel has room for one.
    let _ = start.send(requested.at);
    session.started(&Started { at_ns: requested.at.unwrap_or_else(clock::realtime).0 })?;
    let read = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed);
    loop {
        match session.next(PROGRESS)? {
            Some(Command::Stop) => return Ok(()),
            Some(Command::Start { .. }) => {
                return Err(Failure::configuration(
                    "the emulator has been started already",
                    "send {\"do\":\"start\"} once",
                ));
            }
            Some(Command::Times { at }) => {
                if std::mem::take(&mut times) == TimesBegin::Start {
                    return Err(EmulatorError::TimesBegun.into());
                }
                published.times.set(at);
            }
            None => session.progress(&Progress {
                received_packets: read(&published.received),
                sent_packets: read(&published.sent),
                refused_packets: read(&published.refused),
                lost_records: read(&published.lost_records),
            })?,
        }
    }
}

/// Everything that the moving thread does; nothing comes of it when it was never started.
fn move_packets(
    configuration: &Configuration,
    published: Arc<Published>,
    ready_sender: &SyncSender<Ready>,
    started: &Receiver<Option<Ns>>,
    stop: Stop,
) -> Result<Option<Report>, EmulatorError> {
    let (mut mover, taps) = prepare(configuration, published)?;
    let idle = idle::request(configuration.idle);
    let ready = Ready {
        verb: "emulate",
        agent_version: env!("CARGO_PKG_VERSION"),
        process: std::process::id(),
        seed: configuration.seed,
        granted: mover.granted.clone(),
        idle: idle.granted.clone(),
        ports: mover.ports.iter().map(ready_port).collect(),
    };
    // Fails only if the other thread has ended, which then starts nothing.
    let _ = ready_sender.send(ready);
    let Ok(at) = started.recv() else { return Ok(None) };
    let (begun, used) = (clock::monotonic(), clock::thread_time());
    mover.run(at, stop)?;
    let (duration, processor) = (clock::monotonic() - begun, clock::thread_time() - used);
    let own = Own::new(&mover, idle.granted, duration, processor);
    Ok(Some(finish(mover, taps, duration, own)))
}

fn prepare(
    configuration: &Configuration,
    published: Arc<Published>,
) -> Result<(Mover, Taps), EmulatorError> {
    let topology = Topology::new(&configuration.topology)?;
    let plans = configuration::plan(&configuration.ports, &topology)?;
    let opened: Vec<_> = plans.iter().map(port::open).collect::<Result<_, _>>()?;
    let recorder = match &configuration.ledger {
        Some(ledger) if ledger.detail == Detail::Packets => {
            Recorder::create(&ledger.path, &topology, configuration.seed)?
        }
        _ => Recorder::nowhere(),
    };
    let mut network = Network::new(&topology, configuration.seed, recorder)?;
    if configuration.times == TimesBegin::OnCommand {
        network.hold_times();
    }
    let taps = Taps::open(&configuration.taps, &mut network)?;
    // The threads of the ledger, of captures and of the conversation are there already: they do not
    // inherit the priority.
    let granted = clock::take_priority_of(configuration.priority, clock::EMULATOR_PRIORITY);
    Ok((Mover::new(network, opened.into_iter().unzip(), granted, published), taps))
}

fn ready_port(port: &port::Port) -> ReadyPort {
    ReadyPort {
        host: port.counts.host.clone(),
        interface: port.counts.interface.clone(),
        mtu_bytes: port.mtu,
        receive_buffer_bytes: port.counts.receive_buffer_bytes,
    }
}

fn finish(mut mover: Mover, taps: Taps, duration: Span, own: Own) -> Report {
    // From here on nothing is in a hurry, and others should run.
    let _ = crate::sys::kernel::schedule_normal();
    mover.network.close();
    for (socket, port) in mover.sockets.iter().zip(&mut mover.ports) {
        match socket.counts() {
            Ok(counts) => port.counts.add(counts),
            Err(error) => port.counts.refused_by_kernel("count", &error),
        }
    }
    let summary = mover.network.summary();
    let ports = mover.ports.into_iter().map(|port| port.counts).collect();
    let ledger = mover.network.into_ledger().finish();
    Report { duration_ns: duration.0, summary, ports, ledger, taps: taps.finish(), own }
}
