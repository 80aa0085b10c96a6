//! The verb `pairs`: one round of connection pairs. A pair is a short connection (the probe) and a long one (the data) between the same two
//! hosts; several pairs are under way at once.
//!
//! Configurations. Both sides are told the same round, nonce and connections; `to` is what the receiver's `ready` calls `listening`:
//!
//!     {"role": "receive", "listen": "10.0.0.2", "peer": "10.0.0.1", "round": 7, "nonce": "00112233445566778899aabbccddeeff",
//!      "connections": [{"pair": 0, "role": "probe", "bytes": 16384}, {"pair": 0, "role": "data", "bytes": 8388608}]}
//!     {"role": "send", "from": "10.0.0.1", "to": {"probe": "10.0.0.2:40001", "data": "10.0.0.2:40002"}, "round": 7, …}
//!
//! The receiver has a port for each role, because a window has to be set before a socket listens: 16 KiB for probes, 64 KiB for data, the
//! values of the Network Weather Service, unless `window_bytes` says otherwise. The ports exist from `ready` until every declared
//! connection has come, and are bound to one address. They take connections of one peer, and of those the declared ones: each begins with
//! a header ([`header`]), and whatever has another nonce, round, pair, role or size, or comes a second time, is counted under its reason
//! ([`roll`]) and reset. A connection may move what was declared and no more, at most at `rate_bits_per_second`, and for at most
//! `transfer_timeout_ns`; the phase lasts for at most `duration_ns`. It ends before when every declared connection has ended: whoever runs
//! both sides stops the receiver when the sender has reported, or it waits for what never came.
//!
//! The sender opens its connections at the start, a thread for each: all at once, or (`"order": "sequential"`) the data of a pair when its
//! probe has ended, however it did. It writes header and payload, ends its half, and reads the receiver's answer: how much came, when, and
//! how that is judged. A connection failed unless everything declared came, and not more, within the time.
//!
//! Moments in reports count from the start of the side that reports, and are negative before it. Sizes and rates are of the payload,
//! without the header. Throughput, in bytes per second:
//!
//! - `app`: from when the receiver accepted the connection until it read the last byte. Both moments are those of a program that was woken:
//!   it can be too small by how late that was, and too large by what waited while nobody accepted yet.
//! - `snd`: from the sender's first write until the acknowledgement of the last byte, as the kernel stamps it; null where it does not. The
//!   first moment is that of a program and lies before the first segment: `snd` can be too small, never too large.
//!
//! Which window was advertised on the wire is seen in a capture only: at most the one that was set, where that is a power of two, and
//! less by up to a segment; in the first flight half of it ([`receive::first_buffer`]). Options in reports are what the kernel granted.

mod acknowledged;
mod declared;
mod door;
mod giving;
mod header;
mod receive;
mod roll;
mod rows;
mod send;
mod taking;

use serde::Deserialize;

use crate::talk::{Failure, Talk};

/// Read or written at once.
const PIECE: usize = 128 << 10;

#[derive(Debug, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
enum Configuration {
    Send(send::SendConfiguration),
    Receive(receive::ReceiveConfiguration),
}

/// Runs the verb.
pub(crate) fn run(talk: &mut Talk) -> Result<(), Failure> {
    match talk.configuration()? {
        Configuration::Send(asked) => send::run(talk, asked),
        Configuration::Receive(asked) => receive::run(talk, asked),
    }
}
