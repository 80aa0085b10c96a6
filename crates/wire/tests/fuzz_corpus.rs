//! Replays what the fuzz target `decode` has found interesting, and what once failed.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../../../fuzz/harness/decode.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz target")]
mod harness;

use std::path::Path;

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the crate reads no files, but its tests' inputs are files"
)]
fn decode() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/decode");
    let mut paths: Vec<_> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 10, "the corpus in {} is missing", directory.display());
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let outcome = std::panic::catch_unwind(|| harness::decode(&bytes));
        assert!(outcome.is_ok(), "{} fails", path.display());
    }
}
