//! Burstiness against rate, σ(ρ): how deep a token bucket of rate ρ must be to pass the traffic
//! unchanged (Cruz, "A calculus for network delay, part I", IEEE Transactions on Information Theory
//! 37, 1991). It is the largest system backlog of a bottleneck of that rate.
//!
//! One pass over the packets serves all rates. The inner loop runs in floating point, but on whole
//! numbers below 2⁵³ only, where nothing is rounded; stretches that do not fit are measured in wide
//! integers. So the result is exact, and workers can share the rates among them. Rates of few
//! digits are fast for longer: [`default_rates`] has such. Parts of a capture that are measured
//! apart are joined as [`crate::Chunk`]s, one per rate, whose system peak is the same number.

use trustbed_units::{Ns, Rate};

use crate::bottleneck::measure;
use crate::cells::in_order;
use crate::drain::greatest_common_divisor;
use crate::{Backlog, BurstError, Drain, Packets};

/// Rates that are measured together in one unit.
const LANES: usize = 8;
/// Packets between two looks at what fits.
const BLOCK: usize = 2048;
/// The whole numbers that a double holds.
const EXACT: i128 = 1 << 53;
/// How many rates there are by default, besides the mean and twice the mean.
const GEOMETRIC: u32 = 48;

/// σ for a vector of rates, as packets come.
///
/// ```
/// use trustbed_burst::{Packets, Sigma};
/// use trustbed_units::Rate;
/// let mut sigma = Sigma::new(&[Rate(0), Rate(40_000_000)])?;
/// sigma.push(Packets::new(&[0, 100_000, 200_000], &[1000, 1000, 1500])?);
/// let depths: Vec<f64> = sigma.points().iter().map(|point| point.depth.bytes()).collect();
/// assert_eq!(depths, [3500.0, 2500.0]);
/// # Ok::<(), trustbed_burst::BurstError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sigma {
    rates: Vec<Rate>,
    groups: Vec<Group>,
    last: Option<Ns>,
    steps_back: u64,
    /// Time since the packet before, and length, of the packets of a block.
    steps: Vec<f64>,
    lengths: Vec<f64>,
}

/// One point of σ(ρ).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SigmaPoint {
    /// The rate of the token bucket, or of the link.
    pub rate: Rate,
    /// How deep the bucket, or the buffer in front of the link, must be.
    pub depth: Backlog,
}

/// Rates with one unit. Unused lanes repeat the last rate.
#[derive(Debug, Clone)]
struct Group {
    links: [Drain; LANES],
    backlog: [i128; LANES],
    peak: [i128; LANES],
}

impl Sigma {
    /// σ of these rates, in this order.
    ///
    /// # Errors
    /// [`BurstError::RateTooHigh`] beyond 10 Tbit/s. A rate of 0 is legal: σ(0) is the sum of all
    /// lengths.
    pub fn new(rates: &[Rate]) -> Result<Self, BurstError> {
        let links =
            rates.iter().map(|rate| Drain::at_most(*rate)).collect::<Result<Vec<_>, _>>()?;
        let groups = links.chunks(LANES).map(Group::new).collect();
        let (rates, room) = (rates.to_vec(), || Vec::with_capacity(BLOCK));
        Ok(Self { rates, groups, last: None, steps_back: 0, steps: room(), lengths: room() })
    }

    /// Takes packets. Those that come before the latest one are moved there and counted.
    pub fn push(&mut self, packets: Packets<'_>) {
        self.steps_back += in_order(self.last, packets, &mut |packets| {
            for block in packets.chunks(BLOCK) {
                self.on_block(block);
                self.last = block.last();
            }
        });
    }

    /// σ of every rate for the packets so far.
    pub fn points(&self) -> Vec<SigmaPoint> {
        let depths = self.groups.iter().flat_map(|group| group.links.iter().zip(group.peak));
        // The lanes that only fill the last group come last, and `zip` leaves them out.
        self.rates
            .iter()
            .zip(depths)
            .map(|(&rate, (link, peak))| SigmaPoint { rate, depth: link.backlog(peak) })
            .collect()
    }

    /// How many packets were moved forward because they came out of order.
    pub const fn steps_back(&self) -> u64 {
        self.steps_back
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "2⁵³ ns and more drain any backlog that is below 2⁵³, however they are rounded \
         or cut off"
    )]
    fn on_block(&mut self, block: Packets<'_>) {
        let Some(before) = self.last.or_else(|| block.first()) else { return };
        let mut last = before.0;
        self.steps.clear();
        self.steps.extend(
            block
                .times()
                .iter()
                .map(|&time| time.saturating_sub(std::mem::replace(&mut last, time)) as f64),
        );
        self.lengths.clear();
        self.lengths.extend(block.lengths().iter().map(|&length| f64::from(length)));
        let bytes = i128::from(block.bytes());
        for group in &mut self.groups {
            if group.fits(bytes) {
                group.walk(&self.steps, &self.lengths);
            } else {
                group.walk_wide(before.0, block);
            }
        }
    }
}

impl Group {
    fn new(links: &[Drain]) -> Self {
        let multiple = |a: u64, b: u64| a / greatest_common_divisor(a, b) * b;
        let per_byte = links.iter().fold(1, |unit, link| multiple(unit, link.denominator()));
        let last = links.len().saturating_sub(1);
        let links = std::array::from_fn(|lane| links[lane.min(last)].in_units(per_byte));
        Self { links, backlog: [0; LANES], peak: [0; LANES] }
    }

    /// Whether no backlog can leave the whole numbers of a double while so many bytes arrive.
    fn fits(&self, bytes: i128) -> bool {
        let added = bytes * i128::from(self.links[0].denominator());
        self.backlog.iter().chain(&self.peak).all(|units| units + added < EXACT)
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "whole numbers below 2⁵³, see `fits`"
    )]
    fn walk(&mut self, steps: &[f64], lengths: &[f64]) {
        let rates = self.links.map(|link| link.numerator() as f64);
        let per_byte = self.links[0].denominator() as f64;
        let mut backlog = self.backlog.map(|units| units as f64);
        let mut peak = self.peak.map(|units| units as f64);
        let packets = steps.iter().zip(lengths).map(|(step, length)| (*step, length * per_byte));
        walk(packets, &rates, &mut backlog, &mut peak);
        self.backlog = backlog.map(|units| units as i128);
        self.peak = peak.map(|units| units as i128);
    }

    fn walk_wide(&mut self, before: i64, block: Packets<'_>) {
        for (lane, link) in self.links.into_iter().enumerate() {
            let mut effect = None;
            measure(link, before, block, &mut effect);
            if let Some(effect) = effect {
                self.peak[lane] = self.peak[lane].max(effect.peaks(self.backlog[lane]).1);
                self.backlog[lane] = effect.end(self.backlog[lane]);
            }
        }
    }
}

/// The recursion for rates side by side. Apart, and with its state behind references, so that it is
/// compiled to vector instructions.
#[inline(never)]
fn walk(
    packets: impl Iterator<Item = (f64, f64)>,
    rates: &[f64; LANES],
    backlog: &mut [f64; LANES],
    peak: &mut [f64; LANES],
) {
    let (mut waiting, mut highest) = (*backlog, *peak);
    for (step, units) in packets {
        for lane in 0..LANES {
            // max(0, q − rate·Δ) + L, written so that only an addition and a maximum wait for the
            // packet before; and not with `f64::max`, whose care for what is not a number takes
            // three instructions more.
            let busy = waiting[lane] + (units - rates[lane] * step);
            waiting[lane] = if busy > units { busy } else { units };
            highest[lane] =
                if waiting[lane] > highest[lane] { waiting[lane] } else { highest[lane] };
        }
    }
    (*backlog, *peak) = (waiting, highest);
}

/// 48 rates from 1 % of the mean to the link rate in equal steps of the logarithm, the mean and
/// twice the mean; rising, without repetition.
///
/// Where the link rate is not known, the highest rate over a millisecond is used instead. All but
/// the link rate are rounded to three digits, so that [`Sigma`] is fast. Empty when the mean is not
/// above 0.
#[expect(clippy::cast_precision_loss, reason = "rates that are rounded to three digits")]
pub fn default_rates(mean_bits_per_second: f64, link: Rate) -> Vec<Rate> {
    if !(mean_bits_per_second.is_finite() && mean_bits_per_second > 0.0) {
        return Vec::new();
    }
    let lowest = mean_bits_per_second / 100.0;
    let step = (link.0 as f64 / lowest).ln().max(0.0) / f64::from(GEOMETRIC - 1);
    let geometric =
        (0..GEOMETRIC - 1).map(|step_number| lowest * (step * f64::from(step_number)).exp());
    let mut rates: Vec<Rate> = geometric
        .chain([mean_bits_per_second, 2.0 * mean_bits_per_second])
        .map(three_digits)
        .collect();
    rates.push(link);
    rates.sort_unstable();
    rates.dedup();
    rates
}

/// A rate, rounded to three digits: [`Sigma`] is fast with such, and people read them well. At
/// least 1 bit/s.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float becomes the nearest integer there is"
)]
pub fn three_digits(bits_per_second: f64) -> Rate {
    let nearest = (bits_per_second.round() as u64).max(1);
    let unit = 10_u64.pow(nearest.ilog10().saturating_sub(2));
    Rate((nearest.saturating_add(unit / 2)) / unit * unit)
}
