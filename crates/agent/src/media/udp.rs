//! A stream over UDP: the two loops that wait for datagrams and for the next frame.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use trustbed_units::{Ns, Span};

use super::packet::{self, Header, Kind, MOST_MISSING};
use super::receive::{Ended, Receiving};
use super::reception::Reception;
use super::send::Streamed;
use super::stream::{Part, Stream};
use crate::session::Stop;
use crate::session::workers::span;
use crate::sys::clock::{self, Offset};
use crate::sys::kernel::{self, Poll};
use crate::sys::socket;

/// Between two requests of a client.
const REQUEST_AGAIN: Span = Span::from_millis(200);
/// With nothing for so long behind its end, a stream is over.
const SILENCE: Span = Span::from_secs(2);
/// Datagrams that are taken before frames have their turn.
const TURN: usize = 256;
const LARGEST: usize = 2048;
/// Streams that are reported.
const MOST_STREAMS: usize = 1000;

/// Receives a stream until it is over.
pub(super) fn receive(receiving: &Receiving, reception: &mut Reception) -> Ended {
    let configuration = &receiving.configuration;
    let from = configuration.from.map(|origin| origin.0);
    let socket = match socket::datagrams_to(configuration.to, from, None) {
        Ok(socket) => socket,
        Err(failure) => return Ended { error: Some(failure.to_string()), ..Ended::default() },
    };
    // Where this fails, the thread wakes up to 50 µs later.
    let _ = kernel::tighten_timers();
    let error = Client { receiving, socket: &socket, requested: None, refused: None }
        .run(reception)
        .err()
        .map(|error| error.to_string());
    Ended { dropped: socket::drops(&socket), granted: None, error }
}

struct Client<'a> {
    receiving: &'a Receiving,
    socket: &'a UdpSocket,
    /// When the stream was requested last.
    requested: Option<Span>,
    /// What the network reported of a request.
    refused: Option<io::Error>,
}

impl Client<'_> {
    fn run(&mut self, reception: &mut Reception) -> io::Result<()> {
        let (start, stop) = (&self.receiving.start, self.receiving.stop);
        let timeout = span(self.receiving.configuration.answer_timeout_ns);
        while !stop.is_requested() && !reception.is_complete() {
            let now = start.elapsed();
            if reception.over_at(SILENCE).is_some_and(|over| now >= over) {
                break;
            }
            if !reception.has_begun() {
                if now >= timeout {
                    return self.refused.take().map_or(Ok(()), Err);
                }
                if self.requested.is_none_or(|requested| now >= requested + REQUEST_AGAIN) {
                    self.requested = Some(now);
                    self.send(&self.control(Kind::Request))?;
                }
            }
            for missing in reception.poll(now).chunks(MOST_MISSING) {
                self.send(&packet::report(self.receiving.number, self.stamp(), missing))?;
            }
            let request =
                self.requested.filter(|_| !reception.has_begun()).map(|at| at + REQUEST_AGAIN);
            let due = request
                .into_iter()
                .chain(reception.next_wakeup())
                .chain(reception.over_at(SILENCE))
                .min();
            let left = due.map(|due| (due - start.elapsed()).max(Span::ZERO));
            let descriptors = [self.socket.as_fd(), stop.descriptor()];
            if Poll::new(&descriptors).wait(left)? > 0 {
                self.take(reception)?;
            }
        }
        // It only spares the server some work.
        self.send(&self.control(Kind::End))
    }

    /// Now, in the time that the server returns.
    fn stamp(&self) -> Ns {
        Ns(self.receiving.start.elapsed().0)
    }

    fn control(&self, kind: Kind) -> [u8; packet::HEADER] {
        Header::control(kind, self.receiving.number, self.stamp()).bytes()
    }

    /// Sends a message. That nobody listens yet, or that there is no room, is as if it were lost.
    fn send(&self, message: &[u8]) -> io::Result<()> {
        match self.socket.send(message) {
            Err(error) if !is_passing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn take(&mut self, reception: &mut Reception) -> io::Result<()> {
        let mut message = [0; LARGEST];
        for _ in 0..TURN {
            match self.socket.recv(&mut message) {
                Ok(length) => {
                    let now = self.receiving.start.elapsed();
                    let message = message.get(..length).unwrap_or_default();
                    self.on_message(message, now, reception);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_passing(&error) => self.refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        self.receiving.on_progress(reception);
        Ok(())
    }

    fn on_message(&self, message: &[u8], now: Span, reception: &mut Reception) {
        let Some(header) = Header::read(message) else { return };
        let is_whole = usize::from(header.length) == message.len();
        match header.kind {
            Kind::Accepted if header.stream == self.receiving.number && !reception.knows_rtt() => {
                reception.on_round_trip(now - Span(header.sent.0));
            }
            Kind::Media if is_whole => reception.on_packet(&header, now),
            _ => {}
        }
    }
}

/// Whether an error is of one datagram, and the next may succeed.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::WouldBlock
            | io::ErrorKind::Interrupted
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}

/// Serves streams, one after the other, until stop is requested.
pub(super) fn serve(socket: &UdpSocket, stream: Stream, stop: Stop) -> (Vec<Streamed>, u64) {
    let _ = kernel::tighten_timers();
    let mut server = Server { socket, stream, serving: None, served: Vec::new(), refused: 0 };
    while !stop.is_requested() {
        let left = server.next_due().map(|due| (due - clock::monotonic()).max(Span::ZERO));
        let descriptors = [socket.as_fd(), stop.descriptor()];
        // Where waiting fails, the loop goes on: frames are sent when they are due.
        if Poll::new(&descriptors).wait(left).is_ok_and(|ready| ready > 0) {
            server.take();
        }
        server.send_due();
    }
    server.finish();
    (server.served, server.refused)
}

struct Server<'a> {
    socket: &'a UdpSocket,
    stream: Stream,
    serving: Option<Serving>,
    served: Vec<Streamed>,
    /// Requests while another stream was sent.
    refused: u64,
}

struct Serving {
    peer: SocketAddr,
    number: u32,
    begun: Ns,
    offset: Offset,
    next: u32,
    /// How often a part was retransmitted.
    again: BTreeMap<Part, u8>,
    about: Streamed,
}

impl Server<'_> {
    fn next_due(&self) -> Option<Ns> {
        let serving = self.serving.as_ref()?;
        (serving.next < self.stream.frames).then(|| serving.begun + self.stream.due(serving.next))
    }

    fn take(&mut self) {
        let mut message = [0; LARGEST];
        for _ in 0..TURN {
            match self.socket.recv_from(&mut message) {
                Ok((length, peer)) => {
                    self.on_message(message.get(..length).unwrap_or_default(), peer);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Nothing waits, or the error concerns an earlier packet.
                Err(_) => break,
            }
        }
    }

    fn on_message(&mut self, message: &[u8], peer: SocketAddr) {
        let Some(header) = Header::read(message) else { return };
        let is_own = self
            .serving
            .as_ref()
            .is_some_and(|serving| (serving.peer, serving.number) == (peer, header.stream));
        match header.kind {
            Kind::Request => self.on_request(&header, peer, is_own),
            Kind::Missing if is_own => {
                for at in packet::missing(message) {
                    self.retransmit(at);
                }
            }
            Kind::End if is_own => self.finish(),
            _ => {}
        }
    }

    fn on_request(&mut self, header: &Header, peer: SocketAddr, is_own: bool) {
        if !is_own {
            if self.next_due().is_some() {
                self.refused += 1;
                return;
            }
            self.finish();
            self.serving = Some(Serving {
                peer,
                number: header.stream,
                begun: clock::monotonic(),
                offset: Offset::measure(),
                next: 0,
                again: BTreeMap::new(),
                about: Streamed::of(peer),
            });
        }
        let accepted = Header { kind: Kind::Accepted, ..*header }.bytes();
        // One that is lost is requested again.
        let _ = self.socket.send_to(&accepted, peer);
    }

    fn send_due(&mut self) {
        while let Some(due) = self.next_due() {
            let now = clock::monotonic();
            if now < due {
                break;
            }
            let stream = self.stream;
            let Some(serving) = &mut self.serving else { break };
            let frame = serving.next;
            serving.next += 1;
            serving.about.on_frame(now - due);
            for part in 0..stream.parts(frame) {
                serving.send(self.socket, stream, Part { frame, part }, 0);
            }
        }
    }

    fn retransmit(&mut self, at: Part) {
        let stream = self.stream;
        let Some(serving) = &mut self.serving else { return };
        if stream.has(at) && at.frame < serving.next {
            let times = serving.again.entry(at).or_default();
            *times = times.saturating_add(1);
            let transmission = *times;
            serving.send(self.socket, stream, at, transmission);
        }
    }

    fn finish(&mut self) {
        if let Some(serving) = self.serving.take()
            && self.served.len() < MOST_STREAMS
        {
            self.served.push(serving.about);
        }
    }
}

impl Serving {
    fn send(&mut self, socket: &UdpSocket, stream: Stream, at: Part, transmission: u8) {
        let mut message = vec![0; stream.part_bytes(at)];
        let header = Header {
            kind: Kind::Media,
            transmission,
            at,
            parts: stream.parts(at.frame),
            length: u16::try_from(message.len()).unwrap_or(u16::MAX),
            stream: self.number,
            sent: self.offset.to_realtime(clock::monotonic()),
        };
        if let Some(begin) = message.first_chunk_mut() {
            *begin = header.bytes();
        }
        let outcome = socket.send_to(&message, self.peer);
        self.about.on_packet(message.len(), transmission, outcome.err().as_ref());
    }
}
