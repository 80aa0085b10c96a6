//! Who may come in: connections of one peer that show what was declared, each once.
//!
//! Headers are read here, as they come and without waiting for any of them: whoever is slow, or never says anything, holds up nobody. Of those
//! that have said nothing yet [`MOST_WAITING`] are kept; when more come, the oldest has to go: a sender of pairs says its header with its first
//! segment. Whoever is refused is reset, so that a flood leaves nothing behind in the kernel, and learns nothing but that.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use serde::Serialize;
use trustbed_units::{Ns, Span};

use super::declared::{ByRole, Connection, Nonce, Role};
use super::header::{Header, LENGTH, Unreadable};
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

/// Why a connection was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    OtherPeer,
    /// Nothing, or not enough, came within the time.
    NoHeader,
    /// It ended within its header.
    CutHeader,
    /// Others came while it said nothing.
    PushedOut,
    NotAHeader,
    OtherVersion,
    MeaninglessHeader,
    OtherNonce,
    OtherRound,
    NotDeclared,
    /// The port is that of the other role.
    OtherPort,
    OtherSize,
    Second,
}

/// How many, by reason; the errors are the kernel's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct Refused {
    other_peer: u64,
    no_header: u64,
    cut_header: u64,
    pushed_out: u64,
    not_a_header: u64,
    other_version: u64,
    meaningless_header: u64,
    other_nonce: u64,
    other_round: u64,
    not_declared: u64,
    other_port: u64,
    other_size: u64,
    second: u64,
    errors: u64,
    /// The first.
    error: Option<String>,
}

/// The declared connections, and which of them have come.
#[derive(Debug)]
pub(super) struct Roll {
    pub(super) round: u64,
    pub(super) nonce: Nonce,
    pub(super) connections: Vec<Connection>,
    pub(super) come: Vec<bool>,
}

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

impl Refused {
    fn count(&mut self, reason: Reason) {
        *match reason {
            Reason::OtherPeer => &mut self.other_peer,
            Reason::NoHeader => &mut self.no_header,
            Reason::CutHeader => &mut self.cut_header,
            Reason::PushedOut => &mut self.pushed_out,
            Reason::NotAHeader => &mut self.not_a_header,
            Reason::OtherVersion => &mut self.other_version,
            Reason::MeaninglessHeader => &mut self.meaningless_header,
            Reason::OtherNonce => &mut self.other_nonce,
            Reason::OtherRound => &mut self.other_round,
            Reason::NotDeclared => &mut self.not_declared,
            Reason::OtherPort => &mut self.other_port,
            Reason::OtherSize => &mut self.other_size,
            Reason::Second => &mut self.second,
        } += 1;
    }

    pub(super) fn error(&mut self, error: &str) {
        self.errors += 1;
        self.error.get_or_insert_with(|| error.to_owned());
    }
}

impl Roll {
    pub(super) fn new(round: u64, nonce: Nonce, connections: Vec<Connection>) -> Self {
        let come = vec![false; connections.len()];
        Self { round, nonce, connections, come }
    }

    /// Which connection shows this header, at the port of a role; it has come from now on.
    fn admit(&mut self, bytes: &[u8; LENGTH], port: Role) -> Result<(usize, Connection), Reason> {
        let header = Header::read(bytes).map_err(|unreadable| match unreadable {
            Unreadable::Foreign => Reason::NotAHeader,
            Unreadable::OtherVersion => Reason::OtherVersion,
            Unreadable::Meaningless => Reason::MeaninglessHeader,
        })?;
        if header.nonce != self.nonce {
            return Err(Reason::OtherNonce);
        }
        if header.round != self.round {
            return Err(Reason::OtherRound);
        }
        let mut all = self.connections.iter().copied().enumerate();
        let is_it = |(_, one): &(usize, Connection)| (one.pair, one.role) == (header.pair, header.role);
        let (number, declared) = all.find(is_it).ok_or(Reason::NotDeclared)?;
        if header.role != port {
            return Err(Reason::OtherPort);
        }
        if header.bytes != declared.bytes {
            return Err(Reason::OtherSize);
        }
        match self.come.get_mut(number) {
            Some(come) if !*come => *come = true,
            _ => return Err(Reason::Second),
        }
        Ok((number, declared))
    }
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
        self.roll.come.iter().all(|come| *come)
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
        while let Some(oldest) = self.waiting.first_entry().filter(|oldest| now - oldest.get().accepted > self.header_timeout) {
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
                Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted) => {}
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

    fn on_accepted(&mut self, stream: TcpStream, from: SocketAddr, port: Role, come: &mut Vec<Come>) {
        let accepted = clock::monotonic();
        if from.ip() != self.peer {
            return self.refuse(&stream, Reason::OtherPeer);
        }
        let number = self.next;
        self.next += 1;
        let added = stream.set_nonblocking(true).and_then(|()| self.readiness.add(&stream, number, Interest::Read));
        if let Err(error) = added {
            return self.refused.error(&error.to_string());
        }
        if self.waiting.len() >= MOST_WAITING
            && let Some((_, oldest)) = self.waiting.pop_first()
        {
            self.refuse(&oldest.stream, Reason::PushedOut);
        }
        self.waiting.insert(number, Waiting { stream, port, accepted, header: [0; LENGTH], read: 0 });
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

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: Nonce = Nonce(5);

    fn roll() -> Roll {
        let one = |pair, role, bytes| Connection { pair, role, bytes };
        Roll::new(7, NONCE, vec![one(0, Role::Probe, 10), one(0, Role::Data, 20), one(4, Role::Data, 30)])
    }

    #[test]
    fn what_was_declared_comes_in_once() {
        let mut roll = roll();
        let third = roll.connections[2];
        let header = Header { round: 7, pair: 4, role: Role::Data, bytes: 30, nonce: NONCE };
        assert_eq!(roll.admit(&header.write(), Role::Data), Ok((2, third)));
        assert_eq!(roll.admit(&header.write(), Role::Data), Err(Reason::Second));
        assert_eq!(roll.come, [false, false, true]);
    }

    #[test]
    fn whatever_differs_is_refused_for_its_reason_and_changes_nothing() {
        let mut roll = roll();
        let header = Header { round: 7, pair: 0, role: Role::Data, bytes: 20, nonce: NONCE };
        let cases = [
            (Header { nonce: Nonce(4), round: 8, ..header }, Role::Data, Reason::OtherNonce),
            (Header { round: 8, ..header }, Role::Data, Reason::OtherRound),
            (Header { pair: 1, ..header }, Role::Data, Reason::NotDeclared),
            (Header { pair: 4, role: Role::Probe, ..header }, Role::Probe, Reason::NotDeclared),
            (header, Role::Probe, Reason::OtherPort),
            (Header { bytes: 21, ..header }, Role::Data, Reason::OtherSize),
        ];
        for (wrong, port, reason) in cases {
            assert_eq!(roll.admit(&wrong.write(), port), Err(reason));
        }
        let mut version = header.write();
        version[9] = 2;
        let mut meaningless = header.write();
        meaningless[63] = 1;
        for (bytes, reason) in
            [([0; LENGTH], Reason::NotAHeader), (version, Reason::OtherVersion), (meaningless, Reason::MeaninglessHeader)]
        {
            assert_eq!(roll.admit(&bytes, Role::Data), Err(reason));
        }
        assert_eq!(roll.come, [false; 3]);
        assert_eq!(roll.admit(&header.write(), Role::Data).map(|(number, _)| number), Ok(1));
    }
}
