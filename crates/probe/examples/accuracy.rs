//! How right both estimators are over links in virtual time with cross traffic at a constant rate,
//! where the truth is known exactly.
//!
//! `cargo run --release -p trustbed-probe --example accuracy -- 100` prints a line per path and
//! what they come to; a second number is the length of the cross traffic's packets in bytes, 100 if
//! none is given. `long` behind it has both probe with settings for long packets.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a report for a terminal"
)]

#[path = "../tests/path/mod.rs"]
mod path;

use path::paths;
use trustbed_probe::{PathChirpSettings, PathloadSettings, Scan};
use trustbed_units::Span;

fn main() {
    let runs: u32 = std::env::args().nth(1).map_or(100, |runs| runs.parse().unwrap());
    let cross: u32 = std::env::args().nth(2).map_or(100, |bytes| bytes.parse().unwrap());
    let (searches, chirps) = if std::env::args().nth(3).is_some_and(|word| word == "long") {
        (PathloadSettings::for_long_packets(), PathChirpSettings::for_long_packets())
    } else {
        (PathloadSettings::default(), PathChirpSettings::default())
    };
    let scan = Scan { coalescence: Span::from_micros(2), ..chirps.scan };
    let (mut inside, mut errors) = (0, vec![]);
    println!(
        "capacity Mbit/s  RTT ms  load   pathload Mbit/s (of available)          pathChirp (of \
         available)"
    );
    for path in paths(runs, cross) {
        let round_trip = path.delay + path.delay;
        let found = path.pathload(PathloadSettings { round_trip, ..searches.clone() });
        let available = path.available();
        let (low, high) = (found.low.unwrap_or(0.0), found.high.unwrap_or(f64::INFINITY));
        let holds = low <= available && available <= high;
        inside += u32::from(holds);
        let estimate = path.pathchirp(PathChirpSettings { scan, ..chirps.clone() }, 50);
        let error = estimate / path.available_payload(chirps.payload) - 1.0;
        errors.push(error);
        println!(
            "{:14.2} {:8.1} {:5.2}   {:7.3} to {:7.3} {:5} {:?} {:3} fleets {:4.0} s   {:+.3}",
            path.capacity_f64() / 1e6,
            round_trip.as_secs_f64() * 1e3,
            path.load,
            low / available,
            high / available,
            if holds { "holds" } else { "MISS" },
            found.ending,
            found.fleets,
            found.duration.as_secs_f64(),
            error
        );
    }
    let count = f64::from(runs);
    let mean: f64 = errors.iter().sum::<f64>() / count;
    let absolute: f64 = errors.iter().map(|error| error.abs()).sum::<f64>() / count;
    println!(
        "pathload: {inside} of {runs} intervals hold what is available; pathChirp: mean error \
         {mean:+.3}, mean absolute error {absolute:.3}"
    );
}
