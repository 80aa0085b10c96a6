//! The built agent as a process with a session: shared by the tests of all verbs.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may fail loudly"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use trustbed_capture::{Direction, Frame, InterfaceDescription, Writer};
use trustbed_units::Ns;
use trustbed_wire::LinkType;

/// How long a test waits for what must come, which only bounds a failure: a machine may be
/// unavailable for many seconds.
pub const PATIENCE: Duration = Duration::from_secs(100);
/// No more events than this, a second each, come before a report.
const MOST_EVENTS: usize = 100;

/// A running agent. It is killed when it is dropped.
pub struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    events: Receiver<Value>,
    /// Its first event.
    pub ready: Value,
}

impl Agent {
    /// Starts a verb, and waits until it is ready.
    pub fn begin(verb: &str, configuration: &Value) -> Self {
        let agent = Self::spawn(verb, configuration);
        assert_eq!(agent.ready["event"], "ready", "{}", agent.ready);
        agent
    }

    /// Starts a verb that refuses what it is requested: its event, and its exit code.
    pub fn refused(verb: &str, configuration: &Value) -> (Value, i32) {
        let mut agent = Self::spawn(verb, configuration);
        let ready = std::mem::take(&mut agent.ready);
        assert_eq!(ready["event"], "error", "{ready}");
        (ready, agent.exit_code())
    }

    fn spawn(verb: &str, configuration: &Value) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_trustbed-agent"))
            .arg(verb)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let event = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(event).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        let mut agent = Self { child, input, events, ready: Value::Null };
        agent.send(configuration);
        agent.ready = agent.next();
        agent
    }

    /// Sends a line.
    pub fn send(&mut self, line: &Value) {
        // An agent that has refused its configuration reads no more.
        let _ = writeln!(self.input.as_mut().unwrap(), "{line}");
    }

    /// The next event.
    pub fn next(&self) -> Value {
        self.events.recv_timeout(PATIENCE).expect("an event")
    }

    /// Sends the start command, and waits until it has started.
    pub fn start(&mut self) {
        self.send(&json!({"do": "start"}));
        let event = self.next();
        assert_eq!(event["event"], "started", "{event}");
    }

    /// Waits for the report.
    pub fn report(&self) -> Value {
        for _ in 0..MOST_EVENTS {
            let event = self.next();
            match event["event"].as_str() {
                Some("report") => return event,
                Some("progress") => {}
                _ => panic!("no report: {event}"),
            }
        }
        panic!("it does not end")
    }

    /// Requests stop and waits for the report; afterwards it must exit with success.
    pub fn stop(mut self) -> Value {
        self.send(&json!({"do": "stop"}));
        let report = self.report();
        assert_eq!(self.exit_code(), 0);
        report
    }

    /// Closes its standard input and waits for the report; afterwards it must exit with success.
    pub fn close(mut self) -> Value {
        drop(self.input.take());
        let report = self.report();
        assert_eq!(self.exit_code(), 0);
        report
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.child.id().to_string())
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// The number of its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end.
    pub fn exit_code(&mut self) -> i32 {
        self.child.wait().unwrap().code().expect("an exit code")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A number of a report.
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The sum of a list of numbers.
pub fn sum(values: &Value) -> u64 {
    values.as_array().unwrap().iter().map(number).sum()
}

/// Writes a capture of an interface: Ethernet frames with their times.
pub fn write_capture(path: &Path, frames: impl IntoIterator<Item = (Ns, Vec<u8>)>) {
    let mut writer = Writer::create(path, "test").unwrap();
    let link = LinkType::Ethernet;
    let description = InterfaceDescription {
        name: "p0".to_owned(),
        link,
        snap_length: 0,
        hardware_timestamps: false,
        speed: None,
    };
    let interface = writer.interface(&description).unwrap();
    for (ts, bytes) in frames {
        let frame = Frame {
            ts,
            index: 1,
            file: 0,
            interface,
            link: Some(link),
            original_length: u32::try_from(bytes.len()).unwrap(),
            marked: Direction::Unknown,
            bytes: &bytes,
        };
        writer.frame(&frame).unwrap();
    }
    writer.finish().unwrap();
}

/// Rows of a file of rows, by the names of its header.
pub fn rows(path: &Path) -> (Vec<String>, Vec<Vec<i64>>) {
    let bytes = std::fs::read(path).unwrap();
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let header: Value = serde_json::from_slice(&bytes[..end]).unwrap();
    let names: Vec<String> = header["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(header["byte_order"], "little");
    assert_eq!(number(&header["record_bytes"]), 8 * names.len() as u64);
    let records = bytes[end + 1..].chunks(8 * names.len());
    let rows = records
        .map(|record| {
            record.chunks(8).map(|value| i64::from_le_bytes(value.try_into().unwrap())).collect()
        })
        .collect();
    (names, rows)
}

/// Whether a program is there; a test that needs it cannot run without, which in continuous
/// integration is a failure.
#[allow(clippy::print_stdout, reason = "a test that cannot run says why")]
pub fn has(program: &str) -> bool {
    let version = if program == "ab" { "-V" } else { "--version" };
    let there = Command::new(program).arg(version).output().is_ok();
    assert!(there || std::env::var_os("CI").is_none(), "no {program}");
    if !there {
        println!("skipped: no {program}");
    }
    there
}
