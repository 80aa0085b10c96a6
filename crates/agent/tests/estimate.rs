//! Estimates of available bandwidth on loopback: both sides as agents, and each against a
//! hand-written peer.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod agent;

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use agent::{Agent, PATIENCE, number};
use serde_json::{Value, json};

const NONCE: u64 = 0x0123_4567_89ab_cdef;
const GREETING: &[u8; 8] = b"tb-est-1";

fn with(mut configuration: Value, more: &Value) -> Value {
    configuration.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    configuration
}

fn receiver(more: &Value) -> (Agent, SocketAddr) {
    let configuration = json!({"role": "receive", "listen": "127.0.0.2:0", "peer": "127.0.0.1",
        "nonce": NONCE, "idle": "halt"});
    let mut receiver = Agent::begin("estimate", &with(configuration, more));
    receiver.start();
    let address = receiver.ready["listening"].as_str().unwrap().parse().unwrap();
    (receiver, address)
}

fn configuration(to: SocketAddr, estimator: &Value, more: &Value) -> Value {
    let configuration = json!({
        "role": "send", "to": to.to_string(), "from": "127.0.0.1", "nonce": NONCE,
        "estimator": estimator, "idle": "halt",
    });
    with(configuration, more)
}

fn sender(to: SocketAddr, estimator: &Value, more: &Value) -> Agent {
    let mut sender = Agent::begin("estimate", &configuration(to, estimator, more));
    sender.start();
    sender
}

fn estimate(to: SocketAddr, estimator: &Value, more: &Value) -> Value {
    let mut sender = sender(to, estimator, more);
    let report = sender.report();
    assert_eq!(sender.exit_code(), 0);
    report
}

/// pathload with few short streams: fleets of a sixth of a second.
fn pathload(more: &Value) -> Value {
    with(
        json!({"kind": "pathload", "streams": 3, "packets": 60, "highest_bits_per_second": 100e6,
            "time_limit_ns": 30_000_000_000_u64}),
        more,
    )
}

fn pathchirp(more: &Value) -> Value {
    let often = json!({"kind": "pathchirp", "mean_bits_per_second": 10e6, "averaged": 3,
        "adapts": false, "duration_ns": 1_500_000_000});
    with(often, more)
}

/// Every run that was sent was used, or is counted under a reason.
fn check_runs(report: &Value) {
    for kind in ["trains", "streams", "chirps"] {
        let runs = &report[kind];
        let discarded: u64 = runs["discarded"].as_object().unwrap().values().map(number).sum();
        assert!(
            number(&runs["sent"]) - number(&runs["used"]) - discarded <= 1,
            "but for one that was lost: {report}"
        );
    }
}

/// A greeting of a sender.
fn greeting(nonce: u64) -> Vec<u8> {
    [GREETING.to_vec(), nonce.to_be_bytes().to_vec()].concat()
}

fn request(run: u32, packets: u32, patience_ns: i64) -> Vec<u8> {
    [run.to_be_bytes().to_vec(), packets.to_be_bytes().to_vec(), patience_ns.to_be_bytes().to_vec()]
        .concat()
}

fn probe(nonce: u64, run: u32, number: u32, length: usize) -> Vec<u8> {
    let mut payload =
        [nonce.to_be_bytes().to_vec(), run.to_be_bytes().to_vec(), number.to_be_bytes().to_vec()]
            .concat();
    payload.resize(length, 0);
    payload
}

/// A connection from an address.
fn connect(from: &str, to: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&format!("{from}:0").parse::<SocketAddr>().unwrap().into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// A connection that the receiver has welcomed.
fn greeted(to: SocketAddr) -> TcpStream {
    let mut stream = connect("127.0.0.1", to);
    stream.write_all(&greeting(NONCE)).unwrap();
    let mut answer = [0; 8];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, GREETING);
    stream
}

/// The numbers before the arrivals, and the arrivals.
fn ask(
    stream: &mut TcpStream,
    run: u32,
    packets: u32,
    patience_ns: i64,
) -> (Vec<u32>, Vec<Option<i64>>) {
    stream.write_all(&request(run, packets, patience_ns)).unwrap();
    let mut bytes = vec![0; 16 + 8 * packets as usize];
    stream.read_exact(&mut bytes).unwrap();
    let head =
        bytes[..16].chunks(4).map(|part| u32::from_be_bytes(part.try_into().unwrap())).collect();
    let moments = bytes[16..].chunks(8).map(|part| i64::from_be_bytes(part.try_into().unwrap()));
    (head, moments.map(|moment| (moment != i64::MIN).then_some(moment)).collect())
}

/// Whether the other side ends the connection without a word.
fn is_ended(mut stream: TcpStream) -> bool {
    // What it had not read makes its end a reset.
    stream.read(&mut [0; 1]).map_or(true, |length| length == 0)
}

/// A receiver by hand, in a thread: it reports of every packet of a run what `arrival` returns for
/// its number and its length with headers.
fn by_hand(arrival: impl Fn(u32, usize) -> Option<i64> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let address = listener.local_addr().unwrap();
    let datagrams = UdpSocket::bind(address).unwrap();
    datagrams.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut received = [0; 16];
        stream.read_exact(&mut received).unwrap();
        assert_eq!(received[..], greeting(NONCE));
        stream.write_all(GREETING).unwrap();
        while stream.read_exact(&mut received).is_ok() {
            let (run, packets) =
                (received[..4].to_vec(), u32::from_be_bytes(received[4..8].try_into().unwrap()));
            let (mut length, mut payload) = (0, [0; 2000]);
            let mut seen = BTreeSet::new();
            while let Ok(found) = datagrams.recv(&mut payload) {
                assert_eq!(payload[..8], NONCE.to_be_bytes());
                assert_eq!(payload[8..12], run[..], "a run is over before it is requested");
                seen.insert(payload[12..16].to_vec());
                length = found + 28;
            }
            assert_eq!(seen.len(), packets as usize);
            let moments = (0..packets)
                .flat_map(|number| arrival(number, length).unwrap_or(i64::MIN).to_be_bytes());
            let head = [run, packets.to_be_bytes().to_vec(), vec![0; 8]].concat();
            let answer: Vec<u8> = head.into_iter().chain(moments).collect();
            stream.write_all(&answer).unwrap();
        }
    });
    address
}

/// A receiver by hand behind a link of 20 Mbit/s that always has something to send: delays rise
/// where packets come faster, and fall where they do not.
fn link() -> SocketAddr {
    by_hand(|number, length| {
        Some(i64::from(number) * i64::try_from(length).unwrap() * 8 * 1_000_000_000 / 20_000_000)
    })
}

#[test]
fn pathload_finds_the_rate_from_which_on_delays_rise() {
    let report = estimate(
        link(),
        &pathload(&json!({"resolution_bits_per_second": 1e6, "time_limit_ns": 60_000_000_000_u64})),
        &json!({}),
    );
    check_runs(&report);
    // What a machine that was late sent came at other rates than were requested, and its bounds may
    // lie anywhere.
    let punctual = number(&report["departure_error"]["over_1ms_packets"]) == 0;
    assert!(report["ending"] == "resolution" || !punctual, "{report}");
    let found = &report["pathload"];
    assert_eq!(found["dispersion_rate_bits_per_second"], 20e6, "{report}");
    if punctual {
        let bounds = ["low_bits_per_second", "high_bits_per_second"]
            .map(|name| found[name].as_f64().unwrap());
        // Rates are those that the sender's timestamps give, without the longest gaps: a little too
        // high where gaps differ.
        assert!(bounds[0] <= 22e6 && 18e6 <= bounds[1] && bounds[1] - bounds[0] <= 2e6, "{report}");
    }
    assert_eq!(number(&report["departure_error"]["early_packets"]), 0);
    assert_eq!(number(&report["stamped_early_runs"]), 0, "the loopback interface stamps: {report}");
    assert_eq!(
        number(&report["departure_error"]["packets"]),
        60 * number(&report["streams"]["sent"]),
        "trains have no moments"
    );
    assert!(
        number(&report["sent_ip_bytes"]) > 1500 * 50 && number(&report["unreachable_answers"]) == 0
    );
}

#[test]
fn pathchirp_finds_the_gap_from_which_on_delays_rise() {
    let report = estimate(link(), &pathchirp(&json!({})), &json!({}));
    check_runs(&report);
    assert_eq!(report["ending"], "time_limit");
    let (chirps, found) = (&report["chirps"], &report["pathchirp"]);
    let of_each = number(&report["sent_packets"]) / number(&chirps["sent"]);
    assert!((17..=18).contains(&of_each), "the default chirp has 18 packets: {report}");
    assert_eq!(found["ranges"].as_array().unwrap().len(), 1);
    let estimates = found["estimates"].as_array().unwrap();
    assert_eq!(
        estimates.len() as u64,
        (number(&chirps["used"]) - number(&found["unusable_chirps"])).saturating_sub(2),
        "{report}"
    );
    for one in estimates {
        // Rates are 1.2 apart, and count payload.
        let rate = one["bits_per_second"].as_f64().unwrap() * 1028.0 / 1000.0;
        assert!(
            (20e6 / 1.2..20e6 * 1.2 * 1.2).contains(&rate) && one["at_limit"] == false,
            "{report}"
        );
    }
    if let Some(mean) = found["mean_bits_per_second"].as_f64() {
        assert!((found["mean_ip_bits_per_second"].as_f64().unwrap() / mean - 1.028).abs() < 1e-9);
    }
    assert_eq!(report["pathload"], Value::Null);
}

#[test]
fn a_path_that_loses_everything_is_too_fast_at_any_rate() {
    let report = estimate(
        by_hand(|_, _| None),
        &pathload(&json!({"lowest_bits_per_second": 20e6})),
        &json!({}),
    );
    check_runs(&report);
    assert_eq!(
        (&report["ending"], &report["pathload"]["low_bits_per_second"]),
        (&json!("lowest_rate"), &Value::Null),
        "{report}"
    );
    assert_eq!(number(&report["trains"]["used"]), 5);
    let chirped = estimate(by_hand(|_, _| None), &pathchirp(&json!({})), &json!({}));
    let (used, unusable) =
        (number(&chirped["chirps"]["used"]), number(&chirped["pathchirp"]["unusable_chirps"]));
    assert!(
        used == unusable && chirped["pathchirp"]["mean_bits_per_second"].is_null(),
        "{chirped}"
    );
}

#[test]
fn two_agents_come_to_an_end_one_estimator_after_the_other() {
    let (receiver, address) = receiver(&json!({}));
    let searched = estimate(address, &pathload(&json!({})), &json!({}));
    let chirped = estimate(address, &pathchirp(&json!({})), &json!({}));
    let got = receiver.stop();
    for report in [&searched, &chirped] {
        check_runs(report);
        assert!(number(&report["duration_ns"]) < 60_000_000_000, "{report}");
    }
    let runs = number(&searched["streams"]["used"]) + number(&chirped["chirps"]["used"]);
    assert!(runs > 0, "{searched} {chirped}");
    let sent = number(&searched["sent_packets"]) + number(&chirped["sent_packets"]);
    let lost = number(&got["dropped_by_socket_packets"]);
    assert_eq!(
        number(&got["kept_packets"])
            + number(&got["without_sender_packets"])
            + number(&got["late_packets"])
            + lost,
        sent,
        "{got}"
    );
    assert_eq!((number(&got["senders"]), number(&got["stamped_late_packets"])), (2, 0), "{got}");
    assert_eq!((&got["time_is_over"], number(&got["broken_connections"])), (&json!(false), 0));
}

#[test]
fn the_other_version_of_ip_will_do() {
    let (receiver, address) = receiver(&json!({"listen": "[::1]:0", "peer": "::1"}));
    let report = estimate(
        address,
        &pathchirp(&json!({"duration_ns": 500_000_000})),
        &json!({"from": "::1"}),
    );
    check_runs(&report);
    let got = receiver.stop();
    assert_eq!((number(&got["senders"]), number(&got["other_peer_packets"])), (1, 0), "{got}");
    assert!(
        number(&report["chirps"]["sent"]) > 0 && number(&got["kept_packets"]) > 0,
        "{report} {got}"
    );
}

#[test]
fn a_sender_with_another_nonce_is_refused() {
    let (receiver, address) = receiver(&json!({}));
    let mut stranger = sender(address, &pathchirp(&json!({})), &json!({"nonce": NONCE + 1}));
    let error = stranger.next();
    assert_eq!((&error["event"], stranger.exit_code()), (&json!("error"), 1));
    assert!(error["message"].as_str().unwrap().contains("does not answer the greeting"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("nonce"), "{error}");
    let got = receiver.stop();
    assert_eq!(
        (number(&got["refused_greetings"]), number(&got["senders"]), number(&got["kept_packets"])),
        (1, 0, 0),
        "{got}"
    );
}

#[test]
fn only_the_senders_probes_are_kept_and_the_rest_is_counted() {
    let (receiver, address) = receiver(&json!({}));
    let (peer, stranger) =
        (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.3:0").unwrap());
    // No sender has greeted.
    peer.send_to(&probe(NONCE, 1, 0, 100), address).unwrap();
    assert!(is_ended(connect("127.0.0.3", address)));
    let mut garbage = connect("127.0.0.1", address);
    garbage.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(is_ended(garbage));
    let mut stream = greeted(address);
    assert!(is_ended(connect("127.0.0.1", address)), "one at a time");
    assert_eq!(ask(&mut stream, 0, 0, 0), (vec![0, 0, 0, 0], vec![]));

    stranger.send_to(&probe(NONCE, 2, 0, 100), address).unwrap();
    for payload in [
        &b"garbage"[..],
        &[],
        &[7; 1473],
        &probe(NONCE + 1, 2, 0, 100),
        &probe(NONCE, 2, 1000, 100),
    ] {
        peer.send_to(payload, address).unwrap();
    }
    for number in [0, 2, 2, 1] {
        peer.send_to(&probe(NONCE, 2, number, 100), address).unwrap();
    }
    peer.send_to(&probe(NONCE, 1, 3, 100), address).unwrap();
    // All four are never there: its patience ends.
    let (head, moments) = ask(&mut stream, 2, 4, 50_000_000);
    assert_eq!((head[0], head[1], moments[3]), (2, 4, None));
    assert!(
        moments[0] < moments[2] && moments[2] < moments[1] && moments[0].is_some(),
        "{moments:?}"
    );
    assert_eq!(ask(&mut stream, 7, 2, 0).1, [None, None]);
    // What is whole has its answer at once.
    assert_eq!(ask(&mut stream, 2, 3, 9_000_000_000).1, [moments[0], moments[1], moments[2]]);
    stream.write_all(&request(2, 1001, 0)).unwrap();
    assert!(is_ended(stream), "no run has so many packets");

    let again = greeted(address);
    drop(again);
    let got = receiver.stop();
    let count = |name: &str| number(&got[name]);
    assert_eq!(
        (count("without_sender_packets"), count("other_peer_packets"), count("too_short_packets")),
        (1, 1, 2),
        "{got}"
    );
    assert_eq!(
        (count("too_large_packets"), count("other_nonce_packets"), count("beyond_packets")),
        (1, 1, 1),
        "{got}"
    );
    assert_eq!(
        (count("kept_packets"), count("duplicate_packets"), count("late_packets")),
        (3, 1, 1),
        "{got}"
    );
    assert_eq!(
        (count("received_packets"), count("answered_requests"), count("senders")),
        (12, 4, 2),
        "{got}"
    );
    assert_eq!(
        (count("other_peer_connections"), count("refused_greetings"), count("busy_connections")),
        (1, 1, 1),
        "{got}"
    );
    assert_eq!((count("broken_connections"), count("silent_connections")), (1, 0), "{got}");
}

#[test]
fn one_who_is_silent_makes_room() {
    let (receiver, address) = receiver(&json!({}));
    let mut silent = connect("127.0.0.1", address);
    silent.write_all(&greeting(NONCE)[..15]).unwrap();
    assert!(is_ended(silent));
    drop(greeted(address));
    assert_eq!(number(&receiver.stop()["silent_connections"]), 1);
}

#[test]
fn a_flood_is_kept_only_at_the_rate_that_is_allowed_and_answers_go_on() {
    let (receiver, address) = receiver(&json!({"packets_per_second": 5}));
    let mut stream = greeted(address);
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in 0..300 {
        peer.send_to(&probe(NONCE, 1, number, 60), address).unwrap();
    }
    let (_, moments) = ask(&mut stream, 1, 300, 1_000_000_000);
    let kept = moments.iter().flatten().count() as u64;
    assert!((5..200).contains(&kept), "{kept}");
    let got = receiver.stop();
    assert_eq!(
        (number(&got["kept_packets"]), number(&got["too_fast_packets"])),
        (kept, 300 - kept),
        "{got}"
    );
}

#[test]
fn a_measurement_ends_with_its_bytes_its_time_or_its_receiver() {
    let report = estimate(link(), &pathload(&json!({})), &json!({"largest_ip_bytes": 100_000}));
    let sent =
        number(&report["streams"]["sent"]) + number(&report["trains"]["discarded"]["sender_late"]);
    assert_eq!((&report["ending"], sent > 0), (&json!("byte_limit"), true), "{report}");
    assert!(number(&report["sent_ip_bytes"]) <= 100_000);
    let report = estimate(link(), &pathload(&json!({})), &json!({"largest_ip_bytes": 1000}));
    assert_eq!(
        (&report["ending"], number(&report["sent_packets"])),
        (&json!("byte_limit"), 0),
        "not even to find how long packets may be"
    );
    let report = estimate(
        link(),
        &pathload(&json!({"time_limit_ns": 300_000_000, "streams": 100})),
        &json!({}),
    );
    assert_eq!(report["ending"], "time_limit", "{report}");

    let (receiver, address) = receiver(&json!({}));
    let mut sender =
        sender(address, &pathchirp(&json!({"duration_ns": 90_000_000_000_u64})), &json!({}));
    while number(&sender.next()["sent_runs"]) == 0 {}
    receiver.stop();
    let report = sender.report();
    assert_eq!((&report["ending"], sender.exit_code()), (&json!("receiver_lost"), 0), "{report}");
    assert!(report["receiver_lost"].is_string(), "{report}");
}

#[test]
fn either_side_reports_when_it_is_stopped() {
    let (receiver, address) = receiver(&json!({}));
    let endless =
        pathchirp(&json!({"duration_ns": 90_000_000_000_u64, "mean_bits_per_second": 1e6}));
    let running = sender(address, &endless, &json!({}));
    while number(&running.next()["sent_runs"]) == 0 {}
    let report = running.stop();
    assert_eq!(report["ending"], "stopped", "{report}");
    check_runs(&report);
    let before_the_start =
        Agent::begin("estimate", &configuration(address, &endless, &json!({}))).stop();
    assert_eq!(
        (&before_the_start["ending"], number(&before_the_start["sent_packets"])),
        (&json!("stopped"), 0)
    );
    assert_eq!(receiver.close()["time_is_over"], false);
    let (mut short, _) = self::receiver(&json!({"duration_ns": 100_000_000}));
    assert_eq!((&short.report()["time_is_over"], short.exit_code()), (&json!(true), 0));
}

#[test]
fn a_missing_peer_is_an_error_that_names_it() {
    let gone = TcpListener::bind("127.0.0.2:0").unwrap().local_addr().unwrap();
    let mut sender = sender(gone, &pathchirp(&json!({})), &json!({}));
    let error = sender.next();
    assert_eq!((&error["event"], sender.exit_code()), (&json!("error"), 1));
    assert!(error["message"].as_str().unwrap().contains(&gone.to_string()), "{error}");
    // One that accepts and is silent, or sends something else.
    let strange = TcpListener::bind("127.0.0.2:0").unwrap();
    let address = strange.local_addr().unwrap();
    let greeter = std::thread::spawn(move || {
        let (mut stream, _) = strange.accept().unwrap();
        stream.write_all(b"SSH-2.0-").unwrap();
        std::thread::sleep(Duration::from_millis(10));
    });
    let mut sender = self::sender(address, &pathchirp(&json!({})), &json!({}));
    assert!(sender.next()["message"].as_str().unwrap().contains("no receiver of estimates"));
    assert_eq!(sender.exit_code(), 1);
    greeter.join().unwrap();
}

#[test]
fn wrong_settings_are_refused_with_what_to_do() {
    let receive =
        json!({"role": "receive", "listen": "127.0.0.2:0", "peer": "127.0.0.1", "nonce": 1});
    let to = "127.0.0.2:9".parse().unwrap();
    let send = |estimator: &Value| configuration(to, estimator, &json!({}));
    let cases = [
        (with(receive.clone(), &json!({"listen": "0.0.0.0:0"})), "every address"),
        (with(receive.clone(), &json!({"peer": "::1"})), "different versions"),
        (with(receive.clone(), &json!({"packets_per_second": 0})), "packets_per_second"),
        (with(receive, &json!({"nonce": "1"})), "u64"),
        (send(&json!({"kind": "guess"})), "guess"),
        (send(&pathload(&json!({"packets": 1001}))), "1001"),
        (send(&pathload(&json!({"majority": 0.2}))), "majority"),
        (send(&pathload(&json!({"lowest_bits_per_second": 1e9}))), "bit/s"),
        (send(&pathchirp(&json!({"payload_bytes": 8}))), "payload"),
        (send(&pathchirp(&json!({"spread_factor": 1.0}))), "spread factor"),
        (
            with(send(&pathchirp(&json!({}))), &json!({"patience_ns": 11_000_000_000_u64})),
            "patience_ns",
        ),
        (with(send(&pathchirp(&json!({}))), &json!({"from": "::1"})), "different versions"),
    ];
    for (configuration, named) in cases {
        let (error, code) = Agent::refused("estimate", &configuration);
        assert!(error["message"].as_str().unwrap().contains(named), "{error}");
        assert_eq!((code, error["hint"].as_str().unwrap().is_empty()), (2, false), "{error}");
    }
}
