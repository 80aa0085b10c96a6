//! A ping by TCP handshake. A refused connection is an answer as well.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};

use trustbed_units::{Ns, Span};

use crate::session::Stop;
use crate::session::workers::span;
use crate::sys::clock;
use crate::sys::socket::{self, TcpOptions};

/// How long the answer took; none if there was none in time.
pub(super) fn ping(to: SocketAddr, from: IpAddr, until: Ns, stop: Stop) -> Option<Span> {
    let options = TcpOptions { congestion_control: None, ..TcpOptions::default() };
    let begun = clock::monotonic();
    let connected = options.connect(to, Some(SocketAddr::new(from, 0)), until - begun, stop);
    let took = clock::monotonic() - begun;
    match connected {
        // The kernel's own measure does not contain how late this thread was woken.
        Ok(stream) => {
            Some(socket::tcp_info(&stream).and_then(|info| info.rtt_ns).map_or(took, span))
        }
        Err(error) => (error.kind() == ErrorKind::ConnectionRefused).then_some(took),
    }
}
