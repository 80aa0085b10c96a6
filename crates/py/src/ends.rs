//! Two captures of the same traffic for Python: read twice, first for their clocks, then for every frame.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trustbed_capture::{Input, OpenError, Reader};
use trustbed_ends::{
    CrossingRow, End, Frame, Frames, Join, JoinFacts, JoinLimits, Meeting, Relation, RelationError,
    Sketch,
};
use trustbed_record::{RecordError, Spool, crossings};
use trustbed_units::Span;
use trustbed_wire::DecodeOptions;

use crate::run::{Progress, Source};
use crate::tables::{Table, capture_error, interruptible, io_error};

/// What is known of two captures of the same traffic.
#[pyclass(frozen, module = "trustbed._core")]
pub(crate) struct Ends {
    #[pyo3(get)]
    crossings: Py<Table>,
    #[pyo3(get)]
    clocks: Py<PyDict>,
    #[pyo3(get)]
    frames: Py<PyDict>,
}

/// Joins two captures.
#[pyfunction]
#[pyo3(signature = (first, second, *, inner=false, ahead_ns=None, progress=None))]
pub(crate) fn join(
    py: Python<'_>,
    first: Vec<PathBuf>,
    second: Vec<PathBuf>,
    inner: bool,
    ahead_ns: Option<i64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Ends> {
    let files = [first, second].map(|paths| paths.into_iter().map(Input::Path).collect::<Vec<_>>());
    let mut report = interruptible(progress);
    let done = py.detach(|| both(&files, DecodeOptions { inner }, ahead_ns.map(Span), &mut report));
    let joined = done.map_err(|fault| fault.into_python(py))?;
    let (clocks, frames) = (clocks(py, &joined.relation)?.unbind(), frames(py, &joined)?.unbind());
    Ok(Ends { crossings: Py::new(py, Table::new([joined.crossings]))?, clocks, frames })
}

/// So many frames tell enough of two clocks.
const ENOUGH: usize = 1024;

/// What was found.
struct Joined {
    crossings: trustbed_record::Reader,
    relation: Relation,
    facts: JoinFacts,
    others: [u64; 2],
    dropped: [u64; 2],
}

/// Why there is nothing.
enum Fault {
    Open(OpenError),
    Relation(RelationError),
    /// Every frame that both hold was seen at the same time in both.
    Same(usize),
    /// What was said about the clocks is so wrong that a frame would have taken so long.
    Stated(Span),
    Rows(RecordError),
    Caller(PyErr),
}

impl From<RecordError> for Fault {
    fn from(error: RecordError) -> Self {
        Self::Rows(error)
    }
}

impl Fault {
    fn into_python(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Caller(error) => error,
            Self::Rows(error) => io_error(&error),
            Self::Open(error) => capture_error(py, error.to_string(), error.hint()),
            Self::Same(frames) => capture_error(
                py,
                format!("a capture is given more than once: all {frames} frames that were compared have the same time at both ends"),
                "name one capture that was taken beside the sender, and one that was taken beside the receiver".to_owned(),
            ),
            Self::Stated(least) => capture_error(
                py,
                format!("one clock cannot have stamped both captures: frames would have arrived {} before they were sent", -least),
                "leave --same-clock away: the clocks are compared by the packets then".to_owned(),
            ),
            Self::Relation(error) => {
                let hint = match error {
                    RelationError::Set { .. } => "cut the captures where the clock was set, and join the parts",
                    RelationError::Contradiction { .. } => {
                        "keep clocks from being set while capturing, or say --same-clock if one clock stamped both captures"
                    }
                    _ => {
                        "name two captures of the same packets, at the same time, with the same addresses: nothing on the way may rewrite them"
                    }
                };
                capture_error(py, format!("the two captures cannot be joined: {error}"), hint.to_owned())
            }
        }
    }
}

fn both(
    files: &[Vec<Input>; 2],
    decode: DecodeOptions,
    ahead: Option<Span>,
    progress: &mut Progress<'_, PyErr>,
) -> Result<Joined, Fault> {
    let meetings = meetings(files, decode, progress)?;
    // No two machines, and not even two interfaces of one, stamp alike to the last digit.
    if !meetings.is_empty() && meetings.iter().all(|meeting| meeting.first == meeting.second) {
        return Err(Fault::Same(meetings.len()));
    }
    let relation = match ahead {
        Some(ahead) => stated(&meetings, ahead)?,
        None => Relation::of(&meetings).map_err(Fault::Relation)?,
    };
    let mut rows = Spool::new(crossings());
    let mut sides = [Side::open(&files[0], decode)?, Side::open(&files[1], decode)?];
    let mut next = [sides[0].next(progress)?, sides[1].next(progress)?];
    let mut join = Join::new(relation, &JoinLimits::default());
    while let Some(end) = earlier(&next, join.relation()) {
        let place = end.index();
        if let Some(frame) = std::mem::replace(&mut next[place], sides[place].next(progress)?) {
            join.on_frame(end, &frame);
        }
        if next[place].is_none() {
            join.on_end(end);
        }
        for crossing in join.take() {
            rows.push(CrossingRow::from(crossing))?;
        }
    }
    for crossing in join.finish() {
        rows.push(CrossingRow::from(crossing))?;
    }
    Ok(Joined {
        crossings: rows.finish()?,
        facts: join.facts(),
        others: sides.each_ref().map(|side| side.frames.others()),
        dropped: sides.each_ref().map(|side| dropped(&side.reader)),
        relation: join.relation().clone(),
    })
}

/// The same clocks, of which somebody says by how much the second is ahead. Frames are looked for by that, so it may not be far off.
fn stated(meetings: &[Meeting], ahead: Span) -> Result<Relation, Fault> {
    let relation = Relation::stated(meetings, ahead).map_err(Fault::Relation)?;
    let least = relation.floor[0].min(relation.floor[1]);
    let half_of_the_patience = Span(JoinLimits::default().patience.0 / 2);
    if least < -half_of_the_patience { Err(Fault::Stated(least)) } else { Ok(relation) }
}

/// Frames that both hold. One capture is looked at again where it is so much larger that few of them are among those it kept.
fn meetings(
    files: &[Vec<Input>; 2],
    decode: DecodeOptions,
    progress: &mut Progress<'_, PyErr>,
) -> Result<Vec<Meeting>, Fault> {
    let mut sketches = [Sketch::default(), Sketch::default()];
    for (inputs, sketch) in files.iter().zip(&mut sketches) {
        sketched(inputs, decode, sketch, progress)?;
    }
    let found = sketches[0].meetings(&sketches[1]);
    let larger = [(0, 1), (1, 0)]
        .into_iter()
        .find(|(one, other)| sketches[*one].may_have_more_of(&sketches[*other]));
    let Some((one, other)) = larger.filter(|_| found.len() < ENOUGH) else { return Ok(found) };
    sketches[one] = Sketch::like(&sketches[other]);
    sketched(&files[one], decode, &mut sketches[one], progress)?;
    Ok(sketches[0].meetings(&sketches[1]))
}

fn sketched(
    inputs: &[Input],
    decode: DecodeOptions,
    sketch: &mut Sketch,
    progress: &mut Progress<'_, PyErr>,
) -> Result<(), Fault> {
    let mut side = Side::open(inputs, decode)?;
    while let Some(frame) = side.next(progress)? {
        sketch.on_frame(&frame);
    }
    Ok(())
}

/// Packets that a capture does not have although they passed, by the count of whoever took it; a pcap file says nothing of them.
fn dropped(reader: &Reader) -> u64 {
    let facts = reader.facts();
    let interfaces = facts.files.iter().flat_map(|file| &file.interfaces);
    interfaces
        .filter_map(|one| one.dropped.into_iter().chain(one.os_dropped).reduce(u64::saturating_add))
        .fold(0, u64::saturating_add)
}

/// The place whose next frame was seen first.
fn earlier(next: &[Option<Frame>; 2], relation: &Relation) -> Option<End> {
    let seen = |end: End| next[end.index()].map(|frame| relation.by_first(end, frame.at));
    match (seen(End::First), seen(End::Second)) {
        (None, None) => None,
        (Some(_), None) => Some(End::First),
        (None, Some(_)) => Some(End::Second),
        (Some(first), Some(second)) => Some(if second < first { End::Second } else { End::First }),
    }
}

/// The frames of one capture, in the order of time.
struct Side {
    reader: Reader,
    source: Source,
    frames: Frames,
    cut: std::vec::IntoIter<Frame>,
}

impl Side {
    fn open(inputs: &[Input], decode: DecodeOptions) -> Result<Self, Fault> {
        let reader = Reader::open(inputs, decode).map_err(Fault::Open)?;
        Ok(Self {
            reader,
            source: Source::new(),
            frames: Frames::default(),
            cut: Vec::new().into_iter(),
        })
    }

    fn next(&mut self, progress: &mut Progress<'_, PyErr>) -> Result<Option<Frame>, Fault> {
        loop {
            if let Some(frame) = self.cut.next() {
                return Ok(Some(frame));
            }
            let Some(ordered) =
                self.source.next(&mut self.reader, progress).map_err(Fault::Caller)?
            else {
                return Ok(None);
            };
            let mut cut = Vec::with_capacity(ordered.batch.packets.len());
            for packet in &ordered.batch.packets {
                self.frames
                    .on_packet(packet, ordered.batch.options_of(packet), |frame| cut.push(frame));
            }
            self.source.recycle(ordered.batch);
            self.cut = cut.into_iter();
        }
    }
}

fn clocks<'py>(py: Python<'py>, relation: &Relation) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("at_ns", relation.ahead.at.0)?;
    told.set_item("ahead_ns", relation.ahead.height.0)?;
    told.set_item("ahead_error_ns", relation.error.0)?;
    told.set_item("skew", relation.skew_error.map(|_| relation.ahead.slope))?;
    told.set_item("skew_error", relation.skew_error)?;
    told.set_item("steered_ns", relation.steered.map(|reach| reach.0))?;
    told.set_item("stated", relation.is_stated)?;
    told.set_item("floor_ns", relation.floor.map(|floor| floor.0).to_vec())?;
    told.set_item("frames", relation.meetings)?;
    Ok(told)
}

fn frames<'py>(py: Python<'py>, joined: &Joined) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("frames", joined.facts.frames.to_vec())?;
    told.set_item("placeless", joined.facts.placeless.to_vec())?;
    told.set_item("others", joined.others.to_vec())?;
    told.set_item("dropped", joined.dropped.to_vec())?;
    told.set_item("evicted_connections", joined.facts.evicted)?;
    Ok(told)
}
