//! Receives one connection: reads until its sender ends, judges it, and answers.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trustbed_units::Span;

use super::acceptor::Admitted;
use super::declared::ByRole;
use super::header::Answer;
use super::rows::{self, Close, Ended, Row};
use crate::session::workers::Start;
use crate::sys::clock;
use crate::sys::kernel::Event;
use crate::sys::socket;
use crate::tcp::PIECE;
use crate::tcp::connections::Connections;
use crate::tcp::pace::{Pace, Pacer};

/// How late it may be noticed that a silent connection is out of time.
const LOOK: Duration = Duration::from_secs(1);

/// Shared by the threads of a phase.
#[derive(Debug)]
pub(super) struct Phase {
    pub(super) round: u64,
    pub(super) window_bytes: ByRole<Option<u32>>,
    pub(super) rate_bits_per_second: Option<u64>,
    pub(super) transfer_timeout: Span,
    pub(super) connections: Connections,
    /// Whether it ends because its time is over; otherwise stop was requested.
    pub(super) is_over: AtomicBool,
    /// Signalled by each connection that ends.
    pub(super) ended: Arc<Event>,
}

impl Phase {
    /// One connection until it is closed.
    pub(super) fn take(&self, admitted: &Admitted, start: &Start) -> Row {
        let Admitted { number, declared, stream, accepted } = admitted;
        self.open_window(admitted);
        let mut row = Row::new(declared, Close::Stopped, "");
        row.accepted_ns = Some(rows::since(start, *accepted));
        row.look_at(stream);
        let entry =
            self.connections.open.add(*number, stream).map_err(|error| Ended::broken(&error));
        let outcome = entry.and_then(|_entry| self.read_all(admitted, &mut row, start));
        row.judge(outcome);
        self.answer(admitted, &mut row, start);
        row.app_bytes_per_second = rows::rate(row.payload_bytes, row.accepted_ns, row.last_byte_ns);
        // What it was in the end: it may have been raised since.
        row.window_clamp_bytes = socket::window_clamp(stream);
        row.tcp = socket::tcp_info(stream);
        row
    }

    fn read_all(&self, admitted: &Admitted, row: &mut Row, start: &Start) -> Result<(), Ended> {
        let (mut stream, accepted) = (&admitted.stream, admitted.accepted);
        let limit = Duration::from_nanos(self.transfer_timeout.0.max(1).unsigned_abs());
        let prepared = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(Some(limit.min(LOOK))))
            .and_then(|()| stream.set_write_timeout(Some(LOOK)));
        prepared.map_err(|error| Ended::broken(&error))?;
        let mut piece = vec![0; PIECE as usize];
        let mut pacer = Pacer::new(self.rate_bits_per_second.map(Pace::at_rate));
        loop {
            let left = row.size_bytes - row.payload_bytes;
            // Where nothing is left, a byte more shows that there is more.
            let room =
                pacer.piece(piece.len()).min(usize::try_from(left.max(1)).unwrap_or(usize::MAX));
            let read = stream.read(piece.get_mut(..room).unwrap_or_default());
            let now = clock::monotonic();
            self.clamp(admitted);
            let is_late = now - accepted > self.transfer_timeout;
            match read {
                Ok(0) if left == 0 && !is_late => return Ok(()),
                _ if self.connections.stop.is_requested()
                    || self.is_over.load(Ordering::Acquire) =>
                {
                    return Err(self.cut());
                }
                Ok(0) if left > 0 => {
                    return Err(Ended::new(
                        Close::TooShort,
                        format!("it ended {left} bytes before the end"),
                    ));
                }
                Ok(length) if length > 0 && left == 0 => {
                    return Err(Ended::new(
                        Close::TooLong,
                        format!("more than {} bytes came", row.size_bytes),
                    ));
                }
                Ok(length) => {
                    let length = length as u64;
                    row.payload_bytes += length;
                    self.connections.count(length);
                    if length > 0 {
                        row.first_byte_ns.get_or_insert(rows::since(start, now));
                        row.last_byte_ns = Some(rows::since(start, now));
                    }
                    if !is_late && let Some(pause) = pacer.on_moved(length, now) {
                        let pause = pause.min(accepted + self.transfer_timeout - now);
                        // Where waiting fails, reading goes on at once.
                        let _ = self.connections.pause(pause);
                    }
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                    ) => {}
                Err(error) => return Err(Ended::broken(&error)),
            }
            if is_late {
                return Err(Ended::new(
                    Close::TimedOut,
                    "it was not complete within transfer_timeout_ns",
                ));
            }
        }
    }

    /// Gives a connection the whole of its window: see [`socket::first_buffer`].
    fn open_window(&self, admitted: &Admitted) {
        let Some(bytes) = *self.window_bytes.of(admitted.declared.role) else { return };
        // Where the kernel refuses, the report has what it grants.
        let _ = socket2::SockRef::from(&admitted.stream).set_recv_buffer_size(bytes as usize);
        self.clamp(admitted);
    }

    /// Has the window stay what it was set to: whenever a kernel (seen with Linux 6.18) learns how
    /// much of its memory is payload, it raises the limit to whatever would fit into the receive
    /// buffer.
    fn clamp(&self, admitted: &Admitted) {
        if let Some(bytes) = *self.window_bytes.of(admitted.declared.role) {
            let _ = socket::set_window_clamp(&admitted.stream, bytes);
        }
    }

    /// Why a connection ended that did not end on its own.
    fn cut(&self) -> Ended {
        if self.is_over.load(Ordering::Acquire) {
            Ended::new(Close::TimedOut, "it was not complete when the phase ended (duration_ns)")
        } else {
            Ended::new(Close::Stopped, "stop was requested")
        }
    }

    /// Sends the answer, where the connection still permits it.
    fn answer(&self, admitted: &Admitted, row: &mut Row, start: &Start) {
        if matches!(row.close, Close::Reset | Close::Stopped) {
            return;
        }
        let realtime = |since: i64| start.offset.to_realtime(start.monotonic + Span(since));
        let answer = Answer {
            round: self.round,
            pair: row.pair,
            role: row.role,
            close: row.close,
            bytes: row.payload_bytes,
            accepted: start.offset.to_realtime(admitted.accepted),
            first: row.first_byte_ns.map(realtime),
            last: row.last_byte_ns.map(realtime),
        };
        // A sender that is gone needs no answer; its own report shows it.
        let mut stream = &admitted.stream;
        row.result_ns = stream.write_all(&answer.write()).is_ok().then(|| start.elapsed().0);
    }
}
