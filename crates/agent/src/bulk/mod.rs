//! The verb `bulk`: TCP transfers, one thread each, and the side that takes them.
//!
//! A sender writes as fast as the connection takes it, or at the [`pace`](crate::net::pace) of an application that has no more to send; a
//! receiver reads likewise. When it is done it says so and waits until the receiver has everything: the end of a transfer is that moment, not
//! the last write.

mod receive;
mod rows;
mod send;

use serde::Deserialize;

use crate::talk::{Failure, Talk};

/// Threads of one process.
const MOST_CONNECTIONS: usize = 4096;
/// What is written or read at once unless something else is asked for.
const PIECE: u32 = 128 << 10;
/// The largest piece.
const LARGEST_PIECE: u32 = 16 << 20;

#[derive(Debug, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
enum Configuration {
    Send(send::SendConfiguration),
    Receive(receive::ReceiveConfiguration),
}

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
pub(crate) fn run(talk: &mut Talk) -> Result<(), Failure> {
    match talk.configuration()? {
        Configuration::Send(asked) => send::run(talk, asked),
        Configuration::Receive(asked) => receive::run(talk, asked),
    }
}
