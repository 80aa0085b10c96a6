//! One generated TCP connection: both of its ends, and what is still to be written at each.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use trustbed_traffic::structural::{Conversation, Session, Side};
use trustbed_units::Span;

use crate::sys::socket::hold_window;

/// What is written: nobody reads it.
static FILLER: [u8; 64 << 10] = [0x74; 64 << 10];

/// Both ends.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) class: usize,
    pub(super) session: Session,
    /// Number over all connections.
    pub(super) number: u64,
    /// Number of the client.
    pub(super) host: u32,
    pub(super) ends: [Option<TcpStream>; 2],
    /// The client's and the server's.
    pub(super) addresses: (SocketAddr, SocketAddr),
    pub(super) talk: Conversation,
    /// The largest windows that the two ends are to offer.
    pub(super) windows: [Option<u32>; 2],
    /// Bytes that the socket has not taken yet.
    unwritten: [u64; 2],
    /// The client's end stands.
    pub(super) connected: bool,
    /// Everything was said: the server's end waits for the client's to close.
    pub(super) over: bool,
}

/// What serving an end came to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) received: u64,
    pub(super) written: u64,
    /// The peer has closed.
    pub(super) ended: bool,
}

impl Connection {
    pub(super) fn new(
        (class, session, number, host): (usize, Session, u64, u32),
        (client, own, to): (TcpStream, SocketAddr, SocketAddr),
        talk: Conversation,
    ) -> Self {
        Self {
            class,
            session,
            number,
            host,
            ends: [Some(client), None],
            addresses: (own, to),
            talk,
            windows: [None; 2],
            unwritten: [0; 2],
            connected: false,
            over: false,
        }
    }

    /// A side begins to write so many bytes.
    pub(super) fn begin(&mut self, side: Side, bytes: u64) {
        self.unwritten[side.index()] += bytes;
    }

    /// Reads all that is there and writes what the socket takes.
    pub(super) fn serve(&mut self, side: Side, now: Span, buffer: &mut [u8]) -> io::Result<Served> {
        let mut served = Served::default();
        let Some(end) = &self.ends[side.index()] else { return Ok(served) };
        let mut stream = end;
        loop {
            match stream.read(buffer) {
                Ok(0) => {
                    served.ended = true;
                    break;
                }
                Ok(count) => served.received += count as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if served.received > 0 {
            if let Some(window) = self.windows[side.index()] {
                // Where it fails, the window is what the kernel makes it.
                let _ = hold_window(end, window);
            }
            self.talk.on_received(side, served.received, now);
        }
        served.written = self.write(side, now)?;
        Ok(served)
    }

    /// Writes what the socket takes.
    pub(super) fn write(&mut self, side: Side, now: Span) -> io::Result<u64> {
        let own = side.index();
        let Some(end) = &self.ends[own] else { return Ok(0) };
        let mut stream = end;
        let mut written = 0;
        while self.unwritten[own] > 0 {
            let length =
                FILLER.len().min(usize::try_from(self.unwritten[own]).unwrap_or(usize::MAX));
            match stream.write(&FILLER[..length]) {
                Ok(count) => {
                    self.unwritten[own] -= count as u64;
                    written += count as u64;
                    if self.unwritten[own] == 0 {
                        self.talk.on_sent(side, now);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }
}
