//! Every request in a file, and their summary.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use trustbed_units::{Span, bins};

use super::client::{Exchange, Fault, answered};
use crate::output::rows::{Column, NONE, Rows};
use crate::output::seconds::Seconds;
use crate::session::Failure;

/// Bins per power of two, as a power of two: quantiles are off by at most 1/256 of their value.
const FINENESS: u32 = 7;

const COLUMNS: [Column; 10] = [
    Column { name: "connection", unit: "", meaning: "which client" },
    Column {
        name: "request",
        unit: "",
        meaning: "number of the request, over all clients, in the order in which they began",
    },
    Column {
        name: "begun_ns",
        unit: "ns",
        meaning: "when it began, connecting included, after the start",
    },
    Column {
        name: "connected_ns",
        unit: "ns",
        meaning: "when the connection stood; none when it had served before, or never did",
    },
    Column { name: "sent_ns", unit: "ns", meaning: "when the request was given to the connection" },
    Column {
        name: "first_byte_ns",
        unit: "ns",
        meaning: "when the first bytes of the answer were there",
    },
    Column { name: "last_byte_ns", unit: "ns", meaning: "when the last bytes were there" },
    Column { name: "bytes", unit: "B", meaning: "length of the content, as far as it came" },
    Column { name: "status", unit: "", meaning: "status of the answer" },
    Column {
        name: "fault",
        unit: "",
        meaning: "0 none, 1 refused, 2 unreachable, 3 timed_out, 4 reset, 5 closed_early, 6 \
            not_understood, 7 wrong_content, 8 stopped, 9 other",
    },
];

pub(super) fn create(path: &Path) -> Result<Rows, Failure> {
    Rows::create(path, &COLUMNS)
}

/// A request and its outcome.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fetched {
    pub(super) connection: usize,
    pub(super) request: u64,
    pub(super) begun: Span,
    /// None where the connection had served before.
    pub(super) connected: Option<Span>,
    pub(super) exchange: Exchange,
    pub(super) fault: Option<Fault>,
}

impl Fetched {
    /// Whether the requested object arrived.
    pub(super) fn is_good(&self) -> bool {
        self.fault.is_none() && answered(&self.exchange)
    }

    pub(super) fn append(&self, rows: &mut Rows) {
        let moment = |at: Option<Span>| at.map_or(NONE, |at| at.0);
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let Exchange { sent, first_byte, last_byte, status, bytes, .. } = self.exchange;
        rows.append([
            number(self.connection as u64),
            number(self.request),
            self.begun.0,
            moment(self.connected),
            moment(sent),
            moment(first_byte),
            moment(last_byte),
            number(bytes),
            status.map_or(NONE, i64::from),
            self.fault.map_or(0, Fault::code),
        ]);
    }
}

/// All requests in a few numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    requests: u64,
    good: u64,
    bytes: u64,
    connections: u64,
    retries: u64,
    faults: BTreeMap<Fault, u64>,
    statuses: BTreeMap<u16, u64>,
    /// From the request to its last byte, of good answers.
    response: Quantiles,
    /// The same with connecting.
    total: Quantiles,
    answers: Seconds,
    payload: Seconds,
}

/// What is reported it.
#[derive(Debug, Serialize)]
pub(super) struct TallyReport {
    requests: u64,
    good_requests: u64,
    failed_requests: u64,
    payload_bytes: u64,
    connections: u64,
    /// Requests that were sent again because a server had closed a connection meanwhile.
    retries: u64,
    faults: BTreeMap<&'static str, u64>,
    statuses: BTreeMap<u16, u64>,
    response: QuantilesReport,
    total: QuantilesReport,
    good_requests_per_second: Seconds,
    payload_bytes_per_second: Seconds,
}

impl Tally {
    pub(super) fn on_connected(&mut self) {
        self.connections += 1;
    }

    pub(super) fn on_retry(&mut self) {
        self.retries += 1;
    }

    pub(super) fn on_fetched(&mut self, fetched: &Fetched) {
        let Exchange { sent, last_byte, status, bytes, .. } = fetched.exchange;
        self.requests += 1;
        self.bytes += bytes;
        if let Some(fault) = fetched.fault {
            *self.faults.entry(fault).or_default() += 1;
        }
        if let Some(status) = status {
            *self.statuses.entry(status).or_default() += 1;
        }
        if let (true, Some(sent), Some(last)) = (fetched.is_good(), sent, last_byte) {
            self.good += 1;
            self.response.add(last - sent);
            self.total.add(last - fetched.begun);
            self.answers.add_after(last, 1);
            self.payload.add_after(last, bytes);
        }
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    pub(super) fn report(&self) -> TallyReport {
        TallyReport {
            requests: self.requests,
            good_requests: self.good,
            failed_requests: self.requests - self.good,
            payload_bytes: self.bytes,
            connections: self.connections,
            retries: self.retries,
            faults: self.faults.iter().map(|(fault, count)| (fault.name(), *count)).collect(),
            statuses: self.statuses.clone(),
            response: self.response.report(),
            total: self.total.report(),
            good_requests_per_second: self.answers.clone(),
            payload_bytes_per_second: self.payload.clone(),
        }
    }
}

/// Durations in bins.
#[derive(Debug, Clone, Default)]
struct Quantiles {
    counts: Vec<u64>,
    count: u64,
    sum: i128,
    least: Option<i64>,
    most: Option<i64>,
}

#[expect(
    clippy::struct_field_names,
    reason = "outside, names carry what they are of and their unit"
)]
#[derive(Debug, Serialize)]
struct QuantilesReport {
    least_ns: Option<i64>,
    mean_ns: Option<i64>,
    p5_ns: Option<i64>,
    p50_ns: Option<i64>,
    p90_ns: Option<i64>,
    p95_ns: Option<i64>,
    p99_ns: Option<i64>,
    most_ns: Option<i64>,
}

impl Quantiles {
    fn add(&mut self, span: Span) {
        let at = bins::index::<FINENESS>(u64::try_from(span.0).unwrap_or(0));
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(at) {
            *count += 1;
        }
        self.count += 1;
        self.sum += i128::from(span.0);
        self.least = Some(self.least.map_or(span.0, |least| least.min(span.0)));
        self.most = Some(self.most.map_or(span.0, |most| most.max(span.0)));
    }

    /// The middle of the bin that holds the value of which so many percent are not larger.
    fn at(&self, percent: u64) -> Option<i64> {
        let rank = (self.count * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let index = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        let (low, width) = bins::extent::<FINENESS>(index);
        let middle = i64::try_from(low + width / 2).unwrap_or(i64::MAX);
        Some(middle.clamp(self.least?, self.most?))
    }

    fn report(&self) -> QuantilesReport {
        let count = i128::from(self.count);
        QuantilesReport {
            least_ns: self.least,
            mean_ns: (count > 0).then(|| i64::try_from(self.sum / count).unwrap_or(i64::MAX)),
            p5_ns: self.at(5),
            p50_ns: self.at(50),
            p90_ns: self.at(90),
            p95_ns: self.at(95),
            p99_ns: self.at(99),
            most_ns: self.most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_list_within_a_bin() {
        let mut quantiles = Quantiles::default();
        for micros in (1..=1000_i64).rev() {
            quantiles.add(Span::from_micros(micros));
        }
        for (percent, exact) in [(5, 50_000), (50, 500_000), (99, 990_000)] {
            let found = quantiles.at(percent).expect("there are values");
            assert!((found - exact).abs() <= exact / 128, "{percent} %: {found}");
        }
        assert_eq!(
            (quantiles.report().least_ns, quantiles.report().most_ns),
            (Some(1_000), Some(1_000_000))
        );
        assert_eq!(Quantiles::default().at(50), None);
    }

    #[test]
    fn codes_match_the_meaning_of_their_column() {
        let meaning = COLUMNS[9].meaning;
        for fault in Fault::ALL {
            assert!(
                meaning.contains(&format!("{} {}", fault.code(), fault.name())),
                "{}",
                fault.name()
            );
        }
    }
}
