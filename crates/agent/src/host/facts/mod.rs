//! The verb `facts`: properties and settings of a host that affect measurements on it, and a few
//! live tests.
//!
//! It reports everything, judges nothing and changes nothing. An unknown value is null, and
//! `unavailable` has the reason. Files are read below `root`, for containers with the host's files
//! mounted elsewhere; system calls describe this process whatever the root is.
//!
//! Bias: this is one moment. A host that stayed on CPU for two seconds may be descheduled for the
//! next two.

mod interfaces;
mod kernel;
mod limits;
mod live;
mod load;
mod network;
mod processors;
mod reading;
mod system;
mod time;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::session::workers::{self, Start};
use crate::session::{Failure, Session, Stop};
use crate::sys::clock;
use reading::{HostReader, Unavailable};

/// Raised when a fact changes its meaning or goes away.
const VERSION: u32 = 1;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Configuration {
    /// Where the host's `/proc`, `/sys` and `/boot` are.
    #[serde(default = "slash")]
    root: PathBuf,
    /// The live tests; none by default.
    live: Option<live::Options>,
}

fn slash() -> PathBuf {
    PathBuf::from("/")
}

#[derive(Debug, Serialize)]
struct Nothing {}

#[derive(Debug, Serialize)]
struct Report {
    facts_version: u32,
    agent: &'static str,
    start_ns: i64,
    end_ns: i64,
    /// Whether stop was requested before the tests were complete.
    ended_early: bool,
    system: system::System,
    #[serde(rename = "virtual")]
    virtualisation: system::Virtual,
    clock: time::Clock,
    synchronisation: time::Synchronisation,
    processors: processors::Processors,
    load: load::Load,
    limits: limits::Limits,
    permissions: limits::Permissions,
    network: network::Network,
    interfaces: Option<Vec<interfaces::Interface>>,
    interfaces_left_out: usize,
    live: Option<live::Found>,
    unavailable: Vec<Unavailable>,
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    let configuration: Configuration = session.configuration()?;
    if let Some(live) = &configuration.live {
        live.check()?;
    }
    session.ready(&Nothing {})?;
    let Some(start) = workers::wait_for_start(session)? else { return Ok(()) };
    let stop = session.stop();
    let thread = workers::spawn("facts", move || look(&configuration, start, stop))?;
    let outcome = workers::supervise(session, || thread.is_finished(), || Nothing {});
    let report = workers::join("facts", thread)?;
    outcome?;
    session.report(&report)
}

fn look(configuration: &Configuration, start: Start, stop: Stop) -> Report {
    let mut reader = HostReader::below(&configuration.root);
    // Live tests come first: reading files is work that they would see.
    let live = configuration
        .live
        .as_ref()
        .map(|configuration| live::run(configuration, &mut reader, stop));
    let (interfaces, interfaces_left_out) = interfaces::look(&mut reader);
    Report {
        facts_version: VERSION,
        agent: env!("CARGO_PKG_VERSION"),
        start_ns: start.realtime.0,
        system: system::System::look(&mut reader),
        virtualisation: system::Virtual::look(&mut reader),
        clock: time::Clock::look(&mut reader),
        synchronisation: time::Synchronisation::look(&mut reader),
        processors: processors::Processors::look(&mut reader),
        load: load::Load::look(&mut reader),
        limits: limits::Limits::look(&mut reader),
        permissions: limits::Permissions::look(&mut reader),
        network: network::Network::look(&mut reader),
        interfaces,
        interfaces_left_out,
        ended_early: live.as_ref().is_some_and(live::Found::ended_early),
        live,
        end_ns: clock::realtime().0,
        unavailable: reader.unavailable,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn facts(root: &Path) -> serde_json::Value {
        let configuration = Configuration { root: root.to_owned(), live: None };
        let start = Start {
            monotonic: clock::monotonic(),
            realtime: clock::realtime(),
            offset: clock::Offset::measure(),
        };
        serde_json::to_value(look(&configuration, start, Stop::never())).unwrap()
    }

    /// What the report has at the path that a note names; none where a part of it is not there.
    fn at<'a>(found: &'a serde_json::Value, what: &str) -> Option<&'a serde_json::Value> {
        what.split('.').try_fold(found, |value, key| value.get(key))
    }

    fn is_empty(value: &serde_json::Value) -> bool {
        let of_object = value.as_object().is_some_and(|parts| parts.values().all(is_empty));
        value.is_null() || of_object || value.as_array().is_some_and(Vec::is_empty)
    }

    fn notes(found: &serde_json::Value) -> Vec<(String, String)> {
        let text = |note: &serde_json::Value, key: &str| note[key].as_str().unwrap().to_owned();
        found["unavailable"]
            .as_array()
            .unwrap()
            .iter()
            .map(|note| (text(note, "what"), text(note, "why")))
            .collect()
    }

    /// Files of which facts are read, from the root.
    const FILES: [&str; 26] = [
        "proc/config.gz",
        "proc/cmdline",
        "proc/cpuinfo",
        "proc/loadavg",
        "proc/meminfo",
        "proc/net/softnet_stat",
        "proc/pressure/cpu",
        "proc/pressure/io",
        "proc/self/cgroup",
        "proc/self/mountinfo",
        "proc/self/status",
        "proc/stat",
        "proc/sys/kernel/perf_event_paranoid",
        "proc/sys/kernel/sched_rt_runtime_us",
        "proc/sys/net/core/rmem_max",
        "proc/sys/net/ipv4/tcp_congestion_control",
        "proc/sys/net/ipv4/tcp_rmem",
        "proc/sys/net/ipv4/tcp_sack",
        "proc/uptime",
        "proc/7/comm",
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
        "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
        "sys/devices/system/cpu/online",
        "sys/devices/system/cpu/smt/active",
    ];

    #[test]
    fn malformed_kernel_files_do_not_affect_other_values() {
        let long = "9".repeat(70_000);
        let contents: [&[u8]; 9] = [
            b"",
            b"\n\n\n",
            b"\x00\xff\xfe\x00",
            b"cpu 18446744073709551615 18446744073709551615 18446744073709551615 1\ncpu0 9\n",
            b"-1 -1 -1",
            b"some avg10=inf\nCapEff: zz\nMemTotal: -5 kB\nflags\nflags : hypervisor\n0-4294967295",
            b"0::/../../../../etc\n1:cpu:/..\n31 29 0:26 / / rw - cgroup2 cgroup2 rw\n",
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03damaged",
            long.as_bytes(),
        ];
        for content in contents {
            let directory = tempfile::tempdir().unwrap();
            for file in FILES {
                let file = directory.path().join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, content).unwrap();
            }
            let found = facts(directory.path());
            assert_eq!(found["facts_version"], VERSION);
            assert!(
                found["interfaces"].is_array() && found["permissions"]["capture"].is_boolean(),
                "values of system calls are available"
            );
        }
    }

    #[test]
    fn without_kernel_files_every_value_is_unavailable_with_a_reason() {
        let directory = tempfile::tempdir().unwrap();
        let found = facts(directory.path());
        let notes = notes(&found);
        for what in [
            "clock.source",
            "network.congestion_control",
            "load.since_start",
            "processors.online",
            "system.tick_hz",
        ] {
            let (_, why) = notes
                .iter()
                .find(|(noted, _)| noted == what)
                .unwrap_or_else(|| panic!("no note about {what}"));
            assert!(!why.is_empty());
        }
        for (what, _) in &notes {
            let value = at(&found, what);
            assert!(value.is_none_or(is_empty), "{what}: {value:?}");
        }
    }

    #[test]
    fn this_host_has_a_kernel_and_a_network() {
        let found = facts("/".as_ref());
        for what in [
            "system.kernel",
            "processors.allowed",
            "load.memory.total_bytes",
            "limits.open_files_most",
            "network.congestion_control",
        ] {
            assert!(at(&found, what).is_some_and(|value| !value.is_null()), "{what}: {found}");
        }
        assert!(found["interfaces"].as_array().unwrap().iter().any(|one| one["loopback"] == true));
        for (what, why) in notes(&found) {
            assert!(!why.is_empty(), "{what}");
        }
    }
}
