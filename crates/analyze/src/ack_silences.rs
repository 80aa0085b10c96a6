//! Silences of a receiver: longer than the round trip although data were outstanding, after which
//! all of them were acknowledged at once.
//!
//! A link delivers what waits before it at its own rate, so after other traffic's burst the backlog
//! is acknowledged gradually; a receiver that did not run acknowledges it in one instant. Only
//! silences outside loss recovery count, in which the capture missed none of the data, with at
//! least four segments outstanding, since fewer may wait for a timer (RFC 1122).
//!
//! Bias: silences shorter than a quarter above the base round trip behind the capture, and 10 ms,
//! are not seen. A link that pauses and keeps its packets looks the same where it is fast.

use trustbed_units::Ns;

/// Silences are longer than this share of the base round trip, in quarters …
const QUARTERS: i64 = 5;
/// … and this long beyond.
const BEYOND: i64 = 10_000_000;
/// Segments outstanding.
const SEGMENTS: i64 = 4;
/// All are acknowledged within this part of the silence …
const AT_ONCE: i64 = 4;
/// … or within this time.
const SOON: i64 = 3_000_000;

/// Silences of a receiver.
#[derive(Debug, Clone, Default)]
pub struct AckSilences {
    since: Option<Ns>,
    pending: Option<(Ns, i64, i64)>,
    /// How often.
    pub count: u32,
    /// Their sum in nanoseconds.
    pub time: i64,
}

/// What the sender has outstanding when an acknowledgement comes.
#[derive(Debug, Clone, Copy)]
pub struct Outstanding {
    /// Everything below was acknowledged before.
    pub before: i64,
    /// Everything below is acknowledged now.
    pub una: i64,
    /// Everything below was sent.
    pub high: i64,
    /// The largest segment.
    pub mss: u32,
}

impl AckSilences {
    /// Data passed: an acknowledgement is due.
    #[inline]
    pub fn on_data(&mut self, now: Ns) {
        self.since.get_or_insert(now);
    }

    /// An acknowledgement passed; `base` is the smallest round trip behind the capture. A loss that
    /// is being repaired, and packets that the capture missed, make a silence `uncertain`.
    #[inline]
    pub fn on_ack(
        &mut self,
        now: Ns,
        outstanding: &Outstanding,
        base: Option<i64>,
        uncertain: bool,
    ) {
        if uncertain {
            (self.since, self.pending) = (None, None);
            return;
        }
        if outstanding.una > outstanding.before
            && let Some(since) = self.since
            && let Some(base) = base
            && (now - since).0 > base / 4 * QUARTERS + BEYOND
            && outstanding.high - outstanding.before >= SEGMENTS * i64::from(outstanding.mss)
        {
            self.pending = Some((now, (now - since).0, outstanding.high));
        }
        // Whoever repeats an acknowledgement is awake, too.
        self.since = None;
        if let Some((end, silence, high)) = self.pending {
            let late = (now - end).0;
            if late > SOON && late * AT_ONCE > silence {
                self.pending = None;
            } else if outstanding.una >= high {
                self.count += 1;
                self.time += silence;
                self.pending = None;
            }
        }
    }

    /// The clock stepped.
    pub fn on_clock_step(&mut self) {
        (self.since, self.pending) = (None, None);
    }
}
