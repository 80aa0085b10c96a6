//! The verb `media`: a stream of frames at a constant rate, from a server that sends to a client
//! that receives as a player does, over UDP or TCP.
//!
//! A client requests the stream, and the server sends frame after frame, each when its time has
//! come, in packets with a header of 24 bytes. Over UDP the client may report missing parts as long
//! as they can arrive before they are played. The client writes down every packet; what a player
//! would have shown is computed of these rows, and not here.
//!
//! Packets are dated when this program reads them, so a client that is not scheduled makes them
//! late: delays can be over-, never underestimated.

mod deadlines;
mod missing;
mod packet;
mod receive;
mod reception;
mod rows;
mod send;
mod stream;
mod tcp;
mod udp;

use serde::Deserialize;

use crate::session::{Failure, Session, Side};

/// What carries the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
enum Transport {
    Udp,
    Tcp,
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    match session.configuration()? {
        Side::Send(configuration) => send::run(session, &configuration),
        Side::Receive(configuration) => receive::run(session, configuration),
    }
}
