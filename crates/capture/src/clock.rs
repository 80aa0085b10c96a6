//! From the numbers in a file to nanoseconds since the epoch.
//!
//! pcapng lets every interface choose its unit (a negative power of 10 or of 2) and an offset in
//! seconds. Finer units than a nanosecond are cut off, never rounded up: two stamps can become
//! equal, their order never changes.

use trustbed_units::{Ns, Span};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The unit in which an interface counts time, as the option `if_tsresol` codes it (pcapng, section
/// 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// 10⁻ⁿ seconds.
    Decimal(u8),
    /// 2⁻ⁿ seconds.
    Binary(u8),
}

impl Resolution {
    /// What holds when a file states nothing.
    pub(crate) const MICROSECONDS: Self = Self::Decimal(6);

    pub(crate) const fn from_option(value: u8) -> Self {
        if value & 0x80 == 0 { Self::Decimal(value) } else { Self::Binary(value & 0x7f) }
    }

    /// The unit in whole nanoseconds, rounded up.
    pub(crate) fn span(self) -> Span {
        let nanos = match self {
            Self::Decimal(digits) => 10_u64
                .checked_pow(u32::from(digits))
                .map_or(1, |units| NANOS_PER_SECOND.div_ceil(units)),
            Self::Binary(bits) => 1_u64
                .checked_shl(u32::from(bits))
                .map_or(1, |units| NANOS_PER_SECOND.div_ceil(units)),
        };
        Span(nanos.cast_signed())
    }
}

/// The clock of one interface: turns its 64-bit counts into moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Nanoseconds per count, for the units that are whole nanoseconds.
    multiplier: u64,
    /// The largest count for which one multiplication and one addition are right; 0 leaves
    /// everything to `slow`.
    limit: u64,
    offset: i64,
    resolution: Resolution,
}

impl Clock {
    /// A clock with a unit and an offset in seconds (`if_tsoffset`).
    pub(crate) fn new(resolution: Resolution, offset_seconds: i64) -> Self {
        let offset = offset_seconds.saturating_mul(NANOS_PER_SECOND.cast_signed());
        let multiplier = match resolution {
            Resolution::Decimal(digits @ 0..=9) => 10_u64.pow(9 - u32::from(digits)),
            _ => 0,
        };
        let room = i64::MAX - offset.max(0);
        let limit = room.cast_unsigned().checked_div(multiplier).unwrap_or(0);
        Self { multiplier, limit, offset, resolution }
    }

    pub(crate) const fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// The moment of a count.
    #[inline]
    pub(crate) fn at(&self, count: u64) -> Ns {
        if count <= self.limit {
            Ns((count * self.multiplier).cast_signed() + self.offset)
        } else {
            self.slow(count)
        }
    }

    /// The same by 128-bit arithmetic: for units that are no whole nanoseconds and for counts
    /// beyond the year 2262, which saturate.
    pub(crate) fn slow(&self, count: u64) -> Ns {
        let nanos: u128 = match self.resolution {
            Resolution::Decimal(digits) if digits <= 9 => {
                u128::from(count) * 10_u128.pow(9 - u32::from(digits))
            }
            Resolution::Decimal(digits) => 10_u64
                .checked_pow(u32::from(digits) - 9)
                .map_or(0, |divisor| u128::from(count / divisor)),
            Resolution::Binary(bits) => (u128::from(count) * u128::from(NANOS_PER_SECOND)) >> bits,
        };
        let nanos =
            i128::try_from(nanos).unwrap_or(i128::MAX).saturating_add(i128::from(self.offset));
        Ns(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_units() {
        let count = 1_700_000_000_123_456;
        assert_eq!(Clock::new(Resolution::Decimal(6), 0).at(count), Ns(1_700_000_000_123_456_000));
        assert_eq!(
            Clock::new(Resolution::Decimal(9), 0).at(1_700_000_000_123_456_789),
            Ns(1_700_000_000_123_456_789)
        );
        assert_eq!(Clock::new(Resolution::Decimal(0), 0).at(7), Ns(7_000_000_000));
        assert_eq!(Clock::new(Resolution::Decimal(12), 0).at(1_999), Ns(1));
        assert_eq!(Clock::new(Resolution::Binary(20), 0).at(1 << 20), Ns(1_000_000_000));
        assert_eq!(Clock::new(Resolution::Binary(20), 0).at(3 << 19), Ns(1_500_000_000));
    }

    #[test]
    fn offsets() {
        assert_eq!(Clock::new(Resolution::Decimal(6), 100).at(5), Ns(100_000_005_000));
        assert_eq!(Clock::new(Resolution::Decimal(6), -1).at(5), Ns(-999_995_000));
        assert_eq!(Clock::new(Resolution::Decimal(6), i64::MAX).at(5), Ns::MAX);
        assert_eq!(Clock::new(Resolution::Decimal(6), 0).at(u64::MAX), Ns::MAX);
    }

    #[test]
    fn declared_units() {
        assert_eq!(Resolution::from_option(6).span(), Span(1_000));
        assert_eq!(Resolution::from_option(0x94).span(), Span(954));
        assert_eq!(Resolution::from_option(0xe4).span(), Span(1));
        assert_eq!(Resolution::from_option(0).span(), Span(1_000_000_000));
        assert_eq!(Resolution::from_option(127).span(), Span(1));
    }

    proptest! {
        #[test]
        fn fast_equals_slow(
            code in 0_u8..=255,
            offset in any::<i64>(),
            count in any::<u64>(),
            shift in 0_u32..64,
        ) {
            let clock = Clock::new(Resolution::from_option(code), offset);
            prop_assert_eq!(clock.at(count >> shift), clock.slow(count >> shift));
        }

        #[test]
        fn order_is_kept(code in 0_u8..=255, a in any::<u64>(), b in any::<u64>()) {
            let clock = Clock::new(Resolution::from_option(code), 0);
            prop_assert!(clock.at(a.min(b)) <= clock.at(a.max(b)));
        }
    }
}
