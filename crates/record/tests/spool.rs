//! A spool gives back what was put in, in the same batches, whether it stayed in memory or went
//! through a file.
#![allow(clippy::expect_used, reason = "a test may fail loudly")]

mod rows;

use arrow::array::RecordBatch;
use trustbed_record::{Readable, Spool};

use crate::rows::table;

/// Rows per batch.
const BATCH: u64 = 4096;

fn spooled(rows: u64) -> Vec<RecordBatch> {
    let mut spool = Spool::new(table());
    for n in 0..rows {
        spool.push(n).expect("the temporary file can be written");
    }
    assert_eq!(spool.rows(), rows);
    let reader = spool.finish().expect("the temporary file can be written");
    assert_eq!(reader.rows(), rows);
    let batches: Vec<RecordBatch> =
        reader.read().expect("it can be read").map(|b| b.expect("a batch")).collect();
    let again: Vec<RecordBatch> =
        reader.read().expect("it can be read twice").map(|b| b.expect("a batch")).collect();
    assert_eq!(batches, again);
    assert!(batches.iter().all(|b| b.schema() == reader.schema()));
    batches
}

/// The same rows, never kept anywhere.
fn direct(rows: u64) -> Vec<RecordBatch> {
    let all: Vec<u64> = (0..rows).collect();
    all.chunks(usize::try_from(BATCH).unwrap_or(1))
        .map(|rows| table().batch(rows).expect("rows of this table"))
        .collect()
}

#[test]
fn in_memory_and_through_a_file_the_batches_are_the_same() {
    for rows in [
        0,
        1,
        BATCH - 1,
        BATCH,
        BATCH + 1,
        4 * BATCH,
        4 * BATCH + 1,
        5 * BATCH,
        7 * BATCH + 11,
        23 * BATCH,
    ] {
        assert_eq!(spooled(rows), direct(rows), "{rows} rows");
    }
}

#[test]
fn two_readings_do_not_disturb_each_other() {
    let mut spool = Spool::new(table());
    for n in 0..9 * BATCH {
        spool.push(n).expect("the temporary file can be written");
    }
    let reader = spool.finish().expect("the temporary file can be written");
    let mut first = reader.read().expect("it can be read");
    let begun = first.next().expect("there are batches").expect("a batch");
    let second: Vec<RecordBatch> =
        reader.read().expect("it can be read").map(|b| b.expect("a batch")).collect();
    let rest: Vec<RecordBatch> = first.map(|b| b.expect("a batch")).collect();
    assert_eq!((second.len(), rest.len()), (9, 8));
    assert_eq!((&second[0], &second[1..]), (&begun, &rest[..]));
}
