//! `cargo fuzz run control`: arbitrary frames on a control channel.
#![no_main]

#[path = "../harness/agent.rs"]
#[allow(dead_code, reason = "the other targets use the rest")]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::control(data));
