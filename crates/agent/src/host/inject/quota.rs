//! A CPU quota on a control group: set at the beginning, lifted at the end.
//!
//! The caller has created the group and moved the processes into it. Both versions of control
//! groups are supported (`Documentation/scheduler/sched-bwc.rst` and
//! `Documentation/admin-guide/cgroup-v2.rst` of the kernel).

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::processes::Processes;
use super::{LOOK, Schedule};
use crate::host::sample::cgroups::{self, Counters};
use crate::session::Failure;
use crate::sys::clock;

/// The least that the kernel grants in a period, and the longest period.
const LEAST_US: u64 = 1_000;
const LONGEST_US: u64 = 1_000_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quota {
    /// The group's directory.
    group: PathBuf,
    /// Of control groups: 1 or 2.
    version: u8,
    granted_us: u64,
    period_us: u64,
}

/// The results of the fault.
#[derive(Debug, Serialize)]
pub(super) struct Limited {
    /// Periods in which the processes wanted to run, and those of them in which the quota was used
    /// up.
    periods: u64,
    throttled_periods: u64,
    throttled_ns: u64,
}

impl Quota {
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.granted_us < LEAST_US || !(LEAST_US..=LONGEST_US).contains(&self.period_us) {
            let message = format!(
                "granted_us: {} in a period of {} is not granted by any kernel",
                self.granted_us, self.period_us
            );
            return Err(Failure::configuration(
                message,
                "a quota is at least 1000 µs, a period from 1000 to 1000000 µs",
            ));
        }
        if !(1..=2).contains(&self.version) {
            return Err(Failure::configuration(
                format!("version: there is no version {}", self.version),
                "1 or 2",
            ));
        }
        counters(&self.group).map(|_| ())
    }

    /// From setting the quota to lifting it, which happens after any end.
    pub(super) fn carry_out(
        &self,
        schedule: Schedule,
        processes: &mut Processes,
    ) -> Result<Limited, Failure> {
        let before = counters(&self.group)?;
        let lifted = Lifted(self);
        self.set()?;
        let mut next = schedule.begin + LOOK;
        while schedule.wait(next) {
            let now = clock::monotonic();
            processes.look(now);
            next = now + LOOK;
        }
        drop(lifted);
        let after = counters(&self.group)?;
        Ok(Limited {
            periods: after.periods.saturating_sub(before.periods),
            throttled_periods: after.throttled_periods.saturating_sub(before.throttled_periods),
            throttled_ns: after.throttled_ns.saturating_sub(before.throttled_ns),
        })
    }

    fn set(&self) -> Result<(), Failure> {
        if self.version == 1 {
            self.write("cpu.cfs_period_us", &self.period_us.to_string())?;
            self.write("cpu.cfs_quota_us", &self.granted_us.to_string())
        } else {
            self.write("cpu.max", &format!("{} {}", self.granted_us, self.period_us))
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.group.join(name);
        fs::write(&path, text).map_err(|error| {
            Failure::running(
                format!("{} does not take {text}: {error}", path.display()),
                "a group above may have a smaller quota; see its files",
            )
        })
    }
}

/// Lifts a quota when it is dropped.
struct Lifted<'a>(&'a Quota);

impl Drop for Lifted<'_> {
    fn drop(&mut self) {
        // The group is removed next; where it cannot be written any more, it is gone.
        let _ = if self.0.version == 1 {
            self.0.write("cpu.cfs_quota_us", "-1")
        } else {
            self.0.write("cpu.max", "max")
        };
    }
}

fn counters(group: &Path) -> Result<Counters, Failure> {
    cgroups::look(group).map_err(|why| {
        Failure::running(
            format!("{}: {why}", group.display()),
            "make a group of the controller cpu",
        )
    })
}
