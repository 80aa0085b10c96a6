//! `cargo fuzz run decode`: arbitrary frames through both decoders.
#![no_main]

#[path = "../harness/decode.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::decode(data));
