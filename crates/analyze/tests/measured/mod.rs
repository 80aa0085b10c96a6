//! Rows of a capture that was written down.
#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly, and its numbers are small")]

use trustbed_analyze::{ConnectionRow, Options, Rows, Shards, TransferRow};
use trustbed_flow::Limits;
use trustbed_wire::Batch;

/// Every row, the per-packet ones included.
pub(crate) fn measure(batch: &Batch) -> Rows {
    measure_with(batch, Options { samples: true, ..Options::default() })
}

pub(crate) fn measure_with(batch: &Batch, options: Options) -> Rows {
    let mut shards = Shards::new(options, Limits::default(), 0, 1);
    shards.on_batch(batch, 0);
    shards.finish();
    Rows::join(vec![shards.take()])
}

/// The only connection.
pub(crate) fn connection(rows: &Rows) -> &ConnectionRow {
    assert_eq!(rows.ended.len(), 1, "one connection is expected");
    &rows.ended[0].connection
}

/// The data of its initiator.
pub(crate) fn transfer(rows: &Rows) -> &TransferRow {
    let of_initiator = |row: &&TransferRow| !row.id.by_responder;
    let mut all = rows.ended.iter().flat_map(|ended| &ended.transfers).map(|row| &**row);
    all.find(of_initiator).unwrap()
}
