//! The packets of one direction of a capture: when they passed and how long they were.
//!
//! Time zero is the first packet, or what [`Recording::begin`] set. A packet that was recorded with
//! an earlier time than the one before it is moved to that one's and counted, so that the order
//! stays as it was captured; what is not IP is counted and left out.

use trustbed_units::{Ns, Rate, Span};

/// Columns of a recording, in the order in which they were captured.
///
/// ```
/// use trustbed_traffic::Recording;
/// use trustbed_units::{Ns, Span};
/// let frames = [
///     (Ns(5_000), Some(1500)),
///     (Ns(6_000), None),
///     (Ns(9_000), Some(40)),
///     (Ns(8_000), Some(40)),
/// ];
/// let recording: Recording = frames.into_iter().collect();
/// assert_eq!((recording.packets(), recording.skipped(), recording.steps_back()), (3, 1, 1));
/// assert_eq!(recording.duration(), Span(4_000));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    origin: Option<Ns>,
    times: Vec<Span>,
    lengths: Vec<u32>,
    bytes: u64,
    skipped: u64,
    steps_back: u64,
}

impl Recording {
    /// Sets time zero, where it is not that of the first packet.
    pub fn begin(&mut self, origin: Ns) {
        self.origin.get_or_insert(origin);
    }

    /// Takes the next frame: when it passed, and its IP length; no length if it is not IP.
    pub fn push(&mut self, time: Ns, length: Option<u32>) {
        let Some(length) = length else {
            self.skipped += 1;
            return;
        };
        let origin = *self.origin.get_or_insert(time);
        let latest = self.duration();
        let after_first = time - origin;
        self.steps_back += u64::from(after_first < latest);
        self.times.push(after_first.max(latest));
        self.lengths.push(length);
        self.bytes += u64::from(length);
    }

    /// How many packets there are to play.
    pub fn packets(&self) -> usize {
        self.times.len()
    }

    /// The sum of their IP lengths.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// From time zero to the last of them.
    pub fn duration(&self) -> Span {
        self.times.last().copied().unwrap_or(Span::ZERO)
    }

    /// Their rate, counted in IP lengths; nothing when they all came at once.
    pub fn mean_rate(&self) -> Option<Rate> {
        let nanoseconds =
            u128::try_from(self.duration().0).ok().filter(|&nanoseconds| nanoseconds > 0)?;
        u64::try_from(u128::from(self.bytes) * 8_000_000_000 / nanoseconds).ok().map(Rate)
    }

    /// Frames that were not IP.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Packets that were moved forward because they came out of order.
    pub const fn steps_back(&self) -> u64 {
        self.steps_back
    }

    /// A packet: when it passed after the first one, and its IP length.
    pub(crate) fn packet(&self, number: usize) -> Option<(Span, u32)> {
        Some((*self.times.get(number)?, *self.lengths.get(number)?))
    }
}

impl FromIterator<(Ns, Option<u32>)> for Recording {
    fn from_iter<I: IntoIterator<Item = (Ns, Option<u32>)>>(frames: I) -> Self {
        let mut recording = Self::default();
        frames.into_iter().for_each(|(time, length)| recording.push(time, length));
        recording
    }
}
