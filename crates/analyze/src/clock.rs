//! A host's clock as the timestamp option shows it (RFC 7323), against the capture's.
//!
//! How late a packet came to the capture follows from its stamp, once the length of a tick is
//! known: it is estimated from the first and the last stamp, and taken for the nearest one in use.
//!
//! Bias: a queue that grows stretches the estimate, so that a tick of 1 ms looks like one of 2 ms
//! in the first second; the smallest delay is forgotten when the tick turns out to be another.

use trustbed_units::{Ns, Span};

use crate::series::FAR;

/// A host's clock as its `TSval` shows it.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostClock {
    first: Option<(u32, Ns)>,
    last: Option<(u32, Ns)>,
    newest: Option<u32>,
    /// Ticks from the first packet to the last; a fine clock's stamps wrap within the hour.
    ticks: i64,
    /// Smallest time of the capture's clock beyond the host's since the first packet.
    least: f64,
    /// The tick by which that is.
    by: f64,
    packets: u32,
    tick: Option<f64>,
    /// The same where it is fine.
    fine: Option<f64>,
}

/// Capture time needed before a tick can be estimated.
const SPAN: Span = Span::from_millis(100);
/// Capture time after which an estimate holds for all but the deepest queues.
const SETTLED: Span = Span::from_millis(1000);
/// The tick is estimated with each of so many packets, and then with every so many.
const OFTEN: u32 = 256;
const EVERY: u32 = 16;
/// The coarsest tick by which a delay is measured, in nanoseconds.
const COARSEST: f64 = 4e6;
/// How far an estimate may be from a tick in use to be taken for it.
const NEAR: f64 = 0.35;
/// Ticks that real stacks use.
const TICKS: [f64; 5] = [1e3, 1e6, 2e6, 4e6, 10e6];

impl HostClock {
    /// A packet with `tsval` was seen.
    #[inline]
    pub fn on_packet(&mut self, tsval: u32, now: Ns) {
        self.first.get_or_insert((tsval, now));
        self.ticks = self.ticks_at(tsval);
        self.last = Some((tsval, now));
        if !self.is_older(tsval) {
            self.newest = Some(tsval);
        }
        self.packets = self.packets.wrapping_add(1);
        if self.packets < OFTEN || self.packets.is_multiple_of(EVERY) {
            self.tick = self.estimate();
            self.fine = self.tick.filter(|tick| *tick <= COARSEST && TICKS.contains(tick));
        }
    }

    /// How long data stamped `tsval` have been under way to the capture beyond the least, in
    /// nanoseconds, less one tick, since that is how exactly the stamp is known. 0 while the tick
    /// is unknown or too coarse.
    ///
    /// `echoed`: how long ago the acknowledgement passed the capture whose stamp they echo. They
    /// were stamped after it, so that the lag is no longer. A clock that runs slower than the
    /// capture's, a step of the capture's, or a paused machine would else be a queue for good.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "nanoseconds and ticks"
    )]
    pub fn lag(&mut self, tsval: u32, now: Ns, echoed: Option<Span>) -> i64 {
        let (Some((_, then)), Some(tick)) = (self.first, self.fine_tick()) else { return 0 };
        if tick.total_cmp(&self.by).is_ne() {
            (self.by, self.least) = (tick, 0.0);
        }
        let beyond = (now - then).as_f64() - self.ticks_at(tsval) as f64 * tick;
        let most = echoed.map_or(f64::INFINITY, Span::as_f64);
        self.least = self.least.min(beyond).max(beyond - tick - most);
        ((beyond - self.least - tick).max(0.0) as i64).min(FAR)
    }

    fn ticks_at(&self, tsval: u32) -> i64 {
        let since = self.last.map_or(0, |(last, _)| tsval.wrapping_sub(last).cast_signed());
        self.ticks + i64::from(since)
    }

    /// Nanoseconds per tick, where it is one in use and not coarse: a queue that grew stretches the
    /// estimate of any other.
    #[inline]
    pub fn fine_tick(&self) -> Option<f64> {
        self.fine
    }

    /// Whether a queue that grew no longer makes the tick look like another one.
    pub fn is_settled(&self) -> bool {
        self.first.zip(self.last).is_some_and(|((_, then), (_, now))| now - then >= SETTLED)
    }

    /// Nanoseconds per tick, snapped to the ticks in use when it is near one.
    #[inline]
    pub fn tick(&self) -> Option<f64> {
        self.tick
    }

    #[expect(clippy::cast_precision_loss, reason = "ticks of hours")]
    fn estimate(&self) -> Option<f64> {
        let ((_, then), (_, now)) = (self.first?, self.last?);
        let ticks = self.ticks as f64;
        let passed = now - then;
        if passed < SPAN || ticks < 8.0 {
            return None;
        }
        let tick = passed.as_f64() / ticks;
        Some(TICKS.into_iter().find(|t| (tick - t).abs() < NEAR * t).unwrap_or(tick))
    }

    /// Whether data stamped so were sent before data that came by already. A retransmission never
    /// was: it follows what it repairs.
    #[inline]
    pub fn is_older(&self, tsval: u32) -> bool {
        self.newest.is_some_and(|newest| newest.wrapping_sub(tsval).cast_signed() > 0)
    }

    /// `TSval` of the last data packet.
    pub fn last(&self) -> Option<(u32, Ns)> {
        self.last
    }
}

/// Whether the network, not the sender, explains a pause of `paused` between two data packets whose
/// `TSval` differ by `ticks`.
pub(crate) fn held_by_network(paused: Span, ticks: u32, tick: f64) -> bool {
    let own = f64::from(ticks) * tick;
    own + tick + 0.1 * paused.as_f64() < paused.as_f64()
}
