//! A column: name, unit, meaning and how a row yields its value. Unknown values are null, never
//! zero.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, RecordBatch,
    StringBuilder, TimestampNanosecondBuilder, UInt64Builder,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

use crate::RecordError;

/// How a row yields a column's value; its kind is the column's type.
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
    /// Flags.
    Truth(fn(&R) -> Option<bool>),
    /// Instants: nanoseconds since the Unix epoch.
    Time(fn(&R) -> Option<i64>),
    /// Lists of words.
    Words(fn(&R) -> Vec<String>),
    /// Lists of durations.
    Integers(fn(&R) -> Vec<i64>),
}

/// One column of a table.
#[derive(Debug)]
pub struct Column<R> {
    /// Name, with the unit at its end where it has one.
    pub name: &'static str,
    /// Unit: `bytes`, `seconds`, `nanoseconds`, `packets`, `segments`, `count`, `ratio`,
    /// `bytes/second` or `bits/second`; empty for text and flags.
    pub unit: &'static str,
    /// Meaning, with the source of its formula.
    pub meaning: &'static str,
    /// How a row yields its value.
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
        let mut filling = self.filling(rows.len());
        filling.append(self, rows);
        filling.finish(self.schema())
    }

    /// Columns to be filled, with room for so many rows.
    pub(crate) fn filling(&self, capacity: usize) -> Filling {
        Filling { builders: self.columns.iter().map(|c| c.builder(capacity)).collect() }
    }
}

/// A constructor for each kind of value. Text and flags have no unit, instants count nanoseconds;
/// all others take their unit from the caller.
macro_rules! constructors {
    ($($name:ident $kind:ident $value:ty $(, $unit:literal)?;)*) => {
        $(constructors!(@one $name $kind $value $(, $unit)?);)*
    };
    (@one $name:ident $kind:ident $value:ty, $unit:literal) => {
        #[doc = concat!("A column of [`Values::", stringify!($kind), "`].")]
        pub const fn $name(
            name: &'static str,
            meaning: &'static str,
            value: fn(&R) -> $value,
        ) -> Self {
            Self { name, unit: $unit, meaning, values: Values::$kind(value) }
        }
    };
    (@one $name:ident $kind:ident $value:ty) => {
        #[doc = concat!("A column of [`Values::", stringify!($kind), "`] in `unit`.")]
        pub const fn $name(
            name: &'static str,
            unit: &'static str,
            meaning: &'static str,
            value: fn(&R) -> $value,
        ) -> Self {
            Self { name, unit, meaning, values: Values::$kind(value) }
        }
    };
}

impl<R> Column<R> {
    constructors! {
        count Count Option<u64>;
        integer Integer Option<i64>;
        float Float Option<f64>;
        text Text Option<String>, "";
        truth Truth Option<bool>, "";
        time Time Option<i64>, "nanoseconds";
        words Words Vec<String>, "";
        integers Integers Vec<i64>;
    }

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

    /// An empty array of the column's type, to be filled.
    fn builder(&self, capacity: usize) -> Builder {
        match self.values {
            Values::Count(_) => Builder::Count(UInt64Builder::with_capacity(capacity)),
            Values::Integer(_) => Builder::Integer(Int64Builder::with_capacity(capacity)),
            Values::Float(_) => Builder::Float(Float64Builder::with_capacity(capacity)),
            Values::Text(_) => Builder::Text(StringBuilder::new()),
            Values::Truth(_) => Builder::Truth(BooleanBuilder::with_capacity(capacity)),
            Values::Time(_) => {
                let builder = TimestampNanosecondBuilder::with_capacity(capacity);
                Builder::Time(builder.with_timezone("UTC"))
            }
            Values::Words(_) => Builder::Words(ListBuilder::new(StringBuilder::new())),
            Values::Integers(_) => Builder::Integers(ListBuilder::new(Int64Builder::new())),
        }
    }

    /// Adds the column's values of some rows. A builder of another column's type stays as it is:
    /// [`Filling`] pairs each with its own.
    fn append(&self, builder: &mut Builder, rows: &[R]) {
        macro_rules! filled {
            ($builder:expr, $append:ident, $value:expr) => {
                for row in rows {
                    $builder.$append($value(row));
                }
            };
        }
        match (&self.values, builder) {
            (Values::Count(value), Builder::Count(to)) => filled!(to, append_option, value),
            (Values::Integer(value), Builder::Integer(to)) => filled!(to, append_option, value),
            (Values::Float(value), Builder::Float(to)) => {
                let finite = |row| value(row).filter(|v| v.is_finite());
                filled!(to, append_option, finite);
            }
            (Values::Text(value), Builder::Text(to)) => filled!(to, append_option, value),
            (Values::Truth(value), Builder::Truth(to)) => filled!(to, append_option, value),
            (Values::Time(value), Builder::Time(to)) => filled!(to, append_option, value),
            (Values::Words(value), Builder::Words(to)) => {
                let words = |row| value(row).into_iter().map(Some);
                filled!(to, append_value, words);
            }
            (Values::Integers(value), Builder::Integers(to)) => {
                let integers = |row| value(row).into_iter().map(Some);
                filled!(to, append_value, integers);
            }
            _ => {}
        }
    }
}

/// Columns of one batch while rows are added.
#[derive(Debug)]
pub(crate) struct Filling {
    builders: Vec<Builder>,
}

#[derive(Debug)]
enum Builder {
    Count(UInt64Builder),
    Integer(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
    Truth(BooleanBuilder),
    Time(TimestampNanosecondBuilder),
    Words(ListBuilder<StringBuilder>),
    Integers(ListBuilder<Int64Builder>),
}

impl Builder {
    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Count(builder) => Arc::new(builder.finish()),
            Self::Integer(builder) => Arc::new(builder.finish()),
            Self::Float(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Truth(builder) => Arc::new(builder.finish()),
            Self::Time(builder) => Arc::new(builder.finish()),
            Self::Words(builder) => Arc::new(builder.finish()),
            Self::Integers(builder) => Arc::new(builder.finish()),
        }
    }
}

impl Filling {
    /// Adds rows. A few at a time, so that they are in the cache for every column.
    pub(crate) fn append<R>(&mut self, table: &Table<R>, rows: &[R]) {
        for (column, builder) in table.columns.iter().zip(&mut self.builders) {
            column.append(builder, rows);
        }
    }

    /// The rows added so far as one batch.
    pub(crate) fn finish(&mut self, schema: SchemaRef) -> Result<RecordBatch, RecordError> {
        let arrays = self.builders.iter_mut().map(Builder::finish).collect();
        Ok(RecordBatch::try_new(schema, arrays)?)
    }
}
