//! The UDP half of the sink: a tally for each sender's socket.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use serde::Serialize;
use trustbed_traffic::Transport;

use super::room::Room;
use super::tally::{Tally, TallyReport};
use super::{Counted, Listening, MOST_SOURCES};
use crate::output::seconds::Seconds;
use crate::session::workers::Start;
use crate::sys::clock;
use crate::sys::socket;
use crate::traffic::payload_header::PayloadHeader;

/// Datagrams that are taken from one socket before another has its turn.
const TURN: usize = 256;
/// As much as UDP carries.
const LARGEST: usize = 65_536;

/// All UDP sockets and their counts.
pub(super) struct Datagrams {
    sockets: Vec<Receiving>,
    nonce: Option<u16>,
    sources: Vec<Source>,
    known: HashMap<(usize, SocketAddr), usize>,
    /// Of sources beyond the limit.
    left_out: u64,
    buffer: Vec<u8>,
    counted: Arc<Counted>,
}

struct Receiving {
    socket: UdpSocket,
    address: SocketAddr,
    /// Of another run, or of another program.
    foreign: u64,
    errors: u64,
    last_error: Option<String>,
}

struct Source {
    socket: usize,
    peer: SocketAddr,
    number: Option<u16>,
    tally: Tally,
    seconds: Seconds,
}

/// Counts over UDP.
#[derive(Debug, Serialize)]
pub(super) struct DatagramsReport {
    sockets: Vec<ReceivingReport>,
    sources: Vec<SourceReport>,
    /// Packets of sources beyond the limit, and of those that have no room in the report.
    packets_of_sources_left_out: u64,
}

#[derive(Debug, Serialize)]
struct ReceivingReport {
    #[serde(flatten)]
    listening: Listening,
    /// Lost here and not in the network; absent where the kernel does not report it.
    dropped_by_socket_packets: Option<u32>,
    foreign_packets: u64,
    receive_errors: u64,
    receive_error: Option<String>,
}

#[derive(Debug, Serialize)]
struct SourceReport {
    #[serde(flatten)]
    listening: Listening,
    peer: SocketAddr,
    source: Option<u16>,
    #[serde(flatten)]
    tally: TallyReport,
    payload_bytes_per_second: Seconds,
}

impl Datagrams {
    pub(super) fn new(
        sockets: Vec<UdpSocket>,
        nonce: Option<u16>,
        counted: Arc<Counted>,
    ) -> io::Result<Self> {
        let receiving = |socket: UdpSocket| {
            let address = socket.local_addr()?;
            Ok(Receiving { socket, address, foreign: 0, errors: 0, last_error: None })
        };
        let sockets = sockets.into_iter().map(receiving).collect::<io::Result<_>>()?;
        Ok(Self {
            sockets,
            nonce,
            sources: Vec::new(),
            known: HashMap::new(),
            left_out: 0,
            buffer: vec![0; LARGEST],
            counted,
        })
    }

    pub(super) fn sockets(&self) -> usize {
        self.sockets.len()
    }

    /// Takes what waits in a socket, as much as is its turn.
    pub(super) fn take(&mut self, number: usize, start: &Start) {
        for _ in 0..TURN {
            let Some(receiving) = self.sockets.get_mut(number) else { break };
            match receiving.socket.recv_from(&mut self.buffer) {
                Ok((length, peer)) => self.count(number, peer, length, start),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // The error concerns an earlier packet: the socket is still usable.
                    receiving.errors += 1;
                    receiving.last_error = Some(error.to_string());
                    break;
                }
            }
        }
    }

    fn count(&mut self, socket: usize, peer: SocketAddr, length: usize, start: &Start) {
        let now = clock::realtime();
        let stamp = PayloadHeader::read(self.buffer.get(..length).unwrap_or_default());
        if self.is_foreign(socket, peer, stamp) {
            if let Some(receiving) = self.sockets.get_mut(socket) {
                receiving.foreign += 1;
            }
            return;
        }
        let bytes = length as u64;
        self.counted.add(1, bytes);
        let Some(source) = self.source(socket, peer) else {
            self.left_out += 1;
            return;
        };
        source.number = source.number.or(stamp.map(|stamp| stamp.source));
        source.tally.on_packet(bytes, stamp, now);
        source.seconds.add(start.realtime, now, bytes);
    }

    /// Whether a datagram names another nonce, or none before its sender has named the right one.
    fn is_foreign(&self, socket: usize, peer: SocketAddr, stamp: Option<PayloadHeader>) -> bool {
        let Some(nonce) = self.nonce else { return false };
        match stamp {
            Some(stamp) => stamp.nonce != nonce,
            None => !self.known.contains_key(&(socket, peer)),
        }
    }

    fn source(&mut self, socket: usize, peer: SocketAddr) -> Option<&mut Source> {
        let index = match self.known.get(&(socket, peer)) {
            Some(index) => *index,
            None if self.sources.len() >= MOST_SOURCES => return None,
            None => {
                self.known.insert((socket, peer), self.sources.len());
                self.sources.push(Source {
                    socket,
                    peer,
                    number: None,
                    tally: Tally::new(),
                    seconds: Seconds::default(),
                });
                self.sources.len() - 1
            }
        };
        self.sources.get_mut(index)
    }

    /// Adds the amounts of each second.
    pub(super) fn add_to(&self, seconds: &mut Seconds) {
        self.sources.iter().for_each(|source| seconds.merge(&source.seconds));
    }

    pub(super) fn report(&self, room: &mut Room) -> DatagramsReport {
        let (mut sources, mut left_out) = (Vec::new(), self.left_out);
        for source in &self.sources {
            let Some(described) = self.describe(source) else { continue };
            if room.takes(&described) {
                sources.push(described);
            } else {
                left_out += described.tally.packets;
            }
        }
        DatagramsReport {
            sockets: self.sockets.iter().map(Receiving::report).collect(),
            sources,
            packets_of_sources_left_out: left_out,
        }
    }

    fn describe(&self, source: &Source) -> Option<SourceReport> {
        Some(SourceReport {
            listening: self.sockets.get(source.socket)?.listening(),
            peer: source.peer,
            source: source.number,
            tally: source.tally.report(),
            payload_bytes_per_second: source.seconds.clone(),
        })
    }
}

impl Receiving {
    fn listening(&self) -> Listening {
        Listening { transport: Transport::Udp, address: self.address }
    }

    fn report(&self) -> ReceivingReport {
        ReceivingReport {
            listening: self.listening(),
            dropped_by_socket_packets: socket::drops(&self.socket),
            foreign_packets: self.foreign,
            receive_errors: self.errors,
            receive_error: self.last_error.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::session::Started;

    #[test]
    fn a_report_of_the_most_sources_is_a_line_that_is_taken() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut datagrams = Datagrams::new(vec![socket], None, Arc::default()).unwrap();
        let start = Start::of(Started { at: None });
        let peers = u32::try_from(MOST_SOURCES).unwrap() + 1;
        for peer in 0..peers {
            let address = Ipv4Addr::from(0x7f00_0000 + peer);
            datagrams.count(0, SocketAddr::from((address, 9)), 8, &start);
        }
        let report = datagrams.report(&mut Room::default());
        let line = serde_json::to_string(&report).unwrap();
        assert!((11 << 20..13 << 20).contains(&line.len()), "{} bytes", line.len());
        let described = report.sources.len() as u64;
        assert!(described > 20_000, "{described} sources");
        assert_eq!(described + report.packets_of_sources_left_out, u64::from(peers));
    }
}
