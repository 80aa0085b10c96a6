//! What can be wrong with the settings of an estimator or a monitor.

/// An estimator or a monitor that cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProbeError {
    /// Rates must be above 0, and the lowest below the highest.
    #[error(
        "no rate lies from {lowest} to {highest} bit/s; give a lowest rate above 0 and below the \
         highest"
    )]
    NoRates {
        /// The lowest rate.
        lowest: f64,
        /// The highest rate.
        highest: f64,
    },
    /// A chirp whose rate does not grow never ends; one that grows too slowly has more packets than
    /// a host can send.
    #[error(
        "a spread factor of {factor} gives chirps of {packets} packets; give one from 1.01 to 4, \
         or rates that lie closer together"
    )]
    Spread {
        /// The factor.
        factor: f64,
        /// The packets that a chirp would have.
        packets: usize,
    },
    /// A packet must hold its own number and stamps, and fit into a frame.
    #[error("{name} of {bytes} bytes; give from {least} to {largest}")]
    Payload {
        /// The setting.
        name: &'static str,
        /// What it was.
        bytes: u32,
        /// The smallest that is accepted.
        least: u32,
        /// The largest that is accepted.
        largest: u32,
    },
    /// Anything else that must be positive.
    #[error("{name} of {value}; give a number above 0")]
    NotPositive {
        /// The setting.
        name: &'static str,
        /// What it was.
        value: f64,
    },
    /// A window has to be a part of its second.
    #[error("windows of {nanoseconds} ns in every second; give more than 0 and up to 1000000000")]
    Duty {
        /// The length.
        nanoseconds: i64,
    },
}
