//! Spin monitors: gaps in the file and the report, and their end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod agent;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use agent::{Agent, PATIENCE, number};
use serde_json::{Value, json};

const SECOND: i64 = 1_000_000_000;

/// Where an agent writes; removed with the test.
struct Directory(tempfile::TempDir);

impl Directory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("spin.jsonl")
    }

    /// The first line, and all others.
    fn lines(&self) -> (Value, Vec<Value>) {
        let text = std::fs::read_to_string(self.file()).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        (lines.next().unwrap(), lines.collect())
    }
}

fn whole(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

fn sum(lines: &[Value], name: &str) -> i64 {
    lines.iter().map(|line| whole(&line[name])).sum()
}

fn near(found: &Value, expected: f64) -> bool {
    (found.as_f64().unwrap() - expected).abs() < 1e-9
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of some seconds")]
fn ratio(part: i64, all: i64) -> f64 {
    part as f64 / all as f64
}

/// A line states the same of all gaps as follows from the single ones; they may have begun in the
/// line before.
fn agrees_with_its_gaps(line: &Value, before: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let gaps: Vec<(i64, i64)> = line["single_gaps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gap| (whole(&gap[0]), whole(&gap[1])))
        .collect();
    let (from, until) = (whole(&line["at_ns"]), whole(&line["until_ns"]));
    let within =
        |(begin, length): &(i64, i64)| ((begin + length).min(until) - begin.max(&from)).max(0);
    assert_eq!(
        whole(&line["lost_ns"]),
        gaps.iter().chain(before).map(within).sum::<i64>(),
        "{line}"
    );
    assert!(gaps.iter().all(|(begin, _)| (from..until).contains(begin)), "{line}");
    assert_eq!(number(&line["gaps"]), gaps.len() as u64);
    assert_eq!(line["longest_gap_ns"].as_i64(), gaps.iter().map(|(_, length)| *length).max());
    let mut bins = BTreeMap::<String, u64>::new();
    for (_, length) in &gaps {
        *bins.entry(length.ilog2().to_string()).or_default() += 1;
    }
    assert_eq!(line["gap_lengths"], json!(bins));
    gaps
}

#[test]
fn every_second_accounts_for_its_gaps() {
    let directory = Directory::new();
    let mut agent = Agent::begin(
        "spin",
        &json!({"path": directory.file(), "duration_ns": 1_300_000_000, "most_gaps": 100_000}),
    );
    let cores = agent.ready["affinity"].as_array().unwrap().len();
    assert!(cores > 0 && agent.ready["processors"] == json!([null]), "{}", agent.ready);
    let threshold = whole(&agent.ready["threshold_ns"]);
    assert_eq!(threshold, (20 * whole(&agent.ready["pass_median_ns"])).max(50_000));
    agent.start();
    let report = agent.report();
    assert_eq!(agent.exit_code(), 0);

    let (head, lines) = directory.lines();
    assert_eq!(
        (&head["threshold_ns"], &head["start_ns"]),
        (&report["threshold_ns"], &report["start_ns"])
    );
    assert_eq!(number(&report["lines"]), lines.len() as u64);
    let thread = &report["threads"][0];
    assert_eq!(
        (whole(&lines[0]["at_ns"]), whole(&lines.last().unwrap()["until_ns"])),
        (whole(&thread["from_ns"]), whole(&thread["until_ns"]))
    );
    assert_eq!(whole(&thread["until_ns"]), whole(&report["start_ns"]) + 1_300_000_000);
    let mut gaps = Vec::new();
    for line in &lines {
        let (from, until) = (whole(&line["at_ns"]), whole(&line["until_ns"]));
        assert!(
            until - from <= SECOND && from.div_euclid(SECOND) == (until - 1).div_euclid(SECOND),
            "{line}"
        );
        assert_eq!(whole(&line["watched_ns"]), until - from);
        gaps = agrees_with_its_gaps(line, &gaps);
        assert!(gaps.iter().all(|(_, length)| *length > threshold));
        let share = 1.0 - ratio(whole(&line["lost_ns"]), until - from);
        assert!(near(&line["share"], share) && line["starved"] == json!(share < 0.9), "{line}");
        assert!(
            near(
                &line["availability_percent"],
                100.0 * share / f64::from(u32::try_from(cores).unwrap())
            ),
            "{line}"
        );
        assert!(
            line["host"]["cgroups"].is_array() && whole(&line["host"]["interval_ns"]) > 0,
            "{line}"
        );
    }
    assert!(lines.windows(2).all(|pair| pair[0]["until_ns"] == pair[1]["at_ns"]));
    for name in ["watched_ns", "lost_ns", "passes", "gaps"] {
        assert_eq!(sum(&lines, name), whole(&thread[name]), "{name}");
    }
    assert_eq!(thread["noise_ns"], thread["lost_ns"]);
    let charged = &thread["charged"];
    // The scheduler's clock is not slewed as the monotonic one is.
    let (used, elapsed) = (whole(&charged["used_ns"]), whole(&charged["elapsed_ns"]));
    assert!(used > 0 && used <= elapsed + elapsed / 1000, "{charged}");
}

#[test]
fn a_stopped_process_has_no_core() {
    let directory = Directory::new();
    let mut agent = Agent::begin("spin", &json!({"path": directory.file()}));
    agent.start();
    // It spins once a line is behind the first; before, there may be nothing to stop.
    let begun = Instant::now();
    while std::fs::read_to_string(directory.file()).unwrap().lines().count() < 2 {
        assert!(begun.elapsed() < PATIENCE, "no second is over");
        sleep(Duration::from_millis(20));
    }
    agent.signal("STOP");
    sleep(Duration::from_millis(400));
    agent.signal("CONT");
    let report = agent.stop();
    let thread = &report["threads"][0];
    // The signal may come a little after it was sent.
    assert!(
        whole(&thread["longest_gap_ns"]) > 350_000_000 && whole(&thread["lost_ns"]) > 350_000_000,
        "{report}"
    );
    assert!(number(&thread["starved_seconds"]) >= 1, "{report}");
    // The kernel charged nothing for it, so that there is nothing in excess.
    let charged = &thread["charged"];
    assert!(whole(&charged["used_ns"]) <= whole(&charged["elapsed_ns"]) - 350_000_000, "{charged}");
}

#[test]
fn only_windows_are_monitored_on_every_core() {
    let directory = Directory::new();
    let configuration = json!({"path": directory.file(), "cores": "all", "window_ns": 20_000_000,
        "seed": 3, "duration_ns": 2_200_000_000_u64});
    let mut agent = Agent::begin("spin", &configuration);
    assert_eq!(agent.ready["processors"], agent.ready["affinity"]);
    assert!(near(&agent.ready["duty"], 0.02));
    agent.start();
    let report = agent.report();
    assert_eq!(agent.exit_code(), 0);
    let (_, lines) = directory.lines();
    for (number, thread) in report["threads"].as_array().unwrap().iter().enumerate() {
        assert_eq!(
            (&thread["thread"], &thread["processor"]),
            (&json!(number), &agent.ready["processors"][number])
        );
        let own: Vec<Value> =
            lines.iter().filter(|line| line["thread"] == json!(number)).cloned().collect();
        assert_eq!(own.last().unwrap()["until_ns"], thread["until_ns"]);
        for line in &own {
            let watched = whole(&line["watched_ns"]);
            let is_whole = whole(&line["until_ns"]) - whole(&line["at_ns"]) == SECOND;
            assert!(watched == 20_000_000 || (!is_whole && watched < 20_000_000), "{line}");
            assert!(
                whole(&line["lost_ns"]) <= watched && line["share"].is_null() == (watched == 0),
                "{line}"
            );
            assert_eq!(line.get("host").is_some(), number == 0);
        }
        assert_eq!(sum(&own, "lost_ns"), whole(&thread["lost_ns"]));
        // What was lost stands for the rest of the time as well.
        let time = whole(&thread["until_ns"]) - whole(&thread["from_ns"]);
        let scaled =
            ratio(whole(&thread["lost_ns"]), whole(&thread["watched_ns"])) * ratio(time, 1);
        assert!((thread["noise_ns"].as_f64().unwrap() - scaled).abs() <= 1.0, "{thread}");
    }
}

#[test]
fn gaps_beyond_the_table_are_counted_without_their_times() {
    let directory = Directory::new();
    // Longer than a nanosecond is every pass. Long enough to run at all on a busy machine.
    let configuration = json!({"path": directory.file(), "threshold_ns": 1, "most_gaps": 10,
        "duration_ns": 500_000_000});
    let mut agent = Agent::begin("spin", &configuration);
    assert_eq!(
        (&agent.ready["threshold_ns"], &agent.ready["pass_median_ns"]),
        (&json!(1), &Value::Null)
    );
    agent.start();
    let report = agent.report();
    assert_eq!(agent.exit_code(), 0);
    let (_, lines) = directory.lines();
    let fullest = lines.iter().max_by_key(|line| number(&line["gaps"])).unwrap();
    let single = fullest["single_gaps"].as_array().unwrap().len();
    assert!(
        fullest["gaps_truncated"] == json!(true) && single == 10 && number(&fullest["gaps"]) > 10,
        "{fullest}"
    );
    let thread = &report["threads"][0];
    assert!(
        thread["gaps_truncated"] == json!(true)
            && whole(&thread["lost_ns"]) * 10 > whole(&thread["watched_ns"]) * 9,
        "{report}"
    );
}

#[test]
fn a_monitor_stops_before_and_after_the_start() {
    let directory = Directory::new();
    for window in [None, Some(1_000_000)] {
        let configuration = json!({"path": directory.file(), "window_ns": window});
        let report = Agent::begin("spin", &configuration).close();
        assert_eq!((&report["start_ns"], &report["threads"]), (&Value::Null, &json!([])));
        let mut agent = Agent::begin("spin", &configuration);
        agent.send(&json!({"do": "start", "at_ns": 4_000_000_000_000_000_000_i64}));
        assert_eq!(agent.next()["event"], "started");
        let report = agent.stop();
        assert_eq!((&report["lines"], &report["threads"][0]["share"]), (&json!(0), &Value::Null));
        let mut agent = Agent::begin("spin", &configuration);
        agent.start();
        assert_eq!(agent.close()["threads"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn a_full_disk_is_reported() {
    let mut agent = Agent::begin("spin", &json!({"path": "/dev/full", "duration_ns": 500_000_000}));
    agent.start();
    let report = agent.report();
    assert_eq!(agent.exit_code(), 0);
    assert!(
        report["error"].as_str().unwrap().contains("space") && report["lines"] == json!(0),
        "{report}"
    );
    assert!(whole(&report["threads"][0]["watched_ns"]) > 0);
}

#[test]
fn impossible_configurations_are_refused() {
    let path = Path::new("/tmp/never-written");
    let cases = [
        (json!({"path": path, "window_ns": 0}), "window_ns: windows of 0 ns", 2),
        (
            json!({"path": path, "window_ns": 1_000_000_001}),
            "give more than 0 and up to 1000000000",
            2,
        ),
        (json!({"path": path, "threshold_ns": 0}), "threshold_ns: 0", 2),
        (json!({"path": path, "cores": "some"}), "unknown variant `some`", 2),
        (json!({"path": "/nowhere/spin"}), "/nowhere/spin: cannot be written", 1),
    ];
    for (configuration, message, code) in cases {
        let (event, ended) = Agent::refused("spin", &configuration);
        assert!(
            event["message"].as_str().unwrap().contains(message) && ended == code,
            "{event} should contain {message}"
        );
    }
    assert!(!path.exists());
}
