//! How wrong a timestamp may be, as its writer estimates: RFC 4656, section 4.1.2, with bit Z
//! of RFC 8186.

use trustbed_units::Span;

use super::TimeFormat;

const SYNCHRONIZED: u16 = 1 << 15;
const PTP: u16 = 1 << 14;
const SCALE: u16 = 0x3f;

/// The field as it is on the wire: S, Z, six bits of scale, eight of multiplier.
///
/// ```
/// use trustbed_probe::{ErrorEstimate, TimeFormat};
/// use trustbed_units::Span;
/// let estimate = ErrorEstimate::of(Span::from_micros(100), true, TimeFormat::Ntp);
/// assert_eq!((estimate.is_synchronized(), estimate.format()), (true, TimeFormat::Ntp));
/// assert!((100_000..101_000).contains(&estimate.error().unwrap().0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ErrorEstimate(pub u16);

impl ErrorEstimate {
    /// The smallest estimate that is not below an error; of a clock that is kept to UTC by
    /// something outside the host, or is not.
    pub fn of(error: Span, synchronized: bool, format: TimeFormat) -> Self {
        let mut steps =
            ((u128::from(error.0.max(0).unsigned_abs())) << 32).div_ceil(1_000_000_000).max(1);
        let mut scale: u16 = 0;
        while steps > 0xff {
            steps = steps.div_ceil(2);
            scale += 1;
        }
        let multiplier = u16::try_from(steps).unwrap_or(0xff);
        let bits = if synchronized { SYNCHRONIZED } else { 0 }
            | if format == TimeFormat::Ptp { PTP } else { 0 };
        Self(bits | (scale << 8) | multiplier)
    }

    /// Bit S: the clock is kept to UTC by a source outside the host.
    pub const fn is_synchronized(self) -> bool {
        self.0 & SYNCHRONIZED != 0
    }

    /// Bit Z: the format of the timestamps of the estimate's writer.
    pub const fn format(self) -> TimeFormat {
        if self.0 & PTP == 0 { TimeFormat::Ntp } else { TimeFormat::Ptp }
    }

    /// Six bits: by which power of two the multiplier is multiplied.
    pub const fn scale(self) -> u16 {
        (self.0 >> 8) & SCALE
    }

    /// Eight bits.
    pub const fn multiplier(self) -> u16 {
        self.0 & 0xff
    }

    /// Multiplier · 2^scale · 2⁻³² s, rounded up. None where the multiplier is 0: RFC 4656 forbids
    /// that, and implementations of TWAMP light send it all the same, so that it is taken as
    /// "unknown".
    pub fn error(self) -> Option<Span> {
        if self.multiplier() == 0 {
            return None;
        }
        let steps = u128::from(self.multiplier()) << self.scale();
        let nanoseconds = (steps * 1_000_000_000).div_ceil(1 << 32);
        Some(i64::try_from(nanoseconds).map_or(Span::MAX, Span))
    }
}
