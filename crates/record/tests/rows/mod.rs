//! A table of numbers, with every kind of column that has a length of its own.

use trustbed_record::{Column, Table, Values};

pub(crate) fn table() -> Table<u64> {
    let columns = vec![
        Column { name: "n", unit: "1", meaning: "a number", values: Values::Count(|n| Some(*n)) },
        Column {
            name: "name",
            unit: "",
            meaning: "its name",
            values: Values::Text(|n| (n % 3 > 0).then(|| format!("row {n}"))),
        },
        Column {
            name: "more",
            unit: "",
            meaning: "words",
            values: Values::Words(|n| vec!["x".to_owned(); usize::try_from(n % 4).unwrap_or(0)]),
        },
    ];
    Table { name: "test", columns }
}
