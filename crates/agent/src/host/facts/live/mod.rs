//! Live tests of a few seconds: wake-up latency of a sleeping thread, CPU share of a spinning one,
//! capture on loopback.
//!
//! Each test has a time limit and ends early when stop is requested; its results until then count.
//! The tests run one after the other: a spinning thread would compete with the sleeping one.

mod loopback;
mod sleeping;
mod spinning;

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use super::reading::HostReader;
use crate::host::sample::processors::{Processors, Watch};
use crate::session::workers::span;
use crate::session::{Failure, Stop};
use crate::sys::clock::{self, Offset};
use sleeping::Sleeper;

/// A minute of each is more than anybody waits for.
const LONGEST_NS: u64 = 60_000_000_000;
const MOST_PACKETS: u32 = 100_000;

/// The live tests and their durations.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    sleeping_ns: u64,
    spinning_ns: u64,
    packets: u32,
}

/// The results of the live tests. Null where not tested.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    /// Of a thread as any program's, of one with exact timers and the priority that is granted, and
    /// of that while no processor halts.
    sleeping: Option<sleeping::Sleeping>,
    sleeping_exactly: Option<sleeping::Sleeping>,
    sleeping_polling: Option<sleeping::Sleeping>,
    /// CPU time of the host while the threads slept: nearly all of it other processes'.
    while_sleeping: Option<Processors>,
    spinning: Option<spinning::Spinning>,
    loopback: Option<loopback::Loopback>,
    clock: Clock,
    #[serde(skip)]
    ended_early: bool,
}

/// The cost of reading the clock, and whether it was stepped meanwhile.
#[derive(Debug, Serialize)]
struct Clock {
    read_p50_ns: i64,
    steps: u32,
    stepped_ns: i64,
}

impl Options {
    /// Whether all is bounded.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let hint = format!(
            "give at most {LONGEST_NS} ns of each and {MOST_PACKETS} packets; 0 leaves it out"
        );
        for (what, nanoseconds) in
            [("sleeping_ns", self.sleeping_ns), ("spinning_ns", self.spinning_ns)]
        {
            if nanoseconds > LONGEST_NS {
                return Err(Failure::configuration(
                    format!("live: {what}: {nanoseconds} is too long"),
                    hint,
                ));
            }
        }
        if self.packets > MOST_PACKETS {
            return Err(Failure::configuration(
                format!("live: packets: {} are too many", self.packets),
                hint,
            ));
        }
        Ok(())
    }
}

impl Found {
    /// Whether stop was requested before the tests were complete.
    pub(super) fn ended_early(&self) -> bool {
        self.ended_early
    }
}

/// Runs the live tests.
pub(super) fn run(options: &Options, reader: &mut HostReader, stop: Stop) -> Found {
    let mut offset = Offset::measure();
    let mut watch = Watch::default();
    let watched = watch.look();
    let sleep = span(options.sleeping_ns);
    let mut sleeping = |who: Sleeper| {
        let found = (sleep.0 > 0).then(|| sleeping::run(who, Span(sleep.0 / 3), stop))?;
        reader.or_note("live.sleeping", found)
    };
    let (ordinary, exactly, polling) =
        (sleeping(Sleeper::Ordinary), sleeping(Sleeper::Exact), sleeping(Sleeper::Polling));
    let while_sleeping =
        watched.and_then(|_| watch.look()).map_err(|error| format!("/proc/stat: {error}"));
    let while_sleeping = if sleep.0 > 0 {
        reader.or_note("live.while_sleeping", while_sleeping).flatten()
    } else {
        None
    };
    let spin = span(options.spinning_ns);
    let spinning = (spin.0 > 0).then(|| spinning::run(spin, stop));
    let loopback = if options.packets > 0 {
        reader.or_note("live.loopback", loopback::run(options.packets, stop))
    } else {
        None
    };
    let stepped = offset.refresh();
    Found {
        sleeping: ordinary,
        sleeping_exactly: exactly,
        sleeping_polling: polling,
        while_sleeping,
        spinning,
        loopback,
        clock: Clock {
            read_p50_ns: reading().0,
            steps: offset.steps(),
            stepped_ns: stepped.unwrap_or(Span::ZERO).0,
        },
        ended_early: stop.is_requested(),
    }
}

/// What reading the monotonic clock takes, as the median of means over a hundred readings: less
/// than that the clock itself may not show.
fn reading() -> Span {
    const READINGS: i64 = 100;
    const ROUNDS: usize = 31;
    let mut means: Vec<Span> = (0..ROUNDS)
        .map(|_| {
            let begin = clock::monotonic();
            let end = (0..READINGS).fold(begin, |_, _| std::hint::black_box(clock::monotonic()));
            Span((end - begin).0 / READINGS)
        })
        .collect();
    quantile(&mut means, 50).unwrap_or(Span::ZERO)
}

/// A percentile by rank; sorts its input. None of nothing.
fn quantile(values: &mut [Span], percent: usize) -> Option<Span> {
    values.sort_unstable();
    let rank = (values.len() * percent).div_ceil(100).max(1) - 1;
    values.get(rank).copied()
}

/// Sleeps until a moment of the monotonic clock.
fn sleep_until(due: Ns) {
    crate::sys::kernel::sleep_until(due);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let mut values: Vec<Span> = (1..=100).rev().map(Span).collect();
        assert_eq!(
            [quantile(&mut values, 50), quantile(&mut values, 99), quantile(&mut values, 100)],
            [50, 99, 100].map(|one| Some(Span(one)))
        );
        assert_eq!((quantile(&mut [Span(7)], 50), quantile(&mut [], 50)), (Some(Span(7)), None));
    }

    #[test]
    fn tests_beyond_the_time_limit_are_refused() {
        let options = Options { sleeping_ns: 1, spinning_ns: 0, packets: 10 };
        assert!(options.check().is_ok());
        for wrong in [
            Options { sleeping_ns: LONGEST_NS + 1, ..options },
            Options { spinning_ns: LONGEST_NS + 1, ..options },
            Options { packets: MOST_PACKETS + 1, ..options },
        ] {
            assert!(wrong.check().unwrap_err().message().starts_with("live: "));
        }
    }

    #[test]
    fn a_clock_takes_time_to_be_read() {
        assert!(reading() > Span::ZERO);
    }
}
