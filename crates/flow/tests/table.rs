//! Which instance of a connection a packet belongs to, when instances end, and what goes when there
//! are too many.

mod packets;
mod recorder;

use std::collections::BTreeSet;

use packets::{Ends, MS, Made, S, Side, Trace, batch};
use proptest::collection::vec;
use proptest::prelude::*;
use recorder::{Event, Recorder, record, record_with};
use trustbed_flow::{FlowKey, Limits, State};
use trustbed_units::Span;
use trustbed_wire::TcpFlags;

const FIN: u8 = TcpFlags::FIN | TcpFlags::ACK;

/// First packet, state, and the packet at which it left, of every connection in the order of
/// leaving.
fn lives(recorder: &Recorder) -> Vec<(u64, State, u64)> {
    recorder
        .gone
        .iter()
        .map(|gone| (gone.connection.first_index, gone.connection.state, gone.at_index))
        .collect()
}

/// A SYN on the same key with another initial sequence number.
fn other_syn(micros: i64) -> Made {
    let mut syn = Ends::default().syn(micros);
    syn.packet.seq = 77;
    syn
}

/// Established, with data acknowledged.
fn busy() -> Trace {
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1000);
    trace
}

// A SYN with another number starts a new instance iff one of four things holds.

#[test]
fn none_of_the_four_and_the_syn_is_stray() {
    let mut trace = busy();
    trace.push(other_syn(40 * MS)).sends(50 * MS, 1000, 1000);
    let seen = record(&trace.batch());
    assert_eq!(lives(&seen), [(1, State::Established, u64::MAX)]);
    assert!(seen.only().flags.stray_syn);
}

#[test]
fn after_a_reset_a_syn_starts_a_new_instance() {
    let mut trace = busy();
    trace
        .push(Ends::default().client(40 * MS).seq(1000).flags(TcpFlags::RST))
        .push(other_syn(50 * MS));
    assert_eq!(lives(&record(&trace.batch())), [(1, State::Reset, 7), (7, State::Syn, u64::MAX)]);
}

#[test]
fn after_both_fins_a_syn_starts_a_new_instance() {
    let ends = Ends::default();
    let mut trace = busy();
    trace.push(ends.client(40 * MS).seq(1000).flags(FIN));
    let mut half = trace.clone();
    half.push(other_syn(60 * MS));
    assert_eq!(record(&half.batch()).gone.len(), 1, "one FIN is not enough");
    trace.push(ends.server(50 * MS).ack(1001).flags(FIN)).push(other_syn(60 * MS));
    assert_eq!(lives(&record(&trace.batch())), [(1, State::Closed, 8), (8, State::Syn, u64::MAX)]);
}

#[test]
fn after_120_seconds_of_silence_a_syn_starts_a_new_instance() {
    for (silence, instances) in [(120 * S - 1, 1), (120 * S, 2)] {
        let mut trace = busy();
        trace.push(other_syn(30 * MS + silence));
        let seen = record(&trace.batch());
        assert_eq!(seen.gone.len(), instances, "after {silence} µs");
        assert_eq!(seen.gone[0].connection.flags.stray_syn, instances == 1);
    }
}

#[test]
fn without_a_syn_ack_a_syn_starts_a_new_instance() {
    let seen = record(&batch(&[Ends::default().syn(0), other_syn(S)]));
    assert_eq!(lives(&seen), [(1, State::Syn, 2), (2, State::Syn, u64::MAX)]);
}

#[test]
fn the_answer_to_a_stray_syn_starts_a_new_instance() {
    // The capture missed the end; 469 MB further on, as Linux numbers after thirty seconds.
    let mut trace = busy();
    let (mut syn, mut answer) = (other_syn(30 * S), Ends::default().syn_ack(30 * S + 10 * MS));
    syn.packet.seq = Ends::default().client(0).packet.seq.wrapping_add(469_000_000);
    answer.packet.seq = answer.packet.seq.wrapping_add(469_000_000);
    answer.packet.ack = syn.packet.seq.wrapping_add(1);
    let mut other = answer;
    trace.push(syn);
    let mut refused = trace.clone();
    other.packet.ack = other.packet.ack.wrapping_add(1);
    refused.push(other);
    assert_eq!(record(&refused.batch()).gone.len(), 1, "an answer to something else");
    trace.push(answer);
    let seen = record(&trace.batch());
    assert_eq!(
        seen.gone.iter().map(|gone| gone.connection.state).collect::<Vec<_>>(),
        [State::Established, State::SynAck]
    );
    let first = &seen.gone[0].connection;
    assert!(first.flags.stray_syn);
    assert!(first.streams.iter().all(|stream| stream.acknowledged_unseen() == 0));
}

#[test]
fn a_step_of_the_clock_forgets_no_handshake() {
    let ends = Ends::default();
    let stepped = [ends.syn(100 * MS), ends.syn_ack(110 * MS), ends.client(30 * MS)];
    let mut later = stepped.to_vec();
    later.push(other_syn(40 * MS));
    for (packets, stray) in [(stepped.to_vec(), false), (later, true)] {
        let packets = batch(&packets);
        let mut seen = Recorder::default();
        let mut table = recorder::table(Limits::default());
        for (packet, n) in packets.packets.iter().zip(0..) {
            let options = packets.options_of(packet);
            recorder::feed(&mut table, packet, options, u32::from(n >= 2), &mut seen);
        }
        table.finish(&mut seen);
        let only = seen.only();
        assert_eq!((only.state, only.flags.stray_syn), (State::Established, stray));
        assert_eq!(only.handshake.ack, None, "its time means nothing");
    }
}

#[test]
fn the_same_number_is_a_retransmission_whatever_happened() {
    let ends = Ends::default();
    let mut closed = busy();
    closed
        .push(ends.client(40 * MS).seq(1000).flags(FIN))
        .push(ends.server(50 * MS).ack(1001).flags(FIN))
        .push(ends.syn(60 * MS));
    let mut unanswered = Trace::empty();
    unanswered.push(ends.syn(0)).push(ends.syn(S)).push(ends.syn(3 * S));
    let mut silent = busy();
    silent.push(ends.syn(200 * S));
    for (trace, repeats) in [(closed, 1), (unanswered, 2), (silent, 1)] {
        let seen = record(&trace.batch());
        assert_eq!(seen.client().counters.syn_retransmissions, repeats);
        assert!(!seen.only().flags.stray_syn);
    }
}

#[test]
fn the_new_instance_begins_from_nothing() {
    let mut trace = busy();
    let again = Ends { client_isn: 9_000, server_isn: 10_000, ..Ends::default() };
    trace.push(Ends::default().client(40 * MS).seq(1000).flags(TcpFlags::RST));
    trace
        .push(again.syn(S))
        .push(again.syn_ack(S + 10 * MS))
        .push(again.client(S + 11 * MS))
        .push(again.client(S + 12 * MS).data(700));
    let seen = record(&trace.batch());
    let second = &seen.gone[1].connection;
    assert_eq!(
        (second.first_index, second.state, second.streams[0].snd_max),
        (7, State::Established, 700)
    );
    assert_eq!(second.streams[0].counters.retransmitted, 0);
}

// Silence.

#[test]
fn ten_minutes_of_silence_end_a_connection() {
    for (silence, instances) in [(600 * S - 1, 1), (600 * S, 2)] {
        let mut trace = busy();
        trace.sends(30 * MS + silence, 1000, 1000);
        let seen = record(&trace.batch());
        assert_eq!(seen.gone.len(), instances, "after {silence} µs");
        if instances == 2 {
            assert_eq!(lives(&seen), [(1, State::Established, 6), (6, State::Midstream, u64::MAX)]);
        }
    }
}

#[test]
fn a_minute_of_silence_ends_a_flow_of_datagrams() {
    let ends = Ends::default();
    for (silence, flows) in [(60 * S - 1, 1), (60 * S, 2)] {
        let seen = record(&batch(&[
            ends.datagram(Side::Server, 0, 10),
            ends.datagram(Side::Client, silence, 20),
        ]));
        assert_eq!(seen.gone.len(), flows, "after {silence} µs");
    }
}

#[test]
fn silence_may_be_configured() {
    let mut trace = busy();
    trace.sends(240 * S + 30 * MS, 1000, 1000);
    let limits = Limits { idle: Span::from_secs(240), ..Limits::default() };
    assert_eq!(
        record_with(&trace.batch(), limits, false).gone.len(),
        2,
        "four minutes, as tcptrace has it"
    );
}

#[test]
fn the_silent_leave_while_others_talk() {
    let mut trace = busy();
    let other = Ends::with_port(50_000);
    for n in 0..25 {
        trace.push(other.client(n * 60 * S + S).seq(n * 10).data(10));
    }
    let seen = record(&trace.batch());
    let left = &seen.gone[0];
    assert_eq!((left.connection.first_index, left.evicted), (1, false));
    let at = trace.packets[usize::try_from(left.at_index).unwrap_or(1) - 1].packet.ts.0 / 1_000;
    assert!(
        (600 * S..=700 * S).contains(&at),
        "it left after ten minutes and not much later: {at} µs"
    );
}

#[test]
fn times_that_jump_back_and_forth_search_the_table_no_more_than_a_slot_a_packet() {
    let mut packets: Vec<Made> =
        (0..1000).map(|n| Ends::with_port(40_000 + n).client(0).data(10)).collect();
    let ends = Ends::with_port(40_000);
    packets.extend((0..20_000).map(|n| ends.client(n % 2 * 61 * S).seq(10 + n).data(1)));
    let seen = record(&batch(&packets));
    let packets = packets.len() as u64;
    assert!((1..=packets).contains(&seen.facts.searched), "{}", seen.facts.searched);
}

#[test]
fn the_closed_stay_a_while_for_late_packets() {
    let ends = Ends::default();
    let other = Ends::with_port(50_000);
    let mut trace = busy();
    trace
        .push(ends.client(40 * MS).seq(1000).flags(FIN))
        .push(ends.server(50 * MS).ack(1001).flags(FIN));
    trace
        .push(ends.client(51 * MS).seq(1001).ack(1))
        .push(other.client(9 * S))
        .push(other.client(11 * S))
        .push(other.client(12 * S));
    let seen = record(&trace.batch());
    assert_eq!(lives(&seen)[0], (1, State::Closed, 10), "ten seconds after the second FIN");
    assert_eq!(
        seen.gone[0].connection.streams[0].counters.packets, 5,
        "the last acknowledgement belongs to it"
    );
}

#[test]
fn only_so_many_closed_ones_stay() {
    let mut packets = Vec::new();
    for n in 0..4_u16 {
        let ends = Ends::with_port(50_000 + n);
        packets.push(ends.client(i64::from(n) * MS).flags(TcpFlags::RST));
    }
    let limits = Limits { lingering: 2, ..Limits::default() };
    let seen = record_with(&batch(&packets), limits, false);
    assert_eq!(
        lives(&seen),
        [
            (1, State::Reset, 3),
            (2, State::Reset, 4),
            (3, State::Reset, u64::MAX),
            (4, State::Reset, u64::MAX)
        ]
    );
}

// The end, and too many.

#[test]
fn what_is_open_at_the_end_leaves_in_the_order_of_its_beginning() {
    let ports = [50_003, 50_001, 50_002, 50_000];
    let packets: Vec<Made> = ports
        .iter()
        .zip(0..)
        .map(|(&port, n)| Ends::with_port(port).client(n * MS).data(10))
        .collect();
    let seen = record(&batch(&packets));
    assert_eq!(lives(&seen), (1..=4).map(|n| (n, State::Midstream, u64::MAX)).collect::<Vec<_>>());
    assert!(seen.gone.iter().all(|gone| !gone.evicted));
    assert_eq!((seen.facts.most, seen.facts.evicted), (4, 0));
}

/// `n` clients, the last `half_open` of which only send a SYN, all in a table of ten.
fn crowd(established: u16, half_open: u16) -> Recorder {
    let mut packets = Vec::new();
    for n in 0..established + half_open {
        let ends = Ends::with_port(50_000 + n);
        let at = i64::from(n) * MS;
        if n < established {
            packets.push(ends.client(at).data(100));
        } else {
            packets.push(ends.syn(at));
        }
    }
    record_with(&batch(&packets), Limits { connections: 10, ..Limits::default() }, false)
}

#[test]
fn a_full_table_evicts_and_counts() {
    let seen = crowd(25, 0);
    assert_eq!((seen.facts.evicted, seen.facts.most), (15, 10));
    assert_eq!(seen.gone.iter().filter(|gone| gone.evicted).count(), 15);
    assert_eq!(seen.gone.len(), 25, "none is lost");
    let evicted: Vec<u64> = seen
        .gone
        .iter()
        .filter(|gone| gone.evicted)
        .map(|gone| gone.connection.first_index)
        .collect();
    assert_eq!(evicted, (1..=15).collect::<Vec<_>>(), "the longest silent go first");
}

#[test]
fn half_open_connections_go_first() {
    let seen = crowd(9, 20);
    assert_eq!(seen.facts.evicted, 19);
    assert!(
        seen.gone
            .iter()
            .filter(|gone| gone.evicted)
            .all(|gone| gone.connection.state == State::Syn),
        "a SYN flood evicts no other"
    );
}

#[test]
fn who_sends_data_is_not_half_open_though_no_answer_was_captured() {
    let mut packets = Vec::new();
    for n in 0..20 {
        let ends = Ends::with_port(50_000 + n);
        let at = i64::from(n) * MS;
        packets.push(ends.syn(at));
        if n < 5 {
            packets.push(ends.client(at + 1).data(100));
        }
    }
    let limits = Limits { connections: 10, ..Limits::default() };
    let seen = record_with(&batch(&packets), limits, false);
    let evicted: Vec<_> = seen.gone.iter().filter(|gone| gone.evicted).collect();
    assert_eq!(evicted.len(), 10);
    assert!(evicted.iter().all(|g| g.connection.streams.iter().all(|s| !s.seen.payload)));
}

/// Connections that each leave segments unacknowledged, one after the other.
fn growing(connections: u16, segments: u16) -> Vec<Made> {
    let mut packets = Vec::new();
    for n in 0..connections {
        let ends = Ends::with_port(50_000 + n);
        for k in 0..segments {
            let at = i64::from(n) * S + i64::from(k) * MS;
            packets.push(ends.client(at).seq(i64::from(k) * 100).data(100));
        }
    }
    packets
}

#[test]
fn a_table_keeps_its_budget_and_counts_what_it_gives_up() {
    let packets = batch(&growing(40, 384));
    let limits = Limits { bytes: 200_000, ..Limits::default() };
    let (mut table, mut recorder) = (recorder::table(limits), Recorder::default());
    let mut most = 0;
    for packet in &packets.packets {
        recorder::feed(&mut table, packet, None, 0, &mut recorder);
        most = table.held_bytes().max(most);
    }
    assert!((100_000..=200_000).contains(&most), "{most} bytes");
    let evicted = table.facts().evicted;
    assert!(evicted > 20, "{evicted} of 40 connections of more than 10 kB each");
    table.finish(&mut recorder);
    assert_eq!(recorder.gone.len(), 40, "none is lost");
    let marked: Vec<u64> =
        recorder.gone.iter().filter(|g| g.evicted).map(|g| g.connection.first_index).collect();
    assert_eq!(marked.len() as u64, evicted);
    assert!(marked.is_sorted(), "the longest silent go first: {marked:?}");
}

#[test]
fn after_a_crowd_the_longest_silent_still_goes_first() {
    let crowd = 600;
    let mut packets: Vec<Made> = (0..crowd)
        .map(|n| {
            let at = i64::from(n) - i64::from(crowd);
            Ends::with_port(1000 + n).client(at).flags(TcpFlags::RST)
        })
        .collect();
    // By the time of the eleventh the crowd has left, and its slots are empty.
    packets.extend(growing(60, 1024));
    let limits = Limits { bytes: 1 << 20, lingering: 1000, ..Limits::default() };
    let seen = record_with(&batch(&packets), limits, false);
    assert_eq!(seen.gone.len(), usize::from(crowd) + 60, "none is lost");
    let evicted: Vec<u64> =
        seen.gone.iter().filter(|g| g.evicted).map(|g| g.connection.first_index).collect();
    assert!(evicted.len() > 20 && evicted.is_sorted(), "the longest silent go first: {evicted:?}");
    assert!(evicted.iter().all(|&first| first > u64::from(crowd)), "the crowd had left");
}

#[test]
fn flows_of_datagrams_keep_the_budget_too() {
    let flows = 1..300_u16;
    let made: Vec<Made> =
        flows.map(|n| Ends::with_port(n).datagram(Side::Client, i64::from(n) * MS, 10)).collect();
    let limits = Limits { bytes: 100_000, ..Limits::default() };
    let (mut table, mut recorder) = (recorder::table(limits), Recorder::default());
    for packet in &batch(&made).packets {
        recorder::feed(&mut table, packet, None, 0, &mut recorder);
        assert!(table.held_bytes() <= 100_000, "{} bytes", table.held_bytes());
    }
    assert!(table.facts().evicted > 100, "{} of 299", table.facts().evicted);
}

#[test]
fn a_connection_that_needs_more_than_the_budget_is_alone() {
    let mut packets = vec![Ends::with_port(1).client(0).data(100)];
    packets.extend(growing(1, 1000));
    let seen = record_with(&batch(&packets), Limits { bytes: 4_000, ..Limits::default() }, false);
    assert_eq!(seen.facts.evicted, 1);
    let packets: Vec<(bool, u64)> = seen
        .gone
        .iter()
        .map(|gone| {
            (gone.evicted, gone.connection.streams.iter().map(|s| s.counters.packets).sum())
        })
        .collect();
    assert_eq!(packets, [(true, 1), (false, 1000)]);
}

#[test]
fn eviction_is_the_same_every_time() {
    let once = lives(&crowd(40, 30));
    assert_eq!(once, lives(&crowd(40, 30)));
}

#[test]
fn an_evicted_connection_that_goes_on_is_mid_stream() {
    let mut packets = vec![Ends::with_port(1).client(0).data(100)];
    packets.extend((2..12).map(|n| Ends::with_port(n).client(i64::from(n) * MS).data(100)));
    packets.push(Ends::with_port(1).client(S).seq(100).data(100));
    let seen =
        record_with(&batch(&packets), Limits { connections: 10, ..Limits::default() }, false);
    let again = seen
        .gone
        .iter()
        .find(|gone| gone.connection.first_index == 12)
        .map(|gone| gone.connection.flags.midstream);
    assert_eq!(again, Some(true));
}

// Keys.

#[test]
fn flows_that_share_a_hash_stay_apart() {
    let mut packets = Vec::new();
    for (n, at) in [(1_u16, 0), (2, 1), (3, 2), (1, 3), (2, 4)] {
        let mut made = Ends::with_port(50_000 + n).client(at * MS).seq(at * 100).data(100);
        made.packet.flow_hash = 42;
        packets.push(made);
    }
    let seen = record(&batch(&packets));
    let packets: Vec<(u64, u64)> = seen
        .gone
        .iter()
        .map(|gone| (gone.connection.first_index, gone.connection.streams[0].counters.packets))
        .collect();
    assert_eq!(packets, [(1, 2), (2, 2), (3, 1)]);
}

#[test]
fn few_connections_share_a_hash_and_the_others_go_on() {
    let mut packets = vec![Ends::with_port(50_000).client(0).data(100)];
    for n in 1..1000 {
        let mut made = Ends::with_port(50_000 + n).client(i64::from(n) * MS).data(100);
        made.packet.flow_hash = 42;
        packets.push(made);
    }
    packets.push(Ends::with_port(50_000).client(S).seq(100).data(100));
    let seen = record(&batch(&packets));
    assert_eq!((seen.facts.evicted, seen.facts.most), (991, 9), "eight of one hash, and another");
    let evicted: Vec<u64> = seen
        .gone
        .iter()
        .filter(|gone| gone.evicted)
        .map(|gone| gone.connection.first_index)
        .collect();
    assert_eq!(evicted, (2..=992).collect::<Vec<_>>(), "the one that was silent longest");
    let other = seen.gone.iter().find(|gone| gone.connection.first_index == 1);
    assert_eq!(other.map(|gone| gone.connection.streams[0].counters.packets), Some(2));
}

#[test]
fn where_keys_are_kept_depends_on_the_secret_in_every_word() {
    let key = |number: u64| {
        let half = number.to_be_bytes();
        let mut low = [0; 16];
        low[..8].copy_from_slice(&half);
        low[8..].copy_from_slice(&half);
        FlowKey { low, high: low, low_port: 1, high_port: 1, protocol: 6 }
    };
    for secret in [0, u64::MAX, 0x0123_4567_89ab_cdef] {
        let hashes: BTreeSet<u64> = (0..10_000).map(|number| key(number).hash(secret)).collect();
        assert_eq!(hashes.len(), 10_000);
        assert!((0..10_000).all(|number| key(number).hash(secret) != key(number).hash(7)));
    }
}

#[test]
fn the_secret_of_a_run_does_not_show() {
    let packets: Vec<Made> = (0..60)
        .map(|n| Ends::with_port(50_000 + n % 23).client(i64::from(n) * MS).data(100))
        .collect();
    let with = |hash_secret| {
        let limits = Limits { connections: 10, hash_secret, ..Limits::default() };
        lives(&record_with(&batch(&packets), limits, false))
    };
    assert_eq!(with(0), with(0x0123_4567_89ab_cdef));
}

#[test]
fn datagrams_are_counted_by_direction() {
    let ends = Ends::default();
    let seen = record(&batch(&[
        ends.datagram(Side::Server, 0, 100),
        ends.datagram(Side::Client, MS, 30),
        ends.datagram(Side::Server, 2 * MS, 70),
    ]));
    let flow = seen.only();
    assert_eq!((flow.state, flow.key.protocol), (State::Datagrams, 17));
    assert_eq!(
        flow.key.source(flow.initiator_direction()),
        ends.server,
        "the sender of the first packet"
    );
    let counted = flow.streams.each_ref().map(|s| (s.counters.packets, s.counters.payload));
    assert_eq!(counted, [(1, 30), (2, 170)]);
    assert!(seen.events.is_empty());
}

// The capture clock.

#[test]
fn what_spans_a_step_of_the_clock_is_not_timed() {
    let ends = Ends::default();
    let before = [
        ends.syn(100 * MS),
        ends.syn_ack(110 * MS),
        ends.client(111 * MS),
        ends.client(120 * MS).data(1000),
    ];
    let after = [
        ends.server(30 * MS).ack(1000),
        ends.client(31 * MS).seq(1000).data(1000),
        ends.server(41 * MS).ack(2000),
    ];
    let all: Vec<Made> = before.iter().chain(&after).copied().collect();
    let packets = batch(&all);
    let mut seen = Recorder::default();
    let mut table = recorder::table(Limits::default());
    for (packet, n) in packets.packets.iter().zip(0..) {
        recorder::feed(
            &mut table,
            packet,
            packets.options_of(packet),
            u32::from(n >= 4),
            &mut seen,
        );
    }
    table.finish(&mut seen);
    let connection = seen.only();
    assert!(connection.flags.clock_step);
    assert_eq!(connection.streams[0].counters.unique, 2000, "bytes go on being counted");
    assert_eq!(
        seen.samples().iter().map(|(_, rtt)| rtt.0).collect::<Vec<_>>(),
        [10_000_000],
        "only the one after the step"
    );
    assert_eq!(seen.events.iter().filter(|event| matches!(event, Event::ClockStep)).count(), 1);
}

#[test]
fn a_transfer_begins_with_its_first_data_and_hears_everything_after() {
    let ends = Ends::default();
    let mut trace = Trace::open();
    trace
        .push(ends.server(20 * MS))
        .sends(30 * MS, 0, 1000)
        .acks(40 * MS, 1000)
        .push(ends.server(50 * MS).ack(1000).data(500));
    trace.push(ends.client(60 * MS).seq(1000).ack(500));
    let seen = record(&trace.batch());
    let reported: Vec<(&str, usize)> = seen
        .events
        .iter()
        .map(|event| match event {
            Event::Begin { direction, connection } => {
                (if *connection == 1 { "begin" } else { "other" }, *direction)
            }
            Event::Data { direction, .. } => ("data", *direction),
            Event::Ack { direction, .. } => ("ack", *direction),
            Event::Disproved(_) | Event::ClockStep => ("other", 9),
        })
        .collect();
    assert_eq!(
        reported,
        [("begin", 0), ("data", 0), ("ack", 0), ("ack", 0), ("begin", 1), ("data", 1), ("ack", 1)]
    );
}

fn traffic() -> impl Strategy<Value = Vec<Made>> {
    let flags = prop_oneof![
        20 => Just(TcpFlags::ACK),
        3 => Just(TcpFlags::SYN),
        2 => Just(TcpFlags::SYN | TcpFlags::ACK),
        2 => Just(FIN),
        1 => Just(TcpFlags::RST),
    ];
    let packet = (
        0_u16..6,
        any::<bool>(),
        flags,
        0_i64..6,
        0_i64..6,
        prop_oneof![Just(0_u32), Just(1), Just(1000)],
        0_i64..400 * S,
    );
    vec(packet, 1..150).prop_map(|packets| {
        let mut now = 0;
        let packets = packets.into_iter().map(|(port, client, flags, seq, ack, length, passed)| {
            now += if passed > 300 * S { passed } else { passed / 10_000 };
            let side = if client { Side::Client } else { Side::Server };
            Ends::with_port(50_000 + port)
                .packet(side, now)
                .flags(flags)
                .seq(seq * 500)
                .ack(ack * 500)
                .data(length)
        });
        packets.collect()
    })
}

proptest! {
    /// Whatever comes: every packet is counted in exactly one instance, and instances of a key
    /// follow one another.
    #[test]
    fn every_packet_belongs_to_one_instance(packets in traffic(), connections in 1_usize..8) {
        let seen =
            record_with(&batch(&packets), Limits { connections, ..Limits::default() }, false);
        let counted: u64 = seen
            .gone
            .iter()
            .flat_map(|gone| &gone.connection.streams)
            .map(|stream| stream.counters.packets)
            .sum();
        prop_assert_eq!(counted, packets.len() as u64);
        prop_assert!(seen.facts.most <= connections as u64);
        for gone in &seen.gone {
            prop_assert!(gone.connection.first_index <= gone.at_index);
            prop_assert!(gone.connection.start <= gone.connection.last);
            for stream in &gone.connection.streams {
                let counters = stream.counters;
                prop_assert_eq!(
                    counters.retransmitted,
                    counters.spurious + counters.fast + counters.timeout
                );
                prop_assert!(counters.tail_loss_probes <= counters.timeout);
                prop_assert!(
                    counters.data_packets
                        >= counters.retransmitted + counters.reordered + counters.lost_upstream
                );
            }
        }
    }
}
