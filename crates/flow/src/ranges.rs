//! A set of byte ranges, sorted and disjoint. Typically empty or a handful long.

/// Disjoint half-open ranges in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: Vec<(i64, i64)>,
}

impl RangeSet {
    /// Whether the set holds nothing.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes on the heap.
    pub fn held_bytes(&self) -> usize {
        self.ranges.capacity() * size_of::<(i64, i64)>()
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.ranges.iter().copied()
    }

    /// Adds `[start, end)` and calls `fresh` with each part that was not in the set before.
    pub fn insert(&mut self, start: i64, end: i64, mut fresh: impl FnMut(i64, i64)) {
        if start >= end {
            return;
        }
        // The usual cases: nothing new, or the highest range grows.
        if let Some(last) = self.ranges.last_mut()
            && last.0 <= start
            && start <= last.1
        {
            if end > last.1 {
                fresh(last.1, end);
                last.1 = end;
            }
            return;
        }
        let first = self.ranges.partition_point(|&(_, right)| right < start);
        let mut last = first;
        let (mut left, mut right) = (start, end);
        let mut cursor = start;
        while let Some(&(s, e)) = self.ranges.get(last) {
            if s > end {
                break;
            }
            if cursor < s {
                fresh(cursor, s.min(end));
            }
            cursor = cursor.max(e);
            left = left.min(s);
            right = right.max(e);
            last += 1;
        }
        if cursor < end {
            fresh(cursor, end);
        }
        self.ranges.splice(first..last, [(left, right)]);
    }

    /// Whether every byte of `[start, end)` is in the set.
    pub fn covers(&self, start: i64, end: i64) -> bool {
        let at = self.ranges.partition_point(|&(_, right)| right <= start);
        self.ranges.get(at).is_some_and(|&(s, e)| s <= start && end <= e)
    }

    /// Bytes of the set at or above `offset`.
    pub fn bytes_above(&self, offset: i64) -> i64 {
        self.ranges
            .iter()
            .rev()
            .take_while(|&&(_, e)| e > offset)
            .map(|&(s, e)| e - s.max(offset))
            .sum()
    }

    /// Forgets everything below `offset`.
    pub fn remove_below(&mut self, offset: i64) {
        let keep = self.ranges.partition_point(|&(_, right)| right <= offset);
        self.ranges.drain(..keep);
        if let Some(first) = self.ranges.first_mut() {
            first.0 = first.0.max(offset);
        }
    }

    /// Forgets the lowest ranges beyond the `most` highest.
    pub fn keep_highest(&mut self, most: usize) {
        self.ranges.drain(..self.ranges.len().saturating_sub(most));
    }

    /// How many ranges there are.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
}
