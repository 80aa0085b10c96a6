//! What was generated, and how late it was.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use trustbed_traffic::structural::Side;
use trustbed_traffic::{DepartureError, DepartureErrorSummary};
use trustbed_units::Span;

use crate::output::rows::{Column, Rows, RowsWritten};
use crate::output::seconds::Seconds;
use crate::session::Failure;

const COLUMNS: [Column; 7] = [
    Column { name: "connection", unit: "", meaning: "number of the connection" },
    Column { name: "class", unit: "", meaning: "number of its class" },
    Column { name: "client", unit: "", meaning: "number of its client" },
    Column {
        name: "kind",
        unit: "",
        meaning: "0 the client sends, 1 the server sends, 2 the connection is opened",
    },
    Column { name: "due_ns", unit: "ns", meaning: "when it was due, after the start" },
    Column { name: "begun_ns", unit: "ns", meaning: "when it began" },
    Column { name: "bytes", unit: "B", meaning: "what was to be sent" },
];

pub(super) fn create(path: &Path) -> Result<Rows, Failure> {
    Rows::create(path, &COLUMNS)
}

/// What can begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Request,
    Response,
    Opening,
}

impl Kind {
    /// What a side sends.
    pub(super) const fn of(side: Side) -> Self {
        match side {
            Side::Client => Self::Request,
            Side::Server => Self::Response,
        }
    }

    /// Its code in rows.
    const fn code(self) -> i64 {
        match self {
            Self::Request => 0,
            Self::Response => 1,
            Self::Opening => 2,
        }
    }
}

/// What began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begun {
    pub(super) connection: u64,
    pub(super) class: usize,
    pub(super) client: u32,
    pub(super) kind: Kind,
    pub(super) due: Span,
    pub(super) at: Span,
    pub(super) bytes: u64,
}

impl Begun {
    pub(super) fn append(&self, rows: &mut Rows) {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        rows.append([
            number(self.connection),
            number(self.class as u64),
            self.client.into(),
            self.kind.code(),
            self.due.0,
            self.at.0,
            number(self.bytes),
        ]);
    }
}

/// What is counted of a class.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct ClassCounts {
    pub(super) name: String,
    pub(super) connections: u64,
    /// Those of which everything was said.
    pub(super) completed: u64,
    /// Those that were not, by reason.
    pub(super) failed: BTreeMap<&'static str, u64>,
    pub(super) requests: u64,
    pub(super) responses: u64,
    /// Payload that sockets took, of clients and of servers.
    pub(super) sent_bytes: [u64; 2],
    /// Payload that arrived, at clients and at servers.
    pub(super) received_bytes: [u64; 2],
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    pub(super) classes: Vec<ClassCounts>,
    pub(super) starts: DepartureError,
    pub(super) most_open: usize,
    pub(super) sent: [Seconds; 2],
    pub(super) received: [Seconds; 2],
}

/// The report.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) duration_ns: i64,
    pub(super) classes: Vec<ClassCounts>,
    pub(super) connections: u64,
    pub(super) failed_connections: u64,
    /// Connections that were open at once, at most, and at the end.
    pub(super) most_open_connections: usize,
    pub(super) open_connections: usize,
    /// Sessions that went on at the end.
    pub(super) sessions: usize,
    /// How late requests, responses and connections began.
    pub(super) start_error: DepartureErrorSummary,
    pub(super) start_error_median_ns: Option<f64>,
    /// Share of the time for which the thread had a processor.
    pub(super) cpu_share: f64,
    /// Payload of each second: what clients' and servers' sockets took.
    pub(super) client_sent_bytes_per_second: Seconds,
    pub(super) server_sent_bytes_per_second: Seconds,
    /// What arrived.
    pub(super) client_received_bytes_per_second: Seconds,
    pub(super) server_received_bytes_per_second: Seconds,
    pub(super) rows: Option<RowsWritten>,
}
