//! A spool gives back what was put in, in the same batches, whether it stayed in memory or went
//! through a file.
#![allow(clippy::expect_used, reason = "a test may fail loudly")]

mod rows;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::datatypes::DataType;
use trustbed_record::{Readable, Spool};

use crate::rows::table;

/// Rows per batch.
const BATCH: u64 = 4096;
/// Bytes in memory: of few batches.
const FEW: usize = 1 << 20;
const UINT64: DataType = DataType::UInt64;

fn spooled(rows: u64, in_memory: usize) -> Vec<RecordBatch> {
    let mut spool = Spool::with_memory(table(), in_memory);
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
        for in_memory in [0, FEW, usize::MAX] {
            assert_eq!(spooled(rows, in_memory), direct(rows), "{rows} rows");
        }
    }
}

#[test]
fn two_readings_do_not_disturb_each_other() {
    let mut spool = Spool::with_memory(table(), FEW);
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

#[test]
fn what_many_rows_show_together_is_put_into_them_when_they_are_read() {
    for in_memory in [0, usize::MAX] {
        let mut spool = Spool::with_memory(table(), in_memory);
        for n in 0..2 * BATCH {
            spool.push(n).expect("the temporary file can be written");
        }
        let reader = spool.finish().expect("the temporary file can be written");
        let plain = reader.read().expect("it can be read").map(|b| b.expect("a batch"));
        let plain: Vec<RecordBatch> = plain.collect();
        let rows = reader.rows();
        let changed = reader.changed(Arc::new(move |batch| {
            let (schema, mut columns, length) = batch.into_parts();
            let count = u64::try_from(length).unwrap_or_default();
            let found = schema.fields().iter().position(|f| f.data_type() == &UINT64);
            let all: ArrayRef = Arc::new(UInt64Array::from_iter_values((0..count).map(|_| rows)));
            columns[found.expect("the table has a count")] = all;
            RecordBatch::try_new(schema, columns)
        }));
        for _ in 0..2 {
            let read = changed.read().expect("it can be read").map(|b| b.expect("a batch"));
            let read: Vec<RecordBatch> = read.collect();
            assert_eq!((read.len(), changed.rows()), (plain.len(), rows));
            assert!(read.iter().zip(&plain).all(|(one, other)| one != other));
            assert!(read.iter().zip(&plain).all(|(one, other)| {
                one.schema() == other.schema() && one.num_rows() == other.num_rows()
            }));
        }
    }
}
