//! Accepts the connections of a round: those of one peer that show a declared header, each once.
//!
//! Headers are read as they arrive, without waiting for any: a slow or silent client delays no
//! other. At most [`MOST_WAITING`] connections wait for their header; a new one pushes out the
//! oldest: a sender of pairs has its header in its first segment. A refused connection is reset, so
//! that a flood leaves no state in the kernel, and learns nothing else.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use trustbed_units::{Ns, Span};

use super::admission::{Admission, Reason, Refused};
use super::declared::{ByRole, Connection, Role};
use super::header::LENGTH;
use crate::session::Stop;
use crate::sys::clock;
use crate::sys::readiness::{Interest, Readiness};

/// Connections that have not shown their header yet.
const MOST_WAITING: usize = 256;
/// Those that are accepted of one port before others are read.
const AT_ONCE: usize = 64;
/// Numbers of what is waited for: the stop, the ports, and from then on connections.
const STOP: u64 = 0;
const FIRST_CONNECTION: u64 = 3;

/// An admitted connection.
#[derive(Debug)]
pub(super) struct Admitted {
    /// Its index among the declared connections, and its declaration.
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

/// The ports, and connections without a complete header. Call [`Acceptor::turn`] until
/// [`Acceptor::is_done`].
#[derive(Debug)]
pub(super) struct Acceptor {
    listeners: ByRole<Option<TcpListener>>,
    peer: IpAddr,
    header_timeout: Span,
    admission: Admission,
    readiness: Readiness,
    /// By number, and so by age.
    waiting: BTreeMap<u64, Waiting>,
    next: u64,
    refused: Refused,
}

impl Acceptor {
    pub(super) fn open(
        listeners: ByRole<Option<TcpListener>>,
        peer: IpAddr,
        header_timeout: Span,
        admission: Admission,
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
        Ok(Self { listeners, peer, header_timeout, admission, readiness, waiting, next, refused })
    }

    /// Whether every declared connection was admitted.
    pub(super) fn is_done(&self) -> bool {
        self.admission.is_done()
    }

    /// The refused connections, at the end; those that still wait are refused as well.
    pub(super) fn close(mut self) -> Refused {
        for waiting in std::mem::take(&mut self.waiting).into_values() {
            self.refuse(&waiting.stream, Reason::NoHeader);
        }
        self.refused
    }

    /// Waits until something happens, at most until a moment; the connections that are admitted.
    ///
    /// # Errors
    /// The kernel refuses to wait: no more connections can be admitted.
    pub(super) fn turn(&mut self, end: Ns) -> io::Result<Vec<Admitted>> {
        let mut admitted = Vec::new();
        let oldest = self.waiting.first_key_value().map(|(_, one)| one.accepted);
        // A millisecond later, since it is refused once the timeout has passed.
        let timeout = oldest.map(|at| at + self.header_timeout + Span::from_millis(1));
        let left = timeout.map_or(end, |due| due.min(end)) - clock::monotonic();
        for ready in self.readiness.wait(Some(left.max(Span::ZERO)))? {
            match ready.number {
                STOP => {}
                number if number < FIRST_CONNECTION => {
                    let role = if number == STOP + 1 { Role::Probe } else { Role::Data };
                    self.accept_all(role, &mut admitted);
                }
                number => self.go_on(number, &mut admitted),
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
        Ok(admitted)
    }

    fn accept_all(&mut self, port: Role, admitted: &mut Vec<Admitted>) {
        for _ in 0..AT_ONCE {
            let Some(listener) = self.listeners.of(port) else { return };
            match listener.accept() {
                Ok((stream, from)) => self.on_accepted(stream, from, port, admitted),
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
        admitted: &mut Vec<Admitted>,
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
        self.go_on(number, admitted);
    }

    /// Reads what is there of a header, and nothing behind it.
    fn go_on(&mut self, number: u64, admitted: &mut Vec<Admitted>) {
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
                break self.admission.admit(&waiting.header, waiting.port);
            }
        };
        let Some(Waiting { stream, accepted, .. }) = self.waiting.remove(&number) else { return };
        // The epoll set forgets a connection that was reset by itself.
        let _ = self.readiness.remove(&stream);
        match outcome {
            Ok((number, declared)) => {
                admitted.push(Admitted { number, declared, stream, accepted });
            }
            Err(reason) => self.refuse(&stream, reason),
        }
    }

    fn refuse(&mut self, stream: &TcpStream, reason: Reason) {
        // Closing then resets. Where that fails, it sends a FIN.
        let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
        self.refused.count(reason);
    }
}
