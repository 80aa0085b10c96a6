//! Datagrams with kernel timestamps of arrival and departure, and their remaining hops.
#![expect(unsafe_code, reason = "stamps of packets are reached by system calls only")]

use std::io;
use std::mem::zeroed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use libc::{c_int, c_void};
use serde::Serialize;
use trustbed_units::Ns;

use super::ancillary::{messages, part, time};
use crate::sys::kernel::checked;

/// Room for what the kernel reports: timestamps (64 bytes), hops (24), an error with the address of
/// whom it is from (64).
const CONTROL: usize = 256;
/// Room for an address of either version.
const ADDRESS: usize = size_of::<libc::sockaddr_in6>();

/// Buffers that the kernel fills, aligned as it requires.
#[repr(C, align(8))]
struct Control([u8; CONTROL]);
#[repr(C, align(8))]
struct Address([u8; ADDRESS]);

/// A received datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Datagram {
    pub(crate) length: usize,
    /// None where the kernel had none.
    pub(crate) from: Option<SocketAddr>,
    /// When the kernel took it up, or sent it, by the real-time clock.
    pub(crate) stamp: Option<Ns>,
    /// The hops it could still have made.
    pub(crate) ttl: Option<u8>,
}

/// Where a datagram is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Received datagrams.
    Received,
    /// What left: copies with their timestamps.
    Sent,
}

/// Errors of receiving, for a report: their number and the first one.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ReceiveErrors {
    receive_errors: u64,
    receive_error: Option<String>,
}

impl ReceiveErrors {
    pub(crate) fn count(&mut self, error: &io::Error) {
        self.receive_errors += 1;
        self.receive_error.get_or_insert_with(|| error.to_string());
    }

    /// The next received datagram; none when nothing waits, and after an error, which is counted:
    /// it concerns an earlier packet, and the socket is still usable.
    pub(crate) fn receive(&mut self, socket: &UdpSocket, buffer: &mut [u8]) -> Option<Datagram> {
        receive(socket, buffer, Queue::Received).unwrap_or_else(|error| {
            self.count(&error);
            None
        })
    }
}

/// Requests kernel timestamps and hop limits of received datagrams; and timestamps of sent ones, if
/// requested.
pub(crate) fn stamp_datagrams(socket: &UdpSocket, sent_too: bool) -> io::Result<()> {
    let sent = if sent_too { libc::SOF_TIMESTAMPING_TX_SOFTWARE } else { 0 };
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE | sent;
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags.cast_signed())?;
    if socket.local_addr()?.is_ipv4() {
        set(socket, libc::IPPROTO_IP, libc::IP_RECVTTL, 1)?;
        set(socket, libc::IPPROTO_IP, libc::IP_TTL, 255)
    } else {
        set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, 1)?;
        set(socket, libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, 255)
    }
}

fn set(socket: &UdpSocket, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<c_int>()).unwrap_or(0);
    // SAFETY: the kernel reads `length` bytes, which is how long the number is.
    checked(unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length)
    })
    .map(|_| ())
}

/// Takes the next datagram of a queue; none when nothing waits. What does not fit into the buffer
/// is cut off. Does not wait.
///
/// # Errors
/// What the kernel reports; of a socket with one peer also that an earlier datagram was
/// answered by an ICMP error.
pub(crate) fn receive(
    socket: &UdpSocket,
    buffer: &mut [u8],
    queue: Queue,
) -> io::Result<Option<Datagram>> {
    let (mut control, mut address) = (Control([0; CONTROL]), Address([0; ADDRESS]));
    let mut vector =
        libc::iovec { iov_base: buffer.as_mut_ptr().cast::<c_void>(), iov_len: buffer.len() };
    // SAFETY: all zeros is a header of no buffers.
    let mut header = unsafe { zeroed::<libc::msghdr>() };
    header.msg_name = address.0.as_mut_ptr().cast::<c_void>();
    header.msg_namelen = libc::socklen_t::try_from(ADDRESS).unwrap_or(0);
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast::<c_void>();
    header.msg_controllen = CONTROL;
    let flags = libc::MSG_DONTWAIT | if queue == Queue::Sent { libc::MSG_ERRQUEUE } else { 0 };
    // SAFETY: the header leads to one vector, an address and a control buffer of the stated
    // lengths, which nothing else uses during the call.
    let result = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) };
    if result < 0 {
        let error = io::Error::last_os_error();
        return if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) {
            Ok(None)
        } else {
            Err(error)
        };
    }
    let beside = control.0.get(..header.msg_controllen).unwrap_or_default();
    let (stamp, ttl) = stamp_and_ttl(beside);
    let from = address.0.get(..header.msg_namelen as usize).and_then(socket_address);
    Ok(Some(Datagram { length: result.unsigned_abs(), from, stamp, ttl }))
}

fn stamp_and_ttl(beside: &[u8]) -> (Option<Ns>, Option<u8>) {
    let (mut stamp, mut ttl) = (None, None);
    for (level, kind, content) in messages(beside) {
        match (level, kind) {
            // Three times; that of the software is the first, and 0 where there is none.
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                stamp = time(content).filter(|time| time.0 != 0);
            }
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                ttl = u8::try_from(i32::from_ne_bytes(part(content, 0))).ok();
            }
            _ => {}
        }
    }
    (stamp, ttl)
}

/// Reads a `sockaddr_in` or `sockaddr_in6`.
fn socket_address(bytes: &[u8]) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(part(bytes, 2));
    let ip = match (c_int::from(u16::from_ne_bytes(part(bytes, 0))), bytes.len()) {
        (libc::AF_INET, 8..) => IpAddr::from(Ipv4Addr::from(part::<4>(bytes, 4))),
        (libc::AF_INET6, ADDRESS..) => {
            let scope = u32::from_ne_bytes(part(bytes, 24));
            return Some(
                std::net::SocketAddrV6::new(Ipv6Addr::from(part::<16>(bytes, 8)), port, 0, scope)
                    .into(),
            );
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use trustbed_units::Span;

    use super::*;

    /// Reads a queue, waiting long for a packet.
    fn next(socket: &UdpSocket, buffer: &mut [u8], queue: Queue) -> Datagram {
        crate::sys::kernel::Poll::new(&[socket.as_fd()]).wait(Some(Span::from_secs(100))).unwrap();
        receive(socket, buffer, queue).unwrap().unwrap()
    }

    /// The kernel begins to timestamp some time after the first socket requests it: sends until it
    /// does, and empties both queues.
    fn until_stamped(sender: &UdpSocket, receiver: &UdpSocket) {
        let mut bytes = [0; 100];
        loop {
            sender.send_to(b"first", receiver.local_addr().unwrap()).unwrap();
            let came = next(receiver, &mut bytes, Queue::Received);
            let left = next(sender, &mut bytes, Queue::Sent);
            if came.stamp.is_some() && left.stamp.is_some() {
                return;
            }
        }
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "a test that cannot run says why")]
    fn a_datagram_has_its_arrival_time_and_remaining_hops() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let receiver = match UdpSocket::bind(address) {
                Err(error) if address.starts_with('[') => {
                    println!("skipped: no IPv6: {error}");
                    continue;
                }
                bound => bound.unwrap(),
            };
            let sender = UdpSocket::bind(address).unwrap();
            stamp_datagrams(&receiver, false).unwrap();
            stamp_datagrams(&sender, true).unwrap();
            assert_eq!(receive(&receiver, &mut [0; 9], Queue::Received).unwrap(), None);
            until_stamped(&sender, &receiver);
            let before = crate::sys::clock::realtime();
            sender.send_to(b"hello", receiver.local_addr().unwrap()).unwrap();
            let mut bytes = [0; 100];
            let came = next(&receiver, &mut bytes, Queue::Received);
            let after = crate::sys::clock::realtime();
            assert_eq!(
                (&bytes[..came.length], came.from, came.ttl),
                (&b"hello"[..], sender.local_addr().ok(), Some(255))
            );
            assert!(
                (before..=after).contains(&came.stamp.unwrap()),
                "{before:?} {came:?} {after:?}"
            );
            let left = next(&sender, &mut bytes, Queue::Sent);
            assert_eq!(bytes[..left.length][left.length - 5..], *b"hello");
            assert!(
                (before..=after).contains(&left.stamp.unwrap()),
                "{before:?} {left:?} {after:?}"
            );
            assert_eq!(receive(&sender, &mut bytes, Queue::Sent).unwrap(), None);
        }
    }

    #[test]
    fn bytes_that_are_no_address_give_none() {
        assert_eq!(socket_address(&[]), None);
        assert_eq!(socket_address(&[0; ADDRESS]), None);
        let mut cut = [0; ADDRESS];
        cut[..2].copy_from_slice(&u16::try_from(libc::AF_INET6).unwrap().to_ne_bytes());
        assert_eq!(socket_address(&cut[..20]), None);
        assert_eq!(socket_address(&cut), Some("[::]:0".parse().unwrap()));
    }
}
