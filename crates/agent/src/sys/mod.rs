//! The operating system: clocks, waiting, sockets, netlink, ethtool, kernel timestamps.

pub(crate) mod ancillary;
pub(crate) mod clock;
pub(crate) mod ethtool;
pub(crate) mod idle;
pub(crate) mod kernel;
pub(crate) mod listeners;
pub(crate) mod netlink;
pub(crate) mod open_streams;
pub(crate) mod readiness;
pub(crate) mod socket;
pub(crate) mod tcp_info;
pub(crate) mod timestamping;
