//! What Python sees: a function, an analysis, tables that stream Arrow batches.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{RecordBatchIterator, RecordBatchReader};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pyo3_arrow::PyRecordBatchReader;
use trustbed_analyze::{At, Options, SHARDS};
use trustbed_capture::{Input, OpenError};
use trustbed_flow::Limits;
use trustbed_record::{Readable, Reader, RecordError};
use trustbed_units::Rate;
use trustbed_wire::DecodeOptions;

use crate::charts::Drawing;
use crate::outcome::{Collected, Collector, Drawn};
use crate::run::{Ended, Passed, Plan, hash_secret, pass};
use crate::{CaptureError, charts, facts};

/// Rows in order. Every stream starts again at the first row.
#[pyclass(frozen, module = "trustbed._core")]
#[derive(Debug, Clone)]
pub(crate) struct Table {
    parts: Vec<Arc<dyn Readable>>,
}

impl Table {
    pub(crate) fn new(sources: impl IntoIterator<Item = impl Readable + 'static>) -> Self {
        let shared = |source| Arc::new(source) as Arc<dyn Readable>;
        Self { parts: sources.into_iter().map(shared).collect() }
    }

    /// The rows of the first source.
    pub(crate) fn first(&self) -> Self {
        Self { parts: self.parts.iter().take(1).cloned().collect() }
    }
}

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(first) = self.parts.first() else {
            return Err(PyValueError::new_err("a table without parts"));
        };
        let schema = first.schema();
        let readers = self
            .parts
            .iter()
            .map(|p| p.read())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| io_error(&e))?;
        let joined: Box<dyn RecordBatchReader + Send> =
            Box::new(RecordBatchIterator::new(readers.into_iter().flatten(), schema));
        Bound::new(py, PyRecordBatchReader::new(joined))?
            .call_method1("__arrow_c_stream__", (requested_schema,))
    }

    fn __len__(&self) -> usize {
        self.parts.iter().map(|p| usize::try_from(p.rows()).unwrap_or(usize::MAX)).sum()
    }
}

/// What one pass over a capture found.
#[pyclass(frozen, module = "trustbed._core")]
pub(crate) struct Analysis {
    #[pyo3(get)]
    pub(crate) capture: Py<PyDict>,
    #[pyo3(get)]
    pub(crate) skips: Py<PyList>,
    #[pyo3(get)]
    pub(crate) problems: Py<PyList>,
    #[pyo3(get)]
    pub(crate) connections: Py<Table>,
    #[pyo3(get)]
    pub(crate) transfers: Py<Table>,
    #[pyo3(get)]
    pub(crate) judged: Py<Table>,
    #[pyo3(get)]
    pub(crate) phases: Py<Table>,
    #[pyo3(get)]
    pub(crate) exchanges: Py<Table>,
    #[pyo3(get)]
    pub(crate) rtt: Option<Py<Table>>,
    #[pyo3(get)]
    pub(crate) spacing: Option<Py<Table>>,
    #[pyo3(get)]
    pub(crate) segments: Option<Py<Table>>,
    pub(crate) charts: HashMap<String, Drawing>,
    /// What was known of the capture when it had been read, by this process.
    pub(crate) read: Option<trustbed_capture::CaptureFacts>,
    /// Of a part of an analysis: its sequence and its trails.
    pub(crate) part: Option<[Vec<u8>; 2]>,
}

#[pymethods]
impl Analysis {
    /// Thinned columns for the charts of one transfer; None unless `series=True` was requested, and
    /// for those beyond what is kept.
    fn series<'py>(&self, py: Python<'py>, transfer: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.charts.get(transfer).map(|drawing| charts::series(py, drawing)).transpose()
    }

    /// What `joined` needs of a part beside its tables: when its connections ended, and the trails
    /// of its transfers; None of a whole analysis.
    #[getter]
    fn part<'py>(&self, py: Python<'py>) -> Option<[Bound<'py, PyBytes>; 2]> {
        self.part.as_ref().map(|both| both.each_ref().map(|bytes| PyBytes::new(py, bytes)))
    }
}

/// Reads captures in one pass.
#[pyfunction]
#[pyo3(signature = (
    paths, *, workers=1, inner=false, dedup=false, at=None, capacity=None, samples=false,
    series=false, charts_of=None, memory=None, part=None, progress=None
))]
#[expect(
    clippy::too_many_arguments,
    clippy::fn_params_excessive_bools,
    reason = "keyword arguments of a Python function"
)]
pub(crate) fn analyze(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    workers: usize,
    inner: bool,
    dedup: bool,
    at: Option<&str>,
    capacity: Option<u64>,
    samples: bool,
    series: bool,
    charts_of: Option<HashSet<String>>,
    memory: Option<u64>,
    part: Option<(usize, usize)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Analysis> {
    let inputs = inputs(paths);
    #[expect(clippy::cast_precision_loss, reason = "bits per second of a link")]
    let options = Options {
        at: capture_point(at)?,
        capacity: capacity.map(|c| c as f64 / 8.0),
        removes_duplicates: dedup,
        samples,
        series,
        packet_pairs: false,
        crossings: false,
    };
    let mut limits = Limits { hash_secret: hash_secret(), ..Limits::default() };
    if let Some(memory) = memory {
        // Each shard has its own part, so that what is given up does not depend on the workers.
        limits.bytes = memory / SHARDS as u64;
    }
    if part.is_some_and(|(part, parts)| part >= parts || samples || series) {
        return Err(PyValueError::new_err("a part is less than their number, without samples"));
    }
    let plan = Plan { part: part.unwrap_or((0, 1)), ..Plan::whole(options, limits, workers) };
    let mut report = interruptible(progress);
    let done = py.detach(|| {
        let mut reader = trustbed_capture::Reader::open(&inputs, DecodeOptions { inner })
            .map_err(Failure::Open)?;
        let mut collector = Collector::new(samples, Drawn::of(charts_of), part.is_some());
        let passed = pass(&mut reader, &plan, &mut collector, &mut report)?;
        let collected = collector.finish().map_err(Failure::Rows)?;
        Ok::<_, Failure>((reader.facts(), passed, collected))
    });
    let (facts, passed, collected) = done.map_err(|failure| failure.into_python(py))?;
    analysis(py, &facts, &passed, collected, dedup)
}

/// Looks for Ctrl-C and reports how far things have come.
pub(crate) fn interruptible(
    progress: Option<Py<PyAny>>,
) -> impl FnMut(u64, Option<u64>) -> PyResult<()> {
    move |read, total| {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = &progress {
                progress.call1(py, (read, total))?;
            }
            Ok(())
        })
    }
}

fn analysis(
    py: Python<'_>,
    read: &trustbed_capture::CaptureFacts,
    passed: &Passed,
    collected: Collected,
    dedup: bool,
) -> PyResult<Analysis> {
    let table = |readers: Vec<Reader>| Py::new(py, Table::new(readers));
    let [rtt, spacing, segments] = match collected.samples {
        Some([rtt, spacing, segments]) => {
            [Some(table(vec![rtt])?), Some(table(vec![spacing])?), Some(table(vec![segments])?)]
        }
        None => [None, None, None],
    };
    let transfers = Table::new(collected.transfers);
    Ok(Analysis {
        capture: facts::capture(py, read, passed, &collected.totals, dedup)?.unbind(),
        skips: facts::skips(py, read)?.unbind(),
        problems: facts::problems(py, read)?.unbind(),
        connections: table(vec![collected.connections])?,
        judged: Py::new(py, transfers.first())?,
        transfers: Py::new(py, transfers)?,
        phases: table(vec![collected.phases])?,
        exchanges: table(vec![collected.exchanges])?,
        rtt,
        spacing,
        segments,
        charts: collected.charts,
        read: Some(read.clone()),
        part: collected.part,
    })
}

/// Paths as inputs; `-` is standard input.
pub(crate) fn inputs(paths: Vec<PathBuf>) -> Vec<Input> {
    paths.into_iter().map(|path| Input::from(path.as_path())).collect()
}

fn capture_point(at: Option<&str>) -> PyResult<Option<At>> {
    Ok(match at {
        None => None,
        Some("sender") => Some(At::Sender),
        Some("receiver") => Some(At::Receiver),
        Some("middle") => Some(At::Middle),
        Some(other) => {
            return Err(PyValueError::new_err(format!(
                "at={other:?}: sender, receiver, middle or None"
            )));
        }
    })
}

/// Why there is no analysis.
pub(crate) enum Failure {
    Open(OpenError),
    Rows(RecordError),
    Caller(PyErr),
}

impl From<Ended<PyErr>> for Failure {
    fn from(ended: Ended<PyErr>) -> Self {
        match ended {
            Ended::Rows(error) => Self::Rows(error),
            Ended::Caller(error) => Self::Caller(error),
        }
    }
}

impl Failure {
    pub(crate) fn into_python(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Caller(error) => error,
            Self::Rows(error) => io_error(&error),
            Self::Open(error) => capture_error(py, error.to_string(), error.hint()),
        }
    }
}

/// A `CaptureError` with its two attributes.
pub(crate) fn capture_error(py: Python<'_>, message: String, hint: String) -> PyErr {
    let raised = CaptureError::new_err(message.clone());
    let value = raised.value(py);
    // Attributes of an exception can always be set; should that fail, the message is still in its
    // arguments.
    let _ = value.setattr("message", message).and_then(|()| value.setattr("hint", hint));
    raised
}

pub(crate) fn io_error(error: &RecordError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// Bits per second of `20Mbit/s`.
#[pyfunction]
pub(crate) fn parse_rate(text: &str) -> PyResult<u64> {
    text.parse::<Rate>()
        .map(|rate| rate.0)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Every table that the engine fills, by name, without rows.
#[pyfunction]
pub(crate) fn schemas(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, schema) in trustbed_record::schemas() {
        dict.set_item(name, Py::new(py, Table::new([Reader::empty(schema)]))?)?;
    }
    Ok(dict)
}

/// The tables of a traffic model, by name, without rows.
#[pyfunction]
pub(crate) fn model_schemas(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, schema) in trustbed_record::model_schemas() {
        dict.set_item(name, Py::new(py, Table::new([Reader::empty(schema)]))?)?;
    }
    Ok(dict)
}
