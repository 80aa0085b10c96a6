//! What probes show of two clocks, where both clocks are known.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a test may fail loudly, and its numbers are small"
)]

use proptest::prelude::*;
use trustbed_probe::{ClockComparison, ClockVerdict, RoundTrip, Skew};
use trustbed_units::{Ns, Span};

const BEGIN: i64 = 1_700_000_000_000_000_000;

/// A clock that is ahead of the sender's, and runs faster.
#[derive(Debug, Clone, Copy)]
struct Clock {
    ahead: i64,
    skew: f64,
}

impl Clock {
    fn ahead_at(self, at: i64) -> i64 {
        self.ahead + (self.skew * (at - BEGIN) as f64).round() as i64
    }

    /// A probe sent at a moment, with delays there and back and a time at the reflector.
    fn probe(self, sent: i64, forward: i64, backward: i64, held: i64) -> RoundTrip {
        let show = |at: i64| Ns(at + self.ahead_at(at));
        let (there, back) = (sent + forward, sent + forward + held);
        RoundTrip {
            sent: Ns(sent),
            reflector_received: show(there),
            reflector_sent: show(back),
            received: Ns(back + backward),
        }
    }
}

/// A few random-looking delays: floors, and what queues add to them.
fn noise(number: i64, salt: i64) -> f64 {
    let mixed = (number * 2_654_435_761 + salt * 40_503)
        .wrapping_mul(0x5851_f42d_4c95_7f2d)
        .cast_unsigned()
        >> 11;
    -((mixed as f64 + 1.0) / (1_u64 << 53) as f64).ln()
}

fn watched(
    clock: Clock,
    probes: i64,
    gap: i64,
    (forward, backward): (i64, i64),
    queue: f64,
) -> ClockComparison {
    let mut clocks = ClockComparison::new(Span::from_secs(1));
    for number in 0..probes {
        let add = |salt| (noise(number, salt) * queue) as i64;
        clocks.add(&clock.probe(BEGIN + number * gap, forward + add(1), backward + add(2), 30_000));
    }
    clocks
}

fn skew(clocks: &ClockComparison) -> Skew {
    match clocks.skew() {
        ClockVerdict::Skew(skew) => skew,
        other => panic!("{other:?}"),
    }
}

proptest! {

    #[test]
    fn the_offset_is_within_its_error_whatever_the_ways_are(
        ahead in -4_000_000_000_000_000_000_i64..4_000_000_000_000_000_000,
        delays in prop::collection::vec((0..1_000_000_000_i64, 0..1_000_000_000_i64), 1..30),
    ) {
        let clock = Clock { ahead, skew: 0.0 };
        let mut clocks = ClockComparison::new(Span::from_secs(1));
        for (number, (forward, backward)) in (0..).zip(&delays) {
            clocks.add(&clock.probe(BEGIN + number * 700_000_000, *forward, *backward, 5_000));
        }
        let least = delays.iter().map(|(forward, backward)| forward + backward).min().unwrap();
        let offset = clocks.offset().unwrap();
        prop_assert_eq!(
            (offset.round_trip, offset.error),
            (Span(least), Span(least / 2 + least % 2))
        );
        for offset in clocks.offsets() {
            prop_assert!((offset.ahead.0 - ahead).abs() <= offset.error.0, "{offset:?}");
        }
    }

    #[test]
    fn the_skew_is_within_its_bound_whatever_the_ways_are(
        ahead in -1_000_000_000_000_i64..1_000_000_000_000,
        parts_per_billion in -500_000_i64..500_000,
        delays in prop::collection::vec((1_000..100_000_000_i64, 1_000..100_000_000_i64), 3..60),
    ) {
        let clock = Clock { ahead, skew: parts_per_billion as f64 * 1e-9 };
        let mut clocks = ClockComparison::new(Span::from_secs(1));
        for (number, (forward, backward)) in (0..).zip(&delays) {
            clocks.add(&clock.probe(BEGIN + number * 300_000_000, *forward, *backward, 5_000));
        }
        let found = skew(&clocks);
        prop_assert!((found.ahead.slope - clock.skew).abs() <= found.bound + 1e-12, "{found:?}");
    }

    #[test]
    fn parts_make_the_whole(cut in 1..200_i64) {
        let clock = Clock { ahead: 5_000_000, skew: 20e-6 };
        let probe = |number: i64| {
            clock.probe(
                BEGIN + number * 100_000_000,
                1_000_000 + number % 7 * 1000,
                2_000_000 - number % 5 * 999,
                0,
            )
        };
        let (mut whole, mut first, mut second) = (
            ClockComparison::new(Span::from_secs(1)),
            ClockComparison::new(Span::from_secs(1)),
            ClockComparison::new(Span::from_secs(1)),
        );
        for number in 0..200 {
            whole.add(&probe(number));
            if number < cut {
                first.add(&probe(number));
            } else {
                second.add(&probe(number));
            }
        }
        first.merge(&second);
        prop_assert_eq!(first.skew(), whole.skew());
        prop_assert_eq!(first.offset(), whole.offset());
    }
}

#[test]
fn a_skew_is_found_to_a_part_in_a_million_within_a_minute() {
    for parts_per_million in [-300.0, -20.0, -0.5, 0.0, 3.0, 50.0, 400.0] {
        let clock = Clock { ahead: -7_000_000_000, skew: parts_per_million * 1e-6 };
        // Ten probes a second, 12 ms and 3 ms, queues of 200 µs on average.
        let found = skew(&watched(clock, 600, 100_000_000, (12_000_000, 3_000_000), 200_000.0));
        assert!((found.ahead.slope - clock.skew).abs() < 1e-6, "{parts_per_million}: {found:?}");
        assert!(found.disagreement < 2e-6, "{parts_per_million}: {found:?}");
        // Nothing shows that 15 ms there and back are not 0 and 15 at the end: a quarter of a part
        // in a thousand.
        assert!((1e-4..6e-4).contains(&found.bound), "{found:?}");
    }
}

#[test]
fn the_line_gives_the_offset_at_any_moment() {
    let clock = Clock { ahead: 1_000_000_000, skew: 80e-6 };
    let clocks = watched(clock, 3000, 100_000_000, (5_000_000, 5_000_000), 100_000.0);
    let line = skew(&clocks).ahead;
    for seconds in [0, 100, 299] {
        let at = BEGIN + seconds * 1_000_000_000;
        // Half of how far the least delays of the directions, 5 ms each, were met.
        assert!((line.at(Ns(at)).0 - clock.ahead_at(at)).abs() < 5_000, "{seconds} s: {line:?}");
    }
}

#[test]
fn a_rate_is_taken_out_of_delays_where_it_is_known() {
    let rate = |skew, probes| {
        watched(Clock { ahead: 0, skew }, probes, 100_000_000, (5_000_000, 2_000_000), 100_000.0)
            .drift()
    };
    let line = rate(80e-6, 601).unwrap();
    assert!(
        (7_800_000..8_200_000).contains(&line.drift(Ns(BEGIN), Ns(BEGIN + 100_000_000_000)).0),
        "{line:?}"
    );
    // Less than a minute.
    assert_eq!(rate(80e-6, 600), None);
    // Of clocks that run alike nothing is reported.
    let nothing =
        rate(0.0, 601).map_or(Span::ZERO, |line| line.drift(Ns(BEGIN), Ns(BEGIN + 60_000_000_000)));
    assert!(nothing.0.abs() < 10_000, "{nothing:?}");
    // A queue that fills in one direction is no clock.
    let (clock, mut clocks) =
        (Clock { ahead: 0, skew: 0.0 }, ClockComparison::new(Span::from_secs(1)));
    for number in 0..700 {
        clocks.add(&clock.probe(
            BEGIN + number * 100_000_000,
            1_000_000 + number * 20_000,
            1_000_000,
            0,
        ));
    }
    assert!(
        matches!(clocks.skew(), ClockVerdict::Skew(skew) if skew.disagreement > 9e-5)
            && clocks.drift().is_none()
    );
}

#[test]
fn a_clock_that_was_set_fits_no_line() {
    let mut clocks =
        watched(Clock { ahead: 0, skew: 0.0 }, 100, 100_000_000, (1_000_000, 1_000_000), 0.0);
    let later = Clock { ahead: 50_000_000, skew: 0.0 };
    for number in 100..200 {
        clocks.add(&later.probe(BEGIN + number * 100_000_000, 1_000_000, 1_000_000, 0));
    }
    // 50 ms in a tenth of a second are as good as a rate to one who knows nothing of clocks; back
    // again they are not.
    for number in 200..300 {
        clocks.add(&Clock { ahead: 0, skew: 0.0 }.probe(
            BEGIN + number * 100_000_000,
            1_000_000,
            1_000_000,
            0,
        ));
    }
    assert_eq!(clocks.skew(), ClockVerdict::Uneven);
    // Every interval still has its own.
    let offsets: Vec<i64> = clocks.offsets().map(|offset| offset.ahead.0).collect();
    assert!(offsets.contains(&0) && offsets.contains(&50_000_000));
}

#[test]
fn weeks_of_probes_fit_into_a_thousand_intervals_and_lose_no_minimum() {
    let clock = Clock { ahead: 0, skew: 1e-6 };
    let (mut clocks, mut all) = (ClockComparison::new(Span::from_secs(1)), Vec::new());
    // Three weeks, a probe every ten seconds.
    for number in 0..181_440_i64 {
        let probe = clock.probe(
            BEGIN + number * 10_000_000_000,
            900_000 + (number * 7919) % 100_003,
            900_000,
            0,
        );
        all.push(probe.round_trip());
        clocks.add(&probe);
    }
    let offsets: Vec<_> = clocks.offsets().collect();
    assert!((512..=1024).contains(&offsets.len()), "{}", offsets.len());
    assert!(offsets.is_sorted_by_key(|offset| offset.at));
    assert_eq!(
        (clocks.probes(), clocks.offset().unwrap().round_trip),
        (181_440, *all.iter().min().unwrap())
    );
    assert!((skew(&clocks).ahead.slope - 1e-6).abs() < 1e-10);
}

#[test]
fn nothing_is_known_of_no_probe_and_little_of_one() {
    let mut clocks = ClockComparison::new(Span::ZERO);
    assert_eq!((clocks.offset(), clocks.skew()), (None, ClockVerdict::Unknown));
    let clock = Clock { ahead: 9, skew: 0.0 };
    clocks.add(&clock.probe(BEGIN, 10, 10, 0));
    assert_eq!((clocks.offset().unwrap().ahead, clocks.skew()), (Span(9), ClockVerdict::Unknown));
    // The clock was set back by a second while a probe was in transit.
    let mut set = clock.probe(BEGIN + 1_000, 10, 10, 0);
    set.received = set.received - Span::from_secs(1);
    clocks.add(&set);
    assert_eq!((set.round_trip(), clocks.probes()), (Span(-999_999_980), 1));
    let extreme = RoundTrip {
        sent: Ns::MIN,
        reflector_received: Ns::MAX,
        reflector_sent: Ns::MAX,
        received: Ns::MAX,
    };
    clocks.add(&extreme);
    assert_eq!(clocks.probes(), 2);
}
