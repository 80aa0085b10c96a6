//! The program that runs on every host of an experiment.
//!
//! Its first argument is a verb of the table below; each verb is one module. It reads its
//! configuration as one line of JSON from standard input, answers in lines of JSON, and ends when
//! standard input ends: it cannot outlive its controller.
//!
//! It decides nothing about packets: `trustbed-emulate` computes when one leaves a link,
//! `trustbed-traffic` when one is sent. Here are the clocks, the sockets and the waiting.
//!
//! A library for the program of the same name, and for those who test what its ports read
//! ([`strangers`]).

mod capture;
mod control;
mod emulate;
mod exec;
mod guest;
mod host;
mod http;
mod media;
mod output;
mod probe;
mod session;
pub mod strangers;
mod sys;
mod tcp;
mod trace;
mod traffic;

use std::ffi::OsString;
use std::process::ExitCode;

use session::{Failure, Session};

/// How a verb is run.
enum Run {
    /// It converses: configuration and commands in, events out.
    Session(fn(&mut Session) -> Result<(), Failure>),
    /// It takes words, and its standard input and output belong to what it runs.
    Program(fn(Vec<OsString>) -> ExitCode),
}

/// What the program can do: one line per verb.
const VERBS: &[(&str, Run)] = &[
    ("emulate", Run::Session(emulate::run)),
    ("bulk", Run::Session(tcp::bulk::run)),
    ("inject", Run::Session(host::inject::run)),
    ("control", Run::Program(control::run)),
    ("estimate", Run::Session(probe::estimate::run)),
    ("exec", Run::Program(exec::run)),
    ("capture", Run::Session(capture::run)),
    ("facts", Run::Session(host::facts::run)),
    ("fetch", Run::Session(http::fetch)),
    ("generate", Run::Session(traffic::generate::run)),
    ("guest", Run::Program(guest::run)),
    ("media", Run::Session(media::run)),
    ("pairs", Run::Session(tcp::pairs::run)),
    ("ping", Run::Session(probe::ping::run)),
    ("probe", Run::Session(probe::stamp::probe)),
    ("reflect", Run::Session(probe::stamp::reflect)),
    ("sample", Run::Session(host::sample::run)),
    ("serve", Run::Session(http::serve)),
    ("send", Run::Session(traffic::send::run)),
    ("sink", Run::Session(traffic::sink::run)),
    ("spin", Run::Session(host::spin::run)),
    ("trace", Run::Session(trace::run)),
    ("video", Run::Session(http::video)),
];

/// Runs the verb that the program's arguments name.
pub fn run() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let verb = words.next().unwrap_or_default();
    match VERBS.iter().find(|(name, _)| *name == verb) {
        Some((_, Run::Session(verb))) => session::run(*verb),
        Some((_, Run::Program(verb))) => verb(words.collect()),
        None => session::report_failure(&unknown_verb(&verb.to_string_lossy())),
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
