//! The one program that runs on every host of an experiment.
//!
//! It takes its configuration as one line of JSON on standard input, answers in lines of JSON, and ends when standard input ends: whoever started
//! it cannot die without ending it.

fn main() {}
