//! The TCP connections of the namespace and what the kernel knows about them: socket diagnosis over netlink (`sock_diag(7)`,
//! `linux/inet_diag.h`).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use serde::Serialize;
use socket2::{Domain, Protocol, Socket, Type};

use crate::net::tcp_info::TcpInfo;

/// `NETLINK_SOCK_DIAG`, and the message that asks it.
const DIAGNOSIS: i32 = 4;
const BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
/// Messages that end an answer.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// Attributes: what `TCP_INFO` tells, and the name of the congestion control.
const INFO: u16 = 2;
const CONGESTION: u16 = 4;
/// Lengths of the headers: of netlink, of a socket, of an attribute.
const HEADER: usize = 16;
const SOCKET: usize = 72;
const ATTRIBUTE: usize = 4;
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

/// What a look brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) connections: Vec<Connection>,
    pub(super) left_out: u64,
}

/// The socket that is asked.
pub(super) struct Diagnosis {
    socket: Socket,
    most: usize,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Diagnosis {
    /// Opens it, and asks once, so that a kernel that cannot answer says so now.
    pub(super) fn open(most: usize) -> io::Result<Self> {
        let socket = Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(Protocol::from(DIAGNOSIS)))?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        let mut diagnosis = Self { socket, most, sequence: 0, buffer: vec![0; 64 << 10] };
        diagnosis.look()?;
        Ok(diagnosis)
    }

    /// The connections that there are, over IPv4 and IPv6.
    pub(super) fn look(&mut self) -> io::Result<Found> {
        let mut found = Found::default();
        for family in [libc::AF_INET, libc::AF_INET6] {
            self.sequence = self.sequence.wrapping_add(1);
            self.socket.send(&request(family, self.sequence))?;
            while !self.receive(&mut found)? {}
        }
        Ok(found)
    }

    /// Takes one datagram; true when it ended the answer.
    fn receive(&mut self, found: &mut Found) -> io::Result<bool> {
        use std::io::Read;
        let length = (&self.socket).read(&mut self.buffer)?;
        read(self.buffer.get(..length).unwrap_or_default(), self.sequence, self.most, found)
    }
}

/// Asks for every connection of a family.
fn request(family: i32, sequence: u32) -> [u8; 72] {
    let mut bytes = [0; 72];
    let mut put = |at: usize, value: &[u8]| {
        if let Some(place) = bytes.get_mut(at..at + value.len()) {
            place.copy_from_slice(value);
        }
    };
    put(0, &72_u32.to_ne_bytes());
    put(4, &BY_FAMILY.to_ne_bytes());
    put(6, &REQUEST_DUMP.to_ne_bytes());
    put(8, &sequence.to_ne_bytes());
    let wanted = 1_u8 << (INFO - 1) | 1 << (CONGESTION - 1);
    put(16, &[u8::try_from(family).unwrap_or(0), 6, wanted, 0]);
    put(20, &STATES.to_ne_bytes());
    bytes
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Reads the messages of a datagram; true when the last of the answer was among them.
fn read(mut bytes: &[u8], sequence: u32, most: usize, found: &mut Found) -> io::Result<bool> {
    while let (Some(length), Some(kind), Some(answered)) = (number32(bytes, 0), number16(bytes, 4), number32(bytes, 8)) {
        let length = length as usize;
        let Some(message) = bytes.get(HEADER..length) else { break };
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        if answered != sequence {
            continue;
        }
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let number = number32(message, 0).map_or(libc::EIO, u32::cast_signed);
                return Err(io::Error::from_raw_os_error(number.saturating_neg()));
            }
            _ if found.connections.len() >= most => found.left_out += 1,
            _ => found.connections.extend(connection(message)),
        }
    }
    Ok(false)
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
    let mut attributes = message.get(SOCKET..)?;
    while let (Some(length), Some(kind)) = (number16(attributes, 0), number16(attributes, 2)) {
        let length = usize::from(length);
        let Some(value) = attributes.get(ATTRIBUTE..length) else { break };
        match kind {
            INFO => found.tcp = Some(TcpInfo::read(value)),
            CONGESTION => found.congestion_control = Some(String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()),
            _ => {}
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// A message of netlink around a body.
    fn message(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = u32::try_from(HEADER + body.len()).unwrap().to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0, 0]);
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

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
    fn answers_are_read() {
        let mut bytes = message(BY_FAMILY, 3, &socket());
        bytes.extend(message(BY_FAMILY, 2, &socket()));
        bytes.extend(message(BY_FAMILY, 3, &socket()));
        bytes.extend(message(DONE, 3, &[0; 4]));
        let mut found = Found::default();
        assert!(read(&bytes, 3, 1, &mut found).unwrap());
        assert_eq!((found.connections.len(), found.left_out), (1, 1));
        let one = &found.connections[0];
        assert_eq!((one.local.to_string(), one.peer.to_string()), ("10.0.0.1:8080".to_owned(), "10.0.0.2:4096".to_owned()));
        assert_eq!((one.congestion_control.as_deref(), one.receive_queue_bytes, one.tcp), (Some("cubic"), 7, None));
    }

    #[test]
    fn errors_are_told_and_nonsense_is_passed_over() {
        let refused = message(ERROR, 1, &(-libc::ENOENT).to_ne_bytes());
        assert_eq!(read(&refused, 1, 9, &mut Found::default()).unwrap_err().raw_os_error(), Some(libc::ENOENT));
        for nonsense in [&[][..], &[0xff; 40], &[0; 40], &message(BY_FAMILY, 1, &[2; 10])] {
            let mut found = Found::default();
            assert!(!read(nonsense, 1, 9, &mut found).unwrap());
            assert_eq!(found, Found::default());
        }
    }

    #[test]
    fn an_own_connection_is_among_those_of_the_kernel() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let found = match Diagnosis::open(10_000).and_then(|mut diagnosis| diagnosis.look()) {
            Ok(found) => found,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "this kernel has no socket diagnosis: {error}");
                return;
            }
        };
        let own = found.connections.iter().find(|one| one.local == stream.local_addr().unwrap()).expect("the connection");
        assert_eq!(own.peer, stream.peer_addr().unwrap());
        assert_eq!(own.tcp.and_then(|tcp| tcp.state), Some(1));
    }
}
