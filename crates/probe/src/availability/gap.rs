//! A time in which a thread that wanted to run did not, and how long such times are.

use trustbed_units::{Ns, Span};

/// From the last reading of the clock before it to the first one behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gap {
    /// The last moment at which the thread ran.
    pub begin: Ns,
    /// How long it did not.
    pub length: Span,
}

impl Gap {
    /// The first moment at which it ran again.
    pub fn end(&self) -> Ns {
        self.begin + self.length
    }
}

/// Powers of two that a positive number of 64 signed bits can reach.
const BINS: usize = 63;

/// How many gaps there were by length: bin b holds those from 2ᵇ to below 2ᵇ⁺¹ ns.
///
/// ```
/// use trustbed_probe::GapLengths;
/// use trustbed_units::Span;
/// let mut lengths = GapLengths::default();
/// for nanoseconds in [60_000, 65_535, 65_536] {
///     lengths.add(Span(nanoseconds));
/// }
/// assert_eq!(lengths.counts().collect::<Vec<_>>(), [(15, 2), (16, 1)]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GapLengths([u64; BINS]);

impl Default for GapLengths {
    fn default() -> Self {
        Self([0; BINS])
    }
}

impl GapLengths {
    /// Counts one; what is not longer than nothing has no bin.
    pub fn add(&mut self, length: Span) {
        let bin = u64::try_from(length.0).ok().and_then(u64::checked_ilog2);
        if let Some(count) = bin.and_then(|bin| self.0.get_mut(bin as usize)) {
            *count += 1;
        }
    }

    /// Counts all of another.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, more)| *own += more);
    }

    /// The bins in which something is, shortest first: b, and how many.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        (0..).zip(self.0).filter(|(_, count)| *count > 0)
    }
}
