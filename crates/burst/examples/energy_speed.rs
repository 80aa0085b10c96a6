//! How fast energies, gaps and trains are measured, on columns in memory; one JSON object.
//!
//! `cargo run --release -p trustbed-burst --example energy_speed [PACKETS [ROUNDS]]`. Each round
//! runs everything once, in turn, so that whatever else the machine does hits all of them; the
//! median round counts. `sum` is a plain pass that adds up both columns: what the memory allows.
#![allow(clippy::print_stdout, reason = "a program")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a stopwatch needs a clock; the measures have none"
)]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use trustbed_burst::{
    BinGrid, Binning, BurstError, Counted, Gaps, HaarEnergy, Packets, PeakRates, Pyramid,
    RateSeries, Trains, Wavelet,
};
use trustbed_units::Span;

type Measure = fn(Packets<'_>) -> Result<u64, BurstError>;

/// What is measured, under its name in the output.
const MEASURES: [(&str, Measure); 9] = [
    ("sum", sum),
    ("haar_1ms", |packets| haar(packets, Span::from_millis(1))),
    ("haar_1ms_two_threads", |packets| haar_two_threads(packets, Span::from_millis(1))),
    ("haar_10us", |packets| haar(packets, Span::from_micros(10))),
    ("daubechies3_1ms", daubechies),
    ("rate_series_1ms", rates),
    ("peak_rates", peaks),
    ("gaps", gaps),
    ("trains", trains),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let packets = arguments.next().map_or(Ok(16_000_000), |text| text.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(7), |text| text.parse())?;
    let (times, lengths) = columns(packets);
    let columns = Packets::new(&times, &lengths)?;
    let mut seconds = vec![Vec::new(); MEASURES.len()];
    for _ in 0..rounds.max(1) {
        for ((_, measure), seconds) in MEASURES.iter().zip(&mut seconds) {
            let begin = Instant::now();
            black_box(measure(black_box(columns))?);
            seconds.push(begin.elapsed().as_secs_f64());
        }
    }
    let medians: Vec<f64> = seconds.iter_mut().map(|seconds| median(seconds)).collect();
    println!("{{\n  \"packets\": {packets},\n  \"rounds\": {rounds},");
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let entries: Vec<String> = MEASURES
        .iter()
        .zip(&medians)
        .map(|((name, _), &median)| {
            let (rate, ratio) = (packets as f64 / median, median / medians[0]);
            format!(
                "  \"{name}\": {{\"packets_per_second\": {rate:.0}, \"ratio_to_sum\": {ratio:.3}}}"
            )
        })
        .collect();
    println!("{}\n}}", entries.join(",\n"));
    Ok(())
}

/// Packets of 64 to 1518 bytes, on average 60 ns apart: 100 Gbit/s of mixed sizes.
fn columns(packets: usize) -> (Vec<i64>, Vec<u32>) {
    let (mut state, mut time) = (1_u64, 1_700_000_000_000_000_000);
    let mut draw = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut column = || {
        time += draw(121).cast_signed();
        (time, u32::try_from(64 + draw(1455)).unwrap_or(64))
    };
    (0..packets).map(|_| column()).unzip()
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

#[expect(clippy::unnecessary_wraps, reason = "as the others")]
fn sum(packets: Packets<'_>) -> Result<u64, BurstError> {
    let times = packets.times().iter().fold(0_i64, |sum, &time| sum.wrapping_add(time));
    Ok(times.cast_unsigned().wrapping_add(packets.bytes()))
}

fn binned(packets: Packets<'_>, width: Span) -> Result<Binning<HaarEnergy>, BurstError> {
    let mut binning = Binning::new(BinGrid::new(width)?, Counted::Bytes, HaarEnergy::new());
    binning.add(packets)?;
    Ok(binning)
}

fn octaves(binning: Binning<HaarEnergy>) -> u64 {
    binning.finish().sink.octaves().iter().map(|octave| octave.count).sum()
}

fn haar(packets: Packets<'_>, width: Span) -> Result<u64, BurstError> {
    binned(packets, width).map(octaves)
}

fn haar_two_threads(packets: Packets<'_>, width: Span) -> Result<u64, BurstError> {
    let (earlier, later) = packets.split_at(packets.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| binned(later, width));
        let earlier = binned(earlier, width)?;
        let later = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        earlier.merge(later).map(octaves)
    })
}

fn daubechies(packets: Packets<'_>) -> Result<u64, BurstError> {
    let mut binning = Binning::new(
        BinGrid::new(Span::from_millis(1))?,
        Counted::Bytes,
        Pyramid::new(Wavelet::Daubechies3),
    );
    binning.add(packets)?;
    Ok(binning.finish().sink.octaves().iter().map(|octave| octave.count).sum())
}

fn rates(packets: Packets<'_>) -> Result<u64, BurstError> {
    let mut binning =
        Binning::new(BinGrid::new(Span::from_millis(1))?, Counted::Bytes, RateSeries::default());
    binning.add(packets)?;
    Ok(binning.finish().last.map_or(0, |bin| bin.amount))
}

fn peaks(packets: Packets<'_>) -> Result<u64, BurstError> {
    let mut peaks = PeakRates::new(&PeakRates::SCALES, Counted::Bytes)?;
    peaks.add(packets)?;
    Ok(peaks.rates().iter().map(|peak| peak.amount).sum())
}

fn gaps(packets: Packets<'_>) -> Result<u64, BurstError> {
    let mut gaps = Gaps::new();
    gaps.add(packets)?;
    Ok(gaps.times().count())
}

fn trains(packets: Packets<'_>) -> Result<u64, BurstError> {
    let mut trains = Trains::new(Trains::GAP)?;
    trains.add(packets)?;
    Ok(trains.summary().packets.count())
}
