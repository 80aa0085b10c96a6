//! The verb `estimate`: the available bandwidth of a path, by pathload or pathChirp, between two agents.
//!
//! What is sent and what is concluded is decided in `trustbed-probe`; here are the sockets and the waiting. The sender sends a run (a train, a
//! stream or a chirp), each packet at its moment, then asks the receiver over a TCP connection when they came. Nothing is said on the path
//! while a run is on it but the run.
//!
//! Moments are the kernel's: a packet left when it was handed to its interface, and came when it was taken up (`SO_TIMESTAMPING`). Where the
//! kernel does not say, they are this program's. A run that the sender did not send as it was asked for, that the receiver had no room for, or
//! in which a clock was set is not used: it is counted under its reason, and sent again.
//!
//! Bias: a host that is late in between makes delays rise as a full link does. What is seen of it spoils the run; what a hypervisor hides from
//! both kernels is not seen.

mod arrivals;
mod connection;
mod drive;
mod flight;
mod receive;
mod report;
mod send;
mod settings;
mod wire;

use serde::Deserialize;

use crate::talk::{Failure, Talk};

#[derive(Debug, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
enum Configuration {
    Send(send::SendConfiguration),
    Receive(receive::ReceiveConfiguration),
}

/// Runs the verb.
pub(crate) fn run(talk: &mut Talk) -> Result<(), Failure> {
    match talk.configuration()? {
        Configuration::Send(asked) => send::run(talk, &asked),
        Configuration::Receive(asked) => receive::run(talk, &asked),
    }
}
