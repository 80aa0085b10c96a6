//! The blocks of a pcapng file, byte by byte (draft-ietf-opsawg-pcapng, section 4), little-endian,
//! times in nanoseconds.

use trustbed_units::Ns;
use trustbed_wire::LinkType;

use super::{Counters, InterfaceDescription};
use crate::frame::{Direction, Frame};
use crate::pcapng::block::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, INTERFACE_DESCRIPTION, INTERFACE_STATISTICS, SECTION_HEADER,
};

pub(super) const COMMENT: u16 = 1;
const SHB_HARDWARE: u16 = 2;
const SHB_OS: u16 = 3;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;
const IF_OS: u16 = 12;
const IF_TSOFFSET: u16 = 14;
const IF_HARDWARE: u16 = 15;
const EPB_FLAGS: u16 = 2;
const ISB_STARTTIME: u16 = 2;
const ISB_ENDTIME: u16 = 3;
const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

/// Appends a block: its type, its length, what `body` appends, padding, its length again.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    pad(out, start);
    let length = u32::try_from(out.len() + 4 - start).unwrap_or(u32::MAX).to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend_from_slice(&length);
}

/// Pads what was appended since `start` to a multiple of four bytes.
fn pad(out: &mut Vec<u8>, start: usize) {
    const ZEROS: [u8; 3] = [0; 3];
    out.extend_from_slice(&ZEROS[..(out.len() - start).wrapping_neg() & 3]);
}

pub(super) fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    // What is longer than an option can be is for people, and cut.
    let value = &value[..value.len().min(usize::from(u16::MAX) & !3)];
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_le_bytes());
    let start = out.len();
    out.extend_from_slice(value);
    pad(out, start);
}

fn text(out: &mut Vec<u8>, code: u16, value: Option<&str>) {
    if let Some(value) = value {
        option(out, code, value.as_bytes());
    }
}

fn end_of_options(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0; 4]);
}

/// A moment as two words, the upper one first. What lies before 1970 has no encoding and becomes
/// 1970.
fn moment(ts: Ns) -> [u8; 8] {
    words(u64::try_from(ts.0).unwrap_or(0))
}

fn words(count: u64) -> [u8; 8] {
    // Exchanging the halves of the number exchanges the words of its bytes.
    count.rotate_left(32).to_le_bytes()
}

/// What a section states about who captured and wrote it.
pub(super) struct WriterFacts<'a> {
    pub(super) hardware: Option<&'a str>,
    pub(super) os: Option<&'a str>,
    pub(super) application: &'a str,
}

impl<'a> WriterFacts<'a> {
    /// Of a capture by this host.
    pub(super) const fn of(application: &'a str) -> Self {
        Self { hardware: None, os: Some(std::env::consts::OS), application }
    }
}

pub(super) fn section(out: &mut Vec<u8>, about: &WriterFacts<'_>) {
    block(out, SECTION_HEADER, |out| {
        out.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
        out.extend_from_slice(&[1, 0, 0, 0]);
        // The length of the section is not known beforehand.
        out.extend_from_slice(&[0xff; 8]);
        text(out, SHB_HARDWARE, about.hardware);
        text(out, SHB_OS, about.os);
        text(out, SHB_USERAPPL, Some(about.application));
        end_of_options(out);
    });
}

pub(super) fn interface(out: &mut Vec<u8>, description: &InterfaceDescription) {
    block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend_from_slice(&link_number(description.link).to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&description.snap_length.to_le_bytes());
        option(out, IF_NAME, description.name.as_bytes());
        if let Some(speed) = description.speed {
            option(out, IF_SPEED, &speed.0.to_le_bytes());
        }
        option(out, IF_TSRESOL, &[9]);
        let stamps = if description.hardware_timestamps {
            "hardware timestamps"
        } else {
            "software timestamps"
        };
        option(out, COMMENT, stamps.as_bytes());
        end_of_options(out);
    });
}

/// What a copied file states about an interface.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Copied {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) hardware: Option<String>,
    pub(super) os: Option<String>,
    pub(super) options: Vec<(u16, Vec<u8>)>,
    pub(super) link_number: u16,
    pub(super) snap_length: u32,
    pub(super) clock: Clock,
}

/// The unit in which an interface's times are written, and when they begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Clock {
    /// Units of 10⁻ⁿ seconds, at most 9.
    pub(super) digits: u8,
    pub(super) offset_seconds: i64,
}

impl Clock {
    fn count(self, ts: Ns) -> u64 {
        let since = ts.0.saturating_sub(self.offset_seconds.saturating_mul(1_000_000_000));
        u64::try_from(since).unwrap_or(0) / 10_u64.pow(9 - u32::from(self.digits.min(9)))
    }
}

pub(super) fn copied_interface(out: &mut Vec<u8>, copied: &Copied) {
    block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend_from_slice(&copied.link_number.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&copied.snap_length.to_le_bytes());
        text(out, IF_NAME, copied.name.as_deref());
        text(out, IF_DESCRIPTION, copied.description.as_deref());
        option(out, IF_TSRESOL, &[copied.clock.digits]);
        text(out, IF_OS, copied.os.as_deref());
        if copied.clock.offset_seconds != 0 {
            option(out, IF_TSOFFSET, &copied.clock.offset_seconds.to_le_bytes());
        }
        text(out, IF_HARDWARE, copied.hardware.as_deref());
        for (code, value) in &copied.options {
            option(out, *code, value);
        }
        end_of_options(out);
    });
}

/// A packet block, with what `options` appends.
pub(super) fn copied_packet(
    out: &mut Vec<u8>,
    (interface, clock): (u16, Clock),
    frame: &Frame<'_>,
    options: impl FnOnce(&mut Vec<u8>),
) {
    enhanced(out, interface, words(clock.count(frame.ts)), frame, |out| {
        let start = out.len();
        options(out);
        if out.len() > start {
            end_of_options(out);
        }
    });
}

/// What an interface counted up to a moment: received, dropped, dropped by the operating system.
pub(super) fn copied_statistics(
    out: &mut Vec<u8>,
    (interface, clock): (u16, Clock),
    end: Ns,
    counts: [Option<u64>; 3],
) {
    block(out, INTERFACE_STATISTICS, |out| {
        out.extend_from_slice(&u32::from(interface).to_le_bytes());
        out.extend_from_slice(&words(clock.count(end)));
        for (code, count) in [ISB_IFRECV, ISB_IFDROP, ISB_OSDROP].into_iter().zip(counts) {
            if let Some(count) = count {
                option(out, code, &count.to_le_bytes());
            }
        }
        end_of_options(out);
    });
}

pub(super) fn packet(out: &mut Vec<u8>, frame: &Frame<'_>) {
    enhanced(out, frame.interface, moment(frame.ts), frame, |out| {
        let direction = frame.direction();
        if direction != Direction::Unknown {
            option(out, EPB_FLAGS, &direction.flags().to_le_bytes());
            end_of_options(out);
        }
    });
}

fn enhanced(
    out: &mut Vec<u8>,
    interface: u16,
    moment: [u8; 8],
    frame: &Frame<'_>,
    options: impl FnOnce(&mut Vec<u8>),
) {
    block(out, ENHANCED_PACKET, |out| {
        let captured = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&u32::from(interface).to_le_bytes());
        out.extend_from_slice(&moment);
        out.extend_from_slice(&captured.to_le_bytes());
        out.extend_from_slice(&frame.original_length.max(captured).to_le_bytes());
        let start = out.len();
        out.extend_from_slice(frame.bytes);
        pad(out, start);
        options(out);
    });
}

pub(super) fn statistics(out: &mut Vec<u8>, interface: u16, counters: &Counters) {
    block(out, INTERFACE_STATISTICS, |out| {
        out.extend_from_slice(&u32::from(interface).to_le_bytes());
        out.extend_from_slice(&moment(counters.end));
        option(out, ISB_STARTTIME, &moment(counters.start));
        option(out, ISB_ENDTIME, &moment(counters.end));
        option(out, ISB_IFRECV, &counters.received.to_le_bytes());
        option(out, ISB_IFDROP, &counters.dropped.to_le_bytes());
        end_of_options(out);
    });
}

/// The LINKTYPE_ number of a link type; of several, the one that is written today.
const fn link_number(link: LinkType) -> u16 {
    match link {
        LinkType::Loopback => 0,
        LinkType::Ethernet => 1,
        LinkType::Ppp => 9,
        LinkType::Raw => 101,
        LinkType::LinuxCooked => 113,
        LinkType::Ipv4 => 228,
        LinkType::Ipv6 => 229,
        LinkType::LinuxCooked2 => 276,
    }
}

/// How far whole blocks reach in the first `upto` bytes of blocks, and how many packets are among
/// them.
pub(super) fn whole(blocks: &[u8], upto: usize) -> (usize, u64) {
    let word = |at: usize| {
        blocks.get(at..).and_then(|rest| rest.first_chunk()).map(|word| u32::from_le_bytes(*word))
    };
    let (mut end, mut packets) = (0, 0);
    while let (Some(kind), Some(length)) = (word(end), word(end + 4)) {
        let next = end + length as usize;
        if next > upto {
            break;
        }
        packets += u64::from(kind == ENHANCED_PACKET);
        end = next;
    }
    (end, packets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_type_reads_back() {
        use LinkType::{Ethernet, Ipv4, Ipv6, LinuxCooked, LinuxCooked2, Loopback, Ppp, Raw};
        for link in [Loopback, Ethernet, Ppp, Raw, LinuxCooked, Ipv4, Ipv6, LinuxCooked2] {
            assert_eq!(LinkType::from_number(link_number(link).into()), Some(link));
        }
    }

    #[test]
    fn whole_blocks_are_found_by_their_lengths() {
        let mut blocks = Vec::new();
        section(&mut blocks, &WriterFacts::of("test"));
        let first = blocks.len();
        let bytes = [7; 33];
        let frame = Frame {
            ts: Ns(1),
            index: 1,
            file: 0,
            interface: 0,
            link: None,
            original_length: 33,
            marked: Direction::Inbound,
            bytes: &bytes,
        };
        packet(&mut blocks, &frame);
        let second = blocks.len();
        assert!(first.is_multiple_of(4) && second.is_multiple_of(4));
        for upto in 0..=second {
            let expected = if upto == second {
                (second, 1)
            } else {
                (if upto < first { 0 } else { first }, 0)
            };
            assert_eq!(whole(&blocks, upto), expected);
        }
    }
}
