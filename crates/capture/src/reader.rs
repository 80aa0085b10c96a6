//! Several inputs as one capture: in the order of their times, merged where they overlap.
//!
//! Rotated files follow one another and are read one after the other, each in its own order,
//! whatever small disorder it holds: a capture reads the same whole and in parts. A file is drawn
//! in as soon as the packets before it are more than 10 ms later than its first one; files that
//! overlap so are merged by time from there on, and of equal times the earlier file's come first.
//! Bias: the first 10 ms of an overlap may come out of order by so much, which is what the analysis
//! reorders anyway.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use trustbed_units::{Ns, Span};
use trustbed_wire::{Batch, DecodeOptions, Decoder};

use crate::error::OpenError;
use crate::facts::{CaptureFacts, Progress};
use crate::file::{CaptureFile, Framing, Peek};
use crate::frame::Frame;
use crate::input::Input;
use crate::ledger::Ledger;
use crate::pcapng::FrameOptions;
use crate::same::{self, Match, Recogniser};
use crate::sink::{Consumer, Copying, Decoding, Showing, Sink, Stop};

/// Files overlap when they do so by more than this.
const OVERLAP: Span = Span::from_millis(10);

/// Reads a capture: [`Reader::open`], then [`Reader::fill`] for decoded packets or
/// [`Reader::frames`] for frames as they are, until it returns false; [`Reader::facts`] at any
/// time.
pub struct Reader {
    turns: Turns,
    decoder: Decoder,
}

/// The files of a capture, and whose turn it is.
struct Turns {
    /// In the order of their first packets.
    files: Vec<Turn>,
    /// Files that are being read: the first is the earlier one.
    active: Vec<usize>,
    /// The next file to draw in.
    waiting: usize,
    ledger: Ledger,
    index: u64,
}

impl fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.turns.files.iter().map(|turn| &*turn.file.name).collect();
        formatter
            .debug_struct("Reader")
            .field("files", &names)
            .field("records", &self.turns.index)
            .finish_non_exhaustive()
    }
}

/// A file, and the time of its next record.
struct Turn {
    file: CaptureFile,
    next_ts: Ns,
}

impl Reader {
    /// Opens the inputs as one capture.
    ///
    /// # Errors
    ///
    /// What keeps any one of the inputs from being read at all, or all of them from being one
    /// capture; see [`OpenError`].
    pub fn open(inputs: &[Input], options: DecodeOptions) -> Result<Self, OpenError> {
        refuse_repetition(inputs)?;
        let mut files = Vec::with_capacity(inputs.len());
        let several = inputs.len() > 1;
        let mut recogniser = Recogniser::new(inputs.len());
        let mut batch = Batch::default();
        for input in inputs {
            let mut file = CaptureFile::open(input)?;
            batch.clear();
            let records = if several { same::RECORDS } else { 0 };
            let first = probe(&mut file, records, options, &mut batch)?;
            if several {
                file.park();
            }
            files.push(Turn { file, next_ts: first.unwrap_or(Ns::MIN) });
            if let Some(Match { first, second, common, compared }) = recogniser.add(&batch.packets)
            {
                let path = |file_index: usize| files[file_index].file.path();
                return Err(OpenError::SamePackets {
                    first: path(first),
                    second: path(second),
                    common,
                    compared,
                });
            }
        }
        files.sort_by_key(|turn| turn.next_ts);
        let turns =
            Turns { files, active: Vec::new(), waiting: 0, ledger: Ledger::new(), index: 0 };
        Ok(Self { turns, decoder: Decoder::new(options) })
    }

    /// Appends the packets of up to `limit` records to `batch`, in the order of the capture.
    ///
    /// Returns false when there was no record left to read, and then has appended nothing. Records
    /// that are not measured count against the limit, so fewer packets than `limit`, even none, may
    /// come with true. Never fails: what goes wrong is a [`crate::Problem`] in [`Reader::facts`].
    pub fn fill(&mut self, batch: &mut Batch, limit: usize) -> bool {
        self.turns.read(&mut Decoding { decoder: &mut self.decoder, batch }, limit)
    }

    /// Shows up to `limit` records to `see`, in the order of the capture: every one, whatever it
    /// holds, so that none is counted as skipped.
    ///
    /// Returns false when there was no record left to read, and then has not called `see`. Never
    /// fails, like [`Reader::fill`]; both go on where the other one stopped.
    pub fn frames(&mut self, limit: usize, see: impl FnMut(&Frame<'_>)) -> bool {
        self.turns.read(&mut Showing(see), limit)
    }

    /// The same with the options of the packet's block, for a [`crate::Copier`].
    pub fn frames_with_options(
        &mut self,
        limit: usize,
        see: impl FnMut(&Frame<'_>, FrameOptions<'_>),
    ) -> bool {
        self.turns.read(&mut Copying(see), limit)
    }

    /// How far reading has come.
    pub fn progress(&self) -> Progress {
        let bytes_read = self.turns.files.iter().map(|turn| turn.file.stored_read()).sum();
        let bytes_total = self.turns.files.iter().map(|turn| turn.file.stored_length()).sum();
        Progress { bytes_read, bytes_total }
    }

    /// What is known about the capture so far; complete after [`Reader::fill`] or
    /// [`Reader::frames`] has returned false.
    pub fn facts(&self) -> CaptureFacts {
        CaptureFacts {
            files: self.turns.files.iter().map(|turn| turn.file.facts()).collect(),
            problems: self.turns.ledger.problems(),
            problems_left_out: self.turns.ledger.problems_left_out(),
            skips: self.turns.ledger.skips(),
        }
    }
}

impl Turns {
    /// Hands up to `limit` records to a consumer; false when there was none left.
    fn read(&mut self, consumer: &mut impl Consumer, limit: usize) -> bool {
        let mut remaining = limit;
        while remaining > 0 {
            let Some((file_index, until)) = self.choose() else { break };
            let Turn { file, next_ts } = &mut self.files[file_index];
            let name = Arc::clone(&file.name);
            let ledger = &mut self.ledger;
            let mut sink = Sink {
                consumer,
                ledger,
                file: &name,
                file_index,
                index: self.index,
                remaining,
                until,
            };
            let stop = file.read(&mut sink);
            (self.index, remaining) = (sink.index, sink.remaining);
            match stop {
                Stop::Until(ts) => *next_ts = ts,
                Stop::End => self.active.retain(|active| *active != file_index),
                Stop::Limit | Stop::NeedMore(_) => break,
            }
        }
        remaining < limit
    }

    /// The file whose turn it is, and the time up to which it may go on.
    fn choose(&mut self) -> Option<(usize, Ns)> {
        loop {
            let next_ts = |file_index: &usize| self.files[*file_index].next_ts;
            let first = self
                .active
                .iter()
                .copied()
                .min_by_key(|file_index| (next_ts(file_index), *file_index));
            let drawn_in_at = self.files.get(self.waiting).map(|turn| turn.next_ts + OVERLAP);
            let Some(first) =
                first.filter(|first| drawn_in_at.is_none_or(|at| next_ts(first) <= at))
            else {
                if self.waiting == self.files.len() {
                    return None;
                }
                self.active.push(self.waiting);
                self.waiting += 1;
                continue;
            };
            let others = self.active.iter().filter(|file_index| **file_index != first);
            let others = others
                .map(|file_index| {
                    if first < *file_index {
                        next_ts(file_index)
                    } else {
                        next_ts(file_index) - Span(1)
                    }
                })
                .min();
            let until = others.unwrap_or(Ns::MAX).min(drawn_in_at.unwrap_or(Ns::MAX));
            return Some((first, until));
        }
    }
}

fn refuse_repetition(inputs: &[Input]) -> Result<(), OpenError> {
    if inputs.is_empty() {
        return Err(OpenError::NoInput);
    }
    let mut seen: HashSet<PathBuf> = HashSet::new();
    for input in inputs {
        let file_index = match input {
            Input::Path(path) => path.canonicalize().unwrap_or_else(|_| path.clone()),
            Input::Stdin => input.path(),
            Input::Memory { .. } => continue,
        };
        if !seen.insert(file_index) {
            return Err(OpenError::Repeated { path: input.path() });
        }
    }
    Ok(())
}

/// Looks at the beginning of a file: refuses it when nothing in it can be decoded, decodes up to
/// `records` records into `batch`, and returns the time of the first one.
fn probe(
    file: &mut CaptureFile,
    records: usize,
    options: DecodeOptions,
    batch: &mut Batch,
) -> Result<Option<Ns>, OpenError> {
    let mut first = None;
    let mut seen: Option<Framing> = None;
    file.peek(same::BYTES, |mut framing, window, complete| {
        batch.clear();
        let mut ledger = Ledger::new();
        let mut decoder = Decoder::new(options);
        let consumer = &mut Decoding { decoder: &mut decoder, batch };
        let mut sink = Sink {
            consumer,
            ledger: &mut ledger,
            file: "",
            file_index: 0,
            index: 0,
            remaining: 1,
            until: Ns::MAX,
        };
        let (mut done, mut stop) = framing.walk(window, complete, &mut sink);
        first = framing.tally().last();
        // An interface that can be decoded may be described later than the first packet.
        let required = if framing.is_undecodable() { same::RECORDS } else { records };
        if stop == Stop::Limit && required > 1 {
            sink.remaining = required - 1;
            let (further, next) = framing.walk(&window[done..], complete, &mut sink);
            (done, stop) = (done + further, next);
        }
        let look = match stop {
            // From a pipe, no more is read than is needed to begin.
            Stop::NeedMore(length) if required == 0 => Peek::More(done + length),
            Stop::NeedMore(length) => Peek::More((done + length).max(window.len() * 2)),
            _ => Peek::Enough,
        };
        seen = Some(framing);
        look
    });
    match seen.and_then(|framing| file.undecodable(&framing)) {
        Some(error) => Err(error),
        None => Ok(first),
    }
}
