//! When a packet that is due leaves its host: at its time, at the next tick of a timer, or as soon
//! as it can.
//!
//! *Paced* is what `PSPacer` does: packets leave at their times (Takano, Kudoh, Kodama, Matsuda,
//! Tezuka, Ishikawa, *Design and Evaluation of Precise Software Pacing Mechanisms for Fast
//! Long-Distance Networks*, 2005).
//!
//! *Timer-released* is what a token bucket does in a kernel whose timer fires HZ times a second:
//! what became due since the last tick leaves at once, so that 40 Mbit/s become bursts of 50 kB at
//! 100 Hz, 20 kB at 250 Hz, 5 kB at 1000 Hz. For constant rate this is exactly a bucket filled at
//! that rate that can hold one tick's worth and one packet more; a bucket one packet shallower
//! would lose at each tick the part of a packet that is left over, and with it up to one packet per
//! tick of the rate. Here the rate is kept. All sources of a host have the same ticks, counted from
//! the start, as they have the same timer.
//!
//! *Unpaced* keeps the packets and forgets the times: everything is due at the start. There is
//! nothing to be late for.

use serde::{Deserialize, Serialize};
use trustbed_units::Span;

use crate::TrafficError;

/// How due packets are released. Written `"paced"`, `{"timer_hz": 100}`, `"unpaced"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// At their times.
    #[default]
    Paced,
    /// At the first tick that is not before their time, of a timer that fires so often a second.
    TimerHz(u32),
    /// At the start, one after the other, as fast as they can be sent.
    Unpaced,
}

const NANOSECONDS: u128 = 1_000_000_000;

/// The fastest timer.
const LARGEST: u32 = 1_000_000;

impl Release {
    /// Whether it releases anything.
    ///
    /// # Errors
    /// [`TrafficError::NoTimer`] for a timer of 0 Hz or above 1 MHz.
    pub const fn check(self) -> Result<(), TrafficError> {
        match self {
            Self::TimerHz(hertz) if hertz == 0 || hertz > LARGEST => {
                Err(TrafficError::NoTimer { hertz, largest: LARGEST })
            }
            _ => Ok(()),
        }
    }

    /// When a packet leaves that is due at a time from the start on. Never before it, but for an
    /// unpaced one.
    ///
    /// ```
    /// use trustbed_traffic::Release;
    /// use trustbed_units::Span;
    /// let timer = Release::TimerHz(250);
    /// assert_eq!(timer.at(Span(0)), Span(0));
    /// assert_eq!(timer.at(Span(1)), Span::from_millis(4));
    /// assert_eq!(timer.at(Span::from_millis(4)), Span::from_millis(4));
    /// ```
    pub fn at(self, due: Span) -> Span {
        match self {
            Self::Paced => due,
            Self::TimerHz(hertz) => tick(due, hertz.into()),
            Self::Unpaced => Span::ZERO,
        }
    }

    /// Whether packets have times at which they should leave, so that being late means something.
    pub const fn has_times(self) -> bool {
        !matches!(self, Self::Unpaced)
    }
}

/// The first tick not before a time. Ticks that fall between two nanoseconds count as the later
/// one.
fn tick(due: Span, hertz: u128) -> Span {
    // j · 10⁹ / hertz, rounded up, is at least `due` when it is more than `due` − 1 before
    // rounding.
    let Ok(before) = u128::try_from(i128::from(due.0) - 1) else { return due };
    let number = before * hertz / NANOSECONDS + 1;
    Span(i64::try_from((number * NANOSECONDS).div_ceil(hertz.max(1))).unwrap_or(i64::MAX))
}
