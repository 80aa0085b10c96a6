//! The sending side of a round: opens its connections at the start, a thread for each.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::PIECE;
use super::declared::{self, ByRole, Connection, Nonce, Role};
use super::rows::{Close, Row};
use super::sender::Sender;
use crate::session::workers::{self, Start, Worker, span};
use crate::session::{Failure, Session};
use crate::sys::open_streams::OpenStreams;
use crate::sys::socket::{self, TcpOptions};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendConfiguration {
    /// Where connections come from: the address that is measured.
    from: IpAddr,
    /// Where they go, by role.
    to: ByRole<Option<SocketAddr>>,
    round: u64,
    nonce: Nonce,
    connections: Vec<Connection>,
    #[serde(default)]
    order: Order,
    /// `SO_SNDBUF`, by role. The kernel tunes the size itself by default.
    #[serde(default)]
    send_buffer_bytes: ByRole<Option<u32>>,
    #[serde(default)]
    tcp: TcpOptions,
    /// Of each connection: it is not written faster. No limit by default.
    rate_bits_per_second: Option<u64>,
    #[serde(default = "connect_timeout_ns")]
    connect_timeout_ns: u64,
    /// How long after it was connected a connection may be answered: a little longer than the
    /// receiver waits, so that its answer arrives.
    #[serde(default = "transfer_timeout_ns")]
    transfer_timeout_ns: u64,
}

/// When connections are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// All at the start.
    #[default]
    Concurrent,
    /// Of each pair the probe at the start, and the data when it has ended.
    Sequential,
}

const fn connect_timeout_ns() -> u64 {
    10_000_000_000
}

const fn transfer_timeout_ns() -> u64 {
    310_000_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    to: ByRole<Option<SocketAddr>>,
    connections: usize,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    payload_bytes: u64,
    open_connections: usize,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    round: u64,
    order: Order,
    /// Between the first and the last of the connections that begin with the start.
    opening_spread_ns: Option<i64>,
    /// In the order of the configuration.
    connections: Vec<Row>,
    /// Whether any of them failed.
    partial: bool,
}

/// Connections of one thread, one after the other, each with its index in the configuration.
type Chain = Vec<(usize, Connection)>;
/// Its thread; its rows, each with its index.
type ChainWorker = Worker<Vec<(usize, Row)>>;

/// Runs the sending side.
pub(super) fn run(session: &Session, configuration: SendConfiguration) -> Result<(), Failure> {
    let options = check(&configuration)?;
    socket::allow_many_files();
    let chains = chains(&configuration.connections, configuration.order);
    let first: Vec<usize> =
        chains.iter().filter_map(|chain| chain.first()).map(|(number, _)| *number).collect();
    let (round, order, to, connections) =
        (configuration.round, configuration.order, configuration.to, configuration.connections);
    session.ready(&ReadyBody { to, connections: connections.len() })?;
    let mut rows: Vec<Row> = connections
        .iter()
        .map(|one| Row::new(one, Close::Stopped, "stop was requested before it began"))
        .collect();
    let report = |start: Option<Start>, rows: Vec<Row>| Report {
        start_ns: start.map(|start| start.realtime.0),
        round,
        order,
        opening_spread_ns: spread(&rows, &first),
        partial: rows.iter().any(|row| row.failed),
        connections: rows,
    };
    let Some(start) = workers::wait_for_start(session)? else {
        return session.report(&report(None, rows));
    };
    let sender = Arc::new(Sender {
        round,
        nonce: configuration.nonce,
        from: configuration.from,
        to,
        options,
        rate_bits_per_second: configuration.rate_bits_per_second,
        connect_timeout: span(configuration.connect_timeout_ns),
        transfer_timeout: span(configuration.transfer_timeout_ns),
        payload: vec![0x5a; PIECE],
        open: OpenStreams::default(),
        written: AtomicU64::new(0),
        stop: session.stop(),
    });
    let running = Arc::new(AtomicUsize::new(chains.len()));
    let outcome = spawn_all(&sender, &running, chains, start).map(|threads| {
        let progress = || ProgressBody {
            payload_bytes: sender.written.load(Ordering::Relaxed),
            open_connections: sender.open.count(),
        };
        let outcome =
            workers::supervise(session, || running.load(Ordering::Acquire) == 0, progress);
        (threads, outcome)
    });
    // Threads that still wait return now.
    sender.stop.request();
    sender.open.end();
    let (threads, outcome) = outcome?;
    for thread in threads {
        for (number, row) in workers::join("pair", thread)? {
            if let Some(place) = rows.get_mut(number) {
                *place = row;
            }
        }
    }
    outcome?;
    session.report(&report(Some(start), rows))
}

/// Refuses impossible configurations before anything begins; the options of each role.
fn check(configuration: &SendConfiguration) -> Result<ByRole<TcpOptions>, Failure> {
    declared::check(&configuration.connections)?;
    declared::check_rate(configuration.rate_bits_per_second)?;
    declared::check_address("from", configuration.from)?;
    if configuration.tcp.send_buffer_bytes.is_some() {
        let message = "tcp: send_buffer_bytes is the same for probes and data";
        return Err(Failure::configuration(
            message,
            r#"as in {"send_buffer_bytes": {"probe": 16384, "data": 65536}}"#,
        ));
    }
    let options = |role| TcpOptions {
        send_buffer_bytes: *configuration.send_buffer_bytes.of(role),
        ..configuration.tcp.clone()
    };
    let options = ByRole { probe: options(Role::Probe), data: options(Role::Data) };
    for one in &configuration.connections {
        let Some(to) = configuration.to.of(one.role) else {
            let message = format!("to: pair {} has no port to go to for its role", one.pair);
            return Err(Failure::configuration(
                message,
                r#"give what the receiver calls "listening""#,
            ));
        };
        drop(options.of(one.role).socket(*to, Some(SocketAddr::new(configuration.from, 0)))?);
    }
    Ok(options)
}

/// What each thread does.
fn chains(connections: &[Connection], order: Order) -> Vec<Chain> {
    let all = connections.iter().copied().enumerate();
    match order {
        Order::Concurrent => all.map(|one| vec![one]).collect(),
        Order::Sequential => {
            let mut pairs: BTreeMap<u32, Chain> = BTreeMap::new();
            all.for_each(|one| pairs.entry(one.1.pair).or_default().push(one));
            for pair in pairs.values_mut() {
                pair.sort_unstable_by_key(|(_, one)| one.role);
            }
            pairs.into_values().collect()
        }
    }
}

/// Decrements the count when it is dropped, however its thread ends.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// A thread for each chain. Each waits for the start itself, so that all are ready then.
fn spawn_all(
    sender: &Arc<Sender>,
    running: &Arc<AtomicUsize>,
    chains: Vec<Chain>,
    start: Start,
) -> Result<Vec<ChainWorker>, Failure> {
    let spawn = |chain: Chain| {
        let (sender, running) = (Arc::clone(sender), Running(Arc::clone(running)));
        workers::spawn("pair", move || {
            let _running = running;
            // After a stop before the start nothing begins.
            let _ = sender.stop.wait_until(start.monotonic);
            let begins = chain.into_iter().take_while(|_| !sender.stop.is_requested());
            begins
                .map(|(number, declared)| (number, sender.send(number, &declared, &start)))
                .collect()
        })
    };
    chains.into_iter().map(spawn).collect()
}

/// Between the first and the last of the moments when these began.
fn spread(rows: &[Row], which: &[usize]) -> Option<i64> {
    let moments = which.iter().filter_map(|number| rows.get(*number)?.begun_ns);
    let (first, last) = (moments.clone().min()?, moments.max()?);
    Some(last - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_sequence_a_probe_precedes_its_data_and_concurrently_all_begin_at_once() {
        let one = |pair, role| Connection { pair, role, bytes: 1 };
        let all =
            [one(9, Role::Data), one(2, Role::Data), one(9, Role::Probe), one(5, Role::Probe)];
        let places = |order| {
            chains(&all, order)
                .iter()
                .map(|chain| chain.iter().map(|(number, _)| *number).collect())
                .collect::<Vec<Vec<_>>>()
        };
        assert_eq!(places(Order::Sequential), [vec![1], vec![3], vec![2, 0]]);
        assert_eq!(places(Order::Concurrent), [[0], [1], [2], [3]]);
    }

    #[test]
    fn the_opening_spread_covers_connections_that_began_at_the_start() {
        let declared = Connection { pair: 0, role: Role::Probe, bytes: 1 };
        let row = |begun_ns| Row { begun_ns, ..Row::new(&declared, Close::Stopped, "") };
        let rows = [row(Some(500)), row(Some(-20)), row(None), row(Some(9_000))];
        assert_eq!(
            (spread(&rows, &[0, 1, 2]), spread(&rows, &[2]), spread(&rows, &[3])),
            (Some(520), None, Some(0))
        );
    }
}
