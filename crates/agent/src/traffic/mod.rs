//! Background traffic: the verbs `send` and `sink`, and `generate` for users of a model.

pub(crate) mod generate;
pub(crate) mod payload_header;
pub(crate) mod send;
pub(crate) mod sink;
