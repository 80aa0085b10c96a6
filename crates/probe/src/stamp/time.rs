//! Moments in the two formats of the protocol.
//!
//! Both have 32 bits for seconds and begin again after 136 years (NTP in 2036, PTP in 2106):
//! a reader has to know roughly when it is. NTP counts seconds in steps of 2⁻³², which is
//! finer than a nanosecond, so that a moment survives both conversions unchanged.
//!
//! Bias: PTP counts in TAI, which is 37 s ahead of UTC and of the clocks of hosts since 2017. RFC
//! 8186 requests the format and not the scale, and hosts seldom know the difference: here both
//! formats show the host's own clock.

use trustbed_units::Ns;

/// From the beginning of 1900, where NTP counts from, to that of 1970.
const NTP_EPOCH_SECONDS: i128 = 2_208_988_800;
const SECOND: i128 = 1_000_000_000;
const ERA: i128 = SECOND << 32;

/// What the 64 bits of a timestamp mean: bit Z of an error estimate (RFC 8186, section 2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeFormat {
    /// Z = 0: seconds since 1900 and their 2³²th parts (RFC 5905, section 6). Every implementation
    /// has it.
    #[default]
    Ntp,
    /// Z = 1: seconds since 1970 and nanoseconds (IEEE 1588-2008, truncated).
    Ptp,
}

/// A timestamp as it is on the wire.
///
/// ```
/// use trustbed_probe::{StampTime, TimeFormat};
/// use trustbed_units::Ns;
/// let half_past = StampTime::of(Ns(1_500_000_000), TimeFormat::Ntp);
/// assert_eq!(half_past, StampTime(0x83aa_7e81_8000_0000));
/// assert_eq!(half_past.moment(TimeFormat::Ntp, Ns(0)), Some(Ns(1_500_000_000)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StampTime(pub u64);

impl StampTime {
    /// A moment in a format.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "seconds begin again after 2³²; the rest is below 2³²"
    )]
    pub const fn of(moment: Ns, format: TimeFormat) -> Self {
        let since = moment.0 as i128 + format.epoch();
        let (seconds, nanoseconds) = (since.div_euclid(SECOND), since.rem_euclid(SECOND));
        let rest = match format {
            // Rounded up, so that a reader that rounds down has the same nanosecond; 999 999 999 ns
            // are four steps below a second.
            TimeFormat::Ntp => ((nanoseconds << 32) + SECOND - 1) / SECOND,
            TimeFormat::Ptp => nanoseconds,
        };
        Self(((seconds as u32 as u64) << 32) | rest as u64)
    }

    /// The moment that it means, of those in all eras the one nearest to another. None for what is
    /// no time: a billion nanoseconds or more, or a moment that cannot be written down.
    pub fn moment(self, format: TimeFormat, near: Ns) -> Option<Ns> {
        let (seconds, rest) = (i128::from(self.0 >> 32), i128::from(self.0 & 0xffff_ffff));
        let nanoseconds = match format {
            TimeFormat::Ntp => (rest * SECOND + (1 << 31)) >> 32,
            TimeFormat::Ptp if rest >= SECOND => return None,
            TimeFormat::Ptp => rest,
        };
        let first = seconds * SECOND + nanoseconds - format.epoch();
        let eras = (i128::from(near.0) - first + ERA / 2).div_euclid(ERA);
        i64::try_from(first + eras * ERA).ok().map(Ns)
    }
}

impl TimeFormat {
    /// What a moment has to be moved by to be counted from where the format does.
    const fn epoch(self) -> i128 {
        match self {
            Self::Ntp => NTP_EPOCH_SECONDS * SECOND,
            Self::Ptp => 0,
        }
    }
}
