//! TCP options, read by hand: the common layouts at once, all others one by one.
//!
//! Options that are malformed, unknown, or that mean nothing on this segment are passed over;
//! reading ends at the first whose length is invalid.

use crate::transport::MAX_WINDOW_SCALE;
use crate::{Bits, Options, TcpFlags};

/// NOP, NOP, and a timestamp option of ten bytes (RFC 7323, appendix A).
const ALIGNED_TIMESTAMP: [u8; 4] = [1, 1, 8, 10];

/// What the options of a segment state: the fields of [`crate::Packet`] of the same names.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Read {
    pub(crate) tsval: u32,
    pub(crate) tsecr: u32,
    /// Index in the batch's table, valid with [`Bits::OPTIONS`].
    pub(crate) options: u32,
    pub(crate) bits: u16,
}

/// Reads the option area of a segment, and puts into the batch's `table` what only some packets
/// carry.
#[inline]
pub(crate) fn read(area: &[u8], flags: TcpFlags, table: &mut Vec<Options>) -> Read {
    if area.is_empty() {
        return Read::default();
    }
    let Some((aligned, rest)) = area.split_first_chunk::<12>() else {
        return one_by_one(area, flags, table);
    };
    if aligned[..4] != ALIGNED_TIMESTAMP {
        return one_by_one(area, flags, table);
    }
    let mut read = Read::default();
    read.timestamps(number(aligned, 4), number(aligned, 8));
    match *rest {
        [] => read,
        // NOP, NOP, and SACK blocks up to the end.
        [1, 1, 5, length, ref blocks @ ..]
            if usize::from(length) == blocks.len() + 2 && matches!(blocks.len(), 8 | 16 | 24) =>
        {
            let mut options = Options::default();
            sack(blocks, &mut options);
            read.attach(options, table);
            read
        }
        _ => one_by_one(area, flags, table),
    }
}

#[inline]
fn number<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Read {
    #[inline]
    fn timestamps(&mut self, value: u32, echo: u32) {
        self.bits |= Bits::TIMESTAMP;
        (self.tsval, self.tsecr) = (value, echo);
    }

    #[inline]
    fn attach(&mut self, options: Options, table: &mut Vec<Options>) {
        self.bits |= Bits::OPTIONS;
        self.options = u32::try_from(table.len()).unwrap_or(u32::MAX);
        table.push(options);
    }
}

#[inline]
fn sack(bytes: &[u8], options: &mut Options) {
    options.sack = Options::default().sack;
    options.sack_count = 0;
    let (blocks, _) = bytes.as_chunks::<8>();
    for (slot, block) in options.sack.iter_mut().zip(blocks) {
        *slot = (number(block, 0), number(block, 4));
        options.sack_count += 1;
    }
}

/// Whether an option of Multipath TCP states that it is offered, accepted or in use: `MP_CAPABLE`,
/// `MP_JOIN` and DSS, with the lengths that each has on this segment (RFC 8684, sections 3.1 to
/// 3.3; RFC 6824 for the SYN of version 0).
///
/// A SYN-ACK that echoes the option of version 1's SYN, as some middleboxes do with what they do
/// not know, has accepted nothing.
fn is_multipath(subtype: u8, length: usize, flags: TcpFlags) -> bool {
    match (flags.any(TcpFlags::SYN), flags.any(TcpFlags::ACK)) {
        (true, false) => matches!((subtype, length), (0, 4 | 12) | (1, 12)),
        (true, true) => matches!((subtype, length), (0, 12) | (1, 16)),
        (false, _) => subtype == 2 && (4..=28).contains(&length),
    }
}

#[inline(never)]
fn one_by_one(mut area: &[u8], flags: TcpFlags, table: &mut Vec<Options>) -> Read {
    let syn = flags.any(TcpFlags::SYN);
    let mut read = Read::default();
    let mut options = Options::default();
    loop {
        let (kind, length) = match *area {
            [1, ref rest @ ..] => {
                area = rest;
                continue;
            }
            [] | [0, ..] | [_] => break,
            [kind, length, ..] => (kind, usize::from(length)),
        };
        if length < 2 || length > area.len() {
            break;
        }
        let (option, rest) = area.split_at(length);
        match (kind, &option[2..]) {
            (2, &[high, low]) if syn && (high, low) != (0, 0) => {
                options.mss = Some(u16::from_be_bytes([high, low]));
            }
            (3, &[shift]) if syn => options.window_scale = Some(shift.min(MAX_WINDOW_SCALE)),
            (4, &[]) if syn => options.sack_permitted = true,
            (30, &[first, ..]) => options.multipath |= is_multipath(first >> 4, length, flags),
            (5, blocks) if matches!(blocks.len(), 8 | 16 | 24 | 32) => sack(blocks, &mut options),
            (8, values) => {
                if let Ok(values) = <&[u8; 8]>::try_from(values) {
                    read.timestamps(number(values, 0), number(values, 4));
                }
            }
            _ => (),
        }
        area = rest;
    }
    if options != Options::default() {
        read.attach(options, table);
    }
    read
}
