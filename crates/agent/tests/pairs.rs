//! Rounds of connection pairs, on the loopback interface.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod agent;
mod rounds;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use agent::{Agent, number};
use rounds::{
    Header, NONCE, ROUND, closes, merged, moment, pair, rate, receiver, refused, reset, rows,
    send_configuration, sender, three_pairs, wait_for_progress,
};
use serde_json::{Value, json};

#[allow(clippy::cast_precision_loss, reason = "a rate is a float")]
fn per_second(bytes: u64, nanoseconds: i64) -> f64 {
    bytes as f64 * 1e9 / nanoseconds as f64
}

/// What somebody does who takes connections.
type Act<'a> = &'a dyn Fn(TcpStream);

#[test]
fn six_connections_carry_the_declared_bytes() {
    let connections = three_pairs(16 << 10, 1 << 20);
    let (mut receiver, to) = receiver(&connections, &json!({}));
    let buffers = json!({"probe": 65536, "data": null});
    let mut sender = sender(
        &to,
        &connections,
        &json!({"send_buffer_bytes": buffers, "tcp": {"congestion_control": "reno"}}),
    );
    let (sent, got) = (sender.report(), receiver.report());
    assert_eq!((sender.exit_code(), receiver.exit_code()), (0, 0), "both end by themselves");
    assert_eq!(
        (&sent["order"], &sent["partial"], &got["partial"]),
        (&json!("concurrent"), &json!(false), &json!(false))
    );
    assert_eq!(
        (&got["time_is_over"], refused(&got), &got["listening"]),
        (&json!(false), json!({}), &to)
    );
    assert_eq!((rows(&sent).len(), rows(&got).len()), (6, 6));
    for ((sent, got), declared) in
        rows(&sent).iter().zip(rows(&got)).zip(connections.as_array().unwrap())
    {
        let size = number(&declared["bytes"]);
        for row in [sent, got] {
            assert_eq!(
                (&row["pair"], &row["role"], number(&row["size_bytes"])),
                (&declared["pair"], &declared["role"], size)
            );
            assert_eq!(
                (&row["close"], &row["failed"], &row["failure"]),
                (&json!("complete"), &json!(false), &Value::Null),
                "{row}"
            );
            assert_eq!(number(&row["payload_bytes"]), size);
            assert!(number(&row["maximum_segment_bytes"]) >= 536, "{row}");
        }
        assert_eq!((&sent["local"], &sent["peer"]), (&got["peer"], &got["local"]));
        assert_eq!(sent["peer"], to[declared["role"].as_str().unwrap()]);
        let order = ["begun_ns", "connected_ns", "first_byte_ns", "acknowledged_ns", "result_ns"]
            .map(|name| moment(sent, name));
        assert!(
            order.is_sorted() && moment(sent, "first_byte_ns") <= moment(sent, "last_byte_ns"),
            "{sent}"
        );
        assert_eq!(
            moment(sent, "connect_time_ns"),
            moment(sent, "connected_ns") - moment(sent, "begun_ns")
        );
        let order = ["accepted_ns", "first_byte_ns", "last_byte_ns", "result_ns"]
            .map(|name| moment(got, name));
        assert!(order.is_sorted(), "{got}");
        // Bytes over seconds, as the methods define them.
        let expected = per_second(size, moment(got, "last_byte_ns") - moment(got, "accepted_ns"));
        assert!((rate(got, "app_bytes_per_second") / expected - 1.0).abs() < 1e-9, "{got}");
        assert!(
            (rate(sent, "app_bytes_per_second") / expected - 1.0).abs() < 1e-9,
            "the receiver's own moments: {sent}"
        );
        let expected =
            per_second(size, moment(sent, "acknowledged_ns") - moment(sent, "first_byte_ns"));
        assert!((rate(sent, "snd_bytes_per_second") / expected - 1.0).abs() < 1e-9, "{sent}");
        assert_eq!(number(&sent["receiver"]["payload_bytes"]), size);
        let window = if declared["role"] == "probe" { 16 << 10 } else { 64 << 10 };
        assert_eq!(
            (number(&got["window_clamp_bytes"]), number(&got["receive_buffer_bytes"])),
            (window, 2 * window)
        );
        assert_eq!(
            (&sent["congestion_control"], &got["congestion_control"]),
            (&json!("reno"), &json!("cubic"))
        );
        assert!(
            number(&sent["tcp"]["acknowledged_bytes"]) >= size + 64
                && number(&got["tcp"]["received_bytes"]) >= size + 64
        );
    }
    let of_probes = rows(&sent).iter().filter(|row| row["role"] == "probe");
    assert!(of_probes.into_iter().all(|row| row["send_buffer_bytes"] == 2 * 65536));
    let begun: Vec<i64> = rows(&sent).iter().map(|row| moment(row, "begun_ns")).collect();
    assert_eq!(
        moment(&sent, "opening_spread_ns"),
        begun.iter().max().unwrap() - begun.iter().min().unwrap()
    );
}

#[test]
fn no_connection_is_offered_more_than_its_window() {
    let connections = three_pairs(64 << 10, 1 << 20);
    // Segments as on Ethernet: those of the loopback interface are larger than a window.
    let tcp = json!({"maximum_segment_bytes": 1448});
    let windows = json!({"probe": 8 << 10, "data": 32 << 10});
    let (receiver, to) = receiver(&connections, &json!({"tcp": tcp, "window_bytes": windows}));
    let sent = sender(&to, &connections, &json!({"tcp": tcp})).report();
    let got = receiver.report();
    for (sent, got) in rows(&sent).iter().zip(rows(&got)) {
        let window = number(&windows[sent["role"].as_str().unwrap()]);
        assert_eq!(
            (number(&got["window_clamp_bytes"]), &got["close"]),
            (window, &json!("complete"))
        );
        for offered in [&sent["tcp"]["send_window_bytes"], &got["tcp"]["receive_window_bytes"]] {
            assert!(
                offered.as_u64().is_none_or(|offered| offered <= window),
                "{offered} of {window}"
            );
        }
    }
}

#[test]
fn a_window_of_null_leaves_the_receive_buffer_to_autotuning() {
    let connections = three_pairs(64 << 10, 4 << 20);
    let windows = json!({"probe": 8 << 10, "data": null});
    let (receiver, to) = receiver(&connections, &json!({"window_bytes": windows}));
    sender(&to, &connections, &json!({})).report();
    for row in rows(&receiver.report()) {
        assert_eq!(row["close"], "complete");
        let is_clamped = number(&row["window_clamp_bytes"]) == 8 << 10;
        assert_eq!(is_clamped, row["role"] == "probe", "{row}");
    }
}

#[test]
fn in_sequence_the_data_of_a_pair_begin_when_its_probe_has_ended() {
    // The data are declared first in one pair: the role decides, not the order of the
    // configuration.
    let mut all =
        [pair(0, 32 << 10, 300_000), pair(1, 64 << 10, 300_000), pair(2, 16 << 10, 300_000)]
            .concat();
    all.swap(0, 1);
    let connections = Value::from(all);
    let (mut receiver, to) = receiver(&connections, &json!({}));
    let mut sender = sender(&to, &connections, &json!({"order": "sequential"}));
    let (sent, got) = (sender.report(), receiver.report());
    assert_eq!(
        (sender.exit_code(), receiver.exit_code(), &sent["partial"], &got["partial"]),
        (0, 0, &json!(false), &json!(false))
    );
    let of = |pair: u32, role: &str| {
        rows(&sent).iter().find(|row| row["pair"] == pair && row["role"] == role).unwrap()
    };
    for pair in 0..3 {
        assert!(
            moment(of(pair, "data"), "begun_ns") >= moment(of(pair, "probe"), "result_ns"),
            "pair {pair}"
        );
    }
    let probes: Vec<i64> = (0..3).map(|pair| moment(of(pair, "probe"), "begun_ns")).collect();
    assert_eq!(
        moment(&sent, "opening_spread_ns"),
        probes.iter().max().unwrap() - probes.iter().min().unwrap()
    );
}

#[test]
fn both_versions_of_ip_are_served() {
    let connections = json!(pair(0, 1000, 100_000));
    let (receiver, to) = receiver(&connections, &json!({"listen": "::1", "peer": "::1"}));
    let sent = sender(&to, &connections, &json!({"from": "::1"})).report();
    assert_eq!(
        (closes(&sent), closes(&receiver.report())),
        (vec!["complete"; 2], vec!["complete"; 2])
    );
}

#[test]
fn a_stop_ends_both_sides() {
    let connections = json!(pair(0, 1000, 1 << 30));
    let slowly = json!({"rate_bits_per_second": 8_000_000, "order": "sequential"});
    let (receiver, to) = receiver(&connections, &json!({}));
    let sender = sender(&to, &connections, &slowly);
    wait_for_progress(&sender, |event| number(&event["payload_bytes"]) > 1000);
    let (sent, got) = (sender.close(), receiver.stop());
    assert_eq!(closes(&sent), ["complete", "stopped"]);
    // The receiver sees the sender's end, or its own first.
    assert_eq!(closes(&got)[0], "complete");
    assert!(["too_short", "stopped"].contains(&closes(&got)[1]), "{got}");
    assert!(number(&rows(&sent)[1]["payload_bytes"]) < 1 << 30);
    assert_eq!((&sent["partial"], &rows(&sent)[1]["failed"]), (&json!(true), &json!(true)));
}

#[test]
fn a_stop_may_precede_the_start() {
    let connections = json!(pair(0, 1000, 1000));
    let (receiver, to) = receiver(&connections, &json!({}));
    let kept = Header::data(0, 1000).connect(&to["data"]);
    let waiting = Agent::begin("pairs", &send_configuration(&to, &connections, &json!({}))).close();
    assert_eq!((&waiting["start_ns"], closes(&waiting)), (&Value::Null, vec!["stopped"; 2]));
    let mut future = Agent::begin("pairs", &send_configuration(&to, &connections, &json!({})));
    future.send(&json!({"do": "start", "at_ns": 4_000_000_000_000_000_000_i64}));
    assert_eq!(future.next()["event"], "started");
    let future = future.stop();
    assert_eq!((closes(&future), &future["opening_spread_ns"]), (vec!["stopped"; 2], &Value::Null));
    // One of two has come.
    wait_for_progress(&receiver, |event| event["open_connections"] == 1);
    assert_eq!(closes(&receiver.stop()), ["absent", "stopped"]);
    drop(kept);
    let unstarted = json!({"role": "receive", "listen": "::1", "peer": "::1", "round": 1,
        "nonce": NONCE, "connections": connections});
    let unstarted = Agent::begin("pairs", &unstarted).close();
    assert_eq!((&unstarted["start_ns"], closes(&unstarted)), (&Value::Null, vec!["stopped"; 2]));
}

#[test]
fn a_phase_ends_after_its_duration() {
    let connections = json!(pair(0, 1000, 1000));
    let (mut receiver, to) = receiver(&connections, &json!({"duration_ns": 2_000_000_000_u64}));
    let kept = Header::data(0, 1000).connect(&to["data"]);
    let got = receiver.report();
    assert_eq!(
        (receiver.exit_code(), &got["time_is_over"], closes(&got)),
        (0, &json!(true), vec!["absent", "timed_out"])
    );
    assert!(rows(&got)[1]["failure"].as_str().unwrap().contains("duration_ns"), "{got}");
    drop(kept);
}

#[test]
fn a_rate_holds_on_either_side() {
    let connections = json!([{"pair": 0, "role": "data", "bytes": 200_000}]);
    let limit = json!({"rate_bits_per_second": 4_000_000});
    // Each by the moments of the side that keeps it.
    for (at_receiver, at_sender, measured) in
        [(&limit, &json!({}), "app_bytes_per_second"), (&json!({}), &limit, "snd_bytes_per_second")]
    {
        let (receiver, to) = receiver(&connections, at_receiver);
        let sent = sender(&to, &connections, at_sender).report();
        let got = receiver.report();
        assert_eq!((closes(&sent), closes(&got)), (vec!["complete"], vec!["complete"]));
        // 500 kB/s; the first piece and 10 ms are free: 15 kB of 200.
        let found = rate(&rows(&sent)[0], measured);
        assert!(found < 500_000.0 * 200.0 / 180.0, "{measured}: {found}");
    }
}

#[test]
fn a_faulty_receiver_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = json!({"data": listener.local_addr().unwrap().to_string(), "probe": null});
    let connections = json!([{"pair": 3, "role": "data", "bytes": 10}]);
    let meet = |act: Act<'_>, more: &Value| {
        let mut sender = sender(&to, &connections, more);
        let (mut stream, _) = listener.accept().unwrap();
        let mut come = Vec::new();
        Read::by_ref(&mut stream).take(74).read_to_end(&mut come).unwrap();
        assert_eq!(come[..64], Header::data(3, 10).bytes(), "as documented");
        assert_eq!(come.len(), 74);
        act(stream);
        let report = sender.report();
        assert_eq!(sender.exit_code(), 0);
        rows(&report)[0].clone()
    };
    let answer = |close: u8, pair: u32, bytes: u64| {
        let mut text = b"TBANSWR\0\0\x01\x02".to_vec();
        text.push(close);
        text.extend(pair.to_be_bytes());
        for part in [ROUND, bytes, 1_000, 2_000, 3_000, 0] {
            text.extend(part.to_be_bytes());
        }
        text
    };
    let write = |text: Vec<u8>| move |stream: TcpStream| (&stream).write_all(&text).unwrap();
    let none = json!({});
    let good = meet(&write(answer(1, 3, 10)), &none);
    assert_eq!(
        (&good["close"], &good["receiver"]["first_byte_realtime_ns"]),
        (&json!("complete"), &json!(2000))
    );
    // 10 bytes in 2000 ns of its clock.
    assert!((rate(&good, "app_bytes_per_second") - 5e6).abs() < 1e-3);
    let cases: [(Act<'_>, &str, &str); 8] = [
        (&drop, "unanswered", "ended without an answer"),
        (&write(answer(1, 3, 10)[..63].to_vec()), "unanswered", "ended without an answer"),
        (&write(vec![7; 64]), "unanswered", "malformed"),
        (&write([answer(1, 3, 10), vec![0; 9000]].concat()), "unanswered", "more than an answer"),
        (&write(answer(1, 4, 10)), "unanswered", "another connection"),
        (&write(answer(1, 3, 9)), "unanswered", "impossible"),
        (&write(answer(2, 3, 9)), "too_short", "had 9 bytes"),
        (&reset, "reset", "reset"),
    ];
    for (act, close, why) in cases {
        let row = meet(act, &none);
        assert_eq!((row["close"].as_str(), &row["failed"]), (Some(close), &json!(true)), "{row}");
        assert!(row["failure"].as_str().unwrap().contains(why), "{row} should contain {why}");
    }
    let kept = std::cell::RefCell::new(None);
    let silent = meet(
        &|stream| drop(kept.replace(Some(stream))),
        &json!({"transfer_timeout_ns": 200_000_000}),
    );
    assert_eq!(silent["close"], "timed_out");
    drop(listener);
    let report = sender(&to, &connections, &none).report();
    assert_eq!(
        (closes(&report), &rows(&report)[0]["connected_ns"]),
        (vec!["refused"], &Value::Null)
    );
    assert!(rows(&report)[0]["failure"].as_str().unwrap().contains("refused"));
}

#[test]
fn wrong_configurations_are_named() {
    let connections = json!(pair(0, 1, 1));
    let receive = json!({"role": "receive", "listen": "127.0.0.1", "peer": "127.0.0.1",
        "round": 1, "nonce": NONCE, "connections": connections});
    let to = json!({"probe": "127.0.0.1:9", "data": "127.0.0.1:9"});
    let send = send_configuration(&to, &connections, &json!({}));
    let cases = [
        (&receive, json!({"role": "both"}), "unknown variant `both`", 2),
        (
            &receive,
            json!({"listen": "0.0.0.0"}),
            "listen: 0.0.0.0 is every address of this host",
            2,
        ),
        (&receive, json!({"peer": "::1"}), "of different versions of IP", 2),
        (&receive, json!({"nonce": "00"}), "32 hexadecimal digits", 2),
        (&receive, json!({"connections": []}), "connections: 0 of them", 2),
        (
            &receive,
            json!({"connections": [connections[0], connections[0]]}),
            "pair 0 has two of one role",
            2,
        ),
        (
            &receive,
            json!({"connections": [{"pair": 0, "role": "data", "bytes": 0}]}),
            "0 bytes is out of range",
            2,
        ),
        (
            &receive,
            json!({"window_bytes": {"probe": 0, "data": 1}}),
            "window_bytes: 0 is out of range",
            2,
        ),
        (&receive, json!({"window_bytes": {"probes": 1}}), "unknown field `probes`", 2),
        (&receive, json!({"tcp": {"window_clamp_bytes": 5}}), "the same for probes and data", 2),
        (&receive, json!({"rate_bits_per_second": 0}), "moves nothing", 2),
        (&receive, json!({"rounds": 1}), "unknown field `rounds`", 2),
        (
            &receive,
            json!({"listen": "192.0.2.1", "peer": "192.0.2.2"}),
            "cannot listen at 192.0.2.1:0",
            1,
        ),
        (&send, json!({"from": "::"}), "from: :: is every address of this host", 2),
        (&send, json!({"from": "::1"}), "of different versions of IP", 2),
        (&send, json!({"from": "192.0.2.1"}), "cannot send from 192.0.2.1:0", 1),
        (&send, json!({"to": {"probe": "127.0.0.1:9"}}), "to: pair 0 has no port to go to", 2),
        (&send, json!({"order": "random"}), "unknown variant `random`", 2),
        (&send, json!({"rate_bits_per_second": 0}), "moves nothing", 2),
        (&send, json!({"tcp": {"send_buffer_bytes": 5}}), "the same for probes and data", 2),
    ];
    for (base, change, message, expected) in cases {
        let (event, code) = Agent::refused("pairs", &merged(base.clone(), &change));
        assert!(
            event["message"].as_str().unwrap().contains(message),
            "{event} should contain {message}"
        );
        assert_eq!(code, expected, "{event}");
        assert!(!event.to_string().contains(NONCE));
    }
}
