//! The parts of an analysis that several processes shared, as one analysis.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trustbed_record::{
    Joined, RecordError, Run, connections, exchanges, merged, phases, trails_of, transfers,
};

use crate::outcome::Together;
use crate::tables::{Analysis, Table, io_error};

/// Joins the parts of an analysis.
///
/// Every part is a directory with the Arrow streams `connections`, `judged`, `short`, `phases` and
/// `exchanges` and the bytes `sequence` and `trails`; in the order of their numbers. The facts
/// about the capture come with the call: a part knows only its own sums.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments of a Python function")]
pub(crate) fn joined(
    py: Python<'_>,
    parts: Vec<PathBuf>,
    capture: Py<PyDict>,
    skips: Py<PyList>,
    problems: Py<PyList>,
) -> PyResult<Analysis> {
    let tables = py.detach(|| Tables::of(&parts)).map_err(|error| io_error(&error))?;
    let table = |joined| Py::new(py, Table::new([joined]));
    let transfers = Table::new([tables.judged, tables.short]);
    Ok(Analysis {
        capture,
        skips,
        problems,
        connections: table(tables.connections)?,
        judged: Py::new(py, transfers.first())?,
        transfers: Py::new(py, transfers)?,
        phases: table(tables.phases)?,
        exchanges: table(tables.exchanges)?,
        rtt: None,
        spacing: None,
        segments: None,
        charts: HashMap::new(),
        read: None,
        part: None,
    })
}

struct Tables {
    connections: Joined,
    judged: Joined,
    short: Joined,
    phases: Joined,
    exchanges: Joined,
}

impl Tables {
    fn of(parts: &[PathBuf]) -> Result<Self, RecordError> {
        let files = |name: &str| parts.iter().map(|part| part.join(name)).collect::<Vec<PathBuf>>();
        let sequences = files("sequence").iter().map(fs::read).collect::<Result<Vec<_>, _>>()?;
        let (each, [judged, short, phase, exchange]) = merged(&sequences)?;
        drop(sequences);
        let mut trails = Vec::new();
        for file in files("trails") {
            trails.append(&mut trails_of(&fs::read(file)?)?);
        }
        let complete = Together::of(&trails).completing();
        let open = |name: &str, schema, runs: Vec<Run>, change| {
            Joined::open(&files(&format!("{name}.arrow")), schema, runs, change)
        };
        Ok(Self {
            connections: open("connections", connections().schema(), each, None)?,
            judged: open("judged", transfers().schema(), judged, Some(complete))?,
            short: open("short", transfers().schema(), short, None)?,
            phases: open("phases", phases().schema(), phase, None)?,
            exchanges: open("exchanges", exchanges().schema(), exchange, None)?,
        })
    }
}
