//! An analysis that several processes shared, put together: each measured the connections of its
//! own shards over the whole capture, and their rows come out in the order that one process has.
//!
//! A connection ends at a batch, at a packet, and has a number of its own: by these three every
//! part is in order already, and no two parts have the same ones. A part notes them with the rows
//! that each table got from the connection, so that tables are merged without a look at a row.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchReader};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;

use crate::RecordError;
use crate::spool::{BATCH, Change, Readable, reopen};

/// Tables whose rows are counted by connection.
pub const COUNTED: usize = 4;
/// Words of a connection: batch, packet and number, then its rows.
const WORDS: usize = 3 + COUNTED;

/// When the connections of a part ended, and the rows that each of them left.
#[derive(Debug, Default)]
pub struct Sequence {
    batch: u64,
    words: Vec<u64>,
}

impl Sequence {
    /// A connection ended in the batch at hand, at packet `at_index`.
    pub fn push(&mut self, at_index: u64, connection: u64, rows: [u64; COUNTED]) {
        self.words.extend([self.batch, at_index, connection]);
        self.words.extend(rows);
    }

    /// The next batch begins.
    pub fn next_batch(&mut self) {
        self.batch += 1;
    }

    /// For a file: seven words of eight bytes per connection, least significant byte first.
    pub fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// Rows that follow one another in a table, and the part that has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The part.
    pub part: u32,
    /// Rows, at least one.
    pub rows: u64,
}

/// Merges the sequences of all parts, as [`Sequence::bytes`] wrote them: where the rows of each
/// connection come from, one per connection, and of each counted table.
///
/// # Errors
/// When the bytes are no sequence.
pub fn merged(parts: &[Vec<u8>]) -> Result<(Vec<Run>, [Vec<Run>; COUNTED]), RecordError> {
    let mut connections: Vec<([u64; WORDS], u32)> = Vec::new();
    for (part, bytes) in (0_u32..).zip(parts) {
        let (rows, rest) = bytes.as_chunks::<{ 8 * WORDS }>();
        if !rest.is_empty() {
            return Err(RecordError::Part { detail: format!("{} bytes too many", rest.len()) });
        }
        connections.extend(rows.iter().map(|row| {
            let (words, _) = row.as_chunks::<8>();
            (std::array::from_fn(|at| u64::from_le_bytes(words[at])), part)
        }));
    }
    connections.sort_unstable();
    let mut each = Vec::new();
    let mut counted: [Vec<Run>; COUNTED] = Default::default();
    for (words, part) in connections {
        extend(&mut each, part, 1);
        for (runs, rows) in counted.iter_mut().zip(&words[3..]) {
            extend(runs, part, *rows);
        }
    }
    Ok((each, counted))
}

fn extend(runs: &mut Vec<Run>, part: u32, rows: u64) {
    match runs.last_mut() {
        _ if rows == 0 => {}
        Some(last) if last.part == part => last.rows += rows,
        _ => runs.push(Run { part, rows }),
    }
}

/// A table whose rows are in the files of several parts.
pub struct Joined {
    schema: SchemaRef,
    files: Vec<File>,
    runs: Arc<[Run]>,
    change: Option<Change>,
    total: u64,
}

impl std::fmt::Debug for Joined {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Joined").field("rows", &self.total).finish_non_exhaustive()
    }
}

impl Joined {
    /// Opens the Arrow streams of all parts, in their order.
    ///
    /// # Errors
    /// When one of them cannot be read, or has other columns.
    pub fn open(
        files: &[impl AsRef<Path>],
        schema: SchemaRef,
        runs: Vec<Run>,
        change: Option<Change>,
    ) -> Result<Self, RecordError> {
        let files = files.iter().map(|path| File::open(path.as_ref())).collect::<Result<_, _>>()?;
        let total = runs.iter().map(|run| run.rows).sum();
        let joined = Self { schema, files, runs: runs.into(), change, total };
        for stream in joined.streams()? {
            if stream.schema() != joined.schema {
                let detail = "its columns are those of another version".to_owned();
                return Err(RecordError::Part { detail });
            }
        }
        Ok(joined)
    }

    fn streams(&self) -> Result<Vec<StreamReader<BufReader<File>>>, RecordError> {
        let open = |file| Ok(StreamReader::try_new(BufReader::new(reopen(file)?), None)?);
        self.files.iter().map(open).collect()
    }
}

impl Readable for Joined {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.total
    }

    /// Cut where those of one process are.
    fn read(&self) -> Result<Box<dyn RecordBatchReader + Send>, RecordError> {
        let sources = self.streams()?.into_iter().map(Part::new).collect();
        Ok(Box::new(Joining {
            schema: self.schema.clone(),
            sources,
            runs: Arc::clone(&self.runs),
            run: 0,
            done: 0,
            change: self.change.clone(),
        }))
    }
}

/// How far the rows of one part have been taken.
struct Part {
    stream: StreamReader<BufReader<File>>,
    batch: Option<RecordBatch>,
    row: usize,
    /// The position of the batch among those that the rows at hand come from.
    position: Option<usize>,
}

impl Part {
    fn new(stream: StreamReader<BufReader<File>>) -> Self {
        Self { stream, batch: None, row: 0, position: None }
    }

    /// Makes sure that a row is there.
    fn fill(&mut self) -> Result<&RecordBatch, ArrowError> {
        while self.batch.as_ref().is_none_or(|batch| self.row >= batch.num_rows()) {
            let next = self.stream.next().transpose()?;
            let missing =
                || ArrowError::IpcError("a part has fewer rows than it states".to_owned());
            self.batch = Some(next.ok_or_else(missing)?);
            (self.row, self.position) = (0, None);
        }
        self.batch.as_ref().ok_or_else(|| ArrowError::IpcError("a part has no rows".to_owned()))
    }
}

struct Joining {
    schema: SchemaRef,
    sources: Vec<Part>,
    runs: Arc<[Run]>,
    run: usize,
    /// Rows of that run that were taken.
    done: u64,
    change: Option<Change>,
}

impl Joining {
    /// The next rows, as many as make a batch.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let mut batches: Vec<RecordBatch> = Vec::new();
        let mut rows: Vec<(usize, usize)> = Vec::with_capacity(BATCH);
        for part in &mut self.sources {
            part.position = None;
        }
        while rows.len() < BATCH
            && let Some(run) = self.runs.get(self.run)
        {
            let missing = || ArrowError::IpcError("a part that does not exist".to_owned());
            let part = self.sources.get_mut(run.part as usize).ok_or_else(missing)?;
            let batch = part.fill()?.clone();
            let left = usize::try_from(run.rows - self.done).unwrap_or(usize::MAX);
            let taken = left.min(BATCH - rows.len()).min(batch.num_rows() - part.row);
            let position = *part.position.get_or_insert_with(|| {
                batches.push(batch);
                batches.len() - 1
            });
            rows.extend((part.row..part.row + taken).map(|row| (position, row)));
            part.row += taken;
            self.done += taken as u64;
            if self.done == run.rows {
                (self.run, self.done) = (self.run + 1, 0);
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let batch = interleave_record_batch(&batches.iter().collect::<Vec<_>>(), &rows)?;
        match &self.change {
            Some(change) => change(batch).map(Some),
            None => Ok(Some(batch)),
        }
    }
}

impl Iterator for Joining {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl RecordBatchReader for Joining {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
