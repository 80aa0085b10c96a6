//! Pings, on the loopback interface.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod agent;

use std::net::TcpListener;
use std::time::Duration;

use agent::{Agent, number};
use serde_json::{Value, json};

fn report(configuration: &Value) -> Value {
    let mut agent = Agent::begin("ping", configuration);
    assert_eq!(
        (&agent.ready["from"], &agent.ready["interface"]),
        (&json!("127.0.0.1"), &json!("lo"))
    );
    agent.start();
    let report = agent.report();
    assert_eq!(agent.exit_code(), 0);
    report
}

fn answered(report: &Value) -> usize {
    report["round_trips_ns"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one.as_i64().is_some_and(|span| span > 0))
        .count()
}

#[test]
fn open_and_closed_ports_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap().port();
    for port in [open, 1] {
        let configuration = json!({"to": "127.0.0.1", "method": "tcp", "port": port, "count": 4,
            "interval_ns": 20_000_000});
        let found = report(&configuration);
        assert_eq!((&found["method"], answered(&found)), (&json!("tcp"), 4), "{found}");
    }
}

#[test]
fn the_method_that_is_answered_is_used() {
    let found = report(&json!({"to": "127.0.0.1", "count": 5, "interval_ns": 20_000_000}));
    // As a user who may not send echoes, handshakes are used, and the reason is reported.
    assert_eq!(found["method"] == "icmp", found["refused"].is_null(), "{found}");
    assert_eq!(answered(&found), 5, "{found}");
}

#[test]
fn pings_that_leave_late_have_their_whole_time() {
    let configuration = json!({"to": "127.0.0.1", "count": 30,
        "interval_ns": 20_000_000, "timeout_ns": 10_000_000});
    let mut agent = Agent::begin("ping", &configuration);
    agent.start();
    std::thread::sleep(Duration::from_millis(100));
    agent.signal("STOP");
    std::thread::sleep(Duration::from_millis(300));
    agent.signal("CONT");
    let found = agent.report();
    // A machine that takes the processor for 10 ms at the very moment of a ping may cost that one.
    assert!(answered(&found) >= 28, "{found}");
}

#[test]
fn a_stop_takes_effect_between_two_pings() {
    let mut agent = Agent::begin(
        "ping",
        &json!({"to": "127.0.0.1", "method": "tcp", "count": 1000,
            "interval_ns": 3_600_000_000_000_u64}),
    );
    agent.start();
    let found = agent.stop();
    assert!(found["round_trips_ns"].as_array().unwrap().len() <= 1, "{found}");
    assert!(number(&found["start_ns"]) > 0);
}

#[test]
fn impossible_configurations_are_refused() {
    for (wrong, word) in [
        (json!({"to": "127.0.0.1", "interval_ns": 10}), "interval_ns"),
        (json!({"to": "127.0.0.1", "count": 1_000_000}), "count"),
        (json!({"to": "127.0.0.1", "from": "::1"}), "versions of IP"),
        (json!({"to": "127.0.0.1", "from": "192.0.2.1"}), "192.0.2.1"),
        (json!({"to": "somewhere"}), "IP address"),
    ] {
        let (event, _) = Agent::refused("ping", &wrong);
        assert!(event["message"].as_str().unwrap().contains(word), "{event}");
    }
}
