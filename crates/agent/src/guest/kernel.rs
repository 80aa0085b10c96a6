//! System calls of a guest that the safe wrappers lack: its clock, its terminals, the switches of its network card.

#![expect(unsafe_code, reason = "setting the clock, ethtool and the steps between fork and exec are reached by raw system calls only")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags, open};
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};

use super::Error;

const SECOND: i64 = 1_000_000_000;
/// `SIOCETHTOOL` of `linux/sockios.h`.
const ETHTOOL: libc::c_ulong = 0x8946;
/// Commands of `linux/ethtool.h` that switch an offload, the same as those of a host in a namespace: segmentation before checksums, which it
/// needs.
const OFFLOADS: [(u32, &str); 4] =
    [(0x1f, "TCP segmentation"), (0x24, "generic segmentation"), (0x2c, "generic receive offload"), (0x17, "checksums of what is sent")];

/// `ethtool_value` of `linux/ethtool.h`.
#[repr(C)]
struct Switch {
    command: u32,
    value: u32,
}

/// `ifreq` of `linux/if.h` as far as ethtool needs it; as long as the kernel's.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    pointer: *mut Switch,
    rest: [u8; 16],
}

const _: () = assert!(size_of::<Request>() >= size_of::<libc::ifreq>(), "the kernel reads as much as its own type holds");

/// Moves the real-time clock. A machine that may not set it keeps its own, which whoever asks for the time again sees.
pub(super) fn shift_clock(nanoseconds: i64) {
    let moved = crate::clock::realtime().0.saturating_add(nanoseconds);
    let time = libc::timespec { tv_sec: moved.div_euclid(SECOND), tv_nsec: moved.rem_euclid(SECOND) };
    // SAFETY: the pointer leads to a `timespec`.
    unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &raw const time) };
}

/// A new terminal: the end that a person would look at, and the end for a command.
pub(super) fn open_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let its = open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((ours, its))
}

/// The command begins a session, whose terminal is its standard input.
pub(super) fn begin_session_on_terminal(command: &mut Command) {
    // SAFETY: between fork and exec only system calls are made, nothing is allocated and no lock is taken.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        });
    }
}

/// Has the network stack do everything that it would leave to the card.
pub(super) fn switch_offloads_off(interface: &str) -> Result<(), Error> {
    let failed = |what, source: io::Error| Error::Offload { interface: interface.to_owned(), what, source };
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(|error| failed("anything", error.into()))?;
    let mut name = [0; libc::IFNAMSIZ];
    // The last byte stays zero: it ends the name.
    if interface.is_empty() || interface.len() >= libc::IFNAMSIZ || interface.contains('\0') {
        return Err(failed("anything", io::Error::from_raw_os_error(libc::ENODEV)));
    }
    name[..interface.len()].copy_from_slice(interface.as_bytes());
    for (command, what) in OFFLOADS {
        let mut switch = Switch { command, value: 0 };
        let mut request = Request { name, pointer: &raw mut switch, rest: [0; 16] };
        // SAFETY: the request is as long as an `ifreq`, its name ends with zero, and its pointer leads to the value that these commands take.
        let result = unsafe { libc::ioctl(socket.as_raw_fd(), ETHTOOL as _, &raw mut request) };
        // A card that has no such offload has it off.
        if result < 0 && io::Error::last_os_error().raw_os_error() != Some(libc::EOPNOTSUPP) {
            return Err(failed(what, io::Error::last_os_error()));
        }
    }
    Ok(())
}
