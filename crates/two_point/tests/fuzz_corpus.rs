//! Replays what the fuzz target `two_point` has found interesting, and what once failed.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../../../fuzz/harness/two_point.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz target")]
mod harness;

#[path = "../../../fuzz/harness/replay.rs"]
mod replay;

#[test]
fn two_point() {
    replay::replay("two_point", harness::two_point);
}

proptest::proptest! {
    /// What libFuzzer does for hours, for a moment.
    #[test]
    fn arbitrary_bytes_never_panic(
        data in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..3_000),
    ) {
        harness::two_point(&data);
    }
}
