//! CPU time and run-queue wait of single processes (`/proc/PID/schedstat` and `/proc/PID/task`).
//!
//! Waiting indicates a quota or competition; a process that neither runs nor waits is idle or
//! stopped.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;

use super::grown;

/// A process in an interval, all its threads together.
#[expect(
    clippy::struct_field_names,
    reason = "outside, names carry what they are of and their unit"
)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Process {
    process: u32,
    /// As ps(1) has it: R runs or could, S sleeps, T was stopped. Absent when it has ended.
    state: Option<char>,
    threads: usize,
    ran_ns: u64,
    /// Absent where the kernel does not count it.
    waited_ns: Option<u64>,
    /// Memory that it holds now. Absent when it has ended.
    resident_bytes: Option<u64>,
}

/// The processes that are read.
#[derive(Debug, Default)]
pub(super) struct Watch(Vec<(u32, Counters)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counters {
    ran_ns: u64,
    waited_ns: Option<u64>,
    threads: usize,
}

impl Watch {
    pub(super) fn of(processes: &[u32]) -> Self {
        Self(processes.iter().map(|process| (*process, look(*process))).collect())
    }

    /// Differences from the last reading.
    pub(super) fn look(&mut self) -> Vec<Process> {
        let one = |(process, before): &mut (u32, Counters)| {
            let now = look(*process);
            let found = Process {
                process: *process,
                state: fs::read_to_string(format!("/proc/{process}/stat"))
                    .ok()
                    .and_then(|text| state(&text)),
                threads: now.threads,
                // Threads that have ended take their time with them.
                ran_ns: now.ran_ns.saturating_sub(before.ran_ns),
                waited_ns: now
                    .waited_ns
                    .map(|waited| grown(before.waited_ns.unwrap_or(0).min(waited), waited)),
                resident_bytes: fs::read_to_string(format!("/proc/{process}/status"))
                    .ok()
                    .and_then(|text| resident(&text)),
            };
            *before = now;
            found
        };
        self.0.iter_mut().map(one).collect()
    }
}

/// The sum over the threads that there are.
fn look(process: u32) -> Counters {
    let threads: Vec<PathBuf> = fs::read_dir(format!("/proc/{process}/task"))
        .map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path()).collect())
        .unwrap_or_default();
    let mut sum = Counters { threads: threads.len(), ..Counters::default() };
    for thread in threads {
        if let Some((ran, waited)) =
            fs::read_to_string(thread.join("schedstat")).ok().and_then(|text| read(&text))
        {
            sum.ran_ns += ran;
            sum.waited_ns = Some(sum.waited_ns.unwrap_or(0) + waited);
        }
    }
    sum
}

/// Nanoseconds on a processor, nanoseconds in its queue, times that it ran.
fn read(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_whitespace().map(str::parse);
    Some((words.next()?.ok()?, words.next()?.ok()?))
}

/// The letter behind the name, which may hold anything.
fn state(text: &str) -> Option<char> {
    text.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Resident memory of `/proc/PID/status`, in bytes; kernel threads and the dead have none.
fn resident(text: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    rest.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_and_waiting_are_read() {
        assert_eq!(read("1234 567 8\n"), Some((1234, 567)));
        assert_eq!(read(""), None);
        assert_eq!(state("17 (a) b) T 1 2\n"), Some('T'));
        assert_eq!(resident("Name:\tVmRSS: x\nVmPeak:\t 9 kB\nVmRSS:\t      3 kB\n"), Some(3072));
        assert_eq!(resident("Name:\tkthreadd\n"), None);
    }
}
