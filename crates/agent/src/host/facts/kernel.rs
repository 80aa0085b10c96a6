//! System calls that only `facts` needs: clock discipline, timer resolution, hypervisor name,
//! permission to create namespaces.
#![expect(
    unsafe_code,
    reason = "adjtimex, clock_getres, cpuid and the step between fork and exec are reached by raw \
        calls only"
)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::sys::kernel::checked;

/// How the kernel's clock is disciplined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steering {
    /// What `adjtimex(2)` returns: 0 is well, 5 is not synchronised.
    pub(super) state: i32,
    pub(super) status: i32,
    /// In nanoseconds where the status states it, else in microseconds.
    pub(super) offset: i64,
    pub(super) estimated_error_us: i64,
    pub(super) maximum_error_us: i64,
    /// In millionths, times 65536.
    pub(super) frequency: i64,
}

/// Asks without changing anything.
pub(super) fn steering() -> io::Result<Steering> {
    // SAFETY: all zeros is a `timex` that changes nothing.
    let mut requested: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer leads to a `timex`, and its modes are 0: the kernel only writes to it.
    let state = checked(unsafe { libc::adjtimex(&raw mut requested) })?;
    Ok(Steering {
        state,
        status: requested.status,
        offset: requested.offset,
        estimated_error_us: requested.esterror,
        maximum_error_us: requested.maxerror,
        frequency: requested.freq,
    })
}

/// The resolution of the monotonic clock's timers: a nanosecond, or a tick where the kernel has no
/// high-resolution timers.
pub(super) fn timer_resolution_ns() -> io::Result<i64> {
    let mut found = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer leads to a `timespec`.
    checked(unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &raw mut found) })?;
    Ok(found.tv_sec.saturating_mul(1_000_000_000).saturating_add(found.tv_nsec))
}

/// The hypervisor's signature. Valid only where the processor reports a hypervisor.
#[cfg(target_arch = "x86_64")]
pub(super) fn hypervisor() -> Option<String> {
    /// The first leaf that belongs to hypervisors; its twelve bytes are a name.
    const NAME: u32 = 0x4000_0000;
    let leaf = core::arch::x86_64::__cpuid(NAME);
    let bytes: Vec<u8> =
        [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|part| part.to_le_bytes()).collect();
    let name = String::from_utf8_lossy(&bytes).trim_matches('\0').trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Other processors have no such name.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn hypervisor() -> Option<String> {
    None
}

/// The test process's exit code for success: it never executes a program.
const MADE: i32 = libc::ECANCELED;

/// Tries to make the namespaces that a testbed is made of, in a process that ends at once. With
/// `user` among them none of this needs a permission.
pub(super) fn try_namespaces(user: bool) -> io::Result<()> {
    let wanted =
        libc::CLONE_NEWNET | libc::CLONE_NEWNS | if user { libc::CLONE_NEWUSER } else { 0 };
    let mut command = Command::new("/nothing");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and the end of the process one system call is made, nothing is allocated
    // and no lock is taken.
    unsafe {
        command.pre_exec(move || {
            checked(libc::unshare(wanted))?;
            Err(io::Error::from_raw_os_error(MADE))
        });
    }
    match command.spawn() {
        Err(error) if error.raw_os_error() == Some(MADE) => Ok(()),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::other("a process that was to end did not")),
    }
}
