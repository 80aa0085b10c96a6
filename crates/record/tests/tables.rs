//! Rows of a measured connection as they stand in the tables.
#![allow(clippy::expect_used, reason = "a test may fail loudly")]

#[path = "../../analyze/tests/measured/mod.rs"]
mod measured;
#[path = "../../flow/tests/packets/mod.rs"]
mod packets;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type, UInt64Type};
use measured::measure;
use packets::{Ends, MS, S, Trace};
use trustbed_analyze::Rows;
use trustbed_record::{Table, address, connections, rtt, segments, spacing, transfers};

fn rows() -> Rows {
    let mut trace = Trace::open();
    trace
        .sends(20 * MS, 0, 1000)
        .acks(30 * MS, 1000)
        .sends(31 * MS, 1000, 1000)
        .sends(S, 1000, 1000)
        .acks(S + 10 * MS, 2000);
    measure(&trace.batch())
}

fn batch<R>(table: &Table<R>, rows: &[R]) -> RecordBatch {
    table.batch(rows).expect("rows of this table")
}

fn text(batch: &RecordBatch, name: &str, row: usize) -> Option<String> {
    let column = batch[name].as_string::<i32>();
    column.is_valid(row).then(|| column.value(row).to_owned())
}

#[test]
fn a_connection_and_its_transfer() {
    let rows = rows();
    let connection = batch(&connections(), &[rows.ended[0].connection.clone()]);
    assert_eq!(text(&connection, "initiator", 0).as_deref(), Some("10.0.0.1"));
    assert_eq!(text(&connection, "state", 0).as_deref(), Some("established"));
    assert_eq!(connection["packets"].as_primitive::<UInt64Type>().value(0), 8);
    let transfer = batch(&transfers(), &[(*rows.ended[0].transfers[0]).clone()]);
    assert_eq!(transfer.num_rows(), 1);
    assert_eq!(text(&transfer, "transfer", 0).as_deref(), Some("1.0"));
    assert_eq!(
        (text(&transfer, "src", 0).as_deref(), text(&transfer, "dst", 0).as_deref()),
        (Some("10.0.0.1"), Some("10.0.0.2"))
    );
    assert_eq!(transfer["unique_bytes"].as_primitive::<UInt64Type>().value(0), 2000);
    assert_eq!(transfer["retransmitted_timeout"].as_primitive::<UInt64Type>().value(0), 1);
    assert_eq!(transfer["duration_ns"].as_primitive::<Int64Type>().value(0), 990_000_000);
    assert!(
        (transfer["loss_rate"].as_primitive::<Float64Type>().value(0) - 1.0 / 3.0).abs() < 1e-12
    );
    assert!(
        transfer["capacity_bytes_per_second"].is_null(0)
            && transfer["x3_bytes_per_second"].is_null(0),
        "unknown, not zero"
    );
}

#[test]
fn a_subflow_is_one_where_both_sides_declared_it() {
    for (accepted, multipath) in [(true, true), (false, false)] {
        let ends = Ends::default();
        let mut trace = Trace::empty();
        trace.push(ends.syn(0).multipath()).push(if accepted {
            ends.syn_ack(10 * MS).multipath()
        } else {
            ends.syn_ack(10 * MS)
        });
        trace.sends(20 * MS, 0, 1000).acks(30 * MS, 1000);
        let rows = measure(&trace.batch());
        let connection = batch(&connections(), &[rows.ended[0].connection.clone()]);
        let transfer = batch(&transfers(), &[(*rows.ended[0].transfers[0]).clone()]);
        for table in [connection, transfer] {
            assert_eq!(table["multipath"].as_boolean().value(0), multipath);
        }
    }
}

#[test]
fn rows_of_single_packets() {
    let rows = rows();
    let round_trips = batch(&rtt(), &rows.samples.rtt);
    assert_eq!(
        (0..2).map(|n| text(&round_trips, "kind", n)).collect::<Vec<_>>(),
        [Some("syn".to_owned()), Some("ack".to_owned())]
    );
    let turns = batch(&spacing(), &rows.samples.spacing);
    assert_eq!(
        turns["spacing_ns"].as_primitive::<Int64Type>().iter().collect::<Vec<_>>(),
        [None, Some(1_000_000), None]
    );
    let sent = batch(&segments(), &rows.samples.segments);
    assert_eq!(
        (0..3).map(|n| text(&sent, "subclass", n)).collect::<Vec<_>>(),
        [None, None, Some("timeout".to_owned())]
    );
    assert_eq!(sent["offset"].as_primitive::<Int64Type>().values(), &[0, 1000, 1000]);
}

#[test]
fn a_table_without_rows_has_its_columns() {
    assert_eq!(batch(&transfers(), &[]).num_columns(), transfers().columns.len());
}

#[test]
fn addresses_are_written_as_their_packet_had_them() {
    let mut mapped = [0; 16];
    mapped[10..].copy_from_slice(&[0xff, 0xff, 192, 0, 2, 1]);
    assert_eq!(address(&mapped, false), "192.0.2.1");
    assert_eq!(
        address(&[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], true),
        "2001:db8::1"
    );
}
