//! The moment from which the times of links count (outages, delay steps), set by one thread and
//! read by another.
//!
//! The emulator starts before everything else of an experiment, long before the workload that the
//! times refer to. The moment can be sent later, ahead of the workload's start.

use std::sync::atomic::{AtomicI64, Ordering};

use serde::Deserialize;
use trustbed_units::Ns;

/// Not set, or already read.
const NONE: i64 = i64::MIN;

/// From when on the times of links count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TimesBegin {
    /// From the emulator's start.
    #[default]
    Start,
    /// From a moment that the controller sends after the start.
    OnCommand,
}

/// The moment, handed from one thread to the other.
#[derive(Debug)]
pub(super) struct Times(AtomicI64);

impl Default for Times {
    fn default() -> Self {
        Self(AtomicI64::new(NONE))
    }
}

impl Times {
    /// They begin at this moment of the real-time clock.
    pub(super) fn set(&self, at: Ns) {
        self.0.store(at.0, Ordering::Relaxed);
    }

    /// The moment, once.
    #[inline]
    pub(super) fn take(&self) -> Option<Ns> {
        let begin = self.0.load(Ordering::Relaxed);
        (begin != NONE).then(|| {
            self.0.store(NONE, Ordering::Relaxed);
            Ns(begin)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_can_be_set_once() {
        let times = Times::default();
        assert_eq!(times.take(), None);
        times.set(Ns(7));
        assert_eq!((times.take(), times.take()), (Some(Ns(7)), None));
    }
}
