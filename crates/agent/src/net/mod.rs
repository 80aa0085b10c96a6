//! What the verbs that send, receive and fetch share: sockets and what the kernel knows about them, stamps of datagrams, the wait for the
//! end, rows in files.

pub(crate) mod attend;
pub(crate) mod listening;
pub(crate) mod open_streams;
pub(crate) mod readiness;
pub(crate) mod rows;
pub(crate) mod seconds;
pub(crate) mod socket;
pub(crate) mod stamp;
pub(crate) mod tcp_info;
