//! The verb `pairs`: one round of connection pairs. A pair is a short connection (the probe) and a
//! long one (the data) between the same two hosts; several pairs run at once.
//!
//! Both sides get the same round, nonce and connections; `to` is the receiver's `listening`:
//!
//! ```json
//! {"role": "receive", "listen": "10.0.0.2", "peer": "10.0.0.1", "round": 7,
//!  "nonce": "00112233445566778899aabbccddeeff",
//!  "connections": [{"pair": 0, "role": "probe", "bytes": 16384},
//!                  {"pair": 0, "role": "data", "bytes": 8388608}]}
//! {"role": "send", "from": "10.0.0.1",
//!  "to": {"probe": "10.0.0.2:40001", "data": "10.0.0.2:40002"}, "round": 7, …}
//! ```
//!
//! The receiver has a port for each role, because a window has to be set before a socket listens:
//! 16 KiB for probes, 64 KiB for data, the values of the Network Weather Service, unless
//! `window_bytes` differs. The ports exist from `ready` until every declared connection is
//! admitted, and are bound to one address. A connection of the peer begins with a header
//! ([`header`]); one with another nonce, round, pair, role or size, or a second one, is reset and
//! counted by reason ([`admission`]). A connection may carry what was declared and no more, at most
//! at `rate_bits_per_second`, and for at most `transfer_timeout_ns`; the phase lasts for at most
//! `duration_ns`, and ends before when every declared connection has ended. The controller stops
//! the receiver when the sender has reported: the receiver would wait for connections that never
//! come.
//!
//! The sender opens its connections at the start, a thread for each: all at once, or (`"order":
//! "sequential"`) the data of a pair when its probe has ended, however it did. It writes header and
//! payload, ends its half, and reads the receiver's answer: bytes received, times, and verdict. A
//! connection has failed unless everything declared arrived, and no more, within the time.
//!
//! Times in reports count from the start of the reporting side, and are negative before it. Sizes
//! and rates are of the payload, without the header. Throughput, in bytes per second:
//!
//! - `app`: from when the receiver accepted the connection until it read the last byte. Both times
//!   depend on wake-ups of a program: it can be too small by their latency, and too large by data
//!   that waited to be accepted.
//! - `snd`: from the sender's first write until the acknowledgement of the last byte, by the
//!   kernel's timestamp; null where there is none. The first time is the program's, before the
//!   first segment: `snd` can be too small, never too large.
//!
//! Only a capture shows the advertised window: at most the one that was set, where that is a power
//! of two, and less by up to a segment; in the first flight half of it
//! ([`first_buffer`](crate::sys::socket::first_buffer)).
//! Options in reports are what the kernel granted.

mod acceptor;
mod acknowledged;
mod admission;
mod declared;
mod header;
mod receive;
mod receiver;
mod rows;
mod send;
mod sender;

pub(crate) use header::{Answer, Header};

use crate::session::{Failure, Session, Side};

/// Runs the verb.
pub(crate) fn run(session: &mut Session) -> Result<(), Failure> {
    match session.configuration()? {
        Side::Send(configuration) => send::run(session, configuration),
        Side::Receive(configuration) => receive::run(session, configuration),
    }
}
