//! Rows dealt to parts come out in the order of one process, and trails as they went in.
#![allow(clippy::expect_used, reason = "a test may fail loudly")]

mod rows;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::ipc::writer::StreamWriter;
use proptest::collection::vec;
use proptest::prelude::*;
use trustbed_analyze::{Pause, Silence, Trail, TransferId};
use trustbed_record::{
    COUNTED, Joined, Readable, RecordError, Sequence, Spool, Table, merged, trail_bytes, trails_of,
};
use trustbed_units::{Ns, Span};

use crate::rows::table;

/// A connection's rows, and the part that measures it.
type Dealt = (usize, u64);

/// The connections of a batch, by part: one after the other.
fn written(batches: &[Vec<Dealt>], part: usize, path: &Path) -> Sequence {
    let mut sequence = Sequence::default();
    let mut spool = Spool::new(table());
    let (mut number, mut connection) = (0, 0);
    for batch in batches {
        for &(owner, rows) in batch {
            connection += 1;
            if owner == part {
                sequence.push(connection, connection, [rows; COUNTED]);
                (number..number + rows).for_each(|n| spool.push(n).expect("it can be kept"));
            }
            number += rows;
        }
        sequence.next_batch();
    }
    let reader = spool.finish().expect("it can be kept");
    let file = File::create(path).expect("a file");
    let mut stream = StreamWriter::try_new(file, &reader.schema()).expect("a stream");
    for batch in reader.read().expect("it can be read") {
        stream.write(&batch.expect("a batch")).expect("it can be written");
    }
    stream.finish().expect("it can be written");
    sequence
}

fn batches(
    reader: impl Iterator<Item = Result<RecordBatch, arrow::error::ArrowError>>,
) -> Vec<RecordBatch> {
    reader.map(|batch| batch.expect("a batch")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn parts_are_merged_in_the_order_of_one_process(
        dealt in vec(vec((0_usize..4, prop_oneof![5 => 0_u64..9, 1 => 0_u64..5000]), 0..9), 1..12),
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        let files: Vec<PathBuf> =
            (0..4).map(|part| directory.path().join(part.to_string())).collect();
        let sequences: Vec<Vec<u8>> = (0..4)
            .map(|part| written(&dealt, part, &files[part]).bytes())
            .collect();
        let (each, counted) = merged(&sequences).expect("sequences");
        prop_assert_eq!(
            each.iter().map(|run| run.rows).sum::<u64>(),
            dealt.iter().map(Vec::len).sum::<usize>() as u64
        );
        let rows: u64 = dealt.iter().flatten().map(|(_, rows)| rows).sum();
        let mut alone = Spool::new(table());
        (0..rows).for_each(|n| alone.push(n).expect("it can be kept"));
        let alone = batches(alone.finish().expect("kept").read().expect("it can be read"));
        for runs in counted {
            let joined =
                Joined::open(&files, table().schema(), runs, None).expect("all parts are there");
            prop_assert_eq!(joined.rows(), rows);
            for _ in 0..2 {
                prop_assert_eq!(&batches(joined.read().expect("it can be read")), &alone);
            }
        }
    }

    #[test]
    fn trails_come_back(
        trails in vec((any::<[u8; 16]>(), any::<(u64, bool)>(), any::<(i64, i64)>(),
            any::<Option<i64>>(), vec(any::<(i64, i64, bool)>(), 0..4),
            vec(any::<(i64, i64)>(), 0..4)), 0..6),
        cut in 1_usize..16,
    ) {
        let trails: Vec<Trail> = trails
            .into_iter()
            .map(|(host, (connection, by_responder), (first, last), base, silences, pauses)| Trail {
                host,
                transfer: TransferId { connection, by_responder },
                first: Ns(first),
                last: Ns(last),
                silences: silences
                    .into_iter()
                    .map(|(from, to, pending)| Silence { from: Ns(from), to: Ns(to), pending })
                    .collect(),
                pauses: pauses
                    .into_iter()
                    .map(|(from, to)| Pause { from: Ns(from), to: Ns(to) })
                    .collect(),
                rtt_base: base.map(Span),
            })
            .collect();
        let bytes = trail_bytes(&trails);
        prop_assert_eq!(&trails_of(&bytes).expect("whole"), &trails);
        if !bytes.is_empty() {
            let short = trails_of(&bytes[..bytes.len() - cut]);
            prop_assert!(matches!(short, Err(RecordError::Part { .. })), "{:?}", short);
        }
    }
}

#[test]
fn what_is_no_part_is_refused() {
    assert!(matches!(merged(&[vec![0; 57]]), Err(RecordError::Part { .. })));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("0");
    let sequence = written(&[vec![(0, 5)]], 0, &file).bytes();
    let other = Table { name: "other", columns: table().columns.into_iter().take(1).collect() };
    let (_, [runs, more, ..]) = merged(std::slice::from_ref(&sequence)).expect("a sequence");
    let refused = Joined::open(&[&file], other.schema(), runs, None);
    assert!(matches!(refused, Err(RecordError::Part { .. })));
    let many: Vec<_> = more.iter().cycle().take(2).copied().collect();
    let changed = Arc::new(|batch: RecordBatch| Ok(batch.slice(1, 2)));
    let joined = Joined::open(&[&file], table().schema(), more, Some(changed)).expect("a part");
    assert_eq!(batches(joined.read().expect("it can be read"))[0].num_rows(), 2);
    let longer = Joined::open(&[&file], table().schema(), many, None).expect("a part");
    assert!(longer.read().expect("it begins").any(|batch| batch.is_err()));
}
