//! Limits of this process: CPU time, memory, files, priorities, sockets, namespaces.
//!
//! A control group's limit holds for all groups below it: the smallest one on the path to the root
//! counts. Permissions are tested by trying where that has no side effects: a seccomp filter or a
//! security module may refuse what capabilities allow.

use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{Resource, geteuid, getrlimit};
use serde::Serialize;

use super::kernel;
use super::reading::HostReader;
use crate::host::sample::cgroups;
use crate::session::workers;
use crate::sys::clock::{self, Granted, Priority};
use crate::sys::kernel::scheduling_class;

/// Version 1 writes "no limit" as the largest multiple of a page.
const UNLIMITED: u64 = 1 << 60;
/// Capabilities by their numbers (`linux/capability.h`), of those that measuring may want.
const CAPABILITIES: [(u32, &str); 9] = [
    (12, "CAP_NET_ADMIN"),
    (13, "CAP_NET_RAW"),
    (14, "CAP_IPC_LOCK"),
    (19, "CAP_SYS_PTRACE"),
    (21, "CAP_SYS_ADMIN"),
    (23, "CAP_SYS_NICE"),
    (24, "CAP_SYS_RESOURCE"),
    (38, "CAP_PERFMON"),
    (39, "CAP_BPF"),
];

/// Limits in numbers; none of a limit is "unlimited" where its group is named, and unknown where it
/// is not.
#[derive(Debug, Serialize)]
pub(super) struct Limits {
    /// Of how many processors the time may be used.
    processor_quota: Option<f64>,
    processor_groups: Vec<PathBuf>,
    /// Periods in which a quota counted, and those in which it ended before the period did, since
    /// the group was made.
    quota_periods: Option<u64>,
    throttled_periods: Option<u64>,
    throttled_ns: Option<u64>,
    memory_limit_bytes: Option<u64>,
    memory_used_bytes: Option<u64>,
    memory_groups: Vec<PathBuf>,
    open_files: Option<u64>,
    open_files_most: Option<u64>,
    /// How this process is scheduled, which is how the controller is.
    scheduling_class: Option<&'static str>,
    niceness: Option<i32>,
    /// Of a period (a second as a rule), what real-time threads may have; none where that is not
    /// limited.
    realtime_runtime_ns: Option<i64>,
    realtime_period_ns: Option<i64>,
}

/// Permissions that were tried.
#[derive(Debug, Serialize)]
pub(super) struct Permissions {
    user_id: u32,
    capabilities: Option<Vec<&'static str>>,
    capture: bool,
    capture_refused: Option<String>,
    realtime: bool,
    realtime_refused: Option<String>,
    /// Network namespaces, as root or in a namespace of users.
    namespaces: bool,
    namespaces_refused: Option<String>,
    perf_event_paranoid: Option<i32>,
    unprivileged_bpf_disabled: Option<i32>,
}

impl Limits {
    pub(super) fn look(reader: &mut HostReader) -> Self {
        let membership =
            reader.read("limits.processor_groups", "/proc/self/cgroup").unwrap_or_default();
        let mounts =
            reader.read("limits.processor_groups", "/proc/self/mountinfo").unwrap_or_default();
        let above =
            |controller: &str| lineage(&cgroups::directories(&membership, &mounts, controller));
        let (processor_groups, memory_groups) = (above("cpu"), above("memory"));
        let throttled = processor_groups
            .iter()
            .filter_map(|(group, _)| cgroups::look(&reader.path_of(&group.to_string_lossy())).ok());
        let throttled = throttled.max_by_key(|one| one.throttled_ns);
        let smallest = |found: &[f64]| found.iter().copied().reduce(f64::min);
        let quotas: Vec<f64> =
            processor_groups.iter().filter_map(|(group, _)| quota(reader, group)).collect();
        let memory = memory_groups
            .iter()
            .filter_map(|(group, _)| memory(reader, group))
            .min_by_key(|(limit, _)| *limit);
        let files = getrlimit(Resource::Nofile);
        let (class, niceness) = (scheduling_class(), rustix::process::getpriority_process(None));
        let micros = |value: i64| value.saturating_mul(1_000);
        let runtime = reader
            .number::<i64>("limits.realtime_runtime_ns", "/proc/sys/kernel/sched_rt_runtime_us");
        let period = reader
            .number::<i64>("limits.realtime_period_ns", "/proc/sys/kernel/sched_rt_period_us");
        Self {
            processor_quota: smallest(&quotas),
            processor_groups: own(&processor_groups),
            quota_periods: throttled.map(|one| one.periods),
            throttled_periods: throttled.map(|one| one.throttled_periods),
            throttled_ns: throttled.map(|one| one.throttled_ns),
            memory_limit_bytes: memory.map(|(limit, _)| limit),
            memory_used_bytes: memory.and_then(|(_, used)| used),
            memory_groups: own(&memory_groups),
            open_files: files.current,
            open_files_most: files.maximum,
            scheduling_class: reader.or_note(
                "limits.scheduling_class",
                class.ok_or_else(|| "it has one of its own".to_owned()),
            ),
            niceness: reader
                .or_note("limits.niceness", niceness.map_err(|error| error.to_string())),
            realtime_runtime_ns: runtime.filter(|micros| *micros >= 0).map(micros),
            realtime_period_ns: period.map(micros),
        }
    }
}

/// The groups, and all above each, up to where they are mounted; true for the group itself.
fn lineage(groups: &[(PathBuf, PathBuf)]) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    for (mount, group) in groups {
        let above = group.ancestors().take_while(|directory| directory.starts_with(mount));
        found.extend(
            above.enumerate().map(|(number, directory)| (directory.to_owned(), number == 0)),
        );
    }
    found
}

fn own(lineage: &[(PathBuf, bool)]) -> Vec<PathBuf> {
    lineage.iter().filter(|(_, own)| *own).map(|(group, _)| group.clone()).collect()
}

/// The quota of a group in processors; none when it has none.
fn quota(reader: &HostReader, group: &Path) -> Option<f64> {
    let read = |name: &str| reader.text(&group.join(name).to_string_lossy()).ok();
    let (runtime, period) = match read("cpu.max") {
        Some(text) => {
            text.split_once(' ').map(|(runtime, period)| (runtime.to_owned(), period.to_owned()))?
        }
        None => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
    };
    let (runtime, period): (f64, f64) = (runtime.parse().ok()?, period.parse().ok()?);
    (runtime > 0.0 && period > 0.0 && runtime.is_finite() && period.is_finite())
        .then(|| runtime / period)
}

/// The limit of a group, and its usage; none when it has none.
fn memory(reader: &HostReader, group: &Path) -> Option<(u64, Option<u64>)> {
    let read =
        |name: &str| reader.text(&group.join(name).to_string_lossy()).ok()?.parse::<u64>().ok();
    let limit = read("memory.max").or_else(|| read("memory.limit_in_bytes"))?;
    (limit < UNLIMITED)
        .then(|| (limit, read("memory.current").or_else(|| read("memory.usage_in_bytes"))))
}

impl Permissions {
    pub(super) fn look(reader: &mut HostReader) -> Self {
        let capture =
            socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None);
        let capture_refused = capture.err().map(|error| error.to_string());
        let realtime = realtime();
        let namespaces = kernel::try_namespaces(false).or_else(|_| kernel::try_namespaces(true));
        Self {
            user_id: geteuid().as_raw(),
            capabilities: reader.parsed(
                "permissions.capabilities",
                "/proc/self/status",
                capabilities,
            ),
            capture: capture_refused.is_none(),
            capture_refused,
            realtime: realtime.is_none(),
            realtime_refused: realtime,
            namespaces: namespaces.is_ok(),
            namespaces_refused: namespaces.err().map(|error| error.to_string()),
            perf_event_paranoid: reader
                .number("permissions.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"),
            unprivileged_bpf_disabled: reader.number(
                "permissions.unprivileged_bpf_disabled",
                "/proc/sys/kernel/unprivileged_bpf_disabled",
            ),
        }
    }
}

/// Why real-time priority is refused, if it is: tried in a thread that ends at once.
fn realtime() -> Option<String> {
    let tried = workers::spawn("priority", || clock::take_priority(Priority::Fifo))
        .and_then(|thread| workers::join("priority", thread));
    match tried {
        Ok(Granted { priority_refused, .. }) => priority_refused,
        Err(failure) => Some(failure.message().to_owned()),
    }
}

/// The capabilities that count now.
fn capabilities(status: &str) -> Option<Vec<&'static str>> {
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let bits = u64::from_str_radix(bits.trim(), 16).ok()?;
    Some(
        CAPABILITIES
            .into_iter()
            .filter(|(number, _)| bits & 1 << number != 0)
            .map(|(_, name)| name)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let file = root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    const MOUNTS: &str = "31 29 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n34 29 0:28 / \
        /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_smallest_limit_on_the_path_to_the_root_counts() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        put(root, "proc/self/cgroup", "0::/a/b\n");
        put(root, "proc/self/mountinfo", MOUNTS);
        put(root, "sys/fs/cgroup/a/cpu.max", "50000 100000\n");
        put(root, "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        put(root, "sys/fs/cgroup/a/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_usec 7\n");
        put(root, "sys/fs/cgroup/a/b/memory.max", "2147483648\n");
        put(root, "sys/fs/cgroup/a/b/memory.current", "1024\n");
        put(root, "sys/fs/cgroup/memory.max", "max\n");
        let found = Limits::look(&mut HostReader::below(root));
        assert!((found.processor_quota.unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(
            (found.quota_periods, found.throttled_periods, found.throttled_ns),
            (Some(10), Some(4), Some(7_000))
        );
        assert_eq!(
            (found.memory_limit_bytes, found.memory_used_bytes),
            (Some(2_147_483_648), Some(1024))
        );
        assert_eq!(found.processor_groups, [PathBuf::from("/sys/fs/cgroup/a/b")]);
    }

    #[test]
    fn version_1_has_its_own_values_for_unlimited() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        put(root, "cpu/cpu.cfs_quota_us", "-1\n");
        put(root, "cpu/cpu.cfs_period_us", "100000\n");
        put(root, "cpu/memory.limit_in_bytes", "9223372036854771712\n");
        let reader = HostReader::below(root);
        assert_eq!(
            (quota(&reader, "/cpu".as_ref()), memory(&reader, "/cpu".as_ref())),
            (None, None)
        );
        put(root, "cpu/cpu.cfs_quota_us", "150000\n");
        assert!((quota(&reader, "/cpu".as_ref()).unwrap() - 1.5).abs() < 1e-9);
        for nonsense in ["nan", "inf", "0", "one", ""] {
            put(root, "cpu/cpu.cfs_quota_us", nonsense);
            assert_eq!(quota(&reader, "/cpu".as_ref()), None, "{nonsense}");
        }
    }

    #[test]
    fn capabilities_are_named() {
        assert_eq!(
            capabilities("Name:\tx\nCapEff:\t0000000000003000\n").unwrap(),
            ["CAP_NET_ADMIN", "CAP_NET_RAW"]
        );
        assert_eq!(capabilities("CapEff:\t0000000000000000\n").unwrap(), Vec::<&str>::new());
        assert_eq!((capabilities("CapEff: many\n"), capabilities("")), (None, None));
    }
}
