//! Background traffic: the verbs `send` and `sink`.

pub(crate) mod payload_header;
pub(crate) mod send;
pub(crate) mod sink;
