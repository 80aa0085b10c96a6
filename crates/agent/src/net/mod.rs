//! What the verbs that send, receive and fetch share: sockets and what the kernel knows about them, questions to it over netlink, stamps of
//! datagrams and the kernel's own, the wait for the end, the pace of an application, rows in files.

pub(crate) mod ancillary;
pub(crate) mod attend;
pub(crate) mod listening;
pub(crate) mod netlink;
pub(crate) mod open_streams;
pub(crate) mod pace;
pub(crate) mod readiness;
pub(crate) mod rows;
pub(crate) mod seconds;
pub(crate) mod socket;
pub(crate) mod stamp;
pub(crate) mod stamped;
pub(crate) mod tcp_info;
