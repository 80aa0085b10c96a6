//! The sending side of bulk transfers.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use super::rows::{Outcome, Samples, SamplesWritten, Transfer};
use super::{MOST_CONNECTIONS, check_piece, piece};
use crate::clock;
use crate::kernel::Poll;
use crate::net::attend::{self, Start, span};
use crate::net::open_streams::OpenStreams;
use crate::net::pace::{Pace, Pacer};
use crate::net::socket::{self, TcpOptions};
use crate::send::Origin;
use crate::talk::{Failure, Stop, Talk};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendConfiguration {
    to: SocketAddr,
    from: Option<Origin>,
    #[serde(default = "one")]
    connections: usize,
    /// Of each connection.
    bytes: Option<u64>,
    /// From the start on. Without this and `bytes` it sends until told to stop.
    duration_ns: Option<u64>,
    /// What is written at once.
    #[serde(default = "piece")]
    write_bytes: u32,
    /// When it has something to write. Always unless given.
    write: Option<Pace>,
    #[serde(default)]
    tcp: TcpOptions,
    #[serde(default = "ten_seconds")]
    connect_timeout_ns: u64,
    /// How long the receiver may take to say that it has everything.
    #[serde(default = "ten_seconds")]
    confirm_timeout_ns: u64,
    /// Where is written down every second what the kernel knows. Nowhere unless given.
    samples: Option<PathBuf>,
}

const fn one() -> usize {
    1
}

const fn ten_seconds() -> u64 {
    10_000_000_000
}

#[derive(Debug, Serialize)]
struct ReadyBody {
    to: SocketAddr,
    connections: usize,
}

#[derive(Debug, Serialize)]
struct ProgressBody {
    payload_bytes: u64,
    open_connections: usize,
}

#[derive(Debug, Serialize)]
struct Report {
    start_ns: Option<i64>,
    transfers: Vec<Transfer>,
    samples: Option<SamplesWritten>,
}

/// What the threads share.
struct Shared {
    asked: SendConfiguration,
    open: OpenStreams,
    written: AtomicU64,
    running: AtomicUsize,
    stop: Stop,
}

/// Runs the sending side.
pub(super) fn run(talk: &Talk, asked: SendConfiguration) -> Result<(), Failure> {
    check_piece("write_bytes", asked.write_bytes)?;
    asked.write.map_or(Ok(()), |pace| pace.check("write"))?;
    if asked.connections == 0 || asked.connections > MOST_CONNECTIONS {
        let message = format!("connections: {} is out of range", asked.connections);
        return Err(Failure::configuration(message, format!("give from 1 to {MOST_CONNECTIONS}")));
    }
    socket::allow_many_files();
    // What is wrong with the options or the own address is said before anything begins.
    drop(asked.tcp.socket(asked.to, asked.from.map(|origin| origin.0))?);
    let mut samples = asked.samples.as_deref().map(Samples::create).transpose()?;
    let (connections, running) = (asked.connections, AtomicUsize::new(asked.connections));
    let shared = Shared {
        open: OpenStreams::default(),
        written: AtomicU64::new(0),
        running,
        stop: talk.stop(),
        asked,
    };
    let shared = Arc::new(shared);
    talk.ready(&ReadyBody { to: shared.asked.to, connections })?;
    let Some(start) = attend::wait_for_start(talk)? else {
        return talk.report(&Report {
            start_ns: None,
            transfers: Vec::new(),
            samples: samples.map(Samples::finish),
        });
    };
    start.wait(talk);
    let mut threads = Vec::with_capacity(connections);
    for connection in 0..connections {
        let for_thread = Arc::clone(&shared);
        let spawned = attend::spawn("bulk", move || for_thread.transfer(connection, start));
        match spawned {
            Ok(thread) => threads.push(thread),
            Err(failure) => {
                shared.stop.ask();
                shared.open.end();
                return Err(failure);
            }
        }
    }
    let outcome = attend::converse(
        talk,
        || shared.running.load(Ordering::Acquire) == 0,
        || {
            if let Some(samples) = &mut samples {
                samples.take(&shared.open, start.elapsed());
            }
            ProgressBody {
                payload_bytes: shared.written.load(Ordering::Relaxed),
                open_connections: shared.open.count(),
            }
        },
    );
    shared.open.end();
    let transfers =
        threads.into_iter().map(|thread| attend::join("bulk", thread)).collect::<Result<_, _>>()?;
    outcome?;
    talk.report(&Report {
        start_ns: Some(start.realtime.0),
        transfers,
        samples: samples.map(Samples::finish),
    })
}

impl Shared {
    /// One connection from beginning to end.
    fn transfer(&self, connection: usize, start: Start) -> Transfer {
        let mut transfer = Transfer {
            connection,
            begun_ns: Some(start.elapsed().0),
            peer: Some(self.asked.to),
            ..Transfer::default()
        };
        if let Err((outcome, error)) = self.try_transfer(&mut transfer, &start) {
            transfer.outcome = if self.stop.is_asked() { Outcome::Stopped } else { outcome };
            transfer.error = (transfer.outcome != Outcome::Stopped).then_some(error);
        } else {
            transfer.outcome = Outcome::Complete;
        }
        self.running.fetch_sub(1, Ordering::Release);
        transfer
    }

    fn try_transfer(
        &self,
        transfer: &mut Transfer,
        start: &Start,
    ) -> Result<(), (Outcome, String)> {
        let failed = |error: io::Error| (Outcome::Failed, error.to_string());
        let from = self.asked.from.map(|origin| origin.0);
        let timeout = span(self.asked.connect_timeout_ns);
        let stream =
            self.asked.tcp.connect(self.asked.to, from, timeout, self.stop).map_err(failed)?;
        transfer.connected_ns = Some(start.elapsed().0);
        transfer.local = stream.local_addr().ok();
        transfer.granted = Some(socket::granted(&stream));
        let _entry = self.open.add(transfer.connection, &stream).map_err(failed)?;
        let outcome = self.write_all(&stream, transfer, start).map_err(failed);
        let outcome = outcome.and_then(|()| self.confirm(&stream, transfer, start));
        transfer.tcp = socket::tcp_info(&stream);
        let acknowledged = transfer
            .tcp
            .and_then(|tcp| tcp.acknowledged_bytes)
            .unwrap_or(0)
            .min(transfer.payload_bytes);
        let until = transfer.confirmed_ns.unwrap_or(start.elapsed().0);
        transfer.goodput_bits_per_second = transfer.goodput(acknowledged, Some(until));
        outcome
    }

    /// Writes until there is no more to send.
    fn write_all(
        &self,
        mut stream: &TcpStream,
        transfer: &mut Transfer,
        start: &Start,
    ) -> io::Result<()> {
        let piece = vec![0x5a_u8; self.asked.write_bytes as usize];
        let mut pacer = Pacer::new(self.asked.write);
        let mut left = self.asked.bytes.unwrap_or(u64::MAX);
        let end = self.asked.duration_ns.map(|span| i64::try_from(span).unwrap_or(i64::MAX));
        while left > 0 && !self.stop.is_asked() && end.is_none_or(|end| start.elapsed().0 < end) {
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(pacer.piece(piece.len()));
            transfer.first_byte_ns.get_or_insert_with(|| start.elapsed().0);
            let written = match stream.write(piece.get(..length).unwrap_or_default()) {
                Ok(written) => written as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let now = start.elapsed();
            left -= written;
            transfer.payload_bytes += written;
            transfer.last_byte_ns = Some(now.0);
            transfer.payload_bytes_per_second.add_after(now, written);
            self.written.fetch_add(written, Ordering::Relaxed);
            if let (Some(pause), true) = (pacer.on_moved(written, clock::monotonic()), left > 0) {
                self.pause(end.map_or(pause, |end| pause.min(Span(end - now.0))))?;
            }
        }
        Ok(())
    }

    /// Sleeps; shorter when the end is asked for.
    fn pause(&self, span: Span) -> io::Result<()> {
        Poll::new(&[self.stop.descriptor()]).wait(Some(span)).map(|_| ())
    }

    /// Says that there is no more, and waits for the receiver to end as well: it does when it has everything.
    fn confirm(
        &self,
        mut stream: &TcpStream,
        transfer: &mut Transfer,
        start: &Start,
    ) -> Result<(), (Outcome, String)> {
        if self.stop.is_asked() {
            return Err((Outcome::Stopped, String::new()));
        }
        let unconfirmed = |error: io::Error| (Outcome::Unconfirmed, error.to_string());
        stream.shutdown(Shutdown::Write).map_err(unconfirmed)?;
        stream
            .set_read_timeout(Some(Duration::from_nanos(self.asked.confirm_timeout_ns.max(1))))
            .map_err(unconfirmed)?;
        loop {
            match stream.read(&mut [0; 1024]) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err((
                        Outcome::Unconfirmed,
                        "the receiver did not end within confirm_timeout_ns".to_owned(),
                    ));
                }
                Err(error) => return Err(unconfirmed(error)),
            }
        }
        if self.stop.is_asked() {
            return Err((Outcome::Stopped, String::new()));
        }
        transfer.confirmed_ns = Some(start.elapsed().0);
        Ok(())
    }
}
