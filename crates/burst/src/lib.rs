//! How bursty traffic is: the queue it would build in front of a slower link, and on which time
//! scales its energy lies.
//!
//! Everything here works on two columns, the arrival times and the lengths of packets ([`Arrivals`]
//! owns them, [`Packets`] is a look at a stretch of them), which are in order of time. No measure
//! changes the traffic it describes: a sender that would have slowed down behind the imagined link
//! does not slow down here (open loop), so a queue or a loss found here can over-, never
//! under-state what a sender that reacts would see.

mod arrivals;
mod basis;
mod bins;
mod bottleneck;
mod cells;
mod daubechies;
mod drain;
mod energy;
mod error;
mod gaps;
mod grid;
mod histogram;
mod hurst;
mod logscale;
mod order;
mod profile;
mod queue;
mod rates;
mod rows;
mod sigma;
mod special;
mod study;
mod summary;
mod trains;
mod windows;

pub use arrivals::{Arrivals, Packets};
pub use basis::Basis;
pub use bins::{Bin, BinGrid, BinSink, Binned, Binning, Counted, MergeableSink, Silence};
pub use bottleneck::{Chunk, Effect, Peaks, Server};
pub use daubechies::{Pyramid, Wavelet};
pub use drain::{Backlog, Drain};
pub use energy::{HaarEnergy, HaarLevel};
pub use error::BurstError;
pub use gaps::Gaps;
pub use grid::{Grid, Mode, Plan};
pub use histogram::Histogram;
pub use hurst::{Fit, FitRange};
pub use logscale::Octave;
pub use order::{Order, OrderFacts};
pub use profile::{Profile, Profiled};
pub use queue::{DropTail, Sweep};
pub use rates::{Fullest, PeakRate, PeakRates, RateOverTime, RateSeries, Run};
pub use rows::Row;
pub use sigma::{Sigma, SigmaPoint, default_rates, three_digits};
pub use study::{Study, StudyPlan};
pub use summary::{Averages, Summary};
pub use trains::{Train, TrainSummary, Trains};
pub use windows::{Part, Windows};
