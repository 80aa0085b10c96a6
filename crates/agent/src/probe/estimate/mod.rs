//! The verb `estimate`: the available bandwidth of a path, by pathload or pathChirp, between two
//! agents.
//!
//! `trustbed-probe` decides what is sent and concluded; here are the sockets and the waiting. The
//! sender sends a run (a train, a stream or a chirp), each packet at its moment, then asks the
//! receiver over a TCP connection for the arrival times. While a run is on the path, nothing else
//! is sent.
//!
//! Times are the kernel's: departure is when a packet was handed to its interface, arrival when it
//! was received from one (`SO_TIMESTAMPING`). Where the kernel has none, they are this program's. A
//! run that left with wrong gaps, overflowed a buffer or saw a clock step is invalid: it is counted
//! by reason, and sent again.
//!
//! Bias: a host that is late in between makes delays rise as a full link does. What is detected of
//! it invalidates the run; what a hypervisor hides from both kernels is not detected.

mod arrivals;
mod connection;
mod drive;
mod flight;
mod receive;
mod report;
mod send;
mod settings;
mod wire;

use crate::session::{Failure, Session, Side};

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    match session.configuration()? {
        Side::Send(configuration) => send::run(session, &configuration),
        Side::Receive(configuration) => receive::run(session, &configuration),
    }
}
