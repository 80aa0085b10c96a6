//! Which pipes a packet crosses, and what is said about networks that cannot be.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use proptest::prelude::*;
use serde_json::{Value, json};
use trustbed_emulate::{
    Description, EmulateError, Link, LinkDescription, Network, Refusal, Topology,
};

fn topology(description: Value) -> Result<Topology, EmulateError> {
    Topology::new(&serde_json::from_value::<Description>(description).unwrap())
}

/// The names of the pipes between two hosts' addresses.
fn way(topology: &Topology, from: &str, source: &str, destination: &str) -> Vec<String> {
    let path = topology
        .path(topology.host(from).unwrap(), source.parse().unwrap(), destination.parse().unwrap())
        .unwrap();
    path.into_iter().map(|pipe| topology.pipes()[pipe].name.clone()).collect()
}

/// What is said about a network.
fn said(description: Value) -> String {
    topology(description).unwrap_err().to_string()
}

fn hosts() -> Value {
    json!([{"name": "client", "addresses": ["10.0.0.1"]}, {"name": "server", "addresses": ["10.0.0.2", "10.0.0.3"]}])
}

fn pipe(name: &str, from: &str, to: &str, delay_ns: u64) -> Value {
    json!({"name": name, "from": from, "to": to, "delay_ns": delay_ns})
}

#[test]
fn a_chain_is_two_hosts_and_what_lies_between() {
    let end = |name, address: &str| json!({"name": name, "addresses": [address]});
    let chain = |up: Value| json!({"chain": {"ends": [end("near", "10.0.0.1"), end("far", "10.0.0.2")], "up": up}});
    let bare = topology(chain(json!([{}]))).unwrap();
    assert_eq!(way(&bare, "near", "10.0.0.1", "10.0.0.2"), ["up"]);
    assert_eq!(way(&bare, "far", "10.0.0.2", "10.0.0.1"), ["down"]);
    let long = topology(chain(json!([{"delay_ns": 1}, {"delay_ns": 2}, {"delay_ns": 3}]))).unwrap();
    assert_eq!(way(&long, "near", "10.0.0.1", "10.0.0.2"), ["up1", "up2", "up3"]);
    assert_eq!(way(&long, "far", "10.0.0.2", "10.0.0.1"), ["down1", "down2", "down3"]);
    let delays: Vec<_> = long.pipes().iter().map(|pipe| pipe.link.delay_ns.unwrap()).collect();
    assert_eq!(delays, [1, 2, 3, 3, 2, 1]);
}

#[test]
fn a_dumbbell_has_two_sides() {
    let description = json!({"dumbbell": {
        "left": [{"name": "a", "addresses": ["10.0.0.1", "10.0.0.2"], "access": {"up": {"delay_ns": 5}, "down": {"delay_ns": 6}}}],
        "right": [{"name": "b", "addresses": ["fd00::1"]}], "up": {"rate_bits_per_second": 8}, "down": {}}});
    let dumbbell = topology(description).unwrap();
    assert_eq!(way(&dumbbell, "a", "10.0.0.2", "fd00::1"), ["a[10.0.0.2].up", "up", "b.down"]);
    assert_eq!(way(&dumbbell, "b", "fd00::1", "10.0.0.1"), ["b.up", "down", "a[10.0.0.1].down"]);
    assert_eq!(
        way(&dumbbell, "a", "10.0.0.2", "10.0.0.1"),
        ["a[10.0.0.2].up", "a[10.0.0.1].down"],
        "by way of their router"
    );
    let refused = |host, source: &str, destination: &str| {
        dumbbell.path(host, source.parse().unwrap(), destination.parse().unwrap()).unwrap_err()
    };
    assert_eq!(refused(0, "10.0.0.9", "fd00::1"), Refusal::UnknownSource);
    assert_eq!(
        refused(0, "fd00::1", "10.0.0.1"),
        Refusal::UnknownSource,
        "an address of another host"
    );
    assert_eq!(refused(0, "10.0.0.1", "10.0.0.9"), Refusal::UnknownDestination);
    assert_eq!(refused(1, "fd00::1", "fd00::1"), Refusal::SameHost);
    assert_eq!(refused(7, "fd00::1", "10.0.0.1"), Refusal::UnknownSource);
}

#[test]
fn fewest_pipes_then_least_delay_then_order() {
    let both = |pipes: &[Value]| {
        let pipes = [pipes, &[pipe("back", "server", "client", 0)]].concat();
        json!({"hosts": hosts(), "routers": ["x", "y", "z"], "pipes": pipes})
    };
    let way =
        |pipes: &[Value]| way(&topology(both(pipes)).unwrap(), "client", "10.0.0.1", "10.0.0.3");
    let through = |router: &str, first, second| {
        [
            pipe(&format!("to {router}"), "client", router, first),
            pipe(&format!("from {router}"), router, "server", second),
        ]
    };
    assert_eq!(
        way(&[&through("x", 1, 1)[..], &[pipe("direct", "client", "server", 100)]].concat()),
        ["direct"]
    );
    assert_eq!(
        way(&[through("x", 1, 9), through("y", 4, 5), through("z", 7, 7)].concat()),
        ["to y", "from y"]
    );
    assert_eq!(way(&[through("x", 1, 8), through("y", 4, 5)].concat()), ["to x", "from x"]);
    assert_eq!(
        way(&[
            pipe("one", "client", "server", 3),
            pipe("two", "client", "server", 3),
            pipe("three", "client", "server", 2)
        ]),
        ["three"]
    );
    // Of a delay that changes, what it begins with counts.
    let mut changing = pipe("changing", "client", "server", 0);
    changing["delay_ns"] = Value::Null;
    changing["delay_steps"] =
        json!({"steps": [{"at_ns": 0, "delay_ns": 5}, {"at_ns": 1, "delay_ns": 0}]});
    assert_eq!(way(&[changing.clone(), pipe("four", "client", "server", 4)]), ["four"]);
    assert_eq!(way(&[changing, pipe("six", "client", "server", 6)]), ["changing"]);
}

#[test]
fn a_route_can_be_given() {
    let pipes = [
        pipe("direct", "client", "server", 0),
        pipe("back", "server", "client", 0),
        pipe("to x", "client", "x", 0),
        pipe("from x", "x", "server", 0),
    ];
    let description = |through: Value| json!({"hosts": hosts(), "routers": ["x"], "pipes": pipes, "routes": [{"from": "client", "to": "server", "through": through}]});
    let detour = topology(description(json!(["to x", "from x"]))).unwrap();
    assert_eq!(way(&detour, "client", "10.0.0.1", "10.0.0.2"), ["to x", "from x"]);
    assert_eq!(way(&detour, "server", "10.0.0.2", "10.0.0.1"), ["back"]);
    assert_eq!(
        said(description(json!(["to x", "direct"]))),
        r#"route from "client" to "server": pipe "direct" begins at "client", but the packet is at "x""#
    );
    assert_eq!(
        said(description(json!(["to x"]))),
        r#"route from "client" to "server": it ends at "x""#
    );
    assert_eq!(
        said(description(json!(["to y"]))),
        r#"route from "client" to "server": there is no pipe "to y"; did you mean "to x"?"#
    );
    let mut twice = description(json!(["direct"]));
    twice["routes"] = json!([twice["routes"][0], twice["routes"][0]]);
    assert_eq!(said(twice), r#"route from "client" to "server": it is given twice"#);
}

#[test]
fn hosts_do_not_pass_packets_on() {
    let three = json!({"hosts": [{"name": "a", "addresses": ["10.0.0.1"]}, {"name": "b", "addresses": ["10.0.0.2"]}, {"name": "c", "addresses": ["10.0.0.3"]}],
        "pipes": [pipe("ab", "a", "b", 0), pipe("ba", "b", "a", 0), pipe("bc", "b", "c", 0), pipe("cb", "c", "b", 0)]});
    assert_eq!(
        said(three),
        r#"no pipes lead from host "a" to host "c"; from "a" only b can be reached (hosts do not pass packets on)"#
    );
    let mut one_way = json!({"hosts": hosts(), "pipes": [pipe("up", "client", "server", 0)]});
    assert_eq!(
        said(one_way.clone()),
        r#"no pipes lead from host "server" to host "client"; no pipe leaves "server""#
    );
    one_way["pipes"] = json!([]);
    assert_eq!(
        said(one_way),
        r#"no pipes lead from host "client" to host "server"; no pipe leaves "client""#
    );
}

#[test]
fn names_and_addresses_that_cannot_be() {
    let network =
        |hosts: Value, pipes: Value| json!({"hosts": hosts, "routers": ["left"], "pipes": pipes});
    let host = |name: &str, addresses: &[&str]| json!({"name": name, "addresses": addresses});
    assert_eq!(
        said(network(hosts(), json!([pipe("up", "cleint", "server", 0)]))),
        r#"pipe "up": there is no host or router "cleint"; did you mean "client"?"#
    );
    assert_eq!(
        said(network(hosts(), json!([pipe("up", "nowhere", "server", 0)]))),
        r#"pipe "up": there is no host or router "nowhere""#
    );
    assert_eq!(
        said(network(hosts(), json!([pipe("up", "client", "client", 0)]))),
        r#"pipe "up" leads from "client" to itself"#
    );
    assert_eq!(
        said(network(
            hosts(),
            json!([pipe("up", "client", "server", 0), pipe("up", "server", "client", 0)])
        )),
        r#"pipe "up" is described twice; names must differ"#
    );
    assert_eq!(
        said(network(hosts(), json!([pipe("", "client", "server", 0)]))),
        "pipes: a name is empty"
    );
    assert_eq!(
        said(network(json!([host("a", &["10.0.0.1"])]), json!([]))),
        "a network needs two hosts at least; 1 described"
    );
    assert_eq!(
        said(network(json!([host("a", &["10.0.0.1"]), host("a", &["10.0.0.2"])]), json!([]))),
        r#"host or router "a" is described twice; names must differ"#
    );
    assert_eq!(
        said(network(json!([host("a", &["10.0.0.1"]), host("left", &["10.0.0.2"])]), json!([]))),
        r#"host or router "left" is described twice; names must differ"#
    );
    assert_eq!(
        said(network(json!([host("a", &[]), host("b", &["10.0.0.2"])]), json!([]))),
        r#"host "a" has no address; give at least one"#
    );
    assert_eq!(
        said(network(json!([host("", &["10.0.0.1"]), host("b", &["10.0.0.2"])]), json!([]))),
        "hosts: a name is empty"
    );
    assert_eq!(
        said(network(
            json!([host("a", &["10.0.0.1"]), host("b", &["10.0.0.2", "10.0.0.1"])]),
            json!([])
        )),
        r#"10.0.0.1 belongs to host "a" and to host "b"; an address can be given once"#
    );
    assert_eq!(
        said(network(
            json!([host("a", &["10.0.0.1", "::ffff:10.0.0.1"]), host("b", &["10.0.0.2"])]),
            json!([])
        )),
        r#"::ffff:10.0.0.1 belongs to host "a" and to host "a"; an address can be given once"#
    );
}

#[test]
fn access_pipes_that_cannot_be() {
    let network = |access: Value, pipes: Value| json!({"hosts": [{"name": "a", "addresses": ["10.0.0.1"], "access": access}, {"name": "b", "addresses": ["10.0.0.2"]}], "routers": ["left"], "pipes": pipes});
    assert_eq!(
        said(network(json!({}), json!([]))),
        r#"host "a": its access pipes need a router; give access.router"#
    );
    assert_eq!(
        said(network(json!({"router": "lift"}), json!([]))),
        r#"host "a": access.router: there is no router "lift"; did you mean "left"?"#
    );
    assert_eq!(
        said(network(json!({"router": "b"}), json!([]))),
        r#"host "a": access.router: there is no router "b""#
    );
    assert_eq!(
        said(network(json!({"router": "left"}), json!([pipe("up", "a", "b", 0)]))),
        r#"pipe "up" ends at host "a", which has access pipes; join it to the router instead, or leave access away"#
    );
    let network = topology(network(
        json!({"router": "left", "up": {"delay_ns": 99_000_000_000_000_u64}}),
        json!([pipe("x", "left", "b", 0), pipe("y", "b", "left", 0)]),
    ))
    .unwrap();
    let error = Network::<(), ()>::new(&network, 1, ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"pipe "a[10.0.0.1].up": delay_ns: 99000000000000 does not do; give a time of at most a day"#
    );
}

#[test]
fn shorthands_stand_alone() {
    let ends =
        json!([{"name": "a", "addresses": ["10.0.0.1"]}, {"name": "b", "addresses": ["10.0.0.2"]}]);
    let dumbbell = json!({"left": [], "right": [], "up": {}, "down": {}});
    let chain = json!({"ends": ends, "up": [{}]});
    assert_eq!(
        said(json!({"chain": chain, "pipes": [pipe("x", "a", "b", 0)]})),
        "chain describes the whole network; leave pipes away"
    );
    assert_eq!(
        said(json!({"chain": chain, "dumbbell": dumbbell})),
        "dumbbell describes the whole network; leave chain away"
    );
    assert_eq!(
        said(json!({"dumbbell": dumbbell})),
        "a network needs two hosts at least; 0 described"
    );
    assert_eq!(
        said(json!({"chain": {"ends": ends, "up": []}})),
        "chain: up holds no link; give at least one"
    );
    assert_eq!(
        said(json!({"chain": {"ends": ends, "up": [{}], "down": []}})),
        "chain: 1 links up and 0 down do not join; give as many, or leave down away"
    );
}

#[test]
fn ends_are_limited_and_addresses_are_not() {
    let host = |number: u32| json!({"name": format!("h{number}"), "addresses": [std::net::Ipv4Addr::from(number)]});
    let many: Vec<_> = (1..=1025).map(host).collect();
    let pipes: Vec<_> = (1..=1025)
        .flat_map(|number| {
            [
                pipe(&format!("u{number}"), &format!("h{number}"), "r", 0),
                pipe(&format!("d{number}"), "r", &format!("h{number}"), 0),
            ]
        })
        .collect();
    assert_eq!(
        said(json!({"hosts": many, "routers": ["r"], "pipes": pipes})),
        "1025 hosts and routers have paths to one another, at most 1024 can; describe hosts of one kind as addresses with access pipes"
    );
    let addresses: Vec<_> =
        (0..5000_u32).map(|number| std::net::Ipv4Addr::from(0x0a00_0000 + number)).collect();
    let side = |name, addresses: &[std::net::Ipv4Addr]| json!([{"name": name, "addresses": addresses, "access": {}}]);
    let dumbbell = topology(
        json!({"dumbbell": {"left": side("a", &addresses[..2500]), "right": side("b", &addresses[2500..]), "up": {}, "down": {}}}),
    )
    .unwrap();
    assert_eq!(dumbbell.pipes().len(), 10_002);
    assert_eq!(
        way(&dumbbell, "b", "10.0.19.135", "10.0.0.7"),
        ["b[10.0.19.135].up", "down", "a[10.0.0.7].down"]
    );
}

fn refused(link: Value) -> String {
    Link::<()>::new(&serde_json::from_value::<LinkDescription>(link).unwrap(), 1)
        .unwrap_err()
        .to_string()
}

#[test]
fn links_that_cannot_be() {
    for (description, words) in [
        (
            json!({"rate_bits_per_second": 0}),
            "link: rate_bits_per_second: a rate of 0 never sends a packet; give a rate above 0, or none for a link without a rate",
        ),
        (
            json!({"rate_bits_per_second": 10_000_000_000_001_u64}),
            "link: rate_bits_per_second: 10.000000000001Tbit/s is beyond the largest rate, 10Tbit/s",
        ),
        (
            json!({"rate_bits_per_second": 1, "rate_trace": {"opportunities_ms": [1]}}),
            "link: rate_bits_per_second and rate_trace cannot both be given; leave one away",
        ),
        (
            json!({"rate_trace": {"opportunities_ms": []}}),
            "link: rate_trace.opportunities_ms: it is empty; give at least one value",
        ),
        (
            json!({"rate_trace": {"opportunities_ms": [0, 0]}}),
            "link: rate_trace.opportunities_ms: the trace ends at 0 ms and cannot be repeated; its last value is also its length",
        ),
        (
            json!({"rate_trace": {"opportunities_ms": [1, 5, 3]}}),
            "link: rate_trace.opportunities_ms: value 2, 3, comes after 5; put the list in order",
        ),
        (
            json!({"rate_trace": {"opportunities_ms": [1], "opportunity_bytes": 0}}),
            "link: rate_trace.opportunity_bytes: 0 does not do; give a number of bytes above 0, as 1504",
        ),
        (
            json!({"delay_ns": 1, "delay_recorded": {"delays_ns": [1]}}),
            "link: delay_recorded and delay_ns cannot both be given; leave one away",
        ),
        (
            json!({"delay_recorded": {"delays_ns": []}}),
            "link: delay_recorded.delays_ns: it is empty; give at least one value",
        ),
        (
            json!({"delay_recorded": {"delays_ns": [1], "step_ns": 0}}),
            "link: delay_recorded.step_ns: 0 does not do; give a step above 0, or none",
        ),
        (
            json!({"jitter": {"kind": "pareto", "deviation_ns": 1, "shape": 2.0}}),
            "link: jitter.shape: 2 does not do; give a shape above 2; below there is no standard deviation",
        ),
        (
            json!({"loss": {"kind": "independent", "probability": -0.1}}),
            "link: loss.probability: -0.1 is no probability; give a number from 0 to 1",
        ),
        (
            json!({"loss": {"kind": "gilbert_elliott", "good_to_bad": 0.1, "bad_to_good": 1.5}}),
            "link: loss.bad_to_good: 1.5 is no probability; give a number from 0 to 1",
        ),
        (
            json!({"loss": {"kind": "periodic", "every": 0}}),
            "link: loss.every: 0 does not do; give every how many packets one is lost, above 0",
        ),
        (
            json!({"loss": {"kind": "periodic", "every": 2, "first": 0}}),
            "link: loss.first: 0 does not do; give the number of the first lost packet, counted from 1",
        ),
        (
            json!({"loss": {"kind": "recorded", "lost": [3, 3]}}),
            "link: loss.lost: value 1, 3, comes after 3; put the list in order",
        ),
        (
            json!({"loss": {"kind": "recorded", "lost": [3], "period_packets": 3}}),
            "link: loss.period_packets: 3 does not do; give a period above the last lost packet",
        ),
        (
            json!({"duplicate": {"probability": 2}}),
            "link: duplicate.probability: 2 is no probability; give a number from 0 to 1",
        ),
        (
            json!({"reorder": {"probability": 2, "held_ns": 1}}),
            "link: reorder.probability: 2 is no probability; give a number from 0 to 1",
        ),
        (
            json!({"queue": {"kind": "drop_tail"}}),
            "link: queue: a drop-tail queue needs limit_packets or limit_bytes; a queue without a limit is of the kind \"unlimited\"",
        ),
        (
            json!({"queue": {"kind": "drop_tail", "limit_packets": 0}}),
            "link: queue.limit_packets: 0 does not do; give a limit above 0; a queue of 0 takes no packet",
        ),
        (
            json!({"queue": {"kind": "drop_tail", "limit_packets": 1, "limit_bytes": 1}}),
            "link: queue: limit_packets and limit_bytes cannot both be given; leave one away",
        ),
        (
            json!({"queue": {"kind": "codel", "interval_ns": 0}}),
            "link: queue.interval_ns: 0 does not do; give an interval above 0",
        ),
        (
            json!({"queue": {"kind": "red", "minimum_packets": 5, "maximum_packets": 5}}),
            "link: queue.maximum_packets: 5 does not do; give a number of packets above minimum_packets",
        ),
        (
            json!({"queue": {"kind": "red", "minimum_packets": 5, "maximum_packets": 15, "weight": 0}}),
            "link: queue.weight: 0 does not do; give a number above 0, at most 1, as 0.002",
        ),
    ] {
        assert_eq!(refused(description), words);
    }
}

#[test]
fn buckets_outages_and_steps_that_cannot_be() {
    for (description, words) in [
        (
            json!({"policer": {"rate_bits_per_second": 0, "burst_bytes": 1}}),
            "link: policer.rate_bits_per_second: a rate of 0 never sends a packet; give a rate above 0, or none for a link without a rate",
        ),
        (
            json!({"shaper": {"rate_bits_per_second": 1, "burst_bytes": 0}}),
            "link: shaper.burst_bytes: 0 does not do; give a number of bytes above 0; nothing passes without",
        ),
        (
            json!({"outages": [{"at_ns": 5, "lasts_ns": 0}]}),
            "link: outages.lasts_ns: 0 does not do; give a time above 0",
        ),
        (
            json!({"outages": [{"at_ns": 5, "lasts_ns": 10}, {"at_ns": 14, "lasts_ns": 1, "keeps": true}]}),
            "link: outages: number 1, counted from 0, begins before the one in front of it is over; put them in order, or make one of the two",
        ),
        (
            json!({"delay_steps": {"steps": []}}),
            "link: delay_steps.steps: it is empty; give at least one value",
        ),
        (
            json!({"delay_steps": {"steps": [{"at_ns": 3, "delay_ns": 0}]}}),
            "link: delay_steps.steps.at_ns: 3 does not do; give 0 for the first step: the delay that it begins with",
        ),
        (
            json!({"delay_steps": {"steps": [{"at_ns": 0, "delay_ns": 0}, {"at_ns": 0, "delay_ns": 1}]}}),
            "link: delay_steps.steps.at_ns: value 1, 0, comes after 0; put the list in order",
        ),
        (
            json!({"delay_ns": 1, "delay_steps": {"steps": [{"at_ns": 0, "delay_ns": 0}]}}),
            "link: delay_steps and delay_ns cannot both be given; leave one away",
        ),
        (
            json!({"delay_recorded": {"delays_ns": [1]}, "delay_steps": {"steps": [{"at_ns": 0, "delay_ns": 0}]}}),
            "link: delay_recorded and delay_steps cannot both be given; leave one away",
        ),
    ] {
        assert_eq!(refused(description), words);
    }
}

#[test]
fn unknown_keys_are_errors() {
    for text in [
        r#"{"hosts": [], "pipe": []}"#,
        r#"{"pipes": [{"name": "up", "from": "a", "to": "b", "delay": 5}]}"#,
        r#"{"pipes": [{"name": "up", "from": "a", "to": "b", "delay_ns": -5}]}"#,
        r#"{"pipes": [{"name": "up", "from": "a", "to": "b", "queue": {"kind": "codel", "target": 5}}]}"#,
        r#"{"pipes": [{"name": "up", "from": "a", "to": "b", "queue": {"kind": "unlimited", "limit_packets": 5}}]}"#,
        r#"{"pipes": [{"name": "up", "from": "a", "to": "b", "loss": {"kind": "sometimes"}}]}"#,
        r#"{"pipes": [{"name": "up", "from": "a", "to": "b", "policer": {"rate_bits_per_second": 5}}]}"#,
        r#"{"pipes": [{"name": "up", "from": "a", "to": "b", "outages": [{"at_ns": 5, "lasts_ns": 5, "keep": true}]}]}"#,
    ] {
        assert!(serde_json::from_str::<Description>(text).is_err(), "{text}");
    }
}

#[test]
fn the_host_that_leads_outside_has_every_other_address() {
    let pipes = json!([pipe("up", "client", "server", 1), pipe("down", "server", "client", 1)]);
    let [client, server, elsewhere] =
        ["10.0.0.1", "10.0.0.2", "192.0.2.7"].map(|text| text.parse().unwrap());
    let closed = topology(json!({"hosts": hosts(), "pipes": pipes})).unwrap();
    assert_eq!(closed.path(0, client, elsewhere), Err(Refusal::UnknownDestination));
    let open = topology(json!({"hosts": hosts(), "pipes": pipes, "outside": "server"})).unwrap();
    assert_eq!(open.path(0, client, elsewhere), Ok(vec![0]));
    assert_eq!(open.path(1, elsewhere, client), Ok(vec![1]));
    assert_eq!(open.path(1, server, elsewhere), Err(Refusal::SameHost));
    let wrong = topology(json!({"hosts": hosts(), "pipes": pipes, "outside": "serve"}));
    assert!(matches!(wrong, Err(EmulateError::UnknownName { nearest: Some(_), .. })), "{wrong:?}");
}

#[test]
fn outside_packets_share_the_access_pipes_of_the_first_address() {
    let description = json!({"dumbbell": {"left": [{"name": "client", "addresses": ["10.0.0.1"]}],
        "right": [{"name": "server", "addresses": ["10.0.0.2", "10.0.0.3"], "access": {"up": {}, "down": {}}}], "up": {}, "down": {}}, "outside": "server"});
    let made = topology(description).unwrap();
    let [client, first, elsewhere] =
        ["10.0.0.1", "10.0.0.2", "192.0.2.7"].map(|text| text.parse().unwrap());
    assert_eq!(made.path(0, client, elsewhere), made.path(0, client, first));
    assert_eq!(made.path(1, elsewhere, client), made.path(1, first, client));
    // What the outside sends to the outside is no business of this network: handed back, it would come again.
    let nobody = "192.0.2.8".parse().unwrap();
    assert_eq!(made.path(1, elsewhere, nobody), Err(Refusal::SameHost));
    assert_eq!(made.path(1, first, nobody), Err(Refusal::SameHost));
    assert!(
        made.path(1, first, "10.0.0.3".parse().unwrap()).is_ok(),
        "its own addresses have pipes between them"
    );
}

#[test]
fn what_is_written_is_read_again() {
    let description: Description = serde_json::from_value(json!({"hosts": hosts(), "pipes": [
        {"name": "up", "from": "client", "to": "server", "rate_trace": {"opportunities_ms": [1]}, "jitter": {"kind": "normal", "deviation_ns": 5}, "queue": {"kind": "unlimited"},
         "loss": {"kind": "recorded", "lost": [1]}}, pipe("down", "server", "client", 1)]})).unwrap();
    let written = serde_json::to_string(&description).unwrap();
    assert_eq!(serde_json::from_str::<Description>(&written).unwrap(), description);
}

/// All ways from one point to another over routers (points from 2 on), as (pipes, delay), with the pipes taken.
fn ways(
    pipes: &[(usize, usize, u64)],
    from: usize,
    to: usize,
    taken: &mut Vec<usize>,
    found: &mut Vec<(usize, u64, Vec<usize>)>,
) {
    if from == to {
        found.push((taken.len(), taken.iter().map(|&pipe| pipes[pipe].2).sum(), taken.clone()));
        return;
    }
    for (number, pipe) in pipes.iter().enumerate() {
        let seen = taken.iter().any(|&before| pipes[before].0 == pipe.1);
        let passes = pipe.1 == to || pipe.1 >= 2;
        if pipe.0 == from && passes && !seen {
            taken.push(number);
            ways(pipes, pipe.1, to, taken, found);
            taken.pop();
        }
    }
}

proptest! {
    #[test]
    fn the_way_is_the_best_of_all(drawn in prop::collection::vec((0..6_usize, 1..6_usize, 0..4_u64), 1..14)) {
        let pipes: Vec<_> = drawn.into_iter().map(|(from, step, delay)| (from, (from + step) % 6, delay)).collect();
        let name = |point: usize| ["client", "server", "w", "x", "y", "z"][point];
        let described: Vec<_> = pipes.iter().enumerate().map(|(number, &(from, to, delay))| pipe(&number.to_string(), name(from), name(to), delay)).collect();
        let made = topology(json!({"hosts": hosts(), "routers": ["w", "x", "y", "z"], "pipes": described}));
        let best = [(0, 1), (1, 0)].map(|(from, to)| {
            let mut found = vec![];
            ways(&pipes, from, to, &mut vec![], &mut found);
            found.into_iter().min()
        });
        let ([Some(up), Some(down)], Ok(made)) = (&best, &made) else {
            let unreachable = best.iter().any(Option::is_none) && matches!(made, Err(EmulateError::NoPath { .. }));
            prop_assert!(unreachable, "{:?}", made.err());
            return Ok(());
        };
        for (host, source, destination, best) in [(0, "10.0.0.1", "10.0.0.2", up), (1, "10.0.0.2", "10.0.0.1", down)] {
            let path = made.path(host, source.parse()?, destination.parse()?)?;
            let delay: u64 = path.iter().map(|&pipe| pipes[pipe].2).sum();
            prop_assert_eq!((path.len(), delay), (best.0, best.1));
            let joined = path.windows(2).all(|pair| pipes[pair[0]].1 == pipes[pair[1]].0);
            prop_assert!(joined && pipes[path[0]].0 == host && pipes[path[path.len() - 1]].1 == 1 - host);
        }
    }
}
