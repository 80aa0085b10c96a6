//! The report of a transfer, and its samples once a second.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Serialize;
use trustbed_units::Span;

use crate::output::seconds::Seconds;
use crate::session::Failure;
use crate::sys::open_streams::OpenStreams;
use crate::sys::socket::{self, Granted};
use crate::sys::tcp_info::TcpInfo;

/// A transfer, as one side saw it. Times count from the start.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Transfer {
    pub(super) connection: usize,
    pub(super) local: Option<SocketAddr>,
    pub(super) peer: Option<SocketAddr>,
    /// When connecting began; at the receiver, when the connection was accepted.
    pub(super) begun_ns: Option<i64>,
    pub(super) connected_ns: Option<i64>,
    pub(super) first_byte_ns: Option<i64>,
    /// Of writing; at the receiver, of reading.
    pub(super) last_byte_ns: Option<i64>,
    /// At the sender, when the receiver had everything.
    pub(super) confirmed_ns: Option<i64>,
    pub(super) payload_bytes: u64,
    /// From connected to confirmed.
    pub(super) goodput_bits_per_second: Option<f64>,
    pub(super) outcome: Outcome,
    pub(super) error: Option<String>,
    #[serde(flatten)]
    pub(super) granted: Option<Granted>,
    pub(super) tcp: Option<TcpInfo>,
    pub(super) payload_bytes_per_second: Seconds,
}

/// How a transfer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// Everything arrived.
    Complete,
    /// Stop was requested before.
    #[default]
    Stopped,
    /// Everything was written, and the receiver did not confirm it.
    Unconfirmed,
    /// No connection, or it broke.
    Failed,
}

impl Transfer {
    /// The rate at which so many bytes arrived until a moment.
    #[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
    pub(super) fn goodput(&self, bytes: u64, until: Option<i64>) -> Option<f64> {
        let lasted = Span(until?.checked_sub(self.connected_ns?)?);
        (lasted.0 > 0).then(|| 8.0 * bytes as f64 / lasted.as_secs_f64())
    }
}

/// The samples of `tcp_info`, once a second: lines of JSON.
#[derive(Debug)]
pub(super) struct Samples {
    path: PathBuf,
    file: BufWriter<File>,
    lines: u64,
    error: Option<String>,
}

/// What became of it.
#[derive(Debug, Serialize)]
pub(super) struct SamplesWritten {
    path: PathBuf,
    lines: u64,
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct Sample {
    connection: usize,
    at_ns: i64,
    tcp: TcpInfo,
}

impl Samples {
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let failed = |error| {
            Failure::running(
                format!("{}: cannot be written: {error}", path.display()),
                "name a file in a directory that exists",
            )
        };
        let file = BufWriter::new(File::create(path).map_err(failed)?);
        Ok(Self { path: path.to_owned(), file, lines: 0, error: None })
    }

    /// A line for every connection that is open.
    pub(super) fn take(&mut self, open: &OpenStreams, elapsed: Span) {
        if self.error.is_some() {
            return;
        }
        let mut text = Vec::new();
        let mut lines = 0;
        open.each(|connection, stream| {
            if let Some(tcp) = socket::tcp_info(stream)
                && serde_json::to_writer(&mut text, &Sample { connection, at_ns: elapsed.0, tcp })
                    .is_ok()
            {
                text.push(b'\n');
                lines += 1;
            }
        });
        match self.file.write_all(&text).and_then(|()| self.file.flush()) {
            Ok(()) => self.lines += lines,
            Err(error) => self.error = Some(error.to_string()),
        }
    }

    pub(super) fn finish(self) -> SamplesWritten {
        SamplesWritten { path: self.path, lines: self.lines, error: self.error }
    }
}
