//! Sends one connection: connects, writes header and payload, ends its half, and reads the answer.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use trustbed_units::{Ns, Span};

use super::acknowledged;
use super::declared::{ByRole, Connection, Nonce};
use super::header::{Answer, Header, LENGTH};
use super::rows::{self, Answered, Close, Ended, Row};
use crate::session::workers::Start;
use crate::sys::clock;
use crate::sys::socket::{self, TcpOptions};
use crate::tcp::connections::Connections;
use crate::tcp::pace::{Pace, Pacer};

/// How late it may be noticed that a connection which does not move is out of time.
const LOOK: Duration = Duration::from_secs(1);
/// How long the receiver may take to close behind its answer.
const CLOSE: Span = Span::from_secs(1);

/// Shared by the threads of a sender.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) round: u64,
    pub(super) nonce: Nonce,
    pub(super) from: IpAddr,
    pub(super) to: ByRole<Option<SocketAddr>>,
    pub(super) options: ByRole<TcpOptions>,
    pub(super) rate_bits_per_second: Option<u64>,
    pub(super) connect_timeout: Span,
    pub(super) transfer_timeout: Span,
    /// The payload, written repeatedly.
    pub(super) payload: Vec<u8>,
    pub(super) connections: Connections,
}

impl Sender {
    /// One connection from beginning to end.
    pub(super) fn send(&self, number: usize, declared: &Connection, start: &Start) -> Row {
        let mut row = Row::new(declared, Close::Stopped, "");
        row.begun_ns = Some(start.elapsed().0);
        row.peer = *self.to.of(declared.role);
        let outcome = self.connect(&mut row, declared, start).and_then(|stream| {
            row.look_at(&stream);
            let end = clock::monotonic() + self.transfer_timeout;
            let outcome =
                Exchange { sender: self, declared, stream: &stream, row: &mut row, start, end }
                    .run(number);
            row.tcp = socket::tcp_info(&stream);
            outcome
        });
        row.judge(outcome.map_err(|ended| match row.receiver {
            // The receiver's answer takes precedence over what happened here meanwhile.
            None if self.connections.stop.is_requested() => {
                Ended::new(Close::Stopped, "stop was requested")
            }
            _ => ended,
        }));
        row
    }

    fn connect(
        &self,
        row: &mut Row,
        declared: &Connection,
        start: &Start,
    ) -> Result<TcpStream, Ended> {
        let Some(to) = *self.to.of(declared.role) else {
            return Err(Ended::new(Close::Refused, "there is no port to go to"));
        };
        let from = Some(SocketAddr::new(self.from, 0));
        let stream = self
            .options
            .of(declared.role)
            .connect(to, from, self.connect_timeout, self.connections.stop)
            .map_err(|error| {
                let close = if error.kind() == ErrorKind::TimedOut {
                    Close::TimedOut
                } else {
                    Close::Refused
                };
                Ended::new(close, format!("there was no connection: {error}"))
            })?;
        row.connected_ns = Some(start.elapsed().0);
        row.connect_time_ns =
            row.connected_ns.zip(row.begun_ns).map(|(connected, begun)| connected - begun);
        Ok(stream)
    }
}

/// An established connection.
struct Exchange<'a> {
    sender: &'a Sender,
    declared: &'a Connection,
    stream: &'a TcpStream,
    row: &'a mut Row,
    start: &'a Start,
    /// When its time is over.
    end: Ns,
}

impl Exchange<'_> {
    /// Everything between the handshake and the end.
    fn run(&mut self, number: usize) -> Result<(), Ended> {
        let (sender, stream) = (self.sender, self.stream);
        let look = Duration::from_nanos(sender.transfer_timeout.0.max(1).unsigned_abs()).min(LOOK);
        let prepared =
            stream.set_read_timeout(Some(look)).and_then(|()| stream.set_write_timeout(Some(look)));
        let _entry = prepared
            .and_then(|()| sender.connections.open.add(number, stream))
            .map_err(|error| Ended::broken(&error))?;
        let written = self.write_all();
        let ended = written.and_then(|()| end_half(stream).map_err(|error| Ended::broken(&error)));
        // A peer that resets the connection may have answered before.
        let answer = self.answer(ended.is_err());
        if self.row.payload_bytes == self.declared.bytes {
            let stamp =
                acknowledged::last(stream).map(|stamp| self.start.offset.to_monotonic(stamp));
            self.row.acknowledged_ns = stamp.map(|stamp| rows::since(self.start, stamp));
            self.row.snd_bytes_per_second =
                rows::rate(self.declared.bytes, self.row.first_byte_ns, self.row.acknowledged_ns);
        }
        match answer {
            Ok(answer) => self.validate(&answer),
            Err(unanswered) => Err(ended.err().unwrap_or(unanswered)),
        }
    }

    /// Writes the header and behind it the payload, as one: a header with a segment to itself would
    /// be one more than is measured.
    fn write_all(&mut self) -> Result<(), Ended> {
        let Connection { pair, role, bytes } = *self.declared;
        let header =
            Header { round: self.sender.round, pair, role, bytes, nonce: self.sender.nonce }
                .write();
        let mut header = header.as_slice();
        let payload = self.sender.payload.as_slice();
        let mut pacer = Pacer::new(self.sender.rate_bits_per_second.map(Pace::at_rate));
        while self.row.payload_bytes < bytes {
            let left = bytes - self.row.payload_bytes;
            let room = pacer.piece(payload.len()).min(usize::try_from(left).unwrap_or(usize::MAX));
            if room as u64 == left {
                // Without a timestamp there is no `snd`, and everything else is the same.
                let _ = acknowledged::ask(self.stream);
            }
            self.row.first_byte_ns.get_or_insert_with(|| self.start.elapsed().0);
            let mut stream = self.stream;
            let written = stream.write_vectored(&[
                IoSlice::new(header),
                IoSlice::new(payload.get(..room).unwrap_or_default()),
            ]);
            let now = clock::monotonic();
            if self.sender.connections.stop.is_requested() {
                return Err(Ended::new(Close::Stopped, "stop was requested"));
            }
            let length = match written {
                Ok(length) => length,
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) =>
                {
                    0
                }
                Err(error) => return Err(Ended::broken(&error)),
            };
            let (of_header, rest) = header.split_at(length.min(header.len()));
            header = rest;
            let more = (length - of_header.len()) as u64;
            self.on_written(more, now);
            if now > self.end && self.row.payload_bytes < bytes {
                return Err(Ended::new(
                    Close::TimedOut,
                    "it was not written within transfer_timeout_ns",
                ));
            }
            if let (Some(pause), true) = (pacer.on_moved(more, now), self.row.payload_bytes < bytes)
            {
                // Where waiting fails, writing goes on at once.
                let _ = self.sender.connections.pause(pause.min(self.end - now));
            }
        }
        Ok(())
    }

    fn on_written(&mut self, payload: u64, now: Ns) {
        if payload > 0 {
            self.row.payload_bytes += payload;
            self.row.last_byte_ns = Some(rows::since(self.start, now));
            self.sender.connections.count(payload);
        }
    }

    /// Reads the answer until the receiver closes. Where the connection broke, only what has
    /// arrived.
    fn answer(&mut self, is_broken: bool) -> Result<Answer, Ended> {
        let mut bytes = [0; LENGTH + 1];
        let (mut received, mut stream, mut end) = (0, self.stream, self.end);
        if is_broken {
            stream.set_nonblocking(true).map_err(|error| Ended::broken(&error))?;
        }
        let ended = loop {
            match stream.read(bytes.get_mut(received..).unwrap_or_default()) {
                Ok(0) => {
                    break Ended::new(Close::Unanswered, "the receiver ended without an answer");
                }
                Ok(length) => received += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && !is_broken => {}
                Err(error) => break Ended::broken(&error),
            }
            let now = clock::monotonic();
            if received >= LENGTH && self.row.result_ns.is_none() {
                self.row.result_ns = Some(rows::since(self.start, now));
                end = end.min(now + CLOSE);
            }
            if now > end {
                break Ended::new(
                    Close::TimedOut,
                    "the receiver did not answer within transfer_timeout_ns",
                );
            }
        };
        match bytes.first_chunk::<LENGTH>() {
            Some(answer) if received == LENGTH => Answer::read(answer)
                .map_err(|_| Ended::new(Close::Unanswered, "the receiver's answer is malformed")),
            _ if received > LENGTH => {
                Err(Ended::new(Close::Unanswered, "the receiver sent more than an answer"))
            }
            _ => Err(ended),
        }
    }

    /// Compares the answer with what was sent.
    fn validate(&mut self, answer: &Answer) -> Result<(), Ended> {
        let Connection { pair, role, bytes } = *self.declared;
        if (answer.round, answer.pair, answer.role) != (self.sender.round, pair, role) {
            return Err(Ended::new(Close::Unanswered, "the answer is of another connection"));
        }
        if answer.bytes > self.row.payload_bytes
            || (answer.close == Close::Complete && answer.bytes != bytes)
        {
            let failure = format!(
                "the receiver claims {} bytes of {}: impossible",
                answer.bytes, self.row.payload_bytes
            );
            return Err(Ended::new(Close::Unanswered, failure));
        }
        let last = answer.last.map(|moment| moment.0);
        self.row.receiver = Some(Answered {
            close: answer.close,
            payload_bytes: answer.bytes,
            accepted_realtime_ns: answer.accepted.0,
            first_byte_realtime_ns: answer.first.map(|moment| moment.0),
            last_byte_realtime_ns: last,
        });
        self.row.app_bytes_per_second = rows::rate(answer.bytes, Some(answer.accepted.0), last);
        match answer.close {
            Close::Complete => Ok(()),
            close => Err(Ended::new(
                close,
                format!("the receiver had {} bytes when it judged", answer.bytes),
            )),
        }
    }
}

/// Ends this half. If the peer has just reset the connection, the kernel reports only that it is
/// not connected.
fn end_half(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write).map_err(|error| match error.kind() {
        ErrorKind::NotConnected => ErrorKind::ConnectionReset.into(),
        _ => error,
    })
}
