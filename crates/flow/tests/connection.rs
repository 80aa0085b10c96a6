//! The life of a connection: how it opens, half closes, closes, resets, and what is reported of its
//! handshake.

mod packets;
mod recorder;

use packets::{Ends, MS, Made, S, Side, Trace, address};
use recorder::{Recorder, record, record_with};
use trustbed_flow::{Limits, State};
use trustbed_units::Span;
use trustbed_wire::{Bits, TcpFlags};

const ACK: u8 = TcpFlags::ACK;
const FIN: u8 = TcpFlags::FIN | TcpFlags::ACK;
const RST: u8 = TcpFlags::RST;

fn state_after(packets: &[Made]) -> State {
    record(&packets::batch(packets)).only().state
}

#[test]
fn the_handshake_goes_through_its_states() {
    let ends = Ends::default();
    let all = [ends.syn(0), ends.syn_ack(10 * MS), ends.client(11 * MS)];
    assert_eq!(state_after(&all[..1]), State::Syn);
    assert_eq!(state_after(&all[..2]), State::SynAck);
    assert_eq!(state_after(&all), State::Established);
}

#[test]
fn the_handshake_is_timed_at_both_ends() {
    let ends = Ends::default();
    let seen = record(&packets::batch(&[ends.syn(0), ends.syn_ack(20 * MS), ends.client(23 * MS)]));
    let handshake = seen.only().handshake;
    assert_eq!(handshake.to_responder(), Some(Span::from_millis(20)));
    assert_eq!(handshake.to_initiator(), Some(Span::from_millis(3)));
}

#[test]
fn the_sender_of_the_first_syn_is_the_initiator() {
    let upside_down =
        Ends { client: (address(9), 80), server: (address(3), 40_000), ..Ends::default() };
    for ends in [Ends::default(), upside_down] {
        let mut trace = Trace::opened_by(ends);
        trace.sends(20 * MS, 0, 100);
        let seen = record(&trace.batch());
        let connection = seen.only();
        assert_eq!(connection.key.source(connection.initiator_direction()), ends.client);
    }
}

#[test]
fn without_the_syn_the_receiver_of_the_syn_ack_is_the_initiator() {
    let ends = Ends { client: (address(1), 80), server: (address(2), 40_000), ..Ends::default() };
    let seen = record(&packets::batch(&[ends.syn_ack(0), ends.client(MS)]));
    let connection = seen.only();
    assert_eq!(connection.key.source(connection.initiator_direction()), ends.client);
    assert_eq!((connection.state, connection.flags.midstream), (State::Established, false));
    assert_eq!(connection.handshake.to_responder(), None, "half of the handshake was not seen");
    assert_eq!(connection.handshake.to_initiator(), Some(Span::from_millis(1)));
}

#[test]
fn mid_stream_the_higher_port_is_the_initiator() {
    for (client_port, server_port, first, initiator) in [
        (40_000, 80, Side::Server, Side::Client),
        (80, 40_000, Side::Client, Side::Server),
        (500, 500, Side::Client, Side::Client),
        (500, 500, Side::Server, Side::Server),
    ] {
        let ends = Ends {
            client: (address(1), client_port),
            server: (address(2), server_port),
            ..Ends::default()
        };
        let seen = record(&packets::batch(&[ends.packet(first, 0).data(10)]));
        let connection = seen.only();
        let expected = if initiator == Side::Client { ends.client } else { ends.server };
        assert_eq!(
            connection.key.source(connection.initiator_direction()),
            expected,
            "ports {client_port} and {server_port}"
        );
        assert!(connection.flags.midstream && connection.state == State::Midstream);
    }
}

#[test]
fn a_repeated_syn_is_counted_and_gives_no_round_trip() {
    let ends = Ends::default();
    let seen = record(&packets::batch(&[
        ends.syn(0),
        ends.syn(S),
        ends.syn_ack(S + 20 * MS),
        ends.client(S + 21 * MS),
    ]));
    let connection = seen.only();
    assert_eq!(seen.client().counters.syn_retransmissions, 1);
    assert_eq!(
        (connection.handshake.to_responder(), connection.handshake.to_initiator()),
        (None, Some(Span::from_millis(1)))
    );
    assert_eq!(seen.client().counters.retransmitted, 0, "SYNs are counted apart");
}

#[test]
fn a_repeated_syn_ack_is_counted_at_the_responder() {
    let ends = Ends::default();
    let seen = record(&packets::batch(&[
        ends.syn(0),
        ends.syn_ack(20 * MS),
        ends.syn_ack(S),
        ends.client(S + MS),
    ]));
    let connection = seen.only();
    assert_eq!(
        (seen.client().counters.syn_retransmissions, seen.server().counters.syn_retransmissions),
        (0, 1)
    );
    assert_eq!(
        (connection.handshake.to_responder(), connection.handshake.to_initiator()),
        (Some(Span::from_millis(20)), None)
    );
}

#[test]
fn two_syns_are_a_simultaneous_open() {
    let low_first = Ends::default();
    let high_first =
        Ends { client: (address(9), 500), server: (address(3), 600), ..Ends::default() };
    for ends in [low_first, high_first] {
        let other = ends.server(5 * MS).seq(-1).flags(TcpFlags::SYN).opening(1000, Some(0));
        let both = TcpFlags::SYN | TcpFlags::ACK;
        let packets = [
            ends.syn(0),
            other,
            ends.client(15 * MS).seq(-1).flags(both).opening(1000, Some(0)),
            ends.server(16 * MS).seq(-1).flags(both).opening(1000, Some(0)),
            ends.client(25 * MS).data(1000),
            ends.server(35 * MS).ack(1000),
        ];
        let seen = record(&packets::batch(&packets));
        let connection = seen.only();
        assert!(connection.flags.simultaneous_open);
        assert_eq!(connection.initiator_direction(), 0, "the lower endpoint is reported");
        assert_eq!(connection.state, State::Established);
        let repeated =
            seen.client().counters.syn_retransmissions + seen.server().counters.syn_retransmissions;
        assert_eq!(repeated, 0, "the SYN-ACKs belong to the opening (RFC 9293, figure 7)");
        assert!(seen.client().seen.mss_known && seen.client().mss() == 1000);
    }
}

#[test]
fn multipath_is_what_both_sides_offered_in_their_syns_or_in_later_segments() {
    let ends = Ends::default();
    let (syn, syn_ack) = (ends.syn(0), ends.syn_ack(10 * MS));
    let (client, server) = (ends.client(11 * MS).data(100), ends.server(20 * MS).ack(100));
    for (packets, expected) in [
        (vec![syn.multipath(), syn_ack.multipath(), client, server], [true, true]),
        (vec![syn.multipath(), syn_ack, client, server], [true, false]),
        (vec![syn, syn_ack, client, server], [false, false]),
        (vec![client.multipath(), server.multipath()], [true, true]),
        (vec![client, server, ends.client(21 * MS).seq(100).data(100).multipath()], [true, false]),
        (vec![syn_ack.multipath(), client.multipath(), server], [true, true]),
    ] {
        let seen = record(&packets::batch(&packets));
        assert_eq!([seen.client().seen.multipath, seen.server().seen.multipath], expected);
    }
}

#[test]
fn a_stray_syn_is_reported_and_changes_nothing() {
    let mut trace = Trace::open();
    let mut stray = Ends::default().syn(25 * MS);
    stray.packet.seq = 42;
    trace.sends(20 * MS, 0, 1000).push(stray).acks(30 * MS, 1000).sends(31 * MS, 1000, 1000);
    let seen = record(&trace.batch());
    assert!(seen.only().flags.stray_syn);
    assert_eq!((seen.labels().len(), seen.client().snd_max, seen.client().una), (2, 2000, 1000));
}

// Closing.

#[test]
fn one_fin_half_closes_and_two_close() {
    let ends = Ends::default();
    let mut trace = Trace::open();
    trace.push(ends.client(20 * MS).flags(FIN));
    assert_eq!(record(&trace.batch()).only().state, State::HalfClosed);
    trace.push(ends.server(30 * MS).ack(1));
    assert_eq!(record(&trace.batch()).only().state, State::HalfClosed);
    trace.push(ends.server(31 * MS).ack(1).data(500));
    assert_eq!(record(&trace.batch()).data(1).len(), 1, "the other side goes on");
    trace.push(ends.server(40 * MS).seq(500).ack(1).flags(FIN));
    assert_eq!(record(&trace.batch()).only().state, State::Closed);
}

#[test]
fn a_connection_is_closed_whether_or_not_its_last_fin_is_acknowledged() {
    let ends = Ends::default();
    let mut trace = Trace::open();
    trace.push(ends.client(20 * MS).flags(FIN)).push(ends.server(30 * MS).flags(FIN));
    let neither = record(&trace.batch());
    assert!(neither.client().has_fin() && neither.server().has_fin());
    trace.push(ends.client(40 * MS).seq(1).ack(1)).push(ends.server(50 * MS).seq(1).ack(1));
    let both = record(&trace.batch());
    assert_eq!((neither.only().state, both.only().state), (State::Closed, State::Closed));
}

#[test]
fn a_repeated_fin_does_not_close() {
    let ends = Ends::default();
    let mut trace = Trace::open();
    trace.push(ends.client(20 * MS).flags(FIN)).push(ends.client(S).flags(FIN));
    let seen = record(&trace.batch());
    assert_eq!(
        (seen.only().state, seen.client().counters.fin_retransmissions),
        (State::HalfClosed, 1)
    );
}

#[test]
fn a_fin_far_from_the_sequence_is_ignored() {
    let ends = Ends::default();
    let mut trace = Trace::open();
    trace.sends(20 * MS, 0, 1000).push(ends.client(21 * MS).seq(1 << 31).flags(FIN));
    let seen = record(&trace.batch());
    assert_eq!(seen.only().state, State::Established);
    assert!(seen.client().seen.wild);
}

#[test]
fn what_comes_after_both_fins_is_still_understood() {
    let ends = Ends::default();
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .push(ends.client(21 * MS).seq(1000).flags(FIN))
        .push(ends.server(31 * MS).ack(1001).flags(FIN));
    trace.push(ends.client(32 * MS).seq(1001).ack(1));
    let seen = record(&trace.batch());
    assert_eq!((seen.only().state, seen.only().packets_after_close), (State::Closed, 0));
    assert_eq!((seen.client().una, seen.server().una), (1000, 0));
}

// Resetting.

#[test]
fn a_reset_inside_the_window_ends_the_connection() {
    for (what, reset) in [
        ("at the next byte", Ends::default().client(30 * MS).seq(1000).flags(RST)),
        ("with an acknowledgement", Ends::default().client(30 * MS).seq(1000).flags(RST | ACK)),
        ("within the receiver's window", Ends::default().client(30 * MS).seq(30_000).flags(RST)),
    ] {
        let mut trace = Trace::open();
        trace.sends(20 * MS, 0, 1000).acks(25 * MS, 1000).push(reset);
        let seen = record(&trace.batch());
        assert_eq!(
            (seen.only().state, seen.only().flags.stray_reset),
            (State::Reset, false),
            "{what}"
        );
    }
}

#[test]
fn a_reset_outside_the_window_is_stray() {
    for offset in [-50_000, 200_000, 1 << 31] {
        let mut trace = Trace::open();
        trace
            .sends(20 * MS, 0, 1000)
            .acks(25 * MS, 1000)
            .push(Ends::default().client(30 * MS).seq(offset).flags(RST))
            .sends(40 * MS, 1000, 1000);
        let seen = record(&trace.batch());
        assert!(seen.only().flags.stray_reset, "at {offset}");
        assert_eq!(seen.only().state, State::Established, "at {offset}");
        assert_eq!(seen.labels().len(), 2, "the connection goes on");
    }
}

#[test]
fn a_refused_connection_is_reset() {
    let ends = Ends::default();
    let mut refusal = ends.server(10 * MS).flags(RST | ACK);
    refusal.packet.seq = 0;
    let seen = record(&packets::batch(&[ends.syn(0), refusal]));
    assert_eq!(seen.only().state, State::Reset);
}

#[test]
fn packets_after_a_reset_are_counted_and_not_analysed() {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .push(Ends::default().server(25 * MS).ack(1000).flags(RST))
        .sends(30 * MS, 1000, 1000)
        .acks(31 * MS, 2000);
    let seen = record(&trace.batch());
    assert_eq!((seen.only().state, seen.only().packets_after_close), (State::Reset, 2));
    assert_eq!((seen.labels().len(), seen.client().snd_max), (1, 1000));
}

#[test]
fn text_in_a_reset_is_no_data() {
    let ends = Ends::default();
    for (what, offset, state) in
        [("accepted", 1000, State::Reset), ("stray", 200_000, State::Established)]
    {
        let mut trace = Trace::open();
        trace
            .sends(20 * MS, 0, 1000)
            .acks(25 * MS, 1000)
            .push(ends.client(30 * MS).seq(offset).data(18).flags(RST | ACK));
        let seen = record(&trace.batch());
        let counters = seen.client().counters;
        assert_eq!((seen.only().state, seen.labels()), (state, vec!["new".to_owned()]), "{what}");
        assert_eq!(
            (counters.packets, counters.data_packets, counters.payload, counters.unique),
            (4, 1, 1000, 1000),
            "{what}"
        );
        assert_eq!((seen.client().snd_max, counters.pure_acks), (1000, 1), "{what}");
    }
    let mut refused = ends.server(10 * MS).data(13).flags(RST | ACK);
    refused.packet.seq = 0;
    let seen = record(&packets::batch(&[ends.syn(0), refused]));
    assert_eq!(
        (seen.only().state, seen.data(1).len(), seen.server().counters.payload),
        (State::Reset, 0, 0)
    );
}

// Packets captured twice.

fn with_duplicate(apart: i64, change: impl Fn(Made) -> Made, removes: bool) -> Recorder {
    let ends = Ends::default();
    let first = ends.client(20 * MS).data(1000).ip_id(7).clock(5, 6);
    let second = ends.client(20 * MS + apart).data(1000).ip_id(7).clock(5, 6);
    let mut trace = Trace::open();
    trace.push(first).push(change(second)).acks(30 * MS, 1000);
    record_with(&trace.batch(), Limits::default(), removes)
}

#[test]
fn a_packet_captured_twice_is_counted_and_on_request_removed() {
    let kept = with_duplicate(10, |same| same, false);
    assert_eq!(kept.client().counters.capture_duplicates, 1);
    assert_eq!(kept.labels().len(), 2, "kept unless requested otherwise");
    let removed = with_duplicate(10, |same| same, true);
    assert_eq!(removed.labels(), ["new"]);
    let counters = removed.client().counters;
    assert_eq!((counters.capture_duplicates, counters.packets, counters.retransmitted), (1, 3, 0));
    assert_eq!(removed.samples().len(), 1, "no ambiguity is left");
}

#[test]
fn what_differs_is_no_duplicate() {
    type Change = fn(Made) -> Made;
    let changes: [(&str, Change); 9] = [
        ("sequence number", |m| m.seq(1)),
        ("acknowledgement", |m| m.ack(1)),
        ("length", |m| m.data(999)),
        ("flags", |m| m.flags(ACK | TcpFlags::PSH)),
        ("timestamp", |m| m.clock(6, 6)),
        ("identification", |m| m.ip_id(8)),
        ("window", |m| m.window(59_999)),
        ("SACK block", |m| m.sack(&[(2000, 3000)])),
        ("checksum", |mut m| {
            m.packet.checksum = 1;
            m
        }),
    ];
    for (what, change) in changes {
        assert_eq!(
            with_duplicate(10, change, true).client().counters.capture_duplicates,
            0,
            "another {what}"
        );
    }
}

#[test]
fn resets_of_a_kernel_without_a_socket_are_no_duplicates() {
    let reset = |id| {
        let rst = |m: i64| Ends::default().client(m).flags(TcpFlags::RST).ip_id(id);
        let mut trace = Trace::open();
        trace.push(rst(20 * MS)).push(rst(20 * MS + 5)).push(rst(20 * MS + 9));
        record(&trace.batch()).client().counters.capture_duplicates
    };
    assert_eq!((reset(0), reset(7)), (0, 2));
}

#[test]
fn duplicates_lie_within_a_millisecond() {
    for (apart, expected) in [(0, 1), (900, 1), (1_100, 0), (5_000, 0)] {
        assert_eq!(
            with_duplicate(apart, |same| same, true).client().counters.capture_duplicates,
            expected,
            "{apart} µs apart"
        );
    }
}

// What a packet shows of its connection.

#[test]
fn facts_of_single_packets_are_kept() {
    let bits = [Bits::INNER, Bits::SNAPPED, Bits::CONGESTION_EXPERIENCED, Bits::IPV6];
    let facts = bits.map(|bit| {
        let seen = record(&packets::batch(&[Ends::default().client(0).data(10).bits(bit)]));
        let connection = seen.only();
        let flags = connection.flags;
        [flags.inner, flags.snapped, flags.congestion_experienced, connection.ipv6]
    });
    for (n, facts) in facts.iter().enumerate() {
        assert_eq!(
            facts.iter().enumerate().filter(|(_, set)| **set).map(|(at, _)| at).collect::<Vec<_>>(),
            [n]
        );
    }
}
