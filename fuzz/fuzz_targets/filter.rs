//! `cargo fuzz run filter`: arbitrary words as a filter.
#![no_main]

#[path = "../harness/filter.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::filter(data));
