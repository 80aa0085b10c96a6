//! Replays what the fuzz target `stamp` has found interesting, and what once failed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail loudly")]

#[path = "../../../fuzz/harness/stamp.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz target")]
mod harness;

#[path = "../../../fuzz/harness/replay.rs"]
mod replay;

#[test]
fn stamp() {
    replay::replay("stamp", harness::stamp);
}

proptest::proptest! {
    /// What libFuzzer does for hours, for a moment.
    #[test]
    fn arbitrary_packets_never_panic(
        first in proptest::prelude::any::<u8>(),
        packets in proptest::collection::vec(
            (0..8_u8, proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60)),
            0..20,
        ),
    ) {
        let mut data = vec![first];
        for (whence, payload) in packets {
            data.push(u8::try_from(payload.len()).unwrap());
            data.push(whence << 5 | whence & 1);
            data.extend(payload);
        }
        harness::stamp(&data);
    }
}
