//! Moments and durations in nanoseconds. Differences are signed: a negative delay is evidence, not
//! an error.

use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// A moment: nanoseconds since the Unix epoch, signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ns(pub i64);

/// A duration in nanoseconds, signed.
///
/// Read as `20ms`, `1.5s`, `40us`, `40µs`, `100ns`, `2min` or `1h`; a bare number is refused,
/// except 0. Written exactly, so that reading gives the same duration again; a precision rounds.
///
/// ```
/// use trustbed_units::Span;
/// assert_eq!("1.5s".parse(), Ok(Span::from_millis(1500)));
/// assert_eq!(Span(1_234_567).to_string(), "1.234567ms");
/// assert_eq!(format!("{:.1}", Span(1_234_567)), "1.2ms");
/// assert!("20".parse::<Span>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub i64);

impl Ns {
    /// The earliest moment that can be written down.
    pub const MIN: Self = Self(i64::MIN);
    /// The latest moment that can be written down.
    pub const MAX: Self = Self(i64::MAX);
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest duration.
    pub const MAX: Self = Self(i64::MAX);

    /// A duration of whole microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros * 1_000)
    }

    /// A duration of whole milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A duration of whole seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// The duration in seconds.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits of nanoseconds are 104 days; beyond, the loss is below a part in 10¹⁵"
    )]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The duration in nanoseconds, as a float.
    #[expect(clippy::cast_precision_loss, reason = "as in `as_secs_f64`")]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

// Arithmetic saturates: timestamps come from files, and a file can hold any 64-bit value.

impl Sub for Ns {
    type Output = Span;
    #[inline]
    fn sub(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Ns {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Ns {
    type Output = Self;
    #[inline]
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Span {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}
