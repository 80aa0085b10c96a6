//! Every column says its unit and its meaning, names are unique, and what is unknown is null and
//! never zero.

use std::collections::BTreeSet;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Float64Type, Int64Type, TimeUnit, TimestampNanosecondType, UInt64Type,
};
use trustbed_record::{Column, Table, Values, schemas};

#[test]
fn every_column_has_a_unit_or_is_words_and_a_meaning() {
    let tables = schemas();
    assert_eq!(
        tables.iter().map(|t| t.0).collect::<Vec<_>>(),
        [
            "connections",
            "transfers",
            "phases",
            "exchanges",
            "two_point",
            "rtt",
            "spacing",
            "segments"
        ]
    );
    for (table, schema) in tables {
        let mut names = BTreeSet::new();
        for field in schema.fields() {
            let (name, about) = (field.name(), field.metadata());
            let words = match field.data_type() {
                DataType::Utf8 | DataType::Boolean => true,
                DataType::List(item) => item.data_type() == &DataType::Utf8,
                _ => false,
            };
            assert_eq!(about["unit"].is_empty(), words, "{table}.{name}");
            assert!(about["meaning"].len() > 3, "{table}.{name} has no meaning");
            assert!(names.insert(name.clone()), "{table}.{name} is there twice");
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
                "{table}.{name}"
            );
            assert!(field.is_nullable(), "{table}.{name}: unknown must be possible");
        }
    }
}

#[test]
fn a_unit_at_the_end_of_a_name_is_its_unit() {
    for (table, schema) in schemas() {
        for field in schema.fields() {
            let unit = field.metadata()["unit"].as_str();
            let (name, time) = (field.name(), matches!(field.data_type(), DataType::Timestamp(..)));
            assert_eq!(name.ends_with("_ns"), unit == "nanoseconds", "{table}.{name}");
            assert_eq!(
                name.ends_with("_bytes_per_second"),
                unit == "bytes/second",
                "{table}.{name}"
            );
            assert!(
                !time
                    || field.data_type()
                        == &DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
                "{table}.{name}"
            );
        }
    }
}

/// A number that may be unknown, or no number at all.
type Row = (Option<u64>, f64);

const fn column(name: &'static str, values: Values<Row>) -> Column<Row> {
    Column { name, unit: "count", meaning: "a test", values }
}

fn table() -> Table<Row> {
    let columns = vec![
        column("count", Values::Count(|r| r.0)),
        column("integer", Values::Integer(|r| r.0.map(|n| -n.cast_signed()))),
        column("float", Values::Float(|r| Some(r.1))),
        column("text", Values::Text(|r| r.0.map(|n| n.to_string()))),
        column("truth", Values::Truth(|r| r.0.map(|n| n > 1))),
        column("time", Values::Time(|r| r.0.map(u64::cast_signed))),
        column("words", Values::Words(|r| r.0.map(|n| format!("w{n}")).into_iter().collect())),
        column("integers", Values::Integers(|r| r.0.map(u64::cast_signed).into_iter().collect())),
    ];
    Table { name: "test", columns }
}

#[test]
fn what_is_unknown_is_null() {
    let batch = table().batch(&[(None, f64::NAN), (Some(0), 0.0)]).expect("rows of this table");
    for column in batch.columns().iter().take(6) {
        assert_eq!(
            (column.is_null(0), column.is_null(1)),
            (true, false),
            "{:?}",
            column.data_type()
        );
    }
    assert_eq!(batch["words"].as_list::<i32>().value(0).len(), 0, "no words are an empty list");
}

#[test]
fn no_number_is_null() {
    let rows: Vec<Row> =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.5].into_iter().map(|x| (None, x)).collect();
    let batch = table().batch(&rows).expect("rows of this table");
    let floats = batch["float"].as_primitive::<Float64Type>();
    assert_eq!(floats.iter().collect::<Vec<_>>(), [None, None, None, Some(-0.5)]);
}

#[test]
fn values_arrive_as_they_are() {
    let batch = table()
        .batch(&[(Some(2), 0.25), (Some(u64::from(u32::MAX)), 1e300)])
        .expect("rows of this table");
    assert_eq!(batch["count"].as_primitive::<UInt64Type>().values(), &[2, 4_294_967_295]);
    assert_eq!(batch["integer"].as_primitive::<Int64Type>().values(), &[-2, -4_294_967_295]);
    assert_eq!(batch["float"].as_primitive::<Float64Type>().values(), &[0.25, 1e300]);
    assert_eq!(batch["text"].as_string::<i32>().value(1), "4294967295");
    assert!(batch["truth"].as_boolean().value(0));
    assert_eq!(batch["time"].as_primitive::<TimestampNanosecondType>().value(0), 2);
    assert_eq!(batch["words"].as_list::<i32>().value(0).as_string::<i32>().value(0), "w2");
    assert_eq!(
        batch["integers"].as_list::<i32>().value(1).as_primitive::<Int64Type>().value(0),
        4_294_967_295
    );
}
