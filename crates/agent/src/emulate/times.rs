//! Where the times of links begin, said by one thread and heard by another: outages and steps of a delay count from there.
//!
//! The emulator is started before anything else of an experiment, long before the workload that the times are meant for. So they can be held
//! until somebody says when that workload begins, ahead of it.

use std::sync::atomic::{AtomicI64, Ordering};

use serde::Deserialize;
use trustbed_units::Ns;

/// Nothing has been said, or it has been heard.
const NONE: i64 = i64::MIN;

/// From when on the times of links count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TimesBegin {
    /// From the emulator's start.
    #[default]
    Start,
    /// From a moment that is told after the start.
    Told,
}

/// The moment on its way from one thread to the other.
#[derive(Debug)]
pub(super) struct Times(AtomicI64);

impl Default for Times {
    fn default() -> Self {
        Self(AtomicI64::new(NONE))
    }
}

impl Times {
    /// They begin at this moment of the real-time clock.
    pub(super) fn tell(&self, at: Ns) {
        self.0.store(at.0, Ordering::Relaxed);
    }

    /// The moment, once.
    #[inline]
    pub(super) fn hear(&self) -> Option<Ns> {
        let told = self.0.load(Ordering::Relaxed);
        (told != NONE).then(|| {
            self.0.store(NONE, Ordering::Relaxed);
            Ns(told)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_heard_once() {
        let times = Times::default();
        assert_eq!(times.hear(), None);
        times.tell(Ns(7));
        assert_eq!((times.hear(), times.hear()), (Some(Ns(7)), None));
    }
}
