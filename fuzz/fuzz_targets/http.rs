//! `cargo fuzz run http`: arbitrary bytes at a server of objects, and as its answer.
#![no_main]

#[path = "../harness/agent.rs"]
#[allow(dead_code, reason = "the other targets use the rest")]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::http(data));
