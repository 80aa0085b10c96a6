//! What the traffic of a capture looks like in either direction, learned while its packets pass.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trustbed_analyze::{Crossing, Options, Rows};
use trustbed_burst::{BurstError, Order, Packets, Profile};
use trustbed_capture::{Input, Reader};
use trustbed_flow::Limits;
use trustbed_record::RecordError;
use trustbed_units::Ns;
use trustbed_wire::DecodeOptions;

use crate::burst::profile;
use crate::run::{Plan, Takes, pass};
use crate::tables::{Failure, interruptible};

/// Who sent the packets of each profile.
const SIDES: [&str; 2] = ["client", "server"];

/// A profile of each direction: what the initiators of connections sent, and what the responders
/// did.
pub(crate) struct Profiles {
    order: Order,
    sides: [Side; 2],
    fault: Option<BurstError>,
}

struct Side {
    profile: Profile,
    times: Vec<i64>,
    lengths: Vec<u32>,
}

impl Side {
    fn new() -> Result<Self, BurstError> {
        Ok(Self { profile: Profile::new()?, times: Vec::new(), lengths: Vec::new() })
    }
}

impl Profiles {
    pub(crate) fn new() -> Result<Self, BurstError> {
        Ok(Self { order: Order::new(), sides: [Side::new()?, Side::new()?], fault: None })
    }

    /// The packets that come next.
    pub(crate) fn push(&mut self, crossings: &[Crossing]) {
        let Self { order, sides, fault } = self;
        for crossing in crossings {
            let at = order.stamp(crossing.ts);
            order.push(at, crossing.length, u64::from(crossing.by_responder));
        }
        order.flush(|times, lengths, marks| sort_out(sides, fault, times, lengths, marks));
    }

    /// A dictionary for each side that sent anything.
    pub(crate) fn finish<'py>(mut self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let Self { order, sides, fault } = &mut self;
        order.finish(|times, lengths, marks| sort_out(sides, fault, times, lengths, marks));
        if let Some(error) = self.fault {
            return Err(PyValueError::new_err(error.to_string()));
        }
        let found = self.sides.map(|side| side.profile.finish());
        let origin = found.iter().filter_map(|one| Some(one.ends?.0)).min().unwrap_or(Ns(0));
        let list = PyList::empty(py);
        for (name, one) in SIDES.into_iter().zip(&found).filter(|(_, one)| one.packets > 0) {
            let dict: Bound<'py, PyDict> = profile(py, one, origin)?;
            dict.set_item("sender", name)?;
            list.append(dict)?;
        }
        Ok(list)
    }
}

/// Packets in order of time go to the profile of their side.
fn sort_out(
    sides: &mut [Side; 2],
    fault: &mut Option<BurstError>,
    times: &[i64],
    lengths: &[u32],
    marks: &[u64],
) {
    for side in &mut *sides {
        side.times.clear();
        side.lengths.clear();
    }
    for ((time, length), mark) in times.iter().zip(lengths).zip(marks) {
        let side = &mut sides[usize::from(*mark != 0)];
        side.times.push(*time);
        side.lengths.push(*length);
    }
    for side in sides {
        let added =
            Packets::new(&side.times, &side.lengths).and_then(|packets| side.profile.add(packets));
        *fault = fault.take().or(added.err());
    }
}

/// Takes nothing but the packets.
struct Onlooker(Profiles);

impl Takes for Onlooker {
    fn take(&mut self, rows: Rows) -> Result<(), RecordError> {
        self.0.push(&rows.crossings);
        Ok(())
    }
}

/// What the packets of a capture look like in either direction.
#[pyfunction]
#[pyo3(signature = (paths, *, workers=1, inner=false, progress=None))]
pub(crate) fn profiles(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    workers: usize,
    inner: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'_, PyList>> {
    let inputs: Vec<Input> = paths.into_iter().map(Input::Path).collect();
    let wrong = |error: BurstError| PyValueError::new_err(error.to_string());
    let mut onlooker = Onlooker(Profiles::new().map_err(wrong)?);
    let options = Options { crossings: true, ..Options::default() };
    let mut report = interruptible(progress);
    let done = py.detach(|| {
        let mut reader = Reader::open(&inputs, DecodeOptions { inner }).map_err(Failure::Open)?;
        let limits = Limits::default();
        pass(&mut reader, &Plan::whole(options, limits, workers), &mut onlooker, &mut report)?;
        Ok::<_, Failure>(())
    });
    done.map_err(|failure| failure.into_python(py))?;
    onlooker.0.finish(py)
}
