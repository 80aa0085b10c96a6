//! Pressure: the share of time in which some task waited for a resource (`/proc/pressure`, the
//! kernel's `Documentation/accounting/psi.rst`).

use std::fs;
use std::io;

use serde::Serialize;
use trustbed_units::Span;

use super::{grown, share};

/// Shares of the interval in which at least one task waited (some), or all that could have run did
/// (full).
#[expect(
    clippy::struct_field_names,
    reason = "outside, names carry what they are of and their unit"
)]
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Pressure {
    processor_some_share: Option<f64>,
    memory_some_share: Option<f64>,
    memory_full_share: Option<f64>,
    disk_some_share: Option<f64>,
    disk_full_share: Option<f64>,
}

/// The last reading, in microseconds.
#[derive(Debug, Default)]
pub(super) struct Watch([Stalled; 3]);

/// Microseconds since the host started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Stalled {
    some: Option<u64>,
    full: Option<u64>,
}

const FILES: [&str; 3] = ["/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io"];

impl Watch {
    /// The shares of an interval; absent where the kernel does not report it.
    pub(super) fn look(&mut self, interval: Span) -> io::Result<Pressure> {
        let mut now = [Stalled::default(); 3];
        for (stalled, file) in now.iter_mut().zip(FILES) {
            *stalled = read(&fs::read_to_string(file)?);
        }
        let micros = u64::try_from(interval.0 / 1_000).unwrap_or(0);
        let part = |before: Option<u64>, now: Option<u64>| {
            Some(share(grown(before?, now?).min(micros), micros))
        };
        let [processor, memory, disk] = self.0;
        let found = Pressure {
            processor_some_share: part(processor.some, now[0].some),
            memory_some_share: part(memory.some, now[1].some),
            memory_full_share: part(memory.full, now[1].full),
            disk_some_share: part(disk.some, now[2].some),
            disk_full_share: part(disk.full, now[2].full),
        };
        self.0 = now;
        Ok(found)
    }
}

fn read(text: &str) -> Stalled {
    let total =
        |line: &str| line.rsplit_once("total=").and_then(|(_, micros)| micros.trim().parse().ok());
    let of = |kind: &str| text.lines().find(|line| line.starts_with(kind)).and_then(total);
    Stalled { some: of("some "), full: of("full ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read() {
        let text = "some avg10=12.41 avg60=19.77 avg300=24.96 total=6893033999\nfull avg10=0.00 \
            avg60=0.00 avg300=0.00 total=17\n";
        assert_eq!(read(text), Stalled { some: Some(6_893_033_999), full: Some(17) });
        assert_eq!(read("some avg10=1\n"), Stalled::default());
    }
}
