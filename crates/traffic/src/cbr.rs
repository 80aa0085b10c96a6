//! Constant bit rate: packet k of L bytes is due at ⌊k · 8L · 10⁹ / R⌋ ns, exactly, however large k
//! becomes.

use trustbed_units::{Rate, Span};

use crate::headers::{check_length, check_rate};
use crate::{Departure, Headers, TrafficError};

const NANOSECONDS: u128 = 1_000_000_000;

/// Packets of one length at equal distances.
///
/// ```
/// use trustbed_traffic::{Cbr, Headers, IpVersion, Transport};
/// use trustbed_units::Rate;
/// let cbr = Cbr::new(Rate(3_300_000), 1500, Headers::of(IpVersion::V4, Transport::Udp))?;
/// let due: Vec<i64> = cbr.take(4).map(|departure| departure.due.0).collect();
/// assert_eq!(due, [0, 3_636_363, 7_272_727, 10_909_090]);
/// # Ok::<(), trustbed_traffic::TrafficError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cbr {
    rate: u64,
    /// What a packet takes at the rate, times the rate: 8L · 10⁹.
    step: u128,
    /// The same as whole nanoseconds and what is left of `rate`.
    whole: i64,
    left: u64,
    due: Option<Span>,
    /// What the due time is later than its floor, in units of 1/`rate` ns.
    remainder: u64,
    phase: Span,
    length: u32,
    payload: u32,
}

impl Cbr {
    /// A source whose first packet is due at the start.
    ///
    /// # Errors
    /// [`TrafficError::ZeroRate`], [`TrafficError::RateTooHigh`], [`TrafficError::PacketTooSmall`],
    /// [`TrafficError::PacketTooLarge`].
    pub fn new(rate: Rate, length: u32, headers: Headers) -> Result<Self, TrafficError> {
        check_rate(rate)?;
        check_length("packet_bytes", length, headers)?;
        let step = u128::from(length) * 8 * NANOSECONDS;
        let (whole, left) = (step / u128::from(rate.0), step % u128::from(rate.0));
        Ok(Self {
            rate: rate.0,
            step,
            whole: i64::try_from(whole).unwrap_or(i64::MAX),
            left: u64::try_from(left).unwrap_or(0),
            due: Some(Span::ZERO),
            remainder: 0,
            phase: Span::ZERO,
            length,
            payload: headers.payload(length),
        })
    }

    /// The same source, all of whose packets are due later.
    #[must_use]
    pub const fn with_phase(mut self, phase: Span) -> Self {
        self.phase = phase;
        self
    }

    /// The time from packet to packet, in nanoseconds rounded up: phases lie below.
    pub fn period(&self) -> u64 {
        u64::try_from(self.step.div_ceil(u128::from(self.rate))).unwrap_or(u64::MAX)
    }

    /// When packet `number` (from 0) is due: the formula itself, which the iterator follows without
    /// dividing. Nothing beyond 292 years.
    pub fn due(&self, number: u64) -> Option<Span> {
        let after_first = u128::from(number).checked_mul(self.step)? / u128::from(self.rate);
        i64::try_from(after_first).ok()?.checked_add(self.phase.0).map(Span)
    }
}

impl Iterator for Cbr {
    type Item = Departure;

    #[inline]
    fn next(&mut self) -> Option<Departure> {
        let before_phase = self.due?;
        let (carry, remainder) = match self.remainder.checked_sub(self.rate - self.left) {
            Some(remainder) => (1, remainder),
            None => (0, self.remainder + self.left),
        };
        self.remainder = remainder;
        self.due =
            before_phase.0.checked_add(self.whole).and_then(|due| due.checked_add(carry)).map(Span);
        let due = Span(before_phase.0.checked_add(self.phase.0)?);
        Some(Departure { due, length: self.length, payload: self.payload })
    }
}
