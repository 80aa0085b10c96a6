//! Rate over time, and the largest rate at a time scale.
//!
//! Rates are of bins aligned to the epoch, not of the worst position a window could be slid to: the
//! largest rate found here can under-state that of a sliding window of the same width, at most by
//! half, and never over-states it. The bins at both ends count in full width, though the capture
//! may hold only part of them.

use crate::bins::{Bin, BinGrid, BinSink, Binned, Binning, Counted, MergeableSink, Silence};
use crate::{BurstError, Packets};
use trustbed_units::{Ns, Span};

/// The bins that hold packets, as they come, in bounded memory; a sink for [`Binning`].
///
/// Empty bins cost nothing. When more bins than the limit hold packets, all are made twice as wide,
/// as often as need be. That depends on the packets alone, so parts that are joined give the bins
/// that one pass gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateSeries {
    doublings: u32,
    limit: usize,
    bins: Vec<Bin>,
}

impl RateSeries {
    /// Bins stored by default: 70 minutes of bins of 1 ms, in 64 MiB.
    pub const MOST_BINS: usize = 1 << 22;

    /// Nothing seen yet; at most `limit` bins, and two at least.
    pub fn new(limit: usize) -> Self {
        Self { doublings: 0, limit: limit.max(2), bins: Vec::new() }
    }

    /// Adds to the last bin, or begins the next one. `index` counts bins of the present width.
    fn enter(&mut self, bin: Bin) {
        match self.bins.last_mut() {
            Some(last) if last.index == bin.index => last.amount += bin.amount,
            _ => self.bins.push(bin),
        }
    }

    fn double(&mut self) {
        self.doublings += 1;
        let finer = std::mem::take(&mut self.bins);
        self.bins.reserve(finer.len() / 2 + 1);
        for bin in finer {
            self.enter(Bin { index: bin.index >> 1, ..bin });
        }
    }

    fn fit(&mut self) {
        while self.bins.len() > self.limit {
            self.double();
        }
    }
}

impl Default for RateSeries {
    fn default() -> Self {
        Self::new(Self::MOST_BINS)
    }
}

impl BinSink for RateSeries {
    #[inline]
    fn bin(&mut self, bin: Bin) {
        self.enter(Bin { index: bin.index >> self.doublings, ..bin });
        self.fit();
    }

    fn silence(&mut self, _from: i64, _count: u64) {}
}

impl MergeableSink for RateSeries {
    fn append(&mut self, mut later: Self) {
        while self.doublings < later.doublings {
            self.double();
        }
        while later.doublings < self.doublings {
            later.double();
        }
        for bin in later.bins {
            self.enter(bin);
        }
        self.fit();
    }
}

/// What arrived when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateOverTime {
    /// Which bins: as wide as requested, or 2^`doublings` times as wide.
    pub grid: BinGrid,
    /// How often the bins had to be made twice as wide to keep within the limit.
    pub doublings: u32,
    /// What was added up.
    pub counted: Counted,
    /// The bins that hold packets, in order, with the two at the ends.
    pub bins: Vec<Bin>,
}

/// Neighbouring bins of equal amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// When the first one begins.
    pub start: Ns,
    /// How many: 1 for a bin that holds packets, the length of the silence otherwise.
    pub bins: u64,
    /// Bytes or packets in each; 0 in a silence.
    pub amount: u64,
}

impl RateOverTime {
    /// All bins, those at the ends included.
    pub fn of(binned: Binned<RateSeries>) -> Self {
        let mut series = RateSeries::new(binned.sink.limit);
        if let Some(bin) = binned.first {
            series.bin(bin);
        }
        series.append(binned.sink);
        if let Some(bin) = binned.last {
            series.bin(bin);
        }
        Self {
            grid: binned.grid.doubled(series.doublings),
            doublings: series.doublings,
            counted: binned.counted,
            bins: series.bins,
        }
    }

    /// The same in bins so wide that at most so many (two at least) hold packets.
    #[must_use]
    pub fn at_most(self, bins: usize) -> Self {
        let mut series = RateSeries { doublings: 0, limit: bins.max(2), bins: self.bins };
        series.fit();
        let doublings = self.doublings + series.doublings;
        Self {
            grid: self.grid.doubled(series.doublings),
            doublings,
            counted: self.counted,
            bins: series.bins,
        }
    }

    /// All of time from the first packet to the last: bins with packets one by one, and each
    /// silence as one run.
    pub fn runs(&self) -> impl Iterator<Item = Run> {
        let mut before = self.bins.first().map_or(0, |bin| bin.index.wrapping_sub(1));
        self.bins.iter().flat_map(move |bin| {
            let gap = Silence::between(before, bin.index);
            let silence = (gap.count > 0).then(|| Run {
                start: self.grid.start(gap.from),
                bins: gap.count,
                amount: 0,
            });
            before = bin.index;
            silence.into_iter().chain([Run {
                start: self.grid.start(bin.index),
                bins: 1,
                amount: bin.amount,
            }])
        })
    }

    /// Amount per second in a bin: bytes per second or packets per second.
    #[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
    pub fn per_second(&self, amount: u64) -> f64 {
        amount as f64 / self.grid.width().as_secs_f64()
    }

    /// Feeds a sink with all bins but those of the first and the last packet, of which the capture
    /// may have missed a part.
    pub fn pour(&self, sink: &mut impl BinSink) {
        let Some((first, rest)) = self.bins.split_first() else { return };
        let mut before = first.index;
        for (position, bin) in rest.iter().enumerate() {
            Silence::between(before, bin.index).write_to(sink);
            if position + 1 < rest.len() {
                sink.bin(*bin);
            }
            before = bin.index;
        }
    }
}

/// The fullest bin; a sink for [`Binning`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fullest {
    fullest: Option<Bin>,
}

impl BinSink for Fullest {
    #[inline]
    fn bin(&mut self, bin: Bin) {
        if self.fullest.is_none_or(|fullest| bin.amount > fullest.amount) {
            self.fullest = Some(bin);
        }
    }

    fn silence(&mut self, _from: i64, _count: u64) {}
}

impl MergeableSink for Fullest {
    fn append(&mut self, later: Self) {
        if let Some(bin) = later.fullest {
            self.bin(bin);
        }
    }
}

/// The largest rate at one time scale, and where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeakRate {
    /// The time scale: the width of the bins.
    pub width: Span,
    /// When the fullest bin begins; of equal ones, the first.
    pub start: Ns,
    /// Bytes or packets in it.
    pub amount: u64,
}

impl PeakRate {
    /// Amount per second: bytes per second or packets per second.
    #[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
    pub fn per_second(&self) -> f64 {
        self.amount as f64 / self.width.as_secs_f64()
    }
}

/// The largest rates at several time scales, in one pass; mergeable.
///
/// ```
/// use trustbed_burst::{Counted, Packets, PeakRates};
/// let mut peaks = PeakRates::new(&PeakRates::SCALES, Counted::Bytes)?;
/// peaks.add(Packets::new(&[0, 50_000, 2_000_000], &[1000, 500, 1200])?)?;
/// let rates = peaks.rates();
/// assert_eq!(rates.iter().map(|peak| peak.amount).collect::<Vec<_>>(), [1500, 1500, 2700, 2700]);
/// assert!((rates[1].per_second() - 1.5e6).abs() < 1e-6);
/// # Ok::<(), trustbed_burst::BurstError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeakRates {
    scales: Vec<Binning<Fullest>>,
}

impl PeakRates {
    /// 100 µs, 1 ms, 10 ms, 100 ms.
    pub const SCALES: [Span; 4] = [
        Span::from_micros(100),
        Span::from_millis(1),
        Span::from_millis(10),
        Span::from_millis(100),
    ];

    /// Nothing seen yet.
    ///
    /// # Errors
    /// [`BurstError::NoWindow`] unless every scale is above 0.
    pub fn new(scales: &[Span], counted: Counted) -> Result<Self, BurstError> {
        let binning =
            |&width: &Span| Ok(Binning::new(BinGrid::new(width)?, counted, Fullest::default()));
        Ok(Self { scales: scales.iter().map(binning).collect::<Result<_, _>>()? })
    }

    /// The packets that come next.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] if they begin before those seen end; then none of them is added.
    pub fn add(&mut self, packets: Packets<'_>) -> Result<(), BurstError> {
        self.scales.iter_mut().try_for_each(|scale| scale.add(packets))
    }

    /// Joins what saw the packets that follow.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] if `later` begins before this ends.
    ///
    /// # Panics
    /// When the two have different scales.
    pub fn merge(self, later: Self) -> Result<Self, BurstError> {
        assert_eq!(self.scales.len(), later.scales.len(), "only equal scales can be joined");
        let pairs = self.scales.into_iter().zip(later.scales);
        Ok(Self {
            scales: pairs.map(|(before, after)| before.merge(after)).collect::<Result<_, _>>()?,
        })
    }

    /// The largest rate at each scale; none without packets.
    pub fn rates(&self) -> Vec<PeakRate> {
        let peak = |binning: &Binning<Fullest>| {
            let Binned { grid, first, sink, last, .. } = binning.clone().finish();
            let mut fullest = Fullest { fullest: first };
            fullest.append(sink);
            fullest.append(Fullest { fullest: last });
            fullest.fullest.map(|bin| PeakRate {
                width: grid.width(),
                start: grid.start(bin.index),
                amount: bin.amount,
            })
        };
        self.scales.iter().filter_map(peak).collect()
    }
}
