//! The report of a transfer, and its samples once a second.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Serialize;
use trustbed_units::Span;

use crate::output::json_lines::JsonLines;
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
    file: JsonLines,
    lines: u64,
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
        Ok(Self { file: JsonLines::create(path)?, lines: 0 })
    }

    /// A line for every connection that is open.
    pub(super) fn take(&mut self, open: &OpenStreams, elapsed: Span) {
        open.each(|connection, stream| {
            if let Some(tcp) = socket::tcp_info(stream) {
                let line = Sample { connection, at_ns: elapsed.0, tcp };
                self.lines += u64::from(self.file.write(&line));
            }
        });
    }

    pub(super) fn finish(self) -> SamplesWritten {
        SamplesWritten {
            path: self.file.path().to_owned(),
            lines: self.lines,
            error: self.file.error().map(str::to_owned),
        }
    }
}
