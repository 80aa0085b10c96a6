//! The columns that everything here is measured on: when packets arrive and how long they are, in
//! order of time.
//!
//! Equal times are legal (frames captured in one interrupt), and so are lengths of 0. Times that
//! run backwards are not: the capture reader makes the order. What is still out of order when it
//! gets here is moved forward to the latest time seen and counted, so that no time is drained
//! twice; a burst can then look denser than it was, never sparser.

use std::ops::Range;

use crate::BurstError;
use trustbed_units::Ns;

/// Packets in order of time, as two columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arrivals {
    times: Vec<i64>,
    lengths: Vec<u32>,
    /// The latest time that was pushed, cleared columns included.
    latest: Option<i64>,
    steps_back: u64,
}

/// A look at packets in order of time; cheap to copy.
///
/// That the times never fall is checked when one is made and relied upon by every measure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Packets<'a> {
    times: &'a [i64],
    lengths: &'a [u32],
}

impl Arrivals {
    /// No packets yet.
    pub const fn new() -> Self {
        Self { times: Vec::new(), lengths: Vec::new(), latest: None, steps_back: 0 }
    }

    /// No packets yet, room for so many.
    pub fn with_capacity(packets: usize) -> Self {
        Self {
            times: Vec::with_capacity(packets),
            lengths: Vec::with_capacity(packets),
            latest: None,
            steps_back: 0,
        }
    }

    /// Appends a packet. A time before the latest one becomes the latest one, and is counted.
    #[inline]
    pub fn push(&mut self, time: Ns, length: u32) {
        let latest = self.latest.unwrap_or(i64::MIN);
        self.steps_back += u64::from(time.0 < latest);
        self.times.push(time.0.max(latest));
        self.latest = Some(time.0.max(latest));
        self.lengths.push(length);
    }

    /// Appends packets that follow the latest one.
    pub(crate) fn append(&mut self, packets: Packets<'_>) {
        self.times.extend_from_slice(packets.times);
        self.lengths.extend_from_slice(packets.lengths);
        self.latest = self.times.last().copied().or(self.latest);
    }

    /// Forgets the packets; keeps the room, the latest time and the count of steps back.
    pub fn clear(&mut self) {
        self.times.clear();
        self.lengths.clear();
    }

    /// How many packets came with a time before the latest one.
    pub const fn steps_back(&self) -> u64 {
        self.steps_back
    }

    /// All packets.
    pub fn packets(&self) -> Packets<'_> {
        Packets { times: &self.times, lengths: &self.lengths }
    }
}

impl<'a> Packets<'a> {
    /// Packets whose arrival times (nanoseconds since the Unix epoch) and lengths (bytes) stand in
    /// two columns.
    ///
    /// # Errors
    /// [`BurstError::UnequalColumns`], and [`BurstError::RunsBackwards`] for the first time that
    /// lies before its predecessor.
    ///
    /// ```
    /// use trustbed_burst::{BurstError, Packets};
    /// assert_eq!(Packets::new(&[0, 5, 5], &[100, 0, 1500])?.len(), 3);
    /// let backwards = Packets::new(&[0, 5, 4], &[1, 1, 1]);
    /// assert!(matches!(backwards, Err(BurstError::RunsBackwards { index: 2, .. })));
    /// # Ok::<(), BurstError>(())
    /// ```
    pub fn new(times: &'a [i64], lengths: &'a [u32]) -> Result<Self, BurstError> {
        if times.len() != lengths.len() {
            return Err(BurstError::UnequalColumns { times: times.len(), lengths: lengths.len() });
        }
        match times.windows(2).position(|pair| pair[1] < pair[0]) {
            None => Ok(Self { times, lengths }),
            Some(before) => {
                let (time, earlier) = (Ns(times[before + 1]), Ns(times[before]));
                Err(BurstError::RunsBackwards { index: before + 1, time, earlier })
            }
        }
    }

    /// As [`Packets::new`], for columns that are known to be in order.
    pub(crate) fn in_order(times: &'a [i64], lengths: &'a [u32]) -> Self {
        debug_assert!(
            times.is_sorted() && times.len() == lengths.len(),
            "columns in order of time"
        );
        Self { times, lengths }
    }

    /// How many packets.
    pub const fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// When they arrive, in nanoseconds since the Unix epoch; never falling.
    pub const fn times(&self) -> &'a [i64] {
        self.times
    }

    /// How long they are, in bytes.
    pub const fn lengths(&self) -> &'a [u32] {
        self.lengths
    }

    /// When the first one arrives.
    pub fn first(&self) -> Option<Ns> {
        self.times.first().copied().map(Ns)
    }

    /// When the last one arrives.
    pub fn last(&self) -> Option<Ns> {
        self.times.last().copied().map(Ns)
    }

    /// The sum of their lengths, in bytes.
    pub fn bytes(&self) -> u64 {
        self.lengths.iter().map(|&length| u64::from(length)).sum()
    }

    /// Some of them.
    ///
    /// # Panics
    /// When the range reaches beyond the packets.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        Self { times: &self.times[range.clone()], lengths: &self.lengths[range] }
    }

    /// The first `count` of them, and the others.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn split_at(&self, count: usize) -> (Self, Self) {
        (self.slice(0..count), self.slice(count..self.len()))
    }

    /// Stretches of at most `count` packets, in order.
    ///
    /// # Panics
    /// When `count` is 0.
    pub fn chunks(&self, count: usize) -> impl Iterator<Item = Self> + 'a {
        self.times
            .chunks(count)
            .zip(self.lengths.chunks(count))
            .map(|(times, lengths)| Self { times, lengths })
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = (Ns, u32)> + 'a {
        self.times.iter().map(|&time| Ns(time)).zip(self.lengths.iter().copied())
    }
}
