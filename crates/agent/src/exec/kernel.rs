//! System calls without safe wrappers: signalfd, and the steps between fork and exec.

#![expect(
    unsafe_code,
    reason = "signal masks, signalfd and the steps between fork and exec are reached by raw \
        system calls only"
)]

use std::ffi::OsString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use super::terminal::Terminal;

/// What is waited for. SIGTTOU is blocked besides, so that the terminal can be taken back.
const AWAITED: [Signal; 8] = [
    Signal::CHILD,
    Signal::TERM,
    Signal::INT,
    Signal::QUIT,
    Signal::HUP,
    Signal::USR1,
    Signal::USR2,
    Signal::CONT,
];

/// Blocked signals that arrive at a descriptor.
#[derive(Debug)]
pub(super) struct Signals(OwnedFd);

/// Why a wait ended.
#[derive(Debug, Default)]
pub(super) struct Woken {
    /// The signals received.
    pub(super) signals: Vec<Signal>,
    /// The other end of the control socket is closed.
    pub(super) hung_up: bool,
}

impl Signals {
    /// Blocks them in this process, which has one thread.
    pub(super) fn open() -> io::Result<Self> {
        let awaited = set_of(&AWAITED);
        let mut blocked = awaited;
        // SAFETY: both sets were initialised by `set_of`; the last argument may be null.
        unsafe {
            libc::sigaddset(&raw mut blocked, libc::SIGTTOU);
            if libc::sigprocmask(libc::SIG_BLOCK, &raw const blocked, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        // SAFETY: the set is initialised, and -1 asks for a new descriptor.
        let number = unsafe {
            libc::signalfd(-1, &raw const awaited, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(number) }))
    }

    /// Waits for signals, for the end of the control socket, or for the time.
    pub(super) fn wait(
        &self,
        control: Option<BorrowedFd<'_>>,
        timeout: Option<Duration>,
    ) -> io::Result<Woken> {
        let mut polled = vec![PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
        polled.extend(
            control
                .map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN | PollFlags::RDHUP)),
        );
        let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // Nothing is sent to us on the control socket: readable means end.
        let hung_up = polled.get(1).is_some_and(|socket| !socket.revents().is_empty());
        Ok(Woken { signals: self.read()?, hung_up })
    }

    fn read(&self) -> io::Result<Vec<Signal>> {
        let mut found = Vec::new();
        loop {
            let mut one = MaybeUninit::<libc::signalfd_siginfo>::uninit();
            let size = size_of::<libc::signalfd_siginfo>();
            // SAFETY: the buffer has room for one record, which is what the kernel writes or
            // nothing.
            let length = unsafe { libc::read(self.0.as_raw_fd(), one.as_mut_ptr().cast(), size) };
            if length < 0 {
                let error = io::Error::last_os_error();
                match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(found),
                    io::ErrorKind::Interrupted => continue,
                    _ => return Err(error),
                }
            }
            // SAFETY: the kernel has written a whole record.
            let number = unsafe { one.assume_init() }.ssi_signo;
            found.extend(
                AWAITED.iter().copied().find(|signal| u32::try_from(signal.as_raw()) == Ok(number)),
            );
        }
    }
}

fn set_of(signals: &[Signal]) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set, sigaddset gets numbers of existing signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
        }
        set.assume_init()
    }
}

/// Takes over a descriptor that we were started with. None if it is not open.
pub(super) fn take_descriptor(number: i32) -> Option<OwnedFd> {
    // SAFETY: asking for the flags of a number does no harm; setting close-on-exec keeps it from
    // the command.
    let is_open = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == 0;
    // SAFETY: it is open, above the standard streams, and nothing was opened in this process
    // before.
    is_open.then(|| unsafe { OwnedFd::from_raw_fd(number) })
}

/// SIGTERM when the parent dies, or has died already.
pub(super) fn end_with_parent() -> rustix::io::Result<()> {
    let parent = rustix::process::getppid();
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    if rustix::process::getppid() != parent {
        // Too late for the signal.
        rustix::process::kill_process(rustix::process::getpid(), Signal::TERM)?;
    }
    Ok(())
}

/// Becomes the command; returns only if that fails.
pub(super) fn become_command(words: &[OsString]) -> io::Error {
    Command::new(&words[0]).args(&words[1..]).exec()
}

/// Starts the command in a group of its own, which holds the terminal if there is one, and dies
/// with us.
pub(super) fn start(words: &[OsString], terminal: Option<&Terminal>) -> io::Result<Pid> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).process_group(0);
    let terminal = terminal.map(|terminal| terminal.descriptor().as_raw_fd());
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only system calls are made, nothing is allocated and no lock is
    // taken.
    unsafe {
        command.pre_exec(move || between_fork_and_exec(parent, terminal));
    }
    // The standard library gives SIGPIPE back its meaning.
    let child = command.spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn between_fork_and_exec(parent: Pid, terminal: Option<i32>) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != Some(parent) {
        return Err(Errno::SRCH.into());
    }
    let taken = terminal.map_or(Ok(()), take_terminal);
    // SAFETY: the set is made here. What waits for signals has blocked them, and a command would
    // inherit that: SIGTERM would not end it.
    unsafe {
        let none = set_of(&[]);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
    taken
}

fn take_terminal(terminal: i32) -> io::Result<()> {
    let group = rustix::process::getpid();
    // SAFETY: the descriptor is open in the parent until after the start, so it is here. A set made
    // by `set_of` is blocked while the new group, which does not hold the terminal yet, takes it,
    // and unblocked again.
    unsafe {
        let only = set_of(&[Signal::TTOU]);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const only, std::ptr::null_mut());
        let taken = rustix::termios::tcsetpgrp(BorrowedFd::borrow_raw(terminal), group);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
        Ok(taken?)
    }
}
