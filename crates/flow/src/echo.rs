//! Round trips by the timestamp option (RFC 7323), the passive method of *pping*.
//!
//! The first packet that carries a new `TSval` starts a stopwatch; the first packet of the peer
//! that echoes it stops it. Valid during retransmission; limited to one sample per tick of the
//! timestamp clock. Pure ACKs are kept apart from data, because an ACK's echo comes back on the
//! peer's data and so measures the path to the *data sender*.

use std::collections::VecDeque;

use trustbed_units::{Ns, Span};

use crate::stream::AT_ONCE;

/// Timestamp values that were sent and not yet echoed.
#[derive(Debug, Clone, Default)]
pub struct Echo {
    waiting: VecDeque<(u32, Ns)>,
    newest: Option<u32>,
}

/// Entries kept at most: a second of packets at a microsecond timestamp clock would be more; the
/// oldest go first.
const MOST: usize = 2048;
/// A timestamp that has waited longer than this is not an echo any more.
const STALE: Span = Span::from_secs(10);

impl Echo {
    /// Bytes on the heap.
    pub fn held_bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<(u32, Ns)>()
    }

    /// A packet with `tsval` left at `now`; kept if it is newer than all before.
    #[inline]
    pub fn sent(&mut self, tsval: u32, now: Ns) {
        // Also one that was echoed already: a second echo would answer a packet sent before the
        // first came back.
        if self.newest.is_some_and(|newest| !newer(tsval, newest)) {
            return;
        }
        self.newest = Some(tsval);
        if self.waiting.len() >= MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back((tsval, now));
    }

    /// The peer echoed `tsecr` at `now`: the time since it was sent, if it is known and was not
    /// echoed before.
    #[inline]
    pub fn echoed(&mut self, tsecr: u32, now: Ns) -> Option<Span> {
        while let Some(&(tsval, sent)) = self.waiting.front() {
            if tsval == tsecr {
                self.waiting.pop_front();
                let sample = now - sent;
                return (sample >= Span::ZERO && sample <= STALE).then(|| sample.max(AT_ONCE));
            }
            if !newer(tsecr, tsval) {
                return None;
            }
            self.waiting.pop_front();
        }
        None
    }

    /// Forgets everything: the clock stepped.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}

/// RFC 7323 order of timestamps, modulo 2³².
#[expect(clippy::cast_possible_wrap, reason = "modular comparison")]
const fn newer(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}
