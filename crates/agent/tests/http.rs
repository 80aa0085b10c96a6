//! The server against other clients, the client against other servers, and both against each other.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod agent;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread::JoinHandle;

use agent::{Agent, has, number, rows, sum};
use serde_json::{Value, json};

const NONE: i64 = i64::MIN;

fn server() -> (Agent, String) {
    let mut server = Agent::begin("serve", &json!({"listen": ["127.0.0.1:0"]}));
    server.start();
    let address = server.ready["listening"][0].as_str().unwrap().to_owned();
    (server, address)
}

fn fetch(configuration: &Value) -> Value {
    let mut client = Agent::begin("fetch", configuration);
    client.start();
    let report = client.report();
    assert_eq!(client.exit_code(), 0);
    report
}

fn object(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|offset| u8::try_from(offset % 251).unwrap()).collect()
}

/// A server that reads a request and gives these answers, one to each connection, then closes.
fn answers(texts: Vec<Vec<u8>>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let thread = std::thread::spawn(move || {
        for text in texts {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.push(byte[0]);
            }
            for piece in text.chunks(7) {
                // A client that has seen enough may close before the end.
                let _ = stream.write_all(piece);
            }
        }
    });
    (address, thread)
}

#[test]
fn client_and_server_transfer_every_byte() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows");
    for (reuse, bytes, connections) in [(true, 4096, 3), (false, 1_000_000, 2), (true, 0, 1)] {
        let (server, to) = server();
        let configuration = json!({"to": to, "object_bytes": bytes, "connections": connections,
            "count": 40, "reuse": reuse, "check": true, "rows": path});
        let report = fetch(&configuration);
        let count = |name: &str| number(&report[name]);
        assert_eq!(
            (count("requests"), count("good_requests"), count("payload_bytes")),
            (40, 40, 40 * bytes),
            "{report}"
        );
        // A connection that is made late may find every object fetched.
        let made = if reuse { 1..=connections } else { 40..=40 };
        assert!(made.contains(&count("connections")), "{report}");
        assert_eq!(sum(&report["good_requests_per_second"]), 40);
        assert_eq!(report["statuses"], json!({"200": 40}));
        let (names, rows) = rows(&path);
        assert_eq!((names[2].as_str(), names[9].as_str(), rows.len()), ("begun_ns", "fault", 40));
        for row in &rows {
            let [begun, connected, sent, first, last] = [row[2], row[3], row[4], row[5], row[6]];
            assert!(begun <= sent && sent <= first && first <= last, "{row:?}");
            assert!(connected == NONE || (begun <= connected && connected <= sent), "{row:?}");
            assert_eq!((row[7].unsigned_abs(), row[8], row[9]), (bytes, 200, 0), "{row:?}");
        }
        assert_eq!(rows.iter().filter(|row| row[3] != NONE).count() as u64, count("connections"));
        let mut numbers: Vec<i64> = rows.iter().map(|row| row[1]).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..40).collect::<Vec<_>>());
        let answered = server.stop();
        assert_eq!(
            (number(&answered["answers"]), number(&answered["payload_bytes"])),
            (40, 40 * bytes)
        );
        assert_eq!(
            (number(&answered["refusals"]), number(&answered["broken_connections"])),
            (0, 0)
        );
    }
}

#[test]
fn curl_gets_what_it_asks_for() {
    if !has("curl") {
        return;
    }
    let (server, address) = server();
    let curl = |words: &[&str]| Command::new("curl").arg("-s").args(words).output().unwrap().stdout;
    for bytes in [0, 1, 251, 1_000_003] {
        assert!(
            curl(&[&format!("http://{address}/bytes/{bytes}")]) == object(bytes),
            "{bytes} bytes"
        );
    }
    let text = |words: &[&str]| String::from_utf8(curl(words)).unwrap();
    let two = format!("http://{address}/bytes/2");
    assert_eq!(
        text(&["-w", "%{num_connects}", "-o", "/dev/null", "-o", "/dev/null", &two, &two]),
        "10"
    );
    assert!(text(&["-I", &two]).contains("Content-Length: 2\r\n"));
    assert!(text(&["-i", &format!("http://{address}/")]).starts_with("HTTP/1.1 404 "));
    assert!(text(&["-i", "-d", "content", &two]).starts_with("HTTP/1.1 405 "));
    assert!(text(&["-i", "-H", "Connection: close", &two]).contains("Connection: close\r\n"));
    assert!(text(&["-0", "-i", &two]).contains("Connection: close\r\n"));
    assert_eq!(number(&server.close()["refusals"]), 2);
}

#[test]
fn ab_finds_no_failure() {
    if !has("ab") {
        return;
    }
    let (server, address) = server();
    for words in [&["-n", "200", "-c", "5"][..], &["-k", "-n", "500", "-c", "5"]] {
        let ab = Command::new("ab")
            .arg("-q")
            .args(words)
            .arg(format!("http://{address}/bytes/20000"))
            .output()
            .unwrap();
        let output = String::from_utf8(ab.stdout).unwrap();
        let value = |name: &str| {
            output.lines().find_map(|line| line.strip_prefix(name)).map_or("", str::trim).to_owned()
        };
        assert_eq!(
            (value("Complete requests:"), value("Failed requests:")),
            (words[words.len() - 3].to_owned(), "0".to_owned()),
            "{output}"
        );
        assert_eq!(value("Document Length:"), "20000 bytes");
        if words[0] == "-k" {
            assert_eq!(value("Keep-Alive requests:"), "500");
        }
    }
    assert_eq!(number(&server.stop()["payload_bytes"]) % 20_000, 0);
}

#[test]
fn a_server_survives_malformed_requests() {
    let (server, address) = server();
    let request = |text: &[u8]| {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(text).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(request(b"\x16\x03\x01 hello\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert!(request(b"GET /bytes/1 HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert_eq!(request(b"GET /byt"), "");
    assert_eq!(request(b""), "");
    let two = request(
        b"GET /bytes/3 HTTP/1.1\r\nHost: a\r\n\r\nGET /bytes/2 HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    assert_eq!(two.matches("HTTP/1.1 200 OK").count(), 2);
    assert!(two.ends_with("\r\n\r\n\u{0}\u{1}"));
    // The caller for a head only takes what follows it for the next answer.
    let heads = request(
        b"HEAD /nothing HTTP/1.1\r\nHost: a\r\n\r\nHEAD /bytes/2 HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    assert!(
        heads.starts_with("HTTP/1.1 404 ")
            && heads.contains("\r\n\r\nHTTP/1.1 200 OK\r\n")
            && heads.ends_with("\r\n\r\n"),
        "{heads}"
    );
    let report = server.stop();
    assert_eq!(
        (
            number(&report["refusals"]),
            number(&report["broken_connections"]),
            number(&report["answers"])
        ),
        (3, 1, 3)
    );
}

#[test]
fn answers_of_other_servers_are_understood() {
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
            .to_vec();
    let closed = b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\nabcde".to_vec();
    let early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: \
        5\r\n\r\nabcde"
        .to_vec();
    for text in [chunked, closed, early] {
        let (to, thread) = answers(vec![text]);
        let report = fetch(&json!({"to": to, "path": "/x", "object_bytes": 5, "count": 1}));
        assert_eq!(
            (number(&report["good_requests"]), number(&report["payload_bytes"])),
            (1, 5),
            "{report}"
        );
        thread.join().unwrap();
    }
}

#[test]
fn failures_are_rows_with_a_reason() {
    let cases = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabcde".to_vec(), "closed_early"),
        (b"".to_vec(), "closed_early"),
        (b"SSH-2.0-OpenSSH\r\n\r\n".to_vec(), "not_understood"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd".to_vec(), "wrong_content"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde".to_vec(), "wrong_content"),
    ];
    for (text, fault) in cases {
        let (to, thread) = answers(vec![text]);
        let report =
            fetch(&json!({"to": to, "path": "/x", "object_bytes": 5, "count": 1, "check": true}));
        assert_eq!(
            (&report["faults"], number(&report["failed_requests"])),
            (&json!({fault: 1}), 1),
            "{report}"
        );
        thread.join().unwrap();
    }
    let (to, thread) = answers(vec![b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".to_vec()]);
    let report = fetch(&json!({"to": to, "path": "/x", "object_bytes": 5, "count": 1}));
    assert_eq!(
        (&report["statuses"], &report["faults"], number(&report["failed_requests"])),
        (&json!({"503": 1}), &json!({}), 1)
    );
    thread.join().unwrap();
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    assert_eq!(
        fetch(&json!({"to": unused, "object_bytes": 5, "count": 2}))["faults"],
        json!({"refused": 2})
    );
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = silent.local_addr().unwrap().to_string();
    let report =
        fetch(&json!({"to": to, "object_bytes": 5, "count": 1, "timeout_ns": 200_000_000}));
    assert_eq!(report["faults"], json!({"timed_out": 1}));
}

#[test]
fn a_connection_that_the_server_closed_is_made_again() {
    // Two answers on two connections, though the first one promised to go on.
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde".to_vec();
    let (to, thread) = answers(vec![answer.clone(), answer]);
    let report = fetch(&json!({"to": to, "path": "/x", "count": 2, "pause_ns": 50_000_000}));
    assert_eq!(
        (
            number(&report["good_requests"]),
            number(&report["retries"]),
            number(&report["connections"])
        ),
        (2, 1, 2),
        "{report}"
    );
    thread.join().unwrap();
}

#[test]
fn a_stop_takes_effect_at_once() {
    let (server, to) = server();
    let mut endless =
        Agent::begin("fetch", &json!({"to": to, "object_bytes": 1_000_000_000_000_u64}));
    endless.start();
    assert_eq!(endless.next()["event"], "progress");
    let report = endless.close();
    assert_eq!((number(&report["good_requests"]), &report["faults"]), (0, &json!({"stopped": 1})));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut waiting = Agent::begin(
        "fetch",
        &json!({"to": silent.local_addr().unwrap().to_string(), "object_bytes": 5}),
    );
    waiting.start();
    drop(silent.accept().map(|_| ()));
    waiting.signal("INT");
    assert_eq!(waiting.report()["event"], "report");
    assert_eq!(number(&server.stop()["answers"]), 0);
}

#[test]
fn wrong_configurations_are_named() {
    let cases = [
        ("fetch", json!({"to": "127.0.0.1:9"}), "there is nothing to fetch"),
        ("fetch", json!({"to": "127.0.0.1:9", "path": "x"}), "path: \"x\" is none"),
        ("fetch", json!({"to": "127.0.0.1:9", "path": "/a b"}), "path: \"/a b\" is none"),
        ("fetch", json!({"to": "127.0.0.1:9", "path": "/", "host": "a\r\nb"}), "is no name"),
        (
            "fetch",
            json!({"to": "127.0.0.1:9", "object_bytes": 1, "connections": 0}),
            "connections: 0 is out of range",
        ),
        ("fetch", json!({"to": "127.0.0.1:9", "object_byte": 1}), "unknown field `object_byte`"),
        ("serve", json!({"listen": []}), "there is no address to listen at"),
        (
            "serve",
            json!({"listen": ["127.0.0.1:0"], "most_connections": 0}),
            "most_connections: 0 is out of range",
        ),
    ];
    for (verb, configuration, message) in cases {
        let (event, code) = Agent::refused(verb, &configuration);
        assert!(
            event["message"].as_str().unwrap().contains(message),
            "{event} should contain {message}"
        );
        assert_eq!(code, 2, "{event}");
    }
}

#[test]
fn who_accepts_and_answers_nothing_is_asked_less_and_less_often() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            drop(stream);
        }
    });
    let report = fetch(&json!({
        "to": address, "object_bytes": 100, "connections": 1, "duration_ns": 1_000_000_000,
    }));
    let failed = number(&report["requests"]);
    assert!((1..200).contains(&failed), "{report}");
}
