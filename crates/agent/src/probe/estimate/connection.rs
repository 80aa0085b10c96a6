//! The TCP connection between the two sides: requests of the sender, arrivals from the receiver.
//!
//! The receiver reads no more than a request at a time and stores one answer; a client that does
//! not greet promptly, or violates the protocol, is disconnected.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use serde::Serialize;
use socket2::{SockRef, TcpKeepalive};
use trustbed_units::{Ns, Span};

use super::wire::{Arrivals, GREETING, REQUEST, Request, greeting};
use crate::session::{Failure, Stop};
use crate::sys::clock;
use crate::sys::kernel::Poll;
use crate::sys::socket::{self, TcpOptions, unusable};

/// So long a greeting may take.
const GREETING_TIME: Span = Span::from_secs(5);
/// So long connecting may take, and the answer to a greeting.
const CONNECT_TIME: Span = Span::from_secs(10);
/// So long an answer may take beyond what the receiver waits.
const ANSWER_TIME: Span = Span::from_secs(20);
/// So much longer an answer waits while packets wait in the socket.
const FLOOD_TIME: Span = Span::from_secs(1);
/// Connections that are taken before anything else has its turn.
const TURN: usize = 16;

/// What became of those who connected.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Served {
    /// Those who greeted as they should.
    senders: u64,
    answered_requests: u64,
    other_peer_connections: u64,
    /// While another one was there.
    busy_connections: u64,
    /// Another nonce, or no greeting at all.
    refused_greetings: u64,
    silent_connections: u64,
    /// Requests that cannot be, and answers that were not taken.
    broken_connections: u64,
    /// Connections that could not be accepted, and why the first one.
    accept_errors: u64,
    accept_error: Option<String>,
}

/// The receiver's end. In this order: [`accept`](Self::accept), [`read`](Self::read),
/// [`request_to_answer`](Self::request_to_answer), [`answer`](Self::answer).
#[derive(Debug)]
pub(super) struct Serving {
    peer: IpAddr,
    nonce: u64,
    session: Option<Session>,
    counts: Served,
}

/// The connected sender.
#[derive(Debug)]
struct Session {
    stream: TcpStream,
    begun: Ns,
    greeted: bool,
    /// The received part of the next request.
    read: [u8; REQUEST],
    filled: usize,
    /// What was requested and has no answer yet, and when it will have one.
    open: Option<(Request, Ns)>,
}

/// How a session went on.
enum Turn {
    Goes,
    Ended,
    Refused,
    Broken,
}

impl Serving {
    pub(super) fn new(peer: IpAddr, nonce: u64) -> Self {
        Self { peer, nonce, session: None, counts: Served::default() }
    }

    pub(super) const fn counts(&self) -> &Served {
        &self.counts
    }

    /// Whether there is a sender.
    pub(super) fn has_greeted(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.greeted)
    }

    /// What to wait for; nothing while an answer is due: the sender waits.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.session
            .as_ref()
            .filter(|session| session.open.is_none())
            .map(|session| session.stream.as_fd())
    }

    /// When something is to be done though nothing comes.
    pub(super) fn due(&self) -> Option<Ns> {
        let session = self.session.as_ref()?;
        session
            .open
            .map(|(_, due)| due)
            .or_else(|| (!session.greeted).then(|| session.begun + GREETING_TIME))
    }

    /// Takes those who connect: one of the peer's, if there is none yet.
    pub(super) fn accept(&mut self, listener: &TcpListener) {
        for _ in 0..TURN {
            match listener.accept() {
                Ok((_, from)) if from.ip() != self.peer => self.counts.other_peer_connections += 1,
                Ok(_) if self.session.is_some() => self.counts.busy_connections += 1,
                Ok((stream, _)) => match Session::new(stream) {
                    Ok(session) => self.session = Some(session),
                    Err(error) => self.on_accept_error(&error),
                },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.on_accept_error(&error);
                    return;
                }
            }
        }
    }

    fn on_accept_error(&mut self, error: &io::Error) {
        self.counts.accept_errors += 1;
        self.counts.accept_error.get_or_insert_with(|| error.to_string());
        // Without files to spare, trying again at once would only keep a core busy.
        std::thread::sleep(Duration::from_millis(10));
    }

    /// Reads from the sender.
    pub(super) fn read(&mut self) {
        let Some(session) = &mut self.session else { return };
        let before = session.greeted;
        let turn = session.read(self.nonce);
        self.counts.senders += u64::from(!before && session.greeted);
        match turn {
            Turn::Goes
                if !session.greeted && clock::monotonic() >= session.begun + GREETING_TIME =>
            {
                self.counts.silent_connections += 1;
            }
            Turn::Goes => return,
            Turn::Ended => {}
            Turn::Refused => self.counts.refused_greetings += 1,
            Turn::Broken => self.counts.broken_connections += 1,
        }
        self.session = None;
    }

    /// The request to answer now: because all packets have arrived, or because its patience is
    /// over. While `more` packets wait, what is missing may be among them; in a flood, it is not
    /// waited for longer than a moment.
    pub(super) fn request_to_answer(
        &self,
        now: Ns,
        more: bool,
        is_whole: impl Fn(Request) -> bool,
    ) -> Option<Request> {
        let (request, due) = self.session.as_ref()?.open?;
        let due = if more { due + FLOOD_TIME } else { due };
        (now >= due || is_whole(request)).then_some(request)
    }

    /// Answers it; whether that could be done.
    pub(super) fn answer(&mut self, arrivals: &Arrivals) -> bool {
        let Some(session) = &mut self.session else { return false };
        session.open = None;
        let bytes = arrivals.bytes();
        // The socket has room for many answers; one who does not take them gets no more.
        let taken = session.stream.write(&bytes).is_ok_and(|written| written == bytes.len());
        if taken {
            self.counts.answered_requests += 1;
        } else {
            self.counts.broken_connections += 1;
            self.session = None;
        }
        taken
    }
}

impl Session {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        // A sender that vanished makes room after half a minute.
        let alive = TcpKeepalive::new()
            .with_time(Duration::from_secs(15))
            .with_interval(Duration::from_secs(5))
            .with_retries(3);
        SockRef::from(&stream).set_tcp_keepalive(&alive)?;
        Ok(Self {
            stream,
            begun: clock::monotonic(),
            greeted: false,
            read: [0; REQUEST],
            filled: 0,
            open: None,
        })
    }

    fn read(&mut self, nonce: u64) -> Turn {
        while self.open.is_none() {
            match self.stream.read(self.read.get_mut(self.filled..).unwrap_or_default()) {
                Ok(0) => return Turn::Ended,
                Ok(length) => self.filled += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Turn::Goes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Turn::Ended,
            }
            if self.filled < REQUEST {
                continue;
            }
            self.filled = 0;
            if self.greeted {
                let Some(request) = Request::read(&self.read) else { return Turn::Broken };
                self.open = Some((request, clock::monotonic() + request.patience));
            } else {
                if self.read != greeting(nonce) {
                    return Turn::Refused;
                }
                self.greeted = true;
                if !self.stream.write(&GREETING).is_ok_and(|written| written == GREETING.len()) {
                    return Turn::Broken;
                }
            }
        }
        Turn::Goes
    }
}

/// The sender's end.
#[derive(Debug)]
pub(super) struct Asking {
    stream: TcpStream,
    stop: Stop,
}

impl Asking {
    /// Connects and greets.
    ///
    /// # Errors
    /// The network's error, or no answer to the greeting; also when stop is requested meanwhile.
    pub(super) fn connect(
        to: SocketAddr,
        from: Option<IpAddr>,
        nonce: u64,
        stop: Stop,
    ) -> Result<Self, Failure> {
        let failed = |error: io::Error| unusable("cannot connect to", to, &error);
        let from = from.map(|from| SocketAddr::new(from, 0));
        let stream = TcpOptions::default().connect(to, from, CONNECT_TIME, stop).map_err(failed)?;
        stream.set_nonblocking(true).map_err(failed)?;
        let mut asking = Self { stream, stop };
        asking.write(&greeting(nonce)).map_err(failed)?;
        let mut answer = [0; GREETING.len()];
        let greeted = asking.read(&mut answer, clock::monotonic() + CONNECT_TIME);
        if greeted.is_ok() && answer == GREETING {
            return Ok(asking);
        }
        let why = greeted
            .err()
            .map_or_else(|| "it is no receiver of estimates".to_owned(), |error| error.to_string());
        let hint = "the receiver must have been started, with this peer and this nonce, and not \
            be serving another sender";
        Err(Failure::running(
            format!("the receiver at {to} does not answer the greeting: {why}"),
            hint,
        ))
    }

    /// Requests the arrivals of a run.
    ///
    /// # Errors
    /// That the connection ended, that nothing comes, or that stop is requested
    /// (`Interrupted`).
    pub(super) fn ask(&mut self, request: Request) -> io::Result<Arrivals> {
        self.write(&request.bytes())?;
        let mut bytes = vec![0; Arrivals::length(request.packets as usize)];
        self.read(&mut bytes, clock::monotonic() + request.patience + ANSWER_TIME)?;
        // The acknowledgement leaves now and not within the next run.
        socket::set_quick_ack(&self.stream, true)?;
        let wrong =
            || io::Error::new(io::ErrorKind::InvalidData, "its answer does not match the request");
        Arrivals::read(&bytes, request).ok_or_else(wrong)
    }

    /// Requests are small and have an answer before the next: there is always room.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.stream.write(bytes)?;
        if written == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    fn read(&mut self, bytes: &mut [u8], until: Ns) -> io::Result<()> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.stream.read(bytes.get_mut(filled..).unwrap_or_default()) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "it has ended the connection",
                    ));
                }
                Ok(length) => filled += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.stop.is_requested() {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    let left = until - clock::monotonic();
                    if left <= Span::ZERO {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    Poll::new(&[self.stream.as_fd(), self.stop.descriptor()]).wait(Some(left))?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
