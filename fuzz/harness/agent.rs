//! What must hold for everything that strangers send to the agent's ports. The fuzz targets
//! `header`, `http` and `control` call this with bytes that libFuzzer makes up; the test
//! `fuzz_corpus` of the crate `agent` calls it with those in `fuzz/corpus`.

use trustbed_agent::strangers::{answer, control_frames, header, request, response};

const HEADER_BYTES: usize = 64;
const FRAME_HEADER_BYTES: usize = 12;

/// A header or an answer means one thing: what is accepted is written with the same bytes, and no
/// bytes are both.
pub fn header_of(data: &[u8]) {
    for bytes in data.windows(HEADER_BYTES).step_by(HEADER_BYTES) {
        let bytes = bytes.try_into().expect("a window of that size");
        let (as_header, as_answer) = (header(bytes), answer(bytes));
        assert!(as_header.is_none_or(|written| written == *bytes));
        assert!(as_answer.is_none_or(|written| written == *bytes));
        assert!(as_header.is_none() || as_answer.is_none());
    }
}

/// A request has a head that is there, and what is behind it does not change it; one whose end is
/// not known closes the connection. The content of an answer does not depend on how it arrives.
pub fn http(data: &[u8]) {
    if let Some(asked) = request(data) {
        assert!(asked.head_bytes <= data.len());
        if asked.object_bytes.is_some() {
            let exactly = data.get(..asked.head_bytes).expect("a head that is there");
            assert_eq!(request(exactly), Some(asked));
            let before = exactly.split_last().map_or(&[][..], |(_, rest)| rest);
            assert!(request(before).is_none_or(|other| other.object_bytes.is_none()));
        }
    } else {
        assert!(data.len() < 16 << 10, "a head without an end is refused");
    }
    let whole = response(data, data.len());
    for piece in [1, 7] {
        assert_eq!(response(data, piece), whole, "in pieces of {piece}");
    }
    if let Ok(Some((head, content, _))) = whole {
        assert!(head + content.len() <= data.len());
    }
}

/// Frames that are read are those that were sent: the same bytes, but for the three without
/// meaning. A command is ordered by an object with words or not at all.
pub fn control(data: &[u8]) {
    let (frames, is_broken) = control_frames(data);
    let mut at = 0;
    for (written, _) in &frames {
        let sent = &data[at..at + written.len()];
        assert_eq!(written[..5], sent[..5]);
        assert_eq!(written[5..8], [0; 3]);
        assert_eq!(written[8..], sent[8..]);
        at += written.len();
    }
    assert!(!is_broken || data.len() - at >= FRAME_HEADER_BYTES);
    for (written, is_order) in &frames {
        if *is_order == Some(true) {
            assert!(written[FRAME_HEADER_BYTES..].windows(7).any(|word| word == b"\"words\""));
        }
    }
}
