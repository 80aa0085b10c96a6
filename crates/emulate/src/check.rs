//! Numbers that must lie within bounds.

use crate::EmulateError;

/// The longest time that a part may be described with: a week, as the longest run.
pub(crate) const LONGEST_NS: u64 = 604_800_000_000_000;

pub(crate) fn bounded(
    value: f64,
    holds: bool,
    expected: &'static str,
    location: impl FnOnce() -> String,
) -> Result<(), EmulateError> {
    if holds && value.is_finite() {
        Ok(())
    } else {
        Err(EmulateError::OutOfBounds { location: location(), value, expected })
    }
}

pub(crate) fn probability(
    value: f64,
    location: impl FnOnce() -> String,
) -> Result<(), EmulateError> {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        Err(EmulateError::NotAProbability { location: location(), value })
    }
}

/// A time of at most a week.
#[expect(clippy::cast_precision_loss, reason = "for the message")]
pub(crate) fn time(
    nanoseconds: u64,
    location: impl FnOnce() -> String,
) -> Result<i64, EmulateError> {
    bounded(nanoseconds as f64, nanoseconds <= LONGEST_NS, "a time of at most a week", location)?;
    Ok(nanoseconds.cast_signed())
}
