//! A [`Direction`] as plain numbers, for tables.

use trustbed_analyze::Distribution;
use trustbed_flow::FlowKey;
use trustbed_units::{Ns, Span};

use crate::{Capture, Direction, Fates};

/// Median and tail of durations, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Quantiles {
    /// Number of durations.
    pub count: u64,
    /// Their sum.
    pub sum: i64,
    /// Median.
    pub median: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

impl Quantiles {
    fn of(mut durations: Distribution) -> Self {
        Self {
            count: durations.count(),
            sum: durations.sum(),
            median: durations.quantile(0.5),
            p95: durations.quantile(0.95),
            p99: durations.quantile(0.99),
        }
    }
}

/// One direction of a connection between the two capture points; see [`Direction`].
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of Direction")]
pub struct TwoPointRow {
    pub key: FlowKey,
    pub direction: usize,
    pub from: Capture,
    pub first: Ns,
    pub last: Ns,
    pub data: Fates,
    pub no_payload: Fates,
    pub lost_bytes: u64,
    pub loss_events: u64,
    pub spurious: u64,
    pub reordered: u64,
    pub owd_min: Option<Span>,
    pub owd_increase: Quantiles,
    pub delays_negative: u64,
    pub round_trip: Quantiles,
    pub turnaround: Quantiles,
    pub path: Quantiles,
    pub negative_paths: u64,
}

impl From<Direction> for TwoPointRow {
    fn from(direction: Direction) -> Self {
        let trips = direction.round_trips;
        Self {
            key: direction.key,
            direction: direction.direction,
            from: direction.from,
            first: direction.first,
            last: direction.last,
            data: direction.data,
            no_payload: direction.no_payload,
            lost_bytes: direction.lost_bytes,
            loss_events: direction.loss_events,
            spurious: direction.spurious,
            reordered: direction.reordered,
            owd_min: direction.owd_min,
            owd_increase: Quantiles::of(direction.owd_increase),
            delays_negative: direction.delays_negative,
            round_trip: Quantiles::of(trips.whole),
            turnaround: Quantiles::of(trips.turnaround),
            path: Quantiles::of(trips.path),
            negative_paths: trips.negative,
        }
    }
}
