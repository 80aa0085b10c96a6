//! The programs, loaded and attached to their tracepoints.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use super::kernel::{self, Kind};
use super::programs::Setting;
use super::selection::Selection;
use super::tracefs::Tracefs;
use crate::host::sample::Unavailable;
use crate::session::Failure;

/// The process namespace that a kernel begins with; its numbers are those of the programs.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// What is attached, until it is dropped.
#[derive(Debug)]
pub(super) struct Attached {
    /// Entries of calls.
    enter: Option<OwnedFd>,
    /// Returns of calls.
    leave: Option<OwnedFd>,
    /// Births and executions; without them, trees have gaps.
    _processes: Vec<OwnedFd>,
    switches: Option<OwnedFd>,
    block: Option<OwnedFd>,
    /// Whether context switches and block requests are counted.
    counted: (bool, bool),
    /// What this kernel does not count.
    pub(super) unavailable: Vec<Unavailable>,
}

impl Attached {
    /// Attaches what follows processes; then `flag` finds those that are there, and then calls are
    /// recorded.
    pub(super) fn attach(
        setting: &Setting<'_>,
        selection: &Selection,
        flag: impl FnOnce(),
    ) -> Result<Self, Failure> {
        let processes = follow(setting, selection).map_err(|error| refused(&error))?;
        flag();
        let mut found = Self {
            enter: None,
            leave: None,
            _processes: processes,
            switches: None,
            block: None,
            counted: (false, false),
            unavailable: Vec::new(),
        };
        found.switches = found.optional("context switches", "sched_switch", &setting.switch());
        found.block = found.optional("block requests", "block_bio_queue", &setting.block());
        found.counted = (found.switches.is_some(), found.block.is_some());
        // Returns first, so that no entry is seen without its return.
        if !setting.counting {
            found.leave = Some(raw("sys_exit", &setting.leave()).map_err(|error| refused(&error))?);
        }
        found.enter = Some(raw("sys_enter", &setting.enter()).map_err(|error| refused(&error))?);
        Ok(found)
    }

    fn optional(
        &mut self,
        what: &str,
        tracepoint: &str,
        code: &[super::assembler::Instruction],
    ) -> Option<OwnedFd> {
        raw(tracepoint, code)
            .map_err(|error| {
                self.unavailable.push(Unavailable::new(what, &error));
            })
            .ok()
    }

    /// Whether context switches and block requests were counted.
    pub(super) fn counted(&self) -> (bool, bool) {
        self.counted
    }

    /// No further entries are recorded; what has been entered may still return.
    pub(super) fn detach_entries(&mut self) {
        (self.enter, self.switches, self.block) = (None, None, None);
    }

    /// Nothing is recorded any longer.
    pub(super) fn detach_returns(&mut self) {
        self.leave = None;
    }
}

fn raw(tracepoint: &str, code: &[super::assembler::Instruction]) -> io::Result<OwnedFd> {
    kernel::attach_raw(tracepoint, &kernel::load(Kind::RawTracepoint, code)?)
}

fn follow(setting: &Setting<'_>, selection: &Selection) -> io::Result<Vec<OwnedFd>> {
    let tracefs = Tracefs::open()?;
    let born = tracefs.tracepoint("sched/sched_process_fork")?;
    let executes = tracefs.tracepoint("sched/sched_process_exec")?;
    [
        (born.number, setting.fork(born.offset("child_pid")?)),
        (executes.number, setting.exec(executes.offset("old_pid")?, selection.command())),
    ]
    .into_iter()
    .map(|(number, code)| kernel::attach(number, &kernel::load(Kind::Tracepoint, &code)?))
    .collect()
}

/// Refuses a process namespace whose numbers the kernel's programs do not know.
pub(super) fn check_namespace() -> Result<(), Failure> {
    match fs::read_link("/proc/self/ns/pid") {
        Ok(found) if found.to_string_lossy() != FIRST_NAMESPACE => Err(Failure::running(
            "calls cannot be traced from within a container: its processes have other numbers \
                than the kernel's",
            "trace on the host of the container, by control group or process",
        )),
        _ => Ok(()),
    }
}

/// What the kernel refused, in words.
pub(super) fn refused(error: &io::Error) -> Failure {
    let hint = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "tracing needs root, or the capabilities CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN (for \
                tracefs)"
        }
        Some(libc::ENOENT) => {
            "the kernel needs CONFIG_FTRACE_SYSCALLS and CONFIG_BPF_EVENTS; that of Debian has them"
        }
        Some(libc::ENOMEM) => "make the ring smaller (ring_rows), or free memory",
        _ => "Linux 5.5 or later with CONFIG_BPF_SYSCALL and tracefs is needed",
    };
    Failure::running(format!("system calls cannot be traced: {error}"), hint)
}
