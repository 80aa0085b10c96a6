//! Poisson traffic, in the two meanings the words have.
//!
//! *Packets*: packets of L bytes with exponential gaps of mean 8L/R. The bytes of a stretch of time
//! Δ have the variance L · R/8 · Δ: bursty on every scale below the one on which many packets come.
//!
//! *Bytes*: for every unit of time a number of bytes is drawn from a Poisson distribution and sent
//! evenly over the unit ("the number of bytes that arrive per unit of time is Poisson", read
//! literally; Vishwanath and Vahdat, *Evaluating Distributed Systems: Does Background Traffic
//! Matter?*, USENIX ATC 2008). The variance is R/8 · Δ, 1500 times less: nearly constant rate.
//! Within a unit there is nothing random, so on scales below it the variance is that of the
//! packets' spacing.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, Poisson};
use trustbed_units::{Rate, Span};

use crate::headers::{check_length, check_rate};
use crate::seed::generator;
use crate::{Departure, Headers, TrafficError};

/// Packets of one length with exponential gaps.
#[derive(Debug, Clone)]
pub struct PacketArrivals {
    random: ChaCha8Rng,
    mean_gap: f64,
    /// When the latest packet was due: whole nanoseconds, and what comes to them. Kept apart, so
    /// that hours lose no precision.
    whole: i64,
    fraction: f64,
    length: u32,
    payload: u32,
}

impl PacketArrivals {
    /// A source whose first packet comes after the first gap.
    ///
    /// # Errors
    /// [`TrafficError::ZeroRate`], [`TrafficError::RateTooHigh`], [`TrafficError::PacketTooSmall`],
    /// [`TrafficError::PacketTooLarge`].
    #[expect(clippy::cast_precision_loss, reason = "rates below 2⁵³ bit/s are exact")]
    pub fn new(rate: Rate, length: u32, headers: Headers, seed: u64) -> Result<Self, TrafficError> {
        check_rate(rate)?;
        check_length("packet_bytes", length, headers)?;
        let mean_gap = f64::from(length) * 8e9 / rate.0 as f64;
        Ok(Self {
            random: generator(seed),
            mean_gap,
            whole: 0,
            fraction: 0.0,
            length,
            payload: headers.payload(length),
        })
    }
}

impl Iterator for PacketArrivals {
    type Item = Departure;

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole nanoseconds; what is beyond 292 years ends the source"
    )]
    fn next(&mut self) -> Option<Departure> {
        let draw: f64 = Exp1.sample(&mut self.random);
        let gap = draw * self.mean_gap + self.fraction;
        self.fraction = gap.fract();
        self.whole = self.whole.checked_add(gap as i64)?;
        Some(Departure { due: Span(self.whole), length: self.length, payload: self.payload })
    }
}

/// A drawn number of bytes in every unit of time, as packets at equal distances.
#[derive(Debug, Clone)]
pub struct ByteArrivals {
    random: ChaCha8Rng,
    bytes: Poisson<f64>,
    unit: i64,
    largest: u32,
    minimum: u32,
    headers: Headers,
    /// What padding took from the units to come.
    owed: u64,
    /// When the unit that is being sent began, its packets, the next of them, and how long the last
    /// one is.
    start: i64,
    packets: u64,
    number: u64,
    last: u32,
    phase: Span,
}

/// What may be drawn for: shorter units could be empty millions of times in a row, longer ones hold
/// nothing random.
const UNITS: (Span, Span) = (Span::from_micros(100), Span::from_secs(10));

impl ByteArrivals {
    /// A source whose first unit begins at the start. Packets have at most `largest` and at least
    /// `minimum` bytes; a minimum below what the headers need is raised to it.
    ///
    /// # Errors
    /// [`TrafficError::ZeroRate`], [`TrafficError::RateTooHigh`], [`TrafficError::PacketTooSmall`],
    /// [`TrafficError::PacketTooLarge`], [`TrafficError::MinimumAboveMaximum`], and
    /// [`TrafficError::NoUnit`] outside of 100 µs to 10 s.
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    pub fn new(
        rate: Rate,
        unit: Span,
        (minimum, largest): (u32, u32),
        headers: Headers,
        seed: u64,
    ) -> Result<Self, TrafficError> {
        check_rate(rate)?;
        check_length("packet_bytes", largest, headers)?;
        if minimum > largest {
            return Err(TrafficError::MinimumAboveMaximum { minimum, packet: largest });
        }
        let no_unit = TrafficError::NoUnit {
            key: "unit_ns",
            length: unit,
            shortest: UNITS.0,
            longest: UNITS.1,
        };
        if unit < UNITS.0 || unit > UNITS.1 {
            return Err(no_unit);
        }
        let bytes = Poisson::new(rate.0 as f64 / 8.0 * unit.as_secs_f64()).map_err(|_| no_unit)?;
        let minimum = minimum.max(headers.least());
        let random = generator(seed);
        let (owed, start, packets, number, last) = (0, -unit.0, 0, 0, 0);
        Ok(Self {
            random,
            bytes,
            unit: unit.0,
            largest,
            minimum,
            headers,
            owed,
            start,
            packets,
            number,
            last,
            phase: Span::ZERO,
        })
    }

    /// The same source, all of whose packets are due later.
    #[must_use]
    pub const fn with_phase(mut self, phase: Span) -> Self {
        self.phase = phase;
        self
    }

    /// Draws units until one has something to send.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count; its mean is below 2⁵³"
    )]
    fn fill(&mut self) -> Option<()> {
        while self.number == self.packets {
            self.start = self.start.checked_add(self.unit)?;
            let drawn = self.bytes.sample(&mut self.random) as u64;
            let paid = self.owed.min(drawn);
            self.owed -= paid;
            let bytes = drawn - paid;
            (self.number, self.packets) = (0, bytes.div_ceil(self.largest.into()));
            let before = self.packets.saturating_sub(1) * u64::from(self.largest);
            self.last = u32::try_from(bytes - before).unwrap_or(self.largest);
            if self.packets > 0 && self.last < self.minimum {
                self.owed += u64::from(self.minimum - self.last);
                self.last = self.minimum;
            }
        }
        Some(())
    }
}

impl Iterator for ByteArrivals {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        self.fill()?;
        let within = u128::from(self.number) * u128::from(self.unit.unsigned_abs())
            / u128::from(self.packets);
        let due = self.start.checked_add(i64::try_from(within).ok()?)?.checked_add(self.phase.0)?;
        self.number += 1;
        let length = if self.number == self.packets { self.last } else { self.largest };
        Some(Departure { due: Span(due), length, payload: self.headers.payload(length) })
    }
}
