//! CPU time by kind (`/proc/stat`) and the run queue (`/proc/loadavg`). See proc(5).
//!
//! The kernel counts in ticks of 10 ms: shares of a second are good to a percent. In a namespace or
//! container these are the numbers of the whole host.

use std::fs;
use std::io;

use serde::Serialize;

use super::{grown, share};

/// Shares of the time of all processors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Processors {
    user_share: f64,
    nice_share: f64,
    system_share: f64,
    interrupt_share: f64,
    /// Another guest had the processor.
    steal_share: f64,
    idle_share: f64,
    iowait_share: f64,
    /// Busy time of each processor.
    busy_shares: Vec<f64>,
    context_switches: u64,
    interrupts: u64,
}

/// How many wanted to run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct RunQueue {
    /// Mean of the last minute, as the kernel weighs it.
    load_1min: f64,
    running: u64,
    tasks: u64,
}

/// Ticks of one line: user, nice, system, idle, iowait, irq, softirq, steal.
type Ticks = [u64; 8];

/// The last reading.
#[derive(Debug, Default)]
pub(crate) struct Watch(Option<Counters>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Counters {
    all: Ticks,
    each: Vec<Ticks>,
    context_switches: u64,
    interrupts: u64,
}

impl Watch {
    /// Differences from the last reading; none at the first.
    pub(crate) fn look(&mut self) -> io::Result<Option<Processors>> {
        let text = fs::read_to_string("/proc/stat")?;
        let now = read(&text).ok_or_else(|| io::Error::other("/proc/stat is not as in proc(5)"))?;
        let found = self.0.as_ref().map(|before| now.since(before));
        self.0 = Some(now);
        Ok(found)
    }
}

/// Totals since boot; none where the text is not as in proc(5).
pub(crate) fn since_start(text: &str) -> Option<Processors> {
    let now = read(text)?;
    let never = Counters {
        all: Ticks::default(),
        each: vec![Ticks::default(); now.each.len()],
        context_switches: 0,
        interrupts: 0,
    };
    Some(now.since(&never))
}

fn read(text: &str) -> Option<Counters> {
    let mut all = None;
    let (mut each, mut context_switches, mut interrupts) = (Vec::new(), 0, 0);
    for line in text.lines() {
        let (name, rest) = line.split_once(' ')?;
        match name {
            "cpu" => all = Some(ticks(rest)),
            "ctxt" => context_switches = rest.trim().parse().ok()?,
            // The sum of all comes first.
            "intr" => {
                interrupts =
                    rest.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0);
            }
            name if name.starts_with("cpu") => each.push(ticks(rest)),
            _ => {}
        }
    }
    all.map(|all| Counters { all, each, context_switches, interrupts })
}

/// Older kernels have fewer columns; guests are in the first two again.
fn ticks(text: &str) -> Ticks {
    let mut found = Ticks::default();
    for (tick, word) in found.iter_mut().zip(text.split_whitespace()) {
        *tick = word.parse().unwrap_or(0);
    }
    found
}

fn sum(ticks: &Ticks) -> u64 {
    ticks.iter().fold(0, |sum, one| sum.saturating_add(*one))
}

impl Counters {
    fn since(&self, before: &Self) -> Processors {
        let spent = |before: &Ticks, now: &Ticks| -> Ticks {
            let mut spent = Ticks::default();
            for ((spent, before), now) in spent.iter_mut().zip(before).zip(now) {
                *spent = grown(*before, *now);
            }
            spent
        };
        let all = spent(&before.all, &self.all);
        let whole = sum(&all);
        let [user, nice, system, idle, disk, irq, softirq, steal] =
            all.map(|ticks| share(ticks, whole));
        let busy = |(before, now): (&Ticks, &Ticks)| {
            let spent = spent(before, now);
            let [_, _, _, idle, disk, ..] = spent;
            let whole = sum(&spent);
            share(whole.saturating_sub(idle).saturating_sub(disk), whole)
        };
        Processors {
            user_share: user,
            nice_share: nice,
            system_share: system,
            interrupt_share: irq + softirq,
            steal_share: steal,
            idle_share: idle,
            iowait_share: disk,
            busy_shares: before.each.iter().zip(&self.each).map(busy).collect(),
            context_switches: grown(before.context_switches, self.context_switches),
            interrupts: grown(before.interrupts, self.interrupts),
        }
    }
}

impl RunQueue {
    pub(crate) fn look() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/loadavg")?;
        Self::read(&text).ok_or_else(|| io::Error::other("/proc/loadavg is not as in proc(5)"))
    }

    /// Parses `/proc/loadavg`; none where it is not as in proc(5).
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let load_1min = words.next()?.parse().ok()?;
        let (running, tasks) = words.nth(2)?.split_once('/')?;
        Some(Self { load_1min, running: running.parse().ok()?, tasks: tasks.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_was_spent() {
        let before = read(
            "cpu  100 0 50 800 0 0 0 0 0 0\ncpu0 60 0 30 400 0 0 0 0\ncpu1 40 0 20 400 0 0 0 \
                0\nintr 5 1 2\nctxt 1000\n",
        )
        .unwrap();
        let now = read(
            "cpu  150 0 75 900 5 5 5 10 0 0\ncpu0 110 0 55 400 5 5 5 10\ncpu1 40 0 20 500 0 \
                0 0 0\nintr 12 1 2\nctxt 1234\n",
        )
        .unwrap();
        let found = now.since(&before);
        let rounded = |value: f64| format!("{value:.3}");
        assert_eq!(rounded(found.user_share), "0.250");
        assert_eq!(
            [rounded(found.steal_share), rounded(found.interrupt_share)],
            ["0.050", "0.050"]
        );
        let whole = found.user_share
            + found.nice_share
            + found.system_share
            + found.interrupt_share
            + found.steal_share
            + found.idle_share;
        assert_eq!(rounded(whole + found.iowait_share), "1.000");
        assert_eq!(
            [rounded(found.busy_shares[0]), rounded(found.busy_shares[1])],
            ["0.950", "0.000"]
        );
        assert_eq!((found.context_switches, found.interrupts), (234, 7));
        let whole = since_start("cpu 150 0 75 900 5 5 5 60 0 0\nctxt 1234\n").unwrap();
        assert_eq!(
            (rounded(whole.steal_share), whole.context_switches),
            ("0.050".to_owned(), 1234)
        );
    }

    #[test]
    fn the_load_is_read() {
        assert_eq!(
            RunQueue::read("0.50 0.40 0.30 3/113 25121\n"),
            Some(RunQueue { load_1min: 0.5, running: 3, tasks: 113 })
        );
        assert_eq!(RunQueue::read("0.50"), None);
        assert_eq!(read("intr 1\n"), None);
    }
}
