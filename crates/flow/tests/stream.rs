//! What each segment is: every class with the packets that make it, and with those that just do
//! not.

mod packets;
mod recorder;

use packets::{Ends, MS, S, Trace};
use recorder::record;
use trustbed_flow::{Class, RttOutcome};
use trustbed_units::Span;
use trustbed_wire::{Bits, TcpFlags};

const ACK: u8 = TcpFlags::ACK;

#[test]
fn new_data_lie_above_everything() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(21 * MS, 1000, 500);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new", "new"]);
    let counters = seen.client().counters;
    assert_eq!(
        (counters.data_packets, counters.payload, counters.unique, counters.retransmitted),
        (2, 1500, 1500, 0)
    );
    assert_eq!(
        seen.data(0).iter().map(|s| (s.start, s.end(), s.outstanding)).collect::<Vec<_>>(),
        [(0, 1000, 1000), (1000, 1500, 1500)]
    );
}

#[test]
fn new_data_may_leave_a_hole() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(21 * MS, 2000, 1000);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new", "new"]);
    assert_eq!((seen.client().snd_max, seen.client().counters.unique), (3000, 2000));
}

#[test]
fn a_syn_with_data_begins_at_offset_0() {
    let mut trace = Trace::empty();
    let ends = trace.ends;
    trace
        .push(ends.syn(0).data(300))
        .push(ends.syn_ack(10 * MS).ack(300))
        .push(ends.client(11 * MS).seq(300))
        .sends(12 * MS, 300, 700);
    let seen = record(&trace.batch());
    assert_eq!(
        seen.data(0).iter().map(|s| (s.class, s.start, s.length)).collect::<Vec<_>>(),
        [(Class::New, 0, 300), (Class::New, 300, 700)]
    );
    assert_eq!(seen.client().una, 300);
}

#[test]
fn pure_acks_are_counted_and_classed_as_nothing_else() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1000);
    let seen = record(&trace.batch());
    assert_eq!(seen.server().counters.pure_acks, 1, "the SYN-ACK is none");
    assert_eq!(seen.client().counters.pure_acks, 1, "the last packet of the handshake");
    assert_eq!(seen.client().counters.keep_alives, 0);
}

// Keep-alive: at most one byte, just below the highest byte sent, no SYN, FIN or RST.

#[test]
fn a_byte_just_below_the_highest_is_a_keep_alive() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1000).sends(S, 999, 1).acks(S + 10 * MS, 1000);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new"], "it enters no statistic of data");
    let counters = seen.client().counters;
    assert_eq!(
        (counters.keep_alives, counters.data_packets, counters.retransmitted, counters.payload),
        (1, 1, 0, 1000)
    );
}

#[test]
fn without_payload_it_is_a_keep_alive_too() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1000).push(Ends::default().client(S).seq(999));
    let seen = record(&trace.batch());
    assert_eq!((seen.client().counters.keep_alives, seen.client().counters.pure_acks), (1, 1));
}

#[test]
fn a_connection_without_data_is_kept_alive_as_well() {
    for payload in [0, 1] {
        let mut trace = Trace::open();
        trace.push(Ends::default().client(7200 * S / 100).seq(-1).data(payload));
        let seen = record(&trace.batch());
        assert_eq!(
            (seen.client().counters.keep_alives, seen.client().counters.pure_acks),
            (1, 1),
            "with {payload} bytes"
        );
        assert!(seen.data(0).is_empty());
    }
}

#[test]
fn after_a_fin_a_keep_alive_lies_at_the_number_of_the_fin() {
    for payload in [0, 1] {
        for (offset, keep_alive) in [(1000, true), (1001, false), (999, false)] {
            let mut trace = Trace::open();
            trace
                .sends(20 * MS, 0, 1000)
                .push(Ends::default().client(21 * MS).seq(1000).flags(ACK | TcpFlags::FIN))
                .acks(31 * MS, 1001);
            trace
                .push(Ends::default().client(75 * S).seq(offset).data(payload))
                .acks(75 * S + 10 * MS, 1001);
            let seen = record(&trace.batch());
            let counters = seen.client().counters;
            assert_eq!(counters.keep_alives, u32::from(keep_alive), "{payload} bytes at {offset}");
            assert_eq!(
                counters.pure_acks,
                1 + u32::from(!keep_alive && payload == 0),
                "{payload} bytes at {offset}"
            );
            assert_eq!(
                counters.data_packets,
                1 + u32::from(!keep_alive) * payload,
                "{payload} bytes at {offset}"
            );
            assert_eq!(
                seen.client().seen.data_after_fin,
                offset == 1001 && payload == 1,
                "{payload} bytes at {offset}"
            );
        }
    }
}

#[test]
fn two_bytes_are_no_keep_alive() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(S, 998, 2);
    assert_eq!(record(&trace.batch()).labels(), ["new", "retransmission/timeout"]);
}

#[test]
fn a_byte_further_below_is_no_keep_alive() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(S, 998, 1);
    assert_eq!(record(&trace.batch()).labels(), ["new", "retransmission/timeout"]);
}

#[test]
fn the_last_byte_with_a_fin_is_no_keep_alive() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000);
    trace.push(Ends::default().client(21 * MS).seq(1000).data(1).flags(ACK | TcpFlags::FIN));
    trace.push(Ends::default().client(S).seq(1000).data(1).flags(ACK | TcpFlags::FIN));
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new", "new", "retransmission/timeout"]);
    assert_eq!(
        (seen.client().counters.keep_alives, seen.client().counters.fin_retransmissions),
        (0, 1)
    );
}

// Window probe: the peer's last window is 0, at most one byte, at the highest or the lowest
// outstanding offset.

#[test]
fn a_byte_into_a_closed_window_is_a_probe() {
    let mut trace = Trace::open();
    let ends = trace.ends;
    trace.sends(20 * MS, 0, 1000).push(ends.server(30 * MS).ack(1000).window(0)).sends(
        300 * MS,
        1000,
        1,
    );
    trace
        .push(ends.server(310 * MS).ack(1000).window(0))
        .sends(700 * MS, 1000, 1)
        .push(ends.server(710 * MS).ack(1000).window(5000));
    trace.sends(711 * MS, 1000, 1000).acks(721 * MS, 2000);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new", "new"]);
    let counters = seen.client().counters;
    assert_eq!(
        (counters.window_probes, counters.data_packets, counters.unique, counters.retransmitted),
        (2, 2, 2000, 0)
    );
}

#[test]
fn a_probe_may_repeat_the_lowest_outstanding_byte() {
    let mut trace = Trace::open();
    let ends = trace.ends;
    trace
        .sends(20 * MS, 0, 1000)
        .sends(21 * MS, 1000, 1000)
        .push(ends.server(30 * MS).ack(1000).window(0))
        .sends(300 * MS, 1000, 1);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new", "new"]);
    assert_eq!(seen.client().counters.window_probes, 1);
}

#[test]
fn a_probed_byte_that_is_taken_counts_once() {
    let mut trace = Trace::open();
    let ends = trace.ends;
    trace.sends(20 * MS, 0, 1000).push(ends.server(30 * MS).ack(1000).window(0)).sends(
        300 * MS,
        1000,
        1,
    );
    trace
        .push(ends.server(310 * MS).ack(1001).window(5000))
        .sends(311 * MS, 1001, 999)
        .acks(321 * MS, 2000);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new", "new"]);
    assert_eq!(
        (seen.client().snd_max, seen.client().una, seen.client().counters.unique),
        (2000, 2000, 2000)
    );
    assert_eq!(seen.client().acknowledged_unseen(), 0, "the byte was seen in the probe");
    assert_eq!(seen.round_trips()[1], RttOutcome::Unseen, "a probe gives no sample");
}

#[test]
fn into_an_open_window_it_is_data() {
    let mut trace = Trace::open();
    let ends = trace.ends;
    trace.sends(20 * MS, 0, 1000).push(ends.server(30 * MS).ack(1000).window(1)).sends(
        300 * MS,
        1000,
        1,
    );
    let seen = record(&trace.batch());
    assert_eq!(
        (seen.labels(), seen.client().counters.window_probes),
        (vec!["new".to_owned(), "new".to_owned()], 0)
    );
}

#[test]
fn two_bytes_or_another_offset_are_no_probe() {
    for (offset, length, class) in
        [(1000, 2, "new"), (1001, 1, "new"), (500, 1, "retransmission/spurious")]
    {
        let mut trace = Trace::open();
        let ends = trace.ends;
        trace.sends(20 * MS, 0, 1000).push(ends.server(30 * MS).ack(1000).window(0)).sends(
            300 * MS,
            offset,
            length,
        );
        let seen = record(&trace.batch());
        assert_eq!(seen.labels(), ["new", class], "{length} bytes at {offset}");
        assert_eq!(seen.client().counters.window_probes, 0);
    }
}

// Retransmission and fill.

#[test]
fn an_overlap_is_a_retransmission_of_the_overlap_only() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(S, 600, 1000);
    let seen = record(&trace.batch());
    let again = seen.data(0)[1];
    assert_eq!((again.class, again.overlap, again.length), (Class::Retransmission, 400, 1000));
    let counters = seen.client().counters;
    assert_eq!(
        (counters.retransmitted, counters.retransmitted_bytes, counters.unique, counters.payload),
        (1, 400, 1600, 2000)
    );
    assert_eq!(seen.client().snd_max, 1600);
}

#[test]
fn a_partial_retransmission_splits_the_record_it_covers() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(S, 300, 400);
    let seen = record(&trace.batch());
    let records: Vec<_> = seen
        .client()
        .records
        .iter()
        .map(|r| (r.length, r.sent, r.last_sent.0 / 1_000_000))
        .collect();
    assert_eq!(records, [(300, 1, 20), (400, 2, 1000), (300, 1, 20)]);
}

#[test]
fn a_retransmission_over_a_hole_counts_the_hole_as_new() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(21 * MS, 2000, 1000).sends(S, 0, 3000);
    let seen = record(&trace.batch());
    let again = seen.data(0)[2];
    assert_eq!((again.class, again.overlap), (Class::Retransmission, 2000));
    assert_eq!(
        (seen.client().counters.unique, seen.client().counters.retransmitted_bytes),
        (3000, 2000)
    );
}

#[test]
fn a_fill_lies_below_the_highest_and_holds_nothing_seen() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(21 * MS, 2000, 1000).sends(S, 1000, 1000);
    let seen = record(&trace.batch());
    assert_eq!(seen.data(0)[2].class, Class::Fill);
    let counters = seen.client().counters;
    assert_eq!(
        (counters.retransmitted, counters.unique, counters.lost_upstream + counters.reordered),
        (0, 3000, 1)
    );
}

#[test]
fn a_hole_may_be_filled_piece_by_piece() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(21 * MS, 4000, 1000);
    trace.sends(S, 2000, 1000).sends(S + MS, 1000, 1000).sends(S + 2 * MS, 3000, 1000).sends(
        S + 3 * MS,
        2000,
        1000,
    );
    let seen = record(&trace.batch());
    let classes: Vec<Class> = seen.data(0).iter().map(|s| s.class).collect();
    assert_eq!(
        classes,
        [Class::New, Class::New, Class::Fill, Class::Fill, Class::Fill, Class::Retransmission]
    );
    assert_eq!(seen.client().counters.unique, 5000);
}

// Sequence numbers.

#[test]
fn sequence_numbers_wrap() {
    let ends = Ends { client_isn: u32::MAX - 1500, server_isn: u32::MAX, ..Ends::default() };
    let mut trace = Trace::opened_by(ends);
    trace
        .sends(20 * MS, 0, 1000)
        .sends(21 * MS, 1000, 1000)
        .sends(22 * MS, 2000, 1000)
        .acks(30 * MS, 3000)
        .sends(40 * MS, 1000, 1000);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new", "new", "new", "retransmission/spurious"]);
    assert_eq!((seen.client().snd_max, seen.client().una), (3000, 3000));
    assert_eq!(seen.samples().len(), 1);
}

#[test]
fn more_than_four_gigabytes_are_one_stream() {
    let mut trace = Trace::open();
    let step = 1_i64 << 29;
    let mut at = 20 * MS;
    for n in 0..20 {
        let end = n * step + 1000;
        trace.sends(at, n * step, 1000).acks(at + 10 * MS, end);
        // The capture missed nearly everything, but never more than a field can jump.
        trace.acks(at + 20 * MS, (n + 1) * step);
        at += 30 * MS;
    }
    let seen = record(&trace.batch());
    assert_eq!(seen.client().una, 20 * step);
    assert!(20 * step > 1 << 33 && !seen.client().seen.wild);
}

#[test]
fn a_number_far_from_all_others_is_ignored_and_reported() {
    for offset in [(1 << 30) + 1001, -(1 << 30)] {
        let mut trace = Trace::open();
        trace.sends(20 * MS, 0, 1000).sends(21 * MS, offset, 1000).sends(22 * MS, 1000, 1000);
        let seen = record(&trace.batch());
        assert_eq!(seen.labels(), ["new", "new"], "data at {offset}");
        assert!(seen.client().seen.wild);
        assert_eq!(
            (seen.client().snd_max, seen.client().counters.payload, seen.client().counters.wild),
            (2000, 2000, 1)
        );
    }
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1 << 31).acks(40 * MS, 1000);
    let seen = record(&trace.batch());
    assert!(seen.client().seen.wild, "an acknowledgement");
    assert_eq!(
        (seen.client().counters.wild, seen.server().counters.wild),
        (1, 0),
        "it speaks of the client's data"
    );
    assert_eq!((seen.client().una, seen.client().snd_max, seen.samples().len()), (1000, 1000, 1));
}

#[test]
fn every_wild_field_counts() {
    let far = 1 << 30;
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 3000)
        .sends(21 * MS, far + 3001, 1000)
        .acks(30 * MS, -far)
        .acks(31 * MS, 1 << 31);
    trace.sacks(32 * MS, 0, &[(1000, 2000), (far + 3001, far + 4001), (-far, 1 - far)]);
    trace.push(Ends::default().client(40 * MS).seq(-far).flags(ACK | TcpFlags::FIN));
    let seen = record(&trace.batch());
    assert_eq!(
        seen.client().counters.wild,
        6,
        "data, two acknowledgements, two SACK blocks and a FIN"
    );
    assert!(seen.client().seen.wild && !seen.server().seen.wild);
}

#[test]
fn a_jump_within_the_limit_is_accepted() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(21 * MS, (1 << 30) + 1000, 1000);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new", "new"]);
    assert!(!seen.client().seen.wild);
}

// Connections that were already running.

#[test]
fn offsets_begin_at_the_first_number_seen() {
    let mut trace = Trace::empty();
    trace.sends(0, 777_000, 1000).acks(10 * MS, 778_000).sends(11 * MS, 778_000, 1000);
    let seen = record(&trace.batch());
    assert!(seen.only().flags.midstream);
    assert_eq!(seen.data(0).iter().map(|s| s.start).collect::<Vec<_>>(), [0, 1000]);
    assert_eq!(seen.samples().len(), 1);
}

#[test]
fn negative_offsets_are_legal() {
    let mut trace = Trace::empty();
    trace
        .sends(0, 777_000, 1000)
        .sends(10 * MS, 775_000, 1000)
        .sends(20 * MS, 775_500, 1000)
        .acks(30 * MS, 778_000);
    let seen = record(&trace.batch());
    let data: Vec<_> = seen.data(0).iter().map(|s| (s.class, s.start, s.overlap)).collect();
    assert_eq!(data[..2], [(Class::New, 0, 0), (Class::Fill, -2000, 0)]);
    assert_eq!((data[2].0, data[2].1), (Class::Retransmission, -1500));
    assert_eq!(seen.client().una, 1000);
}

#[test]
fn a_gap_below_a_negative_offset_was_never_seen() {
    let mut trace = Trace::empty();
    trace.sends(0, 777_000, 1000).sends(10 * MS, 775_000, 1000).sends(20 * MS, 776_000, 500);
    let seen = record(&trace.batch());
    let last = seen.data(0)[2];
    assert_eq!(
        (last.class, last.overlap),
        (Class::Fill, 0),
        "the bytes between -1000 and 0 were not captured before"
    );
    assert_eq!(seen.client().counters.unique, 2500);
}

#[test]
fn what_went_before_the_capture_is_unknown_and_not_missing() {
    let mut trace = Trace::empty();
    trace.acks(0, 500_000).sends(10 * MS, 600_000, 1000).acks(20 * MS, 601_000);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new"]);
    assert_eq!((seen.client().counters.unique, seen.client().acknowledged_unseen()), (1000, 0));
    assert_eq!(
        seen.data(0)[0].outstanding,
        101_000,
        "what the peer had not acknowledged is outstanding all the same"
    );
    assert_eq!(seen.round_trips(), [RttOutcome::Unseen]);
}

#[test]
fn acknowledgements_of_what_was_in_flight_when_the_capture_began_miss_nothing() {
    let mut trace = Trace::empty();
    trace
        .acks(0, 500_000)
        .acks(MS, 510_000)
        .sends(10 * MS, 600_000, 1000)
        .acks(20 * MS, 590_000)
        .acks(21 * MS, 601_000);
    trace.sends(30 * MS, 601_000, 1000).acks(40 * MS, 602_000);
    let seen = record(&trace.batch());
    assert_eq!((seen.client().acknowledged_unseen(), seen.client().counters.unique), (0, 2000));
    assert_eq!(seen.samples().len(), 1, "of the segment after the flight that was under way");
}

#[test]
fn what_is_missing_after_the_first_number_is_missing() {
    let ends = Ends::default();
    let mut trace = Trace::empty();
    trace
        .acks(0, 500_000)
        .push(ends.client(MS).seq(510_000))
        .sends(10 * MS, 513_000, 1000)
        .acks(20 * MS, 514_000);
    let seen = record(&trace.batch());
    assert_eq!(
        seen.client().acknowledged_unseen(),
        3000,
        "the sender stood at 510000 when the capture first saw it"
    );
    let mut early = Trace::empty();
    early.acks(0, 500_000).acks(MS, 520_000).sends(2 * MS, 518_000, 1000).acks(3 * MS, 521_001);
    assert_eq!(
        record(&early.batch()).client().acknowledged_unseen(),
        2000,
        "519000 to 521000; what lay below 518000 is unknown, and the last byte may be a FIN"
    );
}

#[test]
fn a_repair_of_what_went_before_the_capture_opens_no_hole_that_counts() {
    for peer_first in [true, false] {
        let mut trace = Trace::empty();
        if peer_first {
            trace.acks(0, 500_000);
        }
        trace.sends(10 * MS, 505_000, 1000).sends(20 * MS, 500_000, 1000).acks(30 * MS, 506_000);
        let seen = record(&trace.batch());
        assert_eq!(seen.labels(), ["new", "fill/lost_upstream"], "peer first: {peer_first}");
        assert_eq!(seen.client().acknowledged_unseen(), 0, "peer first: {peer_first}");
    }
}

#[test]
fn a_sender_that_was_never_seen_is_missing_as_a_whole() {
    let mut trace = Trace::empty();
    trace.acks(0, 500_000).acks(MS, 510_000).acks(2 * MS, 520_001);
    let mut reset = trace.clone();
    reset.push(Ends::default().client(3 * MS).seq(530_000).flags(TcpFlags::RST));
    assert_eq!(
        record(&trace.batch()).client().acknowledged_unseen(),
        20_000,
        "the last byte may be a FIN"
    );
    assert_eq!(
        record(&reset.batch()).client().acknowledged_unseen(),
        20_000,
        "the number of a RST excuses nothing"
    );
}

#[test]
fn after_the_answer_to_a_syn_everything_is_expected() {
    let ends = Ends::default();
    let mut trace = Trace::empty();
    trace.push(ends.syn_ack(0)).sends(10 * MS, 3000, 1000).acks(20 * MS, 4000);
    assert_eq!(record(&trace.batch()).client().acknowledged_unseen(), 3000);
}

// FIN.

#[test]
fn a_fin_takes_one_number_and_counts_once() {
    let mut trace = Trace::open();
    let fin = |micros| Ends::default().client(micros).seq(1000).flags(ACK | TcpFlags::FIN);
    trace.sends(20 * MS, 0, 1000).push(fin(22 * MS)).push(fin(S)).acks(S + 10 * MS, 1001);
    let seen = record(&trace.batch());
    assert_eq!(
        (seen.client().fin, seen.client().una, seen.client().outstanding()),
        (1000, 1000, 0)
    );
    assert_eq!(seen.client().counters.fin_retransmissions, 1);
    assert_eq!(seen.client().acknowledged_unseen(), 0);
    assert_eq!(seen.client().counters.unique, 1000);
}

#[test]
fn data_beyond_its_own_fin_are_reported() {
    for (offset, after) in [(1000, true), (500, false)] {
        let mut trace = Trace::open();
        trace
            .sends(20 * MS, 0, 1000)
            .push(Ends::default().client(22 * MS).seq(1000).flags(ACK | TcpFlags::FIN))
            .sends(30 * MS, offset, 500);
        assert_eq!(
            record(&trace.batch()).client().seen.data_after_fin,
            after,
            "500 bytes at {offset}"
        );
    }
}

#[test]
fn the_other_side_may_go_on_after_a_fin() {
    let mut trace = Trace::open();
    let ends = trace.ends;
    trace
        .push(ends.client(20 * MS).flags(ACK | TcpFlags::FIN))
        .push(ends.server(30 * MS).ack(1).data(1000))
        .push(ends.client(31 * MS).seq(1).ack(1000));
    let seen = record(&trace.batch());
    assert_eq!(seen.data(1).len(), 1);
    assert!(!seen.client().seen.data_after_fin && !seen.server().seen.data_after_fin);
}

// Segment size and window.

#[test]
fn the_segment_size_is_the_smaller_of_both_less_option_bytes() {
    let ends = Ends::default();
    for (client, server, clock, expected) in [
        (1460, 1400, false, 1400),
        (1400, 1460, true, 1388),
        (1460, 0, false, 1460),
        (0, 1300, false, 1300),
        (1460, 1460, true, 1448),
    ] {
        let mut trace = Trace::empty();
        trace
            .push(ends.syn(0).opening(client, None))
            .push(ends.syn_ack(10 * MS).opening(server, None))
            .push(ends.client(11 * MS));
        let data = ends.client(20 * MS).data(100);
        trace.push(if clock { data.clock(1, 1) } else { data });
        assert_eq!(
            record(&trace.batch()).client().mss(),
            expected,
            "{client} and {server}, timestamps: {clock}"
        );
    }
}

#[test]
fn a_segment_above_its_size_was_put_together_by_offload() {
    for (length, offloaded) in [(1000, false), (1001, true), (30_000, true)] {
        let mut trace = Trace::open();
        trace.sends(20 * MS, 0, length);
        assert_eq!(
            record(&trace.batch()).client().seen.offloaded,
            offloaded,
            "{length} bytes against an MSS of 1000"
        );
    }
}

#[test]
fn the_window_is_scaled_when_both_offered_it_and_never_on_a_syn() {
    let ends = Ends::default();
    for (client, server, expected) in [
        (Some(7), Some(3), 100 << 3),
        (Some(7), None, 100),
        (None, Some(3), 100),
        (Some(0), Some(14), 100 << 14),
        (Some(1), Some(15), 100 << 14),
    ] {
        let mut trace = Trace::empty();
        trace
            .push(ends.syn(0).opening(1000, client))
            .push(ends.syn_ack(10 * MS).opening(1000, server).window(200))
            .push(ends.client(11 * MS));
        trace.sends(20 * MS, 0, 1000).push(ends.server(30 * MS).ack(1000).window(100));
        let seen = record(&trace.batch());
        assert_eq!(seen.server().window, expected, "shifts {client:?} and {server:?}");
        assert_eq!(
            (seen.server().window_min, seen.server().window_max),
            (expected, expected),
            "the SYN's window is in no statistic"
        );
    }
}

#[test]
fn an_unknown_shift_is_the_smallest_that_explains_what_was_outstanding() {
    let mut trace = Trace::empty();
    let ends = trace.ends;
    trace.push(ends.server(0).window(1000)).push(ends.client(MS).data(1000));
    for n in 1..6 {
        trace.sends((n + 1) * MS, n * 1000, 1000);
    }
    trace.push(ends.server(20 * MS).ack(6000).window(900));
    let seen = record(&trace.batch());
    assert_eq!(seen.server().shift, 3, "6000 bytes fit into 1000·2³, not into 1000·2²");
    assert_eq!(seen.server().window, 900 << 3);
    assert!(!seen.server().seen.scale_known);
}

// Round-trip samples that a single acknowledgement allows or refuses.

#[test]
fn the_newest_byte_is_timed() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).sends(25 * MS, 1000, 1000).acks(40 * MS, 2000);
    assert_eq!(
        record(&trace.batch()).round_trips(),
        [RttOutcome::Sample { rtt: Span::from_millis(15), lone: false }]
    );
}

#[test]
fn inside_a_super_packet_the_ends_of_wire_segments_are_timed() {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 5000)
        .acks(30 * MS, 1000)
        .acks(31 * MS, 2500)
        .acks(32 * MS, 4000)
        .acks(33 * MS, 5000);
    let ten = |rtt| RttOutcome::Sample { rtt: Span::from_millis(rtt), lone: false };
    assert_eq!(
        record(&trace.batch()).round_trips(),
        [ten(10), RttOutcome::Inside, ten(12), ten(13)]
    );
}

#[test]
fn a_syn_ack_that_acknowledges_data_times_them() {
    let ends = Ends::default();
    let mut trace = Trace::empty();
    trace
        .push(ends.syn(0).data(300))
        .push(ends.syn_ack(10 * MS).ack(300))
        .push(ends.client(11 * MS).seq(300));
    trace.sends(12 * MS, 300, 700).acks(32 * MS, 1000);
    let seen = record(&trace.batch());
    let sample = |rtt| RttOutcome::Sample { rtt: Span::from_millis(rtt), lone: true };
    assert_eq!(seen.round_trips(), [sample(10), sample(20)]);
    assert_eq!(seen.acks(0).iter().map(|ack| ack.opening).collect::<Vec<_>>(), [true, false]);
    assert_eq!(
        seen.only().handshake.to_responder(),
        Some(Span::from_millis(10)),
        "SYN to SYN-ACK is a round trip of its own"
    );
}

#[test]
fn a_syn_ack_that_refuses_the_data_or_answers_a_repeated_syn_times_nothing() {
    let ends = Ends::default();
    let mut refused = Trace::empty();
    refused
        .push(ends.syn(0).data(300))
        .push(ends.syn_ack(10 * MS))
        .push(ends.client(11 * MS).data(300))
        .acks(21 * MS, 300);
    assert_eq!(
        record(&refused.batch()).round_trips(),
        [RttOutcome::Ambiguous],
        "the SYN-ACK acknowledges nothing of the data"
    );
    let mut repeated = Trace::empty();
    repeated
        .push(ends.syn(0).data(300))
        .push(ends.syn(S).data(300))
        .push(ends.syn_ack(S + 10 * MS).ack(300));
    assert_eq!(record(&repeated.batch()).round_trips(), [RttOutcome::Ambiguous]);
}

#[test]
fn a_lone_segment_of_at_most_one_mss_is_marked() {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .acks(30 * MS, 1000)
        .sends(40 * MS, 1000, 2000)
        .acks(50 * MS, 3000);
    let ten = |lone| RttOutcome::Sample { rtt: Span::from_millis(10), lone };
    assert_eq!(record(&trace.batch()).round_trips(), [ten(true), ten(false)]);
}

#[test]
fn one_retransmitted_byte_in_the_range_refuses_the_sample() {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .sends(21 * MS, 1000, 1000)
        .sends(300 * MS, 999, 1)
        .sends(301 * MS, 0, 500)
        .acks(310 * MS, 2000);
    trace.sends(320 * MS, 2000, 1000).acks(330 * MS, 3000);
    let seen = record(&trace.batch());
    assert_eq!(
        seen.round_trips(),
        [RttOutcome::Ambiguous, RttOutcome::Sample { rtt: Span::from_millis(10), lone: true }]
    );
}

#[test]
fn a_repaired_hole_does_not_time_what_was_sent_long_ago() {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .sends(21 * MS, 1000, 1000)
        .sends(300 * MS, 0, 1000)
        .acks(310 * MS, 2000);
    assert_eq!(record(&trace.batch()).round_trips(), [RttOutcome::Ambiguous]);
}

#[test]
fn a_retransmission_of_acknowledged_bytes_spoils_no_later_sample() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 3000).acks(30 * MS, 1000).sends(31 * MS, 0, 1000).acks(32 * MS, 2000);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new", "retransmission/spurious"]);
    let sample = |rtt| RttOutcome::Sample { rtt: Span::from_millis(rtt), lone: false };
    assert!(
        matches!(
            seen.round_trips()[1],
            RttOutcome::Sample { rtt, .. } if rtt == Span::from_millis(12)
        ),
        "1000 to 2000 was sent once: {:?}",
        seen.round_trips()
    );
    assert_eq!(seen.round_trips()[0], sample(10));
}

#[test]
fn bytes_that_the_capture_missed_give_no_sample() {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .sends(21 * MS, 2000, 1000)
        .acks(30 * MS, 3000)
        .sends(31 * MS, 3000, 1000)
        .acks(41 * MS, 4500);
    trace.sends(50 * MS, 4500, 1000).acks(60 * MS, 5500);
    let seen = record(&trace.batch());
    assert_eq!(seen.round_trips()[..2], [RttOutcome::Unseen, RttOutcome::Unseen]);
    assert_eq!(seen.client().acknowledged_unseen(), 1500);
}

#[test]
fn a_reordered_segment_was_sent_once_and_is_timed() {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .sends(20 * MS + 20, 2000, 1000)
        .sends(20 * MS + 30, 1000, 1000)
        .acks(30 * MS + 20, 3000);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels(), ["new", "new", "fill/reordered"]);
    assert_eq!(
        seen.round_trips(),
        [RttOutcome::Sample { rtt: Span::from_millis(10), lone: false }]
    );
}

#[test]
fn a_segment_lost_before_the_capture_is_not_timed() {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .sends(21 * MS, 2000, 1000)
        .sends(300 * MS, 1000, 1000)
        .acks(310 * MS, 3000);
    let seen = record(&trace.batch());
    assert_eq!(seen.labels()[2], "fill/lost_upstream");
    assert_eq!(seen.round_trips(), [RttOutcome::Unseen]);
}

#[test]
fn a_sample_that_is_not_positive_is_refused() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).acks(20 * MS, 1000);
    assert_eq!(record(&trace.batch()).round_trips(), [RttOutcome::NotPositive]);
}

#[test]
fn an_acknowledgement_on_data_counts_like_a_pure_one() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).push(Ends::default().server(30 * MS).ack(1000).data(300));
    assert_eq!(
        record(&trace.batch()).round_trips(),
        [RttOutcome::Sample { rtt: Span::from_millis(10), lone: true }]
    );
}

#[test]
fn the_acknowledgement_of_a_fin_alone_gives_no_sample() {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .acks(30 * MS, 1000)
        .push(Ends::default().client(40 * MS).seq(1000).flags(ACK | TcpFlags::FIN))
        .acks(55 * MS, 1001);
    let seen = record(&trace.batch());
    assert_eq!(seen.samples().len(), 1);
    assert_eq!(seen.round_trips()[1], RttOutcome::None);
}

#[test]
fn a_fragmented_segment_is_reported_and_not_timed() {
    let mut trace = Trace::open();
    let ends = trace.ends;
    trace
        .push(ends.client(20 * MS).data(500).bits(Bits::FRAGMENT_FIRST))
        .push(ends.client(20 * MS + 1).data(500).bits(Bits::FRAGMENT_LATER));
    trace.acks(30 * MS, 1000);
    let seen = record(&trace.batch());
    assert!(seen.client().seen.fragmented);
    assert!(seen.samples().is_empty());
}

#[test]
fn the_rest_of_a_fragmented_segment_is_no_hole() {
    let mut trace = Trace::open();
    let ends = trace.ends;
    for number in 0..3 {
        let at = (20 + number) * MS;
        let rest = Bits::FRAGMENT_LATER | Bits::SEQUENCE;
        trace
            .push(ends.client(at).seq(1460 * number).data(552).bits(Bits::FRAGMENT_FIRST))
            .push(ends.client(at + 1).seq(1460 * number + 552).data(908).flags(0).bits(rest));
    }
    // The second one again: its fragments were seen before.
    trace
        .push(ends.client(25 * MS).seq(1460).data(552).bits(Bits::FRAGMENT_FIRST))
        .push(
            ends.client(25 * MS + 1)
                .seq(2012)
                .data(908)
                .flags(0)
                .bits(Bits::FRAGMENT_LATER | Bits::SEQUENCE),
        )
        .acks(30 * MS, 4380)
        .sends(40 * MS, 4380, 100);
    let seen = record(&trace.batch());
    let client = seen.client();
    assert_eq!((client.counters.unique, client.acknowledged_unseen()), (4480, 0));
    assert_eq!(seen.labels(), ["new", "new", "new", "retransmission/timeout", "new"]);
    assert!(seen.samples().is_empty());
}

#[test]
fn data_go_on_behind_a_gap_of_more_than_a_gigabyte() {
    const GAP: i64 = 1_500_000_000;
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1000);
    let ends = trace.ends;
    for number in 0..40 {
        let at = 40 * MS + number * MS;
        trace.push(ends.client(at).seq(GAP + 1000 * number).data(1000));
    }
    trace.acks(90 * MS, GAP + 40_000);
    let seen = record(&trace.batch());
    let client = seen.client();
    assert_eq!(client.counters.wild, 16);
    assert_eq!(client.counters.retransmitted, 0);
    assert_eq!(client.counters.unique, 1000 + 25_000, "fifteen were not believed");
    assert_eq!(client.acknowledged_unseen(), GAP.unsigned_abs() - 1000 + 15_000);
}

#[test]
fn numbers_far_away_that_do_not_follow_each_other_are_ignored() {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000);
    let ends = trace.ends;
    for number in 0..40 {
        let far = 1_200_000_000 + 40_000_000 * (number % 7);
        trace.push(ends.client(21 * MS + number).seq(far).data(1000));
    }
    trace.sends(30 * MS, 1000, 1000);
    let client = record(&trace.batch()).client().clone();
    assert_eq!((client.counters.wild, client.counters.unique, client.snd_max), (40, 2000, 2000));
}

#[test]
fn an_acknowledgement_captured_before_its_data_makes_them_no_loss() {
    // The receiver's clock is behind the sender's or ahead of it: it says nothing about data.
    for (server, client) in [(100, 3_000_000), (3_000_000, 100)] {
        let mut trace = Trace::open();
        let ends = trace.ends;
        trace
            .push(ends.server(20 * MS).ack(1000).clock(server, client))
            .push(ends.client(20 * MS + 50).data(1000).clock(client, server - 1));
        let seen = record(&trace.batch());
        assert_eq!(seen.labels(), ["fill/reordered"], "clocks {server} and {client}");
    }
}

#[test]
fn congestion_is_marked_where_classic_ecn_was_agreed() {
    let echoes = TcpFlags::ECE;
    let opened = TcpFlags::SYN | TcpFlags::ACK;
    // The handshake of Accurate ECN answers with other bits, and counts in them from then on.
    for (agreed, expected) in
        [(echoes, true), (0, false), (TcpFlags::CWR, false), (echoes | TcpFlags::CWR, false)]
    {
        let mut trace = Trace::empty();
        let ends = trace.ends;
        trace
            .push(ends.syn(0).flags(TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR))
            .push(ends.syn_ack(10 * MS).flags(opened | agreed))
            .sends(20 * MS, 0, 1000)
            .push(ends.server(30 * MS).ack(1000).flags(ACK | echoes));
        let acks = record(&trace.batch()).acks(0);
        assert_eq!(acks.last().map(|ack| ack.marked), Some(expected), "flags {agreed:#x}");
    }
}
