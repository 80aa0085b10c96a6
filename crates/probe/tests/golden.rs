//! `tests/golden/estimators.json`: trends of streams and fleets, the rate search, chirps and their
//! estimates.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::disallowed_methods, reason = "a test may read a golden file")]

use std::collections::BTreeSet;

use serde_json::Value;
use trustbed_probe::{
    Chirp, Excursions, FleetTrend, Scan, Search, Thresholds, Trend, TrendMetrics,
};

/// Every key of the file, so that none is forgotten.
const HELD: [&str; 10] = [
    "pathchirp_cases",
    "pathchirp_chirp_duration_s",
    "pathchirp_interarrivals_us",
    "pathchirp_interchirp_s",
    "pathchirp_packets",
    "pathchirp_rates_Mbps",
    "pathload_fleet",
    "pathload_search_crisp_70",
    "pathload_search_grey_60_75",
    "pathload_streams",
];

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/estimators.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    file["computed"].clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs()
}

fn all_near(found: &[f64], expected: &Value) -> bool {
    let expected = numbers(expected);
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| near(*found, expected))
}

fn letter(trend: Trend) -> &'static str {
    match trend {
        Trend::Increasing => "I",
        Trend::None => "N",
        Trend::Unclear => "U",
    }
}

fn word(trend: FleetTrend) -> &'static str {
    match trend {
        FleetTrend::Increasing => "increasing",
        FleetTrend::NoTrend => "no-trend",
        FleetTrend::Grey => "grey",
    }
}

#[test]
fn every_key_is_held() {
    let golden = golden();
    let found: BTreeSet<&str> = golden
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .filter(|key| *key != "script")
        .collect();
    assert_eq!(found, HELD.into_iter().collect());
}

#[test]
fn streams_have_these_trends() {
    for stream in golden()["pathload_streams"].as_array().unwrap() {
        let found = TrendMetrics::of(&numbers(&stream["owd"]), Thresholds::default()).unwrap();
        let expected = &stream["expect"];
        assert!(all_near(&found.medians, &expected["medians"]));
        assert!(near(found.comparison, expected["pct"].as_f64().unwrap()));
        assert!(near(found.difference, expected["pdt"].as_f64().unwrap()));
        assert_eq!(letter(found.comparison_trend), expected["pct_class"]);
        assert_eq!(letter(found.difference_trend), expected["pdt_class"]);
        assert_eq!(letter(found.trend), expected["stream"]);
    }
}

#[test]
fn streams_of_a_fleet_vote() {
    for fleet in golden()["pathload_fleet"].as_array().unwrap() {
        let trends: Vec<Trend> = fleet["streams"]
            .as_str()
            .unwrap()
            .chars()
            .map(|letter| match letter {
                'I' => Trend::Increasing,
                'N' => Trend::None,
                _ => Trend::Unclear,
            })
            .collect();
        assert_eq!(word(FleetTrend::of(&trends, 0.6)), fleet["expect"]);
    }
}

/// Searches on a path whose available bandwidth moves from `least` to `most`.
fn search(least: f64, most: f64, expected: &Value) {
    let mut search = Search::new(90e6, None, 1e3, 1e15);
    for fleet in expected["fleets"].as_array().unwrap() {
        let (rate, trend) = (fleet[0].as_f64().unwrap() * 1e6, &fleet[1]);
        assert!(near(search.rate(), rate), "{} instead of {rate}", search.rate());
        let result = if rate > most {
            FleetTrend::Increasing
        } else if rate < least {
            FleetTrend::NoTrend
        } else {
            FleetTrend::Grey
        };
        assert_eq!(word(result), trend);
        search.on_fleet(search.rate(), result);
    }
    let found = search.bracket();
    assert!(all_near(&[found.low / 1e6, found.high / 1e6], &expected["report_low_high"]));
}

#[test]
fn the_search_visits_these_rates() {
    let golden = golden();
    search(70e6, 70e6, &golden["pathload_search_crisp_70"]);
    search(60e6, 75e6, &golden["pathload_search_grey_60_75"]);
}

#[test]
fn a_chirp_has_these_packets() {
    let golden = golden();
    let chirp = Chirp::new(1000, 10e6, 200e6, 1.2);
    let rates: Vec<f64> = chirp.rates().iter().map(|rate| rate / 1e6).collect();
    assert!(all_near(&rates, &golden["pathchirp_rates_Mbps"]));
    let gaps: Vec<f64> = (0..rates.len()).map(|gap| chirp.gap_ns(gap) / 1e3).collect();
    assert!(all_near(&gaps, &golden["pathchirp_interarrivals_us"]));
    assert_eq!(chirp.packets() as u64, golden["pathchirp_packets"].as_u64().unwrap());
    // The file's duration begins at 10 Mbit/s, the chirp's own at the rate from which whole factors
    // lead to 200 Mbit/s.
    let first = rates[0] / 10.0;
    let duration = golden["pathchirp_chirp_duration_s"].as_f64().unwrap();
    assert!((chirp.duration().as_secs_f64() * first - duration).abs() < 1e-7);
    let interval = golden["pathchirp_interchirp_s"].as_f64().unwrap();
    assert!((chirp.interval(0.3e6).as_secs_f64() - interval).abs() < 1e-7);
}

#[test]
fn chirps_match_the_reference() {
    let chirp = Chirp::new(1000, 10e6, 200e6, 1.2);
    let all: Vec<usize> = (0..chirp.packets()).collect();
    for case in golden()["pathchirp_cases"].as_array().unwrap() {
        let found =
            Excursions::of_delays(&chirp, &all, &numbers(&case["q_ms"]), &Scan::default()).unwrap();
        assert!(
            near(found.estimate / 1e6, case["estimate_Mbps"].as_f64().unwrap()),
            "{}",
            found.estimate
        );
        let per_gap: Vec<f64> = found.per_gap.iter().map(|rate| rate / 1e6).collect();
        assert!(all_near(&per_gap, &case["per_packet_Mbps"]));
        assert_eq!(found.last_start as u64, case["last_excursion_start"].as_u64().unwrap());
    }
}
