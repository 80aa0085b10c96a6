//! `cargo fuzz run flows`: arbitrary packets in thousands of connections.
#![no_main]

#[path = "../harness/flow.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::flows(data));
