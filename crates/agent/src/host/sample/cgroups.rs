//! Throttling of control groups (`cpu.stat` of both versions: the kernel's
//! `Documentation/scheduler/sched-bwc.rst` and `Documentation/admin-guide/cgroup-v2.rst`).

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Unavailable, grown};

/// Throttling of a control group in an interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Throttling {
    cgroup: PathBuf,
    /// Periods in which it wanted to run.
    periods: u64,
    throttled_periods: u64,
    throttled_ns: u64,
    /// CPU time; version 2 only.
    used_ns: Option<u64>,
}

/// The control groups that are read.
#[derive(Debug, Default)]
pub(crate) struct Watch(Vec<(PathBuf, Counters)>);

/// A control group's counters since its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counters {
    pub(crate) periods: u64,
    pub(crate) throttled_periods: u64,
    pub(crate) throttled_ns: u64,
    used_ns: Option<u64>,
}

impl Watch {
    /// Those that were named, or the agent's own.
    pub(crate) fn of(named: Option<&[PathBuf]>, unavailable: &mut Vec<Unavailable>) -> Self {
        let directories = named.map_or_else(own, <[PathBuf]>::to_vec);
        let mut found = Vec::new();
        for directory in directories {
            match look(&directory) {
                Ok(counters) => found.push((directory, counters)),
                Err(why) => {
                    unavailable
                        .push(Unavailable { what: format!("cgroup {}", directory.display()), why });
                }
            }
        }
        if found.is_empty() && unavailable.is_empty() {
            unavailable.push(Unavailable {
                what: "cgroups".to_owned(),
                why: "no control group of processor time is mounted".to_owned(),
            });
        }
        Self(found)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.iter().map(|(directory, _)| directory.display().to_string()).collect()
    }

    /// Differences from the last reading; a group that is gone is left out.
    pub(crate) fn look(&mut self) -> Vec<Throttling> {
        let mut found = Vec::new();
        for (directory, before) in &mut self.0 {
            let Ok(now) = look(directory) else { continue };
            found.push(Throttling {
                cgroup: directory.clone(),
                periods: grown(before.periods, now.periods),
                throttled_periods: grown(before.throttled_periods, now.throttled_periods),
                throttled_ns: grown(before.throttled_ns, now.throttled_ns),
                used_ns: now.used_ns.zip(before.used_ns).map(|(now, before)| grown(before, now)),
            });
            *before = now;
        }
        found
    }
}

/// Reads `cpu.stat` of a group.
///
/// # Errors
/// Why it has no counters.
pub(crate) fn look(directory: &Path) -> Result<Counters, String> {
    let text = fs::read_to_string(directory.join("cpu.stat"))
        .map_err(|error| format!("cpu.stat: {error}"))?;
    read(&text)
        .ok_or_else(|| "cpu.stat has no throttling: the group has no cpu controller".to_owned())
}

/// Version 1 has `throttled_time` in nanoseconds, version 2 `throttled_usec` in microseconds.
fn read(text: &str) -> Option<Counters> {
    let value = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse::<u64>().ok())
    };
    let micros = |name: &str| value(name).map(|micros| micros.saturating_mul(1_000));
    Some(Counters {
        periods: value("nr_periods")?,
        throttled_periods: value("nr_throttled")?,
        throttled_ns: value("throttled_time").or_else(|| micros("throttled_usec"))?,
        used_ns: micros("usage_usec"),
    })
}

/// The directories of the groups in which the agent runs.
fn own() -> Vec<PathBuf> {
    let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    directories(&membership, &mounts, "cpu").into_iter().map(|(_, group)| group).collect()
}

/// The groups of a controller, each behind where its hierarchy is mounted. Version 1: the mount
/// whose options name the controller; version 2: the mount of type `cgroup2`. A group outside of
/// what is mounted (in a container) is taken as the mount's root.
pub(crate) fn directories(
    membership: &str,
    mounts: &str,
    controller: &str,
) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let version_1 = controllers.split(',').any(|one| one == controller);
        if !version_1 && !controllers.is_empty() {
            continue;
        }
        for mount in mounts.lines() {
            let Some((left, right)) = mount.split_once(" - ") else { continue };
            let mut right = right.split(' ');
            let (Some(kind), options) = (right.next(), right.nth(1)) else { continue };
            let of_controller = kind == "cgroup"
                && options.is_some_and(|options| options.split(',').any(|one| one == controller));
            if (version_1 && !of_controller) || (!version_1 && kind != "cgroup2") {
                continue;
            }
            let mut left = left.split(' ').skip(3);
            let (Some(root), Some(mount_point)) = (left.next(), left.next()) else { continue };
            let below = group.strip_prefix(root).unwrap_or("");
            found.push((
                PathBuf::from(mount_point),
                Path::new(mount_point).join(below.trim_start_matches('/')),
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        let version_1 = "nr_periods 10\nnr_throttled 4\nthrottled_time 123456\nnr_bursts 0\n";
        let version_2 = "usage_usec 5000\nuser_usec 1\nsystem_usec 2\nnr_periods 10\nnr_throttled \
            4\nthrottled_usec 123\n";
        assert_eq!(
            read(version_1),
            Some(Counters {
                periods: 10,
                throttled_periods: 4,
                throttled_ns: 123_456,
                used_ns: None
            })
        );
        assert_eq!(
            read(version_2),
            Some(Counters {
                periods: 10,
                throttled_periods: 4,
                throttled_ns: 123_000,
                used_ns: Some(5_000_000)
            })
        );
        assert_eq!(read("usage_usec 5000\n"), None);
    }

    #[test]
    fn the_own_groups_are_found() {
        let mounts = "32 31 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup \
            rw,cpu,cpuacct\n\
                      33 31 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      34 31 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let groups = |membership: &str, controller: &str| -> Vec<PathBuf> {
            directories(membership, mounts, controller)
                .into_iter()
                .map(|(_, group)| group)
                .collect()
        };
        let membership = "4:memory:/a\n2:cpu,cpuacct:/b/c\n0::/d\n";
        assert_eq!(
            groups(membership, "cpu"),
            ["/sys/fs/cgroup/cpu,cpuacct/b/c", "/sys/fs/cgroup/unified/d"].map(PathBuf::from)
        );
        assert_eq!(
            groups(membership, "memory"),
            ["/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/unified/d"].map(PathBuf::from)
        );
        assert_eq!(groups("0::/\n", "cpu"), [PathBuf::from("/sys/fs/cgroup/unified")]);
        assert_eq!(groups("", "cpu"), Vec::<PathBuf>::new());
    }
}
