//! The sending side of bulk transfers.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use super::rows::{Outcome, Samples, SamplesWritten, Transfer};
use super::{MOST_CONNECTIONS, check_piece, piece};
use crate::session::workers::{self, Start, span};
use crate::session::{Failure, Session};
use crate::sys::clock;
use crate::sys::socket::{self, TcpOptions};
use crate::tcp::connections::Connections;
use crate::tcp::pace::{Pace, Pacer};
use crate::traffic::send::Origin;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendConfiguration {
    to: SocketAddr,
    from: Option<Origin>,
    #[serde(default = "one")]
    connections: usize,
    /// Of each connection.
    bytes: Option<u64>,
    /// From the start on. Without this and `bytes` it sends until stopped.
    duration_ns: Option<u64>,
    /// What is written at once.
    #[serde(default = "piece")]
    write_bytes: u32,
    /// When it has something to write. Always by default.
    write: Option<Pace>,
    #[serde(default)]
    tcp: TcpOptions,
    #[serde(default = "ten_seconds")]
    connect_timeout_ns: u64,
    /// How long the receiver may take to confirm.
    #[serde(default = "ten_seconds")]
    confirm_timeout_ns: u64,
    /// The file of samples. None by default.
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
struct Report {
    start_ns: Option<i64>,
    transfers: Vec<Transfer>,
    samples: Option<SamplesWritten>,
}

/// Shared by the threads.
struct Shared {
    configuration: SendConfiguration,
    connections: Connections,
}

/// Runs the sending side.
pub(super) fn run(session: &Session, configuration: SendConfiguration) -> Result<(), Failure> {
    check_piece("write_bytes", configuration.write_bytes)?;
    configuration.write.map_or(Ok(()), |pace| pace.check("write"))?;
    if configuration.connections == 0 || configuration.connections > MOST_CONNECTIONS {
        let message = format!("connections: {} is out of range", configuration.connections);
        return Err(Failure::configuration(message, format!("give from 1 to {MOST_CONNECTIONS}")));
    }
    socket::allow_many_files();
    // Wrong options or a wrong own address fail before anything begins.
    drop(configuration.tcp.socket(configuration.to, configuration.from.map(|origin| origin.0))?);
    let mut samples = configuration.samples.as_deref().map(Samples::create).transpose()?;
    let connections = configuration.connections;
    let shared = Arc::new(Shared { connections: Connections::new(session.stop()), configuration });
    session.ready(&ReadyBody { to: shared.configuration.to, connections })?;
    let Some(start) = workers::wait_for_start(session)? else {
        return session.report(&Report {
            start_ns: None,
            transfers: Vec::new(),
            samples: samples.map(Samples::finish),
        });
    };
    // A stop before the start ends each transfer before it connects.
    let _ = session.stop().wait_until(start.monotonic);
    let works = (0..connections).map(|connection| {
        let for_thread = Arc::clone(&shared);
        move || for_thread.transfer(connection, start)
    });
    let transfers = shared.connections.run_all(session, "bulk", works, || {
        if let Some(samples) = &mut samples {
            samples.take(&shared.connections.open, start.elapsed());
        }
    })?;
    session.report(&Report {
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
            peer: Some(self.configuration.to),
            ..Transfer::default()
        };
        if let Err((outcome, error)) = self.try_transfer(&mut transfer, &start) {
            transfer.outcome =
                if self.connections.stop.is_requested() { Outcome::Stopped } else { outcome };
            transfer.error = (transfer.outcome != Outcome::Stopped).then_some(error);
        } else {
            transfer.outcome = Outcome::Complete;
        }
        transfer
    }

    fn try_transfer(
        &self,
        transfer: &mut Transfer,
        start: &Start,
    ) -> Result<(), (Outcome, String)> {
        let failed = |error: io::Error| (Outcome::Failed, error.to_string());
        let from = self.configuration.from.map(|origin| origin.0);
        let timeout = span(self.configuration.connect_timeout_ns);
        let stream = self
            .configuration
            .tcp
            .connect(self.configuration.to, from, timeout, self.connections.stop)
            .map_err(failed)?;
        transfer.connected_ns = Some(start.elapsed().0);
        transfer.local = stream.local_addr().ok();
        transfer.granted = Some(socket::granted(&stream));
        let _entry = self.connections.open.add(transfer.connection, &stream).map_err(failed)?;
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
        let piece = vec![0x5a_u8; self.configuration.write_bytes as usize];
        let mut pacer = Pacer::new(self.configuration.write);
        let mut left = self.configuration.bytes.unwrap_or(u64::MAX);
        let end =
            self.configuration.duration_ns.map(|span| i64::try_from(span).unwrap_or(i64::MAX));
        while left > 0
            && !self.connections.stop.is_requested()
            && end.is_none_or(|end| start.elapsed().0 < end)
        {
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
            self.connections.count(written);
            if let (Some(pause), true) = (pacer.on_moved(written, clock::monotonic()), left > 0) {
                self.connections.pause(end.map_or(pause, |end| pause.min(Span(end - now.0))))?;
            }
        }
        Ok(())
    }

    /// Ends its half, and waits for the receiver to end: it does when it has everything.
    fn confirm(
        &self,
        mut stream: &TcpStream,
        transfer: &mut Transfer,
        start: &Start,
    ) -> Result<(), (Outcome, String)> {
        if self.connections.stop.is_requested() {
            return Err((Outcome::Stopped, String::new()));
        }
        let unconfirmed = |error: io::Error| (Outcome::Unconfirmed, error.to_string());
        stream.shutdown(Shutdown::Write).map_err(unconfirmed)?;
        stream
            .set_read_timeout(Some(Duration::from_nanos(
                self.configuration.confirm_timeout_ns.max(1),
            )))
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
        if self.connections.stop.is_requested() {
            return Err((Outcome::Stopped, String::new()));
        }
        transfer.confirmed_ns = Some(start.elapsed().0);
        Ok(())
    }
}
