//! `cargo fuzz run header`: arbitrary bytes at a port for data connections.
#![no_main]

#[path = "../harness/agent.rs"]
#[allow(dead_code, reason = "the other targets use the rest")]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::header_of(data));
