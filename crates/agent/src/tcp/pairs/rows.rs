//! The report of a connection, of either side.

use std::net::{SocketAddr, TcpStream};

use serde::Serialize;
use trustbed_units::Ns;

use super::declared::{Connection, Role};
use crate::session::workers::Start;
use crate::sys::socket::{self, Granted};
use crate::sys::tcp_info::TcpInfo;

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Close {
    /// Everything declared came, and not more, within the time.
    Complete,
    /// The sender ended before.
    TooShort,
    /// The sender did not end with what was declared.
    TooLong,
    /// The time was over before.
    TimedOut,
    /// It broke, or the peer reset it; `failure` has the kernel's error.
    Reset,
    /// At the sender: no connection. At the receiver: this host could not serve it.
    Refused,
    /// At the sender: the peer ended it without a valid answer.
    Unanswered,
    /// At the receiver: it was never opened.
    Absent,
    /// Stop was requested before.
    Stopped,
}

impl Close {
    pub(super) const ALL: [Self; 9] = [
        Self::Complete,
        Self::TooShort,
        Self::TooLong,
        Self::TimedOut,
        Self::Reset,
        Self::Refused,
        Self::Unanswered,
        Self::Absent,
        Self::Stopped,
    ];
}

/// A premature end: how, and why in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) close: Close,
    pub(super) failure: String,
}

impl Ended {
    pub(super) fn new(close: Close, failure: impl Into<String>) -> Self {
        Self { close, failure: failure.into() }
    }

    /// What the kernel reports of a connection that there was.
    pub(super) fn broken(error: &std::io::Error) -> Self {
        let close = if error.kind() == std::io::ErrorKind::TimedOut {
            Close::TimedOut
        } else {
            Close::Reset
        };
        Self::new(close, error.to_string())
    }
}

/// A connection, as one side saw it. Times count from the start of that side.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    pub(super) pair: u32,
    pub(super) role: Role,
    /// What was declared.
    pub(super) size_bytes: u64,
    pub(super) local: Option<SocketAddr>,
    pub(super) peer: Option<SocketAddr>,
    /// At the sender: connecting began.
    pub(super) begun_ns: Option<i64>,
    /// At the sender: connected.
    pub(super) connected_ns: Option<i64>,
    /// How long that took.
    pub(super) connect_time_ns: Option<i64>,
    /// At the receiver.
    pub(super) accepted_ns: Option<i64>,
    /// At the sender: before the first write, which begins with the header. At the receiver: after
    /// the first byte of payload.
    pub(super) first_byte_ns: Option<i64>,
    /// After the last write, or the last byte of payload that was read.
    pub(super) last_byte_ns: Option<i64>,
    /// At the sender: the acknowledgement of the last byte came.
    pub(super) acknowledged_ns: Option<i64>,
    /// The answer was read, or written.
    pub(super) result_ns: Option<i64>,
    /// Payload that was written to the connection, or read from it.
    pub(super) payload_bytes: u64,
    /// At the sender: from the receiver's answer, and hence by its clock.
    pub(super) app_bytes_per_second: Option<f64>,
    /// At the sender.
    pub(super) snd_bytes_per_second: Option<f64>,
    pub(super) close: Close,
    pub(super) failed: bool,
    /// Why, if it did.
    pub(super) failure: Option<String>,
    #[serde(flatten)]
    pub(super) granted: Option<Granted>,
    pub(super) window_clamp_bytes: Option<u32>,
    pub(super) maximum_segment_bytes: Option<u32>,
    /// At the end.
    pub(super) tcp: Option<TcpInfo>,
    /// At the sender: the answer.
    pub(super) receiver: Option<Answered>,
}

/// The receiver's answer; times by its real-time clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Answered {
    pub(super) close: Close,
    pub(super) payload_bytes: u64,
    pub(super) accepted_realtime_ns: i64,
    pub(super) first_byte_realtime_ns: Option<i64>,
    pub(super) last_byte_realtime_ns: Option<i64>,
}

impl Row {
    /// Before anything happened.
    pub(super) fn new(declared: &Connection, close: Close, failure: &str) -> Self {
        Self {
            pair: declared.pair,
            role: declared.role,
            size_bytes: declared.bytes,
            local: None,
            peer: None,
            begun_ns: None,
            connected_ns: None,
            connect_time_ns: None,
            accepted_ns: None,
            first_byte_ns: None,
            last_byte_ns: None,
            acknowledged_ns: None,
            result_ns: None,
            payload_bytes: 0,
            app_bytes_per_second: None,
            snd_bytes_per_second: None,
            close,
            failed: true,
            failure: Some(failure.to_owned()),
            granted: None,
            window_clamp_bytes: None,
            maximum_segment_bytes: None,
            tcp: None,
            receiver: None,
        }
    }

    /// Reads what the kernel granted the connection.
    pub(super) fn look_at(&mut self, stream: &TcpStream) {
        self.local = stream.local_addr().ok();
        self.peer = stream.peer_addr().ok();
        self.granted = Some(socket::granted(stream));
        self.window_clamp_bytes = socket::window_clamp(stream);
        self.maximum_segment_bytes = socket2::SockRef::from(stream).tcp_mss().ok();
    }

    /// How it ended.
    pub(super) fn judge(&mut self, outcome: Result<(), Ended>) {
        match outcome {
            Ok(()) => (self.close, self.failed, self.failure) = (Close::Complete, false, None),
            Err(ended) => {
                (self.close, self.failed, self.failure) = (ended.close, true, Some(ended.failure));
            }
        }
    }
}

/// A moment of the monotonic clock, as reports have it.
pub(super) fn since(start: &Start, moment: Ns) -> i64 {
    (moment - start.monotonic).0
}

/// Bytes per second between two moments; none where no time passed.
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
pub(super) fn rate(bytes: u64, from: Option<i64>, until: Option<i64>) -> Option<f64> {
    let lasted = until?.checked_sub(from?)?;
    (lasted > 0).then(|| bytes as f64 * 1e9 / lasted as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_time_to_pass() {
        // A mebibyte in half a second.
        assert_eq!(rate(1 << 20, Some(-100), Some(499_999_900)), Some(2_097_152.0));
        for (from, until) in [
            (Some(5), Some(5)),
            (Some(6), Some(5)),
            (None, Some(5)),
            (Some(5), None),
            (Some(i64::MIN), Some(1)),
        ] {
            assert_eq!(rate(1, from, until), None);
        }
    }
}
