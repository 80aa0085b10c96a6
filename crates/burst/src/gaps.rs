//! Inter-arrival times: how long between one packet and the next.
//!
//! The time between arrivals at the capture point, beginning to beginning where a capture
//! stamps the beginning of a frame. It is no finer than the clock of the capture: packets stamped
//! together, as an interrupt hands them over, have gaps of 0, and then the distribution shows the
//! host as much as the network.

use crate::histogram::Histogram;
use crate::{BurstError, Packets};
use trustbed_units::Ns;

/// The distribution of inter-arrival times in nanoseconds; mergeable.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gaps {
    ends: Option<(Ns, Ns)>,
    times: Histogram,
}

impl Gaps {
    /// Nothing seen yet.
    pub const fn new() -> Self {
        Self { ends: None, times: Histogram::new() }
    }

    /// The packets that come next.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] if they begin before those seen end; then none of them is added.
    pub fn add(&mut self, packets: Packets<'_>) -> Result<(), BurstError> {
        let (Some(first), Some(last)) = (packets.first(), packets.last()) else {
            return Ok(());
        };
        self.follow(first)?;
        for pair in packets.times().windows(2) {
            self.times.add(pair[1].abs_diff(pair[0]));
        }
        self.ends = Some((self.ends.map_or(first, |ends| ends.0), last));
        Ok(())
    }

    /// Joins what saw the packets that follow; the gap between the two parts is one of the gaps.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] if `later` begins before this ends; then nothing is joined.
    pub fn merge(&mut self, later: &Self) -> Result<(), BurstError> {
        let Some((first, last)) = later.ends else { return Ok(()) };
        self.follow(first)?;
        self.times.merge(&later.times);
        self.ends = Some((self.ends.map_or(first, |ends| ends.0), last));
        Ok(())
    }

    /// Enters the gap in front of a packet.
    fn follow(&mut self, time: Ns) -> Result<(), BurstError> {
        if let Some((_, earlier)) = self.ends {
            if time < earlier {
                return Err(BurstError::Overlap { end: earlier, start: time });
            }
            self.times.add(time.0.abs_diff(earlier.0));
        }
        Ok(())
    }

    /// The distribution, in nanoseconds.
    pub const fn times(&self) -> &Histogram {
        &self.times
    }
}
