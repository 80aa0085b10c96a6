//! Tables: every column's name, type, unit and meaning in one place, and rows as Arrow batches.
//!
//! Rows leave the analysis as they come to be; a [`Spool`] keeps them in memory while they are few
//! and in an unnamed temporary file when they are many. Batches are cut at a fixed number of rows,
//! so that a table is the same however it was made.

mod column;
mod connections;
mod joined;
mod model;
mod phases;
mod samples;
mod spool;
mod text;
mod trails;
mod transfers;
mod two_point;

pub use column::{Column, Table, Values};
pub use connections::connections;
pub use joined::{COUNTED, Joined, Run, Sequence, merged};
pub use model::{
    ModelConnectionRow, ModelHostRow, ModelUnitRow, model_connections, model_hosts, model_rows,
    model_units,
};
pub use phases::{ExchangeRow, PhaseRow, exchange_rows, exchanges, phase_rows, phases};
pub use samples::{rtt, segments, spacing};
pub use spool::{Change, Readable, Reader, RecordError, Spool};
pub use text::address;
pub use trails::{trail_bytes, trails_of};
pub use transfers::transfers;
pub use two_point::two_point;

/// Name and schema of every table.
pub fn schemas() -> Vec<(&'static str, arrow::datatypes::SchemaRef)> {
    vec![
        ("connections", connections().schema()),
        ("transfers", transfers().schema()),
        ("phases", phases().schema()),
        ("exchanges", exchanges().schema()),
        ("two_point", two_point().schema()),
        ("rtt", rtt().schema()),
        ("spacing", spacing().schema()),
        ("segments", segments().schema()),
    ]
}

/// Name and schema of the tables of a traffic model.
pub fn model_schemas() -> Vec<(&'static str, arrow::datatypes::SchemaRef)> {
    vec![
        ("model_connections", model_connections().schema()),
        ("model_units", model_units().schema()),
        ("model_hosts", model_hosts().schema()),
    ]
}
