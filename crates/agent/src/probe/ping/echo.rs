//! A ping by ICMP echo (RFC 792, RFC 4443).
//!
//! It uses a ping socket where the kernel permits (`net.ipv4.ping_group_range`), else a raw one,
//! which needs `CAP_NET_RAW`. A raw socket receives all answers to this host: ours carry a mark.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use trustbed_units::{Ns, Span};

use crate::session::Stop;
use crate::sys::clock;
use crate::sys::kernel::Poll;
use crate::sys::timestamping::{self, Queue};

/// Type of a request and of its answer, by version of IP.
const V4: (u8, u8) = (8, 0);
const V6: (u8, u8) = (128, 129);
/// Type, code, checksum, identifier, number.
const HEADER: usize = 8;
/// As the usual program sends: 56 bytes behind the header.
const LENGTH: usize = 64;
const MARK: usize = 8;

/// A socket for echoes to one address.
#[derive(Debug)]
pub(super) struct Echoes {
    socket: UdpSocket,
    to: IpAddr,
    mark: [u8; MARK],
    number: u16,
}

impl Echoes {
    /// Opens it.
    pub(super) fn open(to: IpAddr, from: IpAddr) -> io::Result<Self> {
        let (domain, protocol) = if to.is_ipv4() {
            (Domain::IPV4, Protocol::ICMPV4)
        } else {
            (Domain::IPV6, Protocol::ICMPV6)
        };
        let socket = Socket::new(domain, Type::DGRAM, Some(protocol))
            .or_else(|_| Socket::new(domain, Type::RAW, Some(protocol)))
            .map_err(|error| {
                io::Error::new(error.kind(), format!("no echoes for this user: {error}"))
            })?;
        socket.bind(&SockAddr::from(SocketAddr::new(from, 0)))?;
        socket.set_nonblocking(true)?;
        // Echoes are forwarded like datagrams.
        let socket = UdpSocket::from(socket);
        timestamping::stamp_datagrams(&socket, false)?;
        Ok(Self { socket, to, mark: clock::realtime().0.to_ne_bytes(), number: 0 })
    }

    /// How long the answer to the next echo took; none if there was none in time.
    pub(super) fn ping(&mut self, until: Ns, stop: Stop) -> io::Result<Option<Span>> {
        self.number = self.number.wrapping_add(1);
        let request = self.request();
        let (sent, begun) = (clock::realtime(), clock::monotonic());
        self.socket.send_to(&request, SocketAddr::new(self.to, 0))?;
        let (socket, end) = (self.socket.as_fd(), stop.descriptor());
        let mut poll = Poll::new(&[socket, end]);
        let mut buffer = [0; 2048];
        while !stop.is_requested() {
            let left = until - clock::monotonic();
            // Also when it is late: the answer may have come in time, and the process was not run.
            poll.wait(Some(left.max(Span(0))))?;
            while let Some(came) =
                timestamping::receive(&self.socket, &mut buffer, Queue::Received)?
            {
                if self.is_answer(buffer.get(..came.length).unwrap_or_default()) {
                    // A clock that was set meanwhile would make nonsense of the timestamp: then it
                    // counts when it was read.
                    let read = clock::monotonic() - begun;
                    let stamped = came
                        .stamp
                        .map(|stamp| stamp - sent)
                        .filter(|span| span.0 >= 0 && *span <= read);
                    let found = stamped.unwrap_or(read);
                    return Ok((found <= until - begun).then_some(found));
                }
            }
            if left.0 <= 0 {
                break;
            }
        }
        Ok(None)
    }

    fn kinds(&self) -> (u8, u8) {
        if self.to.is_ipv4() { V4 } else { V6 }
    }

    fn request(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0] = self.kinds().0;
        // The kernel replaces this identifier on sockets whose answers it demultiplexes.
        bytes[4..6].copy_from_slice(&self.mark[..2]);
        bytes[6..HEADER].copy_from_slice(&self.number.to_be_bytes());
        bytes[HEADER..HEADER + MARK].copy_from_slice(&self.mark);
        if self.to.is_ipv4() {
            let sum = checksum(&bytes);
            // The checksum of ICMPv6 covers addresses: the kernel computes it.
            bytes[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        bytes
    }

    /// Whether a message is the answer to the echo that was sent last. From a raw socket of version
    /// 4 it has an IP header.
    fn is_answer(&self, message: &[u8]) -> bool {
        let header = match message.first() {
            Some(first) if self.to.is_ipv4() && first >> 4 == 4 => usize::from(first & 15) * 4,
            _ => 0,
        };
        let Some(echo) = message.get(header..) else { return false };
        echo.first() == Some(&self.kinds().1)
            && echo.get(6..HEADER) == Some(&self.number.to_be_bytes())
            && echo.get(HEADER..HEADER + MARK) == Some(&self.mark)
    }
}

/// The sum of the Internet (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !u16::try_from((folded & 0xffff) + (folded >> 16)).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // RFC 1071, section 3.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0xff]), !0xff00);
    }

    #[test]
    fn only_our_last_echo_is_answered() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let echoes =
            Echoes { socket, to: "127.0.0.1".parse().unwrap(), mark: *b"trustbed", number: 7 };
        let mut answer = echoes.request();
        assert!(!echoes.is_answer(&answer), "a request is no answer");
        answer[0] = 0;
        assert!(echoes.is_answer(&answer));
        let with_header = [&[0x45; 20][..], &answer].concat();
        assert!(
            echoes.is_answer(&with_header)
                && !echoes.is_answer(&with_header[..30])
                && !echoes.is_answer(&[])
        );
        answer[7] = 6;
        assert!(!echoes.is_answer(&answer), "the one before");
        answer[7] = 7;
        answer[8] = b'T';
        assert!(!echoes.is_answer(&answer), "of another process");
        assert_eq!(checksum(&echoes.request()), 0);
    }
}
