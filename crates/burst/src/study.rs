//! Everything that one pass over the packets measures, side by side; mergeable, so that workers can
//! share a capture.
//!
//! What needs rates that follow from the outcome (σ(ρ), queues) is not in here: see
//! [`crate::Sigma`] and [`crate::DropTail`].

use trustbed_units::{Ns, Span};

use crate::bins::{BinGrid, Binning, Counted};
use crate::{BurstError, Gaps, HaarEnergy, Packets, Part, PeakRates, Plan, RateSeries, Trains};

/// What a study looks at; what is `None` or false costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StudyPlan {
    /// Burstiness by windows.
    pub windows: Option<Plan>,
    /// Energy: the bins, and what is added up in them.
    pub energy: Option<(BinGrid, Counted)>,
    /// Rate over time, in these bins, and the largest rates.
    pub rates: Option<BinGrid>,
    /// Inter-arrival times.
    pub gaps: bool,
    /// Packet trains, and the longest gap in one.
    pub trains: Option<Span>,
}

/// Packets, measured in every respect that was requested. Parts of a capture are studied apart and
/// joined by [`Study::merge`].
#[derive(Debug, Clone)]
pub struct Study {
    /// How many packets.
    pub packets: u64,
    /// The sum of their lengths.
    pub bytes: u64,
    /// When the first and the last one arrived.
    pub ends: Option<(Ns, Ns)>,
    /// Burstiness by windows.
    pub windows: Option<Part>,
    /// Energies of octaves, and the bins that other wavelets are computed from.
    pub energy: Option<Binning<(HaarEnergy, RateSeries)>>,
    /// Bytes over time.
    pub rates: Option<Binning<RateSeries>>,
    /// The largest rates at [`PeakRates::SCALES`].
    pub peaks: Option<PeakRates>,
    /// Inter-arrival times.
    pub gaps: Option<Gaps>,
    /// Packet trains.
    pub trains: Option<Trains>,
}

impl Study {
    /// Nothing seen yet.
    ///
    /// # Errors
    /// [`BurstError::NoWindow`] when the longest gap in a train is negative.
    pub fn new(plan: &StudyPlan) -> Result<Self, BurstError> {
        Ok(Self {
            packets: 0,
            bytes: 0,
            ends: None,
            windows: plan.windows.map(Part::new),
            energy: plan.energy.map(|(grid, counted)| {
                Binning::new(grid, counted, <(HaarEnergy, RateSeries)>::default())
            }),
            rates: plan.rates.map(|grid| Binning::new(grid, Counted::Bytes, RateSeries::default())),
            peaks: plan
                .rates
                .map(|_| PeakRates::new(&PeakRates::SCALES, Counted::Bytes))
                .transpose()?,
            gaps: plan.gaps.then(Gaps::new),
            trains: plan.trains.map(Trains::new).transpose()?,
        })
    }

    /// The packets that come next.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] if they begin before those seen end.
    pub fn add(&mut self, packets: Packets<'_>) -> Result<(), BurstError> {
        let (Some(first), Some(last)) = (packets.first(), packets.last()) else { return Ok(()) };
        self.follow(first, last)?;
        self.packets += packets.len() as u64;
        self.bytes += packets.bytes();
        if let Some(windows) = &mut self.windows {
            windows.push(packets);
        }
        self.energy.as_mut().map_or(Ok(()), |energy| energy.add(packets))?;
        self.rates.as_mut().map_or(Ok(()), |rates| rates.add(packets))?;
        self.peaks.as_mut().map_or(Ok(()), |peaks| peaks.add(packets))?;
        self.gaps.as_mut().map_or(Ok(()), |gaps| gaps.add(packets))?;
        self.trains.as_mut().map_or(Ok(()), |trains| trains.add(packets))
    }

    /// Joins what saw the packets that follow.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] if `later` begins before this ends.
    ///
    /// # Panics
    /// When the two follow different plans.
    pub fn merge(mut self, later: Self) -> Result<Self, BurstError> {
        if let Some((first, last)) = later.ends {
            self.follow(first, last)?;
        }
        self.packets += later.packets;
        self.bytes += later.bytes;
        self.windows = self
            .windows
            .zip(later.windows)
            .map(|(before, after)| before.merge(after))
            .transpose()?;
        self.energy =
            self.energy.zip(later.energy).map(|(before, after)| before.merge(after)).transpose()?;
        self.rates =
            self.rates.zip(later.rates).map(|(before, after)| before.merge(after)).transpose()?;
        self.peaks =
            self.peaks.zip(later.peaks).map(|(before, after)| before.merge(after)).transpose()?;
        if let Some((before, after)) = self.gaps.as_mut().zip(later.gaps) {
            before.merge(&after)?;
        }
        if let Some((before, after)) = self.trains.as_mut().zip(later.trains) {
            before.merge(&after)?;
        }
        Ok(self)
    }

    fn follow(&mut self, first: Ns, last: Ns) -> Result<(), BurstError> {
        match self.ends {
            Some((_, end)) if first < end => Err(BurstError::Overlap { end, start: first }),
            Some((start, _)) => {
                self.ends = Some((start, last));
                Ok(())
            }
            None => {
                self.ends = Some((first, last));
                Ok(())
            }
        }
    }
}
