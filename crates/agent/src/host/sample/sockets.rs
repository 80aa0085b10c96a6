//! The TCP connections of the namespace with their `tcp_info`: socket diagnosis over netlink
//! (`sock_diag(7)`, `linux/inet_diag.h`).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::Serialize;

use crate::sys::netlink::{Netlink, attributes, number32, text};
use crate::sys::tcp_info::TcpInfo;

/// `NETLINK_SOCK_DIAG`, and the message that asks it.
const DIAGNOSIS: i32 = 4;
const BY_FAMILY: u16 = 20;
/// Attributes: `TCP_INFO`, and the name of the congestion control.
const INFO: u16 = 2;
const CONGESTION: u16 = 4;
/// Lengths: of a request, of a socket in its answer; and where a socket's identity (ports,
/// addresses, interface, cookie) is in the answer.
const REQUEST: usize = 56;
const SOCKET: usize = 72;
const IDENTITY: std::ops::Range<usize> = 4..52;
/// Connections: not those that listen, wait after the end, or are closed.
const STATES: u32 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// One connection, from one of its ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Connection {
    local: SocketAddr,
    peer: SocketAddr,
    /// Bytes that wait to be read by the application; bytes that are not acknowledged.
    receive_queue_bytes: u32,
    send_queue_bytes: u32,
    congestion_control: Option<String>,
    tcp: Option<TcpInfo>,
}

/// The sockets of one reading.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) connections: Vec<Connection>,
    pub(super) left_out: u64,
    /// What asks for each of them again.
    requests: Vec<[u8; REQUEST]>,
}

/// The socket that answers the queries.
pub(super) struct Diagnosis {
    netlink: Netlink,
    most: usize,
    /// What asks for each connection of the last reading.
    requests: Vec<[u8; REQUEST]>,
}

impl Diagnosis {
    /// Opens it, and dumps once, so that an unsupported kernel fails now.
    pub(super) fn open(most: usize) -> io::Result<Self> {
        let netlink = Netlink::open(DIAGNOSIS)?;
        let mut diagnosis = Self { netlink, most, requests: Vec::new() };
        diagnosis.look()?;
        Ok(diagnosis)
    }

    /// The connections that there are, over IPv4 and IPv6.
    ///
    /// The kernel goes through the connections of all namespaces, and through the empty places of
    /// its table: milliseconds on a machine with much memory.
    pub(super) fn look(&mut self) -> io::Result<Found> {
        let mut found = Found::default();
        for family in [libc::AF_INET, libc::AF_INET6] {
            self.netlink
                .dump(BY_FAMILY, &request(family), |message| found.take(message, self.most))?;
        }
        self.requests.clone_from(&found.requests);
        Ok(found)
    }

    /// The connections of the last [`look`](Self::look) that still exist: some microseconds each.
    pub(super) fn look_again(&mut self) -> Found {
        let mut found = Found::default();
        for request in &self.requests {
            // One that has ended meanwhile is no error.
            let _ = self.netlink.get(BY_FAMILY, request, |message| found.take(message, self.most));
        }
        found
    }
}

impl Found {
    fn take(&mut self, message: &[u8], most: usize) {
        if self.connections.len() >= most {
            self.left_out += 1;
        } else if let Some(connection) = connection(message) {
            self.connections.push(connection);
            self.requests.extend(request_of(message));
        }
    }
}

/// Asks for every connection of a family.
fn request(family: i32) -> [u8; REQUEST] {
    let wanted = 1_u8 << (INFO - 1) | 1 << (CONGESTION - 1);
    let mut bytes = [0; REQUEST];
    bytes[..4].copy_from_slice(&[u8::try_from(family).unwrap_or(0), 6, wanted, 0]);
    bytes[4..8].copy_from_slice(&STATES.to_ne_bytes());
    bytes
}

/// Asks for the connection of an answer.
fn request_of(message: &[u8]) -> Option<[u8; REQUEST]> {
    let mut bytes = request(i32::from(*message.first()?));
    bytes[8..].copy_from_slice(message.get(IDENTITY)?);
    Some(bytes)
}

fn connection(message: &[u8]) -> Option<Connection> {
    let version_6 = i32::from(*message.first()?) == libc::AF_INET6;
    let port = |at: usize| Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?));
    let address = |at: usize| {
        if version_6 {
            let bytes: [u8; 16] = message.get(at..at + 16)?.try_into().ok()?;
            Some(IpAddr::V6(Ipv6Addr::from(bytes)))
        } else {
            let bytes: [u8; 4] = message.get(at..at + 4)?.try_into().ok()?;
            Some(IpAddr::V4(Ipv4Addr::from(bytes)))
        }
    };
    let mut found = Connection {
        local: SocketAddr::new(address(8)?, port(4)?),
        peer: SocketAddr::new(address(24)?, port(6)?),
        receive_queue_bytes: number32(message, 56)?,
        send_queue_bytes: number32(message, 60)?,
        congestion_control: None,
        tcp: None,
    };
    for (kind, value) in attributes(message.get(SOCKET..)?) {
        match kind {
            INFO => found.tcp = Some(TcpInfo::read(value)),
            CONGESTION => found.congestion_control = Some(text(value)),
            _ => {}
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn socket() -> Vec<u8> {
        let mut body = vec![0; SOCKET];
        body[0] = 2;
        body[4..8].copy_from_slice(&[0x1f, 0x90, 0x10, 0x00]);
        body[8..12].copy_from_slice(&[10, 0, 0, 1]);
        body[24..28].copy_from_slice(&[10, 0, 0, 2]);
        body[56..60].copy_from_slice(&7_u32.to_ne_bytes());
        body.extend(10_u16.to_ne_bytes());
        body.extend(CONGESTION.to_ne_bytes());
        body.extend(b"cubic\0\0\0");
        body
    }

    #[test]
    fn answers_are_read_up_to_the_limit() {
        let mut found = Found::default();
        found.take(&socket(), 1);
        found.take(&socket(), 1);
        assert_eq!((found.connections.len(), found.left_out), (1, 1));
        let one = &found.connections[0];
        assert_eq!(
            (one.local.to_string(), one.peer.to_string()),
            ("10.0.0.1:8080".to_owned(), "10.0.0.2:4096".to_owned())
        );
        assert_eq!(
            (one.congestion_control.as_deref(), one.receive_queue_bytes, one.tcp),
            (Some("cubic"), 7, None)
        );
    }

    #[test]
    fn messages_without_a_socket_are_skipped() {
        for nonsense in [&[][..], &[2; 10], &[2; SOCKET - 1]] {
            let mut found = Found::default();
            found.take(nonsense, 9);
            assert_eq!(found, Found::default());
        }
    }

    #[test]
    fn a_connection_of_this_process_is_among_the_kernel_s() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let found = match Diagnosis::open(10_000).and_then(|mut diagnosis| diagnosis.look()) {
            Ok(found) => found,
            Err(error) => {
                assert!(
                    std::env::var_os("CI").is_none(),
                    "this kernel has no socket diagnosis: {error}"
                );
                return;
            }
        };
        let own = found
            .connections
            .iter()
            .find(|one| one.local == stream.local_addr().unwrap())
            .expect("the connection");
        assert_eq!(own.peer, stream.peer_addr().unwrap());
        assert_eq!(own.tcp.and_then(|tcp| tcp.state), Some(1));
    }

    #[test]
    fn a_known_connection_is_asked_for_again_until_it_has_ended() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let own = stream.local_addr().unwrap();
        let Ok(mut diagnosis) = Diagnosis::open(10_000) else {
            assert!(std::env::var_os("CI").is_none(), "this kernel has no socket diagnosis");
            return;
        };
        let mut is_found = || {
            let found = diagnosis.look_again();
            found.connections.iter().any(|one| one.local == own && one.tcp.is_some())
        };
        assert!(is_found());
        drop((stream, listener));
        let begun = std::time::Instant::now();
        while is_found() {
            assert!(begun.elapsed() < std::time::Duration::from_secs(10), "it never ended");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
