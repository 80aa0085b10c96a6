//! The ledger on disk: a line of JSON that describes the columns, then records of one length, one
//! per packet and pipe.
//!
//! Records are collected in chunks, which a thread of its own writes. Forwarding never waits for
//! the disk: when all chunks wait to be written, or the disk is full, records are lost and counted.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use serde::Serialize;
use trustbed_emulate::{Column, Fate, Ledger, Record, Topology};

use super::error::EmulatorError;
use crate::output::{self, append};

/// Records in a chunk.
const CHUNK: usize = 4096;
/// Chunks that can wait: with the length of a record, 16 MB.
const WAITING: usize = 64;

/// The first line of the file.
#[derive(Debug, Serialize)]
struct Head<'a> {
    columns: &'a [Column],
    byte_order: &'static str,
    record_bytes: usize,
    /// Marks a missing time.
    none: i64,
    pipes: Vec<&'a str>,
    fates: Vec<&'static str>,
    /// The real-time clock as it was at the start; it is not set back or forth with it afterwards.
    clock: &'static str,
    seed: u64,
    agent: &'static str,
}

/// What became of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Written {
    /// The file.
    path: PathBuf,
    /// Records in it.
    records: u64,
    /// Records that are not in it.
    lost: u64,
    /// Why not, if it was not for lack of time.
    error: Option<String>,
}

/// The end of the ledger where records come in. Not writing anything is a ledger too.
#[derive(Debug)]
pub(super) struct Recorder(Option<Open>);

#[derive(Debug)]
struct Open {
    path: PathBuf,
    chunk: Vec<u8>,
    lost: u64,
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    writer: JoinHandle<Tally>,
}

/// The results of the writing thread.
#[derive(Debug, Default)]
struct Tally {
    records: u64,
    lost: u64,
    error: Option<String>,
}

impl Recorder {
    /// A ledger that nothing is written to.
    pub(super) fn nowhere() -> Self {
        Self(None)
    }

    /// Creates the file.
    pub(super) fn create(
        path: &Path,
        topology: &Topology,
        seed: u64,
    ) -> Result<Self, EmulatorError> {
        let failed = |source| EmulatorError::Ledger { path: path.to_owned(), source };
        let mut file = output::create(path).map_err(failed)?;
        let head = Head {
            columns: &Record::COLUMNS,
            byte_order: "little",
            record_bytes: Record::BYTES,
            none: Record::NONE,
            pipes: topology.pipes().iter().map(|pipe| pipe.name.as_str()).collect(),
            fates: Fate::ALL.iter().map(|fate| fate.name()).collect(),
            clock: "realtime at the start, then monotonic",
            seed,
            agent: env!("CARGO_PKG_VERSION"),
        };
        let mut line = serde_json::to_vec(&head).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        file.write_all(&line).map_err(failed)?;
        Self::begin(path, file).map_err(failed)
    }

    fn begin(path: &Path, file: File) -> io::Result<Self> {
        let (full, filled) = sync_channel(WAITING);
        let (return_chunk, empty) = sync_channel(WAITING);
        let writer = thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || write(file, &filled, &return_chunk))?;
        Ok(Self(Some(Open {
            path: path.to_owned(),
            chunk: new_chunk(),
            lost: 0,
            full,
            empty,
            writer,
        })))
    }

    /// Hands what has been collected to the writer: at times, so that little is lost when the
    /// program is killed.
    pub(super) fn flush(&mut self) {
        if let Some(open) = &mut self.0
            && !open.chunk.is_empty()
        {
            open.hand_over();
        }
    }

    /// Records that are lost so far for lack of time.
    pub(super) fn lost(&self) -> u64 {
        self.0.as_ref().map_or(0, |open| open.lost)
    }

    /// Waits until everything is written.
    pub(super) fn finish(mut self) -> Option<Written> {
        self.flush();
        let Open { path, lost, full, writer, .. } = self.0.take()?;
        drop(full);
        let tally = writer.join().unwrap_or_else(|_| Tally {
            error: Some("the writing thread ended".to_owned()),
            ..Tally::default()
        });
        Some(Written { path, records: tally.records, lost: lost + tally.lost, error: tally.error })
    }
}

impl Ledger for Recorder {
    fn on_record(&mut self, record: &Record) {
        if let Some(open) = &mut self.0 {
            open.chunk.extend_from_slice(&record.to_le_bytes());
            if open.chunk.len() >= CHUNK * Record::BYTES {
                open.hand_over();
            }
        }
    }
}

impl Open {
    fn hand_over(&mut self) {
        let chunk = std::mem::take(&mut self.chunk);
        self.chunk = match self.full.try_send(chunk) {
            Ok(()) => self.empty.try_recv().unwrap_or_else(|_| new_chunk()),
            Err(TrySendError::Full(mut chunk) | TrySendError::Disconnected(mut chunk)) => {
                self.lost += records_in(&chunk);
                chunk.clear();
                chunk
            }
        };
    }
}

fn new_chunk() -> Vec<u8> {
    Vec::with_capacity(CHUNK * Record::BYTES)
}

fn records_in(chunk: &[u8]) -> u64 {
    (chunk.len() / Record::BYTES) as u64
}

/// Writes chunks until there are no more. After the first error nothing is written; the file ends
/// behind its last whole record.
fn write(mut file: File, filled: &Receiver<Vec<u8>>, return_chunk: &SyncSender<Vec<u8>>) -> Tally {
    let mut tally = Tally::default();
    for mut chunk in filled {
        if tally.error.is_some() {
            tally.lost += records_in(&chunk);
        } else {
            let written = append::append(&mut file, &chunk, Record::BYTES);
            tally.records += written.records;
            tally.lost += records_in(&chunk) - written.records;
            tally.error = written.error.map(|error| error.to_string());
        }
        chunk.clear();
        // No more are returned than were handed out; one too many is freed.
        let _ = return_chunk.try_send(chunk);
    }
    tally
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};

    use trustbed_units::Ns;

    use super::*;

    fn topology() -> Topology {
        let text = r#"{"chain":{"ends":[{"name":"near","addresses":["10.0.0.1"]},
            {"name":"far","addresses":["10.0.0.2"]}],"up":[{}]}}"#;
        Topology::new(&serde_json::from_str(text).unwrap()).unwrap()
    }

    fn record(number: u64) -> Record {
        Record {
            number,
            pipe: 1,
            arrived: Ns(number.cast_signed()),
            departed: None,
            due: None,
            actual: None,
            length: 60,
            found_packets: 0,
            found_bytes: 0,
            fate: Fate::Passed,
            copy: false,
        }
    }

    #[test]
    fn recorded_packets_are_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger");
        let mut recorder = Recorder::create(&path, &topology(), 7).unwrap();
        let count = CHUNK as u64 * 3 + 5;
        for number in 0..count {
            recorder.on_record(&record(number));
        }
        let written = recorder.finish().unwrap();
        assert_eq!((written.records + written.lost, written.error), (count, None));
        let mut file = BufReader::new(File::open(&path).unwrap());
        let mut line = String::new();
        file.read_line(&mut line).unwrap();
        let head: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&head["seed"], &head["pipes"][0], &head["fates"][0]),
            (&7.into(), &"up".into(), &"passed".into())
        );
        let mut rest = Vec::new();
        file.read_to_end(&mut rest).unwrap();
        assert_eq!(rest.len() as u64, written.records * Record::BYTES as u64);
        assert_eq!(rest[..Record::BYTES], record(0).to_le_bytes());
    }

    #[test]
    fn records_lost_to_a_full_disk_are_counted() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut recorder = Recorder::begin(Path::new("/dev/full"), full).unwrap();
        for number in 0..10 {
            recorder.on_record(&record(number));
        }
        let written = recorder.finish().unwrap();
        assert_eq!((written.records, written.lost), (0, 10));
        assert!(written.error.unwrap().contains("space"));
    }

    #[test]
    fn without_a_file_records_are_discarded_silently() {
        let mut recorder = Recorder::nowhere();
        recorder.on_record(&record(0));
        assert_eq!(recorder.finish(), None);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let error = Recorder::create(Path::new("/nonexistent/ledger"), &topology(), 1).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/ledger"));
    }
}
