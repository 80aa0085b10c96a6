//! Sockets with their options, and what the kernel granted.
//!
//! Congestion control is set explicitly and the granted one reported: hosts differ in their
//! default. Buffer sizes are as a program requests them; Linux allocates twice as much, for
//! bookkeeping (socket(7)).

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, SockAddr, SockRef, Socket, Type};
use trustbed_units::Span;

use super::tcp_info::TcpInfo;
use crate::session::{Failure, Stop};
use crate::sys::clock;
use crate::sys::kernel::checked;

/// Connections that may wait to be accepted; the kernel's own limit (`net.core.somaxconn`) may be
/// lower.
const WAITING: i32 = 4096;
/// `SO_MEMINFO` of `linux/socket.h`, and the index of the drops in its answer
/// (`linux/sock_diag.h`).
const MEMORY_INFO: libc::c_int = 55;
const DROPS: usize = 8;

/// Options of a TCP socket.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct TcpOptions {
    /// Name of the congestion control. `cubic` by default, whatever the host's default is; null
    /// takes that.
    pub(crate) congestion_control: Option<String>,
    /// `SO_SNDBUF`. The kernel tunes the size itself by default.
    pub(crate) send_buffer_bytes: Option<u32>,
    /// `SO_RCVBUF`. Likewise.
    pub(crate) receive_buffer_bytes: Option<u32>,
    /// The largest segment.
    pub(crate) maximum_segment_bytes: Option<u32>,
    /// The largest window that is advertised (`TCP_WINDOW_CLAMP`); of a receiver. The receive
    /// buffer is fixed with it unless its size is given: where the kernel tunes the one, it raises
    /// the other.
    pub(crate) window_clamp_bytes: Option<u32>,
    /// The largest window that is advertised, and reached; of a receiver that opens it
    /// ([`open_window`]) and holds it ([`hold_window`]). Not beside the two above.
    pub(crate) window_bytes: Option<u32>,
    /// Whether a small write leaves at once (`TCP_NODELAY`). Yes by default.
    pub(crate) no_delay: Option<bool>,
}

/// What the kernel granted a TCP socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Granted {
    pub(crate) congestion_control: Option<String>,
    pub(crate) send_buffer_bytes: Option<usize>,
    pub(crate) receive_buffer_bytes: Option<usize>,
}

/// The failure of a socket, with a hint.
pub(crate) fn unusable(what: &str, address: SocketAddr, error: &io::Error) -> Failure {
    Failure::running(format!("{what} {address}: {error}"), hint(error))
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there: end it, or choose another port",
        io::ErrorKind::AddrNotAvailable => {
            "no interface here has this address: `ip address` lists those that there are"
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 are for root: choose a higher one",
        io::ErrorKind::ConnectionRefused => "no process listens there: start the receiver first",
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            "no answer: is the other host up, and is there a route to it?"
        }
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            "there is no route to it: see `ip route get ADDRESS`"
        }
        io::ErrorKind::NotFound => {
            "the kernel does not have it: see /proc/sys/net/ipv4/tcp_available_congestion_control"
        }
        _ if error.raw_os_error() == Some(libc::EMFILE) => {
            "raise the limit of open files (ulimit -n)"
        }
        _ => "see the message of the kernel",
    }
}

/// Without `CAP_NET_ADMIN`, as in a container, only those may be chosen that everybody may.
fn congestion_control_hint(error: &io::Error) -> String {
    let refused = error.kind() == io::ErrorKind::PermissionDenied;
    let (what, list) = if refused {
        ("those that need no CAP_NET_ADMIN are", "allowed")
    } else {
        ("there are", "available")
    };
    let file = format!("/proc/sys/net/ipv4/tcp_{list}_congestion_control");
    // Elsewhere than in the first network namespace it may not be there.
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    let names = known.split_whitespace().collect::<Vec<_>>().join(", ");
    if names.is_empty() { format!("see {file}") } else { format!("{what}: {names} ({file})") }
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self {
            congestion_control: Some("cubic".to_owned()),
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            maximum_segment_bytes: None,
            window_clamp_bytes: None,
            window_bytes: None,
            no_delay: None,
        }
    }
}

impl TcpOptions {
    /// Sets the options; before connecting or listening, so that the window fits the buffers.
    fn apply(&self, socket: &Socket) -> Result<(), Failure> {
        let failed = |what: String| {
            move |error: io::Error| Failure::running(format!("{what}: {error}"), hint(&error))
        };
        if let Some(name) = &self.congestion_control {
            let set = socket.set_tcp_congestion(name.as_bytes());
            set.map_err(|error| {
                let message = format!("congestion_control: {name} cannot be used: {error}");
                Failure::configuration(message, congestion_control_hint(&error))
            })?;
        }
        if let Some(bytes) = self.send_buffer_bytes {
            socket
                .set_send_buffer_size(bytes as usize)
                .map_err(failed(format!("send_buffer_bytes of {bytes}")))?;
        }
        let first_buffer = self.window_bytes.map(first_buffer);
        if let Some(bytes) = self.receive_buffer_bytes.or(self.window_clamp_bytes).or(first_buffer)
        {
            socket
                .set_recv_buffer_size(bytes as usize)
                .map_err(failed(format!("receive_buffer_bytes of {bytes}")))?;
        }
        if let Some(bytes) = self.maximum_segment_bytes {
            socket
                .set_tcp_mss(bytes)
                .map_err(failed(format!("maximum_segment_bytes of {bytes}")))?;
        }
        if let Some(bytes) = self.window_clamp_bytes.or(self.window_bytes.map(whole_window)) {
            set_window_clamp(socket, bytes)
                .map_err(failed(format!("window_clamp_bytes of {bytes}")))?;
        }
        socket.set_tcp_nodelay(self.no_delay.unwrap_or(true)).map_err(failed("no_delay".to_owned()))
    }

    /// Listens at an address.
    pub(crate) fn listen(&self, address: SocketAddr) -> Result<TcpListener, Failure> {
        let failed = |error: io::Error| unusable("cannot listen at", address, &error);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))
            .map_err(failed)?;
        socket.set_reuse_address(true).map_err(failed)?;
        self.apply(&socket)?;
        socket.bind(&SockAddr::from(address)).map_err(failed)?;
        socket.listen(WAITING).map_err(failed)?;
        let listener = TcpListener::from(socket);
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(listener)
    }

    /// A socket that is ready to connect, from an address where one is named.
    ///
    /// # Errors
    /// The configuration or this host prevents it.
    pub(crate) fn socket(
        &self,
        to: SocketAddr,
        from: Option<SocketAddr>,
    ) -> Result<Socket, Failure> {
        check_versions(to, from)?;
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP));
        let socket = socket.map_err(|error| unusable("no socket for", to, &error))?;
        self.apply(&socket)?;
        if let Some(from) = from {
            if from.port() == 0 {
                // The port is chosen when the other end is known, so that one address has room for
                // tens of thousands. Without it there is room for fewer.
                let _ =
                    set_option(socket.as_fd(), libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1);
            }
            socket
                .bind(&SockAddr::from(from))
                .map_err(|error| unusable("cannot send from", from, &error))?;
        }
        Ok(socket)
    }

    /// Connects, waiting at most for a time, and not when stop is requested.
    ///
    /// # Errors
    /// The error of the network or the peer; `TimedOut` and `Interrupted` for the two.
    pub(crate) fn connect(
        &self,
        to: SocketAddr,
        from: Option<SocketAddr>,
        timeout: Span,
        stop: Stop,
    ) -> io::Result<TcpStream> {
        let socket = self
            .socket(to, from)
            .map_err(|failure| io::Error::other(failure.message().to_owned()))?;
        socket.set_nonblocking(true)?;
        match socket.connect(&SockAddr::from(to)) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
                wait_connected(&socket, timeout, stop)?;
                if let Some(error) = socket.take_error()? {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
        socket.set_nonblocking(false)?;
        Ok(TcpStream::from(socket))
    }
}

fn wait_connected(socket: &Socket, timeout: Span, stop: Stop) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    let end = stop.descriptor();
    let mut waited = [PollFd::new(socket, PollFlags::OUT), PollFd::new(&end, PollFlags::IN)];
    let until = clock::monotonic() + timeout;
    loop {
        let left = (until - clock::monotonic()).max(Span::ZERO);
        match poll(&mut waited, Some(&timespec(left))) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) if stop.is_requested() => return Err(io::ErrorKind::Interrupted.into()),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A time as the kernel takes it.
pub(crate) const fn timespec(span: Span) -> rustix::event::Timespec {
    let nanoseconds = if span.0 < 0 { 0 } else { span.0 };
    rustix::event::Timespec {
        tv_sec: nanoseconds / 1_000_000_000,
        tv_nsec: nanoseconds % 1_000_000_000,
    }
}

/// What the kernel granted a connection.
pub(crate) fn granted(stream: &TcpStream) -> Granted {
    let socket = SockRef::from(stream);
    let name = socket.tcp_congestion().ok().map(|name| {
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        String::from_utf8_lossy(&name[..end]).into_owned()
    });
    Granted {
        congestion_control: name,
        send_buffer_bytes: socket.send_buffer_size().ok(),
        receive_buffer_bytes: socket.recv_buffer_size().ok(),
    }
}

/// Refuses to listen at an address of one version of IP for a peer of the other.
pub(crate) fn check_peer(listen: IpAddr, peer: IpAddr) -> Result<(), Failure> {
    if listen.is_ipv4() == peer.is_ipv4() {
        return Ok(());
    }
    let message = format!("listen: {listen} and peer: {peer} are of different versions of IP");
    Err(Failure::configuration(message, "give both as IPv4 or both as IPv6"))
}

/// Refuses to send from an address of one version of IP to one of the other.
fn check_versions(to: SocketAddr, from: Option<SocketAddr>) -> Result<(), Failure> {
    match from {
        Some(from) if from.is_ipv4() != to.is_ipv4() => {
            let message =
                format!("from: {} and to: {to} are of different versions of IP", from.ip());
            Err(Failure::configuration(message, "give both as IPv4 or both as IPv6"))
        }
        _ => Ok(()),
    }
}

/// A UDP socket that sends to one address and never waits.
pub(crate) fn datagrams_to(
    to: SocketAddr,
    from: Option<SocketAddr>,
    send_buffer_bytes: Option<u32>,
) -> Result<UdpSocket, Failure> {
    check_versions(to, from)?;
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP));
    let socket = socket.map_err(|error| unusable("no socket for", to, &error))?;
    if let Some(bytes) = send_buffer_bytes {
        let set = socket.set_send_buffer_size(bytes as usize);
        set.map_err(|error| unusable("no send buffer for", to, &error))?;
    }
    if let Some(from) = from {
        socket
            .bind(&SockAddr::from(from))
            .map_err(|error| unusable("cannot send from", from, &error))?;
    }
    socket.connect(&SockAddr::from(to)).map_err(|error| unusable("cannot send to", to, &error))?;
    socket.set_nonblocking(true).map_err(|error| unusable("cannot send to", to, &error))?;
    Ok(UdpSocket::from(socket))
}

/// A UDP socket that receives at an address, with as large a buffer as the host allows.
pub(crate) fn datagrams_at(
    address: SocketAddr,
    receive_buffer_bytes: u32,
) -> Result<UdpSocket, Failure> {
    let failed = |error: io::Error| unusable("cannot receive at", address, &error);
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))
        .map_err(failed)?;
    if rustix::net::sockopt::set_socket_recv_buffer_size_force(
        &socket,
        receive_buffer_bytes as usize,
    )
    .is_err()
    {
        // Only root may go beyond the limit of the host.
        socket.set_recv_buffer_size(receive_buffer_bytes as usize).map_err(failed)?;
    }
    socket.bind(&SockAddr::from(address)).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    Ok(UdpSocket::from(socket))
}

/// `tcp_info` of a connection; none when the kernel does not report it.
pub(crate) fn tcp_info(stream: &impl AsFd) -> Option<TcpInfo> {
    let mut bytes = [0_u8; 512];
    let length = option(stream.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes).ok()?;
    Some(TcpInfo::read(bytes.get(..length)?))
}

/// The largest window that a connection may advertise (`TCP_WINDOW_CLAMP`); none when the kernel
/// does not report it.
pub(crate) fn window_clamp(stream: &impl AsFd) -> Option<u32> {
    let mut bytes = [0_u8; 4];
    let length =
        option(stream.as_fd(), libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &mut bytes).ok()?;
    (length == bytes.len()).then(|| u32::from_ne_bytes(bytes))
}

/// Datagrams that found no room in the socket's buffer; none when the kernel does not report it.
pub(crate) fn drops(socket: &impl AsFd) -> Option<u32> {
    let mut bytes = [0_u8; 64];
    let length = option(socket.as_fd(), libc::SOL_SOCKET, MEMORY_INFO, &mut bytes).ok()?;
    let field = bytes.get(..length)?.get(4 * DROPS..4 * DROPS + 4)?;
    Some(u32::from_ne_bytes(field.try_into().ok()?))
}

/// Sends acknowledgements at once, or delays them, until the kernel changes its mode: to be
/// repeated (tcp(7)).
///
/// # Errors
/// What the kernel reports.
pub(crate) fn set_quick_ack(stream: &TcpStream, quick: bool) -> io::Result<()> {
    set_option(stream.as_fd(), libc::IPPROTO_TCP, libc::TCP_QUICKACK, libc::c_int::from(quick))
}

/// Limits the window that is advertised (`TCP_WINDOW_CLAMP`).
///
/// # Errors
/// What the kernel reports.
pub(crate) fn set_window_clamp(socket: &impl AsFd, bytes: u32) -> io::Result<()> {
    let clamp = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    set_option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, clamp)
}

/// Limits the window of a connection that stands: what `window_clamp_bytes` of [`TcpOptions`] does
/// before.
///
/// # Errors
/// What the kernel reports.
pub(crate) fn limit_window(stream: &TcpStream, bytes: u32) -> io::Result<()> {
    SockRef::from(stream).set_recv_buffer_size(bytes as usize)?;
    set_window_clamp(stream, bytes)
}

/// Gives a connection room for the whole of a window (`window_bytes` of [`TcpOptions`]), once data
/// have come.
///
/// A connection begins with [`first_buffer`], and gets four times the window behind the first
/// segment: the window then no longer depends on how much memory packets occupy.
///
/// # Errors
/// What the kernel reports, or that it grants less (`net.core.rmem_max`).
pub(crate) fn open_window(stream: &TcpStream, bytes: u32) -> io::Result<()> {
    let socket = SockRef::from(stream);
    socket.set_recv_buffer_size(2 * bytes as usize)?;
    let granted = socket.recv_buffer_size()?;
    if granted < 2 * bytes as usize {
        return Err(io::Error::other(format!(
            "the kernel grants a receive buffer of {granted} bytes, too few for a window of \
             {bytes}: raise net.core.rmem_max"
        )));
    }
    hold_window(stream, bytes)
}

/// Has the window stay what it was set to, whatever the kernel learns of segments: to be repeated.
///
/// # Errors
/// What the kernel reports.
pub(crate) fn hold_window(stream: &TcpStream, bytes: u32) -> io::Result<()> {
    let whole = whole_window(bytes);
    if window_clamp(stream) == Some(whole) { Ok(()) } else { set_window_clamp(stream, whole) }
}

/// The receive buffer of a port, for a window of so many bytes.
///
/// With the first full segment a kernel learns how much of its memory is payload, and may then
/// advertise up to twice the size that was requested, whatever the limit was; the limit can only be
/// set again when a program has run. Half a buffer cannot be raised above the window meanwhile, and
/// still has the scale on the wire that the window needs. So the first flight sees half of the
/// window, everything behind it all. A window that is no power of two gets more than half, or its
/// scale would be too small: there the first flight may see up to twice as much.
pub(crate) const fn first_buffer(window: u32) -> u32 {
    match window.checked_next_power_of_two() {
        Some(power) => power.div_ceil(2),
        None => window,
    }
}

/// The largest window up to so many bytes that a header can state with the scale that follows from
/// [`first_buffer`]: 65535 units of it (RFC 7323), of which kernels round a window up to whole
/// ones.
const fn whole_window(bytes: u32) -> u32 {
    let scale = match bytes.checked_next_power_of_two() {
        Some(power) => power.ilog2().saturating_sub(16),
        None => 14,
    };
    let units = bytes >> scale;
    (if units > 0xffff { 0xffff } else { units }) << scale
}

/// Reads an option as bytes; answers how many there are.
#[expect(unsafe_code, reason = "the standard library and its neighbours know no TCP_INFO")]
fn option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    bytes: &mut [u8],
) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(bytes.len()).unwrap_or(libc::socklen_t::MAX);
    // SAFETY: the kernel writes at most `length` bytes, which is the length of the memory it is
    // given, and any bytes are legal there.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    checked(result).map(|_| length as usize)
}

/// Sets an option that is a number.
#[expect(unsafe_code, reason = "as above")]
pub(crate) fn set_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or(0);
    // SAFETY: the kernel reads `length` bytes, which is how long the number is.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length)
    };
    checked(result).map(|_| ())
}

/// Raises the limit of open files to its maximum: one per source and connection.
pub(crate) fn allow_many_files() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    // Where this fails, opening too many fails later.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_one_that_a_header_can_state() {
        let cases = [
            (2304, 2304),
            (65_535, 65_535),
            (65_536, 65_535),
            (65_537, 65_536),
            (100_001, 100_000),
            (131_072, 131_070),
            (1 << 20, 0xffff << 4),
        ];
        for (bytes, whole) in cases {
            assert_eq!(whole_window(bytes), whole, "{bytes}");
        }
    }
}
