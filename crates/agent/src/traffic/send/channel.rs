//! The socket of a source, never blocking: datagrams that are sent or dropped, or a connection that
//! takes writes when it can.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};

use serde::Serialize;
use trustbed_traffic::{Backlog, Departure, Transport};
use trustbed_units::{Ns, Span};

use crate::session::Failure;
use crate::sys::socket::datagrams_to;
use crate::traffic::payload_header::PayloadHeader;

/// As much as an IP packet can hold.
const LARGEST: usize = 65_536;

/// The socket of a source.
pub(super) struct Channel {
    pub(super) socket: Connected,
    stamp: PayloadHeader,
    payload: Vec<u8>,
    pub(super) sent: Sent,
}

/// The socket itself.
pub(super) enum Connected {
    Datagrams(UdpSocket),
    Stream(Box<Connection>),
}

/// A connection, and what waits for it.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) backlog: Backlog,
    /// A part of the first write that waits was taken: what follows is its rest, and needs no
    /// timestamp.
    begun: bool,
    /// What ended the connection.
    pub(super) broken: Option<String>,
}

/// The fate of the packets.
#[expect(
    clippy::struct_field_names,
    reason = "outside, names carry what they are of and their unit"
)]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct Sent {
    /// Datagrams that the socket took; writes that the connection took as a whole.
    pub(super) sent_packets: u64,
    pub(super) sent_payload_bytes: u64,
    /// Datagrams that found no room in the host's queue.
    pub(super) no_room_packets: u64,
    /// Datagrams sent after a port-unreachable error.
    pub(super) unreachable_answers: u64,
    /// Datagrams that could not be sent for another reason, and the last one.
    pub(super) failed_packets: u64,
    pub(super) failure: Option<String>,
    /// Writes to a connection that had ended.
    pub(super) after_end_packets: u64,
}

/// What became of a packet that fell due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It left, or at least its socket has it.
    Sent,
    /// It waits until the connection can take it.
    Waits,
    /// It is not sent.
    Dropped,
}

impl Channel {
    pub(super) fn datagrams(
        to: SocketAddr,
        from: Option<SocketAddr>,
        buffer: Option<u32>,
        source: u16,
        nonce: u16,
    ) -> Result<Self, Failure> {
        Ok(Self::new(Connected::Datagrams(datagrams_to(to, from, buffer)?), source, nonce))
    }

    pub(super) fn stream(stream: TcpStream, source: u16, nonce: u16) -> Result<Self, Failure> {
        let set = stream.set_nonblocking(true);
        set.map_err(|error| {
            Failure::running(
                format!("the connection cannot be set up: {error}"),
                "see the message of the kernel",
            )
        })?;
        let stream = Connection { stream, backlog: Backlog::default(), begun: false, broken: None };
        Ok(Self::new(Connected::Stream(Box::new(stream)), source, nonce))
    }

    fn new(socket: Connected, source: u16, nonce: u16) -> Self {
        let stamp = PayloadHeader { nonce, source, sequence: 0, sent: None };
        Self { socket, stamp, payload: Vec::new(), sent: Sent::default() }
    }

    pub(super) fn transport(&self) -> Transport {
        match self.socket {
            Connected::Datagrams(_) => Transport::Udp,
            Connected::Stream(_) => Transport::Tcp,
        }
    }

    pub(super) fn local_address(&self) -> Option<SocketAddr> {
        match &self.socket {
            Connected::Datagrams(socket) => socket.local_addr().ok(),
            Connected::Stream(connection) => connection.stream.local_addr().ok(),
        }
    }

    /// The number that the next packet gets.
    pub(super) fn sequence(&self) -> u32 {
        self.stamp.sequence
    }

    /// A packet falls due: `now` is by the real-time clock, `elapsed` since the start.
    pub(super) fn on_due(&mut self, departure: Departure, now: Ns, elapsed: Span) -> Fate {
        let Self { socket, stamp, payload, sent } = self;
        match socket {
            Connected::Datagrams(socket) => {
                stamp.sent = Some(now);
                let fate = send(socket, prepare(payload, *stamp, departure.payload), sent);
                // Only what left is numbered: what a sink misses was lost in transit.
                stamp.sequence = stamp.sequence.wrapping_add(u32::from(fate == Fate::Sent));
                fate
            }
            Connected::Stream(connection) => {
                if connection.broken.is_some() {
                    sent.after_end_packets += 1;
                    return Fate::Dropped;
                }
                if !connection.backlog.on_due(departure) {
                    return Fate::Dropped;
                }
                if connection.backlog.counts().waiting_bytes > u64::from(departure.payload) {
                    return Fate::Waits;
                }
                self.write(now, elapsed);
                if self.is_broken() {
                    Fate::Dropped
                } else if self.is_waiting() {
                    Fate::Waits
                } else {
                    Fate::Sent
                }
            }
        }
    }

    /// Whether its connection has ended.
    pub(super) fn is_broken(&self) -> bool {
        matches!(&self.socket, Connected::Stream(connection) if connection.broken.is_some())
    }

    /// Whether the connection has still to take something.
    pub(super) fn is_waiting(&self) -> bool {
        match &self.socket {
            Connected::Stream(connection) => {
                connection.broken.is_none() && connection.backlog.next_write().is_some()
            }
            Connected::Datagrams(_) => false,
        }
    }

    /// Writes what waits, a packet at a time, until the connection takes no more.
    pub(super) fn write(&mut self, now: Ns, elapsed: Span) {
        let Self { socket: Connected::Stream(connection), stamp, payload, sent } = self else {
            return;
        };
        let Connection { stream, backlog, begun, broken } = &mut **connection;
        while let Some(left) = backlog.next_write() {
            stamp.sent = Some(now);
            let bytes = prepare(payload, *stamp, left);
            if *begun {
                bytes.fill(0);
            }
            match stream.write(bytes) {
                Ok(written) => {
                    backlog.on_written(written as u64, elapsed);
                    *begun = written < bytes.len();
                    sent.sent_payload_bytes += written as u64;
                    if !*begun {
                        sent.sent_packets += 1;
                        stamp.sequence = stamp.sequence.wrapping_add(1);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    *broken = Some(error.to_string());
                    return;
                }
            }
        }
    }
}

/// The payload of a packet: its timestamp, then zeros.
fn prepare(payload: &mut Vec<u8>, stamp: PayloadHeader, length: u32) -> &mut [u8] {
    let length = usize::try_from(length).unwrap_or(LARGEST).min(LARGEST);
    if payload.len() < length {
        payload.resize(length, 0);
    }
    let bytes = payload.get_mut(..length).unwrap_or_default();
    stamp.write(bytes);
    bytes
}

fn send(socket: &UdpSocket, bytes: &[u8], sent: &mut Sent) -> Fate {
    // The kernel reports an answer to an earlier datagram instead of sending this one: once more
    // then.
    for _ in 0..2 {
        match socket.send(bytes) {
            Ok(_) => {
                sent.sent_packets += 1;
                sent.sent_payload_bytes += bytes.len() as u64;
                return Fate::Sent;
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                sent.unreachable_answers += 1;
            }
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock
                    || error.raw_os_error() == Some(libc::ENOBUFS) =>
            {
                sent.no_room_packets += 1;
                return Fate::Dropped;
            }
            Err(error) => {
                sent.failed_packets += 1;
                // One text for all of them: a string per packet would cost more than sending it.
                sent.failure.get_or_insert_with(|| error.to_string());
                return Fate::Dropped;
            }
        }
    }
    sent.failed_packets += 1;
    Fate::Dropped
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn packets_after_the_end_of_their_connection_are_not_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        socket2::SockRef::from(&far).set_linger(Some(std::time::Duration::ZERO)).unwrap();
        drop(far);
        let mut channel = Channel::stream(stream, 0, 0).unwrap();
        let departure = Departure { due: Span::ZERO, length: 152, payload: 100 };
        let mut fates = Vec::new();
        while !channel.is_broken() {
            fates.push(channel.on_due(departure, Ns(0), Span::ZERO));
        }
        assert_eq!(fates.pop(), Some(Fate::Dropped));
        assert!(fates.iter().all(|fate| *fate == Fate::Sent));
        assert_eq!(channel.sent.sent_packets, fates.len() as u64);
        assert_eq!(
            (channel.on_due(departure, Ns(0), Span::ZERO), channel.sent.after_end_packets),
            (Fate::Dropped, 1)
        );
    }
}
