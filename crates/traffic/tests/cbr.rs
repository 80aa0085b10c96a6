//! Constant rate: exact for hours, and as its formula says.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use proptest::prelude::*;
use trustbed_traffic::{
    Cbr, Description, Headers, IpVersion, Release, Schedule, Source, TrafficError, Transport,
};
use trustbed_units::{Rate, Span};

const UDP: Headers = Headers::of(IpVersion::V4, Transport::Udp);

fn source(rate: u64, seed: u64) -> Source {
    let model =
        serde_json::from_str(&format!(r#"{{"kind": "cbr", "rate_bits_per_second": {rate}}}"#))
            .unwrap();
    Source { model, headers: UDP, release: Release::Paced, seed, duration: None }
}

/// The definition, in numbers that cannot overflow.
fn twin(number: u64, rate: u64, length: u32) -> i64 {
    i64::try_from(u128::from(number) * u128::from(length) * 8 * 1_000_000_000 / u128::from(rate))
        .unwrap()
}

proptest! {

    #[test]
    fn stepping_gives_what_dividing_gives(
        rate in prop_oneof![1..=100_u64, 1_000..100_000_000_u64, 1..=10_000_000_000_000_u64],
        length in 28..=65_535_u32,
        phase in 0..10_000_000_i64,
        packets in 1..2_000_u64,
    ) {
        let cbr = Cbr::new(Rate(rate), length, UDP).unwrap().with_phase(Span(phase));
        for (number, departure) in (0..packets).zip(cbr.clone()) {
            prop_assert_eq!(departure.due, Span(twin(number, rate, length) + phase));
            prop_assert_eq!(Some(departure.due), cbr.due(number));
            prop_assert_eq!((departure.length, departure.payload), (length, length - 28));
        }
    }

    #[test]
    fn phases_lie_within_a_period(rate in 1_u64..10_000_000_000_000, seed in any::<u64>()) {
        let first = Schedule::new(&source(rate, seed), None).unwrap().next().unwrap();
        let period = twin(1, rate, 1500);
        prop_assert!((0..=period).contains(&first.due.0));
        prop_assert!(
            u128::from(first.due.0.unsigned_abs()) * u128::from(rate) < 12_000 * 1_000_000_000
        );
    }

    #[test]
    fn sources_that_share_a_rate_add_up_to_it(
        rate in 1_u64..10_000_000_000_000,
        sources in 1_usize..200,
    ) {
        let whole = source(rate, 0).model;
        match whole.split(sources) {
            Ok(parts) => {
                let rates: Vec<u64> = parts.iter().map(|part| part.rate().unwrap().0).collect();
                prop_assert_eq!(rates.len(), sources);
                prop_assert_eq!(rates.iter().sum::<u64>(), rate);
                prop_assert!(rates.iter().max().unwrap() - rates.iter().min().unwrap() <= 1);
                let works = |part: &Description| {
                    Schedule::new(&Source { model: part.clone(), ..source(1, 0) }, None).is_ok()
                };
                prop_assert!(parts.iter().all(works));
            }
            Err(error) => {
                prop_assert_eq!(error, TrafficError::NothingToShare { rate: Rate(rate), sources });
                prop_assert!(u64::try_from(sources).unwrap() > rate);
            }
        }
    }
}

#[test]
fn after_three_hours_there_is_no_drift() {
    let packets = 3 * 3600 * 275; // 3.3 Mbit/s are 275 packets of 1500 bytes a second
    let last = Cbr::new(Rate(3_300_000), 1500, UDP).unwrap().nth(packets).unwrap();
    assert_eq!(last.due, Span::from_secs(3 * 3600));
}

#[test]
fn a_year_from_the_start_packets_are_due_to_the_nanosecond() {
    let cbr = Cbr::new(Rate(7), 1500, UDP).unwrap();
    assert_eq!(cbr.due(7 * 20_000), Some(Span::from_secs(12_000 * 20_000)));
    assert_eq!(cbr.due(u64::MAX), None);
}

#[test]
fn a_source_ends_where_time_does() {
    let slow =
        Cbr::new(Rate(1), 65_535, UDP).unwrap().with_phase(Span(i64::MAX - 1_000_000_000_000_000));
    assert_eq!(slow.count(), 2);
}

#[test]
fn seeds_spread_the_phases_evenly() {
    let period = twin(1, 1_000_000, 1500);
    let first = |seed| Schedule::new(&source(1_000_000, seed), None).unwrap().next().unwrap().due.0;
    let phases: Vec<i64> = (0..1000).map(first).collect();
    for tenth in 0..10 {
        let within = phases.iter().filter(|&&phase| phase * 10 / period == tenth).count();
        assert!((60..140).contains(&within), "{within} of 1000 in tenth {tenth}");
    }
    assert_eq!(first(7), first(7));
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let refused =
        |rate, length, headers| Cbr::new(Rate(rate), length, headers).unwrap_err().to_string();
    let tcp = Headers::of(IpVersion::V6, Transport::Tcp);
    let errors = [
        refused(0, 1500, UDP),
        refused(10_000_000_000_001, 1500, UDP),
        refused(1, 27, UDP),
        refused(1, 72, tcp),
        refused(1, 65_536, UDP),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn nothing_is_due_at_the_end_or_later() {
    let limited = |duration| {
        Schedule::new(&Source { duration: Some(duration), ..source(12_000_000, 3) }, None).unwrap()
    };
    // 1000 packets a second, one of them in every millisecond.
    assert_eq!(limited(Span::from_secs(2)).count(), 2000);
    assert!(limited(Span::from_secs(2)).all(|departure| departure.due < Span::from_secs(2)));
    assert_eq!(limited(Span::ZERO).count(), 0);
    assert!(matches!(source(1, 0).model, Description::Cbr(_)));
}
