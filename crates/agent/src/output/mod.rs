//! The files that verbs write: lines of JSON, rows of numbers, records appended whole.

pub(crate) mod append;
pub(crate) mod json_lines;
pub(crate) mod records;
pub(crate) mod rows;
pub(crate) mod seconds;
