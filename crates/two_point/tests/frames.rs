//! By what a frame is known again, and the frames of super-packets.

#[path = "../../flow/tests/packets/mod.rs"]
mod packets;

use packets::{Ends, MS, Made};
use trustbed_flow::FlowKey;
use trustbed_two_point::{Frame, Frames, Sketch};
use trustbed_units::Ns;
use trustbed_wire::{Bits, TcpFlags};

fn cut(frames: &mut Frames, made: &Made) -> Vec<Frame> {
    let mut found = Vec::new();
    frames.on_packet(&made.packet, Some(&made.options), |frame| found.push(frame));
    found
}

fn one(made: &Made) -> Frame {
    let found = cut(&mut Frames::default(), made);
    assert_eq!(found.len(), 1);
    found[0]
}

fn data(micros: i64) -> Made {
    Ends::default().client(micros).data(100).ip_id(7).clock(1000, 2000)
}

#[test]
fn what_a_router_changes_does_not_change_the_print() {
    let (here, mut there) = (data(0), data(10 * MS));
    (there.packet.index, there.packet.interface, there.packet.vlan, there.packet.original_length) =
        (99, 3, 5, 4000);
    there.packet.bits.0 |= Bits::CONGESTION_EXPERIENCED | Bits::SNAPPED;
    // A receiver that checks nothing sees another checksum than a sender that leaves it to its
    // card.
    there.packet.checksum ^= 0xffff;
    assert_eq!(one(&here).fingerprint, one(&there).fingerprint);
    assert_ne!(one(&here).at, one(&there).at);
}

#[test]
fn every_field_that_stays_the_same_distinguishes_frames() {
    let base = data(0);
    let others = [
        data(0).seq(1),
        data(0).ack(1),
        data(0).data(101),
        data(0).ip_id(8),
        data(0).clock(1001, 2000),
        data(0).flags(TcpFlags::ACK | TcpFlags::FIN),
        data(0).flags(TcpFlags::ACK | TcpFlags::RST),
        Ends::with_port(40_001).client(0).data(100).ip_id(7).clock(1000, 2000),
        Ends::default().server(0).data(100).ip_id(7).clock(1000, 2000),
    ];
    let fingerprints: Vec<u64> = others.iter().map(|other| one(other).fingerprint).collect();
    assert!(
        fingerprints.iter().all(|fingerprint| *fingerprint != one(&base).fingerprint),
        "{fingerprints:?}"
    );
}

#[test]
fn a_super_packet_is_the_frames_that_were_on_the_wire() {
    let ends = Ends::default();
    let mut sender = Frames::default();
    cut(&mut sender, &ends.syn(0));
    cut(&mut sender, &ends.syn_ack(1));
    // The MSS is 1000: two whole frames and a rest, of which the last carries the FIN.
    let flags = TcpFlags::ACK | TcpFlags::FIN;
    let whole = cut(&mut sender, &ends.client(MS).data(2500).ip_id(0xffff).flags(flags));
    let apart = [
        ends.client(5 * MS).data(1000).ip_id(0xffff),
        ends.client(6 * MS).seq(1000).data(1000).ip_id(0),
        ends.client(7 * MS).seq(2000).data(500).ip_id(1).flags(flags),
    ];
    let found: Vec<_> =
        whole.iter().map(|frame| (frame.seq, frame.payload, frame.length)).collect();
    let first = 1_000_001;
    assert_eq!(found, [(first, 1000, 1000), (first + 1000, 1000, 1000), (first + 2000, 500, 501)]);
    assert!(
        whole.iter().zip(&apart).all(|(frame, other)| frame.fingerprint == one(other).fingerprint)
    );
    assert!(whole.iter().all(|frame| frame.at == Ns(1_000_000)));
}

#[test]
fn a_sender_that_numbers_nothing_numbers_no_frame_of_a_super_packet() {
    let ends = Ends::default();
    let mut sender = Frames::default();
    cut(&mut sender, &ends.syn(0));
    let whole = cut(&mut sender, &ends.client(MS).data(2000));
    assert_eq!(whole[1].fingerprint, one(&ends.client(MS).seq(1000).data(1000)).fingerprint);
}

#[test]
fn what_is_no_tcp_is_counted() {
    let mut frames = Frames::default();
    assert!(cut(&mut frames, &Ends::default().datagram(packets::Side::Client, 0, 100)).is_empty());
    assert!(cut(&mut frames, &data(0).bits(Bits::FRAGMENT_LATER)).is_empty());
    assert_eq!(frames.others(), 2);
}

#[test]
fn a_syn_and_a_fin_take_a_sequence_number() {
    let ends = Ends::default();
    assert_eq!(
        (one(&ends.syn(0)).length, one(&ends.syn(0)).opens, one(&ends.syn(0)).ack),
        (1, true, None)
    );
    assert_eq!((one(&ends.client(0)).length, one(&ends.client(0)).ack), (0, Some(5_000_001)));
}

fn numbered(number: u64, at: i64) -> Frame {
    let key = FlowKey { low: [1; 16], high: [2; 16], low_port: 1, high_port: 2, protocol: 6 };
    let fingerprint = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Frame {
        at: Ns(at),
        fingerprint,
        key,
        direction: 0,
        seq: 0,
        ack: None,
        payload: 0,
        length: 0,
        opens: false,
    }
}

#[test]
fn two_sketches_keep_the_same_frames_whatever_else_they_saw() {
    let (mut here, mut there) = (Sketch::of(64), Sketch::of(64));
    for number in 0..2000 {
        here.on_frame(&numbered(number, 0));
    }
    // The other capture is shifted by an hour, in another order, and holds as much again of
    // something else.
    for number in (1000..3000).rev() {
        there.on_frame(&numbered(number, 3_600_000_000_000));
    }
    let found = here.matches(&there);
    // Of the 64 smallest prints of 2000, about half are among the other's; of those, those that are
    // small enough there.
    assert!((16..=48).contains(&found.len()), "{}", found.len());
    assert!(
        found
            .iter()
            .all(|common| common.second - common.first == trustbed_units::Span::from_secs(3600))
    );
    assert_eq!((here.frames(), there.frames()), (2000, 2000));
}

#[test]
fn a_small_part_of_a_large_capture_is_found_by_looking_for_it() {
    let small =
        |sketch: &mut Sketch| (500..520).for_each(|number| sketch.on_frame(&numbered(number, 7)));
    let large =
        |sketch: &mut Sketch| (0..20_000).for_each(|number| sketch.on_frame(&numbered(number, 3)));
    let (mut here, mut there) = (Sketch::of(64), Sketch::of(64));
    large(&mut here);
    small(&mut there);
    assert!(here.matches(&there).len() < 4);
    assert!(here.may_have_more_of(&there) && !there.may_have_more_of(&here));
    let mut again = Sketch::like(&there);
    large(&mut again);
    assert_eq!(again.matches(&there).len(), 20);
    assert_eq!(there.matches(&again).len(), 20);
    assert!(!again.may_have_more_of(&there), "a third look shows nothing new");
}

#[test]
fn frames_that_look_alike_are_no_meeting() {
    let (mut here, mut there) = (Sketch::default(), Sketch::default());
    for at in [1, 2] {
        here.on_frame(&numbered(5, at));
    }
    there.on_frame(&numbered(5, 10));
    assert!(here.matches(&there).is_empty());
}
