//! Load of the host: run queue, steal, pressure, memory.
//!
//! Bias: load and pressure are averages over a past that may include this process; steal is what
//! the hypervisor admits.

use serde::Serialize;

use super::reading::HostReader;
use crate::host::sample::processors::{self, RunQueue};

/// Load now, and totals since boot.
#[derive(Debug, Serialize)]
pub(super) struct Load {
    run_queue: Option<RunQueue>,
    since_start: Option<processors::Processors>,
    pressure: Pressure,
    memory: Memory,
    /// Packets that found no room between interface and network stack, and how often the stack had
    /// to stop with some left, since the start.
    backlog_drops: Option<u64>,
    backlog_squeezes: Option<u64>,
}

/// Shares of the last ten seconds in which some task waited for a resource.
#[expect(
    clippy::struct_field_names,
    reason = "outside, names carry what they are of and their unit"
)]
#[derive(Debug, Serialize)]
struct Pressure {
    processor_some_share: Option<f64>,
    memory_some_share: Option<f64>,
    disk_some_share: Option<f64>,
}

#[expect(
    clippy::struct_field_names,
    reason = "outside, names carry what they are of and their unit"
)]
#[derive(Debug, Serialize)]
struct Memory {
    total_bytes: Option<u64>,
    available_bytes: Option<u64>,
    swap_used_bytes: Option<u64>,
}

impl Load {
    pub(super) fn look(reader: &mut HostReader) -> Self {
        let mut recently = |name: &str, file: &str| {
            reader.parsed(
                &format!("load.pressure.{name}"),
                &format!("/proc/pressure/{file}"),
                recent,
            )
        };
        let pressure = Pressure {
            processor_some_share: recently("processor_some_share", "cpu"),
            memory_some_share: recently("memory_some_share", "memory"),
            disk_some_share: recently("disk_some_share", "io"),
        };
        let mut backlog = |what: &str, column: usize| {
            reader.parsed(what, "/proc/net/softnet_stat", |text| softnet(text, column))
        };
        let (backlog_drops, backlog_squeezes) =
            (backlog("load.backlog_drops", 1), backlog("load.backlog_squeezes", 2));
        Self {
            run_queue: reader.parsed("load.run_queue", "/proc/loadavg", RunQueue::read),
            since_start: reader.parsed("load.since_start", "/proc/stat", processors::since_start),
            pressure,
            memory: Memory::read(&reader.read("load.memory", "/proc/meminfo").unwrap_or_default()),
            backlog_drops,
            backlog_squeezes,
        }
    }
}

/// The share of the last ten seconds, out of `some avg10=1.53 …`.
fn recent(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let percent: f64 =
        line.split(' ').find_map(|word| word.strip_prefix("avg10="))?.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

/// The sum over processors of a column of hexadecimal numbers; none where a line has no such
/// column.
fn softnet(text: &str, column: usize) -> Option<u64> {
    let value = |line: &str| u64::from_str_radix(line.split_whitespace().nth(column)?, 16).ok();
    text.lines().map(value).try_fold(0_u64, |sum, value| Some(sum.saturating_add(value?)))
}

impl Memory {
    fn read(text: &str) -> Self {
        let kilobytes = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            value
                .split_whitespace()
                .next()?
                .parse::<u64>()
                .ok()
                .map(|value| value.saturating_mul(1024))
        };
        let swap = kilobytes("SwapTotal")
            .zip(kilobytes("SwapFree"))
            .map(|(total, free)| total.saturating_sub(free));
        Self {
            total_bytes: kilobytes("MemTotal"),
            available_bytes: kilobytes("MemAvailable"),
            swap_used_bytes: swap,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_pressure_is_read_and_malformed_text_gives_none() {
        assert_eq!(
            recent("some avg10=12.50 avg60=19.77 avg300=24.96 total=68\nfull avg10=0.00\n"),
            Some(0.125)
        );
        for nonsense in
            ["", "some", "some avg10=nan", "some avg10=-1", "some avg10=1e9", "full avg10=1"]
        {
            assert_eq!(recent(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn what_the_backlog_dropped_is_summed_over_processors() {
        let text = "0000002a 00000001 0000000f 0 0\n0000002a 0000000a 00000000 0 0\n";
        assert_eq!(
            (softnet(text, 1), softnet(text, 2), softnet("zz 1", 0), softnet("1", 1)),
            (Some(11), Some(15), None, None)
        );
        assert_eq!(softnet("1 ffffffffffffffff\n1 ffffffffffffffff", 1), Some(u64::MAX));
    }

    #[test]
    fn memory_is_in_bytes() {
        let found = Memory::read(
            "MemTotal:  2048 kB\nMemAvailable: 1024 kB\nSwapTotal: 10 kB\nSwapFree: 4 kB\n",
        );
        assert_eq!(
            (found.total_bytes, found.available_bytes, found.swap_used_bytes),
            (Some(2_097_152), Some(1_048_576), Some(6144))
        );
        assert_eq!(Memory::read("MemTotal: many\n").total_bytes, None);
    }
}
