//! Both estimators over a link in virtual time, with cross traffic at a constant rate: the
//! available bandwidth is known exactly.
//!
//! As their authors have them the estimators are tried with cross traffic of small packets. Packets
//! of 1500 bytes make delays rise and fall by more than a stream that is a little too fast makes
//! them rise, and both estimates are then too high; for those there are other settings.
//! `examples/accuracy.rs` prints how right either is.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod path;

use path::{Path, paths};
use trustbed_probe::{Ending, PathChirpSettings, PathloadSettings, Scan};
use trustbed_units::Span;

/// How many paths.
const PATHS: u32 = 40;
/// How long the packets of the cross traffic are: those that come next to a fluid, and those that
/// are as long as they come.
const SHORT: u32 = 100;
const LONG: u32 = 1500;

/// The paths whose interval does not hold what is available.
fn missed(cross: u32, settings: &PathloadSettings) -> Vec<String> {
    paths(PATHS, cross)
        .filter_map(|path| {
            let found = path.pathload(PathloadSettings {
                round_trip: path.delay + path.delay,
                ..settings.clone()
            });
            let (low, high) = (found.low.unwrap(), found.high.unwrap());
            assert!(low < high, "{path:?}: {found:?}");
            assert!(
                matches!(found.ending, Ending::Resolution | Ending::GreyRegion),
                "{path:?}: {found:?}"
            );
            let available = path.available();
            // An interval as wide as that says nothing.
            let wide = high - low >= 0.2 * path.capacity_f64();
            (wide || available < low || high < available).then(|| format!("{path:?}: {found:?}"))
        })
        .collect()
}

/// pathChirp's mean error without signs.
fn error(cross: u32, settings: &PathChirpSettings) -> f64 {
    let scan = Scan { coalescence: Span::from_micros(2), ..settings.scan };
    let errors = paths(PATHS, cross).map(|path| {
        let found = path.pathchirp(PathChirpSettings { scan, ..settings.clone() }, 50);
        (found / path.available_payload(settings.payload) - 1.0).abs()
    });
    errors.sum::<f64>() / f64::from(PATHS)
}

#[test]
fn nine_in_ten_intervals_of_pathload_hold_what_is_available() {
    for (cross, settings) in
        [(SHORT, PathloadSettings::default()), (LONG, PathloadSettings::for_long_packets())]
    {
        let missed = missed(cross, &settings);
        assert!(10 * missed.len() <= PATHS as usize, "{missed:#?}");
    }
}

#[test]
fn estimates_of_pathchirp_lie_around_what_is_available() {
    for (cross, settings) in
        [(SHORT, PathChirpSettings::default()), (LONG, PathChirpSettings::for_long_packets())]
    {
        let mean = error(cross, &settings);
        assert!(mean <= 0.15, "{mean}");
    }
}

#[test]
fn settings_for_long_packets_are_nearer_among_those() {
    assert!(
        missed(LONG, &PathloadSettings::for_long_packets()).len()
            < missed(LONG, &PathloadSettings::default()).len()
    );
    assert!(
        error(LONG, &PathChirpSettings::for_long_packets())
            < error(LONG, &PathChirpSettings::default())
    );
}

#[test]
fn a_path_without_end_has_no_upper_bound() {
    let path = Path { capacity: 2_000_000_000, ..Path::default() };
    let found = path.pathload(PathloadSettings::default());
    assert_eq!((found.ending, found.high), (Ending::HighestRate, None));
    assert!(found.low.unwrap() > 1e9);
}

#[test]
fn a_path_that_loses_half_is_too_fast_at_any_rate() {
    let path = Path { capacity: 10_000_000, loss: 0.5, ..Path::default() };
    let found = path.pathload(PathloadSettings::default());
    assert_eq!((found.ending, found.low, found.dispersion_rate), (Ending::LowestRate, None, None));
}

#[test]
fn time_ends_a_measurement_with_what_is_known() {
    let path = Path { capacity: 10_000_000, load: 0.3, ..Path::default() };
    let found = path.pathload(PathloadSettings {
        time_limit: Span::from_secs(3),
        ..PathloadSettings::default()
    });
    assert_eq!(found.ending, Ending::Timeout);
    assert!(found.high.is_none_or(|high| high >= path.available()));
    assert!(found.duration >= Span::from_secs(3));
}
