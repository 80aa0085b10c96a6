//! `tests/golden/traffic.json`: constant rate, Poisson, playback.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![allow(clippy::disallowed_methods, reason = "a test may read a golden file")]

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use trustbed_traffic::{
    Cbr, Headers, IpVersion, Level, Playback, PoissonDescription, PoissonMode, Recording, Transport,
};
use trustbed_units::{Ns, Rate, Span};

const UDP: Headers = Headers::of(IpVersion::V4, Transport::Udp);

/// What the structural model has to give, which is not built yet, and what is a remark about the
/// papers.
const NOT_YET: [&str; 6] = [
    "connection",
    "connection_expect",
    "session_grouping",
    "packet_pair",
    "loss_split",
    "variants",
];
const REMARKS: [&str; 2] = ["script", "mawi2_share_of_15Mbps_percent"];
const HELD: [&str; 3] = ["cbr_3.3Mbps_1500B_send_ns", "poisson_3.3Mbps_1500B", "playback_udp"];

fn golden() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/traffic.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    file["computed"].clone()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn near(found: f64, expected: &Value) -> bool {
    let expected = expected.as_f64().unwrap();
    (found - expected).abs() <= 1e-9 * expected.abs()
}

#[test]
fn every_key_is_held_or_named_as_not_built_yet() {
    let golden = golden();
    let found: BTreeSet<&str> = golden.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(found, HELD.into_iter().chain(NOT_YET).chain(REMARKS).collect());
}

#[test]
fn constant_rate_sends_at_these_nanoseconds() {
    let golden = golden();
    let expected: Vec<i64> =
        list(&golden[HELD[0]]).iter().map(|due| due.as_i64().unwrap()).collect();
    let cbr = Cbr::new(Rate(3_300_000), 1500, UDP).unwrap();
    assert_eq!((0..6).map(|number| cbr.due(number).unwrap().0).collect::<Vec<_>>(), expected);
    assert_eq!(
        cbr.take(expected.len()).map(|departure| departure.due.0).collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn poisson_promises_these_levels() {
    let golden = golden();
    let packets: PoissonDescription =
        serde_json::from_str(r#"{"rate_bits_per_second": 3300000, "packet_bytes": 1500}"#).unwrap();
    let bytes = PoissonDescription { mode: PoissonMode::Bytes, ..packets.clone() };
    for expected in list(&golden[HELD[1]]) {
        let stretch = if near(0.001, &expected["delta_s"]) {
            Span::from_millis(1)
        } else {
            Span::from_secs(1)
        };
        assert!(near(stretch.as_secs_f64(), &expected["delta_s"]));
        for (model, key) in [(&packets, "packets_mode"), (&bytes, "bytes_mode")] {
            let Level { mean_bytes, variance, energy_log2, coefficient_of_variation } =
                model.level(stretch);
            assert!(near(mean_bytes, &expected["mean_bytes"]), "{mean_bytes}");
            assert!(near(variance, &expected[key]["variance"]), "{key}: {variance}");
            assert!(near(energy_log2, &expected[key]["energy_log2"]), "{key}: {energy_log2}");
            assert!(
                near(coefficient_of_variation, &expected[key]["coefficient_of_variation"]),
                "{key}: {coefficient_of_variation}"
            );
        }
    }
}

#[test]
fn playback_leaves_at_these_milliseconds() {
    let golden = golden();
    let packets = list(&golden[HELD[2]]);
    let whole = |packet: &Value, key: &str| packet[key].as_i64().unwrap();
    // It does not matter when the capture began.
    let began = 1_700_000_000_123_456_789;
    let length = |packet: &Value| Some(u32::try_from(whole(packet, "ip_len")).unwrap());
    let recording: Recording = packets
        .iter()
        .map(|packet| (Ns(began + whole(packet, "t_us") * 1000), length(packet)))
        .collect();
    let played: Vec<_> =
        Playback::new(Arc::new(recording), Span::from_millis(1), 1500, UDP).unwrap().collect();
    assert_eq!(played.len(), packets.len());
    for (departure, packet) in played.iter().zip(packets) {
        assert_eq!(departure.due, Span::from_millis(whole(packet, "udp_send_at_ms")));
        assert_eq!(i64::from(departure.payload), whole(packet, "udp_payload"));
        assert_eq!(i64::from(departure.length), whole(packet, "ip_len"));
    }
}
