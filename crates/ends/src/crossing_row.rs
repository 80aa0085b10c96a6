//! A crossing as plain numbers, for tables.

use trustbed_analyze::Distribution;
use trustbed_flow::FlowKey;
use trustbed_units::{Ns, Span};

use crate::{Crossing, End, Tally};

/// The middle and the tail of durations, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Quantiles {
    /// How many there were.
    pub count: u64,
    /// Their sum.
    pub sum: i64,
    /// Half of them were shorter.
    pub median: Option<f64>,
    /// 95 of 100 were.
    pub p95: Option<f64>,
    /// 99 of 100 were.
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

/// One direction of a connection between the two places; see [`Crossing`].
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the fields of Crossing, in its words")]
pub struct CrossingRow {
    pub key: FlowKey,
    pub way: usize,
    pub from: End,
    pub first: Ns,
    pub last: Ns,
    pub data: Tally,
    pub bare: Tally,
    pub lost_bytes: u64,
    pub loss_events: u64,
    pub needless: u64,
    pub reordered: u64,
    pub delay_floor: Option<Span>,
    pub delay_above_floor: Quantiles,
    pub delays_negative: u64,
    pub round_trip: Quantiles,
    pub turnaround: Quantiles,
    pub path: Quantiles,
    pub negative_paths: u64,
}

impl From<Crossing> for CrossingRow {
    fn from(crossing: Crossing) -> Self {
        let trips = crossing.round_trips;
        Self {
            key: crossing.key,
            way: crossing.way,
            from: crossing.from,
            first: crossing.first,
            last: crossing.last,
            data: crossing.data,
            bare: crossing.bare,
            lost_bytes: crossing.lost_bytes,
            loss_events: crossing.loss_events,
            needless: crossing.needless,
            reordered: crossing.reordered,
            delay_floor: crossing.delay_floor,
            delay_above_floor: Quantiles::of(crossing.delay_above_floor),
            delays_negative: crossing.delays_negative,
            round_trip: Quantiles::of(trips.whole),
            turnaround: Quantiles::of(trips.turnaround),
            path: Quantiles::of(trips.path),
            negative_paths: trips.negative,
        }
    }
}
