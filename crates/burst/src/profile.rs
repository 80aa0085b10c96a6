//! What traffic looks like, kept while it passes: energy by time scale, the logscale diagram, the
//! largest rates and the rate over time, in a bounded number of numbers.
//!
//! As [`Study`](crate::Study) measures them, in one pass over packets in order of time; what is
//! given up for bounded memory is that halves can be joined.

use trustbed_units::{Ns, Span};

use crate::bins::{BinGrid, Binned, Binning, Counted};
use crate::{
    BurstError, HaarEnergy, Octave, Packets, PeakRate, PeakRates, Pyramid, RateOverTime,
    RateSeries, Wavelet,
};

type Sink = ((HaarEnergy, Pyramid), RateSeries);

/// A profile in the making. Memory: some tens of kilobytes, however many packets there are.
///
/// ```
/// use trustbed_burst::{Packets, Profile};
/// let mut profile = Profile::new()?;
/// for second in 0..8 {
///     let start = second * 1_000_000_000;
///     profile.add(Packets::new(&[start, start + 100], &[1500, 500])?)?;
/// }
/// let found = profile.finish();
/// assert_eq!((found.packets, found.bytes), (16, 16_000));
/// assert_eq!(found.rates.bins.len(), 8);
/// # Ok::<(), trustbed_burst::BurstError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Profile {
    packets: u64,
    bytes: u64,
    ends: Option<(Ns, Ns)>,
    bins: Binning<Sink>,
    peaks: PeakRates,
}

/// What [`Profile`] found.
#[derive(Debug, Clone)]
pub struct Profiled {
    /// How many packets.
    pub packets: u64,
    /// The sum of their lengths.
    pub bytes: u64,
    /// When the first and the last one arrived.
    pub ends: Option<(Ns, Ns)>,
    /// How wide the bins of the energies are.
    pub width: Span,
    /// Energies by the Haar wavelet.
    pub energy: Vec<Octave>,
    /// The logscale diagram, by the wavelet [`Profile::WAVELET`].
    pub logscale: Vec<Octave>,
    /// Bytes over time, in at most [`Profile::POINTS`] bins that hold packets.
    pub rates: RateOverTime,
    /// The largest rates at [`PeakRates::SCALES`].
    pub peaks: Vec<PeakRate>,
}

impl Profile {
    /// The bins of the energies: 1 ms.
    pub const WIDTH: Span = Span::from_millis(1);
    /// The wavelet of the logscale diagram; three vanishing moments do not see slow trends.
    pub const WAVELET: Wavelet = Wavelet::Daubechies3;
    /// Bins of the rate over time, at most.
    pub const POINTS: usize = 600;

    /// Nothing seen yet.
    ///
    /// # Errors
    /// None with these constants; those of [`BinGrid::new`] and [`PeakRates::new`].
    pub fn new() -> Result<Self, BurstError> {
        let energies = (HaarEnergy::new(), Pyramid::new(Self::WAVELET));
        let sink = (energies, RateSeries::new(Self::POINTS));
        Ok(Self {
            packets: 0,
            bytes: 0,
            ends: None,
            bins: Binning::new(BinGrid::new(Self::WIDTH)?, Counted::Bytes, sink),
            peaks: PeakRates::new(&PeakRates::SCALES, Counted::Bytes)?,
        })
    }

    /// The packets that come next.
    ///
    /// # Errors
    /// [`BurstError::Overlap`] if they begin before those seen end; then none of them is added.
    pub fn add(&mut self, packets: Packets<'_>) -> Result<(), BurstError> {
        let (Some(first), Some(last)) = (packets.first(), packets.last()) else { return Ok(()) };
        self.bins.add(packets)?;
        self.peaks.add(packets)?;
        self.packets += packets.len() as u64;
        self.bytes += packets.bytes();
        self.ends = Some((self.ends.map_or(first, |ends| ends.0), last));
        Ok(())
    }

    /// Ends it. Octaves of too few coefficients are left out.
    pub fn finish(self) -> Profiled {
        let Binned { grid, counted, first, sink, last, longest_silence } = self.bins.finish();
        let ((haar, pyramid), series) = sink;
        let shown = |octaves: Vec<Octave>| -> Vec<Octave> {
            octaves.into_iter().filter(Octave::is_shown).collect()
        };
        Profiled {
            packets: self.packets,
            bytes: self.bytes,
            ends: self.ends,
            width: grid.width(),
            energy: shown(haar.octaves()),
            logscale: shown(pyramid.octaves()),
            rates: RateOverTime::of(Binned {
                grid,
                counted,
                first,
                sink: series,
                last,
                longest_silence,
            }),
            peaks: self.peaks.rates(),
        }
    }
}
