//! `cargo fuzz run pcap`: the pcap reader against arbitrary bytes.
#![no_main]

#[path = "../harness/capture.rs"]
#[allow(dead_code, reason = "the other target uses the rest")]
mod harness;

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness::pcap(data));
