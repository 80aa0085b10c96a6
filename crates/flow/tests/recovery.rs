//! Why a segment was sent again, and how a hole came to be filled: every sub-class with the packets
//! that make it, and its nearest neighbours.

mod packets;
mod recorder;

use packets::{Ends, MS, S, Trace};
use recorder::{Event, Recorder, record};
use trustbed_flow::Cause;

/// Eight segments from 20 ms on, and an acknowledgement of the first at 30 ms: the second is at the
/// head of what is outstanding.
fn flight() -> Trace {
    let mut trace = Trace::open();
    for n in 0..8 {
        trace.sends(20 * MS + n * 10, n * 1000, 1000);
    }
    trace.acks(30 * MS, 1000);
    trace
}

fn last_label(trace: &Trace) -> String {
    record(&trace.batch()).labels().pop().unwrap_or_default()
}

fn kinds(recorder: &Recorder) -> [u32; 4] {
    let counters = recorder.client().counters;
    [counters.spurious, counters.fast, counters.timeout, counters.tail_loss_probes]
}

// Spurious, as known at once.

#[test]
fn already_acknowledged_is_spurious() {
    let mut trace = flight();
    trace.sends(50 * MS, 0, 1000);
    assert_eq!(last_label(&trace), "retransmission/spurious");
    assert_eq!(kinds(&record(&trace.batch())), [1, 0, 0, 0]);
}

#[test]
fn partly_acknowledged_is_not_spurious() {
    let mut trace = flight();
    trace.sends(S, 500, 1000);
    assert_eq!(last_label(&trace), "retransmission/timeout");
}

#[test]
fn wholly_sacked_is_spurious() {
    let mut trace = flight();
    trace.sacks(31 * MS, 1000, &[(2000, 4000)]).sends(50 * MS, 2000, 1000);
    assert_eq!(last_label(&trace), "retransmission/spurious");
}

#[test]
fn partly_sacked_is_not_spurious() {
    let mut trace = flight();
    trace.sacks(31 * MS, 1000, &[(2500, 4000)]).sends(S, 2000, 1000);
    assert_eq!(last_label(&trace), "retransmission/timeout");
}

#[test]
fn acknowledged_below_and_sacked_above_is_spurious() {
    let mut trace = flight();
    trace.acks(31 * MS, 2500).sacks(32 * MS, 2500, &[(2500, 4000)]).sends(50 * MS, 2000, 1000);
    assert_eq!(last_label(&trace), "retransmission/spurious");
}

// Spurious, as a later DSACK shows (RFC 2883).

#[test]
fn a_later_dsack_below_the_acknowledgement_makes_it_spurious() {
    let mut trace = flight();
    trace.sends(S, 1000, 1000).acks(S + MS, 8000).sacks(S + 10 * MS, 8000, &[(1000, 2000)]);
    let seen = record(&trace.batch());
    assert_eq!(
        seen.labels().last().map(String::as_str),
        Some("retransmission/timeout"),
        "as known when it was sent"
    );
    assert_eq!(kinds(&seen), [1, 0, 0, 0], "as known at the end");
    let disproved: Vec<_> = seen
        .events
        .iter()
        .filter_map(|e| {
            if let Event::Disproved(r) = e { Some((r.start, r.end, r.cause)) } else { None }
        })
        .collect();
    assert_eq!(disproved, [(1000, 2000, Cause::Timeout)]);
}

#[test]
fn a_block_above_its_own_acknowledgement_is_no_dsack_though_a_later_one_overtook_it() {
    let mut trace = flight();
    trace.sends(S, 1000, 1000).acks(S + MS, 8000).sacks(S + 2 * MS, 500, &[(1000, 2000)]);
    assert_eq!(kinds(&record(&trace.batch()))[0], 0);
}

#[test]
fn a_later_dsack_inside_the_second_block_makes_it_spurious() {
    let mut trace = flight();
    // 2000 arrives, 1000 is missing; 2000 is sent again although it arrived, which the first block
    // shows.
    trace.sends(S, 2000, 1000).sacks(S + 10 * MS, 1000, &[(2000, 3000), (2000, 8000)]);
    let seen = record(&trace.batch());
    assert_eq!(kinds(&seen), [1, 0, 0, 0]);
}

#[test]
fn a_first_block_beside_the_second_is_no_dsack() {
    let mut trace = flight();
    trace.sends(S, 2000, 1000).sacks(S + 10 * MS, 1000, &[(2000, 3000), (4000, 8000)]);
    let seen = record(&trace.batch());
    assert_eq!(kinds(&seen), [0, 0, 1, 0], "2000 to 3000 has arrived once");
}

#[test]
fn a_dsack_of_other_bytes_changes_nothing() {
    let mut trace = flight();
    trace.sends(S, 1000, 1000).acks(S + MS, 8000).sacks(S + 10 * MS, 8000, &[(3000, 4000)]);
    assert_eq!(kinds(&record(&trace.batch())), [0, 0, 1, 0]);
}

#[test]
fn a_dsack_of_a_part_does_not_cover_it() {
    let mut trace = flight();
    trace.sends(S, 1000, 2000).acks(S + MS, 8000).sacks(S + 10 * MS, 8000, &[(1000, 2000)]);
    assert_eq!(kinds(&record(&trace.batch())), [0, 0, 1, 0], "the other half may have been needed");
}

#[test]
fn one_dsack_disproves_one_retransmission() {
    let mut trace = flight();
    trace.sends(S, 1000, 1000).sends(2 * S, 1000, 1000).acks(2 * S + MS, 8000);
    trace.sacks(2 * S + 10 * MS, 8000, &[(1000, 2000)]);
    assert_eq!(kinds(&record(&trace.batch())), [1, 0, 1, 0]);
    trace.sacks(2 * S + 11 * MS, 8000, &[(1000, 2000)]);
    assert_eq!(kinds(&record(&trace.batch())), [2, 0, 0, 0]);
    trace.sacks(2 * S + 12 * MS, 8000, &[(1000, 2000)]);
    assert_eq!(kinds(&record(&trace.batch())), [2, 0, 0, 0], "there is nothing left to disprove");
}

#[test]
fn a_disproved_fast_retransmission_is_not_fast_any_more() {
    let mut trace = flight();
    trace.acks(31 * MS, 1000).acks(32 * MS, 1000).acks(33 * MS, 1000).sends(34 * MS, 1000, 1000);
    assert_eq!(kinds(&record(&trace.batch())), [0, 1, 0, 0]);
    trace.acks(44 * MS, 8000).sacks(45 * MS, 8000, &[(1000, 2000)]);
    assert_eq!(kinds(&record(&trace.batch())), [1, 0, 0, 0]);
}

#[test]
fn a_disproved_tail_loss_probe_is_none_any_more() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1000).sends(40 * MS, 1000, 1000).sends(
        58 * MS,
        1000,
        1000,
    );
    assert_eq!(kinds(&record(&trace.batch())), [0, 0, 1, 1]);
    trace.acks(60 * MS, 2000).sacks(68 * MS, 2000, &[(1000, 2000)]);
    assert_eq!(kinds(&record(&trace.batch())), [1, 0, 0, 0]);
}

// Fast.

#[test]
fn three_duplicate_acknowledgements_make_it_fast() {
    for (duplicates, label) in
        [(2, "retransmission/timeout"), (3, "retransmission/fast"), (4, "retransmission/fast")]
    {
        let mut trace = flight();
        for n in 0..duplicates {
            trace.acks(31 * MS + n, 1000);
        }
        trace.sends(S, 1000, 1000);
        assert_eq!(last_label(&trace), label, "{duplicates} duplicates");
    }
}

#[test]
fn duplicates_for_another_byte_are_no_evidence() {
    let mut trace = flight();
    trace.acks(31 * MS, 1000).acks(31 * MS + 1, 1000).acks(31 * MS + 2, 1000).sends(S, 3000, 1000);
    assert_eq!(last_label(&trace), "retransmission/timeout", "they request 1000");
}

#[test]
fn duplicates_count_from_the_last_transmission_on() {
    let mut trace = flight();
    trace.acks(31 * MS, 1000).acks(31 * MS + 1, 1000).acks(31 * MS + 2, 1000).sends(
        32 * MS,
        1000,
        1000,
    );
    trace.acks(33 * MS, 1000).acks(33 * MS + 1, 1000).sends(S, 1000, 1000);
    assert_eq!(last_label(&trace), "retransmission/timeout", "two since it was sent again");
    trace.acks(S + MS, 1000).acks(S + MS + 1, 1000).acks(S + MS + 2, 1000).sends(
        S + 2 * MS,
        1000,
        1000,
    );
    assert_eq!(last_label(&trace), "retransmission/fast", "three since it was sent again");
}

#[test]
fn what_was_acknowledged_is_not_what_duplicates_ask_for() {
    let mut trace = flight();
    trace.acks(31 * MS, 1000).acks(31 * MS + 1, 1000).sends(32 * MS, 999, 1);
    trace.acks(33 * MS, 1000).sends(S, 1000, 1000);
    assert_eq!(last_label(&trace), "retransmission/fast", "three since 1000 was sent");
}

#[test]
fn what_makes_a_duplicate() {
    let ends = Ends::default();
    let plain = ends.server(31 * MS).ack(1000);
    let cases = [
        ("plain", plain, 1),
        ("with data", plain.data(100), 0),
        ("with another window", plain.window(59_999), 0),
        ("with another window and a new SACK block", plain.window(59_999).sack(&[(2000, 3000)]), 1),
        ("with a FIN", plain.flags(0x11), 0),
        ("an old acknowledgement", plain.ack(500), 0),
    ];
    for (what, packet, expected) in cases {
        let mut trace = flight();
        trace.push(packet);
        let seen = record(&trace.batch());
        assert_eq!(seen.client().counters.duplicate_acks, expected, "{what}");
        assert_eq!(seen.acks(0).pop().map(|ack| ack.duplicate), Some(expected == 1), "{what}");
    }
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1000).acks(31 * MS, 1000);
    assert_eq!(
        record(&trace.batch()).client().counters.duplicate_acks,
        0,
        "nothing is outstanding"
    );
}

#[test]
fn a_sack_block_without_news_does_not_excuse_another_window() {
    let ends = Ends::default();
    let mut trace = flight();
    trace
        .sacks(31 * MS, 1000, &[(2000, 3000)])
        .push(ends.server(32 * MS).ack(1000).sack(&[(2000, 3000)]).window(50_000));
    assert_eq!(record(&trace.batch()).client().counters.duplicate_acks, 1);
}

#[test]
fn more_than_two_segments_sacked_above_make_it_fast() {
    for (right, label) in [
        (4000, "retransmission/timeout"),
        (4001, "retransmission/fast"),
        (6000, "retransmission/fast"),
    ] {
        let mut trace = flight();
        trace.sacks(31 * MS, 1000, &[(2000, right)]).sends(S, 1000, 1000);
        assert_eq!(last_label(&trace), label, "SACKed from 2000 to {right}");
    }
}

#[test]
fn sacked_bytes_below_are_no_evidence() {
    let mut trace = flight();
    trace.sacks(31 * MS, 1000, &[(2000, 5000)]).sends(S, 6000, 1000);
    assert_eq!(last_label(&trace), "retransmission/timeout");
}

#[test]
fn sack_evidence_counts_from_the_last_transmission_on() {
    let mut trace = flight();
    trace.sacks(31 * MS, 1000, &[(3000, 6000)]).sends(32 * MS, 2000, 1000);
    assert_eq!(last_label(&trace), "retransmission/fast");
    trace.sends(S, 2000, 1000);
    assert_eq!(last_label(&trace), "retransmission/timeout", "nothing was SACKed since");
    trace
        .sends(S + MS, 8000, 4000)
        .sacks(S + 11 * MS, 1000, &[(8000, 12_000), (3000, 6000)])
        .sends(S + 12 * MS, 2000, 1000);
    assert_eq!(last_label(&trace), "retransmission/fast", "four segments were SACKed since");
}

// Timeout and tail-loss probe (RFC 8985).

#[test]
fn without_evidence_it_is_a_timeout() {
    let mut trace = flight();
    trace.sends(S, 1000, 1000);
    assert_eq!(last_label(&trace), "retransmission/timeout");
}

#[test]
fn the_last_segment_again_within_two_round_trips_is_a_tail_loss_probe() {
    // The smoothed round trip is 10 ms; the slack for timers is some milliseconds.
    for (wait, label) in [(18, "retransmission/timeout/tlp"), (200, "retransmission/timeout")] {
        let mut trace = Trace::open();
        trace
            .sends(20 * MS, 0, 1000)
            .acks(30 * MS, 1000)
            .sends(40 * MS, 1000, 1000)
            .sends(41 * MS, 2000, 1000)
            .sends((41 + wait) * MS, 2000, 1000);
        assert_eq!(last_label(&trace), label, "after {wait} ms");
    }
}

#[test]
fn not_the_last_segment_is_no_tail_loss_probe() {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .acks(30 * MS, 1000)
        .sends(40 * MS, 1000, 1000)
        .sends(41 * MS, 2000, 1000)
        .sends(58 * MS, 1000, 1000);
    assert_eq!(last_label(&trace), "retransmission/timeout");
}

#[test]
fn a_round_trip_must_be_known_for_a_tail_loss_probe() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(38 * MS, 0, 1000);
    assert_eq!(last_label(&trace), "retransmission/timeout");
}

#[test]
fn three_duplicates_make_the_last_segment_fast() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1000).sends(40 * MS, 1000, 1000);
    trace.acks(50 * MS, 1000).acks(50 * MS + 1, 1000).acks(50 * MS + 2, 1000).sends(
        51 * MS,
        1000,
        1000,
    );
    assert_eq!(last_label(&trace), "retransmission/fast");
}

// Fills.

/// A hole [1000, 2000) that opens at 20.02 ms and is filled `later` microseconds after that.
fn hole(rtt: i64, later: i64) -> Trace {
    let mut trace = Trace::open();
    trace.sends(15 * MS - rtt, 0, 500).acks(15 * MS, 500);
    trace.sends(20 * MS, 500, 500).sends(20 * MS + 20, 2000, 1000).sends(
        20 * MS + 20 + later,
        1000,
        1000,
    );
    trace
}

#[test]
fn a_hole_filled_within_3_ms_is_reordering() {
    for (later, label) in [
        (10, "fill/reordered"),
        (2_999, "fill/reordered"),
        (3_000, "fill/lost_upstream"),
        (200_000, "fill/lost_upstream"),
    ] {
        assert_eq!(
            last_label(&hole(1_000, later)),
            label,
            "filled after {later} µs at a round trip of 1 ms"
        );
    }
}

#[test]
fn half_the_shortest_round_trip_allows_more() {
    for (rtt, later, label) in [
        (14_000, 6_999, "fill/reordered"),
        (14_000, 7_000, "fill/lost_upstream"),
        (4_000, 2_999, "fill/reordered"),
        (4_000, 3_000, "fill/lost_upstream"),
    ] {
        assert_eq!(
            last_label(&hole(rtt, later)),
            label,
            "filled after {later} µs at a round trip of {rtt} µs"
        );
    }
}

#[test]
fn three_duplicates_speak_against_reordering() {
    for (duplicates, label) in [(2, "fill/reordered"), (3, "fill/lost_upstream")] {
        let mut trace = Trace::open();
        trace.sends(20 * MS, 0, 1000).acks(20 * MS + 100, 1000).sends(20 * MS + 200, 2000, 1000);
        for n in 0..duplicates {
            trace.acks(20 * MS + 300 + n, 1000);
        }
        trace.sends(20 * MS + 500, 1000, 1000);
        assert_eq!(last_label(&trace), label, "{duplicates} duplicates");
    }
}

#[test]
fn sacked_segments_above_speak_against_reordering() {
    for (right, label) in [(4000, "fill/reordered"), (5000, "fill/lost_upstream")] {
        let mut trace = Trace::open();
        trace.sends(20 * MS, 0, 1000).sends(20 * MS + 200, 2000, 3000);
        trace.sacks(20 * MS + 300, 1000, &[(2000, right)]).sends(20 * MS + 500, 1000, 1000);
        assert_eq!(last_label(&trace), label, "SACKed from 2000 to {right}");
    }
}

#[test]
fn a_newer_timestamp_speaks_against_reordering() {
    for (tsval, label) in
        [(99, "fill/reordered"), (100, "fill/reordered"), (101, "fill/lost_upstream")]
    {
        let ends = Ends::default();
        let mut trace = Trace::open();
        trace
            .push(ends.client(20 * MS).seq(0).data(900).clock(90, 1))
            .push(ends.client(20 * MS + 10).seq(1900).data(900).clock(100, 1));
        trace.push(ends.client(20 * MS + 20).seq(900).data(900).clock(tsval, 1));
        assert_eq!(last_label(&trace), label, "{tsval} after the hole was opened by 100");
    }
}

#[test]
fn an_older_timestamp_is_of_a_segment_that_was_overtaken_however_late() {
    for (tsval, label) in [(99, "fill/reordered"), (100, "fill/lost_upstream")] {
        let ends = Ends::default();
        let mut trace = Trace::open();
        trace
            .push(ends.client(20 * MS).seq(0).data(900).clock(90, 1))
            .push(ends.client(20 * MS + 10).seq(1900).data(900).clock(100, 1));
        trace.push(ends.client(60 * MS).seq(900).data(900).clock(tsval, 1));
        assert_eq!(last_label(&trace), label, "{tsval} after the hole was opened by 100");
    }
}

#[test]
fn the_age_is_that_of_the_hole_and_not_of_the_highest_segment() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(21 * MS, 2000, 1000).sends(50 * MS, 3000, 1000).sends(
        50 * MS + 10,
        1000,
        1000,
    );
    assert_eq!(last_label(&trace), "fill/lost_upstream");
}

#[test]
fn acknowledged_and_never_captured_is_reported() {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .sends(21 * MS, 2500, 1000)
        .acks(30 * MS, 3500)
        .sends(31 * MS, 3500, 500)
        .acks(41 * MS, 4000);
    let seen = record(&trace.batch());
    assert_eq!(seen.client().acknowledged_unseen(), 1500);
    assert_eq!(seen.client().counters.unique, 2500);
}

#[test]
fn a_missing_fin_is_no_missing_byte() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1001);
    assert_eq!(record(&trace.batch()).client().acknowledged_unseen(), 0);
}
