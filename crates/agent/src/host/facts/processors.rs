//! Processors that this process may run on: shared cores, frequency governor, idle states.
//!
//! Bias: a guest sees what the hypervisor shows, which may be nothing: a core may be shared or
//! throttled unseen.

use std::collections::BTreeSet;

use rustix::thread::{CpuSet, sched_getaffinity};
use serde::Serialize;

use super::reading::{HostReader, list};

const DIRECTORY: &str = "/sys/devices/system/cpu";
/// States of sleep that are read; there are about ten.
const MOST_STATES: usize = 32;

/// Which processors there are.
#[derive(Debug, Serialize)]
pub(super) struct Processors {
    online: Option<Vec<usize>>,
    /// Those that this process may use.
    allowed: Option<Vec<usize>>,
    /// Those that the scheduler leaves alone, and those without a tick while one thread runs.
    isolated: Option<Vec<usize>>,
    tickless: Option<Vec<usize>>,
    /// Whether two processors may be one core.
    smt_active: Option<bool>,
    /// Of the allowed ones, those that are one core, as the kernel lists them.
    siblings: Option<Vec<String>>,
    frequency: Option<Frequency>,
    idle: Option<Idle>,
}

/// How frequency is chosen, over the allowed processors.
#[derive(Debug, Serialize)]
struct Frequency {
    drivers: Vec<String>,
    governors: Vec<String>,
    lowest_hz: Option<u64>,
    highest_hz: Option<u64>,
    /// Whether frequencies above the nominal one are used while heat allows.
    boost: Option<bool>,
}

/// How processors sleep, seen at the first of the allowed ones.
#[derive(Debug, Serialize)]
struct Idle {
    driver: Option<String>,
    governor: Option<String>,
    states: Vec<State>,
}

#[derive(Debug, Serialize)]
struct State {
    name: String,
    /// How long it takes to wake up from it.
    exit_latency_ns: Option<u64>,
    disabled: Option<bool>,
}

impl Processors {
    pub(super) fn look(reader: &mut HostReader) -> Self {
        let online = reader.processors("processors.online", &format!("{DIRECTORY}/online"));
        let allowed = sched_getaffinity(None).map(|set| {
            (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number)).collect::<Vec<_>>()
        });
        let allowed =
            reader.or_note("processors.allowed", allowed.map_err(|error| error.to_string()));
        let known = allowed.clone().unwrap_or_default();
        let smt = reader.number::<u8>("processors.smt_active", &format!("{DIRECTORY}/smt/active"));
        // Older kernels, and those without the option, have no such file; none of their processors
        // is tickless then.
        let tickless = reader
            .text(&format!("{DIRECTORY}/nohz_full"))
            .ok()
            .map_or(Some(Vec::new()), |text| list(text.trim_matches(['(', ')'])));
        Self {
            isolated: reader.processors("processors.isolated", &format!("{DIRECTORY}/isolated")),
            tickless: tickless.or(Some(Vec::new())),
            smt_active: smt.map(|active| active != 0),
            siblings: siblings(reader, &known),
            frequency: frequency(reader, &known),
            idle: idle(reader, &known),
            online,
            allowed,
        }
    }
}

/// The lists of processors that are one core, of those with more than one.
fn siblings(reader: &mut HostReader, allowed: &[usize]) -> Option<Vec<String>> {
    let read = |number: &usize| {
        reader.text(&format!("{DIRECTORY}/cpu{number}/topology/thread_siblings_list"))
    };
    let lists: Result<BTreeSet<String>, std::io::Error> = allowed.iter().map(read).collect();
    let lists = reader.or_note(
        "processors.siblings",
        lists.map_err(|error| format!("thread_siblings_list: {error}")),
    )?;
    Some(lists.into_iter().filter(|text| list(text).is_some_and(|list| list.len() > 1)).collect())
}

fn frequency(reader: &mut HostReader, allowed: &[usize]) -> Option<Frequency> {
    let each = |name: &str| -> Vec<String> {
        allowed
            .iter()
            .filter_map(|number| {
                reader.text(&format!("{DIRECTORY}/cpu{number}/cpufreq/{name}")).ok()
            })
            .collect()
    };
    let several = |name: &str| {
        each(name).into_iter().collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    let hertz = |name: &str| {
        each(name)
            .iter()
            .filter_map(|text| text.parse::<u64>().ok())
            .map(|kilo| kilo.saturating_mul(1_000))
            .collect()
    };
    let (lowest, highest): (Vec<u64>, Vec<u64>) =
        (hertz("scaling_min_freq"), hertz("scaling_max_freq"));
    let flag =
        |path: &str| reader.text(&format!("{DIRECTORY}/{path}")).ok().map(|text| text == "1");
    let found = Frequency {
        drivers: several("scaling_driver"),
        governors: several("scaling_governor"),
        lowest_hz: lowest.into_iter().min(),
        highest_hz: highest.into_iter().max(),
        boost: flag("cpufreq/boost").or_else(|| flag("intel_pstate/no_turbo").map(|off| !off)),
    };
    if found.governors.is_empty() {
        let why = "the kernel does not choose frequencies here: they are fixed, or chosen by \
            firmware or hypervisor";
        return reader.or_note("processors.frequency", Err(why.to_owned()));
    }
    Some(found)
}

fn idle(reader: &mut HostReader, allowed: &[usize]) -> Option<Idle> {
    let directory = format!("{DIRECTORY}/cpu{}/cpuidle", allowed.first()?);
    let states: Vec<String> = reader.names(&directory).into_iter().take(MOST_STATES).collect();
    if states.is_empty() {
        let why = "the kernel chooses no states of sleep here: processors halt, and what that \
            means is the hypervisor's or the firmware's business";
        return reader.or_note("processors.idle", Err(why.to_owned()));
    }
    let state = |name: &String| {
        let read = |file: &str| reader.text(&format!("{directory}/{name}/{file}")).ok();
        let micros = read("latency").and_then(|text| text.parse::<u64>().ok());
        State {
            name: read("name").unwrap_or_else(|| name.clone()),
            exit_latency_ns: micros.map(|micros| micros.saturating_mul(1_000)),
            disabled: read("disable").map(|text| text != "0"),
        }
    };
    Some(Idle {
        driver: reader.text(&format!("{DIRECTORY}/cpuidle/current_driver")).ok(),
        governor: reader.text(&format!("{DIRECTORY}/cpuidle/current_governor")).ok(),
        states: states.iter().map(state).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let file = root.join(DIRECTORY.trim_start_matches('/')).join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    #[test]
    fn a_notebook_is_described() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..4 {
            put(
                directory.path(),
                &format!("cpu{number}/topology/thread_siblings_list"),
                if number % 2 == 0 { "0,2\n" } else { "1,3\n" },
            );
            put(directory.path(), &format!("cpu{number}/cpufreq/scaling_governor"), "powersave\n");
            put(directory.path(), &format!("cpu{number}/cpufreq/scaling_min_freq"), "400000\n");
        }
        put(directory.path(), "intel_pstate/no_turbo", "0\n");
        put(directory.path(), "cpu0/cpuidle/state1/latency", "133\n");
        put(directory.path(), "cpu0/cpuidle/state1/name", "C8\n");
        let mut reader = HostReader::below(directory.path());
        assert_eq!(siblings(&mut reader, &[0, 1, 2, 3]).unwrap(), ["0,2", "1,3"]);
        let found = frequency(&mut reader, &[0, 1]).unwrap();
        assert_eq!(
            (found.governors, found.lowest_hz, found.boost),
            (vec!["powersave".to_owned()], Some(400_000_000), Some(true))
        );
        let state = &idle(&mut reader, &[0]).unwrap().states[0];
        assert_eq!(
            (state.name.as_str(), state.exit_latency_ns, state.disabled),
            ("C8", Some(133_000), None)
        );
        assert_eq!(reader.unavailable, []);
    }

    #[test]
    fn a_host_that_shows_nothing_has_notes() {
        let directory = tempfile::tempdir().unwrap();
        let mut reader = HostReader::below(directory.path());
        let found = Processors::look(&mut reader);
        assert!(
            found.online.is_none()
                && found.frequency.is_none()
                && found.siblings.is_none()
                && found.idle.is_none()
        );
        let noted: Vec<_> = reader.unavailable.iter().map(|note| note.what.as_str()).collect();
        for what in ["online", "smt_active", "isolated", "siblings", "frequency", "idle"] {
            assert!(noted.contains(&format!("processors.{what}").as_str()), "{what}: {noted:?}");
        }
    }
}
