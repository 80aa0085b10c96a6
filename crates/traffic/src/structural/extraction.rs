//! Connections as a capture showed them → sessions, exchanges, connections, pairs and hosts,
//! without addresses.
//!
//! Memory: what was said in a million connections, four million pairs of it at most; the capture
//! may be of any length, and later connections are counted.
//!
//! Bias: clients are left of the link and servers right of it. A host that is both is two hosts.

use std::collections::{BTreeMap, HashMap};

use trustbed_units::{Ns, Span};

use super::hosts::share;
use super::{Content, HostLink, Observed, group};

/// Connections that are kept.
const MOST: usize = 1_000_000;
/// Pairs, bursts and flows of datagrams that are kept, of all connections.
const MOST_UNITS: usize = 4_000_000;

/// Gaps that separate, in traffic of a client and a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// A gap of at least this begins a session.
    pub session: Span,
    /// A gap of at least this begins an exchange.
    pub exchange: Span,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { session: Span::from_secs(300), exchange: Span::from_secs(30) }
    }
}

/// A class of applications: by protocol and the server's port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    /// What it is called.
    pub name: String,
    /// Protocol of IP: 6 or 17.
    pub protocol: u8,
    /// Ports of servers; the first is the one on which generated servers listen. Empty: all ports
    /// that no other class of the protocol has.
    pub ports: Vec<u16>,
}

/// The classes that connections are sorted into.
#[derive(Debug, Clone)]
pub struct Classes {
    all: Vec<Class>,
    by_port: HashMap<(u8, u16), usize>,
    other: HashMap<u8, usize>,
}

impl Classes {
    /// Classes; the first that has a port, gets it.
    pub fn new(all: Vec<Class>) -> Self {
        let mut by_port = HashMap::new();
        let mut other = HashMap::new();
        for (number, class) in all.iter().enumerate() {
            for port in &class.ports {
                by_port.entry((class.protocol, *port)).or_insert(number);
            }
            if class.ports.is_empty() {
                other.entry(class.protocol).or_insert(number);
            }
        }
        Self { all, by_port, other }
    }

    /// In their order.
    pub fn all(&self) -> &[Class] {
        &self.all
    }

    /// The class of a connection; none where no class takes it.
    pub fn of(&self, protocol: u8, port: u16) -> Option<usize> {
        self.by_port.get(&(protocol, port)).or_else(|| self.other.get(&protocol)).copied()
    }
}

/// The share that a connection lost of all packets that are sent again when they are lost: its
/// data, and one each to open and to close it.
fn of_all([data, lost]: [u64; 2]) -> Option<f64> {
    share([data + if data > 0 { 2 } else { 0 }, lost])
}

/// A host: its address, and whether it is meant as a server.
type Address = ([u8; 16], bool);

/// Takes connections in any order; [`finish`](Self::finish) puts them in order.
#[derive(Debug)]
pub struct Extraction {
    classes: Classes,
    thresholds: Thresholds,
    kept: Vec<(usize, Observed)>,
    units: usize,
    hosts: HashMap<Address, HostLink>,
    /// Connections that no class takes.
    pub unclassed: u64,
    /// Connections without any data.
    pub silent: u64,
    /// Connections beyond the million that are kept, or beyond what they may say.
    pub left_out: u64,
}

/// A connection in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractedConnection {
    /// Number of its class.
    pub class: usize,
    /// Number of its session, over all classes, in the order of their starts within a class.
    pub session: u64,
    /// Number of its exchange within the session, from 0.
    pub exchange: u64,
    /// For the first connection of an exchange: from the end of the exchange before; none in the
    /// first exchange of a session.
    pub exchange_gap: Option<Span>,
    /// For a later connection of an exchange: from the start of the one before.
    pub start_gap: Option<Span>,
    /// Its start, after the first packet of all.
    pub start: Span,
    /// To its last data.
    pub duration: Span,
    /// Numbers of its hosts.
    pub client: u64,
    /// Likewise.
    pub server: u64,
    /// As in [`Observed`].
    pub partial: bool,
    /// As in [`Observed`].
    pub incomplete: bool,
    /// As in [`Observed`].
    pub packet_bytes: [u32; 2],
    /// As in [`Observed`].
    pub window_bytes: [u32; 2],
    /// From the link to the client and back, and to the server, by its handshake.
    pub round_trips: [Option<Span>; 2],
    /// Shares of the server's packets that were lost before the link and, of those for it, behind
    /// it; none without any data.
    pub server_losses: [Option<f64>; 2],
    /// What was said.
    pub content: Content,
}

/// What was learned.
#[derive(Debug)]
pub struct Extracted {
    /// By class, session, exchange, start.
    pub connections: Vec<ExtractedConnection>,
    /// Clients, then servers: whether it is a server, and its link. Numbers of hosts are indices.
    pub hosts: Vec<(bool, HostLink)>,
    /// The classes.
    pub classes: Vec<Class>,
    /// From the first packet of all to the last data.
    pub duration: Span,
}

impl Extraction {
    /// Nothing yet.
    pub fn new(classes: Classes, thresholds: Thresholds) -> Self {
        Self {
            classes,
            thresholds,
            kept: Vec::new(),
            units: 0,
            hosts: HashMap::new(),
            unclassed: 0,
            silent: 0,
            left_out: 0,
        }
    }

    /// A connection.
    pub fn add(&mut self, mut connection: Observed) {
        let Some(class) = self.classes.of(connection.protocol, connection.port) else {
            self.unclassed += 1;
            return;
        };
        if connection.content.bytes() == [0, 0] {
            self.silent += 1;
            return;
        }
        let units = self.units + connection.content.units();
        if self.kept.len() >= MOST || units > MOST_UNITS {
            self.left_out += 1;
            return;
        }
        self.units = units;
        let [client, server] = &connection.links;
        self.hosts.entry((connection.client, false)).or_default().add(client);
        self.hosts.entry((connection.server, true)).or_default().add(server);
        for link in &mut connection.links {
            // Rates of pairs are the host's now: kept of every connection, they are most of it.
            (link.toward, link.from) = (Vec::new(), Vec::new());
        }
        self.kept.push((class, connection));
    }

    /// Everything in its place; none without a connection that carried data.
    pub fn finish(mut self) -> Option<Extracted> {
        let first = self.kept.iter().map(|(_, one)| one.start).min()?;
        let last = self.kept.iter().map(|(_, one)| one.end).max()?;
        // Addresses decide nothing: hosts are numbered in the order in which they are first seen.
        self.kept.sort_by_key(|(class, one)| (one.start, *class, one.client, one.server, one.port));
        let (numbers, hosts) = self.numbered();
        let mut places = self.places();
        let mut connections = Vec::with_capacity(self.kept.len());
        let mut order: Vec<usize> = (0..self.kept.len()).collect();
        order.sort_by_key(|&at| {
            let place = &places[at];
            (self.kept[at].0, place.session, place.exchange, self.kept[at].1.start, at)
        });
        let mut before: Option<(u64, u64, Ns)> = None;
        for at in order {
            let place = std::mem::take(&mut places[at]);
            let (class, one) = &mut self.kept[at];
            let same = before.filter(|(session, exchange, _)| {
                (*session, *exchange) == (place.session, place.exchange)
            });
            connections.push(ExtractedConnection {
                class: *class,
                session: place.session,
                exchange: place.exchange,
                exchange_gap: place.gap.filter(|_| same.is_none() && place.exchange > 0),
                start_gap: same.map(|(_, _, start)| one.start - start),
                start: one.start - first,
                duration: (one.end - one.start).max(Span::ZERO),
                client: numbers[&(one.client, false)],
                server: numbers[&(one.server, true)],
                partial: one.partial,
                incomplete: one.incomplete,
                packet_bytes: one.packet_bytes,
                window_bytes: one.window_bytes,
                round_trips: [0, 1].map(|side: usize| one.links[side].round_trip),
                server_losses: [one.links[1].sent, one.links[1].received].map(of_all),
                content: std::mem::replace(&mut one.content, Content::Pairs(Vec::new())),
            });
            before = Some((place.session, place.exchange, self.kept[at].1.start));
        }
        let classes = self.classes.all;
        Some(Extracted { connections, hosts, classes, duration: last - first })
    }

    /// Numbers of the hosts, and their links in that order: clients first.
    fn numbered(&mut self) -> (HashMap<Address, u64>, Vec<(bool, HostLink)>) {
        let mut numbers = HashMap::new();
        let mut hosts = Vec::new();
        for server in [false, true] {
            for (_, one) in &self.kept {
                let key = (if server { one.server } else { one.client }, server);
                if numbers.contains_key(&key) {
                    continue;
                }
                numbers.insert(key, hosts.len() as u64);
                hosts.push((server, self.hosts.remove(&key).unwrap_or_default()));
            }
        }
        (numbers, hosts)
    }

    /// Sessions of every client and class, numbered in the order of their starts within a class.
    fn places(&self) -> Vec<Placed> {
        let mut by_client: BTreeMap<(usize, [u8; 16]), Vec<usize>> = BTreeMap::new();
        for (at, (class, one)) in self.kept.iter().enumerate() {
            by_client.entry((*class, one.client)).or_default().push(at);
        }
        let mut placed = vec![Placed::default(); self.kept.len()];
        // (class, start, the client's connections, which session of theirs)
        let mut sessions: Vec<(usize, Ns, Vec<usize>)> = Vec::new();
        for ((class, _), members) in by_client {
            let times: Vec<(Ns, Ns)> =
                members.iter().map(|&at| (self.kept[at].1.start, self.kept[at].1.end)).collect();
            let found = group(&times, self.thresholds.session, self.thresholds.exchange);
            let mut latest = None;
            for (at, place) in members.into_iter().zip(found) {
                if latest != Some(place.session) {
                    sessions.push((class, self.kept[at].1.start, Vec::new()));
                    latest = Some(place.session);
                }
                if let Some((_, _, members)) = sessions.last_mut() {
                    members.push(at);
                }
                placed[at] = Placed { session: 0, exchange: place.exchange as u64, gap: place.gap };
            }
        }
        sessions.sort_by_key(|(class, start, members)| (*class, *start, members[0]));
        for (number, (_, _, members)) in sessions.into_iter().enumerate() {
            for at in members {
                placed[at].session = number as u64;
            }
        }
        placed
    }
}

#[derive(Debug, Clone, Default)]
struct Placed {
    session: u64,
    exchange: u64,
    gap: Option<Span>,
}

#[cfg(test)]
mod tests {
    use super::super::{Link, Pair};
    use super::*;

    fn classes() -> Classes {
        let class = |name: &str, ports: &[u16]| Class {
            name: name.to_owned(),
            protocol: 6,
            ports: ports.to_vec(),
        };
        Classes::new(vec![class("HTTP", &[80, 8080]), class("TCP-OTHER", &[])])
    }

    fn one(client: u8, port: u16, (start, end): (i64, i64)) -> Observed {
        let address = |last| {
            let mut address = [0; 16];
            address[15] = last;
            address
        };
        Observed {
            start: Ns(start * 1_000_000_000),
            end: Ns(end * 1_000_000_000),
            client: address(client),
            server: address(200),
            port,
            protocol: 6,
            partial: false,
            incomplete: false,
            packet_bytes: [552, 1500],
            window_bytes: [0; 2],
            content: Content::Pairs(vec![Pair { request: 10, response: 20, ..Pair::default() }]),
            links: [Link::default(), Link::default()],
        }
    }

    #[test]
    fn connections_come_to_their_sessions_and_exchanges() {
        let mut extraction = Extraction::new(classes(), Thresholds::default());
        // The golden grouping, in another order, beside another client and another class.
        for times in [(500, 502), (60, 61), (0, 2), (20, 25), (1, 4)] {
            extraction.add(one(1, 80, times));
        }
        extraction.add(one(2, 8080, (30, 31)));
        extraction.add(one(1, 22, (10, 11)));
        let found = extraction.finish().unwrap();
        let seconds = |span: Option<Span>| span.map(|span| span.0 / 1_000_000_000);
        let rows: Vec<_> = found
            .connections
            .iter()
            .map(|c| {
                (
                    c.class,
                    c.session,
                    c.exchange,
                    seconds(c.exchange_gap),
                    seconds(c.start_gap),
                    c.client,
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                (0, 0, 0, None, None, 0),
                (0, 0, 0, None, Some(1), 0),
                (0, 0, 0, None, Some(19), 0),
                (0, 0, 1, Some(35), None, 0),
                (0, 1, 0, None, None, 1),
                (0, 2, 0, None, None, 0),
                (1, 3, 0, None, None, 0),
            ]
        );
        assert_eq!(found.hosts.len(), 3);
        assert_eq!(found.duration, Span::from_secs(502));
    }

    #[test]
    fn what_no_class_takes_or_says_nothing_is_counted() {
        let mut extraction = Extraction::new(classes(), Thresholds::default());
        extraction.add(Observed { protocol: 17, ..one(1, 53, (0, 1)) });
        extraction.add(Observed { content: Content::Pairs(Vec::new()), ..one(1, 80, (0, 1)) });
        assert_eq!((extraction.unclassed, extraction.silent), (1, 1));
        assert!(extraction.finish().is_none());
    }

    #[test]
    fn what_all_connections_say_is_bounded() {
        let mut extraction = Extraction::new(classes(), Thresholds::default());
        let pair = Pair { request: 1, response: 1, ..Pair::default() };
        let long =
            Observed { content: Content::Pairs(vec![pair; 1_500_000]), ..one(1, 80, (0, 9)) };
        extraction.add(long.clone());
        extraction.add(long.clone());
        extraction.add(long);
        extraction.add(one(1, 80, (9, 10)));
        assert_eq!(extraction.left_out, 1);
        assert_eq!(extraction.finish().unwrap().connections.len(), 3);
    }
}
