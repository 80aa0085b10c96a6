//! Active measurements of a path: the verbs `ping`, `probe`, `reflect` and `estimate`.

pub(crate) mod estimate;
pub(crate) mod ping;
pub(crate) mod stamp;
