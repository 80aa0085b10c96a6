//! Which pipes a packet crosses.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;

use std::net::Ipv4Addr;

use common::networks::{chain, host, hosts, pipe, topology};
use proptest::prelude::*;
use serde_json::{Value, json};
use trustbed_emulate::{Description, EmulateError, Refusal, Topology};

/// The names of the pipes between two hosts' addresses.
fn path_names(topology: &Topology, from: &str, source: &str, destination: &str) -> Vec<String> {
    let path = topology
        .path(topology.host(from).unwrap(), source.parse().unwrap(), destination.parse().unwrap())
        .unwrap();
    path.into_iter().map(|pipe| topology.pipes()[pipe].name.clone()).collect()
}

#[test]
fn a_chain_is_two_hosts_and_what_lies_between() {
    let bare = topology(chain(json!([{}]))).unwrap();
    assert_eq!(path_names(&bare, "a", "10.0.0.0", "10.0.1.0"), ["up"]);
    assert_eq!(path_names(&bare, "b", "10.0.1.0", "10.0.0.0"), ["down"]);
    let long = topology(chain(json!([{"delay_ns": 1}, {"delay_ns": 2}, {"delay_ns": 3}]))).unwrap();
    assert_eq!(path_names(&long, "a", "10.0.0.0", "10.0.1.0"), ["up1", "up2", "up3"]);
    assert_eq!(path_names(&long, "b", "10.0.1.0", "10.0.0.0"), ["down1", "down2", "down3"]);
    let delays: Vec<_> = long.pipes().iter().map(|pipe| pipe.link.delay_ns.unwrap()).collect();
    assert_eq!(delays, [1, 2, 3, 3, 2, 1]);
}

#[test]
fn a_dumbbell_has_two_sides() {
    let access = json!({"up": {"delay_ns": 5}, "down": {"delay_ns": 6}});
    let description = json!({"dumbbell": {
        "left": [{"name": "a", "addresses": ["10.0.0.1", "10.0.0.2"], "access": access}],
        "right": [host("b", &["fd00::1"])],
        "up": {"rate_bits_per_second": 8}, "down": {}}});
    let dumbbell = topology(description).unwrap();
    assert_eq!(
        path_names(&dumbbell, "a", "10.0.0.2", "fd00::1"),
        ["a[10.0.0.2].up", "up", "b.down"]
    );
    assert_eq!(
        path_names(&dumbbell, "b", "fd00::1", "10.0.0.1"),
        ["b.up", "down", "a[10.0.0.1].down"]
    );
    assert_eq!(
        path_names(&dumbbell, "a", "10.0.0.2", "10.0.0.1"),
        ["a[10.0.0.2].up", "a[10.0.0.1].down"],
        "through their router"
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
    let path_names = |pipes: &[Value]| {
        path_names(&topology(both(pipes)).unwrap(), "client", "10.0.0.1", "10.0.0.3")
    };
    let through = |router: &str, first, second| {
        [
            pipe(&format!("to {router}"), "client", router, first),
            pipe(&format!("from {router}"), router, "server", second),
        ]
    };
    assert_eq!(
        path_names(&[&through("x", 1, 1)[..], &[pipe("direct", "client", "server", 100)]].concat()),
        ["direct"]
    );
    assert_eq!(
        path_names(&[through("x", 1, 9), through("y", 4, 5), through("z", 7, 7)].concat()),
        ["to y", "from y"]
    );
    assert_eq!(path_names(&[through("x", 1, 8), through("y", 4, 5)].concat()), ["to x", "from x"]);
    assert_eq!(
        path_names(&[
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
    assert_eq!(path_names(&[changing.clone(), pipe("four", "client", "server", 4)]), ["four"]);
    assert_eq!(path_names(&[changing, pipe("six", "client", "server", 6)]), ["changing"]);
}

#[test]
fn a_route_can_be_given() {
    let pipes = [
        pipe("direct", "client", "server", 0),
        pipe("back", "server", "client", 0),
        pipe("to x", "client", "x", 0),
        pipe("from x", "x", "server", 0),
    ];
    let detour = topology(json!({"hosts": hosts(), "routers": ["x"], "pipes": pipes, "routes": [
        {"from": "client", "to": "server", "through": ["to x", "from x"]}]}))
    .unwrap();
    assert_eq!(path_names(&detour, "client", "10.0.0.1", "10.0.0.2"), ["to x", "from x"]);
    assert_eq!(path_names(&detour, "server", "10.0.0.2", "10.0.0.1"), ["back"]);
}

#[test]
fn addresses_are_not_limited_as_hosts_are() {
    let addresses: Vec<_> =
        (0..5000_u32).map(|number| Ipv4Addr::from(0x0a00_0000 + number)).collect();
    let side = |name, part: &[Ipv4Addr]| json!([{"name": name, "addresses": part, "access": {}}]);
    let (left, right) = (side("a", &addresses[..2500]), side("b", &addresses[2500..]));
    let dumbbell =
        topology(json!({"dumbbell": {"left": left, "right": right, "up": {}, "down": {}}}))
            .unwrap();
    assert_eq!(dumbbell.pipes().len(), 10_002);
    assert_eq!(
        path_names(&dumbbell, "b", "10.0.19.135", "10.0.0.7"),
        ["b[10.0.19.135].up", "down", "a[10.0.0.7].down"]
    );
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
        "right": [{"name": "server", "addresses": ["10.0.0.2", "10.0.0.3"], "access": {}}],
        "up": {}, "down": {}}, "outside": "server"});
    let made = topology(description).unwrap();
    let [client, first, elsewhere] =
        ["10.0.0.1", "10.0.0.2", "192.0.2.7"].map(|text| text.parse().unwrap());
    assert_eq!(made.path(0, client, elsewhere), made.path(0, client, first));
    assert_eq!(made.path(1, elsewhere, client), made.path(1, first, client));
    // What the outside sends to the outside is no business of this network: handed back, it would
    // come again.
    let unknown = "192.0.2.8".parse().unwrap();
    assert_eq!(made.path(1, elsewhere, unknown), Err(Refusal::SameHost));
    assert_eq!(made.path(1, first, unknown), Err(Refusal::SameHost));
    assert!(
        made.path(1, first, "10.0.0.3".parse().unwrap()).is_ok(),
        "its own addresses have pipes between them"
    );
}

#[test]
fn what_is_written_is_read_again() {
    let description: Description = serde_json::from_value(json!({"hosts": hosts(), "pipes": [
        {"name": "up", "from": "client", "to": "server", "rate_trace": {"opportunities_ms": [1]},
         "jitter": {"kind": "normal", "deviation_ns": 5}, "queue": {"kind": "unlimited"},
         "loss": {"kind": "recorded", "lost": [1]}}, pipe("down", "server", "client", 1)]}))
    .unwrap();
    let written = serde_json::to_string(&description).unwrap();
    assert_eq!(serde_json::from_str::<Description>(&written).unwrap(), description);
}

/// All paths from one point to another over routers (points from 2 on), as (pipes, delay), with the
/// pipes taken.
fn all_paths(
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
            all_paths(pipes, pipe.1, to, taken, found);
            taken.pop();
        }
    }
}

proptest! {

    #[test]
    fn the_path_is_the_best_of_all(
        drawn in prop::collection::vec((0..6_usize, 1..6_usize, 0..4_u64), 1..14),
    ) {
        let pipes: Vec<_> =
            drawn.into_iter().map(|(from, step, delay)| (from, (from + step) % 6, delay)).collect();
        let name = |point: usize| ["client", "server", "w", "x", "y", "z"][point];
        let described: Vec<_> = pipes
            .iter()
            .enumerate()
            .map(|(number, &(from, to, delay))| {
                pipe(&number.to_string(), name(from), name(to), delay)
            })
            .collect();
        let made = topology(
            json!({"hosts": hosts(), "routers": ["w", "x", "y", "z"], "pipes": described}),
        );
        let best = [(0, 1), (1, 0)].map(|(from, to)| {
            let mut found = vec![];
            all_paths(&pipes, from, to, &mut vec![], &mut found);
            found.into_iter().min()
        });
        let ([Some(up), Some(down)], Ok(made)) = (&best, &made) else {
            let unreachable = best.iter().any(Option::is_none)
                && matches!(made, Err(EmulateError::NoPath { .. }));
            prop_assert!(unreachable, "{:?}", made.err());
            return Ok(());
        };
        for (host, source, destination, best) in
            [(0, "10.0.0.1", "10.0.0.2", up), (1, "10.0.0.2", "10.0.0.1", down)]
        {
            let path = made.path(host, source.parse()?, destination.parse()?)?;
            let delay: u64 = path.iter().map(|&pipe| pipes[pipe].2).sum();
            prop_assert_eq!((path.len(), delay), (best.0, best.1));
            let joined = path.windows(2).all(|pair| pipes[pair[0]].1 == pipes[pair[1]].0);
            prop_assert!(
                joined && pipes[path[0]].0 == host && pipes[path[path.len() - 1]].1 == 1 - host
            );
        }
    }
}
