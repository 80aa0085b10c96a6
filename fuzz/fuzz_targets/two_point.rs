//! `cargo fuzz run two_point`: arbitrary frames at two points.
#![no_main]

#[path = "../harness/two_point.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::two_point(data));
