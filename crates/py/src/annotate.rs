//! The capture once more, with comments: one pass, in which comments that name a packet meet it by
//! its number, and comments that name a moment of a connection meet its first packet from then on.
//!
//! Both kinds come as streams of Arrow batches in order, of which one batch each is held. Packets
//! are decoded only while a connection waits for its next one.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::path::PathBuf;

use arrow::array::{
    ArrowPrimitiveType, AsArray, PrimitiveArray, RecordBatch, RecordBatchReader, StringArray,
};
use arrow::datatypes::{Int64Type, UInt16Type, UInt64Type};
use arrow::error::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;
use trustbed_capture::{Copier, Frame, FrameOptions, OpenError, Reader, WriteError};
use trustbed_units::Ns;
use trustbed_wire::{Batch, DecodeOptions, Decoder};

use crate::tables::{Analysis, capture_error, inputs, interruptible};

/// Frames between two looks at signals and progress.
const FRAMES: usize = 4096;
const TCP: u8 = 6;

/// Both ends of a TCP connection, the lower one first.
type Ends = [([u8; 16], u16); 2];

/// Writes a capture that was analysed to `output` as pcapng, with comments.
///
/// `packets` has the columns `index` and `text`, in the order of `index`; `moments` has `ts_ns`,
/// `src`, `src_port`, `dst`, `dst_port` and `text`, in the order of `ts_ns`. Returns how many
/// packets were written, how many comments, and how many comments found no packet.
#[pyfunction]
#[pyo3(signature = (analysis, paths, output, *, application, packets, moments, inner=false,
    progress=None))]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "keyword arguments of a Python function"
)]
pub(crate) fn annotate(
    py: Python<'_>,
    analysis: &Analysis,
    paths: Vec<PathBuf>,
    output: PathBuf,
    application: &str,
    packets: PyRecordBatchReader,
    moments: PyRecordBatchReader,
    inner: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u64, u64, u64)> {
    let (packets, moments) = (packets.into_reader()?, moments.into_reader()?);
    let Some(read) = &analysis.read else {
        return Err(PyValueError::new_err("this process has not read the capture"));
    };
    let inputs = inputs(paths);
    let mut report = interruptible(progress);
    let done = py.detach(|| {
        let mut reader = Reader::open(&inputs, DecodeOptions { inner }).map_err(Failure::Open)?;
        let mut copier = Copier::create(&output, application, read)?;
        let mut comments = Comments {
            packets: Rows::new(packets, packet_rows),
            moments: Rows::new(moments, moment_rows),
            waiting: HashMap::new(),
            decoder: Decoder::new(DecodeOptions { inner }),
            batch: Batch::default(),
            texts: Vec::new(),
            placed: 0,
        };
        let mut outcome = Ok(());
        while reader.frames_with_options(FRAMES, |frame, options| {
            if outcome.is_ok() {
                let texts = comments.of(frame);
                outcome = texts.and_then(|texts| copy(&mut copier, frame, options, texts));
            }
        }) {
            std::mem::replace(&mut outcome, Ok(()))?;
            let at = reader.progress();
            report(at.bytes_read, at.bytes_total).map_err(Failure::Caller)?;
        }
        if reader.facts().files != read.files {
            return Err(Failure::Changed);
        }
        let unplaced = comments.left()?;
        Ok((copier.finish()?.frames, comments.placed, unplaced))
    });
    done.map_err(|failure| failure.into_python(py))
}

fn copy(
    copier: &mut Copier,
    frame: &Frame<'_>,
    options: FrameOptions<'_>,
    texts: &[String],
) -> Result<(), Failure> {
    if copier.frame(frame, options, texts)? { Ok(()) } else { Err(Failure::Changed) }
}

/// Comments that have not met their packet.
struct Comments {
    packets: Rows<(u64, String)>,
    moments: Rows<(Ns, Ends, String)>,
    /// Connections whose moment has passed, with the comments for their next packet.
    waiting: HashMap<Ends, Vec<String>>,
    decoder: Decoder,
    batch: Batch,
    texts: Vec<String>,
    placed: u64,
}

impl Comments {
    /// The comments of a frame; frames come in the order of their numbers.
    fn of(&mut self, frame: &Frame<'_>) -> Result<&[String], Failure> {
        self.texts.clear();
        while let Some((_, ends, text)) = self.moments.next_if(|(at, ..)| *at <= frame.ts)? {
            self.waiting.entry(ends).or_default().push(text);
        }
        if !self.waiting.is_empty()
            && let Some(found) = self.ends_of(frame).and_then(|ends| self.waiting.remove(&ends))
        {
            self.texts.extend(found);
        }
        while let Some((_, text)) = self.packets.next_if(|(index, _)| *index <= frame.index)? {
            self.texts.push(text);
        }
        self.placed += self.texts.len() as u64;
        Ok(&self.texts)
    }

    fn ends_of(&mut self, frame: &Frame<'_>) -> Option<Ends> {
        self.batch.clear();
        self.decoder.decode(&frame.record()?, &mut self.batch).ok()?;
        let packet = self.batch.packets.first().filter(|packet| packet.protocol == TCP)?;
        let source = (packet.source, packet.source_port);
        Some(ends(source, (packet.destination, packet.destination_port)))
    }

    /// How many comments are left at the end of the capture.
    fn left(&mut self) -> Result<u64, Failure> {
        let mut left = self.waiting.values().map(|texts| texts.len() as u64).sum();
        while self.packets.next_if(|_| true)?.is_some() {
            left += 1;
        }
        while self.moments.next_if(|_| true)?.is_some() {
            left += 1;
        }
        Ok(left)
    }
}

fn ends(one: ([u8; 16], u16), other: ([u8; 16], u16)) -> Ends {
    if one <= other { [one, other] } else { [other, one] }
}

/// Rows of a stream of batches, of which one is held.
struct Rows<T> {
    batches: Box<dyn RecordBatchReader + Send>,
    read: fn(&RecordBatch) -> Option<VecDeque<T>>,
    held: VecDeque<T>,
}

impl<T> Rows<T> {
    fn new(
        batches: Box<dyn RecordBatchReader + Send>,
        read: fn(&RecordBatch) -> Option<VecDeque<T>>,
    ) -> Self {
        Self { batches, read, held: VecDeque::new() }
    }

    /// The next row, if there is one and it is wanted.
    #[inline]
    fn next_if(&mut self, is_wanted: impl Fn(&T) -> bool) -> Result<Option<T>, Failure> {
        while self.held.is_empty() {
            let Some(batch) = self.batches.next() else { return Ok(None) };
            let batch = batch.map_err(Failure::Comments)?;
            self.held = (self.read)(&batch).ok_or(Failure::Columns)?;
        }
        Ok(self.held.pop_front_if(|row| is_wanted(row)))
    }
}

fn column<T: ArrowPrimitiveType>(batch: &RecordBatch, name: &str) -> Option<PrimitiveArray<T>> {
    batch.column_by_name(name)?.as_primitive_opt::<T>().cloned()
}

fn text(batch: &RecordBatch, name: &str) -> Option<StringArray> {
    batch.column_by_name(name)?.as_string_opt::<i32>().cloned()
}

fn packet_rows(batch: &RecordBatch) -> Option<VecDeque<(u64, String)>> {
    let (index, text) = (column::<UInt64Type>(batch, "index")?, text(batch, "text")?);
    let row = |row| (index.value(row), text.value(row).to_owned());
    Some((0..batch.num_rows()).map(row).collect())
}

fn moment_rows(batch: &RecordBatch) -> Option<VecDeque<(Ns, Ends, String)>> {
    let (at, texts) = (column::<Int64Type>(batch, "ts_ns")?, text(batch, "text")?);
    let (source, target) = (text(batch, "src")?, text(batch, "dst")?);
    let source_port = column::<UInt16Type>(batch, "src_port")?;
    let target_port = column::<UInt16Type>(batch, "dst_port")?;
    let row = |row| {
        let source = (address(source.value(row))?, source_port.value(row));
        let target = (address(target.value(row))?, target_port.value(row));
        Some((Ns(at.value(row)), ends(source, target), texts.value(row).to_owned()))
    };
    (0..batch.num_rows()).map(row).collect()
}

/// The 16 bytes of an address as packets have them.
fn address(text: &str) -> Option<[u8; 16]> {
    Some(match text.parse().ok()? {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    })
}

/// Why there is no copy.
enum Failure {
    Open(OpenError),
    Write(WriteError),
    Comments(ArrowError),
    Columns,
    Changed,
    Caller(PyErr),
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

impl Failure {
    fn into_python(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Caller(error) => error,
            Self::Open(error) => capture_error(py, error.to_string(), error.hint()),
            Self::Write(WriteError::Create { source, .. } | WriteError::Write { source, .. }) => {
                PyErr::from(source)
            }
            Self::Write(error) => capture_error(py, error.to_string(), error.hint()),
            Self::Comments(error) => PyValueError::new_err(error.to_string()),
            Self::Columns => PyValueError::new_err("comments without their columns"),
            Self::Changed => capture_error(
                py,
                "the capture changed since it was analysed, so its packets cannot be matched"
                    .to_owned(),
                "wait until the capture is complete, or annotate a copy of it".to_owned(),
            ),
        }
    }
}
