//! `cargo fuzz run stalls`: arbitrary silences of transfers, shared by their hosts.
#![no_main]

#[path = "../harness/stalls.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::stalls(data));
