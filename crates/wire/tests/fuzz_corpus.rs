//! Replays what the fuzz target `decode` has found interesting, and what once failed.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../../../fuzz/harness/decode.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz target")]
mod harness;

#[path = "../../../fuzz/harness/replay.rs"]
mod replay;

#[test]
fn decode() {
    replay::replay("decode", harness::decode);
}
