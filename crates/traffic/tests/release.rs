//! Releases: paced, by a timer, at once; and the published experiment on what a timer does to a
//! link behind it.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::cast_precision_loss, reason = "sizes are printed as floats")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use trustbed_burst::{Drain, Grid, Mode, Packets, Plan, Summary, Windows};
use trustbed_traffic::{Cbr, Headers, IpVersion, Release, Transport};
use trustbed_units::{Ns, Rate, Span};

const UDP: Headers = Headers::of(IpVersion::V4, Transport::Udp);
const SECOND: i64 = 1_000_000_000;

fn constant(rate: u64, length: u32, end: i64) -> impl Iterator<Item = Span> {
    Cbr::new(Rate(rate), length, UDP)
        .unwrap()
        .map(|departure| departure.due)
        .take_while(move |due| due.0 < end)
}

/// How many packets leave at which time.
fn bursts(release: Release, due: impl Iterator<Item = Span>) -> BTreeMap<i64, u64> {
    let mut bursts = BTreeMap::new();
    due.for_each(|due| *bursts.entry(release.at(due).0).or_default() += 1);
    bursts
}

/// A token bucket that begins with one packet's worth, is filled at each tick, and never runs over.
/// In units of 1/`hertz` bits.
fn bucket(rate: u64, length: u32, hertz: u64, ticks: u64) -> BTreeMap<i64, u64> {
    let packet = u64::from(length) * 8 * hertz;
    let mut tokens = packet;
    let mut bursts = BTreeMap::new();
    for tick in 0..ticks {
        tokens += if tick > 0 { rate } else { 0 };
        if tokens >= packet {
            bursts.insert(i64::try_from(tick * 1_000_000_000 / hertz).unwrap(), tokens / packet);
            tokens %= packet;
        }
    }
    bursts
}

proptest! {

    #[test]
    fn a_timer_releases_constant_rate_as_a_token_bucket_does(
        rate in 100_000..200_000_000_u64,
        length in 64..=1514_u32,
        hertz in prop::sample::select(vec![100_u32, 250, 1000]),
    ) {
        // Due times are rounded down to whole nanoseconds, so that what the bucket holds to a
        // nanosecond's worth leaves as well.
        prop_assume!((1..50).all(|tick| {
            let over = u128::from(rate) * tick % (u128::from(length) * 8 * u128::from(hertz));
            let packet = u128::from(length) * 8 * u128::from(hertz);
            packet - over > u128::from(rate) * u128::from(hertz) / 1_000_000_000 + 1
        }));
        let end = 49 * SECOND / i64::from(hertz);
        let found = bursts(Release::TimerHz(hertz), constant(rate, length, end + 1));
        prop_assert_eq!(found, bucket(rate, length, hertz.into(), 50));
    }

    #[test]
    fn nothing_leaves_early_and_a_timer_holds_back_for_less_than_a_tick(
        due in 0..10_000 * SECOND,
        hertz in 1..=1_000_000_u32,
    ) {
        let released = Release::TimerHz(hertz).at(Span(due)).0;
        prop_assert!(released >= due);
        prop_assert!(i128::from(released - due - 1) * i128::from(hertz) < i128::from(SECOND));
        // At a tick, to the nanosecond, and a packet that is due at a tick leaves there.
        prop_assert!(
            i128::from(released) * i128::from(hertz) % i128::from(SECOND) < i128::from(hertz)
        );
        prop_assert_eq!(Release::TimerHz(hertz).at(Span(released)).0, released);
        prop_assert_eq!(Release::Paced.at(Span(due)), Span(due));
        prop_assert_eq!(Release::Unpaced.at(Span(due)), Span::ZERO);
    }
}

#[test]
fn forty_megabits_become_the_bursts_of_their_timer() {
    for (hertz, sizes) in [(100, [33, 34]), (250, [13, 14]), (1000, [3, 4])] {
        let bursts = bursts(Release::TimerHz(hertz), constant(40_000_000, 1500, 10 * SECOND));
        assert_eq!(bursts.values().sum::<u64>(), 33_334);
        // The first tick releases the first packet only, the last one what came before the end.
        let inner: Vec<u64> = bursts.into_values().skip(1).collect();
        assert!(inner.iter().all(|burst| sizes.contains(burst)), "{hertz} Hz");
        let mean = inner.iter().sum::<u64>() as f64 / inner.len() as f64;
        let bytes = 5_000_000.0 / f64::from(hertz);
        assert!((mean * 1500.0 / bytes - 1.0).abs() < 1e-3, "{hertz} Hz: {mean}");
    }
}

/// The longest queue of every 100 ms in front of 40 Mbit/s, in KB of 1024 bytes, on average;
/// packets leave back to back at 1 Gbit/s.
fn queue(release: Release) -> f64 {
    const FRAME: u32 = 1514;
    const BACK_TO_BACK: i64 = 12_304;
    let mut free = 0;
    let times: Vec<i64> = constant(40_000_000, FRAME, SECOND - 10_000_000)
        .map(|due| {
            let leaves = release.at(due).0.max(free);
            free = leaves + BACK_TO_BACK;
            leaves
        })
        .collect();
    let lengths = vec![FRAME; times.len()];
    let plan = Plan {
        mode: Mode::Static(Drain::at(Rate(40_000_000)).unwrap()),
        grid: Grid::aligned_to_epoch(Span::from_millis(100)).unwrap(),
    };
    let mut windows = Windows::new(plan);
    windows.push(Packets::new(&times, &lengths).unwrap());
    Summary::of(&windows.finish(Ns(SECOND))).all.wait_mean().unwrap() / 1024.0
}

#[test]
fn the_published_pacing_experiment() {
    // Takano et al., Realtime Burstiness Measurement: 46.9 KB released by a timer of 100 Hz, 0 KB
    // paced.
    let timer = queue(Release::TimerHz(100));
    assert!((timer / 46.9 - 1.0).abs() < 0.05, "{timer}");
    assert!(queue(Release::Paced) < 0.01);
    let (quicker, quickest) = (queue(Release::TimerHz(250)), queue(Release::TimerHz(1000)));
    assert!(
        timer > 2.0 * quicker && quicker > 3.0 * quickest && quickest > 2.0,
        "{timer} {quicker} {quickest}"
    );
}

#[test]
fn timers_that_release_nothing_are_refused() {
    assert!(Release::TimerHz(1).check().is_ok());
    assert_eq!(
        Release::TimerHz(0).check().unwrap_err().to_string(),
        "a timer of 0 Hz releases nothing; give timer_hz from 1 to 1000000, such as 100, 250 or \
         1000"
    );
    assert!(Release::TimerHz(1_000_001).check().is_err());
}
