//! Amounts per second since the start, in bounded memory.

use serde::Serialize;
use trustbed_units::{Ns, Span};

/// A day. Later amounts count in the last second.
const MOST: usize = 86_400;

/// One amount for every second since the start; seconds without any at the end are left out.
/// Earlier amounts count in the first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub(crate) struct Seconds(Vec<u64>);

impl Seconds {
    /// Counts an amount at a moment.
    pub(crate) fn add(&mut self, start: Ns, at: Ns, amount: u64) {
        self.add_after(at - start, amount);
    }

    /// Counts an amount so long after the start.
    pub(crate) fn add_after(&mut self, after: Span, amount: u64) {
        let second = usize::try_from(after.0.max(0) / 1_000_000_000).unwrap_or(MOST).min(MOST - 1);
        if second >= self.0.len() {
            self.0.resize(second + 1, 0);
        }
        if let Some(total) = self.0.get_mut(second) {
            *total += amount;
        }
    }

    /// Adds another's amounts, second by second.
    pub(crate) fn merge(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (total, more) in self.0.iter_mut().zip(&other.0) {
            *total += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_begin_with_the_start() {
        let mut seconds = Seconds::default();
        let start = Ns(1_000_000_000_500_000_000);
        for (after, amount) in
            [(-5, 1), (0, 2), (999_999_999, 3), (1_000_000_000, 4), (3_100_000_000, 5)]
        {
            seconds.add(start, start + Span(after), amount);
        }
        assert_eq!(seconds.0, [6, 4, 0, 5]);
        let mut sum = Seconds(vec![1]);
        sum.merge(&seconds);
        assert_eq!(sum.0, [7, 4, 0, 5]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut seconds = Seconds::default();
        seconds.add_after(Span::MAX, 7);
        seconds.add_after(Span(i64::MAX - 1), 1);
        assert_eq!((seconds.0.len(), seconds.0.last()), (MOST, Some(&8)));
    }
}
