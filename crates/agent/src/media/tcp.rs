//! A stream over TCP: the packets one after the other on a connection.
//!
//! A packet is dated when it is given to the connection: what a full send buffer holds back is
//! dated later, so that delays can be underestimated by the time that the server waited.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use trustbed_units::Ns;

use super::packet::{HEADER, Header, Kind};
use super::receive::{Ended, Receiving};
use super::reception::Reception;
use super::send::Streamed;
use super::stream::{Part, Stream};
use crate::session::Stop;
use crate::session::workers::span;
use crate::sys::clock::{self, Offset};
use crate::sys::socket;

/// What is read at once.
const PIECE: usize = 64 << 10;
/// How long either end may take for its part of the beginning and the end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Receives a stream until its server ends the connection.
pub(super) fn receive(receiving: &Receiving, reception: &mut Reception) -> Ended {
    let configuration = &receiving.configuration;
    let from = configuration.from.map(|origin| origin.0);
    let timeout = span(configuration.answer_timeout_ns);
    let stream = match configuration.tcp.connect(configuration.to, from, timeout, receiving.stop) {
        Ok(stream) => stream,
        Err(error) => return Ended { error: Some(error.to_string()), ..Ended::default() },
    };
    let granted = Some(socket::granted(&stream));
    let outcome =
        receiving.open.add(0, &stream).and_then(|_entry| read_all(&stream, receiving, reception));
    Ended { dropped: None, granted, error: outcome.err().map(|error| error.to_string()) }
}

fn read_all(
    mut stream: &TcpStream,
    receiving: &Receiving,
    reception: &mut Reception,
) -> io::Result<()> {
    let sent = Ns(receiving.start.elapsed().0);
    stream.write_all(&Header::control(Kind::Request, receiving.number, sent).bytes())?;
    let (mut come, mut piece) = (Vec::new(), vec![0; PIECE]);
    loop {
        let length = match stream.read(&mut piece) {
            Ok(0) if come.is_empty() => return Ok(()),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let now = receiving.start.elapsed();
        come.extend_from_slice(piece.get(..length).unwrap_or_default());
        let mut begin = 0;
        while let Some(rest) = come.get(begin..).filter(|rest| rest.len() >= HEADER) {
            let header = Header::read(rest).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "the peer sends no media stream")
            })?;
            if rest.len() < usize::from(header.length) {
                break;
            }
            begin += usize::from(header.length);
            reception.on_packet(&header, now);
        }
        come.drain(..begin);
        receiving.on_progress(reception);
    }
}

/// Serves one connection to the end of its stream.
pub(super) fn serve(connection: &TcpStream, stream: Stream, stop: Stop) -> Option<Streamed> {
    let mut about = Streamed::of(connection.peer_addr().ok()?);
    if let Err(error) = send_all(connection, stream, stop, &mut about) {
        about.error = (!stop.is_requested()).then(|| error.to_string());
    }
    Some(about)
}

fn send_all(
    mut connection: &TcpStream,
    stream: Stream,
    stop: Stop,
    about: &mut Streamed,
) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    let mut request = [0; HEADER];
    connection.read_exact(&mut request)?;
    let request = Header::read(&request)
        .filter(|header| header.kind == Kind::Request)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the client requests nothing"))?;
    let (begun, offset) = (clock::monotonic(), Offset::measure());
    let mut message = Vec::new();
    for frame in 0..stream.frames {
        let due = begun + stream.due(frame);
        if !stop.wait_until(due) {
            return Ok(());
        }
        let now = clock::monotonic();
        about.on_frame(now - due);
        message.clear();
        for part in 0..stream.parts(frame) {
            let at = Part { frame, part };
            let bytes = stream.part_bytes(at);
            let header = Header {
                kind: Kind::Media,
                transmission: 0,
                at,
                parts: stream.parts(frame),
                length: u16::try_from(bytes).unwrap_or(u16::MAX),
                stream: request.stream,
                sent: offset.to_realtime(now),
            };
            let end = message.len() + bytes;
            message.extend_from_slice(&header.bytes());
            message.resize(end, 0);
            about.on_packet(bytes, 0, None);
        }
        connection.write_all(&message)?;
    }
    connection.shutdown(Shutdown::Write)?;
    // The client ends when it has everything. If it does not, the kernel still sends the rest.
    let _ = connection.read(&mut [0; HEADER]);
    Ok(())
}
