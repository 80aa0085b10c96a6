//! The calls into the kernel, and the memory that is shared with it: all of the unsafe code of live
//! capture.
//!
//! Everything that goes in or out is plain bytes or numbers, of which every value is legal. Blocks
//! of the ring are seen as bytes between the moment when the kernel hands them over and the one
//! when they are given back; what the bytes mean is read by safe code (`block`).
#![expect(
    unsafe_code,
    reason = "packet sockets and their ring are reached by system calls and shared memory only"
)]

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use libc::{c_int, c_ulong, c_void, socklen_t};
use memmap2::{MmapOptions, MmapRaw};

/// Types that are plain numbers throughout: the kernel may read and write them as bytes.
///
/// # Safety
///
/// Every pattern of bits is a value of the type.
pub(super) unsafe trait Plain: Default {}

// SAFETY: a number.
unsafe impl Plain for c_int {}
// SAFETY: numbers.
unsafe impl Plain for RingRequest {}
// SAFETY: numbers.
unsafe impl Plain for Membership {}
// SAFETY: numbers.
unsafe impl Plain for RingStatistics {}

/// `tpacket_req3` of `linux/if_packet.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RingRequest {
    pub(super) block_size: u32,
    pub(super) blocks: u32,
    pub(super) frame_size: u32,
    pub(super) frames: u32,
    pub(super) retire_milliseconds: u32,
    pub(super) private_size: u32,
    pub(super) features: u32,
}

/// `packet_mreq` of `linux/if_packet.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Membership {
    pub(super) index: c_int,
    pub(super) kind: u16,
    pub(super) address_length: u16,
    pub(super) address: [u8; 8],
}

/// `tpacket_stats_v3` of `linux/if_packet.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RingStatistics {
    /// Frames that passed the filter, dropped ones included.
    pub(super) packets: u32,
    pub(super) drops: u32,
    pub(super) freezes: u32,
}

/// `ifreq` of `linux/if.h`: a name, and a union that is taken as bytes.
#[repr(C, align(8))]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    value: [u8; 24],
}

const _: () = assert!(
    size_of::<InterfaceRequest>() >= size_of::<libc::ifreq>(),
    "the kernel writes as much as its own type holds"
);

/// Why waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    /// A block is ready.
    Ready,
    /// The time is up.
    TimedOut,
    /// A signal came.
    Interrupted,
    /// The socket has an error; [`PacketSocket::take_error`] returns it.
    Failed,
}

/// A packet socket.
pub(super) struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// What to wait for.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// A socket that receives nothing until it is bound.
    pub(super) fn open() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let number = checked(unsafe {
            libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0)
        })?;
        // SAFETY: the descriptor is new, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(number) }))
    }

    pub(super) fn set<T: Plain>(&self, level: c_int, name: c_int, value: &T) -> io::Result<()> {
        // SAFETY: the kernel reads as many bytes as the value has.
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                name,
                std::ptr::from_ref(value).cast::<c_void>(),
                length_of::<T>(),
            )
        };
        checked(result).map(|_| ())
    }

    pub(super) fn get<T: Plain>(&self, level: c_int, name: c_int) -> io::Result<T> {
        let (mut value, mut length) = (T::default(), length_of::<T>());
        // SAFETY: the kernel writes at most as many bytes as the value has, and every value of them
        // is legal (`Plain`).
        let result = unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                level,
                name,
                std::ptr::from_mut(&mut value).cast::<c_void>(),
                &raw mut length,
            )
        };
        checked(result).map(|_| value)
    }

    /// Has frames judged by a classic BPF program, which also decides how much of each is kept.
    pub(super) fn filter(&self, program: &mut [libc::sock_filter]) -> io::Result<()> {
        let Ok(len) = u16::try_from(program.len()) else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let program = libc::sock_fprog { len, filter: program.as_mut_ptr() };
        let (level, name) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
        // SAFETY: the pointer leads to as many instructions as are stated, which the kernel copies
        // and checks.
        let result = unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                level,
                name,
                (&raw const program).cast::<c_void>(),
                length_of::<libc::sock_fprog>(),
            )
        };
        checked(result).map(|_| ())
    }

    /// Receives from now on what passes on one interface, in both directions.
    pub(super) fn bind(&self, index: i32) -> io::Result<()> {
        let address = libc::sockaddr_ll {
            sll_family: family(),
            sll_protocol: every_protocol(),
            sll_ifindex: index,
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

    /// Waits until a block is ready, at most for a time.
    pub(super) fn wait(&self, timeout: Duration) -> io::Result<Woken> {
        let mut descriptor =
            libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let milliseconds =
            c_int::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(c_int::MAX);
        // SAFETY: one descriptor is passed, and one is stated.
        match checked(unsafe { libc::poll(&raw mut descriptor, 1, milliseconds) }) {
            Ok(0) => Ok(Woken::TimedOut),
            Ok(_) if descriptor.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0 => {
                Ok(Woken::Failed)
            }
            Ok(_) => Ok(Woken::Ready),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Woken::Interrupted),
            Err(error) => Err(error),
        }
    }

    /// The error of the socket, which it has no longer afterwards.
    pub(super) fn take_error(&self) -> io::Result<Option<io::Error>> {
        let number: c_int = self.get(libc::SOL_SOCKET, libc::SO_ERROR)?;
        Ok((number != 0).then(|| io::Error::from_raw_os_error(number)))
    }

    /// Asks for something about an interface that fits into the request itself.
    pub(super) fn query(&self, request: c_ulong, name: &str) -> io::Result<[u8; 24]> {
        let mut interface_request = request_for(name)?;
        self.control(request, &mut interface_request)?;
        Ok(interface_request.value)
    }

    /// Requests something about an interface. The answer is put into `data`, which begins with the
    /// request.
    pub(super) fn ask_at_length(
        &self,
        request: c_ulong,
        name: &str,
        data: &mut [u32; 16],
    ) -> io::Result<()> {
        let mut interface_request = request_for(name)?;
        let address = (&raw mut *data).expose_provenance().to_ne_bytes();
        interface_request.value[..address.len()].copy_from_slice(&address);
        // The requests made here (`interface`) are answered by at most 44 bytes, and `data` has 64.
        self.control(request, &mut interface_request)
    }

    /// The name that an interface has now; none when there is no such interface any more.
    pub(super) fn name_of(&self, index: i32) -> Option<String> {
        let mut interface_request = InterfaceRequest { name: [0; libc::IFNAMSIZ], value: [0; 24] };
        interface_request.value[..4].copy_from_slice(&index.to_ne_bytes());
        self.control(libc::SIOCGIFNAME, &mut interface_request).ok()?;
        let name = interface_request.name.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(name).into_owned())
    }

    fn control(
        &self,
        request: c_ulong,
        interface_request: &mut InterfaceRequest,
    ) -> io::Result<()> {
        // SAFETY: the request is one of those of `linux/sockios.h` that take an `ifreq`, and as
        // much room is there.
        let result = unsafe {
            libc::ioctl(self.0.as_raw_fd(), request as _, std::ptr::from_mut(interface_request))
        };
        checked(result).map(|_| ())
    }
}

fn request_for(name: &str) -> io::Result<InterfaceRequest> {
    let mut interface_request = InterfaceRequest { name: [0; libc::IFNAMSIZ], value: [0; 24] };
    // The last byte stays zero: it ends the name.
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    interface_request.name[..name.len()].copy_from_slice(name.as_bytes());
    Ok(interface_request)
}

/// The names of the interfaces that there are, in the order of their numbers.
pub fn interface_names() -> Vec<String> {
    // SAFETY: the list that is returned ends with an entry of number 0, each entry before it holds
    // a string that ends with zero, and the list is given back once, after its last use.
    unsafe {
        let list = libc::if_nameindex();
        let mut names = Vec::new();
        let mut entry = list;
        while !entry.is_null() && (*entry).if_index != 0 {
            names.push(std::ffi::CStr::from_ptr((*entry).if_name).to_string_lossy().into_owned());
            entry = entry.add(1);
        }
        if !list.is_null() {
            libc::if_freenameindex(list);
        }
        names
    }
}

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
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

/// Where the status of a block is, counted from its beginning.
const STATUS: usize =
    offset_of!(libc::tpacket_block_desc, hdr) + offset_of!(libc::tpacket_hdr_v1, block_status);

/// The memory of a packet socket's receive ring.
pub(super) struct Ring {
    memory: MmapRaw,
    block_length: usize,
    blocks: usize,
}

impl Ring {
    /// Maps the ring that the socket was given by `PACKET_RX_RING`.
    pub(super) fn map(
        socket: &PacketSocket,
        block_length: usize,
        blocks: usize,
    ) -> io::Result<Self> {
        let memory = MmapOptions::new().len(block_length * blocks).map_raw(&socket.0)?;
        Ok(Self { memory, block_length, blocks })
    }

    pub(super) fn blocks(&self) -> usize {
        self.blocks
    }

    /// A block's bytes, if the kernel has handed it over.
    pub(super) fn block(&self, number: usize) -> Option<&[u8]> {
        if self.status(number).load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the bytes lie within the mapping, which lives as long as `self`. The kernel
        // writes to a block only while it owns it: not after the status that was just read (with
        // the ordering that makes what it wrote before visible), and not before `release`, which
        // needs `self` for itself and so ends the borrow of these bytes.
        Some(unsafe { std::slice::from_raw_parts(self.begin(number), self.block_length) })
    }

    /// Gives a block back to the kernel.
    pub(super) fn release(&mut self, number: usize) {
        self.status(number).store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }

    fn begin(&self, number: usize) -> *mut u8 {
        assert!(number < self.blocks, "the ring has fewer blocks");
        // SAFETY: the block lies within the mapping, whose length is that of all blocks.
        unsafe { self.memory.as_mut_ptr().add(number * self.block_length) }
    }

    #[expect(
        clippy::cast_ptr_alignment,
        reason = "blocks begin on pages, and the status stands at a multiple of four"
    )]
    fn status(&self, number: usize) -> &AtomicU32 {
        // SAFETY: the word lies within the block and, blocks being pages, is aligned; kernel and
        // program both access it as one word.
        unsafe { AtomicU32::from_ptr(self.begin(number).add(STATUS).cast::<u32>()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_a_loopback_interface() {
        assert!(interface_names().contains(&"lo".to_owned()));
    }
}
