//! What a transfer amounts to: rows of transfers that were written down, whose numbers are known
//! beforehand.
#![allow(clippy::cast_precision_loss, reason = "numbers of a test")]

mod measured;
#[path = "../../flow/tests/packets/mod.rs"]
mod packets;

use measured::{connection, measure_with, transfer};
use packets::{Ends, MS, Made, S, Trace, batch};
use trustbed_analyze::{At, Options, State, TransferRow};
use trustbed_flow::State as Life;
use trustbed_units::{Ns, Span};
use trustbed_wire::TcpFlags;

const RTT: i64 = 20 * MS;

fn row_with(trace: &Trace, options: Options) -> TransferRow {
    transfer(&measure_with(&trace.batch(), options)).clone()
}

fn row(trace: &Trace) -> TransferRow {
    row_with(trace, Options::default())
}

fn close(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() <= 1e-9 * b.abs().max(1.0))
}

/// Beside the sender: a handshake of 20 ms with a window of `window` bytes.
fn open(window: u16) -> Trace {
    let ends = Ends::default();
    let mut trace = Trace::empty();
    trace.push(ends.syn(0)).push(ends.syn_ack(RTT).window(window)).push(ends.client(RTT + 50));
    trace
}

/// A window of `segments` full segments per round trip, `rounds` times, each ACK answered after
/// `delay(round)` µs.
fn rounds(segments: i64, rounds: i64, delay: impl Fn(i64) -> i64) -> Trace {
    let ends = Ends::default();
    let window = u16::try_from(segments * 1000).unwrap_or(u16::MAX);
    let mut trace = open(window);
    let mut at = RTT + 100;
    for round in 0..rounds {
        for n in 0..segments {
            trace.sends(at + n, (round * segments + n) * 1000, 1000);
        }
        trace.push(
            ends.server(at + segments - 1 + RTT).ack((round + 1) * segments * 1000).window(window),
        );
        at += segments - 1 + RTT + delay(round);
    }
    trace
}

#[test]
fn a_transfer_that_fills_its_window_reaches_what_the_window_allows() {
    let row = row(&rounds(10, 100, |_| 30));
    let duration = 100 * (RTT + 9) + 99 * 30;
    assert_eq!(row.at, At::Sender);
    assert_eq!(row.duration, Some(Span::from_micros(duration)));
    assert!(close(row.throughput, 1e6 / (duration as f64 / 1e6)));
    assert_eq!(
        (row.mss, row.packet_bytes, row.window_max, row.window_min),
        (1000, 1040, Some(10_000), Some(10_000))
    );
    assert!(close(row.rtt_base, 20e6));
    assert!(close(row.bounds[0], 10_000.0 * 1000.0 / (1040.0 * 0.020)));
    assert!(close(row.packet_period, 1040.0 * 20e6 / 10_000.0), "T = P·R₀/W");
    assert_eq!(
        (row.spacing.count, row.spacing.min, row.spacing.max),
        (99, Some(30_000), Some(30_000))
    );
    assert_eq!(row.long_pauses, Some((0.0, 0.0)));
    assert!(
        close(row.idle_open_window_fraction, 0.0)
            && close(row.long_pause_fraction, 0.0)
            && close(row.app_limited_fraction, 0.0)
    );
    assert_eq!(row.trains, Some((100, 1000, 10)));
    assert_eq!(row.train_gaps, Some((900, 900_000)));
    assert_eq!(row.outstanding_max, Some(10_000.0));
    assert!(close(row.window_saturated, 1.0) && close(row.window_closed, 0.0));
    assert!(row.rwnd_limited.is_some_and(|share| share > 0.98), "{:?}", row.rwnd_limited);
    assert_eq!(
        (row.loss_rate, row.loss_rate_genuine, row.loss_bytes, row.loss_events),
        (Some(0.0), Some(0.0), Some(0.0), 0)
    );
    assert_eq!((row.too_short, row.slow_start), (false, Some(false)));
    assert!(row.flags.is_empty());
}

/// Nanoseconds in a state.
fn time_in(row: &TransferRow, state: State) -> i64 {
    row.account.as_ref().map_or(0, |account| account.times[state.index()])
}

#[test]
fn a_frozen_sender_withholds() {
    // Every fifth answer comes 35 ms late.
    let row = row(&rounds(10, 100, |round| if round % 5 == 4 { 35 * MS } else { 30 }));
    let duration = 100 * (RTT + 9) + 80 * 30 + 19 * 35 * MS;
    let late = 19.0 * 35.0 * 1e6;
    // Sums come from bins, within 0.02 %.
    let late_by_bins = |sum: f64| (sum / late - 1.0).abs() < 2e-4;
    assert!(
        row.long_pauses.is_some_and(|(n, sum)| (n - 19.0).abs() < 1e-9 && late_by_bins(sum)),
        "{:?}",
        row.long_pauses
    );
    assert!(
        row.long_pause_fraction.is_some_and(|share| late_by_bins(share * duration as f64 * 1e3))
    );
    assert_eq!(row.idle_open_window.map(|w| w.0), Some(19.0));
    assert!(
        row.idle_open_window_fraction
            .is_some_and(|share| late_by_bins(share * duration as f64 * 1e3))
    );
    let four_packets = 4.0 * 1000.0 / (1e6 / (duration as f64 / 1e6)) * 1e9;
    assert!(
        close(row.idle_open_window_threshold, (4.0 * 2_080_000.0_f64).max(four_packets).max(1e6)),
        "max(4·T, 4·p/X, 1 ms)"
    );
    assert_eq!(time_in(&row, State::IdleSender), 19 * 35 * MS * 1_000, "{:?}", row.account);
    assert!(
        row.throughput_gap_explained.is_some_and(|share| (share - 1.0).abs() < 0.05),
        "{:?} of {:?}",
        row.throughput_gap_explained,
        row.throughput_gap
    );
}

#[test]
fn a_sender_with_nothing_to_send_waits_for_its_application() {
    // A request of 300 bytes every 200 ms.
    let ends = Ends::default();
    let mut trace = open(60_000);
    for n in 0..300 {
        let at = RTT + 100 + n * 200 * MS;
        trace.sends(at, n * 300, 300).push(ends.server(at + RTT).ack((n + 1) * 300));
    }
    let row = row(&trace);
    let idle = 299.0 * 180e6;
    let duration = (299 * 200 * MS + RTT) as f64 * 1e3;
    assert!(close(row.app_limited_fraction, idle / duration), "{:?}", row.app_limited_fraction);
    assert_eq!(
        (time_in(&row, State::IdleApplication), time_in(&row, State::IdleSender)),
        (299 * 180 * MS * 1_000, 0),
        "the application's, not the host's: {:?}",
        row.account
    );
}

#[test]
fn a_closed_window_is_the_receivers() {
    let ends = Ends::default();
    let mut trace = open(10_000);
    let mut at = RTT + 100;
    for n in 0..40 {
        trace
            .sends(at, n * 10_000, 10_000)
            .push(ends.server(at + RTT).ack((n + 1) * 10_000).window(0));
        trace.push(ends.server(at + 3 * RTT).ack((n + 1) * 10_000).window(10_000));
        at += 3 * RTT + 30;
    }
    let row = row(&trace);
    assert_eq!((row.zero_window_events, row.window_min), (40, Some(0)));
    // The last closing is at the end of the last acknowledged byte.
    assert_eq!(row.zero_window, Span::from_micros(39 * 2 * RTT));
    assert!(
        row.window_closed.is_some_and(|share| share > 0.6 && share < 0.7),
        "{:?}",
        row.window_closed
    );
    assert!(
        row.idle_open_window_fraction.is_some_and(|h| h < 0.01),
        "the sender had no permission: {:?}",
        row.idle_open_window_fraction
    );
}

#[test]
fn the_delivery_rate_shows_the_capacity() {
    // 1000 bytes per ms arrive, 50 segments outstanding behind a queue, a window of 60 000 that
    // never binds: R = 50 ms, R₀ = 20 ms.
    let ends = Ends::default();
    let mut trace = open(60_000);
    let start = RTT + 100;
    for n in 0..50 {
        trace.sends(start + n, n * 1000, 1000);
    }
    for n in 0..4_000 {
        let at = start + RTT + n * MS;
        trace.push(ends.server(at).ack((n + 1) * 1000));
        trace.sends(at + 20, (n + 50) * 1000, 1000);
    }
    let row = row(&trace);
    assert!(row.steadiness.is_some_and(|s| s > 0.97), "{:?}", row.steadiness);
    assert!(row.rates.is_some_and(|r| (r.p50 - 1e6).abs() < 0.02e6), "{:?}", row.rates);
    assert!(row.pipe_full.is_some_and(|f| f > 0.95), "{:?}", row.pipe_full);
    let x1 = row.bounds[1].unwrap_or(0.0);
    if row.throughput.is_some_and(|x| x < 0.8 * x1) {
        assert_eq!(row.capacity_source, Some("delivery_rate"));
        assert!(row.capacity.is_some_and(|c| (c - 1.04e6).abs() < 0.03e6), "{:?}", row.capacity);
    } else {
        assert_eq!(
            (row.capacity_source, row.capacity),
            (None, None),
            "a window-bound transfer shows nothing of the capacity"
        );
    }
}

#[test]
fn a_given_capacity_goes_before_everything() {
    let row =
        row_with(&rounds(10, 50, |_| 30), Options { capacity: Some(2e6), ..Options::default() });
    assert_eq!((row.capacity, row.capacity_source), (Some(2e6), Some("given")));
    assert!(close(row.bounds[3], 2e6 * 1000.0 / 1040.0));
}

#[test]
fn short_transfers_are_not_judged() {
    for (segments, number, too_short) in
        [(10, 6, true), (10, 9, true), (8, 11, false), (1, 20, true)]
    {
        let row = row(&rounds(segments, number, |_| 30));
        assert_eq!(
            row.too_short,
            too_short,
            "{} bytes in {number} round trips",
            segments * number * 1000
        );
    }
    let mut nothing_arrived = open(60_000);
    nothing_arrived.sends(RTT + 100, 0, 1000);
    let row = row(&nothing_arrived);
    assert!(row.too_short);
    assert_eq!(
        (row.duration, row.throughput, row.long_pause_fraction),
        (None, None, None),
        "unknown, not zero"
    );
}

#[test]
fn super_packets_count_as_what_the_wire_carries() {
    let ends = Ends::default();
    let mut trace = open(60_000);
    trace.sends(RTT + 100, 0, 10_500).push(ends.server(2 * RTT + 100).ack(10_500)).sends(
        2 * RTT + 200,
        10_500,
        1000,
    );
    trace.sends(2 * S, 10_500, 1000).push(ends.server(2 * S + RTT).ack(11_500));
    let row = row(&trace);
    assert_eq!((row.counters.data_packets, row.segments_wire, row.offloaded), (3, 13, true));
    assert!(close(row.loss_rate, 1.0 / 13.0));
    assert_eq!(row.flags, ["offloaded"]);
}

#[test]
fn in_the_middle_losses_lie_on_either_side() {
    let ends = Ends::default();
    let mut trace = Trace::empty();
    trace.push(ends.syn(0)).push(ends.syn_ack(10 * MS)).push(ends.client(20 * MS));
    for n in 0..20 {
        let at = 30 * MS + n * 20 * MS;
        match n {
            // The third never reaches the capture; the seventh is lost behind it.
            3 => {}
            4 => {
                trace
                    .sends(at, 4_000, 1000)
                    .sends(at + 10 * MS, 3_000, 1000)
                    .push(ends.server(at + 11 * MS).ack(5_000));
            }
            7 => {
                trace
                    .sends(at, 7_000, 1000)
                    .sends(at + 18 * MS, 7_000, 1000)
                    .push(ends.server(at + 19 * MS).ack(8_000));
            }
            n => {
                trace.sends(at, n * 1000, 1000).push(ends.server(at + 10 * MS).ack((n + 1) * 1000));
            }
        }
    }
    let row = row_with(&trace, Options { at: Some(At::Middle), ..Options::default() });
    assert_eq!(
        (row.counters.lost_upstream, row.counters.retransmitted, row.counters.data_packets),
        (1, 1, 21)
    );
    assert!(
        close(row.loss_upstream, 1.0 / 22.0),
        "lost upstream of all that were sent: {:?}",
        row.loss_upstream
    );
    assert!(
        close(row.loss_downstream, 1.0 / 21.0),
        "seen twice of all that were seen: {:?}",
        row.loss_downstream
    );
    assert_eq!(row.loss_receiver, None);
}

#[test]
fn at_the_receiver_what_arrived_counts() {
    let ends = Ends::default();
    let mut trace = Trace::empty();
    trace.push(ends.syn(0)).push(ends.syn_ack(50)).push(ends.client(RTT));
    for n in 0..100 {
        let at = 2 * RTT + n * MS;
        trace.sends(at, n * 1000, 1000).push(ends.server(at + 50).ack((n + 1) * 1000));
    }
    let row = row(&trace);
    assert_eq!(row.at, At::Receiver);
    assert!(close(row.throughput, 100_000.0 / 0.099), "unique bytes over first to last arrival");
    assert_eq!(row.rto, None, "no timer is visible from here");
}

#[test]
fn a_side_that_never_sent_is_reported() {
    let ends = Ends::default();
    let packets: Vec<Made> =
        (0..100).map(|n| ends.client(n * MS).seq(n * 1000).data(1000)).collect();
    let rows = measure_with(&batch(&packets), Options::default());
    let row = transfer(&rows);
    assert!(row.one_sided && connection(&rows).one_sided);
    assert_eq!(
        (row.duration, row.throughput, row.rtt.count, row.window_max),
        (None, None, 0, None)
    );
    assert!(row.flags.contains(&"one_sided") && row.flags.contains(&"midstream"));
}

#[test]
fn a_capture_that_dropped_packets_is_told() {
    let ends = Ends::default();
    let mut trace = open(60_000);
    trace
        .sends(RTT + 100, 0, 1000)
        .sends(RTT + 110, 3000, 1000)
        .push(ends.server(2 * RTT + 110).ack(4000));
    let row = row(&trace);
    assert_eq!((row.acked_unseen, row.flags.clone()), (2000, vec!["capture_loss"]));
}

#[test]
fn an_outage_is_reported_beside_the_spacing() {
    let ends = Ends::default();
    let mut trace = open(60_000);
    trace.sends(RTT + 100, 0, 1000).push(ends.server(2 * RTT + 100).ack(1000)).sends(
        2 * RTT + 200,
        1000,
        1000,
    );
    for n in 1..4 {
        trace.sends(2 * RTT + 200 + n * S, 1000, 1000);
    }
    trace.push(ends.server(4 * S).ack(2000));
    let row = row(&trace);
    assert_eq!(
        row.outage,
        Span::from_micros(4 * S - 2 * RTT - 200),
        "its only packets are retransmissions of one range"
    );
}

#[test]
fn a_connection_is_summed_up() {
    let ends = Ends::default();
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .push(ends.server(30 * MS).ack(1000).data(500))
        .push(ends.client(31 * MS).seq(1000).ack(500));
    trace.push(ends.client(40 * MS).seq(1000).ack(500).flags(TcpFlags::FIN | TcpFlags::ACK));
    let rows = measure_with(&trace.batch(), Options::default());
    let row = connection(&rows);
    assert_eq!((row.connection, row.protocol, row.state), (1, 6, Life::HalfClosed));
    assert_eq!((row.initiator, row.responder), (ends.client, ends.server));
    assert_eq!((row.start, row.last), (Ns(0), Ns(40_000_000)));
    assert_eq!((row.from_initiator.packets, row.from_responder.packets), (5, 2));
    assert_eq!((row.from_initiator.payload, row.from_responder.payload), (1000, 500));
    assert_eq!(row.handshake_rtt, Some(Span::from_micros(10_050)));
    let named: Vec<String> = rows.ended[0].transfers.iter().map(|t| t.id.to_string()).collect();
    assert_eq!(named, ["1.0", "1.1"], "the initiator's data first");
}

#[test]
fn a_direction_without_payload_is_no_transfer() {
    let rows = measure_with(&rounds(2, 3, |_| 30).batch(), Options::default());
    assert_eq!(rows.ended[0].transfers.len(), 1);
    let handshake = measure_with(&Trace::open().batch(), Options::default());
    assert!(handshake.ended[0].transfers.is_empty() && handshake.ended[0].trails.is_empty());
}

#[test]
fn without_a_handshake_the_usual_size_is_the_segment_size() {
    let ends = Ends::default();
    let mut trace = Trace::empty();
    for n in 0..30 {
        let length = if n % 7 == 3 { 400 } else { 1388 };
        trace
            .push(ends.client(n * MS).seq(n * 1388).data(length))
            .push(ends.server(n * MS + 500).ack((n + 1) * 1388));
    }
    assert_eq!(row(&trace).mss, 1388);
}

/// Ten segments per round trip, a millisecond each on the path, acknowledged two by two; from half
/// of the rounds on `late` µs later, and `together`.
fn halves(late: i64, together: i64) -> Trace {
    let (ends, segments, rounds) = (Ends::default(), 10, 100);
    let mut trace = open(10_000);
    let mut at = RTT + 100;
    for round in 0..rounds {
        let (first, second) = (round * segments, round >= rounds / 2);
        for n in 0..segments {
            trace.sends(at + n, (first + n) * 1000, 1000);
        }
        let extra = if second { late } else { 0 };
        let every = if second { together } else { 2 };
        for n in 0..segments {
            if (n + 1) % every == 0 {
                let ack = ends.server(at + RTT + n * MS + extra).ack((first + n + 1) * 1000);
                trace.push(ack.window(10_000));
            }
        }
        at += RTT + segments * MS + extra;
    }
    trace
}

#[test]
fn a_flight_that_is_acknowledged_all_at_once_says_nothing_of_the_floor() {
    let step = row(&halves(5000, 2)).floor_step.expect("the route changed");
    assert!((step.after - step.before - 5e6).abs() < 1e3, "{step:?}");
    assert_eq!(row(&halves(0, 10)).floor_step, None);
    let in_two = row(&halves(0, 5)).floor_step.expect("two acknowledgements of a flight count");
    assert!((in_two.after - in_two.before - 3e6).abs() < 1e5, "{in_two:?}");
}
