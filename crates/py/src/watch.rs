//! `_core.Watch`: an interface measured while traffic passes. Conversions only; the parts are
//! below.

mod measure;
mod meter;
mod session;
mod stream;

use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trustbed_burst::{Basis, BurstError, Drain, Grid, Mode, Plan, Trains};
use trustbed_capture::{LiveFacts, LiveOptions, User};
use trustbed_units::{Rate, Size, Span};
use trustbed_wire::Filter;

use crate::tables::capture_error;
use measure::Measure;
use meter::Meter;
use session::{NotOpen, Session, State};
use stream::Measured;

/// A capture of an interface, measured window by window in a thread of its own.
#[pyclass(frozen, module = "trustbed._core")]
pub(crate) struct Watch {
    session: Session,
    plan: Plan,
    basis: Basis,
    offload: String,
}

#[pymethods]
impl Watch {
    #[new]
    #[pyo3(signature = (
        interface, *, rate=None, mode="dynamic-same", window_ns=100_000_000, basis="frame",
        directions=true, filter=None, offload="stacked", snap=128, ring=33_554_432,
        hardware_timestamps=true, write=None, successor=None
    ))]
    #[expect(
        clippy::too_many_arguments,
        clippy::needless_pass_by_value,
        reason = "keyword arguments of a Python function"
    )]
    fn new(
        py: Python<'_>,
        interface: &str,
        rate: Option<u64>,
        mode: &str,
        window_ns: i64,
        basis: &str,
        directions: bool,
        filter: Option<&str>,
        offload: &str,
        snap: u32,
        ring: u64,
        hardware_timestamps: bool,
        write: Option<PathBuf>,
        successor: Option<(u32, u32)>,
    ) -> PyResult<Self> {
        let successor = successor.map(|(uid, gid)| User { uid, gid });
        let plan = plan(mode, rate, window_ns)?;
        let basis = Basis::named(basis)
            .ok_or_else(|| wrong(&format!("basis={basis:?}: frame, frame_fcs, wire or ip")))?;
        let filter: Option<Filter> =
            filter.map(str::parse).transpose().map_err(|error| wrong(&error))?;
        let expands = match offload {
            "stacked" => true,
            "as-captured" => false,
            other => return Err(wrong(&format!("offload={other:?}: stacked or as-captured"))),
        };
        let options = LiveOptions {
            snap_length: snap,
            ring: Size(ring),
            hardware_timestamps,
            ..LiveOptions::default()
        };
        let meter = |facts: &LiveFacts, start| {
            Meter::new(
                Measure::new(basis, filter, expands),
                plan,
                directions && !facts.loopback,
                start,
            )
        };
        let session = py
            .detach(|| Session::begin(interface, options, write.as_deref(), successor, meter))
            .map_err(|failure| match failure {
                NotOpen::Live(error) => capture_error(py, error.to_string(), error.hint()),
                NotOpen::Write(error) => capture_error(py, error.to_string(), error.hint()),
            })?;
        Ok(Self { session, plan, basis, offload: offload.to_owned() })
    }

    /// Windows that became complete since the last call, in order. Waits for some, at most
    /// `timeout` seconds.
    fn next<'py>(&self, py: Python<'py>, timeout: f64) -> PyResult<Bound<'py, PyList>> {
        let timeout = Duration::try_from_secs_f64(timeout).map_err(|error| wrong(&error))?;
        let rows = py.detach(|| self.session.next(timeout));
        PyList::new(
            py,
            rows.iter()
                .map(|(name, measured)| window(py, name, measured))
                .collect::<PyResult<Vec<_>>>()?,
        )
    }

    /// What happened since the last call: code, message, hint.
    fn events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let events = self.session.events();
        let dicts = events.iter().map(|event| {
            let dict = PyDict::new(py);
            dict.set_item("code", event.code)?;
            dict.set_item("message", &event.message)?;
            dict.set_item("hint", &event.hint)?;
            Ok(dict)
        });
        PyList::new(py, dicts.collect::<PyResult<Vec<_>>>()?)
    }

    /// What was counted so far.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        statistics(py, &self.session.state())
    }

    /// What is known about the interface and how it is measured.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = self.session.state().facts.clone();
        let dict = interface(py, &facts)?;
        dict.set_item("mode", self.plan.mode.name())?;
        let rate = if let Mode::Static(link) = self.plan.mode {
            Some(link.bits_per_second())
        } else {
            None
        };
        dict.set_item("rate_bits_per_second", rate)?;
        dict.set_item("window_seconds", self.plan.grid.length().as_secs_f64())?;
        dict.set_item("basis", self.basis.name())?;
        dict.set_item("offload", &self.offload)?;
        dict.set_item("train_gap_seconds", Trains::GAP.as_secs_f64())?;
        Ok(dict)
    }

    /// Whether the capture has ended, by itself or because it was closed.
    #[getter]
    fn ended(&self) -> bool {
        self.session.state().ended
    }

    /// Ends the capture; the file is complete afterwards. `next` then gives what is left, the
    /// windows that the end cut among it.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.session.end());
    }
}

fn wrong(error: &impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn plan(mode: &str, rate: Option<u64>, window_ns: i64) -> PyResult<Plan> {
    let mode = match (mode, rate) {
        ("static", Some(rate)) => {
            Drain::at(Rate(rate)).map(Mode::Static).map_err(|error: BurstError| wrong(&error))?
        }
        ("static", None) => return Err(wrong(&"mode=\"static\" needs a rate")),
        ("dynamic-same", _) => Mode::DynamicSame,
        ("dynamic-previous", _) => Mode::DynamicPrevious,
        ("dynamic-same-carry", _) => Mode::DynamicSameCarry,
        (other, _) => {
            return Err(wrong(&format!(
                "mode={other:?}: static, dynamic-same, dynamic-previous or dynamic-same-carry"
            )));
        }
    };
    let grid = Grid::aligned_to_epoch(Span(window_ns)).map_err(|error| wrong(&error))?;
    Ok(Plan { mode, grid })
}

/// A window under the names that it has in the results of a file.
fn window<'py>(
    py: Python<'py>,
    direction: &str,
    Measured { row, trains }: &Measured,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("direction", direction)?;
    dict.set_item("start_seconds", (row.start - trustbed_units::Ns(0)).as_secs_f64())?;
    dict.set_item("abw_bits_per_second", row.abw_bits_per_second())?;
    dict.set_item("max_q_bytes", row.peaks.map(|peaks| peaks.wait.bytes()))?;
    dict.set_item("max_q_sys_bytes", row.peaks.map(|peaks| peaks.system.bytes()))?;
    dict.set_item("packets", row.packets)?;
    dict.set_item("bytes", row.bytes)?;
    dict.set_item("rate_bits_per_second", row.rate.map(Drain::bits_per_second))?;
    dict.set_item("partial", row.partial)?;
    dict.set_item("windows", row.windows)?;
    dict.set_item("trains", trains.trains)?;
    dict.set_item("train_packets_mean", trains.packets_mean)?;
    dict.set_item("train_packets_max", trains.packets_most)?;
    dict.set_item("train_bytes_max", trains.bytes_most)?;
    Ok(dict)
}

fn statistics<'py>(py: Python<'py>, state: &State) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("kernel_received", state.statistics.received)?;
    dict.set_item("kernel_dropped", state.statistics.dropped)?;
    dict.set_item("ring_full", state.statistics.frozen)?;
    dict.set_item("frames", state.statistics.shown)?;
    dict.set_item("hardware_stamped", state.statistics.hardware_stamped)?;
    dict.set_item("packets", state.counted.packets)?;
    dict.set_item("bytes", state.counted.bytes)?;
    dict.set_item("expanded_packets", state.counted.expanded)?;
    dict.set_item("filtered", state.counted.left_out.filtered)?;
    dict.set_item("without_ip", state.counted.left_out.without_ip)?;
    dict.set_item("steps_back", state.counted.steps_back)?;
    dict.set_item("clock_steps", state.counted.clock_steps)?;
    dict.set_item("windows_left_out", state.windows_left_out)?;
    let file = state.file.as_ref().map(|file| {
        let dict = PyDict::new(py);
        dict.set_item("path", &file.path)?;
        dict.set_item("frames", file.written.map_or(file.given, |written| written.frames))?;
        dict.set_item("frames_left_out", file.written.map(|written| written.frames_left_out))?;
        dict.set_item("bytes", file.written.map(|written| written.bytes))?;
        dict.set_item("failed", file.failed)?;
        Ok::<_, PyErr>(dict)
    });
    dict.set_item("file", file.transpose()?)?;
    Ok(dict)
}

fn interface<'py>(py: Python<'py>, facts: &LiveFacts) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("interface", &facts.name)?;
    dict.set_item("loopback", facts.loopback)?;
    dict.set_item("mtu_bytes", facts.mtu.map(|mtu| mtu.0))?;
    dict.set_item("speed_bits_per_second", facts.speed.map(|speed| speed.0))?;
    dict.set_item("snap_length", facts.snap_length)?;
    dict.set_item("ring_bytes", facts.ring.0)?;
    dict.set_item("timestamps", if facts.hardware_timestamps { "hardware" } else { "software" })?;
    dict.set_item(
        "hardware_clock_ahead_seconds",
        facts.hardware_clock_ahead.map(Span::as_secs_f64),
    )?;
    Ok(dict)
}
