//! System calls without safe wrappers: the host's clock, and terminals.

#![expect(
    unsafe_code,
    reason = "setting the clock and the steps between fork and exec are reached by raw system \
        calls only"
)]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};

const SECOND: i64 = 1_000_000_000;

/// Moves the real-time clock. A machine that may not set it keeps its own, which the caller for the
/// time again sees.
pub(super) fn shift_clock(nanoseconds: i64) {
    let moved = crate::sys::clock::realtime().0.saturating_add(nanoseconds);
    let time =
        libc::timespec { tv_sec: moved.div_euclid(SECOND), tv_nsec: moved.rem_euclid(SECOND) };
    // SAFETY: the pointer leads to a `timespec`.
    unsafe { libc::clock_settime(libc::CLOCK_REALTIME, &raw const time) };
}

/// A new terminal: the controlling end, and the end for a command.
pub(super) fn open_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    let its =
        open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    Ok((ours, its))
}

/// The command begins a session, whose terminal is its standard input.
pub(super) fn begin_session_on_terminal(command: &mut Command) {
    // SAFETY: between fork and exec only system calls are made, nothing is allocated and no lock is
    // taken.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        });
    }
}
