//! Charts of a transfer as columns.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trustbed_analyze::{Charts, Point, Stretch, Thinned};
use trustbed_units::{Ns, Span};

/// Bins of the throughput chart.
const BINS: usize = 200;
const CATEGORIES: [&str; 3] = ["spacing", "window_wait", "recovery_wait"];

/// What is drawn of one transfer.
#[derive(Debug)]
pub(crate) struct Drawing {
    pub(crate) start: Ns,
    pub(crate) duration: Option<Span>,
    pub(crate) charts: Box<Charts>,
}

/// The `series` dictionary of one transfer.
pub(crate) fn series<'py>(py: Python<'py>, drawing: &Drawing) -> PyResult<Bound<'py, PyDict>> {
    let charts = &drawing.charts;
    let drawn = &charts.series;
    let dict = PyDict::new(py);
    let duration = drawing.duration.map(Span::as_secs_f64);
    dict.set_item("start_ns", drawing.start.0)?;
    dict.set_item("duration_seconds", duration)?;
    dict.set_item("segments", segments(py, charts)?)?;
    dict.set_item("acks", columns(py, &drawn.acks, &["offset"])?)?;
    dict.set_item("rtt", columns(py, &drawn.rtt, &["seconds"])?)?;
    dict.set_item("rto", columns(py, &drawn.rto, &["raw_seconds", "linux_seconds"])?)?;
    dict.set_item("outstanding", columns(py, &drawn.outstanding, &["bytes", "window_bytes"])?)?;
    dict.set_item("spacing", with_category(py, &drawn.spacing)?)?;
    dict.set_item("response", with_category(py, &drawn.response)?)?;
    dict.set_item("rtt_cdf", cumulative(py, &charts.rtt)?)?;
    dict.set_item("spacing_cdf", cumulative(py, &charts.spacing)?)?;
    dict.set_item("response_cdf", cumulative(py, &charts.response)?)?;
    dict.set_item("throughput", throughput(py, &drawn.acks, duration)?)?;
    dict.set_item(
        "closeups",
        drawn.stretches.all().iter().map(|s| closeup(py, s)).collect::<PyResult<Vec<_>>>()?,
    )?;
    Ok(dict)
}

/// A stretch with every packet in it; `responses` are the silences after the window had opened, by
/// the moment that ended them.
fn closeup<'py>(py: Python<'py>, stretch: &Stretch) -> PyResult<Bound<'py, PyDict>> {
    let seconds = |span: Span| span.as_secs_f64();
    let segments = PyDict::new(py);
    segments
        .set_item("t", stretch.segments.iter().map(|s| seconds(s.since)).collect::<Vec<_>>())?;
    segments.set_item("low", stretch.segments.iter().map(|s| s.low).collect::<Vec<_>>())?;
    segments.set_item("high", stretch.segments.iter().map(|s| s.high).collect::<Vec<_>>())?;
    segments
        .set_item("kind", stretch.segments.iter().map(|s| s.stroke.name()).collect::<Vec<_>>())?;
    let (acks, window) = (PyDict::new(py), PyDict::new(py));
    let times: Vec<f64> = stretch.acks.iter().map(|a| seconds(a.since)).collect();
    acks.set_item("t", &times)?;
    acks.set_item("offset", stretch.acks.iter().map(|a| a.offset).collect::<Vec<_>>())?;
    window.set_item("t", &times)?;
    window.set_item("offset", stretch.acks.iter().map(|a| a.edge).collect::<Vec<_>>())?;
    let responses = PyDict::new(py);
    let inside = stretch.segments.iter().filter_map(|s| Some((s.since, s.response?)));
    let (ended, lasted): (Vec<f64>, Vec<f64>) =
        inside.chain(stretch.beyond).map(|(t, r)| (seconds(t), seconds(r))).unzip();
    responses.set_item("t", ended)?;
    responses.set_item("seconds", lasted)?;
    let dict = PyDict::new(py);
    dict.set_item("start_seconds", seconds(stretch.start))?;
    dict.set_item("duration_seconds", seconds(stretch.end - stretch.start))?;
    dict.set_item("segments", segments)?;
    dict.set_item("acks", acks)?;
    dict.set_item("window", window)?;
    dict.set_item("responses", responses)?;
    Ok(dict)
}

fn columns<'py>(py: Python<'py>, line: &Thinned, names: &[&str]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let points = line.points();
    dict.set_item("t", points.iter().map(|p| p.since.as_secs_f64()).collect::<Vec<_>>())?;
    for (name, value) in
        names.iter().zip([(|p: &Point| p.value) as fn(&Point) -> f64, |p| p.beside])
    {
        dict.set_item(name, points.iter().map(value).collect::<Vec<_>>())?;
    }
    Ok(dict)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "category numbers 0 to 2"
)]
fn with_category<'py>(py: Python<'py>, line: &Thinned) -> PyResult<Bound<'py, PyDict>> {
    let dict = columns(py, line, &["seconds"])?;
    let name = |p: &Point| CATEGORIES.get(p.beside as usize).copied().unwrap_or("spacing");
    dict.set_item("category", line.points().iter().map(name).collect::<Vec<_>>())?;
    Ok(dict)
}

/// Segments of all kinds in the order of time.
fn segments<'py>(py: Python<'py>, charts: &Charts) -> PyResult<Bound<'py, PyDict>> {
    let drawn = &charts.series;
    let mut all: Vec<(f64, f64, f64, &str)> = Vec::new();
    all.extend(
        drawn.new.points().iter().map(|p| (p.since.as_secs_f64(), p.beside, p.value, "new")),
    );
    for (line, kind) in [(&drawn.retransmissions, "retransmission"), (&drawn.fills, "fill")] {
        all.extend(line.points().iter().map(|p| (p.since.as_secs_f64(), p.value, p.beside, kind)));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let dict = PyDict::new(py);
    dict.set_item("t", all.iter().map(|s| s.0).collect::<Vec<_>>())?;
    dict.set_item("low", all.iter().map(|s| s.1).collect::<Vec<_>>())?;
    dict.set_item("high", all.iter().map(|s| s.2).collect::<Vec<_>>())?;
    dict.set_item("kind", all.iter().map(|s| s.3).collect::<Vec<_>>())?;
    Ok(dict)
}

fn cumulative<'py>(py: Python<'py>, points: &[(f64, f64)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("seconds", points.iter().map(|p| p.0 / 1e9).collect::<Vec<_>>())?;
    dict.set_item("share", points.iter().map(|p| p.1).collect::<Vec<_>>())?;
    Ok(dict)
}

/// Bytes acknowledged per bin of time, as a rate.
#[expect(clippy::cast_precision_loss, reason = "bin numbers")]
fn throughput<'py>(
    py: Python<'py>,
    acks: &Thinned,
    duration: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let (mut times, mut rates) = (Vec::new(), Vec::new());
    let points = acks.points();
    if let (Some(duration), true) = (duration.filter(|d| *d > 0.0), points.len() > 1) {
        let bins = BINS.min(points.len());
        let width = duration / bins as f64;
        let mut at = 0;
        let mut before = 0.0;
        for bin in 0..bins {
            let end = (bin + 1) as f64 * width;
            while at < points.len() && points[at].since.as_secs_f64() <= end {
                at += 1;
            }
            // Points are thinned: counting those in a bin would beat with the bins, a straight line
            // between two of them does not.
            let reached = match (at.checked_sub(1).map(|last| points[last]), points.get(at)) {
                (Some(last), Some(next)) => {
                    let (from, to) = (last.since.as_secs_f64(), next.since.as_secs_f64());
                    last.value + (next.value - last.value) * (end - from) / (to - from)
                }
                (Some(last), None) => last.value,
                (None, _) => 0.0,
            };
            times.push((bin as f64 + 0.5) * width);
            rates.push(((reached - before) / width).max(0.0));
            before = reached;
        }
    }
    dict.set_item("t", times)?;
    dict.set_item("bytes_per_second", rates)?;
    Ok(dict)
}
