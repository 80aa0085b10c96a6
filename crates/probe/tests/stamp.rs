//! The protocol's packets against bytes worked out from the figures of the RFCs, and the
//! reflector.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::net::{IpAddr, SocketAddr};

use proptest::prelude::*;
use trustbed_probe::{
    ErrorEstimate, Reflector, ReflectorCounts, ReflectorPacket, ReflectorSettings, Refusal,
    STAMP_BASE_BYTES, SenderPacket, StampTime, TimeFormat,
};
use trustbed_units::{Ns, Span};

/// 14 November 2023, 22:13:20.25 UTC: 1 700 000 000 s and 2 208 988 800 s since 1900 are
/// 0xe8fe6f80, a quarter is 2³⁰ of 2³².
const MOMENT: Ns = Ns(1_700_000_000_250_000_000);

/// RFC 8762, figure 2, field by field, with the session of RFC 8972 in the first two octets of the
/// zeros.
#[rustfmt::skip]
const SENDER: [u8; 52] = [
    0x00, 0x00, 0x00, 0x05,                         // sequence 5
    0xe8, 0xfe, 0x6f, 0x80, 0x40, 0x00, 0x00, 0x00, // timestamp
    0x92, 0x66,                                     // S 1, Z 0, scale 0x12, multiplier 0x66
    0x00, 0x4d,                                     // session 77
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 28 octets
    0x80, 0x01, 0x00, 0x04, 0, 0, 0, 0,             // U, extra padding of 4 octets
];

/// RFC 8762, figure 5.
#[rustfmt::skip]
const REFLECTOR: [u8; 52] = [
    0x00, 0x00, 0x00, 0x03,                         // sequence 3: two packets did not come
    0xe8, 0xfe, 0x6f, 0x80, 0x40, 0x02, 0x0c, 0x4a, // 0x20c4a steps of 2⁻³² s are 31.25 µs
    0x0a, 0x01,                                     // S 0, Z 0, scale 10, multiplier 1
    0x00, 0x4d,                                     // session
    0xe8, 0xfe, 0x6f, 0x80, 0x40, 0x01, 0x06, 0x25, // received: 0x10625 are 15.625 µs
    0x00, 0x00, 0x00, 0x05,                         // the sender's sequence
    0xe8, 0xfe, 0x6f, 0x80, 0x40, 0x00, 0x00, 0x00, // its timestamp
    0x92, 0x66,                                     // its error estimate
    0x00, 0x00,
    0x3f, 0x00, 0x00, 0x00,                         // TTL 63
    0x80, 0x01, 0x00, 0x04, 0, 0, 0, 0,             // what was behind the base packet
];

const PEER: &str = "10.0.0.1:9000";

fn sender() -> SenderPacket {
    let timestamp = StampTime::of(MOMENT, TimeFormat::Ntp);
    SenderPacket { sequence: 5, timestamp, error_estimate: ErrorEstimate(0x9266), session: 77 }
}

fn settings() -> ReflectorSettings {
    ReflectorSettings {
        peer: PEER.parse::<SocketAddr>().unwrap().ip(),
        peer_port: None,
        session: None,
        stateful: true,
        largest_bytes: 1472,
        packets_per_second: 1000,
        burst_packets: 10,
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn a_senders_packet_is_as_in_figure_2() {
    assert_eq!(sender().payload(52), SENDER);
    assert_eq!(sender().payload(0), SENDER[..STAMP_BASE_BYTES]);
    assert_eq!(SenderPacket::read(&SENDER), Some(sender()));
    assert_eq!(
        (sender().error_estimate.is_synchronized(), sender().error_estimate.scale()),
        (true, 18)
    );
    // 102 · 2¹⁸ · 2⁻³² s = 102 / 16384 s.
    assert_eq!(
        (sender().error_estimate.multiplier(), sender().error_estimate.error()),
        (102, Some(Span(6_225_586)))
    );
}

#[test]
fn without_room_for_an_extension_padding_is_zeros() {
    for bytes in 44..=47 {
        assert_eq!(sender().payload(bytes)[STAMP_BASE_BYTES..], vec![0; bytes - 44]);
    }
    assert_eq!(sender().payload(48)[44..], [0x80, 1, 0, 0]);
    assert_eq!(sender().payload(1472)[44..48], [0x80, 1, 0x05, 0x90]);
}

#[test]
fn an_answer_is_as_in_figure_5() {
    let mut reflector = Reflector::new(settings());
    let from = address(PEER);
    for _ in 0..3 {
        let accepted = reflector.on_packet(from, &SENDER, Ns(0)).unwrap();
        reflector.on_sent(&accepted);
    }
    let accepted = reflector.on_packet(from, &SENDER, Ns(0)).unwrap();
    let (received, sent) = (MOMENT + Span(15_625), MOMENT + Span(31_250));
    let made =
        reflector.answer(&accepted, &SENDER, (received, Some(63)), sent, ErrorEstimate(0x0a01));
    assert_eq!(made, REFLECTOR);
    let read = ReflectorPacket::read(&made).unwrap();
    assert_eq!(
        (read.sequence, read.session, read.sender_sequence, read.sender_ttl),
        (3, 77, 5, 63)
    );
    assert_eq!(read.received.moment(TimeFormat::Ntp, MOMENT), Some(received));
    assert_eq!(read.timestamp.moment(read.error_estimate.format(), MOMENT), Some(sent));
    assert_eq!(
        (read.sender_timestamp, read.sender_error_estimate),
        (sender().timestamp, sender().error_estimate)
    );
}

#[test]
fn twamps_short_packets_are_understood_and_answered_with_a_base_packet() {
    let short = &SENDER[..14];
    assert_eq!(SenderPacket::read(short), Some(SenderPacket { session: 0, ..sender() }));
    assert_eq!(SenderPacket::read(&SENDER[..13]), None);
    let mut reflector = Reflector::new(settings());
    let accepted = reflector.on_packet(address(PEER), short, Ns(0)).unwrap();
    let made = reflector.answer(&accepted, short, (MOMENT, None), MOMENT, ErrorEstimate(1));
    assert_eq!((made.len(), made[40]), (44, 255));
    assert_eq!(ReflectorPacket::read(&made[..41]), ReflectorPacket::read(&made));
    assert_eq!(ReflectorPacket::read(&made[..40]), None);
}

#[test]
fn each_side_may_have_its_own_format() {
    let mut reflector = Reflector::new(settings());
    let accepted = reflector.on_packet(address(PEER), &SENDER, Ns(0)).unwrap();
    let estimate = ErrorEstimate::of(Span::from_micros(10), false, TimeFormat::Ptp);
    let made = reflector.answer(&accepted, &SENDER, (MOMENT, None), MOMENT + Span(7), estimate);
    // 1 700 000 000 is 0x6553f100; 250 000 007 is 0x0ee6b287.
    assert_eq!(made[4..12], [0x65, 0x53, 0xf1, 0x00, 0x0e, 0xe6, 0xb2, 0x87]);
    let read = ReflectorPacket::read(&made).unwrap();
    assert_eq!(read.timestamp.moment(read.error_estimate.format(), MOMENT), Some(MOMENT + Span(7)));
    assert_eq!(
        read.sender_timestamp.moment(read.sender_error_estimate.format(), MOMENT),
        Some(MOMENT)
    );
}

#[test]
fn seconds_that_began_again_are_those_of_now() {
    // NTP's seconds begin again on 7 February 2036, 06:28:16 UTC.
    let turn = Ns(2_085_978_496_000_000_000);
    assert_eq!(StampTime::of(turn, TimeFormat::Ntp), StampTime(0));
    assert_eq!(StampTime::of(turn - Span(1), TimeFormat::Ntp), StampTime(0xffff_ffff_ffff_fffc));
    for near in [turn - Span::from_secs(5), turn + Span::from_secs(5)] {
        assert_eq!(StampTime(0).moment(TimeFormat::Ntp, near), Some(turn));
        assert_eq!(
            StampTime(0xffff_ffff_ffff_fffc).moment(TimeFormat::Ntp, near),
            Some(turn - Span(1))
        );
    }
    assert_eq!(StampTime(1_000_000_000).moment(TimeFormat::Ptp, turn), None);
}

#[test]
fn a_reflector_counts_each_session_and_only_what_it_sent() {
    let mut reflector = Reflector::new(settings());
    let (one, other) = (address(PEER), address("10.0.0.1:9001"));
    let sequence = |reflector: &mut Reflector, from, is_sent| {
        let accepted = reflector.on_packet(from, &SENDER, Ns(0)).unwrap();
        if is_sent {
            reflector.on_sent(&accepted);
        }
        let made = reflector.answer(&accepted, &SENDER, (MOMENT, None), MOMENT, ErrorEstimate(1));
        ReflectorPacket::read(&made).unwrap().sequence
    };
    let found = [(one, true), (one, true), (other, true), (one, false), (one, true)]
        .map(|(from, sent)| sequence(&mut reflector, from, sent));
    assert_eq!(found, [0, 1, 0, 2, 2]);
    let mut stateless = Reflector::new(ReflectorSettings { stateful: false, ..settings() });
    assert_eq!((sequence(&mut stateless, one, true), sequence(&mut stateless, one, true)), (5, 5));
}

#[test]
fn what_is_not_answered_is_counted_under_its_reason() {
    let settings = ReflectorSettings {
        session: Some(77),
        peer_port: Some(9000),
        largest_bytes: 100,
        burst_packets: 2,
        ..settings()
    };
    let mut reflector = Reflector::new(settings);
    let mut other_session = SENDER;
    other_session[15] = 78;
    let mut refusal = |from: &str, payload: &[u8], now| {
        reflector.on_packet(address(from), payload, Ns(now)).err()
    };
    assert_eq!(refusal("10.0.0.2:9000", &SENDER, 0), Some(Refusal::OtherPeer));
    assert_eq!(refusal("10.0.0.1:9001", &SENDER, 0), Some(Refusal::OtherPeer));
    assert_eq!(refusal(PEER, b"garbage", 0), Some(Refusal::TooShort));
    assert_eq!(refusal(PEER, &[0; 101], 0), Some(Refusal::TooLarge));
    assert_eq!(refusal(PEER, &other_session, 0), Some(Refusal::OtherSession));
    // A millisecond apart, two at once: none of what was refused used any of it.
    assert_eq!(refusal(PEER, &SENDER, 0), None);
    assert_eq!(refusal(PEER, &SENDER, 0), None);
    assert_eq!(refusal(PEER, &SENDER, 999_999), Some(Refusal::TooFast));
    assert_eq!(refusal("[::ffff:10.0.0.1]:9000", &SENDER, 1_000_000), None);
    let counts = ReflectorCounts {
        other_peer: 2,
        too_short: 1,
        too_large: 1,
        other_session: 1,
        too_fast: 1,
        ..ReflectorCounts::default()
    };
    assert_eq!(reflector.counts(), counts);
}

#[test]
fn a_peer_that_comes_from_everywhere_is_bounded() {
    let mut reflector = Reflector::new(ReflectorSettings { burst_packets: 1000, ..settings() });
    let peer: IpAddr = "10.0.0.1".parse().unwrap();
    let answered = (1..=100)
        .filter(|port| reflector.on_packet(SocketAddr::new(peer, *port), &SENDER, Ns(0)).is_ok())
        .count();
    assert_eq!((answered, reflector.counts().too_many_sessions), (64, 36));
    assert!(reflector.on_packet(SocketAddr::new(peer, 1), &SENDER, Ns(0)).is_ok());
}

#[test]
fn a_session_that_was_silent_for_long_is_replaced() {
    let mut reflector = Reflector::new(ReflectorSettings { burst_packets: 1000, ..settings() });
    let from = |port| SocketAddr::new("10.0.0.1".parse().unwrap(), port);
    let sequence = |reflector: &mut Reflector, port, at| {
        let accepted = reflector.on_packet(from(port), &SENDER, Ns(at))?;
        reflector.on_sent(&accepted);
        let made = reflector.answer(&accepted, &SENDER, (MOMENT, None), MOMENT, ErrorEstimate(1));
        Ok::<u32, Refusal>(ReflectorPacket::read(&made).unwrap().sequence)
    };
    let silence = 900_000_000_000;
    for port in 1..=64 {
        assert_eq!(sequence(&mut reflector, port, i64::from(port)), Ok(0));
    }
    assert_eq!(sequence(&mut reflector, 1, 100), Ok(1));
    assert_eq!(
        sequence(&mut reflector, 65, silence + 1),
        Err(Refusal::TooManySessions),
        "the second one was heard a nanosecond later"
    );
    assert_eq!(sequence(&mut reflector, 65, silence + 2), Ok(0));
    assert_eq!(sequence(&mut reflector, 66, silence + 2), Err(Refusal::TooManySessions));
    assert_eq!(
        (sequence(&mut reflector, 1, silence + 2), sequence(&mut reflector, 65, silence + 2)),
        (Ok(2), Ok(1))
    );
    assert_eq!(sequence(&mut reflector, 2, silence + 100), Ok(0), "it begins anew");
}

#[test]
fn who_does_not_count_keeps_no_sessions() {
    let mut reflector =
        Reflector::new(ReflectorSettings { stateful: false, burst_packets: 1000, ..settings() });
    let peer: IpAddr = "10.0.0.1".parse().unwrap();
    assert!(
        (1..=100)
            .all(|port| reflector.on_packet(SocketAddr::new(peer, port), &SENDER, Ns(0)).is_ok())
    );
}

fn format() -> impl Strategy<Value = TimeFormat> {
    prop_oneof![Just(TimeFormat::Ntp), Just(TimeFormat::Ptp)]
}

proptest! {

    #[test]
    fn a_moment_survives_both_formats(
        moment in any::<i64>(),
        far in -4_000_000_000_000_000_000_i64 / 2..2_000_000_000_000_000_000,
        format in format(),
    ) {
        let near = Ns(moment.saturating_add(far));
        prop_assert_eq!(StampTime::of(Ns(moment), format).moment(format, near), Some(Ns(moment)));
    }

    #[test]
    fn any_bits_are_some_time_or_none(
        bits in any::<u64>(),
        near in any::<i64>(),
        format in format(),
    ) {
        if let Some(moment) = StampTime(bits).moment(format, Ns(near)) {
            let again = StampTime::of(moment, format).0;
            // A nanosecond is 4.3 steps of NTP's.
            let steps = if format == TimeFormat::Ntp { 3 } else { 0 };
            prop_assert!(again.abs_diff(bits) <= steps);
        }
    }

    #[test]
    fn an_estimate_is_never_below_the_error_and_hardly_above(
        error in 1_i64..i64::MAX,
        synchronized in any::<bool>(),
        format in format(),
    ) {
        let estimate = ErrorEstimate::of(Span(error), synchronized, format);
        prop_assert_eq!((estimate.is_synchronized(), estimate.format()), (synchronized, format));
        let found = estimate.error().unwrap();
        prop_assert!(found >= Span(error));
        prop_assert!(
            found.0 == i64::MAX || i128::from(found.0 - error) <= i128::from(error) / 127 + 2,
            "{found:?}"
        );
    }

    #[test]
    fn any_estimate_can_be_read(bits in any::<u16>()) {
        let estimate = ErrorEstimate(bits);
        prop_assert_eq!(estimate.error().is_none(), bits.trailing_zeros() >= 8);
    }

    #[test]
    fn packets_survive(
        sequence in any::<u32>(),
        time in any::<u64>(),
        estimate in any::<u16>(),
        session in any::<u16>(),
        bytes in 0..2000_usize,
    ) {
        let packet = SenderPacket {
            sequence,
            timestamp: StampTime(time),
            error_estimate: ErrorEstimate(estimate),
            session,
        };
        let made = packet.payload(bytes);
        prop_assert_eq!(made.len(), bytes.max(44));
        prop_assert_eq!(SenderPacket::read(&made), Some(packet));
        let answer = ReflectorPacket {
            sequence: !sequence,
            timestamp: StampTime(!time),
            error_estimate: ErrorEstimate(!estimate),
            session,
            received: StampTime(time / 2),
            sender_sequence: sequence,
            sender_timestamp: packet.timestamp,
            sender_error_estimate: packet.error_estimate,
            sender_ttl: made[43],
        };
        let back = answer.payload(&made);
        prop_assert_eq!((back.len(), &back[44..]), (made.len(), &made[44..]));
        prop_assert_eq!(ReflectorPacket::read(&back), Some(answer));
    }

    #[test]
    fn no_bytes_break_anything(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        stateful in any::<bool>(),
        now in any::<i64>(),
    ) {
        let _ = ReflectorPacket::read(&bytes);
        let mut reflector = Reflector::new(ReflectorSettings {
            stateful,
            packets_per_second: 0,
            burst_packets: 0,
            ..settings()
        });
        match reflector.on_packet(address(PEER), &bytes, Ns(now)) {
            Ok(accepted) => {
                let made = reflector.answer(
                    &accepted,
                    &bytes,
                    (Ns(now), None),
                    Ns::MAX,
                    ErrorEstimate(u16::MAX),
                );
                prop_assert_eq!(made.len(), bytes.len().max(44));
            }
            Err(refusal) => prop_assert_eq!(refusal, Refusal::TooShort),
        }
    }

    #[test]
    fn no_second_has_more_answers_than_the_rate_and_a_burst(
        gaps in prop::collection::vec(0..5_000_000_i64, 1..500),
    ) {
        let mut reflector = Reflector::new(settings());
        let mut now = Ns(0);
        let mut answered = Vec::new();
        for gap in gaps {
            now = now + Span(gap);
            if reflector.on_packet(address(PEER), &SENDER, now).is_ok() {
                answered.push(now);
            }
        }
        for (index, from) in answered.iter().enumerate() {
            let within = answered[index..]
                .iter()
                .take_while(|at| **at - *from < Span::from_millis(20))
                .count();
            prop_assert!(within <= 10 + 20, "{within} in 20 ms");
        }
    }
}
