//! A token bucket: how much may pass at once, and how fast that comes back.
//!
//! It holds bytes, at most its depth, and is full at first; they come back at the rate, exactly:
//! what is in it is counted in fractions of a byte of which whole ones come every nanosecond. It is
//! read at whole nanoseconds, and nothing is lost by that: what has come in between is still there.

use trustbed_units::{Ns, Rate, Span};

use crate::rate::Fraction;
use crate::{BucketDescription, EmulateError};

/// Bytes that may pass.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    rate: Fraction,
    /// In units of the rate.
    depth: i128,
    /// Below 0 behind a packet that was longer than the bucket is deep.
    level: i128,
    /// When it was at this level.
    at: Ns,
}

impl Bucket {
    /// A full one. `location` is for errors, the pipe with the key.
    pub(crate) fn new(
        description: BucketDescription,
        location: &str,
    ) -> Result<Self, EmulateError> {
        let BucketDescription { rate_bits_per_second, burst_bytes } = description;
        let rate = Fraction::of(Rate(rate_bits_per_second), || {
            format!("{location}.rate_bits_per_second")
        })?;
        if burst_bytes == 0 {
            let location = format!("{location}.burst_bytes");
            return Err(EmulateError::OutOfBounds {
                location,
                value: 0.0,
                expected: "a number of bytes above 0; nothing passes without",
            });
        }
        let depth = i128::from(burst_bytes) * i128::from(rate.denominator);
        Ok(Self { rate, depth, level: depth, at: Ns::MIN })
    }

    /// Takes the bytes of a packet out if they are there at this moment.
    pub(crate) fn takes(&mut self, now: Ns, length: u32) -> bool {
        self.fill(now);
        let needed = self.units(length);
        let there = needed <= self.level;
        if there {
            self.level -= needed;
        }
        there
    }

    /// The first moment, not before `ready`, at which the bytes of a packet are there. A packet
    /// that is longer than the bucket is deep needs a full one.
    pub(crate) fn when(&self, ready: Ns, length: u32) -> Ns {
        let ready = ready.max(self.at);
        let missing = self.units(length).min(self.depth) - self.level_at(ready);
        if missing <= 0 {
            return ready;
        }
        let wait = missing.unsigned_abs().div_ceil(u128::from(self.rate.numerator));
        ready + Span(i64::try_from(wait).unwrap_or(i64::MAX))
    }

    /// Takes the bytes of a packet out at the moment that [`Bucket::when`] gives; what a longer
    /// packet takes too much is paid back first.
    pub(crate) fn pass(&mut self, ready: Ns, length: u32) -> Ns {
        let at = self.when(ready, length);
        if at > ready.max(self.at) {
            // Whatever has come since the fraction of a nanosecond at which there was enough is
            // kept, even by a bucket that is full.
            self.level += self.came_by(at);
            self.at = at;
        } else {
            self.fill(at);
        }
        self.level -= self.units(length);
        at
    }

    /// How long so many bytes take in the mean, in nanoseconds.
    pub(crate) fn mean_time(&self, bytes: u32) -> f64 {
        self.rate.mean_time(bytes)
    }

    fn units(&self, length: u32) -> i128 {
        i128::from(length) * i128::from(self.rate.denominator)
    }

    fn fill(&mut self, now: Ns) {
        self.level = self.level_at(now);
        self.at = self.at.max(now);
    }

    fn level_at(&self, now: Ns) -> i128 {
        if now <= self.at { self.level } else { (self.level + self.came_by(now)).min(self.depth) }
    }

    fn came_by(&self, now: Ns) -> i128 {
        i128::from(now.0.abs_diff(self.at.0)) * i128::from(self.rate.numerator)
    }
}
