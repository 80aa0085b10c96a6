//! The capture point, inferred from response times.

mod measured;
#[path = "../../flow/tests/packets/mod.rs"]
mod packets;

use measured::{connection, measure_with, transfer};
use packets::{Ends, MS, Made, Trace, batch};
use trustbed_analyze::{At, CapturePoint, CapturePointSource, Location, Options, TransferRow};
use trustbed_units::Span;

fn location(packets: &[Made]) -> Location {
    connection(&measure_with(&batch(packets), Options::default())).location
}

/// A handshake captured `initiator` and `responder` µs (there and back) away from the two.
fn handshake(initiator: i64, responder: i64) -> [Made; 3] {
    let ends = Ends::default();
    [ends.syn(0), ends.syn_ack(responder), ends.client(responder + initiator)]
}

#[test]
fn a_handshake_shows_it_by_shares_of_its_round_trip() {
    for (initiator, responder, point) in [
        (50, 20_000, CapturePoint::Initiator),
        (20_000, 50, CapturePoint::Responder),
        (10_000, 10_000, CapturePoint::Middle),
        (4_000, 16_000, CapturePoint::Initiator),
        (4_100, 15_900, CapturePoint::Middle),
        (15_900, 4_100, CapturePoint::Middle),
        (16_000, 4_000, CapturePoint::Responder),
    ] {
        let location = location(&handshake(initiator, responder));
        assert_eq!(
            (location.point, location.source),
            (point, CapturePointSource::Handshake),
            "{initiator} µs and {responder} µs"
        );
        assert_eq!(
            (location.initiator, location.responder),
            (Some(Span::from_micros(initiator)), Some(Span::from_micros(responder)))
        );
    }
}

#[test]
fn when_both_are_at_hand_the_nearer_is_taken() {
    for (initiator, responder, point) in [
        (100, 200, CapturePoint::Initiator),
        (200, 100, CapturePoint::Responder),
        (400, 500, CapturePoint::Initiator),
        (600, 500, CapturePoint::Middle),
    ] {
        assert_eq!(
            location(&handshake(initiator, responder)).point,
            point,
            "{initiator} µs and {responder} µs"
        );
    }
}

#[test]
fn a_repeated_syn_shows_nothing_of_the_responder() {
    let ends = Ends::default();
    let repeated =
        [ends.syn(0), ends.syn(10 * MS), ends.syn_ack(30 * MS), ends.client(30 * MS + 50)];
    let location = location(&repeated);
    assert_eq!(
        (location.responder, location.point),
        (None, CapturePoint::Initiator),
        "but an answer within 200 µs is from a machine at hand"
    );
    assert_eq!(location.source, CapturePointSource::Answers);
    let late = [ends.syn(0), ends.syn(10 * MS), ends.syn_ack(30 * MS), ends.client(30 * MS + 300)];
    assert_eq!(self::location(&late).point, CapturePoint::Unknown);
    assert_eq!(self::location(&late).source, CapturePointSource::Nothing);
}

#[test]
fn a_prompt_acknowledgement_of_data_is_an_answer() {
    let ends = Ends::default();
    // Mid-stream at the receiver: data arrive and are acknowledged at once.
    let packets = [
        ends.client(0).data(1000),
        ends.server(80).ack(1000),
        ends.client(20 * MS).seq(1000).data(1000),
        ends.server(20 * MS + 60).ack(2000),
    ];
    let location = location(&packets);
    assert_eq!(
        (location.point, location.source, location.responder),
        (CapturePoint::Responder, CapturePointSource::Answers, Some(Span::from_micros(60)))
    );
    assert_eq!(location.initiator, None);
}

#[test]
fn a_late_acknowledgement_alone_shows_nothing() {
    let ends = Ends::default();
    let packets = [ends.client(0).data(1000), ends.server(20 * MS).ack(1000)];
    assert_eq!(location(&packets).point, CapturePoint::Unknown);
}

#[test]
fn answers_of_both_sides_go_before_the_handshake() {
    let ends = Ends::default();
    // The initiator was slow to answer the SYN-ACK; its later answers show that it is at hand.
    let mut packets = vec![ends.syn(0), ends.syn_ack(20 * MS), ends.client(50 * MS)];
    packets.push(ends.client(51 * MS).data(1000));
    packets.push(ends.server(71 * MS).ack(1000).data(500));
    packets.push(ends.client(71 * MS + 40).seq(1000).ack(500));
    let location = location(&packets);
    assert_eq!(
        (location.point, location.source),
        (CapturePoint::Initiator, CapturePointSource::Answers)
    );
    assert_eq!(
        (location.initiator, location.responder),
        (Some(Span::from_micros(40)), Some(Span::from_millis(20)))
    );
}

#[test]
fn data_that_echo_a_pure_acknowledgement_show_the_delay_to_their_sender() {
    let ends = Ends::default();
    // At the receiver: its ACKs go out with its clock, and data come back that echo it 20 ms later.
    let mut packets = vec![ends.client(0).data(1000).clock(100, 1)];
    for n in 1..5_i64 {
        let tick = u32::try_from(n).unwrap_or(0) * 20;
        packets
            .push(ends.server((n - 1) * 20 * MS + 50).ack(n * 1000).clock(500 + tick, 100 + tick));
        packets.push(
            ends.client(n * 20 * MS + 50).seq(n * 1000).data(1000).clock(120 + tick, 500 + tick),
        );
    }
    let location = location(&packets);
    assert_eq!(
        (location.point, location.source),
        (CapturePoint::Responder, CapturePointSource::Answers)
    );
    assert_eq!(location.initiator, Some(Span::from_millis(20)));
}

/// 100 kB from the client, captured so many µs away from either side.
fn transferred(initiator: i64, responder: i64, options: Options) -> TransferRow {
    let ends = Ends::default();
    let mut trace = Trace::empty();
    for made in handshake(initiator, responder) {
        trace.push(made);
    }
    let start = initiator + responder;
    for n in 0..100 {
        let sent = start + n * (initiator + responder);
        trace
            .push(ends.client(sent + 10).seq(n * 1000).data(1000))
            .push(ends.server(sent + 10 + responder).ack((n + 1) * 1000));
    }
    transfer(&measure_with(&trace.batch(), options)).clone()
}

#[test]
fn ends_that_respond_within_microseconds_are_on_one_machine() {
    for (initiator, responder, one) in
        [(5, 6, true), (50, 50, true), (5, 200, false), (200, 5, false), (0, 0, false)]
    {
        let location = location(&handshake(initiator, responder));
        assert_eq!(location.beside_both, one, "{initiator} µs and {responder} µs");
    }
}

#[test]
fn a_transfer_sees_the_capture_point_from_its_own_side() {
    for (initiator, responder, at) in
        [(50, 20_000, At::Sender), (20_000, 50, At::Receiver), (10_000, 10_000, At::Middle)]
            .into_iter()
            // Both on one machine, whichever responds first.
            .chain([(6, 5, At::Sender), (5, 6, At::Sender), (200, 20, At::Receiver)])
    {
        let row = transferred(initiator, responder, Options::default());
        assert_eq!(row.at, at);
        assert_ne!(row.at_source, CapturePointSource::Given);
    }
}

#[test]
fn what_is_stated_goes_before_what_is_inferred() {
    for at in [At::Sender, At::Receiver, At::Middle] {
        let row = transferred(50, 20_000, Options { at: Some(at), ..Options::default() });
        assert_eq!((row.at, row.at_source), (at, CapturePointSource::Given));
    }
}

#[test]
fn at_the_receiver_its_own_acknowledgements_are_no_round_trip() {
    let row = transferred(20_000, 50, Options::default());
    assert!(
        row.rtt.max.is_some_and(|most| most <= 50_000),
        "microseconds from data to ACK are counted as what they are"
    );
    assert_eq!(
        (row.rtt_base, row.rtt_source),
        (Some(20_000_000.0), "handshake"),
        "and never taken for the path's round trip, which the handshake shows"
    );
}
