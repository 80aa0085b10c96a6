//! The clock: its source, what disciplines it, its timer resolution.
//!
//! Bias: clock daemons are found among the processes of this namespace; one outside the container
//! is not. The kernel's own state ([`Synchronisation::synchronised`]) is authoritative.

use serde::Serialize;

use super::kernel;
use super::reading::HostReader;

const SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";
/// Programs that steer a clock, as the kernel names processes: 15 letters.
const STEERING: [&str; 8] =
    ["chronyd", "ntpd", "openntpd", "ntp", "systemd-timesyn", "ptp4l", "phc2sys", "timemaster"];
/// Bits of the status: not synchronised, offsets in nanoseconds.
const UNSYNCHRONISED: i32 = 0x40;
const NANOSECONDS: i32 = 0x2000;
/// What `adjtimex(2)` returns when the clock is not synchronised.
const ERROR: i32 = 5;

/// The clock source.
#[derive(Debug, Serialize)]
pub(super) struct Clock {
    source: Option<String>,
    available: Option<Vec<String>>,
    timer_resolution_ns: Option<i64>,
    /// How much later than requested the timers of an ordinary thread may expire, so that several
    /// expire at once.
    timer_slack_ns: Option<u64>,
    /// Clocks of network cards and hypervisors that could discipline it.
    hardware_clocks: Vec<String>,
}

/// How the clock is disciplined.
#[derive(Debug, Serialize)]
pub(super) struct Synchronisation {
    synchronised: Option<bool>,
    offset_ns: Option<i64>,
    estimated_error_ns: Option<i64>,
    maximum_error_ns: Option<i64>,
    frequency_ppm: Option<f64>,
    programs: Vec<String>,
}

impl Clock {
    pub(super) fn look(reader: &mut HostReader) -> Self {
        let resolution = kernel::timer_resolution_ns().map_err(|error| error.to_string());
        let slack = rustix::thread::current_timer_slack().map_err(|error| error.to_string());
        Self {
            source: reader.read("clock.source", &format!("{SOURCES}/current_clocksource")),
            available: reader.words("clock.available", &format!("{SOURCES}/available_clocksource")),
            timer_resolution_ns: reader.or_note("clock.timer_resolution_ns", resolution),
            timer_slack_ns: reader.or_note("clock.timer_slack_ns", slack),
            hardware_clocks: reader
                .names("/sys/class/ptp")
                .iter()
                .filter_map(|name| {
                    reader
                        .text(&format!("/sys/class/ptp/{name}/clock_name"))
                        .ok()
                        .map(|of| format!("{name} ({of})"))
                })
                .collect(),
        }
    }
}

impl Synchronisation {
    pub(super) fn look(reader: &mut HostReader) -> Self {
        let found = reader.or_note(
            "synchronisation",
            kernel::steering().map_err(|error| format!("adjtimex: {error}")),
        );
        let nanoseconds = |micros: i64| micros.saturating_mul(1_000);
        let offset = |one: &kernel::Steering| {
            if one.status & NANOSECONDS == 0 { nanoseconds(one.offset) } else { one.offset }
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "a frequency is a float, and at most 500 millionths"
        )]
        let frequency = |one: kernel::Steering| one.frequency as f64 / 65536.0;
        Self {
            synchronised: found.map(|one| one.status & UNSYNCHRONISED == 0 && one.state != ERROR),
            offset_ns: found.as_ref().map(offset),
            estimated_error_ns: found.map(|one| nanoseconds(one.estimated_error_us)),
            maximum_error_ns: found.map(|one| nanoseconds(one.maximum_error_us)),
            frequency_ppm: found.map(frequency),
            programs: programs(reader),
        }
    }
}

/// Those of the programs that steer clocks that run here.
fn programs(reader: &HostReader) -> Vec<String> {
    let processes = reader.names("/proc");
    let numbers =
        processes.iter().filter(|name| name.bytes().all(|letter| letter.is_ascii_digit()));
    let names: Vec<String> =
        numbers.filter_map(|number| reader.text(&format!("/proc/{number}/comm")).ok()).collect();
    STEERING
        .into_iter()
        .filter(|program| names.iter().any(|name| name == program))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn programs_are_recognised_by_their_whole_names() {
        let directory = tempfile::tempdir().unwrap();
        for (number, name) in
            [("1", "init"), ("20", "chronyd\n"), ("21", "xntpd"), ("self", "ptp4l")]
        {
            fs::create_dir_all(directory.path().join("proc").join(number)).unwrap();
            fs::write(directory.path().join("proc").join(number).join("comm"), name).unwrap();
        }
        assert_eq!(programs(&HostReader::below(directory.path())), ["chronyd"]);
    }

    #[test]
    fn the_kernel_reports_how_its_clock_is_disciplined() {
        let mut reader = HostReader::below("/".as_ref());
        let found = Synchronisation::look(&mut reader);
        let noted = reader.unavailable.iter().any(|note| note.what == "synchronisation");
        assert_eq!(found.synchronised.is_none(), noted);
        assert!(found.maximum_error_ns.is_none_or(|error| error >= 0));
    }
}
