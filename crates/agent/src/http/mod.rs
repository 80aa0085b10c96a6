//! HTTP/1.1 (RFC 9110, RFC 9112) as far as a workload of fixed objects needs it: the verbs `serve`
//! and `fetch`, and `video`, which fetches the chunks of a video.
//!
//! Both work with other programs: any client can fetch from `serve`, and `fetch` from any server.

mod adaptation;
mod body;
mod client;
mod fetch;
mod fetch_rows;
mod object;
mod playback;
mod request;
mod serve;
mod video;
mod video_rows;

pub(crate) use body::{Framing, read_head};
pub(crate) use fetch::run as fetch;
pub(crate) use request::{Target, read as read_request};
pub(crate) use serve::run as serve;
pub(crate) use video::run as video;

/// The longest head of a message that is read.
const LONGEST_HEAD: usize = 16 << 10;
/// The most header fields.
const MOST_FIELDS: usize = 64;

/// Whether a field that lists tokens names one (RFC 9110, section 5.6.1).
fn lists(value: &[u8], token: &str) -> bool {
    value
        .split(|byte| *byte == b',')
        .any(|part| part.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

/// A length in a field.
fn length(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(value).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_they_are_written() {
        assert!(lists(b"Keep-Alive, TE", "keep-alive"));
        assert!(!lists(b"keep-alive-not", "keep-alive"));
        assert_eq!(length(b" 42 "), Some(42));
        for wrong in [&b""[..], b"+42", b"4 2", b"-1", b"99999999999999999999999"] {
            assert_eq!(length(wrong), None);
        }
    }
}
