//! Super-packets become the frames that the wire carried: how many, how long, when, and what passes
//! as it is.

mod packets;

use packets::{Ends, MS, Made, Side};
use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_flow::{Direction, Spacing, Unsegment};
use trustbed_units::{Ns, Rate};
use trustbed_wire::{Bits, TcpFlags};

/// Ethernet around IP.
const LINK: u32 = 14;
/// Ethernet at one gigabit per second: a byte takes 8 ns, and a frame 24 bytes more than a capture
/// shows.
const GIGABIT: Spacing = Spacing::Spread { rate: Rate(1_000_000_000), gap: 24 };

/// Time in nanoseconds, frame length and IP length.
type Frame = (i64, u32, u32);

fn frames(unsegment: &mut Unsegment, made: &Made, direction: Direction) -> Vec<Frame> {
    let mut frames = Vec::new();
    let count = unsegment
        .expand(&made.packet, direction, |ts: Ns, frame, ip| frames.push((ts.0, frame, ip)));
    assert_eq!(count as usize, frames.len());
    frames
}

fn learn(unsegment: &mut Unsegment, packets: &[Made]) {
    for made in packets {
        unsegment.learn(
            &made.packet,
            Some(&made.options).filter(|_| made.packet.bits.any(Bits::OPTIONS)),
        );
    }
}

/// A connection with both SYNs, whose options these are.
fn opened(spacing: Spacing, client: u16, server: u16) -> Unsegment {
    let mut unsegment = Unsegment::new(spacing);
    let ends = Ends::default();
    learn(
        &mut unsegment,
        &[ends.syn(0).opening(client, None), ends.syn_ack(10 * MS).opening(server, None)],
    );
    unsegment
}

/// IP lengths of the frames that 5000 bytes of the client become.
fn cut(unsegment: &mut Unsegment, data: Made) -> Vec<u32> {
    frames(unsegment, &data, Direction::Unknown).iter().map(|f| f.2).collect()
}

// Segment size.

#[test]
fn the_smaller_offer_less_the_options_of_the_packet_is_a_full_frame() {
    let data = Ends::default().client(MS).data(3000);
    for (client, server, made, expected) in [
        (1460, 1400, data, vec![1440, 1440, 240]),
        (1000, 1460, data, vec![1040, 1040, 1040]),
        (1460, 1460, data.clock(1, 1), vec![1500, 1500, 52 + 104]),
        (1460, 0, data, vec![1500, 1500, 120]),
        (0, 1200, data, vec![1240, 1240, 640]),
        (8960, 8960, data, vec![3040]),
    ] {
        assert_eq!(
            cut(&mut opened(Spacing::Stacked, client, server), made),
            expected,
            "{client} and {server}"
        );
    }
}

#[test]
fn one_syn_is_enough() {
    let ends = Ends::default();
    for syn in [ends.syn(0).opening(1000, None), ends.syn_ack(0).opening(1000, None)] {
        let mut unsegment = Unsegment::new(Spacing::Stacked);
        learn(&mut unsegment, &[syn]);
        assert_eq!(cut(&mut unsegment, ends.client(MS).data(2001)), [1040, 1040, 41]);
        assert_eq!(unsegment.facts().guessed, 0);
    }
}

#[test]
fn ip_version_and_ip_options_are_shown_by_the_header_length() {
    let mut six = Ends::default().client(MS).data(2000).bits(Bits::IPV6);
    six.packet.header_length = 60 + 12;
    assert_eq!(cut(&mut opened(Spacing::Stacked, 1000, 1000), six), [1060, 1060, 72 + 24]);
    let mut four = Ends::default().client(MS).data(2000);
    four.packet.header_length = 40 + 12;
    assert_eq!(cut(&mut opened(Spacing::Stacked, 1000, 1000), four), [1040, 1040, 52 + 24]);
}

#[test]
fn without_a_syn_the_most_frequent_length_of_the_direction_counts() {
    let ends = Ends::default();
    let mut unsegment = Unsegment::new(Spacing::Stacked);
    assert_eq!(
        cut(&mut unsegment, ends.client(0).data(2896)),
        [1488, 1488],
        "nothing is known: 1448 bytes"
    );
    let lengths = [1460, 1380, 1380, 100, 100, 100, 1380, 20_000, 20_000, 20_000, 20_000, 1460];
    learn(&mut unsegment, &lengths.map(|length| ends.client(MS).data(length)));
    assert_eq!(
        cut(&mut unsegment, ends.client(2 * MS).data(2760)),
        [1420, 1420],
        "1380 is the most frequent full segment"
    );
    assert_eq!(
        cut(&mut unsegment, ends.server(2 * MS).data(2896)),
        [1488, 1488],
        "nothing is known of the other direction"
    );
    assert_eq!(unsegment.facts().guessed, 3);
    learn(&mut unsegment, &[ends.client(3 * MS).data(1460)]);
    assert_eq!(
        cut(&mut unsegment, ends.client(4 * MS).data(2920)),
        [1500, 1500],
        "the larger of two that are as frequent"
    );
}

#[test]
fn what_fits_a_plain_segment_is_not_cut_without_a_syn() {
    let ends = Ends::default();
    let mut unsegment = Unsegment::new(Spacing::Stacked);
    learn(&mut unsegment, &[ends.client(0).data(600), ends.client(1).data(600)]);
    assert_eq!(cut(&mut unsegment, ends.client(MS).data(1460)), [1500]);
    assert_eq!(unsegment.facts().super_packets, 0);
}

#[test]
fn a_length_that_is_frequent_is_found_among_many() {
    let ends = Ends::default();
    let mut unsegment = Unsegment::new(Spacing::Stacked);
    for n in 0..200_000 {
        let length = if n % 2 == 0 { 1348 } else { 536 + n % 800 };
        learn(&mut unsegment, &[ends.client(MS).data(length)]);
    }
    assert_eq!(cut(&mut unsegment, ends.client(MS).data(2696)), [1388, 1388]);
}

#[test]
fn connections_do_not_disturb_each_other_until_there_are_too_many() {
    let mut unsegment = Unsegment::new(Spacing::Stacked);
    let few = 500;
    for port in 1000..1000 + few {
        learn(&mut unsegment, &[Ends::with_port(port).syn(0).opening(600 + port - 1000, None)]);
    }
    let learnt = |unsegment: &mut Unsegment| {
        let ports = 1000..1000 + few;
        ports
            .filter(|&port| {
                cut(unsegment, Ends::with_port(port).client(MS).data(2000))[0]
                    == 640 + u32::from(port) - 1000
            })
            .count()
    };
    assert_eq!(learnt(&mut unsegment), usize::from(few));
    for port in 2000..60_000 {
        learn(&mut unsegment, &[Ends::with_port(port).syn(0)]);
    }
    assert_eq!(learnt(&mut unsegment), 0, "all of them were silent for longer");
    assert_eq!(cut(&mut unsegment, Ends::with_port(59_999).client(MS).data(2000)), [1040, 1040]);
}

#[test]
fn an_implausible_segment_size_is_none() {
    let data = Ends::default().client(MS).data(2896);
    for mss in [1, 47] {
        assert_eq!(cut(&mut opened(Spacing::Stacked, mss, 1460), data), [1488, 1488]);
    }
    assert_eq!(cut(&mut opened(Spacing::Stacked, 48, 1460), data).len(), 61);
}

// What passes as it is.

#[test]
fn everything_else_passes_as_it_is() {
    let ends = Ends::default();
    let data = ends.client(MS).data(3000);
    let mut padded = ends.client(MS);
    padded.packet.original_length = 60;
    for (what, made, expected) in [
        ("a segment", ends.client(MS).data(1000), (1_000_000, 1054, 1040)),
        ("an acknowledgement", ends.client(MS), (1_000_000, 54, 40)),
        ("a padded acknowledgement", padded, (1_000_000, 60, 40)),
        ("a SYN with data", ends.syn(MS).data(3000), (1_000_000, 3054, 3040)),
        ("a first fragment", data.bits(Bits::FRAGMENT_FIRST), (1_000_000, 3054, 3040)),
        ("a later fragment", data.bits(Bits::FRAGMENT_LATER), (1_000_000, 3054, 3040)),
        (
            "datagrams that were put together",
            ends.datagram(Side::Client, MS, 60_000),
            (1_000_000, 60_054, 60_040),
        ),
    ] {
        let mut unsegment = opened(GIGABIT, 1000, 1000);
        assert_eq!(frames(&mut unsegment, &made, Direction::Received), [expected], "{what}");
        assert_eq!(unsegment.facts(), trustbed_flow::UnsegmentFacts::default(), "{what}");
    }
}

#[test]
fn an_implausible_length_passes_and_is_reported() {
    let mut unsegment = opened(Spacing::Stacked, 1000, 1000);
    assert_eq!(cut(&mut unsegment, Ends::default().client(MS).data(4_000_000_000)).len(), 1);
    assert_eq!((unsegment.facts().too_large, unsegment.facts().super_packets), (1, 0));
    assert_eq!(
        cut(&mut unsegment, Ends::default().client(MS).data(512 << 10)).len(),
        525,
        "BIG TCP is accepted"
    );
}

#[test]
fn a_packet_of_more_frames_than_any_offload_makes_passes_and_is_reported() {
    let most = Unsegment::MOST_FRAMES;
    for mss in [48_u16, 536, 1448] {
        let mut unsegment = opened(Spacing::Stacked, mss, mss);
        let frames = |unsegment: &mut Unsegment, payload| {
            cut(unsegment, Ends::default().client(MS).data(payload)).len()
        };
        let longest = (u32::from(mss) * most).min(1 << 20);
        assert_eq!(frames(&mut unsegment, longest), longest.div_ceil(u32::from(mss)) as usize);
        assert_eq!(unsegment.facts().too_large, 0);
        assert_eq!(frames(&mut unsegment, longest + 1), 1);
        let facts = unsegment.facts();
        assert_eq!((facts.super_packets, facts.too_large), (1, 1));
    }
    let mut unsegment = opened(Spacing::Stacked, 536, 536);
    let big = Ends::default().client(MS).data(512 << 10);
    assert_eq!(cut(&mut unsegment, big).len(), 979, "BIG TCP over the smallest path");
}

#[test]
fn a_packet_that_is_not_cut_guesses_nothing() {
    let ends = Ends::default();
    let mut unsegment = Unsegment::new(Spacing::Stacked);
    learn(&mut unsegment, &[ends.client(0).data(600)]);
    assert_eq!(cut(&mut unsegment, ends.client(MS).data(1 << 20)).len(), 1);
    let facts = unsegment.facts();
    assert_eq!((facts.guessed, facts.too_large, facts.super_packets), (0, 1, 0));
}

#[test]
fn a_frame_that_is_shorter_than_its_ip_header_states_has_no_link_layer() {
    let mut unsegment = opened(Spacing::Stacked, 1000, 1000);
    let mut made = Ends::default().client(MS).data(2000);
    made.packet.original_length = 1500;
    assert_eq!(
        frames(&mut unsegment, &made, Direction::Unknown),
        [(1_000_000, 1040, 1040), (1_000_000, 1040, 1040)]
    );
}

// Times.

#[test]
fn sent_frames_follow_the_time_of_the_super_packet() {
    let mut unsegment = opened(GIGABIT, 1000, 1000);
    let sent = frames(&mut unsegment, &Ends::default().client(MS).data(2500), Direction::Sent);
    // 14 + 40 + 1000 bytes and 24 around them take 8624 ns.
    assert_eq!(sent, [(1_000_000, 1054, 1040), (1_008_624, 1054, 1040), (1_017_248, 554, 540)]);
}

#[test]
fn received_frames_end_at_the_time_of_the_super_packet() {
    let mut unsegment = opened(GIGABIT, 1000, 1000);
    let received =
        frames(&mut unsegment, &Ends::default().client(MS).data(2500), Direction::Received);
    // The last frame takes 14 + 40 + 500 + 24 bytes, 4624 ns: the one before it had come by then.
    assert_eq!(
        received,
        [
            (1_000_000 - 4_624 - 8_624, 1054, 1040),
            (1_000_000 - 4_624, 1054, 1040),
            (1_000_000, 554, 540)
        ]
    );
}

#[test]
fn without_a_direction_or_a_rate_frames_are_stacked() {
    let data = Ends::default().client(MS).data(2500);
    let times = |spacing, direction| {
        let mut unsegment = opened(spacing, 1000, 1000);
        let times: Vec<i64> =
            frames(&mut unsegment, &data, direction).iter().map(|f| f.0).collect();
        (times, unsegment.facts().not_spread)
    };
    assert_eq!(times(GIGABIT, Direction::Unknown), (vec![1_000_000; 3], 1));
    assert_eq!(
        times(Spacing::Spread { rate: Rate(0), gap: 24 }, Direction::Sent),
        (vec![1_000_000; 3], 0)
    );
    assert_eq!(times(Spacing::Stacked, Direction::Sent), (vec![1_000_000; 3], 0));
}

#[test]
fn what_was_cut_is_counted() {
    let ends = Ends::default();
    let mut unsegment = opened(Spacing::Stacked, 1000, 1000);
    for length in [1000, 1001, 5000, 10] {
        cut(&mut unsegment, ends.client(MS).data(length));
    }
    let facts = unsegment.facts();
    assert_eq!((facts.super_packets, facts.frames, facts.guessed), (2, 7, 0));
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Unknown), Just(Direction::Sent), Just(Direction::Received)]
}

fn spacing() -> impl Strategy<Value = Spacing> {
    let spread = (0_u64..200_000_000_000, prop_oneof![Just(24_u32), 0_u32..2000, Just(u32::MAX)]);
    prop_oneof![
        Just(Spacing::Stacked),
        spread.prop_map(|(rate, gap)| Spacing::Spread { rate: Rate(rate), gap })
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nothing_is_lost_and_frames_are_in_order(
        mss in 48_u16..9000,
        payload in 0_u32..600_000,
        options in 0_u16..40,
        spacing in spacing(),
        direction in direction(),
        micros in 0_i64..1 << 50,
    ) {
        let mut unsegment = opened(spacing, mss, mss);
        let mut made = Ends::default().client(micros).data(payload);
        made.packet.header_length = 40 + options;
        made.packet.original_length = LINK + 40 + u32::from(options) + payload;
        let found = frames(&mut unsegment, &made, direction);
        let headers = u32::from(made.packet.header_length);
        let size = u32::from(mss) - u32::from(options).min(u32::from(mss));
        if size >= 48 && payload > size * Unsegment::MOST_FRAMES {
            prop_assert_eq!((found.len(), unsegment.facts().too_large), (1, 1));
        } else if size >= 48 && payload > 48 {
            prop_assert_eq!(found.len(), payload.div_ceil(size) as usize);
            prop_assert!(
                found.iter().rev().skip(1).all(|f| f.2 == headers + size),
                "all but the last are full"
            );
        }
        prop_assert_eq!(found.iter().map(|f| f.2 - headers).sum::<u32>(), payload);
        prop_assert!(found.iter().all(|f| f.1 == f.2 + LINK));
        prop_assert!(found.iter().all(|f| f.2 > headers) || payload == 0);
        prop_assert!(
            found.windows(2).all(|pair| pair[0].0 <= pair[1].0),
            "frames of a super-packet are in order"
        );
        let (first, last) = (found[0].0, found[found.len() - 1].0);
        match direction {
            Direction::Received => prop_assert_eq!(last, made.packet.ts.0),
            Direction::Sent => prop_assert_eq!(first, made.packet.ts.0),
            Direction::Unknown => {
                prop_assert_eq!((first, last), (made.packet.ts.0, made.packet.ts.0));
            }
        }
    }

    #[test]
    fn spread_frames_never_go_faster_than_the_link(
        payload in 1001_u32..60_000,
        rate in 1_000_u64..100_000_000_000,
        direction in direction(),
    ) {
        let mut unsegment = opened(Spacing::Spread { rate: Rate(rate), gap: 24 }, 1000, 1000);
        let found =
            frames(&mut unsegment, &Ends::default().client(1_000 * MS).data(payload), direction);
        if direction != Direction::Unknown {
            for pair in found.windows(2) {
                // A sent frame is stamped at its begin, a received one at its end.
                let between = if direction == Direction::Sent { pair[0].1 } else { pair[1].1 };
                let exact = u128::from(between + 24) * 8_000_000_000 / u128::from(rate);
                let gap = u128::try_from(pair[1].0 - pair[0].0).unwrap();
                prop_assert!(
                    gap.abs_diff(exact) <= 1,
                    "{gap} ns, {exact} ns at the rate of the link"
                );
            }
        }
    }

    #[test]
    fn whatever_is_learnt_the_payload_stays(
        lengths in vec((0_u32..70_000, any::<bool>()), 0..50),
        payload in 0_u32..70_000,
    ) {
        let ends = Ends::default();
        let mut unsegment = Unsegment::new(Spacing::Stacked);
        for (length, by_client) in lengths {
            learn(
                &mut unsegment,
                &[if by_client { ends.client(0) } else { ends.server(0) }.data(length)],
            );
        }
        let found = frames(
            &mut unsegment,
            &ends.client(MS).data(payload).flags(TcpFlags::ACK | TcpFlags::PSH),
            Direction::Sent,
        );
        prop_assert_eq!(found.iter().map(|f| f.2 - 40).sum::<u32>(), payload);
        prop_assert!(found.len() <= payload.div_ceil(536).max(1) as usize);
    }
}
