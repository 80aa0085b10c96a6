//! When the bits of a packet are sent: at a constant rate, at one that changes in steps, in the
//! opportunities of a trace, or at once.
//!
//! At a constant rate the moment at which the sender becomes free is kept as an exact fraction, so
//! that the departures of a busy link do not drift, however long it is busy. A reported time is
//! rounded up: nothing is scheduled to leave before its last bit is sent.

use trustbed_units::{Ns, Rate, Span};

use crate::rate_steps::SteppedRate;
use crate::trace::Trace;
use crate::{EmulateError, LinkDescription};

/// 10 Tbit/s. The bound keeps every product within its width, whatever the lengths.
const LARGEST: Rate = Rate(10_000_000_000_000);
pub(crate) const UNITS_PER_BYTE: u64 = 8_000_000_000;

/// Sends packets one after another.
#[derive(Debug, Clone)]
pub(crate) enum Transmitter {
    Unlimited,
    Constant(ConstantRate),
    Stepped(SteppedRate),
    Trace(Trace),
}

/// When a packet is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    /// When its own transmission begins, rounded down.
    pub(crate) start: Ns,
    /// When its last bit has left, rounded up.
    pub(crate) end: Ns,
    /// How long it occupies the link.
    pub(crate) time: Span,
}

/// A rate as an exact fraction of a byte per nanosecond: `numerator` units pass per nanosecond, a
/// byte is `denominator` units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fraction {
    pub(crate) numerator: u64,
    pub(crate) denominator: u64,
}

/// Bits that leave one after another, always as fast.
#[derive(Debug, Clone)]
pub(crate) struct ConstantRate {
    rate: Fraction,
    /// Busy until `free` + `fraction`/`numerator` ns, where `fraction` < `numerator`.
    free: i64,
    fraction: u64,
}

impl Transmitter {
    pub(crate) fn new(link: &LinkDescription, location: &str) -> Result<Self, EmulateError> {
        let both = |first, second| {
            Err(EmulateError::Both { location: location.to_owned(), first, second })
        };
        match (link.rate_bits_per_second, &link.rate_steps[..], &link.rate_trace) {
            (None, [], None) => Ok(Self::Unlimited),
            (Some(rate), [], None) => ConstantRate::new(Rate(rate), location).map(Self::Constant),
            (None, [], Some(trace)) => Trace::new(trace, location).map(Self::Trace),
            (None, steps, None) => SteppedRate::new(steps, location).map(Self::Stepped),
            (Some(_), [], Some(_)) => both("rate_bits_per_second", "rate_trace"),
            (Some(_), ..) => both("rate_bits_per_second", "rate_steps"),
            (None, _, Some(_)) => both("rate_steps", "rate_trace"),
        }
    }

    /// The times of steps are counted from `origin`; `own` gives what the sender's clock shows
    /// then.
    pub(crate) fn begin_times(&mut self, origin: Ns, own: impl Fn(Ns) -> Ns) {
        if let Self::Stepped(stepped) = self {
            stepped.begin_times(origin, own);
        }
    }

    /// A trace begins here, unless it has begun.
    pub(crate) fn begin(&mut self, at: Ns) {
        if let Self::Trace(trace) = self {
            trace.begin(at);
        }
    }

    /// When the transmission of a packet that is there since `ready` could begin, rounded up.
    pub(crate) fn start(&self, ready: Ns) -> Ns {
        match self {
            Self::Unlimited => ready,
            Self::Constant(rate) => rate.start(ready),
            Self::Stepped(rate) => rate.start(ready),
            Self::Trace(trace) => trace.start(ready),
        }
    }

    /// Sends a packet that is there since `ready` behind all before it.
    #[inline]
    pub(crate) fn send(&mut self, ready: Ns, length: u32) -> Sent {
        match self {
            Self::Unlimited => Sent { start: ready, end: ready, time: Span::ZERO },
            Self::Constant(rate) => rate.send(ready, length),
            Self::Stepped(rate) => rate.send(ready, length),
            Self::Trace(trace) => trace.send(ready, length),
        }
    }

    /// What a backlog is counted in: so many units make a byte.
    pub(crate) const fn per_byte(&self) -> u64 {
        match self {
            Self::Constant(constant) => constant.rate.denominator,
            Self::Stepped(rate) => rate.per_byte(),
            Self::Unlimited | Self::Trace(_) => 1,
        }
    }

    /// What of everything sent so far has not left at `now`, in units. Unknown for a trace: there a
    /// packet counts as a whole.
    #[inline]
    pub(crate) fn unsent(&self, now: Ns) -> Option<u128> {
        match self {
            Self::Unlimited => Some(0),
            Self::Constant(rate) => Some(rate.unsent(now)),
            Self::Stepped(rate) => Some(rate.unsent(now)),
            Self::Trace(_) => None,
        }
    }

    /// How long so many bytes take in the mean, in nanoseconds.
    pub(crate) fn mean_time(&self, bytes: u32) -> f64 {
        match self {
            Self::Unlimited => 0.0,
            Self::Constant(constant) => constant.rate.mean_time(bytes),
            Self::Stepped(rate) => rate.mean_time(bytes),
            Self::Trace(trace) => f64::from(bytes) * trace.mean_time_of_byte(),
        }
    }
}

impl Fraction {
    /// A rate in lowest terms; `location` names pipe and key in errors.
    pub(crate) fn of(rate: Rate, location: impl Fn() -> String) -> Result<Self, EmulateError> {
        if rate.0 == 0 {
            return Err(EmulateError::ZeroRate { location: location() });
        }
        if rate > LARGEST {
            return Err(EmulateError::RateTooHigh { location: location(), rate, largest: LARGEST });
        }
        let divisor = greatest_common_divisor(rate.0, UNITS_PER_BYTE);
        Ok(Self { numerator: rate.0 / divisor, denominator: UNITS_PER_BYTE / divisor })
    }

    /// How long so many bytes take in the mean, in nanoseconds.
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub(crate) fn mean_time(self, bytes: u32) -> f64 {
        f64::from(bytes) * self.denominator as f64 / self.numerator as f64
    }
}

impl ConstantRate {
    fn new(rate: Rate, location: &str) -> Result<Self, EmulateError> {
        let rate = Fraction::of(rate, || format!("{location}: rate_bits_per_second"))?;
        Ok(Self { rate, free: i64::MIN, fraction: 0 })
    }

    fn start(&self, ready: Ns) -> Ns {
        Ns(ready.0.max(self.free.saturating_add(i64::from(self.fraction > 0))))
    }

    #[inline]
    fn send(&mut self, ready: Ns, length: u32) -> Sent {
        if ready.0 > self.free {
            self.free = ready.0;
            self.fraction = 0;
        }
        let start = self.free;
        let Fraction { numerator, denominator } = self.rate;
        let units = u128::from(length) * u128::from(denominator) + u128::from(self.fraction);
        let nanoseconds = if let Ok(units) = u64::try_from(units) {
            self.fraction = units % numerator;
            units / numerator
        } else {
            let numerator = u128::from(numerator);
            self.fraction = low_bits(units % numerator);
            low_bits(units / numerator)
        };
        self.free = self.free.saturating_add_unsigned(nanoseconds);
        let end = self.free.saturating_add(i64::from(self.fraction > 0));
        Sent {
            start: Ns(start),
            end: Ns(end),
            time: Span(i64::try_from(nanoseconds).unwrap_or(i64::MAX)),
        }
    }

    #[inline]
    fn unsent(&self, now: Ns) -> u128 {
        if now.0 > self.free {
            return 0;
        }
        u128::from(self.free.abs_diff(now.0)) * u128::from(self.rate.numerator)
            + u128::from(self.fraction)
    }
}

/// The number, or the largest there is.
#[expect(
    clippy::cast_possible_truncation,
    reason = "what does not fit is caught; only packets of gigabytes at 1 bit/s do not"
)]
const fn low_bits(wide: u128) -> u64 {
    if wide > u64::MAX as u128 { u64::MAX } else { wide as u64 }
}

pub(crate) const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
