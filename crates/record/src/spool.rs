//! Where rows wait until they are read: in memory while they are few, in an unnamed temporary
//! file when they are many.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;

use crate::Table;
use crate::column::Filling;

/// Why rows could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The temporary file failed (a full disk, most often).
    #[error("the temporary file for the table rows failed: {source}")]
    Spill {
        /// What the system reported.
        #[from]
        source: std::io::Error,
    },
    /// Arrow refused a batch.
    #[error("the table rows do not fit their schema: {source}")]
    Arrow {
        /// What Arrow reported.
        #[from]
        source: ArrowError,
    },
    /// What a part of an analysis left is not whole.
    #[error("a part of the analysis is damaged: {detail}")]
    Part {
        /// What was found.
        detail: String,
    },
}

/// Rows per batch.
pub(crate) const BATCH: usize = 4096;
/// Rows that are written to the columns together: with some kilobytes each, they stay in the cache
/// from the first column to the last.
const TOGETHER: usize = 32;
/// Bytes of batches kept in memory; with more, all go to the file.
const IN_MEMORY: usize = 4 << 20;

/// Rows of one table, in the order in which they came.
pub struct Spool<R> {
    table: Table<R>,
    schema: SchemaRef,
    rows: Vec<R>,
    filling: Option<Filling>,
    /// Rows in it.
    filled: usize,
    batches: Vec<RecordBatch>,
    /// Bytes of them, and how many there may be.
    held: usize,
    in_memory: usize,
    file: Option<StreamWriter<BufWriter<File>>>,
    total: u64,
}

impl<R> std::fmt::Debug for Spool<R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Spool")
            .field("table", &self.table.name)
            .field("rows", &self.total)
            .finish_non_exhaustive()
    }
}

impl<R> Spool<R> {
    /// An empty spool.
    pub fn new(table: Table<R>) -> Self {
        Self::with_memory(table, IN_MEMORY)
    }

    /// An empty spool that keeps no more than so many bytes in memory, and the batch at hand.
    pub fn with_memory(table: Table<R>, in_memory: usize) -> Self {
        Self {
            schema: table.schema(),
            table,
            rows: Vec::new(),
            filling: None,
            filled: 0,
            batches: Vec::new(),
            held: 0,
            in_memory,
            file: None,
            total: 0,
        }
    }

    /// How many rows it holds.
    pub fn rows(&self) -> u64 {
        self.total
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub fn push(&mut self, row: R) -> Result<(), RecordError> {
        self.rows.push(row);
        self.total += 1;
        if self.rows.len() < TOGETHER {
            return Ok(());
        }
        self.fill();
        if self.filled >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Writes the waiting rows to their columns.
    fn fill(&mut self) {
        let filling = self.filling.get_or_insert_with(|| self.table.filling(BATCH));
        filling.append(&self.table, &self.rows);
        self.filled += self.rows.len();
        self.rows.clear();
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        if !self.rows.is_empty() {
            self.fill();
        }
        let Some(mut filling) = self.filling.take() else { return Ok(()) };
        let batch = filling.finish(self.schema.clone())?;
        self.filled = 0;
        self.held += batch.get_array_memory_size();
        self.batches.push(batch);
        if self.file.is_some() || self.held > self.in_memory {
            let writer = match &mut self.file {
                Some(writer) => writer,
                None => self.file.insert(StreamWriter::try_new(
                    BufWriter::new(tempfile::tempfile()?),
                    &self.schema,
                )?),
            };
            for batch in self.batches.drain(..) {
                writer.write(&batch)?;
            }
        }
        Ok(())
    }

    /// Closes the spool: what can be read as often as needed.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub fn finish(mut self) -> Result<Reader, RecordError> {
        self.flush()?;
        let file = match self.file {
            Some(mut writer) => {
                for batch in self.batches.drain(..) {
                    writer.write(&batch)?;
                }
                writer.finish()?;
                let mut file = writer.into_inner()?;
                file.flush()?;
                Some(file.into_inner().map_err(std::io::IntoInnerError::into_error)?)
            }
            None => None,
        };
        Ok(Reader {
            schema: self.schema,
            batches: self.batches,
            file,
            total: self.total,
            change: None,
        })
    }
}

/// Rows of a table, to be read as often as needed.
pub trait Readable: std::fmt::Debug + Send + Sync {
    /// The table's schema.
    fn schema(&self) -> SchemaRef;

    /// How many rows there are.
    fn rows(&self) -> u64;

    /// All batches from the first on.
    ///
    /// # Errors
    /// When a file cannot be read.
    fn read(&self) -> Result<Box<dyn RecordBatchReader + Send>, RecordError>;
}

/// Makes other columns of a batch.
pub type Change = Arc<dyn Fn(RecordBatch) -> Result<RecordBatch, ArrowError> + Send + Sync>;

/// A finished spool.
pub struct Reader {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    file: Option<File>,
    total: u64,
    change: Option<Change>,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Reader").field("rows", &self.total).finish_non_exhaustive()
    }
}

impl Reader {
    /// A table without rows.
    pub fn empty(schema: SchemaRef) -> Self {
        Self { schema, batches: Vec::new(), file: None, total: 0, change: None }
    }

    /// The same rows, with what was not known yet when they were put in.
    #[must_use]
    pub fn changed(self, change: Change) -> Self {
        Self { change: Some(change), ..self }
    }

    fn batches(
        &self,
    ) -> Result<Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>, RecordError> {
        let Some(file) = &self.file else {
            return Ok(Box::new(self.batches.clone().into_iter().map(Ok)));
        };
        let mut file = reopen(file)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(Box::new(StreamReader::try_new(BufReader::new(file), None)?))
    }
}

impl Readable for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.total
    }

    fn read(&self) -> Result<Box<dyn RecordBatchReader + Send>, RecordError> {
        let (batches, schema) = (self.batches()?, self.schema.clone());
        Ok(match self.change.clone() {
            None => Box::new(RecordBatchIterator::new(batches, schema)),
            Some(change) => {
                let changed = batches.map(move |batch| change(batch?));
                Box::new(RecordBatchIterator::new(changed, schema))
            }
        })
    }
}

/// A second handle with a position of its own.
pub(crate) fn reopen(file: &File) -> std::io::Result<File> {
    use std::os::fd::AsRawFd;
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).or_else(|_| file.try_clone())
}
