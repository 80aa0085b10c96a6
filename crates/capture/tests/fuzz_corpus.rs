//! Replays what the fuzz targets `pcap` and `pcapng` have found interesting, and what once failed.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly, and its numbers are small")]

#[path = "../../../fuzz/harness/capture.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz targets")]
mod harness;

#[path = "../../../fuzz/harness/replay.rs"]
mod replay;

use replay::replay;

#[test]
fn pcap() {
    replay("pcap", harness::pcap);
}

#[test]
fn pcapng() {
    replay("pcapng", harness::pcapng);
}
