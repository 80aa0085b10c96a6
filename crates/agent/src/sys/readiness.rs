//! Which of many descriptors are ready: epoll(7), each known by a number; level-triggered, unless
//! only changes are of interest.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;
use trustbed_units::Span;

use super::socket::timespec;

/// More that are ready come with the next wait.
const AT_ONCE: usize = 256;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Something to read, or the end.
    Read,
    /// Room to write.
    Write,
    /// Both, once after every change (edge-triggered).
    Changes,
}

/// One descriptor that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ready {
    /// The number it was added with.
    pub(crate) number: u64,
}

/// A set of descriptors that are waited for.
#[derive(Debug)]
pub(crate) struct Readiness {
    epoll: OwnedFd,
}

impl Readiness {
    /// An empty set.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Waits for a descriptor from now on.
    pub(crate) fn add(&self, what: &impl AsFd, number: u64, interest: Interest) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, what, epoll::EventData::new_u64(number), flags(interest))?)
    }

    /// No longer.
    pub(crate) fn remove(&self, what: &impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, what)?)
    }

    /// Those that are ready, at most for a time; none of them when it passed or a signal came.
    pub(crate) fn wait(&self, timeout: Option<Span>) -> io::Result<Vec<Ready>> {
        let timeout = timeout.map(timespec);
        let mut events = [const { MaybeUninit::uninit() }; AT_ONCE];
        match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            Ok((events, _)) => {
                Ok(events.iter().map(|event| Ready { number: event.data.u64() }).collect())
            }
            Err(rustix::io::Errno::INTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Readable while any descriptor of the set is ready: for a wait that is more exact than
    /// epoll's own.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

fn flags(interest: Interest) -> epoll::EventFlags {
    match interest {
        Interest::Read => epoll::EventFlags::IN | epoll::EventFlags::RDHUP,
        Interest::Write => epoll::EventFlags::OUT,
        Interest::Changes => {
            epoll::EventFlags::IN
                | epoll::EventFlags::OUT
                | epoll::EventFlags::RDHUP
                | epoll::EventFlags::ET
        }
    }
}
