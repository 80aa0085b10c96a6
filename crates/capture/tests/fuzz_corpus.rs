//! Replays what the fuzz targets `pcap` and `pcapng` have found interesting, and what once failed.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly, and its numbers are small")]

#[path = "../../../fuzz/harness/capture.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz targets")]
mod harness;

use std::path::Path;

fn replay(target: &str, check: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut paths: Vec<_> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 10, "the corpus in {} is missing", directory.display());
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let outcome = std::panic::catch_unwind(|| check(&bytes));
        assert!(outcome.is_ok(), "{} fails", path.display());
    }
}

#[test]
fn pcap() {
    replay("pcap", harness::pcap);
}

#[test]
fn pcapng() {
    replay("pcapng", harness::pcapng);
}
