//! Requests to rtnetlink(7) from standard input, and the kernel's answers to standard output, each
//! after its length (4 bytes, little-endian).
//!
//! Nothing is interpreted: the caller matches answers to requests.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

use super::Error;

/// Longer than any answer of the kernel.
const LONGEST: usize = 1 << 17;

/// Until standard input ends.
pub(super) fn relay() -> Result<(), Error> {
    pass_on().map_err(|source| Error::Netlink { source })
}

fn pass_on() -> io::Result<()> {
    // No protocol is number 0, which is NETLINK_ROUTE.
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    // Without a buffer: a request that had been read ahead would not wake us.
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = io::stdout().lock();
    let mut answer = vec![0; LONGEST];
    loop {
        let mut both = [
            PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(kernel.as_fd(), PollFlags::IN),
        ];
        poll(&mut both, None)?;
        let [requested, answered] = both.map(|one| !one.revents().is_empty());
        if answered {
            let (length, _) = recv(&kernel, &mut answer[..], RecvFlags::empty())?;
            output.write_all(&u32::try_from(length).unwrap_or(0).to_le_bytes())?;
            output.write_all(&answer[..length])?;
            output.flush()?;
        }
        if requested {
            let Some(request) = request(&mut input)? else { return Ok(()) };
            send(&kernel, &request, SendFlags::empty())?;
        }
    }
}

fn request(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        ended => ended?,
    }
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a request of {length} bytes"),
        ));
    }
    let mut found = vec![0; length];
    input.read_exact(&mut found)?;
    Ok(Some(found))
}
