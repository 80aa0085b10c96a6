//! What was measured, as Python dictionaries under the names of the JSON contract.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trustbed_burst::{
    Averages, Binned, Binning, Counted, DropTail, Fit, FitRange, Gaps, HaarEnergy, Histogram,
    Octave, PeakRate, Profile, Profiled, Pyramid, RateOverTime, RateSeries, Row, Study, Summary,
    TrainSummary, Wavelet,
};
use trustbed_units::{Ns, Span};

use super::frames::Read;
use crate::facts;

/// Points of a cumulative distribution.
const CUMULATIVE: usize = 200;

type Dict<'py> = PyResult<Bound<'py, PyDict>>;

/// How a study is reported.
pub(super) struct Rendering {
    pub(super) wavelet: Wavelet,
    pub(super) range: FitRange,
    pub(super) points: usize,
}

/// Facts about the capture, as `analyze` gives them.
#[expect(clippy::cast_precision_loss, reason = "shares of counts")]
pub(super) fn capture<'py>(py: Python<'py>, read: &Read) -> Dict<'py> {
    let dict = facts::reading(py, &read.facts)?;
    let order = &read.order;
    let any = order.frames > 0;
    let share = |n: u64| any.then(|| n as f64 / order.frames as f64);
    dict.set_item("packets", order.frames)?;
    dict.set_item("first_ns", any.then_some(order.first.0))?;
    dict.set_item("last_ns", any.then_some(order.last.0))?;
    dict.set_item("clock_steps", order.steps_back)?;
    dict.set_item("clock_step_max_ns", (order.steps_back > 0).then_some(order.step_back_most.0))?;
    dict.set_item("clock_step_index", order.step_back_frame)?;
    dict.set_item("reordered_records", order.reordered)?;
    dict.set_item("reorder_max_ns", (order.reordered > 0).then_some(order.reordered_most.0))?;
    dict.set_item("timestamp_granularity_ns", any.then_some(order.granularity.0))?;
    dict.set_item("equal_timestamp_share", share(order.equal))?;
    dict.set_item("bunched_share", share(order.bunched))?;
    dict.set_item("filtered_records", read.left_out.filtered)?;
    dict.set_item("records_without_ip", read.left_out.without_ip)?;
    let cut = read.unsegmented.unwrap_or_default();
    dict.set_item("super_packets", cut.super_packets)?;
    dict.set_item("super_packet_frames", cut.frames)?;
    dict.set_item("super_packets_guessed", cut.guessed)?;
    dict.set_item("super_packets_not_spread", cut.not_spread)?;
    dict.set_item("super_packets_too_large", cut.too_large)?;
    Ok(dict)
}

/// Everything that a study found; what was not requested is not there.
pub(super) fn study<'py>(py: Python<'py>, study: Study, rendering: &Rendering) -> Dict<'py> {
    let dict = PyDict::new(py);
    dict.set_item("packets", study.packets)?;
    dict.set_item("bytes", study.bytes)?;
    dict.set_item("first_ns", study.ends.map(|ends| ends.0.0))?;
    dict.set_item("last_ns", study.ends.map(|ends| ends.1.0))?;
    if let Some(part) = study.windows {
        let rows = py.detach(|| part.finish(Ns::MIN));
        dict.set_item("windows", windows(py, &rows)?)?;
        dict.set_item("summary", summary(py, &Summary::of(&rows))?)?;
    }
    if let Some(energy) = study.energy {
        let (energy, logscale) = scales(py, energy, rendering)?;
        dict.set_item("energy", energy)?;
        dict.set_item("logscale", logscale)?;
    }
    if let (Some(binning), Some(peaks), Some((first, _))) = (study.rates, study.peaks, study.ends) {
        dict.set_item("rates", rates(py, binning, &peaks.rates(), first, rendering.points)?)?;
    }
    if let Some(found) = study.gaps {
        dict.set_item("gaps", gaps(py, &found)?)?;
    }
    if let Some(found) = study.trains {
        dict.set_item("trains", trains(py, &found.summary())?)?;
    }
    Ok(dict)
}

#[expect(clippy::cast_precision_loss, reason = "seconds since the epoch are a float")]
fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// Columns of the windows.
fn windows<'py>(py: Python<'py>, rows: &[Row]) -> Dict<'py> {
    let dict = PyDict::new(py);
    let column = |of: &dyn Fn(&Row) -> Option<f64>| rows.iter().map(of).collect::<Vec<_>>();
    dict.set_item("start_ns", rows.iter().map(|row| row.start.0).collect::<Vec<_>>())?;
    dict.set_item("start_seconds", column(&|row| Some(seconds(row.start.0))))?;
    dict.set_item("abw_bits_per_second", column(&|row| Some(row.abw_bits_per_second())))?;
    dict.set_item("max_q_bytes", column(&|row| row.peaks.map(|peaks| peaks.wait.bytes())))?;
    dict.set_item("max_q_sys_bytes", column(&|row| row.peaks.map(|peaks| peaks.system.bytes())))?;
    dict.set_item("packets", rows.iter().map(|row| row.packets).collect::<Vec<_>>())?;
    dict.set_item(
        "rate_bits_per_second",
        column(&|row| row.rate.map(trustbed_burst::Drain::bits_per_second)),
    )?;
    dict.set_item("partial", rows.iter().map(|row| row.partial).collect::<Vec<_>>())?;
    dict.set_item("windows", rows.iter().map(|row| row.windows).collect::<Vec<_>>())?;
    Ok(dict)
}

fn summary<'py>(py: Python<'py>, found: &Summary) -> Dict<'py> {
    let dict = PyDict::new(py);
    dict.set_item("windows", found.all.windows())?;
    dict.set_item("active_windows", found.active.windows())?;
    dict.set_item("partial_windows", found.partial)?;
    averages(&dict, &found.all)?;
    let active = PyDict::new(py);
    averages(&active, &found.active)?;
    dict.set_item("active", active)?;
    Ok(dict)
}

fn averages(dict: &Bound<'_, PyDict>, found: &Averages) -> PyResult<()> {
    dict.set_item("abw_mean_bits_per_second", found.abw_mean())?;
    dict.set_item("abw_max_bits_per_second", found.abw_max())?;
    dict.set_item("max_q_mean_bytes", found.wait_mean())?;
    dict.set_item("max_q_max_bytes", found.wait_max().map(trustbed_burst::Backlog::bytes))?;
    dict.set_item("max_q_sys_mean_bytes", found.system_mean())?;
    dict.set_item("max_q_sys_max_bytes", found.system_max().map(trustbed_burst::Backlog::bytes))
}

/// The energy plot and the logscale diagram.
fn scales<'py>(
    py: Python<'py>,
    binning: Binning<(HaarEnergy, RateSeries)>,
    rendering: &Rendering,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let Binned { grid, counted, first, sink: (haar, series), last, longest_silence } =
        binning.finish();
    let octaves = shown(haar.octaves());
    let energy = energies(py, &octaves, grid.width(), counted)?;
    let (octaves, width) = if rendering.wavelet == Wavelet::Haar {
        (octaves, grid.width())
    } else {
        py.detach(|| {
            let over_time = RateOverTime::of(Binned {
                grid,
                counted,
                first,
                sink: series,
                last,
                longest_silence,
            });
            let mut pyramid = Pyramid::new(rendering.wavelet);
            over_time.pour(&mut pyramid);
            (shown(pyramid.octaves()), over_time.grid.width())
        })
    };
    Ok((energy, logscale(py, &octaves, width, rendering)?))
}

fn energies<'py>(py: Python<'py>, octaves: &[Octave], width: Span, counted: Counted) -> Dict<'py> {
    let dict = PyDict::new(py);
    dict.set_item("bin_seconds", width.as_secs_f64())?;
    dict.set_item("counted", if counted == Counted::Bytes { "bytes" } else { "packets" })?;
    let plain =
        octaves.iter().map(|octave| point(py, octave, width)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("octaves", plain)?;
    Ok(dict)
}

/// A profile under the names that a study has them; moments are seconds since `origin`.
pub(crate) fn profile<'py>(py: Python<'py>, found: &Profiled, origin: Ns) -> Dict<'py> {
    let dict = PyDict::new(py);
    let lasted = found.ends.map(|(first, last)| (last - first).as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
    let mean =
        lasted.filter(|lasted| *lasted > 0.0).map(|lasted| found.bytes as f64 * 8.0 / lasted);
    dict.set_item("packets", found.packets)?;
    dict.set_item("bytes", found.bytes)?;
    dict.set_item("duration_seconds", lasted)?;
    dict.set_item("mean_rate_bits_per_second", mean)?;
    let width = found.width;
    dict.set_item("energy", energies(py, &found.energy, width, found.rates.counted)?)?;
    let rendering = Rendering {
        wavelet: Profile::WAVELET,
        range: FitRange::default(),
        points: Profile::POINTS,
    };
    dict.set_item("logscale", logscale(py, &found.logscale, width, &rendering)?)?;
    let since = |at: Ns| seconds(at.0.saturating_sub(origin.0)).max(0.0);
    let rates = PyDict::new(py);
    rates.set_item("bin_seconds", found.rates.grid.width().as_secs_f64())?;
    rates.set_item("points", points(&found.rates, since))?;
    rates.set_item("peaks", peaks(py, &found.peaks, since)?)?;
    dict.set_item("rates", rates)?;
    Ok(dict)
}

fn shown(mut octaves: Vec<Octave>) -> Vec<Octave> {
    octaves.retain(Octave::is_shown);
    octaves
}

fn point<'py>(py: Python<'py>, octave: &Octave, width: Span) -> Dict<'py> {
    let dict = PyDict::new(py);
    dict.set_item("octave", octave.octave)?;
    dict.set_item("scale_seconds", octave.scale(width).as_secs_f64())?;
    dict.set_item("count", octave.count)?;
    dict.set_item("energy", octave.energy())?;
    Ok(dict)
}

fn logscale<'py>(
    py: Python<'py>,
    octaves: &[Octave],
    width: Span,
    rendering: &Rendering,
) -> Dict<'py> {
    let dict = PyDict::new(py);
    let name = match rendering.wavelet {
        Wavelet::Haar => "haar",
        Wavelet::Daubechies2 => "daubechies2",
        Wavelet::Daubechies3 => "daubechies3",
    };
    dict.set_item("wavelet", name)?;
    dict.set_item("bin_seconds", width.as_secs_f64())?;
    let points = PyList::empty(py);
    for octave in octaves {
        let point = point(py, octave, width)?;
        point.set_item("y", octave.corrected())?;
        point.set_item("low", octave.interval().map(|interval| interval.0))?;
        point.set_item("high", octave.interval().map(|interval| interval.1))?;
        points.append(point)?;
    }
    dict.set_item("octaves", points)?;
    dict.set_item("fit", Fit::of(octaves, rendering.range).map(|fit| line(py, &fit)).transpose()?)?;
    Ok(dict)
}

fn line<'py>(py: Python<'py>, fit: &Fit) -> Dict<'py> {
    let dict = PyDict::new(py);
    let alpha = fit.alpha_interval();
    dict.set_item("first", fit.first)?;
    dict.set_item("last", fit.last)?;
    dict.set_item("used", fit.used)?;
    dict.set_item("alpha", fit.alpha)?;
    dict.set_item("alpha_low", alpha.0)?;
    dict.set_item("alpha_high", alpha.1)?;
    dict.set_item("hurst", fit.hurst())?;
    dict.set_item("hurst_low", fit.hurst_interval().map(|interval| interval.0))?;
    dict.set_item("hurst_high", fit.hurst_interval().map(|interval| interval.1))?;
    dict.set_item("quality", fit.quality)?;
    dict.set_item("rejected", fit.is_rejected())?;
    dict.set_item("nonstationary", fit.is_nonstationary())?;
    Ok(dict)
}

/// Rate over time in at most about so many points: in wider bins, if need be.
fn rates<'py>(
    py: Python<'py>,
    binning: Binning<RateSeries>,
    peaks: &[PeakRate],
    first: Ns,
    points: usize,
) -> Dict<'py> {
    let dict = PyDict::new(py);
    let binned = binning.finish();
    let requested = binned.grid.width();
    let silence = binned.longest_silence.map_or(0.0, |silence| {
        #[expect(clippy::cast_precision_loss, reason = "a length of time for people")]
        let bins = silence.count as f64;
        bins * requested.as_secs_f64()
    });
    let over_time = py.detach(|| RateOverTime::of(binned).at_most(points));
    let width = over_time.grid.width();
    let since = |at: Ns| seconds(at.0.saturating_sub(first.0));
    dict.set_item("asked_bin_seconds", requested.as_secs_f64())?;
    dict.set_item("bin_seconds", width.as_secs_f64())?;
    dict.set_item("longest_silence_seconds", silence)?;
    dict.set_item("points", self::points(&over_time, since))?;
    dict.set_item("peaks", self::peaks(py, peaks, |at| seconds(at.0))?)?;
    Ok(dict)
}

/// Moments and rates in bit/s; of a silence, its first and its last bin.
fn points(over_time: &RateOverTime, since: impl Fn(Ns) -> f64) -> Vec<(f64, f64)> {
    let width = over_time.grid.width();
    let mut drawn = Vec::new();
    for run in over_time.runs() {
        let rate = over_time.per_second(run.amount) * 8.0;
        drawn.push((since(run.start), rate));
        if run.bins > 1 {
            let last =
                Span(width.0.saturating_mul(i64::try_from(run.bins - 1).unwrap_or(i64::MAX)));
            drawn.push((since(run.start + last), rate));
        }
    }
    drawn
}

fn peaks<'py>(
    py: Python<'py>,
    found: &[PeakRate],
    since: impl Fn(Ns) -> f64,
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for peak in found {
        let one = PyDict::new(py);
        one.set_item("width_seconds", peak.width.as_secs_f64())?;
        one.set_item("bits_per_second", peak.per_second() * 8.0)?;
        one.set_item("start_seconds", since(peak.start))?;
        list.append(one)?;
    }
    Ok(list)
}

fn gaps<'py>(py: Python<'py>, found: &Gaps) -> Dict<'py> {
    let dict = PyDict::new(py);
    let times = found.times();
    in_seconds(&dict, "", times)?;
    #[expect(clippy::cast_precision_loss, reason = "gaps in seconds are floats")]
    let points: Vec<(f64, f64)> = times
        .cumulative(CUMULATIVE)
        .into_iter()
        .map(|(value, share)| (value as f64 / 1e9, share))
        .collect();
    dict.set_item("cumulative", points)?;
    Ok(dict)
}

/// Mean, median, 99 % and largest value of a distribution of nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "times in seconds are floats")]
fn in_seconds(dict: &Bound<'_, PyDict>, prefix: &str, times: &Histogram) -> PyResult<()> {
    dict.set_item(format!("{prefix}mean_seconds"), times.mean().map(|mean| mean / 1e9))?;
    dict.set_item(format!("{prefix}p50_seconds"), times.quantile(0.5).map(|value| value / 1e9))?;
    dict.set_item(format!("{prefix}p99_seconds"), times.quantile(0.99).map(|value| value / 1e9))?;
    dict.set_item(format!("{prefix}max_seconds"), times.max().map(|value| value as f64 / 1e9))
}

fn trains<'py>(py: Python<'py>, found: &TrainSummary) -> Dict<'py> {
    let dict = PyDict::new(py);
    dict.set_item("gap_seconds", found.gap.as_secs_f64())?;
    dict.set_item("trains", found.packets.count())?;
    dict.set_item("packets_mean", found.packets.mean())?;
    dict.set_item("packets_p50", found.packets.quantile(0.5))?;
    dict.set_item("packets_p99", found.packets.quantile(0.99))?;
    dict.set_item("packets_max", found.packets.max())?;
    dict.set_item("bytes_mean", found.bytes.mean())?;
    dict.set_item("bytes_max", found.bytes.max())?;
    in_seconds(&dict, "duration_", &found.durations)?;
    in_seconds(&dict, "spacing_", &found.spacing)?;
    in_seconds(&dict, "pause_", &found.pauses)?;
    dict.set_item("longest_start_seconds", found.longest.map(|train| seconds(train.start.0)))?;
    Ok(dict)
}

/// A queue, and what it did to the packets.
pub(super) fn queue<'py>(py: Python<'py>, found: &DropTail) -> Dict<'py> {
    let dict = PyDict::new(py);
    let runs = found.loss_runs();
    dict.set_item("rate_bits_per_second", found.rate().0)?;
    dict.set_item("buffer_bytes", found.buffer().map(|buffer| buffer.0))?;
    dict.set_item("lost_packets", found.lost_packets())?;
    dict.set_item("lost_bytes", found.lost_bytes())?;
    dict.set_item("loss_rate", found.loss_of_packets())?;
    dict.set_item("loss_rate_bytes", found.loss_of_bytes())?;
    dict.set_item("loss_runs", runs.count())?;
    dict.set_item("loss_run_mean", runs.mean())?;
    dict.set_item("loss_run_max", runs.max())?;
    in_seconds(&dict, "wait_", found.waits())?;
    dict.set_item("deepest_bytes", found.deepest().bytes())?;
    Ok(dict)
}
