//! Descriptions as they are written: defaults, what comes back, what is refused.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use serde_json::{Value, json};
use trustbed_traffic::{Description, Headers, IpVersion, Release, Transport};

fn read(value: &Value) -> Result<Description, String> {
    serde_json::from_value(value.clone()).map_err(|error| error.to_string())
}

#[test]
fn what_is_left_out_has_a_value() {
    for (mut value, defaults) in [
        (json!({"kind": "cbr", "rate_bits_per_second": 1}), json!({"packet_bytes": 1500})),
        (
            json!({"kind": "poisson", "rate_bits_per_second": 1}),
            json!({"packet_bytes": 1500, "mode": "packets"}),
        ),
        (
            json!({"kind": "playback", "capture": "a.pcap"}),
            json!({"together_ns": 1_000_000, "largest_packet_bytes": 1500}),
        ),
    ] {
        let written = serde_json::to_value(read(&value).unwrap()).unwrap();
        value.as_object_mut().unwrap().extend(defaults.as_object().unwrap().clone());
        assert_eq!(written, value);
    }
    let Description::Poisson(bytes) =
        read(&json!({"kind": "poisson", "rate_bits_per_second": 1, "mode": "bytes"})).unwrap()
    else {
        panic!("not Poisson")
    };
    assert_eq!((bytes.unit().as_secs_f64().to_string(), bytes.minimum()), ("0.01".to_owned(), 64));
}

#[test]
fn what_is_written_is_read_again() {
    for value in [
        json!({"kind": "cbr", "rate_bits_per_second": u64::MAX, "packet_bytes": 64}),
        json!({"kind": "poisson", "rate_bits_per_second": 9, "packet_bytes": 64, "mode": "bytes",
            "unit_ns": 5, "minimum_packet_bytes": 3}),
        json!({"kind": "playback", "capture": "a", "filter": "tcp", "together_ns": 1,
            "largest_packet_bytes": 9000}),
    ] {
        let description = read(&value).unwrap();
        assert_eq!(serde_json::to_value(&description).unwrap(), value);
        assert_eq!(description.kind(), value["kind"]);
    }
}

#[test]
fn unknown_keys_kinds_and_modes_are_refused() {
    let errors = [
        json!({"kind": "cbr", "rate_bits_per_second": 1, "rate_mbps": 1}),
        json!({"kind": "poisson", "rate_bits_per_second": 1, "unit": 1}),
        json!({"kind": "playback", "capture": "a", "rate_bits_per_second": 1}),
        json!({"kind": "structural"}),
        json!({"kind": "poisson", "rate_bits_per_second": 1, "mode": "gaps"}),
        json!({"kind": "cbr"}),
        json!({"kind": "cbr", "rate_bits_per_second": -1}),
    ]
    .map(|value| read(&value).unwrap_err());
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn releases_and_transports_are_single_words_but_for_the_timer() {
    let release = |value: Value| serde_json::from_value::<Release>(value);
    assert_eq!(release(json!("paced")).unwrap(), Release::Paced);
    assert_eq!(release(json!({"timer_hz": 250})).unwrap(), Release::TimerHz(250));
    assert_eq!(release(json!("unpaced")).unwrap(), Release::Unpaced);
    assert!(release(json!({"timer_hz": 250, "bucket_bytes": 1})).is_err());
    assert!(
        Release::Paced.has_times()
            && Release::TimerHz(1).has_times()
            && !Release::Unpaced.has_times()
    );
    assert_eq!(serde_json::from_value::<Transport>(json!("tcp")).unwrap(), Transport::Tcp);
    assert_eq!(serde_json::from_value::<IpVersion>(json!("v6")).unwrap(), IpVersion::V6);
}

#[test]
fn headers_of_every_kind() {
    let payload = |version, transport| Headers::of(version, transport).payload(1500);
    assert_eq!(payload(IpVersion::V4, Transport::Udp), 1472);
    assert_eq!(payload(IpVersion::V6, Transport::Udp), 1452);
    assert_eq!(payload(IpVersion::V4, Transport::Tcp), 1448);
    assert_eq!(payload(IpVersion::V6, Transport::Tcp), 1428);
    let empty = Headers::of(IpVersion::V4, Transport::Udp);
    assert_eq!(
        (empty.payload(40), empty.payload(28), empty.payload(20), empty.least()),
        (12, 0, 0, 28)
    );
    assert_eq!(Headers::of(IpVersion::V4, Transport::Tcp).least(), 53);
}
