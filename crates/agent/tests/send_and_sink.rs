//! Senders and sinks, on the loopback interface.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod agent;

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::time::Duration;

use agent::{Agent, number, rows, sum, write_capture};
use serde_json::{Value, json};
use trustbed_units::Ns;

fn sink() -> (Agent, Value, Value) {
    let listen = json!([{"transport": "udp", "address": "127.0.0.1:0"}, {"transport": "tcp",
        "address": "127.0.0.1:0"}]);
    let mut sink = Agent::begin("sink", &json!({"listen": listen, "nonce": 7}));
    sink.start();
    let address = |at: usize| sink.ready["listening"][at]["address"].clone();
    let (udp, tcp) = (address(0), address(1));
    (sink, udp, tcp)
}

fn source(transport: &str, to: &Value, model: &Value) -> Value {
    json!({"name": transport, "transport": transport, "to": to, "model": model,
        "duration_ns": 300_000_000})
}

fn cbr(rate: u64) -> Value {
    json!({"kind": "cbr", "rate_bits_per_second": rate})
}

fn send(configuration: &Value) -> Value {
    let mut sender = Agent::begin("send", configuration);
    sender.start();
    let report = sender.report();
    assert_eq!(sender.exit_code(), 0);
    report
}

#[test]
fn sent_packets_arrive_and_are_counted_by_source() {
    let (sink, udp, tcp) = sink();
    let mut second =
        source("udp", &udp, &json!({"kind": "poisson", "rate_bits_per_second": 4_000_000}));
    (second["from"], second["seed"]) = (json!("127.0.0.3"), json!(5));
    let sources = json!([
        source("udp", &udp, &cbr(10_000_000)),
        second,
        source("tcp", &tcp, &cbr(5_000_000))
    ]);
    let sent = send(&json!({"sources": sources, "nonce": 7, "first_source": 40}));
    let got = sink.stop();
    assert_eq!(number(&sent["sources"][0]["offered_packets"]), 250);
    assert_eq!(number(&got["sockets"][0]["foreign_packets"]), 0);
    for index in 0..2 {
        let (left, arrived) = (&sent["sources"][index], &got["sources"][index]);
        let left_of = sent["sources"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["from"] == arrived["peer"])
            .unwrap_or(left);
        assert_eq!(arrived["source"], left_of["source"]);
        assert_eq!(arrived["packets"], left_of["sent_packets"]);
        assert_eq!(arrived["payload_bytes"], left_of["sent_payload_bytes"]);
        assert_eq!(sum(&arrived["payload_bytes_per_second"]), number(&arrived["payload_bytes"]));
        let nothing = [
            "lost_packets",
            "reordered_packets",
            "duplicated_packets",
            "unnumbered_packets",
            "first_sequence",
        ];
        assert!(nothing.iter().all(|name| number(&arrived[*name]) == 0), "{arrived}");
        assert!(arrived["delay_least_ns"].as_i64().unwrap() >= 0);
    }
    assert!(
        got["sources"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["peer"].as_str().unwrap().starts_with("127.0.0.3:"))
    );
    let (left, arrived) = (&sent["sources"][2], &got["connections"][0]);
    assert_eq!(
        (&arrived["source"], &arrived["peer"], &arrived["ended"]),
        (&json!(42), &left["from"], &json!("by_sender"))
    );
    assert_eq!(arrived["payload_bytes"], left["sent_payload_bytes"]);
    assert_eq!(left["connection"]["written_writes"], left["offered_packets"]);
    assert_eq!(left["connection"]["congestion_control"], "cubic");
    assert_eq!(sum(&sent["offered_ip_bytes_per_second"]), number(&sent["offered_ip_bytes"]));
}

#[test]
fn departures_follow_the_schedule_never_early_and_without_drift() {
    let (_sink, udp, _) = sink();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("departures");
    let sent =
        send(&json!({"sources": [source("udp", &udp, &cbr(40_000_000))], "departures": path}));
    assert_eq!(number(&sent["departures"]["rows"]), 1000);
    let (names, rows) = rows(&path);
    assert_eq!(names, ["source", "sequence", "due_ns", "sent_ns", "ip_bytes", "fate"]);
    let phase = rows[0][2];
    assert!((0..300_000).contains(&phase));
    for (number, row) in (0_i64..).zip(&rows) {
        assert_eq!(
            (row[1], row[2], row[4], row[5]),
            (number, phase + number * 300_000, 1500, 0),
            "{row:?}"
        );
        assert!(row[3] >= row[2], "early: {row:?}");
    }
    let source = &sent["sources"][0];
    assert_eq!(
        (
            number(&source["departure_error"]["packets"]),
            number(&source["departure_error"]["early_packets"])
        ),
        (1000, 0)
    );
    assert_eq!(source["last_due_ns"], rows[999][2]);
    assert_eq!(source["last_late_ns"], rows[999][3] - rows[999][2]);
}

#[test]
fn a_timer_releases_at_its_ticks_and_unpaced_sources_are_never_late() {
    let (_sink, udp, _) = sink();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("departures");
    let mut timed = source("udp", &udp, &cbr(40_000_000));
    timed["release"] = json!({"timer_hz": 100});
    let mut unpaced = source("udp", &udp, &cbr(4_000_000));
    unpaced["release"] = json!("unpaced");
    let sent = send(&json!({"sources": [timed, unpaced], "departures": path}));
    let (_, rows) = rows(&path);
    let (timed, unpaced): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row[0] == 0);
    assert!(timed.iter().all(|row| row[2] % 10_000_000 == 0 && row[3] >= row[2]));
    let most = timed.chunk_by(|one, other| one[2] == other[2]).map(<[_]>::len).max();
    assert!(matches!(most, Some(33 | 34)), "{most:?} in a tick");
    assert_eq!((timed.len(), unpaced.len()), (1000, 100));
    assert!(unpaced.iter().all(|row| row[2] == 0));
    assert_eq!(sent["sources"][1]["departure_error"], Value::Null);
    assert_eq!(number(&sent["departure_error"]["packets"]), 1000);
}

/// A capture of a line of frames: microseconds, IP length (0: not IP), whether they go the other
/// direction.
fn capture(path: &Path, frames: &[(i64, u16, bool)]) {
    let frame = |(micros, length, back): &(i64, u16, bool)| {
        let mut bytes = vec![0_u8; 14 + usize::from(*length).max(46)];
        bytes[12] = if *length == 0 { 0x88 } else { 0x08 };
        if *length > 0 {
            let (source, destination) =
                if *back { ([10, 0, 0, 2], [10, 0, 0, 1]) } else { ([10, 0, 0, 1], [10, 0, 0, 2]) };
            bytes[14..24].copy_from_slice(&[
                0x45,
                0,
                (length >> 8) as u8,
                (length & 0xff) as u8,
                0,
                0,
                0,
                0,
                64,
                17,
            ]);
            bytes[26..30].copy_from_slice(&source);
            bytes[30..34].copy_from_slice(&destination);
        }
        (Ns(1_700_000_000_000_000_000 + micros * 1000), bytes)
    };
    write_capture(path, frames.iter().map(frame));
}

#[test]
fn a_capture_is_played_again_with_its_lengths() {
    let (sink, udp, tcp) = sink();
    let directory = tempfile::tempdir().unwrap();
    let (trace, path) =
        (directory.path().join("trace.pcapng"), directory.path().join("departures"));
    let frames = [(0, 1500), (400, 40), (999, 1500), (1000, 576), (2700, 1500)];
    let mut both: Vec<_> =
        frames.iter().map(|(micros, length)| (*micros, *length, false)).collect();
    both.splice(2..2, [(500, 1000, true), (600, 0, false)]);
    capture(&trace, &both);
    let model = json!({"kind": "playback", "capture": trace, "filter": "src host 10.0.0.1"});
    let sources = json!([source("udp", &udp, &model), source("tcp", &tcp, &model)]);
    let sent = send(&json!({"sources": sources, "nonce": 7, "departures": path}));
    let got = sink.stop();
    let (_, rows) = rows(&path);
    let played: Vec<(i64, i64)> =
        rows.iter().filter(|row| row[0] == 0).map(|row| (row[2] / 1_000_000, row[4])).collect();
    assert_eq!(played, [(0, 1500), (0, 40), (0, 1500), (1, 576), (2, 1500)]);
    let arrived = &got["sources"][0];
    assert_eq!(number(&arrived["payload_bytes"]), 1472 + 12 + 1472 + 548 + 1472);
    assert_eq!(
        (
            number(&arrived["packets"]),
            number(&arrived["lost_packets"]),
            number(&arrived["unnumbered_packets"])
        ),
        (5, 0, 0)
    );
    assert_eq!(got["connections"][0]["payload_bytes"], sent["sources"][1]["sent_payload_bytes"]);
    assert_eq!(number(&sent["sources"][1]["playback"]["empty_packets"]), 1);
}

/// Of three parts the flow forward is the second and the one back, which begins 2.5 ms later, the
/// first.
#[test]
fn a_capture_is_played_by_several_sources_flow_by_flow() {
    let (sink, udp, _) = sink();
    let directory = tempfile::tempdir().unwrap();
    let (trace, path) =
        (directory.path().join("trace.pcapng"), directory.path().join("departures"));
    capture(&trace, &[(0, 1500, false), (2500, 1000, true), (2600, 40, false)]);
    let part = |part: u16| json!({"kind": "playback", "capture": trace, "part": part, "parts": 3});
    let sources = json!([source("udp", &udp, &part(0)), source("udp", &udp, &part(1))]);
    send(&json!({"sources": sources, "nonce": 7, "departures": path}));
    sink.stop();
    let (_, rows) = rows(&path);
    let mut played: Vec<(i64, i64, i64)> =
        rows.iter().map(|row| (row[0], row[2] / 1_000_000, row[4])).collect();
    played.sort_unstable();
    assert_eq!(played, [(0, 2, 1000), (1, 0, 1500), (1, 2, 40)]);
    for (empty, message) in [(2, "its flows are too few for 3 sources"), (3, "no part 3 of 3")] {
        let sources = json!([source("udp", &udp, &part(empty))]);
        let (event, _) = Agent::refused("send", &json!({"sources": sources}));
        assert!(event["message"].as_str().unwrap().contains(message), "{event}");
    }
}

#[test]
fn a_stalled_reader_costs_at_most_a_second_of_traffic() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = json!(listener.local_addr().unwrap().to_string());
    let mut source = source("tcp", &to, &cbr(80_000_000));
    source["duration_ns"] = json!(2_500_000_000_u64);
    source["tcp"] = json!({"send_buffer_bytes": 8192});
    let mut sender = Agent::begin("send", &json!({"sources": [source]}));
    let (mut stream, _) = listener.accept().unwrap();
    socket2::SockRef::from(&stream).set_recv_buffer_size(8192).unwrap();
    sender.start();
    // Nothing reads: after the buffers and a second of traffic everything is dropped.
    std::thread::sleep(Duration::from_millis(2200));
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all.len() as u64
    });
    let report = sender.report();
    assert_eq!(sender.exit_code(), 0);
    let (source, received) = (&report["sources"][0], reader.join().unwrap());
    let waited = &source["connection"];
    let count = |name: &str| number(&waited[name]);
    assert_eq!(count("due_bytes"), number(&source["offered_payload_bytes"]));
    assert_eq!(
        count("due_bytes"),
        count("written_bytes") + count("dropped_bytes") + count("waiting_bytes")
    );
    assert!(count("dropped_writes") > 1000, "{waited}");
    let second_of_traffic = 10_000_000;
    assert!(
        count("deepest_bytes") <= second_of_traffic
            && count("deepest_bytes") > second_of_traffic * 8 / 10,
        "{waited}"
    );
    assert_eq!(received, count("written_bytes"));
    // It was not the sender that was late.
    assert_eq!(source["departure_error"]["packets"], source["offered_packets"]);
}

#[test]
fn what_waits_is_written_though_packets_leave_no_time_between_them() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = json!(listener.local_addr().unwrap().to_string());
    // A packet every 60 µs, into a buffer that is full again and again.
    let mut source = source("tcp", &to, &cbr(200_000_000));
    source["duration_ns"] = json!(2_500_000_000_u64);
    source["tcp"] = json!({"send_buffer_bytes": 8192});
    let mut sender = Agent::begin("send", &json!({"sources": [source]}));
    let (mut stream, _) = listener.accept().unwrap();
    let reader = std::thread::spawn(move || {
        let mut taken = vec![0; 1 << 16];
        while stream.read(&mut taken).unwrap() > 0 {}
    });
    sender.start();
    let report = sender.report();
    assert_eq!(sender.exit_code(), 0);
    reader.join().unwrap();
    let waited = &report["sources"][0]["connection"];
    let count = |name: &str| number(&waited[name]);
    // However slow the machine: more than the first few full buffers, where it stopped for good.
    assert!(count("written_bytes") * 10 > count("due_bytes"), "{waited}");
}

#[test]
fn a_connection_that_breaks_is_reported_and_the_others_go_on() {
    let (sink, udp, _) = sink();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = json!(listener.local_addr().unwrap().to_string());
    let sources =
        json!([source("tcp", &to, &cbr(10_000_000)), source("udp", &udp, &cbr(10_000_000))]);
    let mut sender = Agent::begin("send", &json!({"sources": sources, "nonce": 7}));
    drop(listener.accept().unwrap());
    sender.start();
    let sent = sender.report();
    let broken = &sent["sources"][0];
    assert!(broken["connection"]["broken"].is_string(), "{broken}");
    assert_eq!(number(&broken["offered_packets"]), 250);
    assert!(number(&broken["after_end_packets"]) > 0);
    assert_eq!(number(&sink.stop()["sources"][0]["packets"]), 250);
}

#[test]
fn a_source_without_times_is_over_when_its_connection_is() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = json!(listener.local_addr().unwrap().to_string());
    let endless = json!({"name": "a", "transport": "tcp", "to": to, "model": cbr(8_000_000),
        "release": "unpaced"});
    let mut sender = Agent::begin("send", &json!({"sources": [endless]}));
    let (mut stream, _) = listener.accept().unwrap();
    sender.start();
    stream.read_exact(&mut [0; 10_000]).unwrap();
    drop(stream);
    // No stop command is sent.
    let sent = sender.report();
    assert_eq!(sender.exit_code(), 0);
    let source = &sent["sources"][0];
    assert!(source["connection"]["broken"].is_string(), "{source}");
    assert_eq!(number(&source["after_end_packets"]), 0, "{source}");
}

#[test]
fn datagrams_to_an_unused_port_are_sent_all_the_same() {
    let unused = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = json!(unused.local_addr().unwrap().to_string());
    drop(unused);
    let sent = send(&json!({"sources": [source("udp", &to, &cbr(10_000_000))]}));
    let source = &sent["sources"][0];
    assert_eq!((number(&source["sent_packets"]), number(&source["failed_packets"])), (250, 0));
    assert!(number(&source["unreachable_answers"]) > 0);
}

#[test]
fn what_a_sink_cannot_attribute_is_counted_apart() {
    let (sink, udp, _) = sink();
    let to = udp.as_str().unwrap();
    let stray = UdpSocket::bind("127.0.0.1:0").unwrap();
    stray.send_to(&[0xff; 100], to).unwrap();
    stray.send_to(b"tiny", to).unwrap();
    let mut numbered = [0_u8; 16];
    for sequence in [0_u8, 1, 3, 2, 2, 6] {
        numbered[..8].copy_from_slice(&[0, 7, 0, 9, 0, 0, 0, sequence]);
        stray.send_to(&numbered, to).unwrap();
    }
    // Too short to name a run: it counts for those who have named theirs.
    stray.send_to(b"tiny", to).unwrap();
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"tiny", to).unwrap();
    let got = sink.stop();
    assert_eq!(number(&got["sockets"][0]["foreign_packets"]), 3);
    assert_eq!(got["sources"].as_array().unwrap().len(), 1);
    let one = &got["sources"][0];
    let count = |name: &str| number(&one[name]);
    assert_eq!((count("source"), count("packets"), count("unnumbered_packets")), (9, 7, 1));
    // Two of 0 … 6 did not come, and one packet could not carry its number.
    assert_eq!(
        (count("lost_packets"), count("reordered_packets"), count("duplicated_packets")),
        (1, 1, 1)
    );
}

#[test]
fn the_end_of_standard_input_and_signals_end_both_in_order() {
    let (sink, udp, _) = sink();
    let endless = json!({"name": "a", "transport": "udp", "to": udp, "model": cbr(8_000_000)});
    let mut sender = Agent::begin("send", &json!({"sources": [endless], "nonce": 7}));
    sender.start();
    assert_eq!(sender.next()["event"], "progress");
    let sent = sender.close();
    assert!(number(&sent["offered_packets"]) > 100);
    sink.signal("TERM");
    let got = sink.report();
    assert_eq!(got["sources"][0]["packets"], sent["sources"][0]["sent_packets"]);
}

#[test]
fn the_end_may_come_before_the_start() {
    let (_sink, udp, _) = sink();
    let sender = Agent::begin("send", &json!({"sources": [source("udp", &udp, &cbr(8_000_000))]}));
    assert_eq!(number(&sender.stop()["offered_packets"]), 0);
    let listen = json!({"listen": [{"transport": "udp", "address": "127.0.0.1:0"}]});
    assert_eq!(Agent::begin("sink", &listen).close()["sources"], json!([]));
}

#[test]
fn wrong_configurations_are_named() {
    let with = |key: &str, value: Value| {
        let mut source = source("udp", &json!("127.0.0.1:9"), &cbr(1_000_000));
        source[key] = value;
        json!({"sources": [source]})
    };
    let cases = [
        (json!({"sources": []}), "there is nothing to send", 2),
        (json!({"sauces": []}), "unknown field `sauces`", 2),
        (
            with("model", json!({"kind": "cbr", "rate_bits_per_second": 0})),
            "a source of 0 bit/s never sends a packet",
            2,
        ),
        (with("model", json!({"kind": "cbr", "rate": 5})), "unknown field `rate`", 2),
        (
            with("model", json!({"kind": "playback", "capture": "/nowhere.pcap"})),
            "/nowhere.pcap",
            2,
        ),
        (
            with("model", json!({"kind": "playback", "capture": "x", "filter": "udp prt 5"})),
            "filter",
            2,
        ),
        (with("release", json!({"timer_hz": 0})), "a timer of 0 Hz", 2),
        (with("from", json!("near")), "is no address", 2),
        (with("from", json!("::1")), "different versions of IP", 2),
        (with("from", json!("192.0.2.1")), "cannot send from 192.0.2.1:0", 1),
        (with("transport", json!("tcp")), "cannot connect to 127.0.0.1:9", 1),
    ];
    for (configuration, message, code) in cases {
        let (event, found) = Agent::refused("send", &configuration);
        assert!(
            event["message"].as_str().unwrap().contains(message),
            "{event} should contain {message}"
        );
        assert!(!event["hint"].as_str().unwrap().is_empty());
        assert_eq!(found, code, "{event}");
    }
    let (event, _) = Agent::refused("sink", &json!({"listen": []}));
    assert!(event["message"].as_str().unwrap().contains("there is no address to receive at"));
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let listen = json!({"listen": [{"transport": "udp",
        "address": taken.local_addr().unwrap().to_string()}]});
    let (event, code) = Agent::refused("sink", &listen);
    assert!(event["hint"].as_str().unwrap().contains("another program listens there"), "{event}");
    assert_eq!(code, 1);
}
