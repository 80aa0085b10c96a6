//! The target processes of a fault, with all descendants: stopped, pinned to a processor, their CPU
//! time read.
//!
//! Descendants are looked up each time, since programs start others. An orphaned process is not
//! found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;
use trustbed_units::{Ns, Span};

use super::{LOOK, share};
use crate::session::Failure;
use crate::sys::kernel::{self, Poll};

/// The interval of scans for new descendants, to count their CPU time.
const SEARCH: Span = Span::from_secs(1);

/// CPU time of a process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Used {
    process: i32,
    /// All its threads together, since the beginning.
    ran_ns: i64,
    /// Of the time from the beginning until it was last seen.
    ran_share: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    first: Span,
    last: Span,
    seen: Ns,
}

/// A named process. The descriptor identifies it: its number may be reused when it has ended.
#[derive(Debug)]
struct Root {
    process: i32,
    descriptor: OwnedFd,
}

/// Processes with their descendants. In this order: [`Processes::begin`], the others at will,
/// [`Processes::used`].
#[derive(Debug)]
pub(super) struct Processes {
    roots: Vec<Root>,
    members: BTreeMap<i32, Member>,
    begun: Ns,
    looked: Ns,
    searched: Ns,
}

impl Processes {
    /// Those that were named, all of which must be there.
    pub(super) fn of(named: &[i32]) -> Result<Self, Failure> {
        let mut roots = Vec::new();
        for process in named {
            let pid = if *process > 1 { Pid::from_raw(*process) } else { None };
            let opened = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty()));
            let Some(Ok(descriptor)) = opened else {
                return Err(Failure::configuration(
                    format!("processes: {process} is no process to inject a fault into"),
                    "name processes that run",
                ));
            };
            roots.push(Root { process: *process, descriptor });
        }
        if roots.is_empty() {
            return Err(Failure::configuration("processes: none is named", "name at least one"));
        }
        Ok(Self { roots, members: BTreeMap::new(), begun: Ns(0), looked: Ns(0), searched: Ns(0) })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.running().len()
    }

    /// Everything is counted from now on.
    pub(super) fn begin(&mut self, now: Ns) {
        (self.begun, self.looked, self.searched) = (now, now, now);
        self.search(now);
    }

    /// Reads their CPU time, if the last reading was long ago.
    pub(super) fn look(&mut self, now: Ns) {
        if now - self.looked < LOOK {
            return;
        }
        self.looked = now;
        if now - self.searched >= SEARCH {
            self.searched = now;
            self.search(now);
        }
        for (process, member) in &mut self.members {
            if let Some(ran) = kernel::process_time(*process) {
                (member.last, member.seen) = (ran, now);
            }
        }
    }

    fn search(&mut self, now: Ns) {
        // The CPU time of a new one before it was found counts: it was started meanwhile.
        let first = now - self.begun > Span::ZERO;
        for process in self.running() {
            if let Some(ran) = kernel::process_time(process) {
                self.members.entry(process).or_insert(Member {
                    first: if first { Span::ZERO } else { ran },
                    last: ran,
                    seen: now,
                });
            }
        }
    }

    /// CPU time of each.
    pub(super) fn used(&self) -> Vec<Used> {
        let one = |(process, member): (&i32, &Member)| {
            let ran_ns = (member.last - member.first).0;
            Used {
                process: *process,
                ran_ns,
                ran_share: share(ran_ns, (member.seen - self.begun).0),
            }
        };
        self.members.iter().map(one).collect()
    }

    /// All of them, by their numbers.
    fn running(&self) -> BTreeSet<i32> {
        let mut found = BTreeSet::new();
        for root in self.roots.iter().filter(|root| root.lives()) {
            descend(root.process, &mut found, &mut |_| {});
        }
        found
    }

    /// Stops all of them until the guard is dropped; none when there are none any more.
    pub(super) fn stop(&mut self) -> Option<Stopped<'_>> {
        self.roots.retain(Root::lives);
        if self.roots.is_empty() {
            return None;
        }
        let mut stopped = BTreeSet::new();
        for root in &self.roots {
            let _ = pidfd_send_signal(&root.descriptor, Signal::STOP);
            // A stopped process starts no others: the scan below is complete.
            descend(root.process, &mut stopped, &mut |process| {
                let _ = kill_process(process, Signal::STOP);
            });
        }
        Some(Stopped { roots: &self.roots, stopped })
    }

    /// Has all their threads run on one processor until the guard is dropped. Threads that they
    /// start later run there too, and stay.
    pub(super) fn pin(&self, processor: usize) -> Result<Pinned, Failure> {
        let mut only = CpuSet::new();
        only.set(processor);
        let mut pinned = Pinned(Vec::new());
        for process in self.running() {
            for thread in threads(process) {
                // It may have ended since.
                let Ok(before) = sched_getaffinity(Some(thread)) else { continue };
                sched_setaffinity(Some(thread), &only).map_err(|error| {
                    let message = format!(
                        "process {process} cannot be held on processor \
                        {processor}: {error}"
                    );
                    Failure::running(
                        message,
                        "the processor must be one that this process may \
                        use, and the other one's user the same",
                    )
                })?;
                pinned.0.push((thread, before));
            }
        }
        Ok(pinned)
    }
}

/// Stopped processes. They go on when this is dropped.
#[derive(Debug)]
pub(super) struct Stopped<'a> {
    roots: &'a [Root],
    stopped: BTreeSet<i32>,
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        for root in self.roots {
            // Any of them may have been killed while it was stopped.
            let _ = pidfd_send_signal(&root.descriptor, Signal::CONT);
        }
        for process in self.stopped.iter().filter_map(|process| Pid::from_raw(*process)) {
            let _ = kill_process(process, Signal::CONT);
        }
    }
}

impl Root {
    fn lives(&self) -> bool {
        // The descriptor is readable once it has ended (pidfd_open(2)).
        !matches!(Poll::new(&[self.descriptor.as_fd()]).wait(Some(Span::ZERO)), Ok(1))
    }
}

/// A process and its descendants, parents first; `visit` is called with each as soon as it is
/// found.
fn descend(process: i32, found: &mut BTreeSet<i32>, visit: &mut impl FnMut(Pid)) {
    let Some(pid) = Pid::from_raw(process) else { return };
    if !found.insert(process) {
        return;
    }
    visit(pid);
    for thread in threads(process) {
        let path = format!("/proc/{process}/task/{}/children", thread.as_raw_nonzero());
        let children = fs::read_to_string(path).unwrap_or_default();
        for child in children.split_ascii_whitespace().filter_map(|word| word.parse().ok()) {
            descend(child, found, visit);
        }
    }
}

/// Threads that are held on a processor. They may run where they could before when this is dropped.
#[derive(Debug)]
pub(super) struct Pinned(Vec<(Pid, CpuSet)>);

impl Drop for Pinned {
    fn drop(&mut self) {
        for (thread, before) in &self.0 {
            let _ = sched_setaffinity(Some(*thread), before);
        }
    }
}

fn threads(process: i32) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    entries
        .filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_missing_process_is_refused() {
        for pid in [0, 1, -5, i32::MAX] {
            assert!(Processes::of(&[pid]).is_err(), "{pid}");
        }
        assert!(Processes::of(&[]).is_err());
    }

    #[test]
    fn descendants_are_found_whatever_group_they_are_in() {
        let mut shell = Command::new("sh").args(["-c", "setsid sleep 600 & wait"]).spawn().unwrap();
        let named = i32::try_from(shell.id()).unwrap();
        let processes = Processes::of(&[named]).unwrap();
        while processes.count() < 2 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let found = processes.running();
        assert!(found.contains(&named), "{found:?}");
        for process in found.into_iter().filter(|process| *process != named) {
            kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
        assert_eq!(processes.count(), 0);
    }
}
