//! Descriptions that cannot be, and the error of each.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use std::net::Ipv4Addr;

use common::networks::{chain, host, hosts, pipe, topology};
use serde::Deserialize;
use serde_json::{Value, json};
use trustbed_emulate::{Description, EmulateError, Link, LinkDescription, Network};

/// One description a line with its error below, as a reviewer reads them.
fn listing(descriptions: &[Value], check: impl Fn(Value) -> Option<EmulateError>) -> String {
    let line = |one: &Value| format!("{one}\n    {}", check(one.clone()).unwrap());
    descriptions.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn network_errors(descriptions: &[Value]) -> String {
    listing(descriptions, |description| topology(description).err())
}

#[test]
fn links() {
    let errors = listing(
        &[
            json!({"rate_bits_per_second": 0}),
            json!({"rate_bits_per_second": 10_000_000_000_001_u64}),
            json!({"rate_bits_per_second": 1, "rate_trace": {"opportunities_ms": [1]}}),
            json!({"rate_steps": [{"at_ns": 1, "rate_bits_per_second": 1}]}),
            json!({"rate_steps": [{"at_ns": 0, "rate_bits_per_second": 0}]}),
            json!({"rate_steps": [{"at_ns": 0, "rate_bits_per_second": 1},
                {"at_ns": 0, "rate_bits_per_second": 2}]}),
            json!({"rate_bits_per_second": 1,
                "rate_steps": [{"at_ns": 0, "rate_bits_per_second": 1}]}),
            json!({"rate_trace": {"opportunities_ms": [1]},
                "rate_steps": [{"at_ns": 0, "rate_bits_per_second": 1}]}),
            json!({"rate_trace": {"opportunities_ms": []}}),
            json!({"rate_trace": {"opportunities_ms": [0, 0]}}),
            json!({"rate_trace": {"opportunities_ms": [1, 5, 3]}}),
            json!({"rate_trace": {"opportunities_ms": [1], "opportunity_bytes": 0}}),
            json!({"delay_ns": 1, "delay_recorded": {"delays_ns": [1]}}),
            json!({"delay_recorded": {"delays_ns": []}}),
            json!({"delay_recorded": {"delays_ns": [1], "step_ns": 0}}),
            json!({"delay_steps": {"steps": []}}),
            json!({"delay_steps": {"steps": [{"at_ns": 3, "delay_ns": 0}]}}),
            json!({"delay_steps": {"steps": [
                {"at_ns": 0, "delay_ns": 0}, {"at_ns": 0, "delay_ns": 1}]}}),
            json!({"delay_ns": 1, "delay_steps": {"steps": [{"at_ns": 0, "delay_ns": 0}]}}),
            json!({"delay_recorded": {"delays_ns": [1]},
                "delay_steps": {"steps": [{"at_ns": 0, "delay_ns": 0}]}}),
            json!({"jitter": {"kind": "pareto", "deviation_ns": 1, "shape": 2.0}}),
            json!({"loss": {"kind": "independent", "probability": -0.1}}),
            json!({"loss": {"kind": "gilbert_elliott", "good_to_bad": 0.1, "bad_to_good": 1.5}}),
            json!({"loss": {"kind": "periodic", "every": 0}}),
            json!({"loss": {"kind": "periodic", "every": 2, "first": 0}}),
            json!({"loss": {"kind": "recorded", "lost": [3, 3]}}),
            json!({"loss": {"kind": "recorded", "lost": [3], "period_packets": 3}}),
            json!({"duplicate": {"probability": 2}}),
            json!({"reorder": {"probability": 2, "held_ns": 1}}),
            json!({"queue": {"kind": "drop_tail"}}),
            json!({"queue": {"kind": "drop_tail", "limit_packets": 0}}),
            json!({"queue": {"kind": "drop_tail", "limit_packets": 1, "limit_bytes": 1}}),
            json!({"queue": {"kind": "codel", "interval_ns": 0}}),
            json!({"queue": {"kind": "red", "minimum_packets": 5, "maximum_packets": 5}}),
            json!({"queue": {
                "kind": "red", "minimum_packets": 5, "maximum_packets": 15, "weight": 0}}),
            json!({"policer": {"rate_bits_per_second": 0, "burst_bytes": 1}}),
            json!({"shaper": {"rate_bits_per_second": 1, "burst_bytes": 0}}),
            json!({"outages": [{"at_ns": 5, "lasts_ns": 0}]}),
            json!({"outages": [
                {"at_ns": 5, "lasts_ns": 10}, {"at_ns": 14, "lasts_ns": 1, "keeps": true}]}),
        ],
        |link| {
            let link: LinkDescription = serde_json::from_value(link).unwrap();
            Link::<()>::new(&link, 1).err()
        },
    );
    insta::assert_snapshot!(errors);
}

#[test]
fn names_and_addresses() {
    let network =
        |hosts: Value, pipes: Value| json!({"hosts": hosts, "routers": ["left"], "pipes": pipes});
    let only = |pipe: Value| network(hosts(), json!([pipe]));
    let no_pipes = |hosts: Value| network(hosts, json!([]));
    let (a, b) = (host("a", &["10.0.0.1"]), host("b", &["10.0.0.2"]));
    let errors = network_errors(&[
        only(pipe("up", "cleint", "server", 0)),
        only(pipe("up", "nowhere", "server", 0)),
        only(pipe("up", "client", "client", 0)),
        only(pipe("", "client", "server", 0)),
        network(
            hosts(),
            json!([pipe("up", "client", "server", 0), pipe("up", "server", "client", 0)]),
        ),
        no_pipes(json!([a])),
        no_pipes(json!([a, host("a", &["10.0.0.2"])])),
        no_pipes(json!([a, host("left", &["10.0.0.2"])])),
        no_pipes(json!([host("a", &[]), b])),
        no_pipes(json!([host("", &["10.0.0.1"]), b])),
        no_pipes(json!([a, host("b", &["10.0.0.2", "10.0.0.1"])])),
        no_pipes(json!([host("a", &["10.0.0.1", "::ffff:10.0.0.1"]), b])),
    ]);
    insta::assert_snapshot!(errors);
}

#[test]
fn routes_and_paths() {
    let pipes = [
        pipe("direct", "client", "server", 0),
        pipe("back", "server", "client", 0),
        pipe("to x", "client", "x", 0),
        pipe("from x", "x", "server", 0),
    ];
    let route = |through: &[&str]| json!({"from": "client", "to": "server", "through": through});
    let base = json!({"hosts": hosts(), "routers": ["x"], "pipes": pipes});
    let network = |routes: Value| {
        let mut network = base.clone();
        network["routes"] = routes;
        network
    };
    let errors = network_errors(&[
        network(json!([route(&["to x", "direct"])])),
        network(json!([route(&["to x"])])),
        network(json!([route(&["to y"])])),
        network(json!([route(&["direct"]), route(&["direct"])])),
        // Hosts do not forward.
        json!({"hosts": [
            host("a", &["10.0.0.1"]), host("b", &["10.0.0.2"]), host("c", &["10.0.0.3"])],
            "pipes": [pipe("ab", "a", "b", 0), pipe("ba", "b", "a", 0), pipe("bc", "b", "c", 0),
                pipe("cb", "c", "b", 0)]}),
        json!({"hosts": hosts(), "pipes": [pipe("up", "client", "server", 0)]}),
        json!({"hosts": hosts(), "pipes": []}),
    ]);
    insta::assert_snapshot!(errors);
}

#[test]
fn access_pipes() {
    let network = |access: Value, pipes: Value| {
        let mut a = host("a", &["10.0.0.1"]);
        a["access"] = access;
        json!({"hosts": [a, host("b", &["10.0.0.2"])], "routers": ["left"], "pipes": pipes})
    };
    let errors = network_errors(&[
        network(json!({}), json!([])),
        network(json!({"router": "lift"}), json!([])),
        network(json!({"router": "b"}), json!([])),
        network(json!({"router": "left"}), json!([pipe("up", "a", "b", 0)])),
        network(json!({"router": "left", "each": [{}, {}]}), json!([])),
    ]);
    insta::assert_snapshot!(errors);
    let long = topology(network(
        json!({"router": "left", "up": {"delay_ns": 999_000_000_000_000_u64}}),
        json!([pipe("x", "left", "b", 0), pipe("y", "b", "left", 0)]),
    ));
    let error = Network::<(), ()>::new(&long.unwrap(), 1, ()).unwrap_err();
    insta::assert_snapshot!("a_delay_of_more_than_a_week", error);
}

#[test]
fn shorthands_stand_alone() {
    let dumbbell = json!({"left": [], "right": [], "up": {}, "down": {}});
    let with = |key: &str, value: Value| {
        let mut description = chain(json!([{}]));
        description[key] = value;
        description
    };
    let mut uneven = chain(json!([{}]));
    uneven["chain"]["down"] = json!([]);
    let errors = network_errors(&[
        with("pipes", json!([pipe("x", "a", "b", 0)])),
        with("dumbbell", dumbbell.clone()),
        json!({"dumbbell": dumbbell}),
        chain(json!([])),
        uneven,
    ]);
    insta::assert_snapshot!(errors);
}

#[test]
fn hosts_are_limited() {
    let host = |number: u32| host(&format!("h{number}"), &[&Ipv4Addr::from(number).to_string()]);
    let pipes = |number: u32| {
        let (up, down, host) = (format!("u{number}"), format!("d{number}"), format!("h{number}"));
        [pipe(&up, &host, "r", 0), pipe(&down, "r", &host, 0)]
    };
    let many: Vec<_> = (1..=1025).map(host).collect();
    let pipes: Vec<_> = (1..=1025).flat_map(pipes).collect();
    let error = topology(json!({"hosts": many, "routers": ["r"], "pipes": pipes})).unwrap_err();
    insta::assert_snapshot!(error);
}

#[test]
fn unknown_keys() {
    let up = |key: &str, value: Value| {
        let mut pipe = json!({"name": "up", "from": "a", "to": "b"});
        pipe[key] = value;
        json!({"pipes": [pipe]})
    };
    for description in [
        json!({"hosts": [], "pipe": []}),
        up("delay", json!(5)),
        up("delay_ns", json!(-5)),
        up("queue", json!({"kind": "codel", "target": 5})),
        up("queue", json!({"kind": "unlimited", "limit_packets": 5})),
        up("loss", json!({"kind": "sometimes"})),
        up("policer", json!({"rate_bits_per_second": 5})),
        up("outages", json!([{"at_ns": 5, "lasts_ns": 5, "keep": true}])),
    ] {
        assert!(Description::deserialize(&description).is_err(), "{description}");
    }
}
