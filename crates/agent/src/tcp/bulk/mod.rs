//! The verb `bulk`: TCP transfers, one thread each, sending or receiving.
//!
//! A sender writes as fast as the connection takes it, or at the [`pace`](crate::tcp::pace) of a
//! limited application; a receiver reads likewise. The sender ends its half and waits for the
//! receiver to end its own: that moment, not the last write, ends the transfer.

mod receive;
mod rows;
mod send;

use crate::session::{Failure, Session, Side};
use crate::tcp::PIECE;

/// Threads of one process.
const MOST_CONNECTIONS: usize = 4096;
/// The largest piece.
const LARGEST_PIECE: u32 = 16 << 20;

const fn piece() -> u32 {
    PIECE
}

/// Refuses a piece that is empty or does not fit into memory.
fn check_piece(key: &str, bytes: u32) -> Result<usize, Failure> {
    if bytes == 0 || bytes > LARGEST_PIECE {
        return Err(Failure::configuration(
            format!("{key}: {bytes} is out of range"),
            format!("give from 1 to {LARGEST_PIECE}"),
        ));
    }
    Ok(bytes as usize)
}

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    match session.configuration()? {
        Side::Send(configuration) => send::run(session, configuration),
        Side::Receive(configuration) => receive::run(session, configuration),
    }
}
