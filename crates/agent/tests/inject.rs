//! Faults injected into processes of our own: stopped and continued, slowed down, restored.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod agent;

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use agent::{Agent, PATIENCE, number};
use serde_json::{Value, json};

/// A process that does nothing but run, in a group of its own. It is killed with the test.
struct Busy(Child);

impl Busy {
    fn start() -> Self {
        Self(
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .process_group(0)
                .spawn()
                .unwrap(),
        )
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// As ps(1) has it.
    fn state(&self) -> char {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        text[text.rfind(')').unwrap() + 2..].chars().next().unwrap()
    }

    /// The processors that it may use.
    fn allowed(&self) -> String {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        text.lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .unwrap()
            .trim()
            .to_owned()
    }

    /// Whether it stops standing. Only a failure is waited for so long.
    fn goes_on(&self) -> bool {
        let begun = Instant::now();
        while self.state() == 'T' && begun.elapsed() < PATIENCE {
            sleep(Duration::from_millis(5));
        }
        self.state() != 'T'
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn disturbed(process: &Busy, fault: &Value, duration_ns: Option<u64>) -> Agent {
    let mut agent = Agent::begin(
        "inject",
        &json!({"processes": [process.pid()], "fault": fault, "duration_ns": duration_ns}),
    );
    agent.start();
    agent
}

fn share(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn a_process_stops_in_each_period_and_continues_at_the_end() {
    let process = Busy::start();
    let fault = json!({"kind": "freeze", "stopped_ns": 35_000_000, "every_ns": 50_000_000});
    let mut agent = disturbed(&process, &fault, Some(1_000_000_000));
    let report = agent.report();
    assert_eq!(agent.exit_code(), 0);
    let moments =
        |name: &str| report[name].as_array().unwrap().iter().map(number).collect::<Vec<_>>();
    let stood: Vec<u64> = moments("continued_at_ns")
        .iter()
        .zip(moments("stopped_at_ns"))
        .map(|(until, at)| until - at)
        .collect();
    assert_eq!(number(&report["stops"]), stood.len() as u64);
    // Turns that were over before it got its processor are left out.
    assert!((1..=20).contains(&stood.len()), "{report}");
    // It may be stopped for longer than asked where the machine is busy, and for less only where it
    // was stopped late.
    let late = number(&report["stop_departure_error"]["max_ns"]);
    assert!(stood.iter().all(|stood| stood + late >= 35_000_000), "{report}");
    assert_eq!(number(&report["stopped_ns"]), stood.iter().sum::<u64>());
    let paused = share(&report["stopped_share"]);
    let ran = share(&report["processes"][0]["ran_share"]);
    assert!(paused > 0.0 && ran < 1.0 - paused + 0.03, "paused {paused}, ran {ran}");
    assert!(process.goes_on());
}

#[test]
fn a_process_continues_when_the_agent_is_stopped_or_loses_its_controller() {
    let process = Busy::start();
    let fault =
        json!({"kind": "freeze", "stopped_ns": 9_900_000_000_u64, "every_ns": 9_900_001_000_u64});
    for stop in [true, false] {
        let agent = disturbed(&process, &fault, None);
        let begun = Instant::now();
        while process.state() != 'T' {
            assert!(begun.elapsed() < PATIENCE, "it does not stop");
            sleep(Duration::from_millis(2));
        }
        let report = if stop { agent.stop() } else { agent.close() };
        assert_eq!(number(&report["stops"]), 1);
        assert!(process.goes_on());
    }
}

#[test]
fn a_process_that_ended_is_left_alone() {
    let process = Busy::start();
    let fault = json!({"kind": "freeze", "stopped_ns": 1_000_000, "every_ns": 20_000_000});
    let mut agent = disturbed(&process, &fault, None);
    drop(process);
    let report = agent.report();
    assert_eq!(agent.exit_code(), 0, "{report}");
}

#[test]
fn a_spinner_shares_the_processor_and_gives_it_back() {
    let process = Busy::start();
    let before = process.allowed();
    let last = before.rsplit([',', '-']).next().unwrap().to_owned();
    let fault = json!({"kind": "spinner", "processor": last.parse::<u64>().unwrap(),
        "busy_ns": 10_000_000, "every_ns": 10_000_000, "policy": "normal"});
    let mut agent = Agent::begin(
        "inject",
        &json!({"processes": [process.pid()], "fault": fault, "duration_ns": 2_000_000_000}),
    );
    assert_eq!(process.allowed(), last);
    agent.start();
    let report = agent.report();
    assert_eq!(agent.exit_code(), 0);
    assert_eq!(process.allowed(), before);
    // Both demanded all of one processor. What they had is read one after the other, and who reads
    // may be kept from it meanwhile: no sum is sure.
    let (spinner, ran) = (share(&report["ran_share"]), share(&report["processes"][0]["ran_share"]));
    assert!(spinner > 0.0 && ran > 0.0, "{spinner} and {ran}");
    // Of every turn all; the first one may have begun before it got its processor.
    let turns = number(&report["turns"]);
    assert!((1..=200).contains(&turns), "{report}");
    assert!(
        ((turns - 1) * 10_000_000..=turns * 10_000_000).contains(&number(&report["busy_ns"])),
        "{report}"
    );
}

#[test]
fn wrong_configurations_are_named() {
    let process = Busy::start();
    let own = process.pid();
    let init =
        json!({"processes": [1], "fault": {"kind": "freeze", "stopped_ns": 1, "every_ns": 2}});
    let cases = [
        (init, "processes: 1 is no process"),
        (
            json!({"processes": [own], "fault": {"kind": "freeze", "stopped_ns": 5,
                "every_ns": 5}}),
            "stopped_ns: 5 is not between",
        ),
        (json!({"processes": [own], "fault": {"kind": "freze"}}), "unknown variant `freze`"),
        (
            json!({"processes": [own], "fault": {"kind": "spinner", "processor": 0, "busy_ns": 95,
                "every_ns": 100, "policy": "realtime"}}),
            "would starve the machine",
        ),
        (
            json!({"processes": [own], "fault": {"kind": "quota", "group": "/tmp", "version": 1,
                "granted_us": 900, "period_us": 9000}}),
            "granted_us: 900 in a period of 9000",
        ),
    ];
    for (configuration, message) in cases {
        let (event, code) = Agent::refused("inject", &configuration);
        assert!(
            event["message"].as_str().unwrap().contains(message),
            "{event} should contain {message}"
        );
        assert_eq!(code, 2, "{event}");
    }
    let gone = json!({"processes": [own], "fault": {"kind": "quota", "group": "/nowhere",
        "version": 2, "granted_us": 2000, "period_us": 9000}});
    let (event, code) = Agent::refused("inject", &gone);
    assert!(event["message"].as_str().unwrap().contains("/nowhere"), "{event}");
    assert_eq!(code, 1);
}
