//! The Python module `trustbed._core`: conversions, and the threads that share an analysis. Nothing
//! is computed here.

mod annotate;
mod burst;
mod calls;
mod charts;
mod facts;
mod model;
mod outcome;
mod parts;
mod profile;
mod run;
#[cfg(test)]
mod super_packets;
mod tables;
mod two_point;
mod watch;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// Millions of small pieces of connections come and go: the system's allocator takes a third of an
/// analysis. The second version of mimalloc, because it gives memory back after 10 ms; the third
/// waits for a second, in which other stages take as much again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

create_exception!(
    _core,
    CaptureError,
    PyException,
    "A capture cannot be read at all: `message` says what and where, `hint` what to do."
);

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("CaptureError", module.py().get_type::<CaptureError>())?;
    module.add_class::<tables::Table>()?;
    module.add_class::<tables::Analysis>()?;
    module.add_class::<watch::Watch>()?;
    module.add_class::<two_point::TwoPoint>()?;
    module.add_function(wrap_pyfunction!(two_point::join, module)?)?;
    module.add_class::<model::ModelTables>()?;
    module.add_function(wrap_pyfunction!(model::extract_model, module)?)?;
    module.add_function(wrap_pyfunction!(profile::profiles, module)?)?;
    module.add_function(wrap_pyfunction!(tables::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(parts::joined, module)?)?;
    module.add_function(wrap_pyfunction!(annotate::annotate, module)?)?;
    module.add_function(wrap_pyfunction!(tables::parse_rate, module)?)?;
    module.add_function(wrap_pyfunction!(tables::schemas, module)?)?;
    module.add_function(wrap_pyfunction!(tables::model_schemas, module)?)?;
    module.add_class::<burst::Arrivals>()?;
    module.add_function(wrap_pyfunction!(burst::arrivals, module)?)?;
    module.add_function(wrap_pyfunction!(burst::check_filter, module)?)?;
    module.add_function(wrap_pyfunction!(burst::default_rates, module)?)?;
    module.add_function(wrap_pyfunction!(burst::parse_size, module)?)?;
    module.add_function(wrap_pyfunction!(burst::parse_span, module)?)?;
    module.add_function(wrap_pyfunction!(burst::three_digits, module)?)?;
    module.add_function(wrap_pyfunction!(burst::wavelet_details, module)?)?;
    module.add_class::<calls::CallAlphabet>()?;
    module.add_class::<calls::CallChains>()?;
    module.add_function(wrap_pyfunction!(calls::call_occurrences, module)?)?;
    module.add_function(wrap_pyfunction!(calls::split_calls, module)?)?;
    Ok(())
}
