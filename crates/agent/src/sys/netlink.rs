//! Netlink dumps and single objects (netlink(7)): a request, and the messages and attributes of its
//! answer.
//!
//! The caller knows what they mean. Requests change nothing. A malformed message ends its datagram;
//! what precedes it counts.

use std::io::{self, Read};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

/// `NLM_F_REQUEST`, and with `NLM_F_DUMP`.
const REQUEST: u16 = 0x1;
const REQUEST_DUMP: u16 = 0x301;
/// Messages that end an answer; those below 16 are netlink's own.
const ERROR: u16 = 2;
const DONE: u16 = 3;
const FIRST_OF_THE_PROTOCOL: u16 = 16;
/// Lengths of the headers: of a message, of an attribute.
const HEADER: usize = 16;
const ATTRIBUTE: usize = 4;
/// The upper two bits of an attribute's type are flags.
const KIND: u16 = 0x3fff;

/// A netlink socket.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Netlink {
    /// Opens it for a protocol of netlink.
    pub(crate) fn open(protocol: i32) -> io::Result<Self> {
        let socket =
            Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(Protocol::from(protocol)))?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; 64 << 10] })
    }

    /// Requests a dump, and passes each message without its header.
    pub(crate) fn dump(
        &mut self,
        kind: u16,
        body: &[u8],
        mut see: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        self.ask(kind, REQUEST_DUMP, body)?;
        while !self.receive(&mut see)? {}
        Ok(())
    }

    /// Requests a single object, and passes its message without its header.
    pub(crate) fn get(
        &mut self,
        kind: u16,
        body: &[u8],
        mut see: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        self.ask(kind, REQUEST, body)?;
        let mut seen = false;
        while !seen {
            self.receive(&mut |message: &[u8]| {
                seen = true;
                see(message);
            })?;
        }
        Ok(())
    }

    fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&request(kind, flags, self.sequence, body)).map(|_| ())
    }

    /// Passes the messages of the next datagram; true when it ends the answer.
    fn receive(&mut self, see: &mut impl FnMut(&[u8])) -> io::Result<bool> {
        let length = (&self.socket).read(&mut self.buffer)?;
        read(self.buffer.get(..length).unwrap_or_default(), self.sequence, see)
    }
}

fn request(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(body);
    bytes
}

/// Reads the messages of a datagram; true when the last of the answer was among them.
fn read(mut bytes: &[u8], sequence: u32, see: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    while let (Some(length), Some(kind), Some(answered)) =
        (number32(bytes, 0), number16(bytes, 4), number32(bytes, 8))
    {
        let length = length as usize;
        let Some(message) = bytes.get(HEADER..length) else { break };
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        if answered != sequence {
            continue;
        }
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let number = number32(message, 0).map_or(libc::EIO, u32::cast_signed);
                return Err(io::Error::from_raw_os_error(number.saturating_neg()));
            }
            FIRST_OF_THE_PROTOCOL.. => see(message),
            _ => {}
        }
    }
    Ok(false)
}

/// The attributes one behind the other, each with its kind.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = (usize::from(number16(bytes, 0)?), number16(bytes, 2)?);
        let value = bytes.get(ATTRIBUTE..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & KIND, value))
    })
}

/// The number at an offset, if the bytes are long enough.
pub(crate) fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// The same of four bytes.
pub(crate) fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// The same of eight.
pub(crate) fn number64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// Text up to its first zero.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An attribute, padded as the kernel does.
    pub(crate) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = u16::try_from(ATTRIBUTE + value.len()).unwrap().to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = request(kind, REQUEST_DUMP, sequence, body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn seen(bytes: &[u8]) -> (io::Result<bool>, Vec<Vec<u8>>) {
        let mut found = Vec::new();
        let ended = read(bytes, 3, &mut |message: &[u8]| found.push(message.to_vec()));
        (ended, found)
    }

    #[test]
    fn the_messages_of_an_answer_are_shown_until_its_end() {
        let answer = [
            message(20, 3, b"one"),
            message(20, 2, b"another's"),
            message(1, 3, b"nothing"),
            message(17, 3, b"two"),
        ]
        .concat();
        let (ended, found) = seen(&answer);
        assert_eq!((ended.unwrap(), found), (false, vec![b"one".to_vec(), b"two".to_vec()]));
        let (ended, found) = seen(&[message(DONE, 3, &[0; 4]), message(20, 3, b"late")].concat());
        assert_eq!((ended.unwrap(), found.len()), (true, 0));
    }

    #[test]
    fn errors_are_returned_and_malformed_messages_skipped() {
        let refused = message(ERROR, 3, &(-libc::ENOENT).to_ne_bytes());
        assert_eq!(seen(&refused).0.unwrap_err().raw_os_error(), Some(libc::ENOENT));
        for nonsense in [&[][..], &[0xff; 40], &[0; 40], &[40, 0, 0, 0, 20]] {
            let (ended, found) = seen(nonsense);
            assert_eq!((ended.unwrap(), found.len()), (false, 0));
        }
    }

    #[test]
    fn attributes_end_at_a_contradiction() {
        let bytes = [
            attribute(1, b"a"),
            attribute(2 | 0x8000, b"abcde"),
            vec![3, 0, 1, 0],
            attribute(4, b"behind"),
        ]
        .concat();
        let found: Vec<_> = attributes(&bytes).collect();
        assert_eq!(found, [(1, &b"a"[..]), (2, &b"abcde"[..])]);
        assert_eq!(attributes(&[0; 3]).count() + attributes(&[0xff; 9]).count(), 0);
        assert_eq!(text(b"fq_codel\0\0"), "fq_codel");
    }
}
