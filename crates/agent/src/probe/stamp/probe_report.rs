//! The results of a session of probes: a row for each, and the report.

use std::net::SocketAddr;
use std::path::Path;

use serde::Serialize;
use trustbed_probe::{ClockVerdict, DelaySummary, Delays, DirectionCounts, Outcome, RoundTrip};
use trustbed_traffic::DepartureErrorSummary;
use trustbed_units::Span;

use super::Timestamps;
use super::probe::{Configuration, Spacing};
use super::probe_loop::{Failures, Prober};
use crate::output::rows::{Column, NONE, Rows, RowsWritten};
use crate::session::Failure;
use crate::session::workers::Start;

const COLUMNS: [Column; 13] = [
    Column { name: "sequence", unit: "", meaning: "number of the probe, from 0" },
    Column { name: "due_ns", unit: "ns", meaning: "when it was due, after the start" },
    Column {
        name: "sent_ns",
        unit: "ns",
        meaning: "when it was sent, by the sender's real-time clock",
    },
    Column {
        name: "reflector_received_ns",
        unit: "ns",
        meaning: "when it came to the reflector, by the reflector's clock",
    },
    Column {
        name: "reflector_sent_ns",
        unit: "ns",
        meaning: "when it was answered, by the reflector's clock",
    },
    Column {
        name: "received_ns",
        unit: "ns",
        meaning: "when the answer came, by the sender's real-time clock",
    },
    Column {
        name: "round_trip_ns",
        unit: "ns",
        meaning: "there and back, without the time at the reflector",
    },
    Column {
        name: "forward_ns",
        unit: "ns",
        meaning: "delay to the reflector, by how much its clock is ahead included; may be negative",
    },
    Column {
        name: "backward_ns",
        unit: "ns",
        meaning: "delay from the reflector, less by how much its clock is ahead; may be negative",
    },
    Column {
        name: "reflector_sequence",
        unit: "",
        meaning: "the answer's own number, or the probe's where the reflector does not count",
    },
    Column {
        name: "ttl",
        unit: "hops",
        meaning: "hops that the probe could still have made when it came to the reflector",
    },
    Column { name: "duplicates", unit: "", meaning: "answers that came besides the first" },
    Column {
        name: "flags",
        unit: "",
        meaning: "sum of: 1 delay to the reflector negative, 2 delay from it negative, 4 round \
            trip negative (a clock was set), 8 answer behind \
                  that to a later probe, 16 the kernel timestamped its sending, 32 without an \
                  answer that might still have come",
    },
];

pub(super) fn create(path: &Path) -> Result<Rows, Failure> {
    Rows::create(path, &COLUMNS)
}

/// A row: its answer's columns are none where there was no answer.
pub(super) fn append(rows: &mut Rows, outcome: &Outcome, due: Option<Span>) {
    let flag = |is_set: bool, value: i64| if is_set { value } else { 0 };
    let sequence = i64::try_from(outcome.sequence).unwrap_or(NONE);
    let mut flags = flag(outcome.kernel_stamped, 16) + flag(outcome.indeterminate, 32);
    let mut answer = [NONE; 8];
    if let Some(found) = &outcome.answer {
        let RoundTrip { reflector_received, reflector_sent, received, .. } = found.trip;
        let (forward, backward, round_trip) =
            (found.trip.forward(), found.trip.backward(), found.trip.round_trip());
        flags += flag(forward < Span::ZERO, 1)
            + flag(backward < Span::ZERO, 2)
            + flag(round_trip < Span::ZERO, 4)
            + flag(found.reordered, 8);
        let numbers = (found.sequence.into(), found.ttl.into());
        answer = [
            reflector_received.0,
            reflector_sent.0,
            received.0,
            round_trip.0,
            forward.0,
            backward.0,
            numbers.0,
            numbers.1,
        ];
    }
    let [there, back, received, round_trip, forward, backward, number, ttl] = answer;
    let due = due.map_or(NONE, |due| due.0);
    let duplicates = outcome.duplicates.into();
    rows.append([
        sequence,
        due,
        outcome.sent.0,
        there,
        back,
        received,
        round_trip,
        forward,
        backward,
        number,
        ttl,
        duplicates,
        flags,
    ]);
}

#[derive(Debug, Serialize)]
pub(super) struct Report {
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    from: Option<SocketAddr>,
    to: SocketAddr,
    spacing: Spacing,
    mean_gap_ns: u64,
    seed: u64,
    payload_bytes: usize,
    session: u16,
    timestamps: Timestamps,
    give_up_ns: u64,
    sent_probes: u64,
    answered_probes: u64,
    lost_probes: u64,
    /// Unanswered at the end, and not long enough to be lost.
    indeterminate_probes: u64,
    late_answers: u64,
    duplicated_answers: u64,
    reordered_answers: u64,
    other_session_packets: u64,
    unknown_packets: u64,
    no_time_packets: u64,
    without_session_answers: u64,
    negative_forward_probes: u64,
    negative_backward_probes: u64,
    negative_round_trip_probes: u64,
    reflector_is_stateful: Option<bool>,
    /// Absent where the reflector is not known to count its packets.
    directions: Option<Directions>,
    #[serde(flatten)]
    failures: Failures,
    departure_error: DepartureErrorSummary,
    /// Absent without an answer.
    delays: Option<DelaysReport>,
    clocks: ClocksReport,
    rows: Option<RowsWritten>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "outside, names carry what they are of")]
struct Directions {
    lost_forward_probes: u64,
    lost_backward_probes: u64,
    lost_somewhere_probes: u64,
    duplicated_forward_probes: u64,
    duplicated_backward_probes: u64,
    reordered_forward_probes: u64,
    reordered_backward_probes: u64,
}

/// Delays of the last probes that were answered.
#[derive(Debug, Serialize)]
struct DelaysReport {
    /// What the reflector's clock gains, in seconds per second, where that was taken out of one-way
    /// delays.
    levelled_by: Option<f64>,
    round_trip: DelayReport,
    forward: DelayReport,
    backward: DelayReport,
}

#[derive(Debug, Serialize)]
struct DelayReport {
    probes: u64,
    negative_probes: u64,
    least_ns: i64,
    mean_ns: f64,
    p50_ns: i64,
    p95_ns: i64,
    p99_ns: i64,
    most_ns: i64,
    jitter_ns: i64,
    variation: Option<VariationReport>,
}

/// RFC 3393.
#[derive(Debug, Serialize)]
struct VariationReport {
    pairs: u64,
    least_ns: i64,
    most_ns: i64,
    mean_absolute_ns: f64,
    p95_absolute_ns: i64,
}

/// The reflector's clock against this host's, and what either thinks of itself.
#[derive(Debug, Serialize)]
struct ClocksReport {
    /// By how much the reflector's is ahead, by the probe with the least round trip; absent without
    /// an answer.
    offset: Option<OffsetReport>,
    /// How much faster it runs; absent where that is not known.
    skew: Option<SkewReport>,
    /// No clocks that run evenly fit what was seen: one was set, or changed its rate.
    uneven: bool,
    /// How often this host's was set meanwhile.
    clock_steps: u32,
    is_synchronized: bool,
    error_ns: i64,
    reflector_is_synchronized: Option<bool>,
    reflector_error_ns: Option<i64>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "outside, names carry their unit")]
struct OffsetReport {
    at_ns: i64,
    ahead_ns: i64,
    error_ns: i64,
    round_trip_ns: i64,
}

/// In seconds per second.
#[derive(Debug, Serialize)]
struct SkewReport {
    slope: f64,
    disagreement: f64,
    bound: f64,
    at_ns: i64,
    ahead_ns: i64,
}

impl Prober {
    pub(super) fn report(
        self,
        configuration: &Configuration,
        from: Option<SocketAddr>,
        start: Option<Start>,
    ) -> Report {
        let counts = self.session.counts();
        let clocks = ClocksReport::of(&self);
        let drift = self.clocks.drift();
        let trips: Vec<(u64, RoundTrip)> = self.trips.iter().copied().collect();
        let delays = Delays::of(&trips, drift.as_ref());
        Report {
            start_ns: start.map(|start| start.realtime.0),
            end_ns: start.map(|start| (start.realtime + start.elapsed()).0),
            from,
            to: configuration.to,
            spacing: configuration.spacing,
            mean_gap_ns: configuration.mean_gap_ns,
            seed: configuration.seed,
            payload_bytes: configuration.payload_bytes,
            session: configuration.session,
            timestamps: configuration.timestamps,
            give_up_ns: configuration.give_up_ns,
            sent_probes: counts.sent,
            answered_probes: counts.answered,
            lost_probes: counts.lost,
            indeterminate_probes: counts.indeterminate,
            late_answers: counts.late,
            duplicated_answers: counts.duplicated,
            reordered_answers: counts.reordered,
            other_session_packets: counts.other_session,
            unknown_packets: counts.unknown,
            no_time_packets: counts.no_time,
            without_session_answers: counts.without_session,
            negative_forward_probes: counts.negative_forward,
            negative_backward_probes: counts.negative_backward,
            negative_round_trip_probes: counts.negative_round_trip,
            reflector_is_stateful: self.session.is_stateful(),
            directions: self.session.directions().map(Directions::of),
            failures: self.failures,
            departure_error: self.departure_error.summary(),
            delays: delays.map(|delays| DelaysReport::of(&delays, drift.map(|line| line.slope))),
            clocks,
            rows: self.rows.map(Rows::finish),
        }
    }
}

impl Directions {
    const fn of(counts: DirectionCounts) -> Self {
        Self {
            lost_forward_probes: counts.lost_forward,
            lost_backward_probes: counts.lost_backward,
            lost_somewhere_probes: counts.lost_somewhere,
            duplicated_forward_probes: counts.duplicated_forward,
            duplicated_backward_probes: counts.duplicated_backward,
            reordered_forward_probes: counts.reordered_forward,
            reordered_backward_probes: counts.reordered_backward,
        }
    }
}

impl DelaysReport {
    fn of(delays: &Delays, levelled_by: Option<f64>) -> Self {
        let Delays { round_trip, forward, backward } = delays;
        let [round_trip, forward, backward] = [round_trip, forward, backward].map(DelayReport::of);
        Self { levelled_by, round_trip, forward, backward }
    }
}

impl DelayReport {
    fn of(summary: &DelaySummary) -> Self {
        Self {
            probes: summary.probes,
            negative_probes: summary.negative,
            least_ns: summary.least.0,
            mean_ns: summary.mean_ns,
            p50_ns: summary.p50.0,
            p95_ns: summary.p95.0,
            p99_ns: summary.p99.0,
            most_ns: summary.most.0,
            jitter_ns: summary.jitter().0,
            variation: summary.variation.map(|variation| VariationReport {
                pairs: variation.pairs,
                least_ns: variation.least.0,
                most_ns: variation.most.0,
                mean_absolute_ns: variation.mean_absolute_ns,
                p95_absolute_ns: variation.p95_absolute.0,
            }),
        }
    }
}

impl ClocksReport {
    fn of(prober: &Prober) -> Self {
        let verdict = prober.clocks.skew();
        let skew = match verdict {
            ClockVerdict::Skew(skew) => Some(SkewReport {
                slope: skew.ahead.slope,
                disagreement: skew.disagreement,
                bound: skew.bound,
                at_ns: skew.ahead.at.0,
                ahead_ns: skew.ahead.height.0,
            }),
            ClockVerdict::Unknown | ClockVerdict::Uneven => None,
        };
        let offset = prober.clocks.offset().map(|offset| OffsetReport {
            at_ns: offset.at.0,
            ahead_ns: offset.ahead.0,
            error_ns: offset.error.0,
            round_trip_ns: offset.round_trip.0,
        });
        Self {
            offset,
            skew,
            uneven: verdict == ClockVerdict::Uneven,
            clock_steps: prober.clock.offset.steps(),
            is_synchronized: prober.clock.synchronized,
            error_ns: prober.clock.error.0,
            reflector_is_synchronized: prober
                .reflector_clock
                .map(trustbed_probe::ErrorEstimate::is_synchronized),
            reflector_error_ns: prober
                .reflector_clock
                .and_then(trustbed_probe::ErrorEstimate::error)
                .map(|error| error.0),
        }
    }
}
