//! Measured TCP connections: the verbs `bulk` and `pairs`.

pub(crate) mod bulk;
mod pace;
pub(crate) mod pairs;
