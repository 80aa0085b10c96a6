//! What a transfer amounts to when it is over. All times are nanoseconds, all rates bytes per
//! second; `None` is unknown, never zero. `trustbed-record` states what each column means,
//! `summary` how it comes about.

use trustbed_flow::Counters;
use trustbed_units::{Ns, Span};

use crate::capture_point::{At, CapturePointSource};
use crate::samples::TransferId;
use crate::series::Series;
use crate::{Pause, Silence};

/// One direction of a connection that carried payload.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(
    missing_docs,
    clippy::struct_excessive_bools,
    reason = "each field is a column, described in trustbed-record"
)]
pub struct TransferRow {
    pub id: TransferId,
    pub source: ([u8; 16], u16),
    pub destination: ([u8; 16], u16),
    pub ipv6: bool,
    pub at: At,
    pub at_source: CapturePointSource,
    pub start: Ns,
    pub duration: Option<Span>,
    pub counters: Counters,
    pub segments_wire: u64,
    pub zero_window_events: u32,
    pub zero_window: Span,
    pub acked_unseen: u64,
    pub mss: u32,
    pub packet_bytes: u32,
    pub window_scale: Option<u8>,
    pub window_estimated: bool,
    pub timestamps: bool,
    pub sack: bool,
    pub multipath: bool,
    pub offloaded: bool,
    pub one_sided: bool,
    pub midstream: bool,
    pub clock_step: bool,
    pub outstanding_max: Option<f64>,
    pub outstanding_mean: Option<f64>,
    pub window_min: Option<u32>,
    pub window_max: Option<u32>,
    pub window_first: Option<u32>,
    pub rtt: Times,
    pub rtt_base: Option<f64>,
    pub rtt_mean: Option<f64>,
    pub rtt_source: &'static str,
    pub refused: crate::Refused,
    pub delack_suspects: u32,
    pub rtt_timestamp: Option<(u64, f64, f64)>,
    pub echo: Times,
    pub owd_increase: Option<f64>,
    pub rto: Option<crate::RtoValues>,
    pub rto_margin: Option<f64>,
    pub spacing: Times,
    pub spacing_estimated: bool,
    pub long_pauses: Option<(f64, f64)>,
    pub long_pause_fraction: Option<f64>,
    pub large: Option<f64>,
    pub idle_open_window: Option<(f64, f64)>,
    pub idle_open_window_fraction: Option<f64>,
    pub idle_open_window_threshold: Option<f64>,
    pub window_wait: Option<(u64, i64)>,
    pub recovery_wait: Option<(u64, i64)>,
    pub held_by_network: Option<(u64, i64)>,
    pub packet_period: Option<f64>,
    pub trains: Option<(u64, u64, u32)>,
    pub train_gaps: Option<(u64, i64)>,
    pub throughput_gap: Option<f64>,
    pub throughput_gap_explained: Option<f64>,
    pub host_overlap: Option<f64>,
    pub window_saturated: Option<f64>,
    pub window_closed: Option<f64>,
    pub rwnd_limited: Option<f64>,
    pub window_full: Option<f64>,
    pub throughput: Option<f64>,
    pub bounds: [Option<f64>; 4],
    pub rates: Option<crate::Rates>,
    pub steadiness: Option<f64>,
    pub pipe_full: Option<f64>,
    pub capacity: Option<f64>,
    pub capacity_source: Option<&'static str>,
    pub loss_rate: Option<f64>,
    pub loss_rate_genuine: Option<f64>,
    pub loss_bytes: Option<f64>,
    pub loss_events: u32,
    pub overtaken: u32,
    pub loss_event_rate: Option<f64>,
    pub loss_upstream: Option<f64>,
    pub loss_downstream: Option<f64>,
    pub loss_receiver: Option<f64>,
    pub loss_persistence: Option<f64>,
    pub rtt_before_loss: Option<f64>,
    pub rtt_high: Option<f64>,
    pub loss_level_rank: Option<f64>,
    pub policed: Option<crate::Policed>,
    pub bend: Option<crate::Bend>,
    pub floor_step: Option<crate::FloorStep>,
    pub window_shrunk: Option<f64>,
    pub empty_fraction: Option<f64>,
    pub idle_open_window_at_rate_fraction: Option<f64>,
    pub unanswered: Span,
    pub interrupted: Span,
    pub reordering_dupack_series: u32,
    pub app_limited_fraction: Option<f64>,
    pub account: Option<crate::Account>,
    pub ack_silences: (u32, Span),
    pub ack_silences_own: u32,
    pub acks_held: (u32, Span),
    pub data_held: u32,
    pub needless: (u32, u32),
    pub exchanges: Vec<crate::Exchange>,
    pub exchanges_more: u64,
    pub quiet: Vec<crate::Quiet>,
    pub crossed: bool,
    pub last_new: Option<(Span, u64)>,
    pub packet_pairs: Option<Box<crate::PacketPairs>>,
    pub slow_start: Option<bool>,
    pub too_short: bool,
    pub outage: Span,
    pub stall_gaps: Vec<Span>,
    pub flags: Vec<&'static str>,
    pub charts: Option<Box<Charts>>,
}

/// What a page draws of one transfer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Charts {
    /// Points over time.
    pub series: Series,
    /// Cumulative distributions in nanoseconds: RTT, spacing, response.
    pub rtt: Vec<(f64, f64)>,
    /// Of spacing.
    pub spacing: Vec<(f64, f64)>,
    /// Of response times.
    pub response: Vec<(f64, f64)>,
}

/// A distribution of durations in nanoseconds, summarised.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[expect(missing_docs, reason = "the field's standard statistics")]
pub struct Times {
    pub count: u64,
    pub min: Option<i64>,
    pub mean: Option<f64>,
    pub deviation: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<i64>,
}

/// When a sender was active and silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    /// The sending host.
    pub host: [u8; 16],
    /// Whose data.
    pub transfer: TransferId,
    /// First data.
    pub first: Ns,
    /// Last new data.
    pub last: Ns,
    /// Silences of at least two seconds.
    pub silences: Vec<Silence>,
    /// Silences longer than the round-trip time, the longest ones.
    pub pauses: Vec<Pause>,
    /// Base round-trip time: pauses above it are long.
    pub rtt_base: Option<Span>,
}
