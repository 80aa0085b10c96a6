//! Frames in the order of their times: a stable reorder buffer of 10 ms, and what the clock was
//! like.
//!
//! A frame that is stamped more than 10 ms before the latest one is not sorted in: the clock has
//! stepped back. Time then goes on from where it was, every later stamp shifted by the step, so
//! that the gaps between frames stay what they were; a capture is then longer than its timestamps.
//! When the clock jumps forward again by as much (a single late frame, a clock that was set back
//! and forth) the shift ends. What happened between the two stamps at a step is not known: the gap
//! is taken as 0, so a burst can look denser there, never sparser.
//!
//! Frames of a super-packet that are spread in time may be ahead of others or behind them by any
//! length; they are sorted in as far as the buffer reaches, and otherwise moved forward to where it
//! begins.

use trustbed_units::{Ns, Span};

/// Frames handed on at once, at least.
const BLOCK: usize = 16 * 1024;
/// Frames held at most: more arrive within 10 ms only when a capture has no times. 64 MiB.
const MOST_HELD: usize = 1 << 22;
/// The coarsest timestamp granularity that is detected.
const COARSEST: i64 = 1_000_000_000;
/// Frames whose timestamps are all checked for granularity; later, every sixteenth is.
const CHECKED: u64 = 4096;
/// Two frames closer than this arrived as one bunch: a 64-byte frame at 10 Gbit/s takes 67 ns.
const BUNCH: i64 = 60;

/// What the timestamps of a capture are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderFacts {
    /// Frames seen.
    pub frames: u64,
    /// Earliest timestamp, as stamped.
    pub first: Ns,
    /// Latest timestamp, as stamped.
    pub last: Ns,
    /// Frames that came later than a younger one, by at most 10 ms.
    pub reordered: u64,
    /// How much later at most.
    pub reordered_most: Span,
    /// Steps back of more than 10 ms.
    pub steps_back: u64,
    /// The largest step back.
    pub step_back_most: Span,
    /// Which frame came with the first step back, counted from 1.
    pub step_back_frame: Option<u64>,
    /// The largest power of ten, in nanoseconds, that divides every timestamp.
    pub granularity: Span,
    /// Frames with the same timestamp as the one before.
    pub equal: u64,
    /// Frames nearer to the one before than a frame takes on a 10 Gbit/s link.
    pub bunched: u64,
}

/// The reorder buffer. For every frame [`Order::stamp`], then [`Order::push`] for what it counts as
/// (nothing, itself, or several frames); [`Order::flush`] now and then, and [`Order::finish`] at
/// the end, hand on what can no longer be overtaken.
///
/// ```
/// use trustbed_burst::Order;
/// use trustbed_units::Ns;
/// let mut order = Order::new();
/// for (time, length) in [(5, 100), (3, 200), (7, 300)] {
///     let at = order.stamp(Ns(time));
///     order.push(at, length, 0);
/// }
/// let mut seen = Vec::new();
/// order.finish(|times, lengths, _marks| {
///     seen.extend(times.iter().copied().zip(lengths.iter().copied()));
/// });
/// assert_eq!(seen, [(3, 200), (5, 100), (7, 300)]);
/// assert_eq!(order.facts().reordered, 1);
/// ```
#[derive(Debug, Clone)]
pub struct Order {
    times: Vec<i64>,
    lengths: Vec<u32>,
    marks: Vec<u64>,
    /// Whether what is held is in order.
    sorted: bool,
    /// The time of the last frame that was pushed.
    pushed: i64,
    /// The latest stamp, shifted.
    newest: i64,
    /// The last stamp, as it was.
    previous: i64,
    /// What is added to stamps since the clock stepped back.
    shift: i64,
    /// Nothing is handed on any more that is earlier.
    handed_on: i64,
    /// When to look again whether something can be handed on.
    look_at: usize,
    facts: OrderFacts,
}

impl Default for Order {
    fn default() -> Self {
        Self::new()
    }
}

impl Order {
    /// How far back a frame may be sorted.
    pub const REACH: Span = Span::from_millis(10);

    /// Nothing seen yet.
    pub const fn new() -> Self {
        let facts = OrderFacts {
            frames: 0,
            first: Ns::MAX,
            last: Ns::MIN,
            reordered: 0,
            reordered_most: Span::ZERO,
            steps_back: 0,
            step_back_most: Span::ZERO,
            step_back_frame: None,
            granularity: Span(COARSEST),
            equal: 0,
            bunched: 0,
        };
        Self {
            times: Vec::new(),
            lengths: Vec::new(),
            marks: Vec::new(),
            sorted: true,
            pushed: i64::MIN,
            newest: i64::MIN,
            previous: i64::MIN,
            shift: 0,
            handed_on: i64::MIN,
            look_at: 2 * BLOCK,
            facts,
        }
    }

    /// The next frame of the capture was stamped so. Returns its time without the clock's steps.
    #[inline]
    pub fn stamp(&mut self, ts: Ns) -> Ns {
        let facts = &mut self.facts;
        let gap = ts.0.wrapping_sub(self.previous);
        facts.equal += u64::from(gap == 0);
        facts.bunched += u64::from((0..=BUNCH).contains(&gap));
        facts.first = facts.first.min(ts);
        facts.last = facts.last.max(ts);
        if (facts.frames < CHECKED || facts.frames.is_multiple_of(16)) && facts.granularity.0 > 1 {
            while ts.0 % facts.granularity.0 != 0 {
                facts.granularity.0 /= 10;
            }
        }
        facts.frames += 1;
        let time = if ts.0 < self.previous || self.shift > 0 { self.unusual(ts) } else { ts.0 };
        self.previous = ts.0;
        self.newest = self.newest.max(time);
        Ns(time)
    }

    /// A stamp before the one in front of it, or any while the clock is behind.
    #[cold]
    fn unusual(&mut self, ts: Ns) -> i64 {
        if self.facts.frames == 1 {
            return ts.0;
        }
        if self.shift > 0 && ts.0.saturating_sub(self.previous) >= self.shift {
            self.shift = 0;
        }
        let time = ts.0.saturating_add(self.shift);
        let behind = Span(self.newest.saturating_sub(time));
        let facts = &mut self.facts;
        if behind > Self::REACH {
            facts.steps_back += 1;
            facts.step_back_most = facts.step_back_most.max(behind);
            facts.step_back_frame.get_or_insert(facts.frames);
            self.shift = self.shift.saturating_add(behind.0);
            return self.newest;
        }
        if behind > Span::ZERO {
            facts.reordered += 1;
            facts.reordered_most = facts.reordered_most.max(behind);
        }
        time
    }

    /// A frame of that time and length counts; the mark is handed on with it.
    #[inline]
    pub fn push(&mut self, time: Ns, length: u32, mark: u64) {
        let time = time.0.max(self.handed_on);
        self.sorted &= time >= self.pushed;
        self.pushed = time;
        self.times.push(time);
        self.lengths.push(length);
        self.marks.push(mark);
    }

    /// Hands on what can no longer be overtaken, when that is worth while: times, lengths and
    /// marks, in order of time.
    #[inline]
    pub fn flush(&mut self, take: impl FnMut(&[i64], &[u32], &[u64])) {
        if self.times.len() >= self.look_at {
            self.hand_on(false, take);
        }
    }

    /// Hands on everything that is left.
    pub fn finish(&mut self, take: impl FnMut(&[i64], &[u32], &[u64])) {
        self.hand_on(true, take);
    }

    /// What the timestamps were like.
    pub const fn facts(&self) -> OrderFacts {
        self.facts
    }

    #[cold]
    fn hand_on(&mut self, all: bool, mut take: impl FnMut(&[i64], &[u32], &[u64])) {
        self.sort();
        let settled = self.newest.saturating_sub(Self::REACH.0);
        let all = all || self.times.len() >= MOST_HELD;
        let count = if all {
            self.times.len()
        } else {
            self.times.partition_point(|time| *time <= settled)
        };
        if count >= BLOCK || all {
            for start in (0..count).step_by(BLOCK) {
                let end = count.min(start + BLOCK);
                take(&self.times[start..end], &self.lengths[start..end], &self.marks[start..end]);
            }
            self.handed_on = count.checked_sub(1).map_or(self.handed_on, |last| self.times[last]);
            self.times.drain(..count);
            self.lengths.drain(..count);
            self.marks.drain(..count);
        }
        self.look_at = self.times.len() + 2 * BLOCK;
    }

    /// Stable, so that frames of equal times stay as they came.
    fn sort(&mut self) {
        if std::mem::replace(&mut self.sorted, true) {
            return;
        }
        let mut order: Vec<usize> = (0..self.times.len()).collect();
        order.sort_by_key(|index| self.times[*index]);
        self.lengths = order.iter().map(|index| self.lengths[*index]).collect();
        self.marks = order.iter().map(|index| self.marks[*index]).collect();
        self.times.sort_unstable();
        self.pushed = self.times.last().copied().unwrap_or(self.pushed);
    }
}
