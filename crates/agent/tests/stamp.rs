//! Session-senders and session-reflectors, with each other and with hand-written peers, on
//! loopback.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "a test that cannot run says why")]

mod agent;

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use agent::{Agent, PATIENCE, has, number, rows, write_capture};
use serde_json::{Value, json};
use trustbed_units::Ns;

/// The least that no row has.
const NONE: i64 = i64::MIN;

fn reflector(more: &Value) -> (Agent, Value) {
    let mut configuration = json!({"listen": "127.0.0.2:0", "peer": "127.0.0.1"});
    configuration.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let mut reflector = Agent::begin("reflect", &configuration);
    reflector.start();
    let address = reflector.ready["listening"].clone();
    (reflector, address)
}

/// Probes of 2 ms apart: some dozens, whatever else is configured.
fn probes(to: &Value, more: &Value) -> Value {
    let mut configuration = json!({"to": to, "from": "127.0.0.1", "mean_gap_ns": 2_000_000,
        "count": 50, "seed": 3, "session": 77});
    configuration.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    configuration
}

fn probe(to: &Value, more: &Value) -> Value {
    let mut prober = Agent::begin("probe", &probes(to, more));
    prober.start();
    let report = prober.report();
    assert_eq!(prober.exit_code(), 0);
    report
}

fn socket(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn to(address: &Value) -> SocketAddr {
    address.as_str().unwrap().parse().unwrap()
}

/// Another implementation, while it runs.
struct Other {
    child: Child,
    address: String,
}

impl Other {
    /// A session-reflector that counts what it answers, with one of the two formats of time.
    fn reflector(format: &str) -> Self {
        let port = socket("127.0.0.4:0").local_addr().unwrap().port();
        let ready = format!("listening on 127.0.0.4:{port}");
        let mut command = Command::new("stamp-suite");
        command.args([
            "--is-reflector",
            "--local-addr",
            "127.0.0.4",
            "--local-port",
            &port.to_string(),
        ]);
        command.args(["--clock-source", format, "--stateful-reflector"]).env("RUST_LOG", "info");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains(&ready)), "it ended before it listened");
        // Unless its output is read, it stops.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address: format!("127.0.0.4:{port}") }
    }

    /// What a session-sender reports of all that it sent to a reflector of ours.
    fn sender(to: SocketAddr, format: &str) -> Value {
        let mut command = Command::new("stamp-suite");
        command.args([
            "--local-addr",
            "127.0.0.1",
            "--remote-addr",
            &to.ip().to_string(),
            "--remote-port",
            &to.port().to_string(),
        ]);
        command.args([
            "--clock-source",
            format,
            "--count",
            "50",
            "--send-delay",
            "2ms",
            "--timeout",
            "2",
            "--output-format",
            "json",
        ]);
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(text.lines().last().unwrap()).unwrap()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn column<'a>(
    names: &[String],
    rows: &'a [Vec<i64>],
    name: &str,
) -> impl Iterator<Item = i64> + 'a {
    let column = names.iter().position(|one| one == name).unwrap();
    rows.iter().map(move |row| row[column])
}

#[test]
fn every_probe_is_answered_and_is_a_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("probes");
    let (reflector, address) = reflector(&json!({"session": 77}));
    let sent = probe(&address, &json!({"rows": path, "payload_bytes": 200}));
    let got = reflector.stop();
    let count = |report: &Value, name: &str| number(&report[name]);
    assert_eq!(
        (count(&sent, "sent_probes"), count(&sent, "answered_probes"), count(&sent, "lost_probes")),
        (50, 50, 0),
        "{sent}"
    );
    assert_eq!(
        (count(&got, "received_packets"), count(&got, "answered_packets")),
        (50, 50),
        "{got}"
    );
    let (names, rows) = rows(&path);
    let column = |name: &str| column(&names, &rows, name).collect::<Vec<i64>>();
    assert_eq!(
        (column("sequence"), column("reflector_sequence")),
        ((0..50).collect(), (0..50).collect())
    );
    assert_eq!((column("ttl"), column("duplicates")), (vec![255; 50], vec![0; 50]));
    assert!(column("due_ns").is_sorted());
    for row in &rows {
        let at = |name: &str| row[names.iter().position(|one| one == name).unwrap()];
        // One clock: nothing comes before it was sent.
        let moments =
            ["sent_ns", "reflector_received_ns", "reflector_sent_ns", "received_ns"].map(at);
        assert!(moments.is_sorted(), "{moments:?}");
        assert_eq!(at("forward_ns") + at("backward_ns"), at("round_trip_ns"));
        assert_eq!(at("flags") & !16, 0);
    }
    let least = *column("round_trip_ns").iter().min().unwrap();
    let delays = &sent["delays"];
    assert_eq!(
        (delays["round_trip"]["least_ns"].as_i64(), number(&delays["forward"]["probes"])),
        (Some(least), 50)
    );
    let offset = &sent["clocks"]["offset"];
    let (ahead, error) =
        (offset["ahead_ns"].as_i64().unwrap(), offset["error_ns"].as_i64().unwrap());
    assert!(ahead.abs() <= error && error == (least + 1) / 2, "the same clock: {offset}");
    assert_eq!(number(&sent["departure_error"]["early_packets"]), 0);
}

#[test]
fn a_stateful_reflector_separates_the_directions() {
    let (reflector, address) = reflector(&json!({"stateful": false}));
    let sent = probe(&address, &json!({"timestamps": "ptp"}));
    assert_eq!(
        (&sent["reflector_is_stateful"], &sent["directions"], number(&sent["answered_probes"])),
        (&Value::Null, &Value::Null, 50)
    );
    reflector.stop();
    let (counting, address) = self::reflector(&json!({"timestamps": "ptp"}));
    let sent = probe(&address, &json!({"reflector_is_stateful": true, "spacing": "periodic"}));
    assert_eq!(
        (number(&sent["directions"]["lost_forward_probes"]), number(&sent["answered_probes"])),
        (0, 50)
    );
    assert_eq!(
        number(&sent["negative_round_trip_probes"]),
        0,
        "each side reads the other's format: {sent}"
    );
    counting.stop();
}

#[test]
fn packets_of_others_are_counted_and_not_answered() {
    let (reflector, address) = reflector(&json!({"session": 77, "largest_payload_bytes": 100}));
    let (stranger, peer) = (socket("127.0.0.3:0"), socket("127.0.0.1:0"));
    let mut packet = [0; 44];
    packet[12..16].copy_from_slice(&[0, 1, 0, 77]);
    stranger.send_to(&packet, to(&address)).unwrap();
    let mut wrong = packet;
    wrong[15] = 78;
    for payload in [&wrong[..], b"garbage", &[0; 101], &[], &packet[..14]] {
        peer.send_to(payload, to(&address)).unwrap();
    }
    // What is answered comes behind everything else.
    peer.send_to(&packet, to(&address)).unwrap();
    let mut bytes = [0; 200];
    assert_eq!(peer.recv_from(&mut bytes).unwrap(), (44, to(&address)));
    stranger.set_nonblocking(true).unwrap();
    assert!(stranger.recv(&mut bytes).is_err());
    let got = reflector.stop();
    let count = |name: &str| number(&got[name]);
    assert_eq!(
        (count("other_peer_packets"), count("other_session_packets"), count("too_large_packets")),
        (1, 2, 1),
        "{got}"
    );
    assert_eq!(
        (count("too_short_packets"), count("answered_packets"), count("received_packets")),
        (2, 1, 7),
        "{got}"
    );
}

#[test]
fn a_flood_is_answered_at_the_allowed_rate() {
    let (reflector, address) = reflector(&json!({"packets_per_second": 1, "burst_packets": 5}));
    let peer = socket("127.0.0.1:0");
    for _ in 0..300 {
        peer.send_to(&[1; 60], to(&address)).unwrap();
    }
    let mut bytes = [0; 200];
    for sequence in 0..5 {
        assert_eq!(peer.recv(&mut bytes).unwrap(), 60);
        assert_eq!((bytes[3], &bytes[44..60]), (sequence, &[1; 16][..]));
    }
    while number(&reflector.next()["received_packets"]) < 300 {}
    let got = reflector.stop();
    let (answered, refused) = (number(&got["answered_packets"]), number(&got["too_fast_packets"]));
    assert!((5..200).contains(&answered) && answered + refused == 300, "{got}");
}

#[test]
fn packets_that_are_no_answer_are_counted_and_do_no_harm() {
    let fake = socket("127.0.0.1:0");
    let address = json!(fake.local_addr().unwrap().to_string());
    let mut prober = Agent::begin(
        "probe",
        &probes(&address, &json!({"count": 4, "give_up_ns": 5_000_000_000_u64})),
    );
    prober.start();
    let mut bytes = [0; 200];
    for number in 0..4_u8 {
        let (length, from) = fake.recv_from(&mut bytes).unwrap();
        assert_eq!((length, bytes[3], bytes[15]), (44, number, 77));
        // The answer of one who counts: its own number, the sender's part at 24, and times of a
        // clock that is 1000 s behind.
        let mut answer = [0; 44];
        answer[3] = number;
        let seconds =
            u32::from_be_bytes(bytes[4..8].try_into().unwrap()).wrapping_sub(1000).to_be_bytes();
        answer[4..8].copy_from_slice(&seconds);
        answer[16..20].copy_from_slice(&seconds);
        answer[12..16].copy_from_slice(&[0, 1, 0, 77]);
        answer[24..38].copy_from_slice(&bytes[..14]);
        let with = |change: &dyn Fn(&mut [u8; 44])| {
            let mut changed = answer;
            change(&mut changed);
            fake.send_to(&changed, from).unwrap();
        };
        match number {
            0 => {
                fake.send_to(b"garbage", from).unwrap();
                with(&|answer| answer[15] = 78);
                with(&|answer| answer[27] = 200);
                with(&|answer| answer[28] ^= 1);
                with(&|_| {});
                with(&|_| {});
            }
            // Number 1 does not get there; what it would have been answered with is the next one's
            // number.
            1 => {}
            _ => with(&|answer| answer[3] = number - 1),
        }
    }
    let sent = prober.report();
    let count = |name: &str| number(&sent[name]);
    assert_eq!(
        (count("answered_probes"), count("lost_probes"), count("duplicated_answers")),
        (3, 1, 1),
        "{sent}"
    );
    assert_eq!(
        (count("too_short_packets"), count("other_session_packets"), count("unknown_packets")),
        (1, 1, 2),
        "{sent}"
    );
    assert_eq!(number(&sent["directions"]["lost_forward_probes"]), 1, "{sent}");
    // Kept, and reported.
    assert_eq!((count("negative_forward_probes"), count("negative_backward_probes")), (3, 0));
    assert!(sent["clocks"]["offset"]["ahead_ns"].as_i64().unwrap() < -900_000_000_000, "{sent}");
}

#[test]
fn a_missing_reflector_is_loss_and_no_failure() {
    let unused = socket("127.0.0.1:0");
    let address = json!(unused.local_addr().unwrap().to_string());
    drop(unused);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("probes");
    let sent = probe(&address, &json!({"count": 10, "give_up_ns": 100_000_000, "rows": path}));
    assert_eq!(
        (number(&sent["lost_probes"]), &sent["delays"], &sent["clocks"]["offset"]),
        (number(&sent["sent_probes"]), &Value::Null, &Value::Null)
    );
    assert!(number(&sent["unreachable_answers"]) > 0, "{sent}");
    let (names, rows) = rows(&path);
    assert!(column(&names, &rows, "round_trip_ns").all(|value| value == NONE));
    assert!(column(&names, &rows, "sent_ns").all(|value| value > 0));
}

#[test]
fn both_sides_end_on_stop() {
    let (reflector, address) = reflector(&json!({}));
    let mut endless = Agent::begin(
        "probe",
        &json!({"to": address, "from": "127.0.0.1", "mean_gap_ns": 5_000_000}),
    );
    endless.start();
    while number(&endless.next()["answered_probes"]) <= 10 {}
    let sent = endless.close();
    assert!(number(&sent["answered_probes"]) > 10, "{sent}");
    assert_eq!(
        number(&sent["sent_probes"]),
        number(&sent["answered_probes"])
            + number(&sent["indeterminate_probes"])
            + number(&sent["lost_probes"])
    );
    reflector.signal("TERM");
    // An answer may have been in transit when the prober ended.
    assert!(
        (number(&sent["answered_probes"])..=number(&sent["sent_probes"]))
            .contains(&number(&reflector.report()["answered_packets"]))
    );
    let early = Agent::begin("probe", &probes(&address, &json!({})));
    assert_eq!(number(&early.stop()["sent_probes"]), 0);
}

#[test]
fn a_reflector_ends_when_its_time_is_over() {
    if let Err(error) = UdpSocket::bind("[::1]:0") {
        println!("skipped: no IPv6: {error}");
        return;
    }
    let mut reflector = Agent::begin(
        "reflect",
        &json!({"listen": "[::1]:0", "peer": "::1", "duration_ns": 300_000_000}),
    );
    reflector.start();
    let sent = probe(
        &reflector.ready["listening"],
        &json!({"from": "::1", "count": 3, "give_up_ns": 1_000_000_000}),
    );
    assert_eq!(
        number(&sent["answered_probes"]) + number(&sent["lost_probes"]),
        number(&sent["sent_probes"]),
        "{sent}"
    );
    let report = reflector.report();
    assert_eq!((report["time_is_over"].as_bool(), reflector.exit_code()), (Some(true), 0));
}

#[test]
fn wrong_configurations_are_named() {
    let cases = [
        (
            "reflect",
            json!({"listen": "0.0.0.0:0", "peer": "127.0.0.1"}),
            "every address of this host",
            2,
        ),
        ("reflect", json!({"listen": "127.0.0.1:0", "peer": "::1"}), "different versions of IP", 2),
        ("reflect", json!({"listen": "127.0.0.1:0", "peer": "near"}), "is no address", 2),
        ("reflect", json!({"listen": "127.0.0.1:0"}), "missing field `peer`", 2),
        (
            "reflect",
            json!({"listen": "127.0.0.1:0", "peer": "127.0.0.1", "packets_per_second": 0}),
            "answers nothing",
            2,
        ),
        (
            "reflect",
            json!({"listen": "127.0.0.1:0", "peer": "127.0.0.1", "largest_payload_bytes": 43}),
            "largest_payload_bytes: 43",
            2,
        ),
        (
            "reflect",
            json!({"listen": "192.0.2.1:862", "peer": "127.0.0.1"}),
            "cannot receive at 192.0.2.1:862",
            1,
        ),
        ("probe", json!({"to": "127.0.0.1:9", "mean_gap_ns": 99_999}), "mean_gap_ns: 99999", 2),
        ("probe", json!({"to": "127.0.0.1:9", "payload_bytes": 43}), "payload_bytes: 43", 2),
        ("probe", json!({"to": "127.0.0.1:9", "timestamps": "unix"}), "unknown variant `unix`", 2),
        ("probe", json!({"to": "127.0.0.1:9", "from": "::1"}), "different versions of IP", 2),
        ("probe", json!({"to": "127.0.0.1:9", "rows": "/nowhere/rows"}), "/nowhere/rows", 1),
    ];
    for (verb, configuration, message, code) in cases {
        let (event, found) = Agent::refused(verb, &configuration);
        assert!(
            event["message"].as_str().unwrap().contains(message),
            "{event} should contain {message}"
        );
        assert!(!event["hint"].as_str().unwrap().is_empty());
        assert_eq!(found, code, "{event}");
    }
}

/// A capture of UDP datagrams: source port, destination port, payload.
fn capture(path: &Path, datagrams: &[(u16, u16, Vec<u8>)]) {
    let frame = |(from, to, payload): &(u16, u16, Vec<u8>)| {
        let mut bytes = vec![0_u8; 12];
        let udp = u16::try_from(8 + payload.len()).unwrap();
        bytes.extend([0x08, 0, 0x45, 0]);
        bytes.extend((20 + udp).to_be_bytes());
        bytes.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        for half in [*from, *to, udp, 0] {
            bytes.extend(half.to_be_bytes());
        }
        bytes.extend(payload);
        (Ns(1_700_000_000_000_000_000), bytes)
    };
    write_capture(path, datagrams.iter().map(frame));
}

#[test]
fn tshark_decodes_both_packets() {
    if !has("tshark") {
        return;
    }
    let (reflector, address) = reflector(&json!({}));
    // Between the two: it passes on what it gets, and keeps it.
    let (near, far) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
    far.set_ttl(61).unwrap();
    let middle = json!(near.local_addr().unwrap().to_string());
    let directory = tempfile::tempdir().unwrap();
    let (rows_path, trace) = (directory.path().join("rows"), directory.path().join("trace.pcapng"));
    let mut prober = Agent::begin(
        "probe",
        &probes(&middle, &json!({"count": 1, "payload_bytes": 60, "rows": rows_path})),
    );
    prober.start();
    let mut bytes = [0; 200];
    let (length, from) = near.recv_from(&mut bytes).unwrap();
    let request = bytes[..length].to_vec();
    far.send_to(&request, to(&address)).unwrap();
    let length = far.recv(&mut bytes).unwrap();
    let answer = bytes[..length].to_vec();
    near.send_to(&answer, from).unwrap();
    prober.report();
    reflector.stop();
    capture(&trace, &[(9000, 862, request), (862, 9000, answer)]);
    let fields = [
        "seq_number",
        "mbz1",
        "sender_seq_number",
        "sender_ttl",
        "error_estimate.z",
        "timestamp",
        "receive_timestamp",
        "sender_timestamp",
    ];
    let mut tshark = Command::new("tshark");
    tshark
        .args([
            "-r",
            trace.to_str().unwrap(),
            "-d",
            "udp.port==862,twamp.test",
            "-T",
            "fields",
            "-t",
            "e",
        ])
        .env("TZ", "UTC");
    for field in fields {
        tshark.args(["-e", &format!("twamp.test.{field}")]);
    }
    let output = tshark.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((lines.len(), lines[0][0], lines[1][0]), (2, "0", "0"), "{text}");
    assert_eq!(
        (lines[0][1], lines[1][1], lines[1][2], lines[1][3]),
        ("77", "77", "0", "61"),
        "{text}"
    );
    let (names, rows) = rows(&rows_path);
    // tshark writes the day in words and the second with nanoseconds: those are compared.
    let seconds = |text: &str| {
        let time = text.split_whitespace().find(|word| word.contains(':')).unwrap();
        time.rsplit(':').next().unwrap().trim_end_matches('Z').to_owned()
    };
    let ours = |name: &str| {
        let at = column(&names, &rows, name).next().unwrap();
        format!("{:02}.{:09}", at / 1_000_000_000 % 60, at % 1_000_000_000)
    };
    assert_eq!(seconds(lines[1][5]), ours("reflector_sent_ns"), "{text}");
    assert_eq!(seconds(lines[1][6]), ours("reflector_received_ns"), "{text}");
    assert_eq!(lines[0][5], lines[1][7], "{text}");
}

#[test]
fn another_implementation_reflects_what_we_send() {
    if !has("stamp-suite") {
        return;
    }
    for format in ["NTP", "PTP"] {
        let other = Other::reflector(format);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("probes");
        let more = json!({"rows": path, "reflector_is_stateful": true,
            "timestamps": format.to_lowercase()});
        let sent = probe(&json!(other.address), &more);
        let count = |name: &str| number(&sent[name]);
        assert_eq!(
            (count("sent_probes"), count("answered_probes"), count("lost_probes")),
            (50, 50, 0),
            "{sent}"
        );
        assert_eq!(
            (
                number(&sent["directions"]["lost_forward_probes"]),
                count("negative_round_trip_probes")
            ),
            (0, 0),
            "{sent}"
        );
        let (names, rows) = rows(&path);
        for row in &rows {
            let at = |name: &str| row[names.iter().position(|one| one == name).unwrap()];
            let moments =
                ["sent_ns", "reflector_received_ns", "reflector_sent_ns", "received_ns"].map(at);
            assert!(moments.is_sorted(), "one clock, in its format: {moments:?}");
            assert_eq!(at("ttl"), 255);
        }
        assert_eq!(
            column(&names, &rows, "reflector_sequence").collect::<Vec<_>>(),
            (0..50).collect::<Vec<_>>()
        );
    }
}

#[test]
fn packets_of_another_implementation_are_reflected() {
    if !has("stamp-suite") {
        return;
    }
    for format in ["NTP", "PTP"] {
        let (reflector, address) = reflector(&json!({"timestamps": format.to_lowercase()}));
        let report = Other::sender(to(&address), format);
        let got = reflector.stop();
        assert_eq!(
            (number(&got["received_packets"]), number(&got["answered_packets"])),
            (50, 50),
            "{got}"
        );
        assert_eq!(
            (number(&report["packets_sent"]), number(&report["packets_received"])),
            (50, 50),
            "{report}"
        );
        let delays = &report["owd"];
        assert_eq!(
            (number(&delays["samples"]), &delays["clock_quality"]["last_reflector"]["format"]),
            (50, &json!(format)),
            "{report}"
        );
        for key in ["forward_min_ms", "reverse_min_ms"] {
            assert!(delays[key].as_f64().unwrap() >= 0.0, "one clock, in its format: {report}");
        }
    }
}
