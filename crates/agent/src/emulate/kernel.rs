//! Packet sockets: frames in with kernel timestamps, frames out, many with one call.
//!
//! The interface has bytes, numbers and moments only. Pointers live within one call: they are set
//! before it from buffers that are owned here, and not used after it.
#![expect(unsafe_code, reason = "packet sockets are reached by system calls only")]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_void, socklen_t};
use trustbed_units::Ns;

use super::frame::{Arrived, Mac};
use crate::sys::ancillary::{messages, part, time};
use crate::sys::kernel::{checked, interface_name};

/// Frames that are received or sent with one call.
pub(super) const BATCH: usize = 64;
/// The same as the kernel takes it.
const MESSAGES: libc::c_uint = 64;
const _: () = assert!(MESSAGES as usize == BATCH);
/// Room for the two messages beside a frame: its time (16 bytes and a header) and what was
/// offloaded (20 and a header).
const CONTROL: usize = 96;
/// What is requested as a buffer of a socket: a second of small frames at 100 000 a second.
const BUFFER: c_int = 128 << 20;

/// What is known about an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) index: u32,
    pub(super) up: bool,
    pub(super) ethernet: bool,
    pub(super) mac: Mac,
    pub(super) mtu: usize,
}

/// What the kernel counted at a socket since it was last requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Frames, dropped ones included.
    pub(super) frames: u32,
    /// Frames that found no room in the socket's buffer.
    pub(super) drops: u32,
}

/// `ifreq` of `linux/if.h`: a name, and a union that is taken as bytes.
#[repr(C, align(8))]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    value: [u8; 24],
}

const _: () = assert!(
    size_of::<Request>() >= size_of::<libc::ifreq>(),
    "the kernel writes as much as its own type holds"
);

/// A socket that receives what comes in through one interface, and sends through it.
#[derive(Debug)]
pub(super) struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// A socket that receives nothing until it is bound.
    pub(super) fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers are passed.
        let number = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the descriptor is new, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(number) }))
    }

    /// What is known about the interface of a name; none when there is none.
    pub(super) fn look(&self, name: &str) -> io::Result<Option<Interface>> {
        let index = match self.query(libc::SIOCGIFINDEX, name) {
            Ok(answer) => word(&answer),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(None),
            Err(error) => return Err(error),
        };
        let flags = self.query(libc::SIOCGIFFLAGS, name)?;
        let hardware = self.query(libc::SIOCGIFHWADDR, name)?;
        let mtu = word(&self.query(libc::SIOCGIFMTU, name)?) as usize;
        Ok(Some(Interface {
            index,
            up: i32::from(half(&flags)) & libc::IFF_UP != 0,
            ethernet: half(&hardware) == libc::ARPHRD_ETHER,
            mac: hardware[2..].first_chunk().copied().unwrap_or_default(),
            mtu,
        }))
    }

    /// Requests timestamps and offload details, and no copies of sent frames.
    pub(super) fn prepare(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        self.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1)?;
        self.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)
    }

    /// Makes the buffers as large as permitted, and returns how much can wait to be received
    /// (bytes, with what the kernel keeps beside frames).
    pub(super) fn enlarge(&self) -> io::Result<u32> {
        for (forced, plain) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            // The first is for who administers the network of the host; the second is cut at the
            // host's limit.
            self.set(libc::SOL_SOCKET, forced, BUFFER)
                .or_else(|_| self.set(libc::SOL_SOCKET, plain, BUFFER))?;
        }
        let (mut size, mut length) = (0_i32, length_of::<c_int>());
        // SAFETY: the kernel writes at most as many bytes as the number has.
        let result = unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUF,
                (&raw mut size).cast::<c_void>(),
                &raw mut length,
            )
        };
        checked(result).map(|_| size.unsigned_abs())
    }

    /// Receives from now on what comes in through an interface.
    pub(super) fn bind(&self, index: u32) -> io::Result<()> {
        let address = libc::sockaddr_ll {
            sll_family: family(),
            sll_protocol: every_protocol(),
            sll_ifindex: index.cast_signed(),
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        // SAFETY: the pointer leads to an address of the stated length.
        let result = unsafe {
            libc::bind(
                self.0.as_raw_fd(),
                (&raw const address).cast::<libc::sockaddr>(),
                length_of::<libc::sockaddr_ll>(),
            )
        };
        checked(result).map(|_| ())
    }

    /// What was counted since the last time.
    pub(super) fn counts(&self) -> io::Result<Counts> {
        let (mut found, mut length) = ([0_u32; 2], length_of::<[u32; 2]>());
        let (pointer, level) = ((&raw mut found).cast::<c_void>(), libc::SOL_PACKET);
        // SAFETY: the kernel writes at most as many bytes as the two numbers have.
        checked(unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                level,
                libc::PACKET_STATISTICS,
                pointer,
                &raw mut length,
            )
        })?;
        Ok(Counts { frames: found[0], drops: found[1] })
    }

    fn set(&self, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
        // SAFETY: the kernel reads as many bytes as the number has.
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                name,
                (&raw const value).cast::<c_void>(),
                length_of::<c_int>(),
            )
        };
        checked(result).map(|_| ())
    }

    fn query(&self, request: libc::c_ulong, name: &str) -> io::Result<[u8; 24]> {
        let mut requested = Request { name: interface_name(name)?, value: [0; 24] };
        // SAFETY: the requests made here take an `ifreq`, and as much room is there.
        checked(unsafe { libc::ioctl(self.0.as_raw_fd(), request as _, &raw mut requested) })?;
        Ok(requested.value)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The buffer of ancillary messages, aligned as the kernel requires.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

/// Frames that were received with one call.
pub(super) struct Inbox {
    slot: usize,
    bytes: Vec<u8>,
    controls: Vec<Control>,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    count: usize,
}

impl Inbox {
    /// Room for frames of a length.
    pub(super) fn new(longest: usize) -> Self {
        let slot = longest.next_multiple_of(64);
        // SAFETY: all zeros is a vector of no bytes at nowhere, and a header without vectors.
        let (vector, header) = unsafe { (zeroed::<libc::iovec>(), zeroed::<libc::mmsghdr>()) };
        Self {
            slot,
            bytes: vec![0; slot * BATCH],
            controls: vec![Control([0; CONTROL]); BATCH],
            vectors: vec![vector; BATCH],
            headers: vec![header; BATCH],
            count: 0,
        }
    }

    /// Receives what waits, at most [`BATCH`] frames; how many. Does not wait.
    pub(super) fn receive(&mut self, socket: &PacketSocket) -> io::Result<usize> {
        self.count = 0;
        let buffers = self
            .bytes
            .chunks_exact_mut(self.slot)
            .zip(&mut self.controls)
            .zip(&mut self.vectors)
            .zip(&mut self.headers);
        for (((slot, control), vector), header) in buffers {
            *vector =
                libc::iovec { iov_base: slot.as_mut_ptr().cast::<c_void>(), iov_len: slot.len() };
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast::<c_void>();
            header.msg_hdr.msg_controllen = CONTROL;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: as many headers are there as are stated, and each leads to one vector and one
        // control buffer of the stated lengths, none of which is used otherwise while the call
        // lasts. No timeout is passed.
        let result = unsafe {
            libc::recvmmsg(
                socket.0.as_raw_fd(),
                self.headers.as_mut_ptr(),
                MESSAGES,
                flags,
                std::ptr::null_mut(),
            )
        };
        match checked(result) {
            Ok(count) => self.count = usize::try_from(count).unwrap_or(0).min(BATCH),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(error) => return Err(error),
        }
        Ok(self.count)
    }

    /// A frame of those that were received, and when the kernel took it up by the real-time clock.
    pub(super) fn frame(&self, number: usize) -> (Arrived<'_>, Option<Ns>) {
        let header = &self.headers[..self.count][number];
        let length = header.msg_len as usize;
        let begin = number * self.slot;
        let bytes = &self.bytes[begin..begin + length.min(self.slot)];
        let control = &self.controls[number].0[..header.msg_hdr.msg_controllen.min(CONTROL)];
        let beside = beside(control);
        (
            Arrived {
                bytes,
                length,
                tagged: beside.tagged,
                checksum_missing: beside.checksum_missing,
            },
            beside.stamp,
        )
    }
}

/// What the kernel reports beside a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Beside {
    stamp: Option<Ns>,
    tagged: bool,
    checksum_missing: bool,
}

/// Reads the messages beside a frame.
fn beside(control: &[u8]) -> Beside {
    let mut found = Beside::default();
    for (level, kind, content) in messages(control) {
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
            found.stamp = time(content);
        } else if (level, kind) == (libc::SOL_PACKET, libc::PACKET_AUXDATA) && content.len() >= 4 {
            let status = u32::from_ne_bytes(part(content, 0));
            found.tagged = status & libc::TP_STATUS_VLAN_VALID != 0;
            found.checksum_missing = status & libc::TP_STATUS_CSUMNOTREADY != 0;
        }
    }
    found
}

/// Frames that are sent with one call, each made of a header and a packet.
pub(super) struct Outbox {
    vectors: Vec<[libc::iovec; 2]>,
    headers: Vec<libc::mmsghdr>,
}

impl Outbox {
    /// Room for [`BATCH`] frames.
    pub(super) fn new() -> Self {
        // SAFETY: all zeros is a vector of no bytes at nowhere, and a header without vectors.
        let (vector, header) = unsafe { (zeroed::<libc::iovec>(), zeroed::<libc::mmsghdr>()) };
        Self { vectors: vec![[vector; 2]; BATCH], headers: vec![header; BATCH] }
    }

    /// Sends frames in their order, at most [`BATCH`]; how many were taken. An error is that of the
    /// first; it is not sent then. Does not wait.
    pub(super) fn send<'a>(
        &mut self,
        socket: &PacketSocket,
        frames: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> io::Result<usize> {
        let mut count: libc::c_uint = 0;
        for (((header, packet), vectors), message) in
            frames.zip(&mut self.vectors).zip(&mut self.headers)
        {
            let vector = |bytes: &[u8]| libc::iovec {
                iov_base: bytes.as_ptr().cast_mut().cast::<c_void>(),
                iov_len: bytes.len(),
            };
            *vectors = [vector(header), vector(packet)];
            message.msg_hdr.msg_iov = vectors.as_mut_ptr();
            message.msg_hdr.msg_iovlen = 2;
            count += 1;
        }
        // SAFETY: as many messages are there as are stated, and each leads to two vectors of bytes
        // that are borrowed for `'a` and only read.
        let sent = checked(unsafe {
            libc::sendmmsg(
                socket.0.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
            )
        })?;
        Ok(usize::try_from(sent).unwrap_or(0))
    }
}

fn word(answer: &[u8; 24]) -> u32 {
    u32::from_ne_bytes(part(answer, 0))
}

fn half(answer: &[u8; 24]) -> u16 {
    u16::from_ne_bytes(part(answer, 0))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the types passed to the kernel are shorter than a page"
)]
const fn length_of<T>() -> socklen_t {
    size_of::<T>() as socklen_t
}

#[expect(clippy::cast_possible_truncation, reason = "17")]
const fn family() -> u16 {
    libc::AF_PACKET as u16
}

#[expect(clippy::cast_possible_truncation, reason = "3")]
const fn every_protocol() -> u16 {
    (libc::ETH_P_ALL as u16).to_be()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::ancillary::message;

    #[test]
    fn the_messages_beside_a_frame_are_read_in_any_order() {
        let time: Vec<u8> = [7_i64, 5].iter().flat_map(|part| part.to_ne_bytes()).collect();
        let mut offloads = [0; 20];
        offloads[..4].copy_from_slice(
            &(libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_CSUMNOTREADY).to_ne_bytes(),
        );
        let (time, offloads) = (
            message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &time),
            message(libc::SOL_PACKET, libc::PACKET_AUXDATA, &offloads),
        );
        let whole = Beside { stamp: Some(Ns(7_000_000_005)), tagged: true, checksum_missing: true };
        assert_eq!(beside(&[time.clone(), offloads.clone()].concat()), whole);
        assert_eq!(beside(&[message(1, 99, b"else"), offloads, time].concat()), whole);
    }

    #[test]
    fn damaged_messages_end_the_reading() {
        assert_eq!(beside(&[]), Beside::default());
        assert_eq!(beside(&[0; 40]), Beside::default());
        assert_eq!(beside(&[255; 40]), Beside::default());
    }
}
