//! Replays what the fuzz target `flow` has found interesting, and what once failed.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../../../fuzz/harness/flow.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz target")]
mod harness;

use std::path::Path;

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the crate reads no files, but its tests' inputs are files"
)]
fn flow() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/flow");
    let mut paths: Vec<_> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 10, "the corpus in {} is missing", directory.display());
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let outcome = std::panic::catch_unwind(|| harness::flow(&bytes));
        assert!(outcome.is_ok(), "{} fails", path.display());
    }
}

proptest::proptest! {
    /// What libFuzzer does for hours, for a moment: arbitrary bytes as packets.
    #[test]
    fn arbitrary_packets_never_panic(
        data in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..6_000),
    ) {
        harness::flow(&data);
    }
}
