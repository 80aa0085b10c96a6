//! The excursions of one chirp: those of its queueing delays that end are bursts, the one that does
//! not gives the available bandwidth.
//!
//! Ribeiro and others, PAM 2003, §3, with what pathChirp 2.3.7 does at the ends.

use trustbed_units::Span;

use crate::{Chirp, Sighting};

/// How the delays of a chirp are read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scan {
    /// An excursion has ended when the delay falls below its highest over this.
    pub decrease_factor: f64,
    /// An excursion of fewer packets is a chance meeting.
    pub busy_period: usize,
    /// Packets that came closer together waited in the receiver's machine: interrupts that are
    /// coalesced.
    pub coalescence: Span,
}

impl Default for Scan {
    fn default() -> Self {
        Self { decrease_factor: 1.5, busy_period: 5, coalescence: Span::from_micros(10) }
    }
}

/// What was found in a chirp.
#[derive(Debug, Clone, PartialEq)]
pub struct Excursions {
    /// The available bandwidth by each gap, bit/s.
    pub per_gap: Vec<f64>,
    /// Their mean, weighted by the gaps' lengths, bit/s.
    pub estimate: f64,
    /// The gap with which the last excursion, the one that did not end, began.
    pub last_start: usize,
}

impl Excursions {
    /// The result of a chirp's packets. Nothing where one was lost, one overtook another, or too
    /// few did not wait in the receiver.
    pub fn of(chirp: &Chirp, packets: &[Sighting], scan: &Scan) -> Option<Self> {
        if packets.len() != chirp.packets() {
            return None;
        }
        let received: Option<Vec<_>> = packets.iter().map(|packet| packet.received).collect();
        let received = received?;
        if received.windows(2).any(|pair| pair[1] < pair[0]) {
            return None;
        }
        let first = packets.first()?.delay()?;
        let at_once: Vec<bool> = std::iter::once(false)
            .chain(received.windows(2).map(|pair| pair[1] - pair[0] < scan.coalescence))
            .collect();
        let end = at_once.windows(2).position(|pair| pair[0] && pair[1]).unwrap_or(at_once.len());
        let kept: Vec<usize> = (0..end).filter(|number| !at_once[*number]).collect();
        let delays: Option<Vec<f64>> = kept
            .iter()
            .map(|number| packets[*number].delay().map(|delay| (delay - first).as_f64()))
            .collect();
        Self::of_delays(chirp, &kept, &delays?, scan)
    }

    /// The same, of queueing delays in any unit: those of the packets with the numbers in `kept`.
    pub fn of_delays(chirp: &Chirp, kept: &[usize], delays: &[f64], scan: &Scan) -> Option<Self> {
        let last = kept.len().min(delays.len()).checked_sub(1).filter(|last| *last > 0)?;
        let rates = chirp.rates();
        let rate = |index: usize| rates[kept[index].min(rates.len() - 1)];
        let mut found = vec![None; last];
        let rises = |index: usize| delays[index] < delays[index + 1];
        let next_rise = |from: usize| (from..last).find(|index| rises(*index)).unwrap_or(last);
        let mut start = next_rise(0);
        let mut index = start + 1;
        let mut highest = 0.0_f64;
        while index <= last {
            let above = delays[index] - delays[start];
            highest = highest.max(above);
            if above < highest / scan.decrease_factor {
                if index - start >= scan.busy_period {
                    (start..index)
                        .filter(|gap| rises(*gap))
                        .for_each(|gap| found[gap] = Some(rate(gap)));
                }
                start = next_rise(index);
                (index, highest) = (start, 0.0);
            }
            index += 1;
        }
        let start = start.min(last - 1);
        found[start..].fill(Some(rate(start)));
        let per_gap = spread(rates.len(), kept, &found, rate(start));
        let (mut weighted, mut total) = (0.0, 0.0);
        for (gap, value) in per_gap.iter().enumerate() {
            weighted += value * chirp.gap_ns(gap);
            total += chirp.gap_ns(gap);
        }
        Some(Self {
            estimate: weighted / total,
            per_gap,
            last_start: kept[start].min(rates.len() - 1),
        })
    }
}

/// The results of the gaps between the used packets, for every gap of the chirp; `otherwise` where
/// there is none.
fn spread(gaps: usize, kept: &[usize], found: &[Option<f64>], otherwise: f64) -> Vec<f64> {
    let mut per_gap = vec![otherwise; gaps];
    for (index, value) in found.iter().enumerate() {
        if let (Some(value), Some(gap)) =
            (value, kept.get(index).and_then(|number| per_gap.get_mut(*number)))
        {
            *gap = *value;
        }
    }
    per_gap
}
