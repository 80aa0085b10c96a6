//! One rate for several sources.

use trustbed_units::Rate;

use crate::TrafficError;

/// Parts of a rate that add up to it, to the bit, and differ by at most 1 bit/s; the larger ones
/// first.
///
/// ```
/// use trustbed_traffic::shares;
/// use trustbed_units::Rate;
/// assert_eq!(shares(Rate(10), 3)?, [Rate(4), Rate(3), Rate(3)]);
/// # Ok::<(), trustbed_traffic::TrafficError>(())
/// ```
///
/// # Errors
/// [`TrafficError::NothingToShare`] without sources, or with more sources than bits per second.
pub fn shares(rate: Rate, sources: usize) -> Result<Vec<Rate>, TrafficError> {
    let refuse = TrafficError::NothingToShare { rate, sources };
    let number = u64::try_from(sources).map_err(|_| refuse.clone())?;
    if number == 0 || number > rate.0 {
        return Err(refuse);
    }
    let (each, more) = (rate.0 / number, rate.0 % number);
    Ok((0..number).map(|source| Rate(each + u64::from(source < more))).collect())
}
