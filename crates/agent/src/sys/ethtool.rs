//! Settings and counters of network cards, and their offload switches: `SIOCETHTOOL` of
//! `linux/ethtool.h`.
//!
//! A card that does not support a query answers `EOPNOTSUPP`, which is not an error here. Reading
//! needs no permission; switching needs `CAP_NET_ADMIN`.
#![expect(unsafe_code, reason = "ethtool is reached by raw system calls only")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketType, socket};

use crate::sys::kernel::{checked, interface_name};
use crate::sys::netlink::{number32, number64, text};

/// `SIOCETHTOOL` of `linux/sockios.h`.
const ETHTOOL: libc::c_ulong = 0x8946;
/// `ETHTOOL_GSSET_INFO`, `ETHTOOL_GSTRINGS` and `ETHTOOL_GSTATS`, and the set of strings that names
/// counters.
const SET_INFO: u32 = 0x37;
const STRINGS: u32 = 0x1b;
const STATISTICS: u32 = 0x1d;
const COUNTERS: u32 = 1;
/// Bytes of a name of a counter.
const NAME: usize = 32;
/// The least room for counters, whatever the driver reported before: some drivers have one per
/// queue, and queues can be added.
const ROOM: usize = 1 << 14;

/// Words of an answer of a fixed length: more than the longest of them has (`ethtool_drvinfo`, 196
/// bytes).
pub(crate) const WORDS: usize = 64;

/// Queries whose answer has a fixed length, with their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Query {
    /// `ETHTOOL_GSET`: speed and duplex.
    Link = 0x01,
    /// `ETHTOOL_GDRVINFO`.
    Driver = 0x03,
    /// `ETHTOOL_GCOALESCE`.
    Coalescing = 0x0e,
    /// `ETHTOOL_GRINGPARAM`.
    Rings = 0x10,
    /// `ETHTOOL_GCHANNELS`.
    Channels = 0x3c,
    /// `ETHTOOL_GET_TS_INFO`.
    Timestamping = 0x41,
    /// `ETHTOOL_GRXCSUM` and the rest: one number, 1 for on.
    ReceiveChecksum = 0x14,
    SendChecksum = 0x16,
    ScatterGather = 0x18,
    SendSegmentation = 0x1e,
    GenericSegmentation = 0x23,
    /// `ETHTOOL_GFLAGS`: bits, of which 15 is large receive offload.
    Flags = 0x25,
    GenericReceive = 0x2b,
}

/// Offloads that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    /// `ETHTOOL_STXCSUM`.
    SendChecksum = 0x17,
    /// `ETHTOOL_STSO`.
    SendSegmentation = 0x1f,
    /// `ETHTOOL_SGSO`.
    GenericSegmentation = 0x24,
    /// `ETHTOOL_SGRO`.
    GenericReceive = 0x2c,
}

/// `ifreq` of `linux/if.h` as far as ethtool needs it; as long as the kernel's.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    pointer: *mut u64,
    rest: [u8; 16],
}

const _: () = assert!(
    size_of::<Request>() >= size_of::<libc::ifreq>(),
    "the kernel reads as much as its own type holds"
);

/// The card behind an interface.
#[derive(Debug)]
pub(crate) struct Card {
    socket: OwnedFd,
    name: [u8; libc::IFNAMSIZ],
}

impl Card {
    /// The card of an interface of this namespace. Whether there is one is found out by a query.
    pub(crate) fn of(interface: &str) -> io::Result<Self> {
        Ok(Self {
            socket: socket(AddressFamily::INET, SocketType::DGRAM, None)?,
            name: interface_name(interface)?,
        })
    }

    /// Requests an answer of a fixed length. Its first word is the number of the query; words
    /// behind its end are 0.
    pub(crate) fn query(&self, query: Query) -> io::Result<[u32; WORDS]> {
        let mut answer = Buffer::of(query as u32, WORDS * 4);
        self.exchange(&mut answer)?;
        let mut found = [0; WORDS];
        for (index, word) in found.iter_mut().enumerate() {
            *word = number32(&answer.bytes(), index * 4).unwrap_or(0);
        }
        Ok(found)
    }

    /// The text at an offset of an answer of a fixed length.
    pub(crate) fn query_text(&self, query: Query, at: usize, length: usize) -> io::Result<String> {
        let mut answer = Buffer::of(query as u32, WORDS * 4);
        self.exchange(&mut answer)?;
        Ok(answer.bytes().get(at..at + length).map(text).unwrap_or_default())
    }

    /// Switches an offload off.
    pub(crate) fn switch_off(&self, switch: Switch) -> io::Result<()> {
        self.exchange(&mut Buffer::of(switch as u32, WORDS * 4))
    }

    /// The driver's own counters in its order; none when it has none.
    pub(crate) fn counters(&self) -> io::Result<Vec<(String, u64)>> {
        let mut information = Buffer::of(SET_INFO, WORDS * 4);
        information.put(1, 1 << COUNTERS);
        match self.exchange(&mut information) {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => return Ok(Vec::new()),
            ended => ended?,
        }
        let answer = information.bytes();
        let has_some = number64(&answer, 8).is_some_and(|sets| sets & 1 << COUNTERS != 0);
        let count = if has_some { number32(&answer, 16).unwrap_or(0) as usize } else { 0 };
        if count == 0 {
            return Ok(Vec::new());
        }
        let room = ROOM.max(count.saturating_mul(4));
        let mut names = Buffer::of(STRINGS, 12 + room * NAME);
        names.put_word(1, COUNTERS);
        names.put_word(2, u32::try_from(count).unwrap_or(u32::MAX));
        self.exchange(&mut names)?;
        let mut values = Buffer::of(STATISTICS, 8 + room * 8);
        values.put_word(1, u32::try_from(count).unwrap_or(u32::MAX));
        self.exchange(&mut values)?;
        let (names, values) = (names.bytes(), values.bytes());
        // Were queues added in between, the shorter of the two is what both are of.
        let reported =
            [number32(&names, 8), number32(&values, 4)].into_iter().flatten().min().unwrap_or(0)
                as usize;
        let one = |number: usize| {
            let name = names.get(12 + number * NAME..)?.get(..NAME)?;
            Some((text(name).trim().to_owned(), number64(&values, 8 + number * 8)?))
        };
        Ok((0..reported.min(room)).map_while(one).collect())
    }

    fn exchange(&self, buffer: &mut Buffer) -> io::Result<()> {
        let mut request =
            Request { name: self.name, pointer: buffer.0.as_mut_ptr(), rest: [0; 16] };
        // SAFETY: the request is as long as an `ifreq` and its name ends with zero. Its pointer
        // leads to the buffer, whose first word is one of the numbers above: answers of a fixed
        // length have at most 196 bytes, and every such buffer has 256; names and values of
        // counters are as many as the driver has, for which there is four times the room that it
        // needed a moment before. Any bytes are legal there.
        checked(unsafe { libc::ioctl(self.socket.as_raw_fd(), ETHTOOL as _, &raw mut request) })
            .map(|_| ())
    }
}

/// What is handed to the kernel and written by it, aligned for the longest number in it.
struct Buffer(Vec<u64>);

impl Buffer {
    /// A query, and room for its answer.
    fn of(number: u32, bytes: usize) -> Self {
        let mut buffer = Self(vec![0; bytes.div_ceil(8)]);
        buffer.put_word(0, number);
        buffer
    }

    /// Writes a number of eight bytes.
    fn put(&mut self, index: usize, value: u64) {
        if let Some(slot) = self.0.get_mut(index) {
            *slot = value;
        }
    }

    /// Writes a number of four bytes.
    fn put_word(&mut self, index: usize, value: u32) {
        if let Some(slot) = self.0.get_mut(index / 2) {
            let mut bytes = slot.to_ne_bytes();
            bytes[index % 2 * 4..index % 2 * 4 + 4].copy_from_slice(&value.to_ne_bytes());
            *slot = u64::from_ne_bytes(bytes);
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_offsets_of_the_kernel() {
        let mut buffer = Buffer::of(0x1b, 12);
        buffer.put_word(1, 7);
        buffer.put_word(2, 9);
        buffer.put_word(99, 1);
        let bytes = buffer.bytes();
        assert_eq!(
            [number32(&bytes, 0), number32(&bytes, 4), number32(&bytes, 8), number32(&bytes, 12)],
            [0x1b, 7, 9, 0].map(Some)
        );
        buffer.put(1, u64::MAX);
        assert_eq!(number64(&buffer.bytes(), 8), Some(u64::MAX));
    }

    #[test]
    fn a_missing_interface_is_an_error() {
        let error = Card::of("trustbed-none").unwrap().query(Query::Driver).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
        assert!(Card::of("a-name-that-is-too-long-for-one").is_err());
    }

    #[test]
    fn loopback_has_offloads_and_no_coalescing() {
        let loopback = Card::of("lo").unwrap();
        assert_eq!(
            loopback.query(Query::GenericSegmentation).unwrap()[0],
            Query::GenericSegmentation as u32
        );
        assert_eq!(
            loopback.query(Query::Coalescing).unwrap_err().raw_os_error(),
            Some(libc::EOPNOTSUPP)
        );
        assert_eq!(loopback.counters().unwrap(), []);
    }
}
