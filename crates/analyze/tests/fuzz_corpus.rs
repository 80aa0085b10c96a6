//! Replays what the fuzz targets `flow`, `flows` and `stalls` have found interesting, and what once
//! failed.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../../../fuzz/harness/flow.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz target")]
mod harness;

#[path = "../../../fuzz/harness/stalls.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz target")]
mod of_stalls;

#[path = "../../../fuzz/harness/replay.rs"]
mod replay;

#[test]
fn flow() {
    replay::replay("flow", harness::flow);
}

#[test]
fn flows() {
    replay::replay("flows", harness::flows);
}

#[test]
fn stalls() {
    replay::replay("stalls", of_stalls::stalls);
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
