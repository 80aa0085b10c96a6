//! The end of privileges: once the socket and the file are open, nothing that a frame does to the
//! process can be done with more rights than those of an ordinary user.

#![expect(unsafe_code, reason = "the standard library gives up no privileges")]

use std::io;

use super::User;

/// Version 3 of the capability interface: two words of 32 capabilities each (capget(2)).
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Capabilities {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up every privilege for good: a process of root becomes one of `user`, without other
/// groups; every capability goes, no program that is started later gets any (`no_new_privs`), and
/// the kernel refuses what a capture never does, such as starting one. Without a `user` a process
/// of root stays root's, without capabilities. Threads that are there change their user and keep
/// capabilities that were not root's: call it before others are started.
///
/// Where root has no other users, as in some namespaces, it stays root without capabilities.
///
/// # Errors
///
/// What the kernel refuses; the privileges may then be there in part.
pub fn give_up_privileges(user: Option<User>) -> io::Result<()> {
    // SAFETY: takes numbers only.
    done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    // SAFETY: takes nothing.
    if let Some(user) = user
        && unsafe { libc::geteuid() } == 0
    {
        becomes(user)?;
    }
    give_up_capabilities()?;
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    super::system_calls::refuse()?;
    Ok(())
}

/// Gives up every capability of the calling thread, for good unless it is root's and starts a
/// program; threads that it starts have none either. Others keep theirs.
///
/// # Errors
///
/// What the kernel refuses.
pub fn give_up_capabilities() -> io::Result<()> {
    // Kernels without ambient capabilities have none to clear.
    // SAFETY: takes numbers only.
    let _ = unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) };
    let header = Header { version: VERSION, pid: 0 };
    let none = [Capabilities { effective: 0, permitted: 0, inheritable: 0 }; 2];
    // SAFETY: both are laid out as capset(2) states, and live until it returns.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A process of root becomes one of `user`, with all its threads.
fn becomes(user: User) -> io::Result<()> {
    // A user namespace may forbid it; the groups are then those of who made it.
    // SAFETY: no groups are read where there are none.
    let groups = done(unsafe { libc::setgroups(0, std::ptr::null()) });
    if let Err(error) = groups
        && error.raw_os_error() != Some(libc::EPERM)
    {
        return Err(error);
    }
    let User { uid, gid } = user;
    // SAFETY: both take numbers only.
    let changed = done(unsafe { libc::setresgid(gid, gid, gid) })
        .and_then(|()| done(unsafe { libc::setresuid(uid, uid, uid) }));
    match changed {
        // A user namespace without such a user.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        other => other,
    }
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
