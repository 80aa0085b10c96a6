//! The sending side of a round: opens its connections at the start, a thread for each.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::declared::{self, ByRole, Connection, Nonce, Role};
use super::rows::{Close, Row};
use super::sender::Sender;
use crate::session::workers::{self, Start, span};
use crate::session::{Failure, Session};
use crate::sys::socket::{self, TcpOptions};
use crate::tcp::PIECE;
use crate::tcp::connections::Connections;

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
        payload: vec![0x5a; PIECE as usize],
        connections: Connections::new(session.stop()),
    });
    // Each waits for the start itself, so that all are ready then.
    let works = chains.into_iter().map(|chain| {
        let sender = Arc::clone(&sender);
        move || sender.send_chain(chain, &start)
    });
    for (number, row) in
        sender.connections.run_all(session, "pair", works, || ())?.into_iter().flatten()
    {
        if let Some(slot) = rows.get_mut(number) {
            *slot = row;
        }
    }
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

impl Sender {
    /// From the start on, one after the other; after a stop nothing begins. Rows with their
    /// indices.
    fn send_chain(&self, chain: Chain, start: &Start) -> Vec<(usize, Row)> {
        let stop = self.connections.stop;
        let _ = stop.wait_until(start.monotonic);
        let begins = chain.into_iter().take_while(|_| !stop.is_requested());
        begins.map(|(number, declared)| (number, self.send(number, &declared, start))).collect()
    }
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
        let numbers = |order| {
            chains(&all, order)
                .iter()
                .map(|chain| chain.iter().map(|(number, _)| *number).collect())
                .collect::<Vec<Vec<_>>>()
        };
        assert_eq!(numbers(Order::Sequential), [vec![1], vec![3], vec![2, 0]]);
        assert_eq!(numbers(Order::Concurrent), [[0], [1], [2], [3]]);
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
