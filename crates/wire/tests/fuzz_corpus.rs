//! Replays what the fuzz targets `decode` and `filter` have found interesting, and what once
//! failed.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

#[path = "../../../fuzz/harness/decode.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz target")]
mod harness;

#[path = "../../../fuzz/harness/filter.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz target")]
mod of_filters;

#[path = "../../../fuzz/harness/replay.rs"]
mod replay;

#[test]
fn decode() {
    replay::replay("decode", harness::decode);
}

#[test]
fn filter() {
    replay::replay("filter", of_filters::filter);
}

proptest::proptest! {
    /// What libFuzzer does for hours, for a moment: arbitrary words as a filter.
    #[test]
    fn arbitrary_words_never_panic(
        data in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60),
    ) {
        of_filters::filter(&data);
    }
}
