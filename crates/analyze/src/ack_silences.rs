//! Silences of a receiver: longer than the round trip although data were outstanding, after which
//! all of them were acknowledged at once.
//!
//! A link delivers what waits before it at its own rate, so after other traffic's burst the backlog
//! is acknowledged gradually; a receiver that did not run acknowledges it in one instant. Only
//! silences outside loss recovery count, in which the capture missed none of the data, with at
//! least four segments outstanding, since fewer may wait for a timer (RFC 1122).
//!
//! Where the receiver stamps its packets, its own clock tells whether it sent nothing for as long,
//! or what ended the silence was held on its way. It may have sent nothing because data that the
//! capture had seen reached it late, as those of a guest that stops do.
//!
//! Bias: silences shorter than a quarter above the base round trip behind the capture, and 10 ms,
//! are not seen. A link that pauses and keeps its packets looks the same where it is fast.

use trustbed_units::{Ns, Span};

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
    pending: Option<Pending>,
    last: Option<(u32, Ns)>,
    /// How often.
    pub count: u32,
    /// Their sum in nanoseconds.
    pub time: i64,
    /// How often the receiver sent nothing for as long, by its own clock.
    pub own: u32,
}

/// A silence after which everything is still to be acknowledged.
#[derive(Debug, Clone, Copy)]
struct Pending {
    end: Ns,
    silence: i64,
    high: i64,
    own: bool,
}

/// The clock of a packet of the receiver.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    /// Its `TSval`.
    pub tsval: u32,
    /// Nanoseconds per tick, where that is known.
    pub tick: Option<f64>,
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
    /// is being repaired, and packets that the capture missed, make a silence `uncertain`. `stamp`
    /// is the receiver's own time.
    #[inline]
    pub fn on_ack(
        &mut self,
        now: Ns,
        outstanding: &Outstanding,
        base: Option<i64>,
        uncertain: bool,
        stamp: Option<Stamp>,
    ) {
        let last = std::mem::replace(&mut self.last, stamp.map(|stamp| (stamp.tsval, now)));
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
            let silence = (now - since).0;
            let held = stamp.zip(last).and_then(|(stamp, last)| held(now, stamp, last));
            let own = held.is_some_and(|held| held * 2.0 < Span(silence - base).as_f64());
            self.pending = Some(Pending { end: now, silence, high: outstanding.high, own });
        }
        // Whoever repeats an acknowledgement is awake, too.
        self.since = None;
        if let Some(pending) = self.pending {
            let late = (now - pending.end).0;
            if late > SOON && late * AT_ONCE > pending.silence {
                self.pending = None;
            } else if outstanding.una >= pending.high {
                self.count += 1;
                self.time += pending.silence;
                self.own += u32::from(pending.own);
                self.pending = None;
            }
        }
    }

    /// The clock stepped.
    pub fn on_clock_step(&mut self) {
        (self.since, self.pending, self.last) = (None, None, None);
    }
}

/// Nanoseconds that a packet took longer than the one before it, by the receiver's clock.
fn held(now: Ns, stamp: Stamp, (tsval, then): (u32, Ns)) -> Option<f64> {
    let ticks = stamp.tsval.wrapping_sub(tsval).cast_signed();
    stamp.tick.map(|tick| (now - then).as_f64() - f64::from(ticks) * tick)
}
