//! Who may come in: connections of one peer that show what was declared, each once.
//!
//! Headers are read here, as they come and without waiting for any of them: whoever is slow, or never says anything, holds up nobody. Of
//! those that have said nothing yet [`MOST_WAITING`] are kept; when more come, the oldest has to go: a sender of pairs says its header
//! with its first segment. Whoever is refused is reset, so that a flood leaves nothing behind in the kernel, and learns nothing but that.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use trustbed_units::{Ns, Span};

use super::declared::{ByRole, Connection, Role};
use super::header::LENGTH;
use super::roll::{Reason, Refused, Roll};
use crate::clock;
use crate::net::readiness::{Interest, Readiness};
use crate::talk::Stop;

/// Connections that have not shown their header yet.
const MOST_WAITING: usize = 256;
/// Those that are accepted of one port before others are looked at.
const AT_ONCE: usize = 64;
/// Numbers of what is waited for: the stop, the ports, and from then on connections.
const STOP: u64 = 0;
const FIRST_CONNECTION: u64 = 3;

/// A connection that may go on.
#[derive(Debug)]
pub(super) struct Come {
    /// Its place among the declared, and what was.
    pub(super) number: usize,
    pub(super) declared: Connection,
    pub(super) stream: TcpStream,
    pub(super) accepted: Ns,
}

/// A connection whose header is not complete.
#[derive(Debug)]
struct Waiting {
    stream: TcpStream,
    port: Role,
    accepted: Ns,
    header: [u8; LENGTH],
    read: usize,
}

/// The ports, and whoever stands before them. Again and again [`Door::turn`], until [`Door::is_done`].
#[derive(Debug)]
pub(super) struct Door {
    listeners: ByRole<Option<TcpListener>>,
    peer: IpAddr,
    header_timeout: Span,
    roll: Roll,
    readiness: Readiness,
    /// By number, and so by age.
    waiting: BTreeMap<u64, Waiting>,
    next: u64,
    refused: Refused,
}

impl Door {
    pub(super) fn open(
        listeners: ByRole<Option<TcpListener>>,
        peer: IpAddr,
        header_timeout: Span,
        roll: Roll,
        stop: Stop,
    ) -> io::Result<Self> {
        let readiness = Readiness::new()?;
        readiness.add(&stop.descriptor(), STOP, Interest::Read)?;
        for (role, number) in Role::BOTH.into_iter().zip(STOP + 1..) {
            if let Some(listener) = listeners.of(role) {
                readiness.add(listener, number, Interest::Read)?;
            }
        }
        let (waiting, next, refused) = (BTreeMap::new(), FIRST_CONNECTION, Refused::default());
        Ok(Self { listeners, peer, header_timeout, roll, readiness, waiting, next, refused })
    }

    /// Whether everything declared has come.
    pub(super) fn is_done(&self) -> bool {
        self.roll.is_done()
    }

    /// What was refused, at the end. Whoever still waits is refused as well.
    pub(super) fn close(mut self) -> Refused {
        for waiting in std::mem::take(&mut self.waiting).into_values() {
            self.refuse(&waiting.stream, Reason::NoHeader);
        }
        self.refused
    }

    /// Waits until something happens, at most for a time, and says who has come in.
    ///
    /// # Errors
    /// The kernel does not let it wait: nobody comes in any more.
    pub(super) fn turn(&mut self, most: Span) -> io::Result<Vec<Come>> {
        let mut come = Vec::new();
        for ready in self.readiness.wait(Some(most))? {
            match ready.number {
                STOP => {}
                number if number < FIRST_CONNECTION => {
                    let role = if number == STOP + 1 { Role::Probe } else { Role::Data };
                    self.accept_all(role, &mut come);
                }
                number => self.go_on(number, &mut come),
            }
        }
        let now = clock::monotonic();
        while let Some(oldest) = self
            .waiting
            .first_entry()
            .filter(|oldest| now - oldest.get().accepted > self.header_timeout)
        {
            let waiting = oldest.remove();
            self.refuse(&waiting.stream, Reason::NoHeader);
        }
        Ok(come)
    }

    fn accept_all(&mut self, port: Role, come: &mut Vec<Come>) {
        for _ in 0..AT_ONCE {
            let Some(listener) = self.listeners.of(port) else { return };
            match listener.accept() {
                Ok((stream, from)) => self.on_accepted(stream, from, port, come),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.refused.error(&error.to_string());
                    // Without files to spare, trying again at once would only keep a core busy.
                    std::thread::sleep(Duration::from_millis(10));
                    return;
                }
            }
        }
    }

    fn on_accepted(
        &mut self,
        stream: TcpStream,
        from: SocketAddr,
        port: Role,
        come: &mut Vec<Come>,
    ) {
        let accepted = clock::monotonic();
        if from.ip() != self.peer {
            return self.refuse(&stream, Reason::OtherPeer);
        }
        let number = self.next;
        self.next += 1;
        let added = stream
            .set_nonblocking(true)
            .and_then(|()| self.readiness.add(&stream, number, Interest::Read));
        if let Err(error) = added {
            return self.refused.error(&error.to_string());
        }
        if self.waiting.len() >= MOST_WAITING
            && let Some((_, oldest)) = self.waiting.pop_first()
        {
            self.refuse(&oldest.stream, Reason::PushedOut);
        }
        self.waiting
            .insert(number, Waiting { stream, port, accepted, header: [0; LENGTH], read: 0 });
        self.go_on(number, come);
    }

    /// Reads what is there of a header, and nothing behind it.
    fn go_on(&mut self, number: u64, come: &mut Vec<Come>) {
        let Some(waiting) = self.waiting.get_mut(&number) else { return };
        let outcome = loop {
            match (&waiting.stream).read(&mut waiting.header[waiting.read..]) {
                Ok(0) => break Err(Reason::CutHeader),
                Ok(more) => waiting.read += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break Err(Reason::CutHeader),
            }
            if waiting.read == LENGTH {
                break self.roll.admit(&waiting.header, waiting.port);
            }
        };
        let Some(Waiting { stream, accepted, .. }) = self.waiting.remove(&number) else { return };
        // It is not waited for here any more, whoever has it; one that was reset is forgotten by itself.
        let _ = self.readiness.remove(&stream);
        match outcome {
            Ok((number, declared)) => come.push(Come { number, declared, stream, accepted }),
            Err(reason) => self.refuse(&stream, reason),
        }
    }

    fn refuse(&mut self, stream: &TcpStream, reason: Reason) {
        // Closing then resets. Where that fails it only ends.
        let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
        self.refused.count(reason);
    }
}
