//! The processes that are disturbed: groups, each named by its leader; stopped, pinned to a processor, and asked how much they ran.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::{Pid, Signal, getpgid, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;
use trustbed_units::{Ns, Span};

use super::{LOOK, share};
use crate::kernel;
use crate::talk::Failure;

/// New members of a group are looked for so often: the whole of `/proc` is read for it.
const SEARCH: Span = Span::from_secs(1);

/// What a process ran.
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

/// Groups of processes. In this order: [`Processes::begin`], the others at will, [`Processes::used`].
#[derive(Debug)]
pub(super) struct Processes {
    groups: Vec<Pid>,
    members: BTreeMap<i32, Member>,
    begun: Ns,
    looked: Ns,
    searched: Ns,
}

impl Processes {
    /// Groups by their leaders, all of which must be there.
    pub(super) fn of(leaders: &[i32]) -> Result<Self, Failure> {
        let mut groups = Vec::new();
        for leader in leaders {
            let group = Pid::from_raw(*leader).filter(|pid| *leader > 1 && getpgid(Some(*pid)).is_ok_and(|group| group == *pid));
            let missing =
                || Failure::configuration(format!("processes: {leader} leads no group"), "name processes that were started as such");
            groups.push(group.ok_or_else(missing)?);
        }
        if groups.is_empty() {
            return Err(Failure::configuration("processes: none is named", "name at least one"));
        }
        Ok(Self { groups, members: BTreeMap::new(), begun: Ns(0), looked: Ns(0), searched: Ns(0) })
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

    /// Counts what they ran, if the last time was long ago.
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
        // What a new one ran before it was found is counted: it was started meanwhile.
        let first = now - self.begun > Span::ZERO;
        for process in self.running() {
            if let Some(ran) = kernel::process_time(process) {
                self.members.entry(process).or_insert(Member { first: if first { Span::ZERO } else { ran }, last: ran, seen: now });
            }
        }
    }

    /// What each ran.
    pub(super) fn used(&self) -> Vec<Used> {
        let one = |(process, member): (&i32, &Member)| {
            let ran_ns = (member.last - member.first).0;
            Used { process: *process, ran_ns, ran_share: share(ran_ns, (member.seen - self.begun).0) }
        };
        self.members.iter().map(one).collect()
    }

    /// The members of the groups, as `/proc/PID/stat` names them (proc(5)).
    fn running(&self) -> Vec<i32> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let mut found: Vec<i32> = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
            .filter(|process| {
                let group = fs::read(format!("/proc/{process}/stat")).ok().as_deref().and_then(group_of);
                group.is_some_and(|group| self.groups.iter().any(|one| one.as_raw_nonzero().get() == group))
            })
            .collect();
        found.sort_unstable();
        found
    }

    /// Stops all of them until the guard is dropped; none when there are none any more.
    pub(super) fn stop(&mut self) -> Option<Standing> {
        // A group without processes is never signalled again: its number may become another's.
        self.groups.retain(|group| kill_process_group(*group, Signal::STOP).is_ok());
        (!self.groups.is_empty()).then(|| Standing(self.groups.clone()))
    }

    /// Has all their threads run on one processor until the guard is dropped. Threads that they start later run there too, and stay.
    pub(super) fn pin(&self, processor: usize) -> Result<Pinned, Failure> {
        let mut only = CpuSet::new();
        only.set(processor);
        let mut pinned = Pinned(Vec::new());
        for process in self.running() {
            for thread in threads(process) {
                // It may have ended since.
                let Ok(before) = sched_getaffinity(Some(thread)) else { continue };
                sched_setaffinity(Some(thread), &only).map_err(|error| {
                    let message = format!("process {process} cannot be held on processor {processor}: {error}");
                    Failure::running(message, "the processor must be one that this process may use, and the other one's user the same")
                })?;
                pinned.0.push((thread, before));
            }
        }
        Ok(pinned)
    }
}

/// Processes that stand. They go on when this is dropped.
#[derive(Debug)]
pub(super) struct Standing(Vec<Pid>);

impl Drop for Standing {
    fn drop(&mut self) {
        for group in &self.0 {
            // It may have been killed while it stood.
            let _ = kill_process_group(*group, Signal::CONT);
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
    entries.filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// The group's number: the third field behind the name, which may itself hold brackets and spaces. None for a process that has ended.
fn group_of(stat: &[u8]) -> Option<i32> {
    let behind = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = std::str::from_utf8(stat.get(behind..)?).ok()?.split_ascii_whitespace();
    if fields.next()? == "Z" { None } else { fields.nth(1)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_is_no_trouble() {
        assert_eq!(group_of(b"12 (a) R (b)) S 7 12 13 0"), Some(12));
        assert_eq!(group_of(b"12 (x) Z 7 12 12 0"), None);
        assert_eq!(group_of(b"garbage"), None);
    }

    #[test]
    fn whoever_leads_no_group_is_refused() {
        for nobody in [0, 1, -5, i32::MAX] {
            assert!(Processes::of(&[nobody]).is_err(), "{nobody}");
        }
        assert!(Processes::of(&[]).is_err());
    }
}
