//! What became of probes: by hand, and against a network that knows.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use proptest::prelude::*;
use trustbed_probe::{
    AnswerFate, DirectionCounts, ErrorEstimate, Outcome, ReflectorPacket, SenderSession,
    SessionCounts, StampTime, TimeFormat,
};
use trustbed_units::{Ns, Span};

const GAP: i64 = 100_000_000;
const GIVE_UP: Span = Span::from_secs(5);

fn stamp(at: i64) -> StampTime {
    StampTime::of(Ns(at), TimeFormat::Ntp)
}

/// The answer to a probe that was sent at its number times the gap: 3 ms there, 1 ms at the
/// reflector, 2 ms back.
fn answer(probe: u32, answer: u32) -> (ReflectorPacket, Ns) {
    let sent = i64::from(probe) * GAP;
    let packet = ReflectorPacket {
        sequence: answer,
        timestamp: stamp(sent + 4_000_000),
        error_estimate: ErrorEstimate(1),
        session: 9,
        received: stamp(sent + 3_000_000),
        sender_sequence: probe,
        sender_timestamp: stamp(sent),
        sender_error_estimate: ErrorEstimate(1),
        sender_ttl: 61,
    };
    (packet, Ns(sent + 6_000_000))
}

fn session(probes: i64, stateful: Option<bool>) -> SenderSession {
    let mut session = SenderSession::new(9, GIVE_UP, stateful);
    for number in 0..probes {
        assert_eq!(i64::from(session.sequence()), number);
        session.on_sent(stamp(number * GAP), Ns(number * GAP), Ns(number * GAP));
    }
    session
}

fn feed(session: &mut SenderSession, answers: &[(u32, u32)]) -> Vec<AnswerFate> {
    answers
        .iter()
        .map(|(probe, number)| answer(*probe, *number))
        .map(|(packet, at)| session.on_answer(&packet, at))
        .collect()
}

fn outcomes(session: &mut SenderSession) -> Vec<Outcome> {
    std::iter::from_fn(|| session.poll_outcome(Ns::MAX)).collect()
}

#[test]
fn an_answer_has_four_moments_and_the_kernels_word_counts() {
    let mut session = session(2, None);
    session.on_left(1, Ns(GAP + 20_000));
    feed(&mut session, &[(0, 0), (1, 1)]);
    session.on_left(7, Ns(3));
    let reported = outcomes(&mut session);
    let trips: Vec<_> = reported.iter().map(|one| one.answer.unwrap().trip).collect();
    assert_eq!(
        (trips[0].forward(), trips[0].backward(), trips[0].round_trip()),
        (Span(3_000_000), Span(2_000_000), Span(5_000_000))
    );
    assert_eq!((trips[1].forward(), trips[1].round_trip()), (Span(2_980_000), Span(4_980_000)));
    assert_eq!(
        (reported[0].kernel_stamped, reported[1].kernel_stamped, reported[1].answer.unwrap().ttl),
        (false, true, 61)
    );
}

#[test]
fn outcomes_come_in_order_and_not_before_a_probe_is_given_up() {
    let mut session = session(3, None);
    feed(&mut session, &[(1, 1)]);
    assert_eq!((session.next_wakeup(), session.unanswered()), (Some(Ns(0) + GIVE_UP), 2));
    assert_eq!(session.poll_outcome(Ns(0) + GIVE_UP - Span(1)), None);
    let first = session.poll_outcome(Ns(0) + GIVE_UP).unwrap();
    assert_eq!((first.sequence, first.answer), (0, None));
    assert_eq!(session.poll_outcome(Ns(0) + GIVE_UP), None);
    assert_eq!(feed(&mut session, &[(0, 0), (2, 2)]), [AnswerFate::Late, AnswerFate::Answer]);
    assert_eq!(session.unanswered(), 0);
    let reported: Vec<(u64, bool)> =
        outcomes(&mut session).iter().map(|one| (one.sequence, one.answer.is_some())).collect();
    assert_eq!(reported, [(1, true), (2, true)]);
    let counts = session.counts();
    assert_eq!(
        (counts.sent, counts.answered, counts.lost, counts.late, session.next_wakeup()),
        (3, 2, 1, 1, None)
    );
}

#[test]
fn what_might_still_be_answered_at_the_end_is_not_called_lost() {
    let mut session = session(4, Some(true));
    feed(&mut session, &[(0, 0), (2, 1)]);
    // The second probe is old enough to be lost, the fourth is not.
    let end = Ns(GAP) + GIVE_UP;
    let reported: Vec<_> = std::iter::from_fn(|| session.poll_remaining(end))
        .map(|one| (one.answer.is_some(), one.indeterminate))
        .collect();
    assert_eq!(reported, [(true, false), (false, false), (true, false), (false, true)]);
    assert_eq!((session.counts().lost, session.counts().indeterminate), (1, 1));
    assert_eq!(
        session.directions(),
        Some(DirectionCounts { lost_forward: 1, ..DirectionCounts::default() })
    );
}

#[test]
fn the_reflectors_numbers_show_where_a_probe_was_lost() {
    // Of 0 … 9: 2 and 3 did not get there; the answers to 5 and 8 did not come back.
    let mut session = session(10, None);
    feed(&mut session, &[(0, 0), (1, 1), (4, 2), (6, 4), (7, 5), (9, 7)]);
    assert_eq!(outcomes(&mut session).len(), 10);
    let expected =
        DirectionCounts { lost_forward: 2, lost_backward: 2, ..DirectionCounts::default() };
    assert_eq!((session.is_stateful(), session.directions()), (Some(true), Some(expected)));
}

#[test]
fn what_was_lost_at_the_ends_has_no_direction_unless_the_reflectors_first_is_there() {
    let mut first_is_there = session(10, Some(true));
    feed(&mut first_is_there, &[(2, 0), (3, 1)]);
    outcomes(&mut first_is_there);
    let expected =
        DirectionCounts { lost_forward: 2, lost_somewhere: 6, ..DirectionCounts::default() };
    assert_eq!(first_is_there.directions(), Some(expected));
    let mut first_is_not = session(10, Some(true));
    feed(&mut first_is_not, &[(2, 1), (3, 2)]);
    outcomes(&mut first_is_not);
    assert_eq!(
        first_is_not.directions(),
        Some(DirectionCounts { lost_somewhere: 8, ..DirectionCounts::default() })
    );
    let mut nothing = session(10, Some(true));
    outcomes(&mut nothing);
    assert_eq!(
        nothing.directions(),
        Some(DirectionCounts { lost_somewhere: 10, ..DirectionCounts::default() })
    );
}

#[test]
fn a_reflector_that_repeats_the_number_shows_no_direction() {
    for stateful in [None, Some(false)] {
        let mut session = session(10, stateful);
        feed(&mut session, &[(0, 0), (1, 1), (4, 4), (9, 9)]);
        outcomes(&mut session);
        assert_eq!(
            (session.counts().lost, session.is_stateful(), session.directions()),
            (6, stateful, None)
        );
    }
}

#[test]
fn duplicates_are_distinguished_from_answers_and_by_direction() {
    let mut session = session(4, None);
    let fates = feed(&mut session, &[(0, 0), (0, 0), (1, 1), (1, 2), (2, 3), (3, 4)]);
    assert_eq!(fates.iter().filter(|fate| **fate == AnswerFate::Duplicate).count(), 2);
    let reported = outcomes(&mut session);
    assert_eq!(reported.iter().map(|one| one.duplicates).collect::<Vec<_>>(), [1, 1, 0, 0]);
    let expected = DirectionCounts {
        duplicated_forward: 1,
        duplicated_backward: 1,
        ..DirectionCounts::default()
    };
    assert_eq!((session.counts().duplicated, session.directions()), (2, Some(expected)));
}

#[test]
fn reordering_is_reported_by_direction() {
    // 1 was overtaken by 2 on the forward path, the answer to 3 by that to 4 on the reverse path.
    let mut session = session(6, Some(true));
    feed(&mut session, &[(0, 0), (2, 1), (1, 2), (4, 4), (3, 3), (5, 5)]);
    let reordered: Vec<u64> = outcomes(&mut session)
        .iter()
        .filter(|one| one.answer.unwrap().reordered)
        .map(|one| one.sequence)
        .collect();
    assert_eq!(reordered, [1, 3]);
    let expected = DirectionCounts {
        reordered_forward: 1,
        reordered_backward: 1,
        ..DirectionCounts::default()
    };
    assert_eq!((session.counts().reordered, session.directions()), (2, Some(expected)));
}

#[test]
fn what_answers_nothing_is_counted_and_changes_nothing() {
    let mut session = session(2, None);
    let (good, at) = answer(1, 1);
    let other = |change: fn(&mut ReflectorPacket)| {
        let mut packet = good;
        change(&mut packet);
        packet
    };
    let cases = [
        (other(|packet| packet.session = 8), AnswerFate::OtherSession),
        (other(|packet| packet.sender_sequence = 2), AnswerFate::Unknown),
        (other(|packet| packet.sender_sequence = u32::MAX), AnswerFate::Unknown),
        (other(|packet| packet.sender_timestamp = StampTime(7)), AnswerFate::Unknown),
        (
            other(|packet| {
                (packet.error_estimate, packet.timestamp) =
                    (ErrorEstimate(0x4001), StampTime(u64::MAX));
            }),
            AnswerFate::NoTime,
        ),
    ];
    for (packet, fate) in cases {
        assert_eq!(session.on_answer(&packet, at), fate);
    }
    assert_eq!(session.on_answer(&other(|packet| packet.session = 0), at), AnswerFate::Answer);
    assert_eq!(outcomes(&mut session).iter().filter(|one| one.answer.is_some()).count(), 1);
    let counts = SessionCounts {
        sent: 2,
        answered: 1,
        lost: 1,
        other_session: 1,
        unknown: 3,
        no_time: 1,
        without_session: 1,
        ..SessionCounts::default()
    };
    assert_eq!(session.counts(), counts);
}

#[test]
fn negative_delays_are_kept_and_counted() {
    let mut session = session(2, None);
    let (mut packet, at) = answer(0, 0);
    (packet.received, packet.timestamp) = (stamp(-5_000_000), stamp(-4_000_000));
    session.on_answer(&packet, at);
    let (packet, _) = answer(1, 1);
    session.on_answer(&packet, Ns(GAP));
    let trip = outcomes(&mut session)[0].answer.unwrap().trip;
    assert_eq!((trip.forward(), trip.backward()), (Span(-5_000_000), Span(10_000_000)));
    let counts = session.counts();
    assert_eq!(
        (counts.negative_forward, counts.negative_backward, counts.negative_round_trip),
        (1, 1, 1)
    );
}

#[test]
fn numbers_begin_again_after_two_to_the_32() {
    let mut session = SenderSession::new(0, Span::ZERO, Some(true));
    // What is given up at once is not kept.
    for number in 0..70_000 {
        session.on_sent(stamp(number), Ns(number), Ns(0));
        session.poll_outcome(Ns(0)).unwrap();
    }
    assert_eq!((session.sequence(), session.counts().lost), (70_000, 70_000));
    let mut session = SenderSession::new(0, Span::MAX, Some(true));
    for number in 0..70_000 {
        session.on_sent(stamp(number), Ns(number), Ns(0));
    }
    // More than can be waited for are given up, the oldest first.
    assert_eq!(std::iter::from_fn(|| session.poll_outcome(Ns(0))).count(), 70_000 - 65_536);
    for (probe, number) in [(65_000, u32::MAX), (65_001, 0), (65_003, 1)] {
        let (mut packet, at) = answer(probe, number);
        (packet.sender_timestamp, packet.session) = (stamp(probe.into()), 0);
        assert_eq!(session.on_answer(&packet, at), AnswerFate::Answer);
    }
    while session.poll_outcome(Ns::MAX).is_some() {}
    let found = session.directions().unwrap();
    assert_eq!((found.lost_forward, found.lost_backward), (1, 0));
}

#[test]
fn no_more_answers_are_lost_than_probes() {
    let mut session = session(4, Some(true));
    // The reflector's numbers jump: it had other work, or began anew.
    feed(&mut session, &[(0, 0), (1, 1), (3, 50)]);
    outcomes(&mut session);
    let found = session.directions().unwrap();
    assert_eq!(
        (session.counts().lost, found.lost_forward, found.lost_backward, found.lost_somewhere),
        (1, 0, 1, 0)
    );
}

proptest! {

    /// What a network did to every probe: lost or duplicated on the forward path, each answer lost
    /// or duplicated on the reverse path.
    #[test]
    fn counts_are_those_of_the_network(
        fates in prop::collection::vec((0..5_u8, 0..6_u8), 0..80),
        ends in prop::bool::ANY,
    ) {
        // The first and the last are answered, so that every loss in between has a direction.
        let mut fates = fates;
        fates.insert(0, (1, 1));
        fates.push((1, 1));
        let mut session = session(i64::try_from(fates.len()).unwrap(), Some(true));
        let (mut next, mut truth) = (0, DirectionCounts::default());
        let mut lost = 0;
        for (probe, (forward, backward)) in (0..).zip(&fates) {
            if *forward == 0 {
                (truth.lost_forward, lost) = (truth.lost_forward + 1, lost + 1);
                continue;
            }
            // A probe that was doubled is answered twice; both answers come.
            if *forward == 4 {
                feed(&mut session, &[(probe, next), (probe, next + 1)]);
                (truth.duplicated_forward, next) = (truth.duplicated_forward + 1, next + 2);
                continue;
            }
            match backward {
                0 => (truth.lost_backward, lost) = (truth.lost_backward + 1, lost + 1),
                5 => {
                    feed(&mut session, &[(probe, next), (probe, next)]);
                    truth.duplicated_backward += 1;
                }
                _ => {
                    feed(&mut session, &[(probe, next)]);
                }
            }
            next += 1;
        }
        if ends {
            prop_assert_eq!(session.poll_outcome(Ns(0)), None);
        }
        let reported = outcomes(&mut session);
        prop_assert_eq!((reported.len(), session.counts().lost), (fates.len(), lost));
        prop_assert_eq!(session.directions(), Some(truth));
    }

    #[test]
    fn no_bytes_break_anything(
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 41..60), 0..30),
        at in any::<i64>(),
    ) {
        let mut session = session(5, None);
        for bytes in &packets {
            if let Some(packet) = ReflectorPacket::read(bytes) {
                session.on_answer(&packet, Ns(at));
            }
        }
        prop_assert_eq!(outcomes(&mut session).len(), 5);
        session.directions();
    }
}
