//! The host itself: the verbs `facts`, `sample`, `spin` and `inject`.

pub(crate) mod facts;
pub(crate) mod inject;
pub(crate) mod sample;
pub(crate) mod spin;
