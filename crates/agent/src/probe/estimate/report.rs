//! The report of a measurement.

use std::net::SocketAddr;

use serde::Serialize;
use trustbed_probe::PathloadReport;
use trustbed_traffic::DepartureErrorSummary;
use trustbed_units::Span;

use super::drive::{Chirped, Ended, Prober};
use crate::session::workers::Start;

/// Runs of one kind.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Runs {
    /// Those of which a packet left.
    pub(super) sent: u64,
    /// Handed to the estimator.
    pub(super) used: u64,
    pub(super) discarded: Discarded,
}

/// Runs that were not used, by reason.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Discarded {
    /// Gaps were not those that were requested.
    pub(super) sender_late: u64,
    /// A packet found no room in the sender's queue.
    pub(super) no_room: u64,
    /// The receiver's socket had no room.
    pub(super) receiver_dropped: u64,
    /// The receiver's real-time clock was stepped.
    pub(super) clock_stepped: u64,
    /// The time was over, or the end requested.
    pub(super) cut_off: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Report {
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    estimator: &'static str,
    from: Option<SocketAddr>,
    to: SocketAddr,
    ending: Ended,
    /// The invalid trains and streams in a row that ended the search, by reason.
    invalid_in_a_row: Option<Discarded>,
    /// The same in words, the most frequent reason first.
    ending_message: Option<String>,
    /// What ended the connection to the receiver.
    receiver_lost: Option<String>,
    /// When the first run began: the moments of estimates count from there.
    begun_ns: Option<i64>,
    /// From the first run on.
    duration_ns: i64,
    round_trip_ns: Option<i64>,
    sent_packets: u64,
    /// With the headers of IP and UDP.
    sent_ip_bytes: u64,
    /// The longest packets that are sent, headers included, by what the path takes and what was
    /// requested.
    longest_packet_bytes: Option<u32>,
    trains: Runs,
    streams: Runs,
    chirps: Runs,
    departure_error: DepartureErrorReport,
    /// Runs whose moments of sending are this program's, because the kernel had none.
    stamped_early_runs: u64,
    unreachable_answers: u64,
    pathload: Option<PathloadFound>,
    pathchirp: Option<PathChirpFound>,
}

/// How late packets of streams and chirps left this program.
#[derive(Debug, Serialize)]
struct DepartureErrorReport {
    p50_ns: Option<f64>,
    #[serde(flatten)]
    summary: DepartureErrorSummary,
}

/// Rates with headers of IP and UDP.
#[derive(Debug, Serialize)]
struct PathloadFound {
    low_bits_per_second: Option<f64>,
    high_bits_per_second: Option<f64>,
    /// Of the first train that arrived whole.
    dispersion_rate_bits_per_second: Option<f64>,
    fleets: usize,
}

/// Rates of UDP payload, as the tool counts them, unless they are called others.
#[derive(Debug, Serialize)]
struct PathChirpFound {
    /// Of the estimates behind the latest change of the chirps' rates.
    mean_bits_per_second: Option<f64>,
    /// The same with headers of IP and UDP.
    mean_ip_bits_per_second: Option<f64>,
    deviation_bits_per_second: Option<f64>,
    estimates_in_mean: u64,
    unusable_chirps: u64,
    ranges: Vec<RangeRow>,
    estimates: Vec<EstimateRow>,
    estimates_left_out: u64,
}

/// From then on chirps had these rates.
#[derive(Debug, Serialize)]
struct RangeRow {
    at_ns: i64,
    lowest_bits_per_second: f64,
    highest_bits_per_second: f64,
}

#[derive(Debug, Serialize)]
struct EstimateRow {
    at_ns: i64,
    bits_per_second: f64,
    /// It is near the highest rate that chirps may have: a lower bound.
    at_limit: bool,
}

/// What an estimator found.
#[derive(Debug)]
pub(super) enum Found {
    Nothing,
    Interval(PathloadReport),
    Series(Chirped, u32),
}

/// Both ends and the start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Whose {
    pub(super) estimator: &'static str,
    pub(super) from: Option<SocketAddr>,
    pub(super) to: SocketAddr,
    pub(super) start: Option<Start>,
}

impl Report {
    /// Of a measurement without a run, where there is no prober.
    pub(super) fn of(whose: Whose, ending: Ended, prober: Option<&Prober>, found: &Found) -> Self {
        let Whose { estimator, from, to, start } = whose;
        let departure_error =
            prober.map(|prober| prober.flight.departure_error.clone()).unwrap_or_default();
        let header_bytes = prober.map_or(0, |prober| prober.flight.header_bytes);
        let with_headers = |payload: u32| f64::from(payload + header_bytes) / f64::from(payload);
        let runs =
            |of: fn(&Prober) -> &Runs| prober.map(|prober| of(prober).clone()).unwrap_or_default();
        Self {
            start_ns: start.map(|start| start.realtime.0),
            end_ns: start.map(|start| (start.realtime + start.elapsed()).0),
            estimator,
            from,
            to,
            ending,
            invalid_in_a_row: prober.and_then(|prober| prober.invalid_in_a_row.clone()),
            ending_message: prober
                .and_then(|prober| prober.invalid_in_a_row.as_ref())
                .map(Discarded::message),
            receiver_lost: prober.and_then(|prober| prober.lost.clone()),
            begun_ns: start
                .zip(prober)
                .map(|(start, prober)| (start.realtime + (prober.begun() - start.monotonic)).0),
            duration_ns: prober.map_or(Span::ZERO, Prober::duration).0,
            round_trip_ns: prober.and_then(|prober| prober.round_trip).map(|span| span.0),
            sent_packets: prober.map_or(0, |prober| prober.sent_packets),
            sent_ip_bytes: prober.map_or(0, |prober| prober.sent_ip_bytes),
            longest_packet_bytes: prober.and_then(|prober| prober.longest_packet_bytes),
            trains: runs(|prober| &prober.trains),
            streams: runs(|prober| &prober.streams),
            chirps: runs(|prober| &prober.chirps),
            departure_error: DepartureErrorReport {
                p50_ns: departure_error.median(),
                summary: departure_error.summary(),
            },
            stamped_early_runs: prober.map_or(0, |prober| prober.flight.stamped_early_runs),
            unreachable_answers: prober.map_or(0, |prober| prober.flight.unreachable_answers),
            pathload: match found {
                Found::Interval(report) => Some(PathloadFound::of(report)),
                _ => None,
            },
            pathchirp: match found {
                Found::Series(chirped, payload) => {
                    Some(PathChirpFound::of(chirped, with_headers(*payload)))
                }
                _ => None,
            },
        }
    }
}

impl PathloadFound {
    fn of(report: &PathloadReport) -> Self {
        Self {
            low_bits_per_second: report.low,
            high_bits_per_second: report.high,
            dispersion_rate_bits_per_second: report.dispersion_rate,
            fleets: report.fleets,
        }
    }
}

impl PathChirpFound {
    /// `with_headers` is what a packet is with them, by what it is without.
    fn of(chirped: &Chirped, with_headers: f64) -> Self {
        let mean = (chirped.latest.count > 0).then_some(chirped.latest.mean);
        let range = |&(at, lowest, highest): &(Span, f64, f64)| RangeRow {
            at_ns: at.0,
            lowest_bits_per_second: lowest,
            highest_bits_per_second: highest,
        };
        let row = |&(at, rate, at_limit): &(Span, f64, bool)| EstimateRow {
            at_ns: at.0,
            bits_per_second: rate,
            at_limit,
        };
        Self {
            mean_bits_per_second: mean,
            mean_ip_bits_per_second: mean.map(|rate| rate * with_headers),
            deviation_bits_per_second: chirped.latest.deviation(),
            estimates_in_mean: chirped.latest.count,
            unusable_chirps: chirped.unusable,
            ranges: chirped.ranges.iter().map(range).collect(),
            estimates: chirped.estimates.iter().map(row).collect(),
            estimates_left_out: chirped.left_out,
        }
    }
}
