//! Replays what the fuzz targets `header`, `http` and `control` have found interesting, and what
//! once failed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail loudly")]

#[path = "../../../fuzz/harness/agent.rs"]
#[expect(unreachable_pub, reason = "shared with the fuzz targets")]
mod harness;

#[path = "../../../fuzz/harness/replay.rs"]
mod replay;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof};

#[test]
fn header() {
    replay::replay("header", harness::header_of);
}

#[test]
fn http() {
    replay::replay("http", harness::http);
}

#[test]
fn control() {
    replay::replay("control", harness::control);
}

/// Bytes among which there are pieces of the protocol.
fn bytes(pieces: &'static [&'static [u8]]) -> impl Strategy<Value = Vec<u8>> {
    let part =
        prop_oneof![(0..pieces.len()).prop_map(|at| pieces[at].to_vec()), vec(any::<u8>(), 0..20),];
    vec(part, 0..12).prop_map(|parts| parts.concat())
}

const HTTP: &[&[u8]] = &[
    b"GET /bytes/10 HTTP/1.1\r\n",
    b"HEAD /bytes/1 HTTP/1.0\r\n",
    b"Host: a\r\n",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Connection: keep-alive\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"\r\n",
    b"4\r\nwiki\r\n",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
];
const CONTROL: &[&[u8]] = &[
    &[1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0],
    &[1, 0, 0, 0, 7, 0, 0, 0, 4, 0, 0, 0, 80, 0, 24, 0],
    &[1, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 0, 255, 255, 255, 255],
    &[0, 0, 0, 0, 11, 9, 9, 9, 0, 0, 0, 0],
    b"{}",
];

proptest::proptest! {
    /// What libFuzzer does for hours, for a moment.
    #[test]
    fn arbitrary_bytes_never_panic(
        data in vec(any::<u8>(), 0..200),
        http in bytes(HTTP),
        frames in bytes(CONTROL),
    ) {
        harness::header_of(&data);
        harness::http(&http);
        harness::control(&frames);
    }
}
