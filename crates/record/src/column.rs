//! A column: name, unit, meaning and how a row yields its value. Unknown values are null, never zero.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, RecordBatch,
    StringBuilder, TimestampNanosecondBuilder, UInt64Builder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::RecordError;

/// How a row yields a column's value.
#[derive(Debug)]
pub enum Values<R> {
    /// Unsigned integers.
    Count(fn(&R) -> Option<u64>),
    /// Signed integers.
    Integer(fn(&R) -> Option<i64>),
    /// Floats.
    Float(fn(&R) -> Option<f64>),
    /// Text.
    Text(fn(&R) -> Option<String>),
    /// Yes or no.
    Truth(fn(&R) -> Option<bool>),
    /// Moments: nanoseconds since the Unix epoch.
    Time(fn(&R) -> Option<i64>),
    /// Several words.
    Words(fn(&R) -> Vec<String>),
    /// Several durations.
    Integers(fn(&R) -> Vec<i64>),
}

/// One column of a table.
#[derive(Debug)]
pub struct Column<R> {
    /// Name, with the unit at its end where it has one.
    pub name: &'static str,
    /// Unit: `B`, `ns`, `B/s`, `1` for counts and shares, empty for text.
    pub unit: &'static str,
    /// What it says, with its source.
    pub meaning: &'static str,
    /// Where its values come from.
    pub values: Values<R>,
}

/// A table: its name and columns.
#[derive(Debug)]
pub struct Table<R> {
    /// Name.
    pub name: &'static str,
    /// Columns in order.
    pub columns: Vec<Column<R>>,
}

impl<R> Table<R> {
    /// The Arrow schema; every field carries `unit` and `meaning`.
    pub fn schema(&self) -> SchemaRef {
        let fields: Vec<Field> = self.columns.iter().map(Column::field).collect();
        Arc::new(Schema::new(fields))
    }

    /// Rows as one batch.
    ///
    /// # Errors
    /// Never for rows of this table; Arrow's own checks are passed on.
    pub fn batch(&self, rows: &[R]) -> Result<RecordBatch, RecordError> {
        let arrays = self.columns.iter().map(|c| c.array(rows)).collect();
        Ok(RecordBatch::try_new(self.schema(), arrays)?)
    }
}

impl<R> Column<R> {
    fn field(&self) -> Field {
        let list = |inner| DataType::List(Arc::new(Field::new("item", inner, true)));
        let kind = match self.values {
            Values::Count(_) => DataType::UInt64,
            Values::Integer(_) => DataType::Int64,
            Values::Float(_) => DataType::Float64,
            Values::Text(_) => DataType::Utf8,
            Values::Truth(_) => DataType::Boolean,
            Values::Time(_) => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Values::Words(_) => list(DataType::Utf8),
            Values::Integers(_) => list(DataType::Int64),
        };
        let about = [
            ("unit".to_owned(), self.unit.to_owned()),
            ("meaning".to_owned(), self.meaning.to_owned()),
        ];
        Field::new(self.name, kind, true).with_metadata(HashMap::from(about))
    }

    fn array(&self, rows: &[R]) -> ArrayRef {
        match self.values {
            Values::Count(value) => {
                let mut builder = UInt64Builder::with_capacity(rows.len());
                for row in rows {
                    builder.append_option(value(row));
                }
                Arc::new(builder.finish())
            }
            Values::Integer(value) => {
                let mut builder = Int64Builder::with_capacity(rows.len());
                for row in rows {
                    builder.append_option(value(row));
                }
                Arc::new(builder.finish())
            }
            Values::Float(value) => {
                let mut builder = Float64Builder::with_capacity(rows.len());
                for row in rows {
                    builder.append_option(value(row).filter(|v| v.is_finite()));
                }
                Arc::new(builder.finish())
            }
            Values::Text(value) => {
                let mut builder = StringBuilder::new();
                for row in rows {
                    builder.append_option(value(row));
                }
                Arc::new(builder.finish())
            }
            Values::Truth(value) => {
                let mut builder = BooleanBuilder::with_capacity(rows.len());
                for row in rows {
                    builder.append_option(value(row));
                }
                Arc::new(builder.finish())
            }
            Values::Time(value) => {
                let mut builder =
                    TimestampNanosecondBuilder::with_capacity(rows.len()).with_timezone("UTC");
                for row in rows {
                    builder.append_option(value(row));
                }
                Arc::new(builder.finish())
            }
            Values::Words(value) => {
                let mut builder = ListBuilder::new(StringBuilder::new());
                for row in rows {
                    builder.append_value(value(row).into_iter().map(Some));
                }
                Arc::new(builder.finish())
            }
            Values::Integers(value) => {
                let mut builder = ListBuilder::new(Int64Builder::new());
                for row in rows {
                    builder.append_value(value(row).into_iter().map(Some));
                }
                Arc::new(builder.finish())
            }
        }
    }
}
