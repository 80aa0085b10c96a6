//! Giving one connection what was declared: connects, writes header and payload, ends its half, and reads the answer.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trustbed_units::{Ns, Span};

use super::acknowledged;
use super::declared::{ByRole, Connection, Nonce};
use super::header::{Answer, Header, LENGTH};
use super::rows::{self, Answered, Close, Ended, Row};
use crate::clock;
use crate::kernel::Poll;
use crate::net::attend::Start;
use crate::net::open_streams::OpenStreams;
use crate::net::pace::{Pace, Pacer};
use crate::net::socket::{self, TcpOptions};
use crate::talk::Stop;

/// How late it may be noticed that a connection which does not move is out of time.
const LOOK: Duration = Duration::from_secs(1);
/// How long the receiver may take to close behind its answer.
const CLOSE: Span = Span::from_secs(1);

/// What the threads of a sender share.
#[derive(Debug)]
pub(super) struct Giver {
    pub(super) round: u64,
    pub(super) nonce: Nonce,
    pub(super) from: IpAddr,
    pub(super) to: ByRole<Option<SocketAddr>>,
    pub(super) options: ByRole<TcpOptions>,
    pub(super) rate_bits_per_second: Option<u64>,
    pub(super) connect_timeout: Span,
    pub(super) transfer_timeout: Span,
    /// What is written again and again.
    pub(super) payload: Vec<u8>,
    pub(super) open: OpenStreams,
    pub(super) written: AtomicU64,
    pub(super) stop: Stop,
}

impl Giver {
    /// One connection from beginning to end.
    pub(super) fn give(&self, number: usize, declared: &Connection, start: &Start) -> Row {
        let mut row = Row::new(declared, Close::Stopped, "");
        row.begun_ns = Some(start.elapsed().0);
        row.peer = *self.to.of(declared.role);
        let outcome = self.connect(&mut row, declared, start).and_then(|stream| {
            row.look_at(&stream);
            let end = clock::monotonic() + self.transfer_timeout;
            let outcome =
                Given { giver: self, declared, stream: &stream, row: &mut row, start, end }
                    .converse(number);
            row.tcp = socket::tcp_info(&stream);
            outcome
        });
        row.judge(outcome.map_err(|ended| match row.receiver {
            // The receiver's word stands, whatever happened here meanwhile.
            None if self.stop.is_asked() => Ended::new(Close::Stopped, "the end was asked for"),
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
            .connect(to, from, self.connect_timeout, self.stop)
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

/// A connection that stands.
struct Given<'a> {
    giver: &'a Giver,
    declared: &'a Connection,
    stream: &'a TcpStream,
    row: &'a mut Row,
    start: &'a Start,
    /// When its time is over.
    end: Ns,
}

impl Given<'_> {
    /// Everything between the handshake and the end.
    fn converse(&mut self, number: usize) -> Result<(), Ended> {
        let (giver, stream) = (self.giver, self.stream);
        let look = Duration::from_nanos(giver.transfer_timeout.0.max(1).unsigned_abs()).min(LOOK);
        let prepared =
            stream.set_read_timeout(Some(look)).and_then(|()| stream.set_write_timeout(Some(look)));
        let _entry = prepared
            .and_then(|()| giver.open.add(number, stream))
            .map_err(|error| Ended::broken(&error))?;
        let written = self.write_all();
        let ended = written.and_then(|()| end_half(stream).map_err(|error| Ended::broken(&error)));
        // Whoever breaks a connection off may have said why before.
        let answer = self.answer(ended.is_err());
        if self.row.payload_bytes == self.declared.bytes {
            let stamp =
                acknowledged::last(stream).map(|stamp| self.start.offset.to_monotonic(stamp));
            self.row.acknowledged_ns = stamp.map(|stamp| rows::since(self.start, stamp));
            self.row.snd_bytes_per_second =
                rows::rate(self.declared.bytes, self.row.first_byte_ns, self.row.acknowledged_ns);
        }
        match answer {
            Ok(answer) => self.believe(&answer),
            Err(unanswered) => Err(ended.err().unwrap_or(unanswered)),
        }
    }

    /// Writes the header and behind it the payload, as one: a header with a segment to itself would be one more than is measured.
    fn write_all(&mut self) -> Result<(), Ended> {
        let Connection { pair, role, bytes } = *self.declared;
        let header =
            Header { round: self.giver.round, pair, role, bytes, nonce: self.giver.nonce }.write();
        let mut header = header.as_slice();
        let payload = self.giver.payload.as_slice();
        let mut pacer = Pacer::new(self.giver.rate_bits_per_second.map(Pace::at_rate));
        while self.row.payload_bytes < bytes {
            let left = bytes - self.row.payload_bytes;
            let room = pacer.piece(payload.len()).min(usize::try_from(left).unwrap_or(usize::MAX));
            if room as u64 == left {
                // Without a stamp there is no `snd`, and everything else is the same.
                let _ = acknowledged::ask(self.stream);
            }
            self.row.first_byte_ns.get_or_insert_with(|| self.start.elapsed().0);
            let mut stream = self.stream;
            let written = stream.write_vectored(&[
                IoSlice::new(header),
                IoSlice::new(payload.get(..room).unwrap_or_default()),
            ]);
            let now = clock::monotonic();
            if self.giver.stop.is_asked() {
                return Err(Ended::new(Close::Stopped, "the end was asked for"));
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
                let _ = Poll::new(&[self.giver.stop.descriptor()])
                    .wait(Some(pause.min(self.end - now)));
            }
        }
        Ok(())
    }

    fn on_written(&mut self, payload: u64, now: Ns) {
        if payload > 0 {
            self.row.payload_bytes += payload;
            self.row.last_byte_ns = Some(rows::since(self.start, now));
            self.giver.written.fetch_add(payload, Ordering::Relaxed);
        }
    }

    /// Reads the answer until the receiver closes. Where the connection broke, only what has come.
    fn answer(&mut self, is_broken: bool) -> Result<Answer, Ended> {
        let mut bytes = [0; LENGTH + 1];
        let (mut come, mut stream, mut end) = (0, self.stream, self.end);
        if is_broken {
            stream.set_nonblocking(true).map_err(|error| Ended::broken(&error))?;
        }
        let ended = loop {
            match stream.read(bytes.get_mut(come..).unwrap_or_default()) {
                Ok(0) => {
                    break Ended::new(Close::Unanswered, "the receiver ended without an answer");
                }
                Ok(length) => come += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && !is_broken => {}
                Err(error) => break Ended::broken(&error),
            }
            let now = clock::monotonic();
            if come >= LENGTH && self.row.result_ns.is_none() {
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
            Some(answer) if come == LENGTH => Answer::read(answer)
                .map_err(|_| Ended::new(Close::Unanswered, "what the receiver said is no answer")),
            _ if come > LENGTH => {
                Err(Ended::new(Close::Unanswered, "the receiver said more than an answer"))
            }
            _ => Err(ended),
        }
    }

    /// Holds an answer against what was given.
    fn believe(&mut self, answer: &Answer) -> Result<(), Ended> {
        let Connection { pair, role, bytes } = *self.declared;
        if (answer.round, answer.pair, answer.role) != (self.giver.round, pair, role) {
            return Err(Ended::new(Close::Unanswered, "the answer is of another connection"));
        }
        if answer.bytes > self.row.payload_bytes
            || (answer.close == Close::Complete && answer.bytes != bytes)
        {
            let failure = format!(
                "the receiver says {} bytes of {}, which cannot be",
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

/// Ends the own half. Of a connection that was broken off just before the kernel only says that it is none.
fn end_half(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write).map_err(|error| match error.kind() {
        ErrorKind::NotConnected => ErrorKind::ConnectionReset.into(),
        _ => error,
    })
}
