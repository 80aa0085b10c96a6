//! Two captures of the same traffic for Python: read twice, first for their clocks, then for every
//! frame.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use trustbed_capture::{Input, OpenError, Reader};
use trustbed_record::{RecordError, Spool, two_point};
use trustbed_two_point::{
    Capture, Frame, Frames, Join, JoinFacts, JoinLimits, Match, Relation, RelationError, Sketch,
    TwoPointRow,
};
use trustbed_units::Span;
use trustbed_wire::{Batch, DecodeOptions};

use crate::facts;
use crate::run::{Progress, Source, hash_secret};
use crate::tables::{Table, capture_error, interruptible, io_error};

/// What is known of two captures of the same traffic.
#[pyclass(frozen, module = "trustbed._core")]
#[expect(clippy::struct_field_names, reason = "a table of Python's has the name of the whole")]
pub(crate) struct TwoPoint {
    #[pyo3(get)]
    two_point: Py<Table>,
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
) -> PyResult<TwoPoint> {
    let files = [first, second].map(|paths| paths.into_iter().map(Input::Path).collect::<Vec<_>>());
    let mut report = interruptible(progress);
    let done = py.detach(|| both(&files, DecodeOptions { inner }, ahead_ns.map(Span), &mut report));
    let joined = done.map_err(|fault| fault.into_python(py))?;
    let (clocks, frames) = (clocks(py, &joined.relation)?.unbind(), frames(py, &joined)?.unbind());
    Ok(TwoPoint { two_point: Py::new(py, Table::new([joined.two_point]))?, clocks, frames })
}

/// So many frames suffice to compare two clocks.
const ENOUGH: usize = 1024;

/// What was found.
struct Joined {
    two_point: trustbed_record::Reader,
    relation: Relation,
    facts: JoinFacts,
    others: [u64; 2],
    dropped: [u64; 2],
    /// Frames that give no round trip, because too many were unacknowledged.
    left_out: u64,
}

/// Why there is nothing.
enum Fault {
    Open(OpenError),
    Relation(RelationError),
    /// Every frame that both hold was seen at the same time in both.
    Same(usize),
    /// The given clock offset is so wrong that a frame would have taken so long.
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
                format!(
                    "a capture is given more than once: all {frames} frames have \
                    equal timestamps in both captures"
                ),
                "give one capture taken at the sender and one taken at the receiver".to_owned(),
            ),
            Self::Stated(least) => capture_error(
                py,
                format!(
                    "no common clock timestamped both captures: frames would arrive {} before \
                    they were sent",
                    -least
                ),
                "omit --same-clock: trustbed then compares the clocks by the packets".to_owned(),
            ),
            Self::Relation(error) => {
                let hint = match error {
                    RelationError::Stepped { .. } => {
                        "cut the captures at the clock step and join \
                        the parts"
                    }
                    RelationError::Contradiction { .. } => {
                        "do not step clocks while capturing, or add --same-clock if one clock \
                            timestamped both captures"
                    }
                    _ => {
                        "give two captures of the same packets, taken at the same time, with the \
                            same addresses: nothing on the path may rewrite them"
                    }
                };
                capture_error(
                    py,
                    format!(
                        "the two captures cannot be joined: \
                    {error}"
                    ),
                    hint.to_owned(),
                )
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
    let matches = matches(files, decode, progress)?;
    // No two machines, and not even two interfaces of one, stamp alike to the last digit.
    if !matches.is_empty() && matches.iter().all(|common| common.first == common.second) {
        return Err(Fault::Same(matches.len()));
    }
    let relation = match ahead {
        Some(ahead) => stated(&matches, ahead)?,
        None => Relation::of(&matches).map_err(Fault::Relation)?,
    };
    let mut rows = Spool::new(two_point());
    let open = |inputs: &[Input]| FrameSource::open(inputs, decode).map_err(Fault::Open);
    let mut sides = [open(&files[0])?, open(&files[1])?];
    let mut step = |side: &mut FrameSource| side.next(progress).map_err(Fault::Caller);
    let mut next = [step(&mut sides[0])?, step(&mut sides[1])?];
    let limits = JoinLimits { hash_secret: hash_secret(), ..JoinLimits::default() };
    let (mut join, mut left_out) = (Join::new(relation, &limits), 0);
    while let Some(end) = earlier(&next, join.relation()) {
        let index = end.index();
        if let Some(frame) = std::mem::replace(&mut next[index], step(&mut sides[index])?) {
            join.on_frame(end, &frame);
        }
        if next[index].is_none() {
            join.on_end(end);
        }
        for direction in join.take() {
            left_out += direction.round_trips.left_out;
            rows.push(TwoPointRow::from(direction))?;
        }
    }
    for direction in join.finish() {
        left_out += direction.round_trips.left_out;
        rows.push(TwoPointRow::from(direction))?;
    }
    Ok(Joined {
        two_point: rows.finish()?,
        facts: join.facts(),
        others: sides.each_ref().map(|side| side.frames.others()),
        dropped: sides.each_ref().map(|side| facts::dropped(&side.reader.facts())),
        left_out,
        relation: join.relation().clone(),
    })
}

/// The same clocks, where the caller states by how much the second is ahead. Frames are looked for
/// by that, so it may not be far off.
fn stated(matches: &[Match], ahead: Span) -> Result<Relation, Fault> {
    let relation = Relation::stated(matches, ahead).map_err(Fault::Relation)?;
    let least = relation.owd_min[0].min(relation.owd_min[1]);
    let half_of_the_patience = Span(JoinLimits::default().patience.0 / 2);
    if least < -half_of_the_patience { Err(Fault::Stated(least)) } else { Ok(relation) }
}

/// Frames that both hold. One capture is looked at again where it is so much larger that few of
/// them are among those it kept.
fn matches(
    files: &[Vec<Input>; 2],
    decode: DecodeOptions,
    progress: &mut Progress<'_, PyErr>,
) -> Result<Vec<Match>, Fault> {
    let mut sketches = [Sketch::default(), Sketch::default()];
    for (inputs, sketch) in files.iter().zip(&mut sketches) {
        sketched(inputs, decode, sketch, progress)?;
    }
    let found = sketches[0].matches(&sketches[1]);
    let larger = [(0, 1), (1, 0)]
        .into_iter()
        .find(|(one, other)| sketches[*one].may_have_more_of(&sketches[*other]));
    let Some((one, other)) = larger.filter(|_| found.len() < ENOUGH) else { return Ok(found) };
    sketches[one] = Sketch::like(&sketches[other]);
    sketched(&files[one], decode, &mut sketches[one], progress)?;
    Ok(sketches[0].matches(&sketches[1]))
}

fn sketched(
    inputs: &[Input],
    decode: DecodeOptions,
    sketch: &mut Sketch,
    progress: &mut Progress<'_, PyErr>,
) -> Result<(), Fault> {
    let mut side = FrameSource::open(inputs, decode).map_err(Fault::Open)?;
    while let Some(frame) = side.next(progress).map_err(Fault::Caller)? {
        sketch.on_frame(&frame);
    }
    Ok(())
}

/// The capture point whose next frame was seen first.
fn earlier(next: &[Option<Frame>; 2], relation: &Relation) -> Option<Capture> {
    let seen = |end: Capture| next[end.index()].map(|frame| relation.by_first(end, frame.at));
    match (seen(Capture::First), seen(Capture::Second)) {
        (None, None) => None,
        (Some(_), None) => Some(Capture::First),
        (None, Some(_)) => Some(Capture::Second),
        (Some(first), Some(second)) => {
            Some(if second < first { Capture::Second } else { Capture::First })
        }
    }
}

/// Frames cut at once, and at most those of one more packet: however many a batch would be.
const PIECE: usize = 1024;

/// The frames of one capture, in the order of time.
struct FrameSource {
    reader: Reader,
    source: Source,
    frames: Frames,
    /// The batch that is being cut, and its first packet that is not.
    batch: Option<Batch>,
    next_packet: usize,
    /// What was cut last, and its first frame that was not handed out.
    cut: Vec<Frame>,
    next_frame: usize,
}

impl FrameSource {
    fn open(inputs: &[Input], decode: DecodeOptions) -> Result<Self, OpenError> {
        Ok(Self {
            reader: Reader::open(inputs, decode)?,
            source: Source::new(),
            frames: Frames::default(),
            batch: None,
            next_packet: 0,
            cut: Vec::new(),
            next_frame: 0,
        })
    }

    fn next<E>(&mut self, progress: &mut Progress<'_, E>) -> Result<Option<Frame>, E> {
        loop {
            if let Some(frame) = self.cut.get(self.next_frame) {
                self.next_frame += 1;
                return Ok(Some(*frame));
            }
            if self.batch.is_none() {
                let Some(ordered) = self.source.next(&mut self.reader, progress)? else {
                    return Ok(None);
                };
                (self.batch, self.next_packet) = (Some(ordered.batch), 0);
            }
            self.cut();
        }
    }

    /// Cuts the next packets of the batch; the last of them end it.
    fn cut(&mut self) {
        let Some(batch) = &self.batch else { return };
        self.cut.clear();
        self.next_frame = 0;
        while self.cut.len() < PIECE
            && let Some(packet) = batch.packets.get(self.next_packet)
        {
            self.next_packet += 1;
            self.frames.on_packet(packet, batch.options_of(packet), |frame| self.cut.push(frame));
        }
        if self.next_packet == batch.packets.len()
            && let Some(batch) = self.batch.take()
        {
            self.source.recycle(batch);
        }
    }
}

fn clocks<'py>(py: Python<'py>, relation: &Relation) -> PyResult<Bound<'py, PyDict>> {
    let known = PyDict::new(py);
    known.set_item("at_ns", relation.ahead.at.0)?;
    known.set_item("ahead_ns", relation.ahead.height.0)?;
    known.set_item("ahead_error_ns", relation.error.0)?;
    known.set_item("skew", relation.skew_error.map(|_| relation.ahead.slope))?;
    known.set_item("skew_error", relation.skew_error)?;
    known.set_item("clock_slew_ns", relation.slewed.map(|reach| reach.0))?;
    known.set_item("stated", relation.is_stated)?;
    known.set_item("floor_ns", relation.owd_min.map(|owd_min| owd_min.0).to_vec())?;
    known.set_item("frames", relation.matches)?;
    Ok(known)
}

fn frames<'py>(py: Python<'py>, joined: &Joined) -> PyResult<Bound<'py, PyDict>> {
    let known = PyDict::new(py);
    known.set_item("frames", joined.facts.frames.to_vec())?;
    known.set_item("without_capture_point", joined.facts.without_capture_point.to_vec())?;
    known.set_item("others", joined.others.to_vec())?;
    known.set_item("dropped", joined.dropped.to_vec())?;
    known.set_item("evicted_connections", joined.facts.evicted)?;
    known.set_item("round_trips_left_out", joined.left_out)?;
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::super_packets::{FRAMES, capture};

    #[test]
    fn the_frames_of_a_batch_of_super_packets_are_not_held_together() {
        let decode = DecodeOptions { inner: false };
        let Ok(mut side) = FrameSource::open(&[capture(1500)], decode) else { panic!("a capture") };
        let (mut frames, mut held) = (0, 0);
        let mut seq = None;
        while let Ok(Some(frame)) = side.next(&mut |_, _| Ok::<(), ()>(())) {
            frames += 1;
            held = side.cut.len().max(held);
            assert!(seq.is_none_or(|seq| seq == frame.seq) || frames <= 2, "in order");
            seq = Some(frame.seq.wrapping_add(frame.length));
        }
        assert_eq!(frames, 1 + 1500 * FRAMES);
        assert!(held < PIECE + FRAMES as usize, "{held} frames");
    }
}
