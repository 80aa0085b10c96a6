//! When the peer acknowledged the last byte: a kernel timestamp (`SOF_TIMESTAMPING_TX_ACK` of its
//! `networking/timestamping`), so that nothing polls.
//!
//! A timestamp waits in the socket until it is read. It is of the last byte of a write: only the
//! last write is worth one.
#![expect(unsafe_code, reason = "stamps of what was sent are reached by a system call only")]

use std::io;
use std::mem::zeroed;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};

use trustbed_units::Ns;

use crate::sys::ancillary::{messages, time};
use crate::sys::socket::set_option;

/// Room for the ancillary messages: the timestamp (64 bytes), and the extended error with an
/// address (64).
const CONTROL: usize = 256;
/// At most so many timestamps are read: one for each piece of the last write.
const MOST: usize = 64;

/// Aligned as the kernel requires.
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Requests timestamps for the acknowledgements of later writes; without a copy of the data.
pub(super) fn ask(stream: &TcpStream) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_TX_ACK
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    set_option(stream.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags.cast_signed())
}

/// The latest timestamp, by the real-time clock; none when there is none. Does not wait.
pub(super) fn last(stream: &TcpStream) -> Option<Ns> {
    let mut last = None;
    for _ in 0..MOST {
        match next(stream) {
            Ok(found) => last = last.max(found),
            Err(_) => break,
        }
    }
    last
}

/// The next timestamp that waits.
///
/// # Errors
/// None waits, or the kernel has none to give.
fn next(stream: &TcpStream) -> io::Result<Option<Ns>> {
    let mut control = Control([0; CONTROL]);
    // SAFETY: all zeros is a header of no buffers.
    let mut header = unsafe { zeroed::<libc::msghdr>() };
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = CONTROL;
    // SAFETY: the header leads to a control buffer of the stated length, which nothing else uses
    // during the call, and to nothing else.
    let result = unsafe {
        libc::recvmsg(stream.as_raw_fd(), &raw mut header, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let beside = control.0.get(..header.msg_controllen).unwrap_or_default();
    // Three times; that of the software is the first, and 0 where there is none.
    let stamps = messages(beside)
        .filter(|(level, kind, _)| (*level, *kind) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING));
    Ok(stamps.filter_map(|(_, _, content)| time(content)).find(|time| time.0 != 0))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    #[test]
    #[expect(clippy::print_stdout, reason = "a test that cannot run says why")]
    fn the_timestamp_of_an_acknowledgement_lies_between_write_and_answer() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = match TcpListener::bind(address) {
                Err(error) if address.starts_with('[') => {
                    println!("skipped: no IPv6: {error}");
                    continue;
                }
                bound => bound.unwrap(),
            };
            let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut receiver, _) = listener.accept().unwrap();
            let mut bytes = [0; 5];
            sender.write_all(b"first").unwrap();
            receiver.read_exact(&mut bytes).unwrap();
            ask(&sender).unwrap();
            assert_eq!(last(&sender), None, "the first write requested none");
            let before = crate::sys::clock::realtime();
            sender.write_all(b"again").unwrap();
            receiver.read_exact(&mut bytes).unwrap();
            receiver.write_all(b"there").unwrap();
            sender.read_exact(&mut bytes).unwrap();
            let after = crate::sys::clock::realtime();
            let stamp = last(&sender).unwrap();
            assert!((before..=after).contains(&stamp), "{before:?} {stamp:?} {after:?}");
            assert_eq!(last(&sender), None, "it was taken");
        }
    }
}
