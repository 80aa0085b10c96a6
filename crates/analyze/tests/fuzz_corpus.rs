//! Replays what the fuzz target `flow` has found interesting, and what once failed.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../../../fuzz/harness/flow.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz target")]
mod harness;

#[path = "../../../fuzz/harness/replay.rs"]
mod replay;

#[test]
fn flow() {
    replay::replay("flow", harness::flow);
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
