//! Both estimators over a link in virtual time, with cross traffic at a constant rate: the available bandwidth is known exactly.
//!
//! The cross traffic is of small packets. Packets of 1500 bytes make delays rise and fall by more than a stream that is a little too fast
//! makes them rise, and both estimates are then too high; `examples/accuracy.rs` prints by how much.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod path;

use path::{Path, paths};
use trustbed_probe::{Ending, PathChirpSettings, PathloadSettings, Scan};
use trustbed_units::Span;

/// How many paths, and how long the packets of the cross traffic are.
const PATHS: (u32, u32) = (40, 100);

#[test]
fn nine_in_ten_intervals_of_pathload_hold_what_is_available() {
    let missed: Vec<String> = paths(PATHS.0, PATHS.1)
        .filter_map(|path| {
            let found = path.pathload(PathloadSettings { round_trip: path.delay + path.delay, ..PathloadSettings::default() });
            let (low, high) = (found.low.unwrap(), found.high.unwrap());
            assert!(low < high && high - low < 0.2 * path.capacity_f64(), "{path:?}: {found:?}");
            assert!(matches!(found.ending, Ending::Resolution | Ending::GreyRegion), "{path:?}: {found:?}");
            let available = path.available();
            (available < low || high < available).then(|| format!("{path:?}: {found:?}"))
        })
        .collect();
    assert!(10 * missed.len() <= PATHS.0 as usize, "{missed:#?}");
}

#[test]
fn estimates_of_pathchirp_lie_around_what_is_available() {
    let scan = Scan { coalescence: Span::from_micros(2), ..Scan::default() };
    let errors = paths(PATHS.0, PATHS.1).map(|path| {
        let found = path.pathchirp(PathChirpSettings { scan, ..PathChirpSettings::default() }, 50);
        (found / path.available_payload(1000) - 1.0).abs()
    });
    let mean = errors.sum::<f64>() / f64::from(PATHS.0);
    assert!(mean <= 0.15, "{mean}");
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
    let found = path.pathload(PathloadSettings { time_limit: Span::from_secs(3), ..PathloadSettings::default() });
    assert_eq!(found.ending, Ending::Timeout);
    assert!(found.high.is_none_or(|high| high >= path.available()));
    assert!(found.duration >= Span::from_secs(3));
}
