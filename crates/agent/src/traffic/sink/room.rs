//! The room that sources and connections have in a report, whose reader takes no line longer than
//! 16 MiB.

use std::io::{self, Write};

use serde::Serialize;

/// Bytes of JSON. Beside them a report has the amounts of each second, 2 MiB at most, and the
/// sockets.
const BYTES: usize = 12 << 20;

/// What is left of it.
#[derive(Debug)]
pub(super) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(BYTES)
    }
}

impl Room {
    /// Whether one more has room; then it takes that.
    pub(super) fn takes(&mut self, one: &impl Serialize) -> bool {
        let mut length = Length(1);
        if serde_json::to_writer(&mut length, one).is_err() {
            return false;
        }
        let left = self.0.checked_sub(length.0);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// Counts what is written to it, and a comma.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_refused_and_what_is_smaller_still_has_some() {
        let mut room = Room(8);
        assert!(room.takes(&"abc"), "five bytes and a comma");
        assert!(!room.takes(&"d"), "three bytes and a comma");
        assert!(room.takes(&7));
        assert!(!room.takes(&7));
    }
}
