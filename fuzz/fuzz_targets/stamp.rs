//! `cargo fuzz run stamp`: arbitrary test packets at a reflector.
#![no_main]

#[path = "../harness/stamp.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::stamp(data));
