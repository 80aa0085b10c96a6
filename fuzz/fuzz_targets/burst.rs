//! `cargo fuzz run burst`: arbitrary packets through every measure of bursts.
#![no_main]

#[path = "../harness/burst.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::burst(data));
