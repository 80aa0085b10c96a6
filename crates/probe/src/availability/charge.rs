//! CPU time that the kernel charged a thread, against what it ran.
//!
//! A kernel charges a thread from the moment it puts it on a processor to the moment it takes it
//! off. A hypervisor that takes away the processor itself, and does not report it, takes charged
//! time: the thread's own clock continues while the thread is stopped. So a thread that was charged
//! for more than it had shows a steal that no other counter of the guest does.
//!
//! Both are compared from reading to reading of the thread's clock, not by seconds of the clock: of
//! a gap across the end of a second it is unknown which part was charged.

use trustbed_units::{Ns, Span};

/// A difference between the shares above this is no rounding.
const TOLERATED: f64 = 0.05;

/// The time between two readings of a thread's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charge {
    /// How long it was.
    pub elapsed: Span,
    /// What the thread lost of it in gaps.
    pub lost: Span,
    /// The CPU time that the kernel charged the thread.
    pub charged: Span,
}

impl Charge {
    /// The share of a core that was charged.
    pub fn share(&self) -> Option<f64> {
        (self.elapsed > Span::ZERO).then(|| self.charged.as_f64() / self.elapsed.as_f64())
    }

    /// By how much that is more than the share that the thread had; below 0 where short gaps were
    /// not charged.
    pub fn excess(&self) -> Option<f64> {
        let had = self.elapsed - self.lost;
        (self.elapsed > Span::ZERO).then(|| (self.charged - had).as_f64() / self.elapsed.as_f64())
    }

    /// Whether the kernel charged time that the thread did not have: more than 0.05 of the elapsed
    /// time.
    pub fn is_in_vain(&self) -> Option<bool> {
        self.excess().map(|excess| excess > TOLERATED)
    }
}

/// What has been since the last reading of a thread's clock.
///
/// ```
/// use trustbed_probe::Charging;
/// use trustbed_units::{Ns, Span};
/// let mut charging = Charging::begin(Ns(0), Span::ZERO);
/// charging.on_gap(Span::from_millis(300));
/// let charge = charging.read(Ns(1_000_000_000), Span::from_millis(990));
/// assert_eq!((charge.share(), charge.excess()), (Some(0.99), Some(0.29)));
/// assert_eq!(charge.is_in_vain(), Some(true));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charging {
    since: Ns,
    charged: Span,
    lost: Span,
}

impl Charging {
    /// The first reading: when, and what the thread has used so far.
    pub fn begin(now: Ns, charged: Span) -> Self {
        Self { since: now, charged, lost: Span::ZERO }
    }

    /// A gap that lay, from its beginning to its end, behind the last reading.
    pub fn on_gap(&mut self, length: Span) {
        self.lost += length;
    }

    /// Another reading, and what lies between the two.
    pub fn read(&mut self, now: Ns, charged: Span) -> Charge {
        let charge =
            Charge { elapsed: now - self.since, lost: self.lost, charged: charged - self.charged };
        *self = Self::begin(now, charged);
        charge
    }
}
