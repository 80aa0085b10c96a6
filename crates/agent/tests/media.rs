//! A media stream between a server and a client, over a path that loses packets and one that does
//! not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod agent;

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use agent::{Agent, number, rows};
use serde_json::{Value, json};

/// 20 frames of 1875 bytes in two parts, in 0.2 s.
fn media() -> Value {
    json!({"rate_bits_per_second": 1_500_000, "frames_per_second": 100, "frames": 20})
}

fn server(transport: &str, media: &Value) -> (Agent, String) {
    let configuration = json!({
        "role": "send", "transport": transport, "listen": "127.0.0.1:0", "media": media,
    });
    let mut server = Agent::begin("media", &configuration);
    server.start();
    let address = server.ready["listening"][0].as_str().unwrap().to_owned();
    (server, address)
}

fn receive(configuration: &Value) -> Value {
    let mut client = Agent::begin("media", configuration);
    client.start();
    let report = client.report();
    assert_eq!(client.exit_code(), 0);
    report
}

#[test]
fn every_packet_arrives_in_order_over_udp_and_tcp() {
    for transport in ["udp", "tcp"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rows");
        let (server, address) = server(transport, &media());
        let report = receive(&json!({
            "role": "receive", "transport": transport, "to": address, "media": media(),
            "rows": path.to_str().unwrap(),
        }));
        assert!(report["error"].is_null(), "{report}");
        assert_eq!(number(&report["complete_frames"]), 20);
        assert_eq!(number(&report["packets"]), 40);
        assert_eq!(number(&report["payload_bytes"]), 20 * 1875);
        assert_eq!(number(&report["duplicate_packets"]), 0);
        let (columns, found) = rows(&path);
        assert!(columns.iter().any(|name| name == "sent_ns") && found.len() == 40);
        for (index, row) in (0_i64..).zip(&found) {
            let (frame, part) = (index / 2, index % 2);
            assert_eq!(row[..5], [frame, part, 2, [1400, 475][usize::try_from(part).unwrap()], 0]);
        }
        // The last frame is due 190 ms after the first, which a busy machine sends late.
        let sent: Vec<i64> = found.iter().map(|row| row[5]).collect();
        assert!(sent[39] - sent[0] >= 95_000_000, "{sent:?}");
        let report = server.stop();
        assert_eq!(number(&report["streams"][0]["packets"]), 40, "{report}");
        assert_eq!(number(&report["streams"][0]["frames"]), 20);
    }
}

/// Passes datagrams on between a client and a server, and loses the first transmission of some.
fn lossy(server: SocketAddr) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    std::thread::spawn(move || {
        let (mut message, mut client) = ([0; 2048], None);
        while let Ok((length, from)) = socket.recv_from(&mut message) {
            let to = if from == server { client } else { Some(server) };
            client = client.or(Some(from));
            // Kind, transmission, and the frame's number: frames 3, 10 and 17 lose a part.
            let is_lost = message[..2] == [1, 0] && message[15] % 7 == 3 && message[3] == 1;
            if let (Some(to), false) = (to, is_lost) {
                let _ = socket.send_to(&message[..length], to);
            }
        }
    });
    address
}

#[test]
fn lost_parts_are_retransmitted_only_where_this_is_wanted() {
    // As many bytes a frame, but a second long: playing begins when the last frame has arrived, for
    // no buffer is longer than its stream, and frame 17 is played 0.85 s later. A part of it that
    // cannot arrive by then is given up, as it should be, where a busy machine answers late.
    let media = json!({"rate_bits_per_second": 300_000, "frames_per_second": 20, "frames": 20});
    for (repair, complete) in [(true, 20), (false, 17)] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rows");
        let (server, address) = server("udp", &media);
        let report = receive(&json!({
            "role": "receive", "transport": "udp", "to": lossy(address.parse().unwrap()),
            "media": media, "buffer_ns": 5_000_000_000_u64, "repair": repair,
            "rows": path.to_str().unwrap(),
        }));
        assert!(report["error"].is_null(), "{report}");
        assert_eq!(number(&report["complete_frames"]), complete, "{report}");
        let (_, found) = rows(&path);
        let again = found.iter().filter(|row| row[4] > 0);
        let mut frames: Vec<i64> = again.map(|row| row[0]).collect();
        frames.dedup();
        assert_eq!(frames, if repair { vec![3, 10, 17] } else { vec![] });
        assert_eq!(number(&report["reported_parts"]), if repair { 3 } else { 0 });
        assert!(!report["rtt_ns"].is_null());
        server.stop();
    }
}

#[test]
fn a_stream_that_dies_before_it_was_played_ends_all_the_same() {
    let media = json!({"rate_bits_per_second": 300_000, "frames_per_second": 20, "frames": 20});
    let (server, address) = server("udp", &media);
    let proxy = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = proxy.local_addr().unwrap().to_string();
    let server_address: SocketAddr = address.parse().unwrap();
    proxy.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    std::thread::spawn(move || {
        let (mut message, mut client, mut passed) = ([0; 2048], None, 0);
        while let Ok((length, from)) = proxy.recv_from(&mut message) {
            client = client.or(Some(from));
            let to = if from == server_address { client } else { Some(server_address) };
            passed += u32::from(from == server_address);
            // Five packets of the stream, and nothing in either direction any more.
            if let (Some(to), true) = (to, passed <= 5) {
                let _ = proxy.send_to(&message[..length], to);
            }
        }
    });
    let report = receive(&json!({
        "role": "receive", "transport": "udp", "to": to, "media": media,
        "buffer_ns": 5_000_000_000_u64, "repair": true,
    }));
    assert!(number(&report["complete_frames"]) < 5, "{report}");
    assert!(number(&report["reported_parts"]) > 10, "{report}");
    server.stop();
}

#[test]
fn a_server_that_is_not_there_is_an_error_of_the_report() {
    for transport in ["udp", "tcp"] {
        let report = receive(&json!({
            "role": "receive", "transport": transport, "to": "127.0.0.1:9", "media": media(),
            "answer_timeout_ns": 300_000_000,
        }));
        assert!(report["error"].as_str().unwrap().contains("refused"), "{report}");
        assert_eq!(number(&report["packets"]), 0);
    }
}

#[test]
fn impossible_streams_are_refused() {
    let client = |media: Value, transport: &str| {
        json!({
            "role": "receive", "transport": transport, "to": "127.0.0.1:9", "media": media,
            "repair": true,
        })
    };
    let slow = json!({"rate_bits_per_second": 100, "frames_per_second": 30, "frames": 3});
    for (configuration, word) in
        [(client(slow, "udp"), "rate_bits_per_second"), (client(media(), "tcp"), "repair")]
    {
        let (event, code) = Agent::refused("media", &configuration);
        assert!(event["message"].as_str().unwrap().contains(word), "{event}");
        assert_eq!(code, 2);
    }
}
