//! A few seconds of trying: how late a sleeping thread wakes up, what of a core a spinning one has, and whether packets on loopback are all
//! captured, with true times.
//!
//! Each is bounded by what was asked for, and ends early when the end is asked for; what was found until then counts. Between them lies
//! nothing: the spinning thread would be the competitor of the sleeping one.

mod loopback;
mod sleeping;
mod spinning;

use serde::{Deserialize, Serialize};
use trustbed_units::{Ns, Span};

use super::looking::Looking;
use crate::clock::{self, Offset};
use crate::net::attend::span;
use crate::sample::processors::{Processors, Watch};
use crate::talk::{Failure, Stop};
use sleeping::Sleeper;

/// A minute of each is more than anybody waits for.
const LONGEST_NS: u64 = 60_000_000_000;
const MOST_PACKETS: u32 = 100_000;

/// What is to be tried, and for how long.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    sleeping_ns: u64,
    spinning_ns: u64,
    packets: u32,
}

/// What trying came to. What was not tried is null.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    /// Of a thread as any program's, of one with exact timers and the priority that is granted, and of that while no processor halts.
    sleeping: Option<sleeping::Sleeping>,
    sleeping_exactly: Option<sleeping::Sleeping>,
    sleeping_polling: Option<sleeping::Sleeping>,
    /// What the processors did while the threads slept: nearly all of it was others.
    while_sleeping: Option<Processors>,
    spinning: Option<spinning::Spinning>,
    loopback: Option<loopback::Loopback>,
    clock: Clock,
    #[serde(skip)]
    ended_early: bool,
}

/// What reading the clock costs, and whether it was set meanwhile.
#[derive(Debug, Serialize)]
struct Clock {
    read_p50_ns: i64,
    steps: u32,
    stepped_ns: i64,
}

impl Asked {
    /// Whether all of it is bounded.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let hint = format!(
            "give at most {LONGEST_NS} ns of each and {MOST_PACKETS} packets; 0 leaves it out"
        );
        for (what, asked) in [("sleeping_ns", self.sleeping_ns), ("spinning_ns", self.spinning_ns)]
        {
            if asked > LONGEST_NS {
                return Err(Failure::configuration(
                    format!("live: {what}: {asked} is too long"),
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
    /// Whether the end came before everything was tried.
    pub(super) fn ended_early(&self) -> bool {
        self.ended_early
    }
}

/// Tries what was asked for.
pub(super) fn run(asked: &Asked, looking: &mut Looking, stop: Stop) -> Found {
    let mut offset = Offset::measure();
    let mut watch = Watch::default();
    let watched = watch.look();
    let sleep = span(asked.sleeping_ns);
    let mut sleeping = |who: Sleeper| {
        let found = (sleep.0 > 0).then(|| sleeping::run(who, Span(sleep.0 / 3), stop))?;
        looking.told("live.sleeping", found)
    };
    let (ordinary, exactly, polling) =
        (sleeping(Sleeper::Ordinary), sleeping(Sleeper::Exact), sleeping(Sleeper::Polling));
    let while_sleeping =
        watched.and_then(|_| watch.look()).map_err(|error| format!("/proc/stat: {error}"));
    let while_sleeping = if sleep.0 > 0 {
        looking.told("live.while_sleeping", while_sleeping).flatten()
    } else {
        None
    };
    let spin = span(asked.spinning_ns);
    let spinning = (spin.0 > 0).then(|| spinning::run(spin, stop));
    let loopback = if asked.packets > 0 {
        looking.told("live.loopback", loopback::run(asked.packets, stop))
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
        ended_early: stop.is_asked(),
    }
}

/// What reading the monotonic clock takes, as the median of means over a hundred readings: less than that the clock itself may not show.
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

/// A percentile by rank; sorts what it is told. None of nothing.
fn quantile(values: &mut [Span], percent: usize) -> Option<Span> {
    values.sort_unstable();
    let rank = (values.len() * percent).div_ceil(100).max(1) - 1;
    values.get(rank).copied()
}

/// Sleeps until a moment of the monotonic clock.
fn sleep_until(due: Ns) {
    crate::kernel::sleep_until(due);
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
    fn what_is_too_long_is_refused() {
        let asked = Asked { sleeping_ns: 1, spinning_ns: 0, packets: 10 };
        assert!(asked.check().is_ok());
        for wrong in [
            Asked { sleeping_ns: LONGEST_NS + 1, ..asked },
            Asked { spinning_ns: LONGEST_NS + 1, ..asked },
            Asked { packets: MOST_PACKETS + 1, ..asked },
        ] {
            assert!(wrong.check().unwrap_err().message().starts_with("live: "));
        }
    }

    #[test]
    fn a_clock_takes_time_to_be_read() {
        assert!(reading() > Span::ZERO);
    }
}
