//! Measured TCP connections: the verbs `bulk` and `pairs`.

pub(crate) mod bulk;
mod connections;
mod pace;
pub(crate) mod pairs;

/// Written or read at once, unless `bulk` is configured otherwise.
const PIECE: u32 = 128 << 10;
