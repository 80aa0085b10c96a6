//! Replays what the fuzz target `burst` has found interesting, and what once failed.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../../../fuzz/harness/burst.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz target")]
mod harness;

#[path = "../../../fuzz/harness/replay.rs"]
mod replay;

#[test]
fn burst() {
    replay::replay("burst", harness::burst);
}

proptest::proptest! {
    /// What libFuzzer does for hours, for a moment.
    #[test]
    fn arbitrary_bytes_never_panic(
        data in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..3_000),
    ) {
        harness::burst(&data);
    }
}
