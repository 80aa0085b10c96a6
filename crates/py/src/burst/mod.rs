//! Burstiness for Python: a capture read into columns ([`Arrivals`]), and what is measured on them.
//! What to measure, and at which rates, is decided there.

mod columns;
mod frames;
mod measure;
mod model;
mod streams;

use std::convert::Infallible;
use std::io;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use trustbed_burst::{
    Basis, BinGrid, BurstError, Counted, Drain, FitRange, Grid, Mode, Plan, StudyPlan, Wavelet,
};
use trustbed_capture::{Input, OpenError};
use trustbed_flow::Spacing;
use trustbed_units::{Ns, Rate, Size, Span};
use trustbed_wire::Filter;

use crate::tables::{capture_error, interruptible};
use frames::{Read, ReadOptions};
use measure::Chosen;
pub(crate) use model::profile;
use streams::{By, Stream};

/// What an Ethernet frame takes on the wire beyond what a capture shows of it.
const GAP: u32 = 24;

/// Why there is no result.
#[derive(Debug)]
enum Fault<E = Infallible> {
    Open(OpenError),
    /// The temporary file for columns.
    Columns(io::Error),
    Burst(BurstError),
    Caller(E),
    /// Another fault came before, or the caller stopped it.
    Stopped,
}

impl Fault {
    fn widened<E>(self) -> Fault<E> {
        match self {
            Self::Open(error) => Fault::Open(error),
            Self::Columns(error) => Fault::Columns(error),
            Self::Burst(error) => Fault::Burst(error),
            Self::Stopped => Fault::Stopped,
            Self::Caller(never) => match never {},
        }
    }
}

impl<E> From<OpenError> for Fault<E> {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

impl<E> From<io::Error> for Fault<E> {
    fn from(error: io::Error) -> Self {
        Self::Columns(error)
    }
}

impl<E> From<BurstError> for Fault<E> {
    fn from(error: BurstError) -> Self {
        Self::Burst(error)
    }
}

impl Fault<PyErr> {
    fn into_python(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Caller(error) => error,
            Self::Open(error) => capture_error(py, error.to_string(), error.hint()),
            Self::Columns(error) => {
                let hint = "name a directory with room for 20 bytes a packet: `TMPDIR=/var/tmp \
                    trustbed burst …`";
                capture_error(
                    py,
                    format!("the temporary file for times and lengths failed: {error}"),
                    hint.to_owned(),
                )
            }
            Self::Burst(error) => PyValueError::new_err(error.to_string()),
            Self::Stopped => PyValueError::new_err("the measurement was stopped"),
        }
    }
}

/// The packets of a capture as times and lengths.
#[pyclass(frozen, module = "trustbed._core")]
#[derive(Debug)]
pub(crate) struct Arrivals {
    read: Read,
    streams: Vec<Stream>,
}

/// Reads a capture.
#[pyfunction]
#[pyo3(signature = (
    paths, *, basis="frame", by=None, filter=None, offload="stacked", link_rate=None, inner=false,
    numbered=false, progress=None
))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "keyword arguments of a Python function"
)]
pub(crate) fn arrivals(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    basis: &str,
    by: Option<&str>,
    filter: Option<&str>,
    offload: &str,
    link_rate: Option<u64>,
    inner: bool,
    numbered: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Arrivals> {
    let inputs: Vec<Input> = paths.iter().map(|path| Input::from(path.as_path())).collect();
    let options = ReadOptions {
        basis: Basis::named(basis).ok_or_else(|| unknown("basis", basis))?,
        by: by.map(|by| By::named(by).ok_or_else(|| unknown("by", by))).transpose()?,
        filter: filter.map(read_filter).transpose()?,
        spacing: match (offload, link_rate) {
            ("as-captured", _) => None,
            ("stacked", _) => Some(Spacing::Stacked),
            ("spread", Some(rate)) if rate > 0 => {
                Some(Spacing::Spread { rate: Rate(rate), gap: GAP })
            }
            ("spread", _) => {
                return Err(PyValueError::new_err(
                    "frames can be spread only at the rate of a link",
                ));
            }
            _ => return Err(unknown("offload", offload)),
        },
        inner,
        numbered,
    };
    let mut report = interruptible(progress);
    let read = py
        .detach(|| frames::read(&inputs, &options, &mut report))
        .map_err(|fault| fault.into_python(py))?;
    let streams = read.streams.by_size(&read.facts);
    Ok(Arrivals { read, streams })
}

/// The options of a study.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct StudyOptions {
    /// None: no windows.
    mode: Option<String>,
    rate: Option<u64>,
    window_ns: i64,
    /// Where a window begins; none: at multiples of its length since the epoch.
    origin_ns: Option<i64>,
    /// None: no energy.
    counted: Option<String>,
    bin_ns: i64,
    wavelet: String,
    octaves: (Option<u32>, Option<u32>),
    rates: bool,
    gaps: bool,
    train_gap_ns: Option<i64>,
    /// Points of rate over time, at most.
    points: usize,
}

impl StudyOptions {
    fn plan(&self) -> PyResult<StudyPlan> {
        let wrong = |error: BurstError| PyValueError::new_err(error.to_string());
        let length = Span(self.window_ns);
        let grid = self.origin_ns.map_or_else(
            || Grid::aligned_to_epoch(length),
            |origin| Grid::beginning_at(Ns(origin), length),
        );
        let mode = match (self.mode.as_deref(), self.rate) {
            (None, _) => None,
            (Some("static"), Some(rate)) => {
                Some(Mode::Static(Drain::at(Rate(rate)).map_err(wrong)?))
            }
            (Some("static"), None) => {
                return Err(PyValueError::new_err("mode=static needs the rate of the bottleneck"));
            }
            (Some("dynamic-same"), _) => Some(Mode::DynamicSame),
            (Some("dynamic-previous"), _) => Some(Mode::DynamicPrevious),
            (Some("dynamic-same-carry"), _) => Some(Mode::DynamicSameCarry),
            (Some(other), _) => return Err(unknown("mode", other)),
        };
        let windows =
            mode.map(|mode| grid.map(|grid| Plan { mode, grid })).transpose().map_err(wrong)?;
        let bins = BinGrid::new(Span(self.bin_ns)).map_err(wrong)?;
        let counted = match self.counted.as_deref() {
            None => None,
            Some("bytes") => Some(Counted::Bytes),
            Some("packets") => Some(Counted::Packets),
            Some(other) => return Err(unknown("count", other)),
        };
        Ok(StudyPlan {
            windows,
            energy: counted.map(|counted| (bins, counted)),
            rates: self.rates.then_some(bins),
            gaps: self.gaps,
            trains: self.train_gap_ns.map(Span),
        })
    }
}

fn wavelet_named(name: &str) -> PyResult<Wavelet> {
    match name {
        "haar" => Ok(Wavelet::Haar),
        "daubechies2" => Ok(Wavelet::Daubechies2),
        "daubechies3" => Ok(Wavelet::Daubechies3),
        other => Err(unknown("wavelet", other)),
    }
}

#[pymethods]
impl Arrivals {
    /// Facts about files, interfaces and clock.
    #[getter]
    fn capture<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        model::capture(py, &self.read)
    }

    /// Damage in the files.
    #[getter]
    fn problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        crate::facts::problems(py, &self.read.facts)
    }

    /// How many packets are measured.
    #[getter]
    fn packets(&self) -> u64 {
        self.read.columns.packets()
    }

    /// When the first and the last of them arrived, in nanoseconds since the epoch; none without
    /// packets.
    #[getter]
    fn ends(&self) -> Option<(i64, i64)> {
        self.read.columns.ends()
    }

    /// Name, packets and bytes of every stream, the largest first.
    #[getter]
    fn streams(&self) -> Vec<(String, u64, u64)> {
        self.streams
            .iter()
            .map(|stream| (stream.name.clone(), stream.amount.packets, stream.amount.bytes))
            .collect()
    }

    /// Packets and bytes of streams that were too many to be distinguished.
    #[getter]
    fn beyond(&self) -> (u64, u64) {
        let beyond = self.read.streams.beyond();
        (beyond.packets, beyond.bytes)
    }

    /// Windows, energy, rates, gaps and trains of all packets, or of one stream.
    #[pyo3(signature = (options, *, stream=None, workers=1, progress=None))]
    #[expect(clippy::needless_pass_by_value, reason = "arguments of a Python function")]
    fn study<'py>(
        &self,
        py: Python<'py>,
        options: StudyOptions,
        stream: Option<usize>,
        workers: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (plan, wavelet) = (options.plan()?, wavelet_named(&options.wavelet)?);
        let range = FitRange { first: options.octaves.0, last: options.octaves.1 };
        let mut report = interruptible(progress);
        let study = py.detach(|| {
            self.chosen(stream, |chosen| {
                measure::study(chosen, &plan, workers, &mut || report(0, None))
            })
        });
        let study = study.map_err(|fault| fault.into_python(py))?;
        model::study(py, study, &model::Rendering { wavelet, range, points: options.points })
    }

    /// σ in bytes for each rate, and each queue of a rate and a buffer (none: not limited).
    #[pyo3(signature = (rates, queues, *, stream=None, workers=1, progress=None))]
    fn load<'py>(
        &self,
        py: Python<'py>,
        rates: Vec<u64>,
        queues: Vec<(u64, Option<u64>)>,
        stream: Option<usize>,
        workers: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Vec<f64>, Bound<'py, PyList>)> {
        let rates: Vec<Rate> = rates.into_iter().map(Rate).collect();
        let queues: Vec<_> =
            queues.into_iter().map(|(rate, buffer)| (Rate(rate), buffer.map(Size))).collect();
        let mut report = interruptible(progress);
        let done = py.detach(|| {
            self.chosen(stream, |chosen| {
                measure::load(chosen, &rates, &queues, workers, &mut || report(0, None))
            })
        });
        let (points, queues) = done.map_err(|fault| fault.into_python(py))?;
        let queues =
            queues.iter().map(|queue| model::queue(py, queue)).collect::<PyResult<Vec<_>>>()?;
        Ok((points.iter().map(|point| point.depth.bytes()).collect(), PyList::new(py, queues)?))
    }

    /// The packets that a queue of that rate and buffer loses: numbers of their records (0: not
    /// known), times in nanoseconds and lengths, each as little-endian integers of 64, 64 and 32
    /// bits.
    #[pyo3(signature = (rate, buffer, *, stream=None, progress=None))]
    fn lost<'py>(
        &self,
        py: Python<'py>,
        rate: u64,
        buffer: u64,
        stream: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<[Bound<'py, PyBytes>; 3]> {
        let mut report = interruptible(progress);
        let lost = py.detach(|| {
            self.chosen(stream, |chosen| {
                measure::lost(chosen, Rate(rate), Size(buffer), &mut || report(0, None))
            })
        });
        let lost = lost.map_err(|fault| fault.into_python(py))?;
        let records: Vec<u8> =
            lost.records.iter().flat_map(|record| record.to_le_bytes()).collect();
        let times: Vec<u8> = lost.times.iter().flat_map(|time| time.to_le_bytes()).collect();
        let lengths: Vec<u8> =
            lost.lengths.iter().flat_map(|length| length.to_le_bytes()).collect();
        Ok([PyBytes::new(py, &records), PyBytes::new(py, &times), PyBytes::new(py, &lengths)])
    }
}

impl Arrivals {
    /// Does something with the packets of a stream.
    fn chosen<T>(&self, stream: Option<usize>, with: impl FnOnce(&Chosen<'_>) -> T) -> T {
        let columns = &self.read.columns;
        let Some(stream) = stream.and_then(|index| self.streams.get(index)) else {
            return with(&Chosen { columns, owned: None });
        };
        match stream.marks[..] {
            [mark] => with(&Chosen { columns, owned: Some(&|other| other == mark) }),
            _ => with(&Chosen {
                columns,
                owned: Some(&|other| stream.marks.binary_search(&other).is_ok()),
            }),
        }
    }
}

fn unknown(option: &str, value: &str) -> PyErr {
    PyValueError::new_err(format!("{option}={value:?} is not known"))
}

fn read_filter(text: &str) -> PyResult<Filter> {
    text.parse::<Filter>().map_err(|error| PyValueError::new_err(error.to_string()))
}

/// What is wrong with a filter, if anything is.
#[pyfunction]
pub(crate) fn check_filter(text: &str) -> PyResult<()> {
    read_filter(text).map(|_| ())
}

/// Nanoseconds of `20ms`.
#[pyfunction]
pub(crate) fn parse_span(text: &str) -> PyResult<i64> {
    text.parse::<Span>()
        .map(|span| span.0)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Bytes of `64KiB`.
#[pyfunction]
pub(crate) fn parse_size(text: &str) -> PyResult<u64> {
    text.parse::<Size>()
        .map(|size| size.0)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The rates at which σ is shown, in bit/s, rising.
#[pyfunction]
pub(crate) fn default_rates(mean: f64, link: u64) -> Vec<u64> {
    trustbed_burst::default_rates(mean, Rate(link)).into_iter().map(|rate| rate.0).collect()
}

/// The wavelet coefficients of a series, octave by octave.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a list from Python arrives as a vector")]
pub(crate) fn wavelet_details(series: Vec<f64>, wavelet: &str) -> PyResult<Vec<Vec<f64>>> {
    Ok(wavelet_named(wavelet)?.details(&series))
}

/// A rate in bit/s, rounded to three digits, as those of `default_rates` are.
#[pyfunction]
pub(crate) fn three_digits(rate: f64) -> u64 {
    trustbed_burst::three_digits(rate).0
}
