//! `trustbed-agent exec`: exit codes, and that nothing outlives it.
//!
//! Namespaces and terminals are tested where testbeds are (`tests/testbed`).

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]
#![expect(
    unsafe_code,
    reason = "the standard library neither hands descriptors on to a child nor sends signals"
)]

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_trustbed-agent");

fn run(words: &[&str]) -> Output {
    Command::new(PROGRAM).arg("exec").args(words).stdin(Stdio::null()).output().unwrap()
}

/// exec with our end of its control socket.
struct Attended {
    child: Child,
    control: BufReader<UnixStream>,
}

impl Attended {
    fn start(words: &[&str]) -> Self {
        let (ours, its) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(100))).unwrap();
        let number = its.as_raw_fd();
        let mut command = Command::new(PROGRAM);
        command
            .args(["exec", "--control", &number.to_string(), "--"])
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        // SAFETY: one system call, which only keeps the descriptor open across exec.
        unsafe {
            command.pre_exec(move || {
                if libc::fcntl(number, libc::F_SETFD, 0) == 0 {
                    Ok(())
                } else {
                    Err(std::io::Error::last_os_error())
                }
            });
        }
        let child = command.spawn().unwrap();
        Self { child, control: BufReader::new(ours) }
    }

    fn event(&mut self) -> Value {
        let mut line = String::new();
        self.control.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// A line that the command has written.
    fn line(&mut self) -> String {
        let mut found = Vec::new();
        let out = self.child.stdout.as_mut().unwrap();
        let mut one = [0];
        while out.read(&mut one).unwrap() == 1 && one[0] != b'\n' {
            found.push(one[0]);
        }
        String::from_utf8(found).unwrap()
    }

    fn signal(&self, number: i32) {
        // SAFETY: our own child, which was not waited for.
        unsafe {
            libc::kill(self.child.id().try_into().unwrap(), number);
        }
    }
}

fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn the_exit_code_is_the_command_s() {
    for (script, code) in
        [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)]
    {
        assert_eq!(run(&["--", "sh", "-c", script]).status.code(), Some(code), "{script}");
    }
}

#[test]
fn a_command_that_cannot_run_is_an_error_with_a_hint() {
    for (words, code, part) in [
        (
            &["--", "no-such-command"][..],
            127,
            "no-such-command cannot be run: no such file or directory",
        ),
        (&["--", "/etc/passwd"], 126, "/etc/passwd cannot be run: permission denied"),
        (
            &["--namespace", "/no/such", "--", "true"],
            125,
            "the network namespace /no/such cannot be joined: no such file",
        ),
        (&["--namespace", "/etc/passwd", "--", "true"], 125, "/etc/passwd cannot be joined"),
        (&["--control", "77", "--", "true"], 125, "77 is no open descriptor"),
        (&["--replace", "--", "no-such-command"], 127, "no-such-command"),
        (&[], 125, "no command is given"),
    ] {
        let ended = run(words);
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(code), "{words:?}: {stderr}");
        assert!(
            stderr.starts_with("error: ") && stderr.contains(part) && stderr.contains("\nhint: "),
            "{words:?}: {stderr}"
        );
    }
}

#[test]
fn with_replace_the_process_becomes_the_command() {
    let ended = run(&["--replace", "--", "sh", "-c", "ps -o comm= -p $PPID; kill -KILL $$"]);
    assert_eq!(ended.status.signal(), Some(9), "no process is beside it");
}

#[test]
fn events_report_start_and_end() {
    let mut attended = Attended::start(&["sh", "-c", "exit 3"]);
    assert_eq!(attended.event()["event"], "started");
    let ended = attended.event();
    assert_eq!(
        (&ended["event"], &ended["code"], &ended["signal"]),
        (&"ended".into(), &3.into(), &Value::Null)
    );
    assert_eq!(attended.child.wait().unwrap().code(), Some(3));

    let mut refused = Attended::start(&["no-such-command"]);
    let error = refused.event();
    assert_eq!(error["event"], "error");
    assert!(error["hint"].as_str().unwrap().contains("PATH"));
    assert_eq!(refused.child.wait().unwrap().code(), Some(127));
}

#[test]
fn processes_that_a_command_leaves_behind_end_with_it() {
    let mut attended = Attended::start(&["sh", "-c", "setsid sleep 600 & echo $!; exit 5"]);
    let left = attended.line();
    attended.event();
    let ended = attended.event();
    assert_eq!((&ended["code"], &ended["ended_descendants"]), (&5.into(), &1.into()));
    assert!(!lives(&left), "{left}");
    attended.child.wait().unwrap();
}

#[test]
fn closing_the_control_socket_ends_everything_even_what_ignores_sigterm() {
    let script = "trap '' TERM HUP; (setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep \
        600; done' &); while :; do sleep 600; done";
    let mut attended = Attended::start(&["sh", "-c", script]);
    let stubborn = attended.line();
    let command = attended.event()["pid"].to_string();
    attended.control.get_ref().shutdown(std::net::Shutdown::Write).unwrap();
    let ended = attended.event();
    assert_eq!(ended["signal"], 9);
    assert!(ended["ended_descendants"].as_u64().unwrap() >= 2, "{ended}");
    assert_eq!(attended.child.wait().unwrap().code(), Some(137));
    assert!(!lives(&stubborn) && !lives(&command));
}

#[test]
fn a_stopped_command_ends_too() {
    let mut attended = Attended::start(&["sh", "-c", "kill -STOP $$; exit 1"]);
    let command = attended.event()["pid"].to_string();
    while !std::fs::read_to_string(format!("/proc/{command}/stat")).unwrap().contains(") T ") {
        std::thread::sleep(Duration::from_millis(5));
    }
    attended.signal(libc::SIGTERM);
    assert_eq!(attended.event()["event"], "ended");
    attended.child.wait().unwrap();
    assert!(!lives(&command));
}

#[test]
fn signals_for_the_command_are_passed_on() {
    let script = "trap 'echo heard; exit 4' USR1 INT; echo ready; while :; do sleep 0.01; done";
    let mut attended = Attended::start(&["sh", "-c", script]);
    assert_eq!(attended.line(), "ready");
    attended.signal(libc::SIGUSR1);
    assert_eq!(attended.line(), "heard");
    assert_eq!(attended.child.wait().unwrap().code(), Some(4));
}

#[test]
fn the_command_does_not_outlive_exec_even_after_sigkill() {
    let mut attended = Attended::start(&["sh", "-c", "echo ready; exec sleep 600"]);
    let command = attended.event()["pid"].to_string();
    assert_eq!(attended.line(), "ready");
    attended.signal(libc::SIGKILL);
    attended.child.wait().unwrap();
    while lives(&command) {
        std::thread::sleep(Duration::from_millis(5));
    }
}
