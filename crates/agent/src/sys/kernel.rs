//! System calls that every verb needs: clocks, sleeping, waiting for descriptors, scheduling,
//! signals.
//!
//! All arguments and results are numbers, descriptors or moments of which every value is legal.
//! System calls of one verb (packet sockets, namespaces) are in a file of that verb.
#![expect(unsafe_code, reason = "clocks, scheduling and signals are reached by system calls only")]

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_int, c_ulong};
use trustbed_units::{Ns, Span};

const SECOND: i64 = 1_000_000_000;

/// The clocks that are read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClockId {
    /// Never set; its zero means nothing.
    Monotonic,
    /// Since the beginning of 1970; may be stepped.
    Realtime,
    /// What the calling thread has used of a processor.
    Thread,
}

impl ClockId {
    const fn number(self) -> libc::clockid_t {
        match self {
            Self::Monotonic => libc::CLOCK_MONOTONIC,
            Self::Realtime => libc::CLOCK_REALTIME,
            Self::Thread => libc::CLOCK_THREAD_CPUTIME_ID,
        }
    }
}

/// What a clock shows.
#[inline]
pub(crate) fn read_clock(clock: ClockId) -> Ns {
    let mut found = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer leads to a `timespec`. The clocks of `ClockId` exist on every Linux, so
    // the call cannot fail.
    unsafe { libc::clock_gettime(clock.number(), &raw mut found) };
    Ns(found.tv_sec * SECOND + found.tv_nsec)
}

/// What all threads of a process have used of processors; none when it has ended.
pub(crate) fn process_time(process: i32) -> Option<Span> {
    let mut clock: libc::clockid_t = 0;
    let mut found = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointers lead to a clock's number and a `timespec`; numbers of processes that are
    // not there are refused.
    let is_known = unsafe {
        libc::clock_getcpuclockid(process, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut found) == 0
    };
    is_known.then(|| Span(found.tv_sec * SECOND + found.tv_nsec))
}

/// Sleeps until a moment of the monotonic clock; signals do not wake it before.
pub(crate) fn sleep_until(due: Ns) {
    let due = timespec(due.0);
    // SAFETY: the pointer leads to a `timespec`, and with `TIMER_ABSTIME` nothing is written back.
    while unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const due,
            std::ptr::null_mut(),
        )
    } == libc::EINTR
    {}
}

const fn timespec(nanoseconds: i64) -> libc::timespec {
    let nanoseconds = if nanoseconds < 0 { 0 } else { nanoseconds };
    libc::timespec { tv_sec: nanoseconds / SECOND, tv_nsec: nanoseconds % SECOND }
}

/// Descriptors that are waited for until one can be read.
pub(crate) struct Poll<'a> {
    descriptors: Vec<libc::pollfd>,
    borrowed: PhantomData<BorrowedFd<'a>>,
}

impl<'a> Poll<'a> {
    /// Waits for these, which are numbered in this order.
    pub(crate) fn new(descriptors: &[BorrowedFd<'a>]) -> Self {
        let descriptors = descriptors
            .iter()
            .map(|one| libc::pollfd { fd: one.as_raw_fd(), events: libc::POLLIN, revents: 0 })
            .collect();
        Self { descriptors, borrowed: PhantomData }
    }

    /// Waits until one can be read or has an error, at most for a time (none: for ever). How many
    /// do; 0 also when a signal came.
    pub(crate) fn wait(&mut self, timeout: Option<Span>) -> io::Result<usize> {
        let timeout = timeout.map(|span| timespec(span.0));
        let pointer = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let count = self.descriptors.len() as libc::nfds_t;
        // SAFETY: as many descriptors are there as are stated, the timeout is a `timespec` or none,
        // and no mask of signals is passed.
        let result =
            unsafe { libc::ppoll(self.descriptors.as_mut_ptr(), count, pointer, std::ptr::null()) };
        if result < 0 {
            let error = io::Error::last_os_error();
            self.descriptors.iter_mut().for_each(|one| one.revents = 0);
            return if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) };
        }
        Ok(usize::try_from(result).unwrap_or(0))
    }

    /// Whether the descriptor of a number can be read, or has an error that reading will show.
    #[inline]
    pub(crate) fn is_ready(&self, number: usize) -> bool {
        self.descriptors.get(number).is_some_and(|one| one.revents != 0)
    }
}

/// Has the calling thread's timers expire when they are due instead of up to 50 µs later.
pub(crate) fn tighten_timers() -> io::Result<()> {
    // SAFETY: no pointers are passed.
    checked(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as c_ulong) }).map(|_| ())
}

/// Has SIGTERM sent to this program when the thread that started it ends. Standard input ends then
/// as well; this covers a parent that passed it on.
pub(crate) fn end_with_parent() -> io::Result<()> {
    // SAFETY: no pointers are passed.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM as c_ulong) }).map(|_| ())
}

/// Puts the calling thread into the real-time class (first in, first out) with a priority.
pub(crate) fn schedule_fifo(priority: i32) -> io::Result<()> {
    schedule(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority)
}

/// Puts the calling thread back among all others.
pub(crate) fn schedule_normal() -> io::Result<()> {
    schedule(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0)
}

fn schedule(policy: c_int, priority: c_int) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer leads to a `sched_param`; 0 is the calling thread.
    checked(unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) }).map(|_| ())
}

/// The class in which the calling thread is scheduled, as sched(7) names it; none where the kernel
/// has one that it does not.
pub(crate) fn scheduling_class() -> Option<&'static str> {
    // SAFETY: no pointers are passed; 0 is the calling thread.
    match unsafe { libc::sched_getscheduler(0) } & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_OTHER => Some("other"),
        libc::SCHED_FIFO => Some("fifo"),
        libc::SCHED_RR => Some("rr"),
        libc::SCHED_BATCH => Some("batch"),
        libc::SCHED_IDLE => Some("idle"),
        libc::SCHED_DEADLINE => Some("deadline"),
        _ => None,
    }
}

/// A counter with a descriptor (eventfd): readable from a signal until it is cleared.
#[derive(Debug)]
pub(crate) struct Event(OwnedFd);

impl Event {
    /// An event that is not signalled yet.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let number = checked(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: the descriptor is new, and nothing else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(number) }))
    }

    /// Makes it readable. Async-signal-safe: it writes to a descriptor.
    pub(crate) fn signal(&self) {
        let one = 1_u64;
        // SAFETY: the pointer leads to the eight bytes that an eventfd takes. A full counter
        // refuses them, and is readable already.
        let _ =
            unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }

    /// Makes it unreadable until the next signal.
    pub(crate) fn clear(&self) {
        let mut count = 0_u64;
        // SAFETY: the pointer leads to the eight bytes that an eventfd gives. One that is clear
        // refuses to be read.
        let _ =
            unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
    }

    /// What to wait for.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A descriptor that is readable from a moment of the monotonic clock on (timerfd). Unlike a
/// timeout of `poll`, it does not end later when the process was stopped meanwhile.
pub(crate) fn timer(due: Ns) -> io::Result<OwnedFd> {
    // SAFETY: no pointers are passed.
    let number =
        checked(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) })?;
    // SAFETY: the descriptor is new, and nothing else owns it.
    let timer = unsafe { OwnedFd::from_raw_fd(number) };
    // A value of zero would disarm the timer.
    let setting = libc::itimerspec { it_interval: timespec(0), it_value: timespec(due.0.max(1)) };
    // SAFETY: the pointer leads to an `itimerspec`; the old setting is not requested.
    checked(unsafe {
        libc::timerfd_settime(
            timer.as_raw_fd(),
            libc::TFD_TIMER_ABSTIME,
            &raw const setting,
            std::ptr::null_mut(),
        )
    })?;
    Ok(timer)
}

static STOP_REQUESTED: AtomicBool = AtomicBool::new(false);
/// Signalled once stop is requested, and never cleared.
static STOP_EVENT: OnceLock<Event> = OnceLock::new();

/// Whether stop is requested.
#[inline]
pub(crate) fn stop_is_requested() -> bool {
    STOP_REQUESTED.load(Ordering::Relaxed)
}

/// Requests stop. Async-signal-safe: it stores, and writes to a descriptor.
pub(crate) fn request_stop() {
    STOP_REQUESTED.store(true, Ordering::Release);
    if let Some(event) = STOP_EVENT.get() {
        event.signal();
    }
}

/// The stop event's descriptor: readable once stop is requested, and from then on.
pub(crate) fn stop_event() -> io::Result<BorrowedFd<'static>> {
    if STOP_EVENT.get().is_none() {
        // Where another thread was faster, this one is closed again.
        let _ = STOP_EVENT.set(Event::new()?);
    }
    STOP_EVENT.get().map(Event::descriptor).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

extern "C" fn on_signal(_number: c_int) {
    // SAFETY: the address is that of the calling thread's error number, which whatever was
    // interrupted may be about to read.
    let kept = unsafe { *libc::__errno_location() };
    request_stop();
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = kept };
}

/// From now on SIGINT and SIGTERM request stop. Programs that are run from here have the usual
/// handlers again.
pub(crate) fn stop_on_signals() -> io::Result<()> {
    for number in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: all zeros is a `sigaction` without flags and with an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_signal as extern "C" fn(c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler only does what is permitted in one, and the old action is not asked
        // for.
        checked(unsafe { libc::sigaction(number, &raw const action, std::ptr::null_mut()) })?;
    }
    Ok(())
}

/// An interface's name as the kernel takes it in an `ifreq`: zeros behind it.
///
/// # Errors
/// `ENODEV`, as the kernel reports of a missing interface, for an impossible name.
pub(crate) fn interface_name(name: &str) -> io::Result<[u8; libc::IFNAMSIZ]> {
    let mut found = [0; libc::IFNAMSIZ];
    // The last byte stays zero: it ends the name.
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains('\0') {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    found[..name.len()].copy_from_slice(name.as_bytes());
    Ok(found)
}

/// What a call answered, or why it failed.
pub(crate) fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
