//! Bulk transfers, on the loopback interface.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod agent;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use agent::{Agent, number, sum};
use serde_json::{Value, json};

fn receiver(more: &Value) -> (Agent, Value) {
    let mut configuration = json!({"role": "receive", "listen": ["127.0.0.1:0"]});
    configuration.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut receiver = Agent::begin("bulk", &configuration);
    receiver.start();
    let to = receiver.ready["listening"][0].clone();
    (receiver, to)
}

fn sender(more: &Value) -> Agent {
    let mut configuration = json!({"role": "send"});
    configuration.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut sender = Agent::begin("bulk", &configuration);
    sender.start();
    sender
}

#[test]
fn every_byte_arrives_on_every_connection() {
    let (receiver, to) = receiver(&json!({}));
    let tcp = json!({"congestion_control": "reno", "send_buffer_bytes": 65536});
    let mut sender = sender(&json!({"to": to, "connections": 3, "bytes": 3_000_001, "tcp": tcp}));
    let sent = sender.report();
    assert_eq!(sender.exit_code(), 0);
    let got = receiver.stop();
    assert_eq!(
        (sent["transfers"].as_array().unwrap().len(), got["transfers"].as_array().unwrap().len()),
        (3, 3)
    );
    for transfer in sent["transfers"].as_array().unwrap() {
        assert_eq!(
            (&transfer["outcome"], number(&transfer["payload_bytes"])),
            (&json!("complete"), 3_000_001),
            "{transfer}"
        );
        assert_eq!(transfer["congestion_control"], "reno");
        assert_eq!(number(&transfer["send_buffer_bytes"]), 2 * 65536);
        let at = |name: &str| transfer[name].as_i64().unwrap();
        let order =
            ["begun_ns", "connected_ns", "first_byte_ns", "last_byte_ns", "confirmed_ns"].map(at);
        assert!(order.is_sorted(), "{order:?}");
        assert!(number(&transfer["tcp"]["acknowledged_bytes"]) >= 3_000_001);
        assert!(transfer["goodput_bits_per_second"].as_f64().unwrap() > 0.0);
        let other = got["transfers"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["peer"] == transfer["local"])
            .expect("the other end");
        assert_eq!(
            (&other["payload_bytes"], &other["outcome"]),
            (&transfer["payload_bytes"], &json!("complete"))
        );
        assert_eq!(sum(&other["payload_bytes_per_second"]), 3_000_001);
    }
}

#[test]
fn a_transfer_may_have_a_duration_and_samples() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("samples");
    let (receiver, to) = receiver(&json!({}));
    let mut sender =
        sender(&json!({"to": to, "duration_ns": 2_500_000_000_u64, "write": {"burst_bytes": 1000,
            "pause_ns": 1_000_000}, "samples": path}));
    let sent = sender.report();
    assert_eq!(sender.exit_code(), 0);
    let transfer = &sent["transfers"][0];
    assert_eq!(transfer["outcome"], "complete");
    // It had no more to send: a thousand bytes a millisecond at most.
    let bytes = number(&transfer["payload_bytes"]);
    assert!(bytes.is_multiple_of(1000) && (1000..=2_501_000).contains(&bytes), "{bytes}");
    let samples = std::fs::read_to_string(&path).unwrap();
    assert!((1..=2).contains(&number(&sent["samples"]["lines"])), "one a second: {samples}");
    assert_eq!(number(&sent["samples"]["lines"]), samples.lines().count() as u64);
    for line in samples.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((number(&line["connection"]), number(&line["tcp"]["state"])), (0, 1));
    }
    assert_eq!(receiver.stop()["transfers"][0]["payload_bytes"], transfer["payload_bytes"]);
}

#[test]
fn the_end_stops_a_transfer_that_cannot_go_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let sender = sender(&json!({"to": to, "tcp": {"send_buffer_bytes": 8192}}));
    // A receiver that accepts and does not read lets the sender wait in the middle of a write.
    let (_stream, _) = listener.accept().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let sent = sender.close();
    assert_eq!(
        (&sent["transfers"][0]["outcome"], &sent["transfers"][0]["error"]),
        (&json!("stopped"), &Value::Null)
    );
}

#[test]
fn what_the_other_side_does_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let mut reset = sender(&json!({"to": to}));
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; 10]).unwrap();
    drop(stream);
    let report = reset.report();
    assert_eq!(
        (report["transfers"][0]["outcome"].as_str(), reset.exit_code()),
        (Some("failed"), 0)
    );
    let mut silent = sender(&json!({"to": to, "bytes": 10, "confirm_timeout_ns": 100_000_000}));
    let (_kept, _) = listener.accept().unwrap();
    assert_eq!(silent.report()["transfers"][0]["outcome"], "unconfirmed");
    assert_eq!(silent.exit_code(), 0);
    // The port of a listener that is gone may already be another test's.
    let refused = sender(&json!({"to": "127.0.0.1:1", "bytes": 10})).report();
    assert_eq!(refused["transfers"][0]["outcome"], "failed");
    assert!(refused["transfers"][0]["error"].as_str().unwrap().contains("refused"));
}

#[test]
fn a_receiver_takes_what_any_program_sends() {
    let (receiver, to) = receiver(&json!({"read": {"burst_bytes": 100, "pause_ns": 1_000_000}}));
    let mut stream = TcpStream::connect(to.as_str().unwrap()).unwrap();
    stream.write_all(&[1; 1500]).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    // It ends when it has everything.
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    let got = receiver.close();
    assert_eq!(
        (number(&got["transfers"][0]["payload_bytes"]), &got["transfers"][0]["outcome"]),
        (1500, &json!("complete"))
    );
}

#[test]
fn a_window_is_reached_and_never_exceeded() {
    for window in [20_000, 65_536, 100_000, 131_072] {
        let (receiver, to) = receiver(&json!({"tcp": {"window_bytes": window}}));
        let tcp = json!({"maximum_segment_bytes": 1448});
        let sent = sender(&json!({"to": to, "bytes": 5_000_000, "tcp": tcp})).report();
        let advertised = number(&sent["transfers"][0]["tcp"]["send_window_bytes"]);
        // Without a window scale, kernels advertise whole segments.
        assert!(advertised <= window && window - advertised < 1448, "{advertised} of {window}");
        let got = receiver.stop();
        assert_eq!(number(&got["transfers"][0]["payload_bytes"]), 5_000_000);
    }
}

#[test]
fn wrong_configurations_are_named() {
    let cases = [
        (json!({"role": "sender"}), "unknown variant `sender`"),
        (json!({"role": "send", "to": "127.0.0.1:9", "bites": 1}), "unknown field `bites`"),
        (
            json!({"role": "send", "to": "127.0.0.1:9", "connections": 0}),
            "connections: 0 is out of range",
        ),
        (
            json!({"role": "send", "to": "127.0.0.1:9", "write_bytes": 0}),
            "write_bytes: 0 is out of range",
        ),
        (
            json!({"role": "send", "to": "127.0.0.1:9", "write": {"burst_bytes": 9}}),
            "write: is neither bursts with pauses nor a rate",
        ),
        (
            json!({"role": "send", "to": "127.0.0.1:9", "tcp": {"congestion_control": "none"}}),
            "none cannot be used",
        ),
        (
            json!({"role": "receive", "listen": ["127.0.0.1:0"], "tcp": {"window_bytes": 100}}),
            "tcp.window_bytes: 100 is out of range",
        ),
        (
            json!({"role": "receive", "listen": ["127.0.0.1:0"],
                "tcp": {"window_bytes": 65536, "receive_buffer_bytes": 9000}}),
            "decides about the receive buffer",
        ),
        (json!({"role": "receive", "listen": []}), "there is no address to listen at"),
        (json!({"role": "send", "to": "nowhere"}), "invalid socket address"),
    ];
    for (configuration, message) in cases {
        let (event, code) = Agent::refused("bulk", &configuration);
        assert!(
            event["message"].as_str().unwrap().contains(message),
            "{event} should contain {message}"
        );
        assert_eq!(code, 2, "{event}");
    }
}
