//! Rows of the per-packet tables: one per data packet, one per round trip, each naming the packet
//! it came from.

mod measured;
#[path = "../../flow/tests/packets/mod.rs"]
mod packets;

use measured::{measure, measure_with};
use packets::{Ends, MS, S, Trace};
use trustbed_analyze::{Options, RttKind, TransferId};
use trustbed_flow::{Cause, Class};
use trustbed_units::Span;

/// SYN, SYN-ACK, ACK, then data of both sides.
fn trace() -> Trace {
    let ends = Ends::default();
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .acks(30 * MS, 1000)
        .sends(31 * MS, 1000, 1000)
        .sends(S, 1000, 1000)
        .acks(S + 10 * MS, 2000);
    trace
        .push(ends.server(S + 20 * MS).ack(2000).data(300))
        .push(ends.client(S + 20 * MS + 40).seq(2000).ack(300));
    trace
}

#[test]
fn nothing_is_collected_unless_requested() {
    let rows = measure_with(&trace().batch(), Options::default());
    assert!(
        rows.samples.rtt.is_empty()
            && rows.samples.spacing.is_empty()
            && rows.samples.segments.is_empty()
    );
}

#[test]
fn a_transfer_is_named_by_its_connection_and_its_sender() {
    assert_eq!(TransferId { connection: 17, by_responder: false }.to_string(), "17.0");
    assert_eq!(TransferId { connection: 17, by_responder: true }.to_string(), "17.1");
}

#[test]
fn a_round_trip_names_the_packet_at_which_it_was_known() {
    let rows = measure(&trace().batch());
    let reported: Vec<_> = rows
        .samples
        .rtt
        .iter()
        .map(|r| (r.index, r.transfer.to_string(), r.kind, r.rtt.0 / 1_000))
        .collect();
    let expected = [
        (4, "1.0".to_owned(), RttKind::Syn, 10 * MS),
        (5, "1.0".to_owned(), RttKind::Ack, 10 * MS),
        (9, "1.1".to_owned(), RttKind::Syn, 50),
        (10, "1.1".to_owned(), RttKind::Ack, 40),
    ];
    let mut sorted = reported.clone();
    sorted.sort_by_key(|row| row.0);
    assert_eq!(sorted, expected);
}

#[test]
fn a_syn_ack_that_acknowledges_data_is_a_round_trip_and_nothing_else() {
    let ends = Ends::default();
    let spoken = |acknowledged: i64| {
        let mut trace = Trace::empty();
        trace
            .push(ends.syn(0).data(300))
            .push(ends.syn_ack(10 * MS).ack(acknowledged))
            .push(ends.client(11 * MS).seq(300));
        trace.sends(12 * MS, 300, 700).acks(32 * MS, 1000);
        measure(&trace.batch())
    };
    let (taken, refused) = (spoken(300), spoken(0));
    let times = |rows: &trustbed_analyze::Rows| {
        rows.samples.rtt.iter().map(|r| (r.index, r.kind, r.rtt.0 / 1_000)).collect::<Vec<_>>()
    };
    assert_eq!(times(&taken), [(2, RttKind::Ack, 10 * MS), (5, RttKind::Ack, 20 * MS)]);
    assert_eq!(times(&refused), [(5, RttKind::Ack, 20 * MS)]);
    let spacing = |rows: &trustbed_analyze::Rows| {
        rows.samples.spacing.iter().map(|r| (r.index, r.spacing, r.category)).collect::<Vec<_>>()
    };
    assert_eq!(spacing(&taken), spacing(&refused));
    assert_eq!(measured::transfer(&taken).window_max, measured::transfer(&refused).window_max);
}

#[test]
fn every_data_packet_has_a_segment_and_a_spacing_row() {
    let rows = measure(&trace().batch());
    let segments: Vec<_> = rows
        .samples
        .segments
        .iter()
        .map(|r| (r.index, r.offset, r.length, r.overlap, r.class, r.cause, r.outstanding))
        .collect();
    let expected = [
        (4, 0, 1000, 0, Class::New, Cause::None, 1000),
        (6, 1000, 1000, 0, Class::New, Cause::None, 1000),
        (7, 1000, 1000, 1000, Class::Retransmission, Cause::Timeout, 1000),
        (9, 0, 300, 0, Class::New, Cause::None, 300),
    ];
    assert_eq!(segments, expected);
    assert!(rows.samples.segments.iter().all(|r| r.window == 60_000));
    let spacing: Vec<u64> = rows.samples.spacing.iter().map(|r| r.index).collect();
    assert_eq!(spacing, [4, 6, 7, 9]);
    assert_eq!(rows.samples.spacing[1].spacing, Some(Span::from_millis(1)));
    assert_eq!(
        (rows.samples.spacing[2].spacing, rows.samples.spacing[2].category),
        (None, None),
        "inside a train"
    );
}

#[test]
fn a_delayed_acknowledgement_is_suspected() {
    for (wait, lone, suspect) in [(44, true, false), (46, true, true), (46, false, false)] {
        let mut trace = Trace::open();
        trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1000).sends(40 * MS, 1000, 1000);
        if !lone {
            trace.sends(40 * MS, 2000, 1000);
        }
        trace.acks((40 + wait) * MS, if lone { 2000 } else { 3000 });
        let rows = measure(&trace.batch());
        let last = rows.samples.rtt.last().map(|r| r.delack_suspect);
        assert_eq!(
            last,
            Some(suspect),
            "{wait} ms, {} outstanding",
            if lone { "one" } else { "two" }
        );
        let row = measured::transfer(&rows);
        assert_eq!(
            (row.delack_suspects, row.rtt.count),
            (u32::from(suspect), 3),
            "it stays in the statistics"
        );
    }
}
