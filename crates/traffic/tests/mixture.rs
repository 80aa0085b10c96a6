//! Several sources in one order of time.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use proptest::prelude::*;
use trustbed_traffic::{
    Departure, Headers, IpVersion, Mixture, Release, Schedule, Source, Transport,
};
use trustbed_units::Span;

fn schedule(model: &str, release: Release, seed: u64) -> Schedule {
    let source = Source {
        model: serde_json::from_str(model).unwrap(),
        headers: Headers::of(IpVersion::V4, Transport::Udp),
        release,
        seed,
        duration: Some(Span::from_millis(50)),
    };
    Schedule::new(&source, None).unwrap()
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    let kind =
        prop::sample::select(vec![r#""cbr""#, r#""poisson""#, r#""poisson", "mode": "bytes""#]);
    let release = prop::sample::select(vec![
        Release::Paced,
        Release::TimerHz(1000),
        Release::TimerHz(250),
        Release::Unpaced,
    ]);
    (kind, release, 100_000..50_000_000_u64, any::<u64>()).prop_map(
        |(kind, release, rate, seed)| {
            schedule(
                &format!(r#"{{"kind": {kind}, "rate_bits_per_second": {rate}}}"#),
                release,
                seed,
            )
        },
    )
}

proptest! {

    #[test]
    fn it_is_what_sorting_gives(schedules in prop::collection::vec(any_schedule(), 0..8)) {
        let each = schedules.iter().enumerate().flat_map(|(source, schedule)| {
            schedule.clone().map(move |departure| (source, departure))
        });
        let mut sorted: Vec<(usize, Departure)> = each.collect();
        sorted.sort_by_key(|&(source, departure)| (departure.due, source));
        prop_assert_eq!(Mixture::new(schedules).collect::<Vec<_>>(), sorted);
    }
}

#[test]
fn a_thousand_sources_add_up() {
    let whole: trustbed_traffic::Description =
        serde_json::from_str(r#"{"kind": "cbr", "rate_bits_per_second": 240000000}"#).unwrap();
    let schedules: Vec<Schedule> = (0..)
        .zip(whole.split(1000).unwrap())
        .map(|(seed, part)| schedule(&serde_json::to_string(&part).unwrap(), Release::Paced, seed))
        .collect();
    let mixture = Mixture::new(schedules);
    assert_eq!(mixture.schedules().len(), 1000);
    // 20 packets each second from every source: one in 50 ms.
    assert_eq!(mixture.map(|(_, departure)| u64::from(departure.length)).sum::<u64>(), 1000 * 1500);
}
