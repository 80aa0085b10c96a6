//! The one program that runs on every host of an experiment.
//!
//! It takes its configuration as one line of JSON on standard input, answers in lines of JSON, and ends when standard input ends: whoever started
//! it cannot die without ending it. What it does is its first word, a verb of the table below; each verb is one module.
//!
//! It decides nothing about packets: when one leaves a link is computed by `trustbed-emulate`, when one is sent by `trustbed-traffic`. Here are
//! the clocks, the sockets and the waiting.

mod bulk;
mod capture;
mod clock;
mod control;
mod disturb;
mod emulate;
mod estimate;
mod ethtool;
mod exec;
mod facts;
mod filter;
mod guest;
mod http;
mod idle;
mod json_lines;
mod kernel;
mod net;
mod pairs;
mod ping;
mod records;
mod sample;
mod send;
mod sink;
mod spin;
mod stamp;
mod talk;

use std::ffi::OsString;
use std::process::ExitCode;

use talk::{Failure, Talk};

/// How a verb is run.
enum Way {
    /// It converses: configuration and commands in, events out.
    Talks(fn(&mut Talk) -> Result<(), Failure>),
    /// It takes words, and its standard input and output belong to what it runs.
    Runs(fn(Vec<OsString>) -> ExitCode),
}

/// What the program can do: one line per verb.
const VERBS: &[(&str, Way)] = &[
    ("emulate", Way::Talks(emulate::run)),
    ("bulk", Way::Talks(bulk::run)),
    ("disturb", Way::Talks(disturb::run)),
    ("control", Way::Runs(control::run)),
    ("estimate", Way::Talks(estimate::run)),
    ("exec", Way::Runs(exec::run)),
    ("capture", Way::Talks(capture::run)),
    ("facts", Way::Talks(facts::run)),
    ("fetch", Way::Talks(http::fetch)),
    ("guest", Way::Runs(guest::run)),
    ("pairs", Way::Talks(pairs::run)),
    ("ping", Way::Talks(ping::run)),
    ("probe", Way::Talks(stamp::probe)),
    ("reflect", Way::Talks(stamp::reflect)),
    ("sample", Way::Talks(sample::run)),
    ("serve", Way::Talks(http::serve)),
    ("send", Way::Talks(send::run)),
    ("sink", Way::Talks(sink::run)),
    ("spin", Way::Talks(spin::run)),
];

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let verb = words.next().unwrap_or_default();
    match VERBS.iter().find(|(name, _)| *name == verb) {
        Some((_, Way::Talks(run))) => talk::converse(*run),
        Some((_, Way::Runs(run))) => run(words.collect()),
        None => talk::refuse(&unknown_verb(&verb.to_string_lossy())),
    }
}

fn unknown_verb(word: &str) -> Failure {
    let known: Vec<&str> = VERBS.iter().map(|(name, _)| *name).collect();
    let message = if word.is_empty() {
        "no verb is given".to_owned()
    } else {
        format!("there is no verb `{word}`")
    };
    Failure::configuration(
        message,
        format!("trustbed-agent VERB, where VERB is one of: {}", known.join(", ")),
    )
}
