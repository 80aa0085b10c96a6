//! `cargo fuzz run flow`: arbitrary packets through tables and meters.
#![no_main]

#[path = "../harness/flow.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::flow(data));
