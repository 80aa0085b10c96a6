//! The file: a line for every second of every thread, with what the host reported of that second.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use serde::Serialize;
use trustbed_probe::Gap;
use trustbed_units::Ns;

use super::Manner;
use super::figures::{Charged, Figures};
use super::spinner::{SpunSecond, return_table};
use crate::host::sample::{Unavailable, cgroups, or_note, processors};
use crate::output::json_lines::JsonLines;
use crate::session::workers::Start;
use crate::sys::clock;

/// The first line of the file.
#[derive(Debug, Serialize)]
struct Head<'a> {
    trustbed: &'static str,
    start_ns: i64,
    units: &'static str,
    #[serde(flatten)]
    manner: &'a Manner,
    cgroups: Vec<String>,
    unavailable: &'a [Unavailable],
}

/// A second of a thread, or the part of it between begin and end.
#[derive(Debug, Serialize)]
struct Line {
    /// Where it begins and ends, by the real-time clock.
    at_ns: i64,
    until_ns: i64,
    thread: usize,
    processor: Option<usize>,
    #[serde(flatten)]
    figures: Figures,
    /// None where nothing was watched.
    starved: Option<bool>,
    /// When each began, and how long it was.
    single_gaps: Vec<(i64, i64)>,
    charged: Option<Charged>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<HostLine>,
}

/// The host's counters, in an interval of their own: it is read when a line is written.
#[derive(Debug, Serialize)]
struct HostLine {
    interval_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    processors: Option<processors::Processors>,
    /// Quotas: what they throttled was not taken by others.
    cgroups: Vec<cgroups::Throttling>,
}

/// The host's own counters.
#[derive(Debug)]
pub(super) struct Host {
    processors: processors::Watch,
    cgroups: cgroups::Watch,
    looked: Ns,
    unavailable: Vec<Unavailable>,
}

impl Host {
    /// The first reading: the named control groups, or the agent's own.
    pub(super) fn open(named: Option<&[PathBuf]>) -> Self {
        let mut unavailable = Vec::new();
        let cgroups = cgroups::Watch::of(named, &mut unavailable);
        let mut host =
            Self { processors: processors::Watch::default(), cgroups, looked: Ns(0), unavailable };
        host.look();
        host
    }

    fn look(&mut self) -> HostLine {
        let now = clock::monotonic();
        let interval = now - std::mem::replace(&mut self.looked, now);
        HostLine {
            interval_ns: interval.0,
            processors: or_note(self.processors.look(), "processors", &mut self.unavailable)
                .flatten(),
            cgroups: self.cgroups.look(),
        }
    }
}

/// The file.
#[derive(Debug)]
pub(super) struct Log {
    lines: JsonLines,
    host: Host,
    cores: u32,
    count: Arc<AtomicU64>,
}

impl Log {
    pub(super) fn new(lines: JsonLines, host: Host, cores: u32) -> Self {
        Self { lines, host, cores, count: Arc::default() }
    }

    /// How many lines there are behind the first, also while they are written.
    pub(super) fn count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.count)
    }

    pub(super) fn error(&self) -> Option<String> {
        self.lines.error().map(str::to_owned)
    }

    pub(super) fn unavailable(&self) -> &[Unavailable] {
        &self.host.unavailable
    }

    /// Writes the first line; earlier counts of the host belong to no second.
    pub(super) fn begin(&mut self, start: &Start, manner: &Manner) {
        self.lines.write(&Head {
            trustbed: env!("CARGO_PKG_VERSION"),
            start_ns: start.realtime.0,
            units: "the unit of a value is in its name; shares are 0 to 1; gap_lengths counts \
                by the power of two of nanoseconds",
            manner,
            cgroups: self.host.cgroups.names(),
            unavailable: &self.host.unavailable,
        });
        self.host.look();
    }

    /// Writes the seconds it receives until all threads have ended, and returns tables of gaps.
    pub(super) fn follow(
        mut self,
        seconds: &Receiver<SpunSecond>,
        homes: &[SyncSender<Vec<Gap>>],
    ) -> Self {
        for spun in seconds {
            let host = (spun.thread == 0).then(|| self.host.look());
            let line = self.line(&spun, host);
            let written = self.lines.write(&line);
            self.count.fetch_add(written.into(), Ordering::Relaxed);
            if let Some(home) = homes.get(spun.thread) {
                return_table(home, spun.gaps);
            }
        }
        self
    }

    fn line(&self, spun: &SpunSecond, host: Option<HostLine>) -> Line {
        let second = &spun.second;
        Line {
            at_ns: second.from.0,
            until_ns: second.until.0,
            thread: spun.thread,
            processor: spun.processor,
            figures: Figures::of(&second.tally, self.cores),
            starved: second.is_starved(),
            single_gaps: spun.gaps.iter().map(|gap| (gap.begin.0, gap.length.0)).collect(),
            charged: spun.charge.map(Charged::from),
            host,
        }
    }
}
