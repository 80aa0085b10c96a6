//! Whose calls are recorded: of all, of process trees, of a control group, of a command.
//!
//! Here the threads that exist are found and flagged. Those that are born later have the flags of
//! their parent from the kernel's programs ([`super::programs`]), so nothing is missed between two
//! looks; only a process that joins a control group is seen at the next look.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::maps::{CANDIDATE, Maps, TRACED};
use crate::session::Failure;

/// Names of commands are cut to this length by the kernel.
const LONGEST_NAME: usize = 15;
/// How often all processes are looked through, at most, until no new one is found.
const MOST_LOOKS: usize = 100;

/// The filter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum Selection {
    /// Every process but the tracer.
    #[default]
    All,
    /// These processes and their descendants.
    Processes(Vec<u32>),
    /// Processes in a control group when it is looked at, and their descendants: its directory.
    Cgroup(PathBuf),
    /// Processes that run a command of this name.
    Command {
        /// As the kernel has it: the file's name, at most 15 bytes of it.
        name: String,
        /// Only descendants of this process.
        below: Option<u32>,
        /// Whether what the command starts is recorded, too, and what it becomes.
        #[serde(default)]
        descendants: bool,
    },
}

/// The command that sets flags when a process begins to run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByName<'a> {
    pub(super) name: &'a str,
    /// Only of descendants of a process.
    pub(super) only_candidates: bool,
    /// Whether a flag stays when another command is run.
    pub(super) stays: bool,
}

impl Selection {
    /// Refuses what cannot be.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        let (processes, is_empty) = match self {
            Self::All => return Ok(()),
            Self::Cgroup(directory) => {
                return cgroup_threads(directory).map(|_| ()).map_err(|error| {
                    Failure::configuration(
                        format!("cgroup: {} cannot be read: {error}", directory.display()),
                        "name the directory of a control group, below /sys/fs/cgroup",
                    )
                });
            }
            Self::Processes(processes) => (processes.clone(), processes.is_empty()),
            Self::Command { name, below, .. } => {
                name.truncate(name.floor_char_boundary(LONGEST_NAME));
                (below.iter().copied().collect(), name.is_empty())
            }
        };
        if is_empty {
            return Err(Failure::configuration(
                "select: it is empty, so nothing would be recorded",
                "name a process or a command, or leave select out",
            ));
        }
        match processes.iter().find(|process| threads(**process).is_empty()) {
            None => Ok(()),
            Some(process) => Err(Failure::configuration(
                format!("select: there is no process {process}"),
                "it has ended, or never was; see ps -e",
            )),
        }
    }

    /// Whether only flagged threads are recorded.
    pub(super) fn is_filter(&self) -> bool {
        *self != Self::All
    }

    /// The command that sets flags.
    pub(super) fn command(&self) -> Option<ByName<'_>> {
        match self {
            Self::Command { name, below, descendants } => {
                Some(ByName { name, only_candidates: below.is_some(), stays: *descendants })
            }
            _ => None,
        }
    }

    /// Flags the threads that exist.
    pub(super) fn flag(&self, maps: &Maps) {
        match self {
            Self::All => {}
            Self::Processes(roots) => flag_trees(maps, roots, TRACED),
            Self::Cgroup(_) => self.refresh(maps),
            Self::Command { name, below, .. } => {
                flag_trees(maps, below.as_slice(), CANDIDATE);
                for process in processes() {
                    let runs = command(process).is_some_and(|found| found == *name);
                    let is_meant = below.is_none_or(|root| descends(process, root));
                    if runs && is_meant {
                        flag(maps, process, TRACED);
                    }
                }
            }
        }
    }

    /// Flags the threads that joined a control group.
    pub(super) fn refresh(&self, maps: &Maps) {
        if let Self::Cgroup(directory) = self {
            for thread in cgroup_threads(directory).unwrap_or_default() {
                maps.set(thread, TRACED);
            }
        }
    }
}

/// Flags the threads of processes and of all their descendants. A process that is born while
/// others are flagged is found by looking again.
fn flag_trees(maps: &Maps, roots: &[u32], flags: u32) {
    for _ in 0..MOST_LOOKS {
        let mut is_new = false;
        for process in processes() {
            if roots.iter().any(|root| *root == process || descends(process, *root)) {
                is_new |= flag(maps, process, flags);
            }
        }
        if !is_new {
            return;
        }
    }
}

fn flag(maps: &Maps, process: u32, flags: u32) -> bool {
    threads(process).into_iter().filter(|thread| maps.set(*thread, flags)).count() > 0
}

fn numbers(directory: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn processes() -> Vec<u32> {
    numbers(Path::new("/proc"))
}

fn threads(process: u32) -> Vec<u32> {
    numbers(&PathBuf::from(format!("/proc/{process}/task")))
}

/// Whether a process is a descendant of another.
fn descends(process: u32, root: u32) -> bool {
    let mut ancestor = process;
    // A number that is given anew meanwhile cannot keep this from ending.
    for _ in 0..1000 {
        match parent(ancestor) {
            Some(found) if found == root => return true,
            Some(found) if found > 0 => ancestor = found,
            _ => return false,
        }
    }
    false
}

fn parent(process: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before may have brackets and spaces.
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The command that a process runs, as the kernel names it.
pub(super) fn command(process: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{process}/comm")).ok()?.trim_end().to_owned())
}

/// The process of a thread that exists.
pub(super) fn process_of(thread: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// The threads in a control group (both versions), itself and those below it.
fn cgroup_threads(directory: &Path) -> io::Result<Vec<u32>> {
    let version_2 = directory.join("cgroup.threads");
    let list = if version_2.exists() { version_2 } else { directory.join("tasks") };
    let mut found: Vec<u32> =
        fs::read_to_string(list)?.lines().filter_map(|line| line.parse().ok()).collect();
    for entry in fs::read_dir(directory)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(cgroup_threads(&entry.path()).unwrap_or_default());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_descends_from_its_parent_and_its_thread_is_found() {
        let own = std::process::id();
        let starter = parent(own).unwrap();
        assert!(starter == 0 || descends(own, starter));
        assert!(!descends(own, own));
        assert!(threads(own).len() >= 2);
    }

    #[test]
    fn unknown_processes_and_empty_selections_are_refused() {
        assert!(Selection::Processes(vec![u32::MAX]).check().is_err());
        assert!(Selection::Processes(Vec::new()).check().is_err());
        assert!(Selection::Cgroup("/nowhere".into()).check().is_err());
        let mut long = Selection::Command {
            name: "a-command-of-a-long-name".to_owned(),
            below: None,
            descendants: false,
        };
        long.check().unwrap();
        assert_eq!(
            long.command(),
            Some(ByName { name: "a-command-of-a-", only_candidates: false, stays: false })
        );
    }
}
