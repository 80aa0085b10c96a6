//! One request and its response.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use trustbed_units::Span;

use super::body::{self, Framing, Head, NotUnderstood};
use super::object;
use crate::session::workers::Start;

/// What is read at once.
const PIECE: usize = 64 << 10;
/// How long a server may take to close a connection that is not used again.
const FAREWELL: Duration = Duration::from_secs(1);

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    Refused,
    Unreachable,
    TimedOut,
    Reset,
    /// The connection ended before the answer did.
    ClosedEarly,
    /// The response is not HTTP.
    NotUnderstood,
    /// The response is not the requested object.
    WrongContent,
    /// Stop was requested.
    Stopped,
    Other,
}

impl Fault {
    /// All of them, in the order of their codes.
    #[cfg(test)]
    pub(super) const ALL: [Self; 9] = [
        Self::Refused,
        Self::Unreachable,
        Self::TimedOut,
        Self::Reset,
        Self::ClosedEarly,
        Self::NotUnderstood,
        Self::WrongContent,
        Self::Stopped,
        Self::Other,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed_out",
            Self::Reset => "reset",
            Self::ClosedEarly => "closed_early",
            Self::NotUnderstood => "not_understood",
            Self::WrongContent => "wrong_content",
            Self::Stopped => "stopped",
            Self::Other => "other",
        }
    }

    /// Its code in rows; 0 is none.
    pub(super) const fn code(self) -> i64 {
        self as i64 + 1
    }

    pub(super) fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => Self::Unreachable,
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::TimedOut,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted => Self::Reset,
            io::ErrorKind::UnexpectedEof => Self::ClosedEarly,
            io::ErrorKind::Interrupted => Self::Stopped,
            _ => Self::Other,
        }
    }
}

impl From<NotUnderstood> for Fault {
    fn from(_: NotUnderstood) -> Self {
        Self::NotUnderstood
    }
}

/// A request and the expected object.
#[derive(Debug, Clone)]
pub(super) struct Request {
    /// The request as it is sent.
    pub(super) head: Vec<u8>,
    /// How long the object should be.
    pub(super) bytes: Option<u64>,
    /// Whether its bytes should be those of the verb `serve`.
    pub(super) check: bool,
}

/// An exchange, as far as it got. Times count from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Exchange {
    /// When the request was given to the connection.
    pub(super) sent: Option<Span>,
    pub(super) first_byte: Option<Span>,
    pub(super) last_byte: Option<Span>,
    pub(super) status: Option<u16>,
    /// Of the content.
    pub(super) bytes: u64,
    /// Whether another request may follow on the connection.
    pub(super) keep: bool,
    /// Whether the content is not what it should be.
    wrong: bool,
}

/// Reads an answer piece by piece.
struct Reading<'a> {
    stream: &'a TcpStream,
    start: &'a Start,
    until: Span,
    piece: Vec<u8>,
}

/// Sends the request and reads the response, up to a deadline after the start. `exchange` has what
/// is known of it also after a failure.
pub(super) fn ask(
    stream: &TcpStream,
    request: &Request,
    (start, until): (&Start, Span),
    exchange: &mut Exchange,
) -> Result<(), Fault> {
    let mut reading = Reading { stream, start, until, piece: vec![0; PIECE] };
    stream.set_write_timeout(Some(reading.left()?)).map_err(|error| Fault::of(&error))?;
    exchange.sent = Some(start.elapsed());
    let mut out = stream;
    out.write_all(&request.head).map_err(|error| Fault::of(&error))?;
    let mut head = Vec::new();
    let answer = loop {
        match body::read_head(&head)? {
            // An answer before the answer (RFC 9110, section 15.2).
            Some(early) if early.status < 200 => {
                head.drain(..early.length.min(head.len()));
                continue;
            }
            Some(answer) => break answer,
            None => {}
        }
        let (length, at) = reading.next()?;
        if length == 0 {
            return Err(Fault::ClosedEarly);
        }
        exchange.first_byte.get_or_insert(at);
        exchange.last_byte = Some(at);
        head.extend_from_slice(reading.piece.get(..length).unwrap_or_default());
    };
    exchange.status = Some(answer.status);
    exchange.keep = answer.keep;
    let beginning = head.split_off(answer.length.min(head.len()));
    content(&mut reading, answer, &beginning, request, exchange)?;
    let as_long = request.bytes.is_none_or(|bytes| bytes == exchange.bytes);
    if answered(exchange) && (exchange.wrong || !as_long) {
        Err(Fault::WrongContent)
    } else {
        Ok(())
    }
}

/// Whether there was an answer, and it was not an error.
pub(super) fn answered(exchange: &Exchange) -> bool {
    exchange.status.is_some_and(|status| (200..300).contains(&status))
}

/// Reads the content to its end.
fn content(
    reading: &mut Reading<'_>,
    answer: Head,
    beginning: &[u8],
    request: &Request,
    exchange: &mut Exchange,
) -> Result<(), Fault> {
    let mut framing = answer.framing;
    let see = |data: &[u8], exchange: &mut Exchange| {
        exchange.wrong |= request.check && !object::matches(data, exchange.bytes);
        exchange.bytes += data.len() as u64;
    };
    let mut part = beginning.to_vec();
    loop {
        let done = match &mut framing {
            Framing::Length(length) => {
                see(&part, exchange);
                if exchange.bytes > *length {
                    // More than was announced: what follows is no answer to anything.
                    return Err(Fault::NotUnderstood);
                }
                exchange.bytes == *length
            }
            Framing::Chunked(chunks) => chunks.take(&part, |data| see(data, exchange))?,
            Framing::Close => {
                see(&part, exchange);
                false
            }
        };
        if done {
            return Ok(());
        }
        let (length, at) = reading.next()?;
        if length == 0 {
            return if framing == Framing::Close { Ok(()) } else { Err(Fault::ClosedEarly) };
        }
        exchange.last_byte = Some(at);
        part.clear();
        part.extend_from_slice(reading.piece.get(..length).unwrap_or_default());
    }
}

impl Reading<'_> {
    /// What is left of the time.
    fn left(&self) -> Result<Duration, Fault> {
        let left = self.until - self.start.elapsed();
        if left.0 > 0 {
            Ok(Duration::from_nanos(left.0.unsigned_abs()))
        } else {
            Err(Fault::TimedOut)
        }
    }

    /// The next bytes, and when they were there; none at the end of the connection.
    fn next(&mut self) -> Result<(usize, Span), Fault> {
        loop {
            self.stream.set_read_timeout(Some(self.left()?)).map_err(|error| Fault::of(&error))?;
            match self.stream.read(&mut self.piece) {
                Ok(length) => return Ok((length, self.start.elapsed())),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Fault::of(&error)),
            }
        }
    }
}

/// Waits for the server to close a connection that is not used again: who closes first keeps the
/// port for a minute.
pub(super) fn leave(mut stream: &TcpStream) {
    if stream.set_read_timeout(Some(FAREWELL)).is_ok() {
        // The connection is closed afterwards in any case.
        let _ = stream.read(&mut [0; 16]);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::session::Started;

    #[test]
    fn a_request_past_its_deadline_is_not_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (start, mut exchange) = (Start::of(Started { at: None }), Exchange::default());
        let request = Request {
            head: b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(),
            bytes: None,
            check: false,
        };
        // Connecting, or a connection that broke, took all.
        assert_eq!(ask(&stream, &request, (&start, Span(-1)), &mut exchange), Err(Fault::TimedOut));
        assert_eq!(exchange, Exchange::default());
    }
}
