//! What was recorded: by call, by thread, and of which programs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use serde::Serialize;

use super::calls::{self, CODES, COMPAT};
use super::selection;

/// Threads of a report, the busiest ones; those beyond are counted.
const MOST_THREADS: usize = 1000;

/// A thread and its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ThreadCalls {
    pub(super) pid: Option<u32>,
    pub(super) tid: u32,
    /// The command of its process when it was last looked at.
    pub(super) command: Option<String>,
    pub(super) calls: u64,
}

/// Data that were read or written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Moved {
    pub(super) calls: u64,
    /// As results say; none where only calls are counted.
    pub(super) bytes: Option<u64>,
}

#[derive(Debug, Clone, Default)]
struct Process {
    command: Option<String>,
    is_compat: bool,
}

/// Counts.
#[derive(Debug)]
pub(super) struct Tally {
    names: Vec<String>,
    by_code: Vec<u64>,
    bytes_by_code: Vec<u64>,
    counts_bytes: Vec<bool>,
    /// The threads that call now, by their numbers, in pages: several million numbers are possible,
    /// some hundred threads usual, and every call looks one up.
    now: Vec<Option<Box<Page>>>,
    /// Calls of those whose numbers were given anew, by process and thread.
    before: BTreeMap<(u32, u32), u64>,
    processes: BTreeMap<u32, Process>,
}

/// A thread that calls now.
#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    /// 0 while there is none of the number.
    process: u32,
    is_compat: bool,
    calls: u64,
}

const PAGE: usize = 1024;
type Page = [Thread; PAGE];

impl Tally {
    pub(super) fn new() -> Self {
        let names = calls::names();
        Self {
            counts_bytes: names.iter().map(|name| calls::counts_bytes(name)).collect(),
            names,
            by_code: vec![0; CODES],
            bytes_by_code: vec![0; CODES],
            now: Vec::new(),
            before: BTreeMap::new(),
            processes: BTreeMap::new(),
        }
    }

    /// Counts a call; its code in rows.
    pub(super) fn count(
        &mut self,
        process: u32,
        thread: u32,
        number: u32,
        result: Option<i64>,
    ) -> u16 {
        let is_compat = self.thread(process, thread);
        let code = if is_compat { COMPAT } else { calls::code(number) };
        let index = usize::from(code);
        self.by_code[index] += 1;
        if self.counts_bytes[index] {
            self.bytes_by_code[index] +=
                result.and_then(|result| u64::try_from(result).ok()).unwrap_or(0);
        }
        let is_exec =
            i64::from(number) == libc::SYS_execve || i64::from(number) == libc::SYS_execveat;
        if is_exec && result == Some(0) {
            let found = look(process);
            self.slot(thread).is_compat = found.is_compat;
            self.processes.insert(process, found);
        }
        code
    }

    /// Counts a call of a thread; whether its program is one of 32 bits.
    fn thread(&mut self, process: u32, thread: u32) -> bool {
        let slot = self.slot(thread);
        if slot.process == process {
            slot.calls += 1;
            return slot.is_compat;
        }
        let earlier = *slot;
        if earlier.process != 0 {
            *self.before.entry((earlier.process, thread)).or_default() += earlier.calls;
        }
        let is_compat = self.processes.entry(process).or_insert_with(|| look(process)).is_compat;
        *self.slot(thread) = Thread { process, is_compat, calls: 1 };
        is_compat
    }

    fn slot(&mut self, thread: u32) -> &mut Thread {
        let (page, at) = (thread as usize / PAGE, thread as usize % PAGE);
        if page >= self.now.len() {
            self.now.resize_with(page + 1, || None);
        }
        &mut self.now[page].get_or_insert_with(|| Box::new([Thread::default(); PAGE]))[at]
    }

    /// Every thread that called, with its process and calls, in order of both.
    fn all(&self) -> BTreeMap<(u32, u32), u64> {
        let mut found = self.before.clone();
        for (page, threads) in self.now.iter().enumerate() {
            for (at, one) in threads.iter().flat_map(|threads| threads.iter().enumerate()) {
                if one.process != 0 {
                    let thread = u32::try_from(page * PAGE + at).unwrap_or(u32::MAX);
                    *found.entry((one.process, thread)).or_default() += one.calls;
                }
            }
        }
        found
    }

    /// Takes counts that the kernel made: how often each number was called.
    pub(super) fn add(&mut self, number: u32, count: u64) {
        self.by_code[usize::from(calls::code(number))] += count;
    }

    /// Counts by name, of calls that were made.
    pub(super) fn by_call(&self) -> BTreeMap<String, u64> {
        let all = self.names.iter().zip(&self.by_code);
        all.filter(|(_, count)| **count > 0).map(|(name, count)| (name.clone(), *count)).collect()
    }

    /// All calls.
    pub(super) fn calls(&self) -> u64 {
        self.by_code.iter().sum()
    }

    /// Calls of 32-bit programs.
    pub(super) fn compat_calls(&self) -> u64 {
        self.by_code[usize::from(COMPAT)]
    }

    /// Calls whose names say so, and the bytes of those that count them.
    pub(super) fn moved(&self, is_meant: fn(&str) -> bool, has_results: bool) -> Moved {
        let meant =
            || self.names.iter().enumerate().filter(|(_, name)| is_meant(name)).map(|(at, _)| at);
        Moved {
            calls: meant().map(|at| self.by_code[at]).sum(),
            bytes: has_results.then(|| meant().map(|at| self.bytes_by_code[at]).sum()),
        }
    }

    /// The process to which a thread belonged when it last called.
    pub(super) fn process_of(&self, thread: u32) -> Option<u32> {
        let page = self.now.get(thread as usize / PAGE)?.as_ref()?;
        let process = page[thread as usize % PAGE].process;
        (process != 0).then_some(process)
    }

    /// The busiest threads, and how many there are beyond.
    pub(super) fn threads(&self) -> (Vec<ThreadCalls>, usize) {
        let all = self.all();
        let all = all.iter().map(|((process, thread), calls)| ThreadCalls {
            pid: Some(*process),
            tid: *thread,
            command: self.processes.get(process).and_then(|one| one.command.clone()),
            calls: *calls,
        });
        busiest(all.collect())
    }
}

/// The busiest of threads, and how many there are beyond.
pub(super) fn busiest(mut all: Vec<ThreadCalls>) -> (Vec<ThreadCalls>, usize) {
    all.sort_by_key(|one| (std::cmp::Reverse(one.calls), one.tid));
    let beyond = all.len().saturating_sub(MOST_THREADS);
    all.truncate(MOST_THREADS);
    (all, beyond)
}

fn look(process: u32) -> Process {
    Process { command: selection::command(process), is_compat: is_compat(process) }
}

/// Whether the program of a process is one of 32 bits (the class in its ELF header). One that has
/// ended, or may not be read, is taken for one of 64 bits.
fn is_compat(process: u32) -> bool {
    let mut head = [0_u8; 5];
    let read =
        File::open(format!("/proc/{process}/exe")).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *b"\x7fELF\x01"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_name_and_thread_and_reads_with_their_bytes() {
        let mut tally = Tally::new();
        let number = |call: i64| u32::try_from(call).unwrap();
        let own = std::process::id();
        tally.count(own, 5, number(libc::SYS_read), Some(100));
        tally.count(own, 6, number(libc::SYS_read), Some(-11));
        tally.count(own, 5, number(libc::SYS_recvfrom), Some(20));
        tally.count(own, 5, number(libc::SYS_exit), None);
        let by_call = tally.by_call();
        assert_eq!((by_call["read"], by_call["recvfrom"], by_call["exit"]), (2, 1, 1));
        assert_eq!(tally.moved(calls::is_read, true), Moved { calls: 3, bytes: Some(120) });
        assert_eq!(tally.moved(calls::is_write, false), Moved { calls: 0, bytes: None });
        let (threads, beyond) = tally.threads();
        let found: Vec<(u32, u64)> = threads.iter().map(|one| (one.tid, one.calls)).collect();
        assert_eq!((found, beyond, tally.calls()), (vec![(5, 3), (6, 1)], 0, 4));
    }
}
