//! Captures and samples of the loopback interface.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "a test that cannot run says why")]

mod agent;

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use agent::{Agent, PATIENCE, number};
use serde_json::{Value, json};
use trustbed_capture::{Input, Reader};
use trustbed_wire::DecodeOptions;

/// A capture, or none where it is not permitted; in continuous integration that is a failure.
fn capture(configuration: &Value) -> Option<Agent> {
    let permitted = socket2::Socket::new(socket2::Domain::PACKET, socket2::Type::RAW, None);
    if let Err(error) = permitted {
        assert!(std::env::var_os("CI").is_none(), "capturing is not permitted: {error}");
        println!("skipped: capturing is not permitted: {error}");
        return None;
    }
    Some(Agent::begin("capture", configuration))
}

fn lengths(path: &Path) -> Vec<u32> {
    let mut reader =
        Reader::open(&[Input::Path(path.to_owned())], DecodeOptions::default()).unwrap();
    let mut found = Vec::new();
    while reader.frames(1000, |frame| found.push(frame.original_length)) {}
    assert!(reader.facts().problems.is_empty());
    found
}

#[test]
fn everything_between_ready_and_stop_is_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lo.pcapng");
    let to = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = to.local_addr().unwrap();
    let filter = format!("udp dst port {}", address.port());
    let Some(mut capture) =
        capture(&json!({"interface": "lo", "path": path, "filter": filter, "snap_length": 64}))
    else {
        return;
    };
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    from.send_to(&[0; 1], address).unwrap();
    capture.start();
    for length in 2..=200 {
        from.send_to(&vec![0; length], address).unwrap();
    }
    to.send_to(&[0; 500], from.local_addr().unwrap()).unwrap();
    let report = capture.stop();
    from.send_to(&[0; 999], address).unwrap();
    assert_eq!(lengths(&path), (43..=242).collect::<Vec<u32>>());
    let count = |name: &str| number(&report[name]);
    assert_eq!((count("frames"), count("dropped_frames"), count("frames_left_out")), (200, 0, 0));
    assert!(count("filtered_frames") >= 1 && report["complete"] == json!(true), "{report}");
    assert_eq!(count("bytes"), std::fs::metadata(&path).unwrap().len());
    if agent::has("tshark") {
        let read = Command::new("tshark")
            .arg("-r")
            .arg(&path)
            .args(["-T", "fields", "-e", "frame.len"])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(read.stdout).unwrap().lines().count(), 200);
    }
}

#[test]
fn a_capture_ends_with_its_standard_input_and_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lo.pcapng");
    let Some(capture) = capture(&json!({"interface": "lo", "path": path})) else { return };
    let report = capture.close();
    assert_eq!(lengths(&path).len() as u64, number(&report["frames"]));
}

#[test]
fn a_capture_that_cannot_begin_names_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.pcapng");
    let (event, code) =
        Agent::refused("capture", &json!({"interface": "lo", "path": path, "filter": "udp prt 9"}));
    assert!(event["message"].as_str().unwrap().starts_with("filter: prt") && code == 2, "{event}");
    let (event, code) = Agent::refused("capture", &json!({"interface": "lo", "paths": path}));
    assert!(
        event["message"].as_str().unwrap().contains("unknown field `paths`") && code == 2,
        "{event}"
    );
    if capture(&json!({"interface": "lo", "path": path})).is_none() {
        return;
    }
    let (event, code) = Agent::refused("capture", &json!({"interface": "tb-none", "path": path}));
    assert!(
        event["message"].as_str().unwrap().contains("there is no such interface") && code == 2,
        "{event}"
    );
    let (event, code) =
        Agent::refused("capture", &json!({"interface": "lo", "path": "/nowhere/x.pcapng"}));
    assert!(
        event["hint"].as_str().unwrap().contains("directory does not exist") && code == 1,
        "{event}"
    );
}

#[test]
fn samples_cover_host_processes_and_connections() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("samples");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let configuration =
        json!({"path": path, "interval_ns": 50_000_000, "processes": [std::process::id()]});
    let mut sampler = Agent::begin("sample", &configuration);
    let unavailable: Vec<String> = sampler.ready["unavailable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["what"].as_str().unwrap().to_owned())
        .collect();
    sampler.start();
    std::thread::sleep(Duration::from_millis(1500));
    let report = sampler.stop();
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len() as u64, 1 + number(&report["samples"]));
    assert!(
        lines.len() > 1
            && lines[0]["interval_ns"] == json!(50_000_000)
            && lines[0]["start_ns"] == report["start_ns"]
    );
    let own = stream.local_addr().unwrap().to_string();
    for line in &lines[1..] {
        let shares = &line["processors"];
        let whole: f64 = ["user", "nice", "system", "interrupt", "steal", "idle", "iowait"]
            .iter()
            .map(|name| shares[format!("{name}_share")].as_f64().unwrap())
            .sum();
        // Within an interval shorter than a tick nothing may have been counted.
        assert!((whole - 1.0).abs() < 1e-9 || whole == 0.0, "{shares}");
        assert!(line["late_ns"].as_i64().unwrap() >= 0);
        assert_eq!(number(&line["processes"][0]["process"]), u64::from(std::process::id()));
        assert!(number(&line["processes"][0]["threads"]) >= 1);
        assert!(line["interfaces"].as_array().unwrap().iter().any(|one| one["name"] == "lo"));
        if !unavailable.iter().any(|what| what == "sockets") {
            let sockets = line["sockets"].as_array().unwrap();
            let socket =
                sockets.iter().find(|one| one["local"] == json!(own)).expect("the own connection");
            assert_eq!(number(&socket["tcp"]["state"]), 1);
        }
    }
    let after: Vec<i64> = lines[1..]
        .iter()
        .map(|line| line["after_ns"].as_i64().unwrap() - line["late_ns"].as_i64().unwrap())
        .collect();
    assert!(after.iter().all(|due| due % 50_000_000 == 0) && after.is_sorted(), "{after:?}");
}

#[test]
fn connections_alone_are_sampled_between_the_lines() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("samples");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let configuration = json!({"path": path, "interval_ns": 500_000_000,
        "sockets_interval_ns": 20_000_000});
    let mut sampler = Agent::begin("sample", &configuration);
    if sampler.ready["unavailable"].as_array().unwrap().iter().any(|one| one["what"] == "sockets") {
        assert!(std::env::var_os("CI").is_none(), "this kernel has no socket diagnosis");
        return;
    }
    sampler.start();
    let own = stream.local_addr().unwrap().to_string();
    let between = || -> Vec<Value> {
        std::fs::read_to_string(&path)
            .unwrap()
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|line| line["sockets"].is_array() && line["interval_ns"].is_null())
            .collect()
    };
    let begun = Instant::now();
    while between().len() < 5 {
        assert!(begun.elapsed() < PATIENCE, "no lines between");
        std::thread::sleep(Duration::from_millis(20));
    }
    sampler.stop();
    let between = between();
    assert!(between.iter().all(|line| {
        line["sockets"].as_array().unwrap().iter().any(|one| one["local"] == json!(own))
    }));
    let after: Vec<i64> = between.iter().map(|line| line["after_ns"].as_i64().unwrap()).collect();
    assert!(after.windows(2).all(|two| two[1] - two[0] >= 20_000_000), "{after:?}");
    let (event, code) =
        Agent::refused("sample", &json!({"path": "x", "sockets_interval_ns": 9_999_999}));
    assert!(
        event["message"].as_str().unwrap().contains("sockets_interval_ns: 9999999 is too short")
            && code == 2,
        "{event}"
    );
}

#[test]
fn wakeups_report_their_latency_and_their_cost() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("samples");
    let configuration = json!({"path": path, "interval_ns": 200_000_000,
        "wakeup_interval_ns": 2_000_000, "sockets": false});
    let mut sampler = Agent::begin("sample", &configuration);
    let whole = Instant::now();
    sampler.start();
    let lines = || -> Vec<Value> {
        std::fs::read_to_string(&path)
            .unwrap()
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    };
    // Before the thread short sleeps there is nothing that could be late.
    let begun = Instant::now();
    while !lines()
        .iter()
        .any(|line| line["wakeups"]["count"].as_u64().is_some_and(|count| count > 0))
    {
        assert!(begun.elapsed() < PATIENCE, "no wake-ups: {:?}", lines());
        std::thread::sleep(Duration::from_millis(20));
    }
    sampler.signal("STOP");
    std::thread::sleep(Duration::from_millis(400));
    sampler.signal("CONT");
    let begun = Instant::now();
    let most = |lines: &[Value]| {
        lines.iter().filter_map(|line| line["wakeups"]["late_max_ns"].as_i64()).max().unwrap_or(0)
    };
    // The signal may come a little after it was sent.
    while most(&lines()) < 350_000_000 {
        assert!(begun.elapsed() < PATIENCE, "nothing was late: {:?}", lines());
        std::thread::sleep(Duration::from_millis(20));
    }
    sampler.stop();
    // The thread short sleeps from a little before the first interval to a little after the last
    // one, but only in this time.
    let whole = u64::try_from(whole.elapsed().as_nanos()).unwrap();
    let lines = lines().split_off(1);
    let sum = |name: &str| lines.iter().map(|line| number(&line["wakeups"][name])).sum::<u64>();
    assert!(
        sum("late") >= 1 && sum("late_ns") >= 350_000_000 && sum("late_ns") <= whole,
        "{lines:?}"
    );
    assert!(sum("missed") >= 170 && sum("count") >= 1 && sum("used_ns") > 0, "{lines:?}");
    // No moment is both slept for and missed, and none is either twice.
    assert!((sum("count") + sum("missed")) * 2_000_000 <= whole, "{lines:?}");
    for line in &lines {
        let wakeups = &line["wakeups"];
        let counted: u64 =
            wakeups["departure_error"].as_object().unwrap().values().map(number).sum();
        assert!(
            counted == number(&wakeups["count"])
                && wakeups["late_max_ns"].is_null() == (counted == 0),
            "{wakeups}"
        );
        assert!(
            number(&wakeups["late"]) <= counted && wakeups["late_share"].as_f64().is_some(),
            "{wakeups}"
        );
    }
}

#[test]
fn a_sampler_that_cannot_begin_names_the_reason() {
    let (event, code) = Agent::refused("sample", &json!({"path": "/nowhere/samples"}));
    assert!(
        event["message"].as_str().unwrap().contains("/nowhere/samples: cannot be written")
            && code == 1,
        "{event}"
    );
    let (event, code) = Agent::refused("sample", &json!({"path": "x", "interval_ns": 1000}));
    assert!(
        event["message"].as_str().unwrap().contains("interval_ns: 1000 is too short") && code == 2,
        "{event}"
    );
    let (event, code) =
        Agent::refused("sample", &json!({"path": "x", "wakeup_interval_ns": 999_999}));
    assert!(
        event["message"].as_str().unwrap().contains("wakeup_interval_ns: 999999 is too short")
            && code == 2,
        "{event}"
    );
    let (event, code) =
        Agent::refused("sample", &json!({"path": "x", "wakeup_interval_ns": 10_000_000_001_u64}));
    assert!(
        event["message"].as_str().unwrap().contains("wakeup_interval_ns: 10000000001 is too long")
            && code == 2,
        "{event}"
    );
}
