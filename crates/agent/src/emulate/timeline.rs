//! The time of the emulated network: the real-time clock at the start, and from then on the
//! monotonic one.
//!
//! So its times compare with captures, and no step of the clock affects packets in flight. The
//! kernel's timestamps are of the real-time clock and are translated; one that cannot be (the clock
//! was just stepped) is replaced by the moment at which the frame was read, which is later than its
//! arrival: such frames are counted.

use trustbed_units::{Ns, Span};

use crate::sys::clock::{self, Offset};

/// How often both clocks are compared.
const COMPARE: Span = Span::from_millis(10);
/// How long the kernel may take to bring a frame it has timestamped to the socket.
const ON_THE_WAY: Span = Span::from_millis(20);

/// The time of the emulated network.
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    anchor: Offset,
    current: Offset,
    compare_at: Ns,
    restamped: u64,
}

impl Timeline {
    /// Time begins.
    pub(super) fn begin() -> Self {
        let anchor = Offset::measure();
        Self { anchor, current: anchor, compare_at: Ns::MIN, restamped: 0 }
    }

    /// Now.
    #[inline]
    pub(super) fn now(&self) -> Ns {
        self.anchor.to_realtime(clock::monotonic())
    }

    /// A moment of the real-time clock as it is now, in this time.
    #[inline]
    pub(super) fn at(&self, moment: Ns) -> Ns {
        self.anchor.to_realtime(self.current.to_monotonic(moment))
    }

    /// Compares the clocks if that was not done for a while.
    pub(super) fn compare(&mut self, now: Ns) {
        if now >= self.compare_at {
            self.compare_at = now + COMPARE;
            let _ = self.current.refresh();
        }
    }

    /// The arrival of a frame read now from a socket that was last empty at a moment.
    pub(super) fn arrival(&mut self, stamp: Option<Ns>, empty: Ns, now: Ns) -> Ns {
        let possible = |moment: &Ns| *moment <= now && *moment >= empty - ON_THE_WAY;
        if let Some(found) = stamp.map(|stamp| self.at(stamp)).filter(possible) {
            return found;
        }
        // The clock may have been set since the last comparison.
        let _ = self.current.refresh();
        stamp.map(|stamp| self.at(stamp)).filter(possible).unwrap_or_else(|| {
            self.restamped += 1;
            now
        })
    }

    /// How often the real-time clock was stepped meanwhile.
    pub(super) fn steps(&self) -> u32 {
        self.current.steps()
    }

    /// Frames whose timestamp could not be used.
    pub(super) fn restamped(&self) -> u64 {
        self.restamped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_between_the_last_reading_and_now_is_valid() {
        let mut time = Timeline::begin();
        let now = time.now();
        let empty = now - Span::from_millis(5);
        for ago in [Span::ZERO, Span::from_micros(1), Span::from_millis(24)] {
            assert_eq!(time.arrival(Some(now - ago), empty, now), now - ago);
        }
        assert_eq!(time.restamped(), 0);
    }

    #[test]
    fn a_timestamp_outside_that_range_is_not() {
        let mut time = Timeline::begin();
        let now = time.now();
        let empty = now - Span::from_millis(5);
        for stamp in
            [None, Some(now + Span::from_secs(1)), Some(now - Span::from_secs(3600)), Some(Ns(0))]
        {
            assert_eq!(time.arrival(stamp, empty, now), now);
        }
        assert_eq!(time.restamped(), 4);
    }
}
