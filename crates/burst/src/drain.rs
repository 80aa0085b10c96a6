//! The rate of a link and what waits in front of it, as whole numbers.
//!
//! A link drains `numerator` units per nanosecond, and a byte is `denominator` units: for a given
//! rate the unit is 1/(8·10⁹) byte made as coarse as the rate allows, for the average of a window
//! of T nanoseconds it is 1/T byte. No rounding happens anywhere, so a result does not depend on
//! how the work was cut.

use trustbed_units::{Rate, Span};

use crate::BurstError;

/// 10 Tbit/s. The bound keeps every sum of products within 128 bits, whatever times and lengths a
/// file holds.
const LARGEST: Rate = Rate(10_000_000_000_000);
const UNITS_PER_BYTE: u64 = 8_000_000_000;

/// How fast a link sends: an exact fraction of a byte per nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Drain {
    numerator: u64,
    denominator: u64,
}

/// Bytes that wait, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Backlog {
    units: u128,
    per_byte: u64,
}

impl Drain {
    /// A link of a given rate.
    ///
    /// # Errors
    /// [`BurstError::ZeroRate`], and [`BurstError::RateTooHigh`] beyond 10 Tbit/s.
    pub fn at(rate: Rate) -> Result<Self, BurstError> {
        if rate.0 == 0 {
            return Err(BurstError::ZeroRate);
        }
        Self::at_most(rate)
    }

    /// Like [`Drain::at`], but a link that never sends is allowed: σ(0) is the sum of all lengths.
    pub(crate) fn at_most(rate: Rate) -> Result<Self, BurstError> {
        if rate > LARGEST {
            return Err(BurstError::RateTooHigh { rate, largest: LARGEST });
        }
        let divisor = greatest_common_divisor(rate.0, UNITS_PER_BYTE);
        Ok(Self { numerator: rate.0 / divisor, denominator: UNITS_PER_BYTE / divisor })
    }

    /// The average rate of a window in which `bytes` arrived. Not reduced: all windows of a length
    /// share one unit.
    pub(crate) fn average(bytes: u64, length: Span) -> Self {
        Self { numerator: bytes, denominator: length.0.unsigned_abs() }
    }

    /// The same rate in units of which `per_byte`, a multiple of the present number, make a byte.
    pub(crate) const fn in_units(self, per_byte: u64) -> Self {
        Self { numerator: self.numerator * (per_byte / self.denominator), denominator: per_byte }
    }

    /// Units drained in a nanosecond.
    pub(crate) const fn numerator(self) -> u64 {
        self.numerator
    }

    /// Units per byte.
    pub(crate) const fn denominator(self) -> u64 {
        self.denominator
    }

    /// What is left of `units` after `nanoseconds`.
    pub(crate) fn after(self, units: i128, nanoseconds: u64) -> i128 {
        (units - i128::from(self.numerator) * i128::from(nanoseconds)).max(0)
    }

    /// A backlog in units of this link.
    pub(crate) fn backlog(self, units: i128) -> Backlog {
        Backlog { units: units.unsigned_abs(), per_byte: self.denominator }
    }

    /// The rate in bits per second.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a rate for people; the arithmetic uses the fraction"
    )]
    pub fn bits_per_second(self) -> f64 {
        self.numerator as f64 / self.denominator as f64 * 8e9
    }
}

impl Backlog {
    /// Whole bytes.
    pub const fn of_bytes(bytes: u64) -> Self {
        Self { units: bytes as u128, per_byte: 1 }
    }

    /// In bytes, as the nearest number with a fraction.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the fraction is below 1, and whole bytes below 2⁵³ are kept as they are"
    )]
    pub fn bytes(self) -> f64 {
        let per_byte = u128::from(self.per_byte);
        (self.units / per_byte) as f64 + (self.units % per_byte) as f64 / self.per_byte as f64
    }

    /// How long a link needs to send it, in seconds. Infinite for a link that never sends.
    pub fn seconds_at(self, link: Drain) -> f64 {
        if self.units == 0 { 0.0 } else { self.bytes() * 8.0 / link.bits_per_second() }
    }

    /// Exactly, as a numerator and a denominator that need not be in lowest terms.
    pub const fn fraction(self) -> (u128, u64) {
        (self.units, self.per_byte)
    }

    /// Whether nothing waits.
    pub const fn is_zero(self) -> bool {
        self.units == 0
    }

    /// Another number of this backlog's units, in bytes.
    pub(crate) fn in_bytes(self, units: u128) -> f64 {
        Self { units, ..self }.bytes()
    }

    /// In units of a link with the same unit, or nearest above it: a backlog carried into a
    /// measurement must not shrink.
    pub(crate) fn units_of(self, link: Drain) -> i128 {
        let (units, per_byte) = (self.units, u128::from(self.per_byte));
        if self.per_byte == link.denominator {
            return units.cast_signed();
        }
        let denominator = u128::from(link.denominator);
        ((units / per_byte) * denominator + ((units % per_byte) * denominator).div_ceil(per_byte))
            .cast_signed()
    }
}

pub(crate) const fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
