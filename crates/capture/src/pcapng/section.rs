//! What the blocks state: sections, interfaces, statistics, and the packets that the fast path did
//! not take.

use trustbed_units::Ns;

use super::Pcapng;
use super::block::{self, BYTE_ORDER_MAGIC, BYTE_ORDER_MAGIC_SWAPPED, ENHANCED_HEAD, TRAILER};
use super::interface::{Counters, Description, Interface};
use super::options::{FrameOptions, Options, PacketOptions};
use super::order::Words;
use crate::facts::{ByteOrder, Problem};
use crate::frame::Direction;
use crate::ledger::Found;
use crate::sink::{Consumer, Sink, Stop, Tally, Unnumbered};

const SHB_HARDWARE: u16 = 2;
const SHB_OS: u16 = 3;
const SHB_USERAPPL: u16 = 4;

/// Bytes of a section header before its options.
const SECTION_HEAD: usize = 24;

/// Bytes of the shortest section header.
pub(crate) const BEGIN_LENGTH: usize = SECTION_HEAD + TRAILER;

/// Packets carry the number of their interface in 16 bits.
const MOST_INTERFACES: usize = 1 << 16;

/// Bytes of texts and options that are kept of all interfaces of a file together.
const MOST_TEXTS: usize = 16 << 20;

/// Why the first section header cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BeginError {
    Truncated { needed: usize, found: usize },
    ByteOrder { found: u32 },
    Version { major: u16, minor: u16 },
}

/// Whether a file that begins like this states that it is a pcapng file.
pub(crate) fn is_magic(start: &[u8]) -> bool {
    start.starts_with(&block::SECTION_HEADER.to_le_bytes())
}

/// A block that is accepted.
pub(super) struct Block<'a> {
    pub(super) kind: u32,
    pub(super) bytes: &'a [u8],
    /// Where in the window it begins.
    pub(super) position: usize,
    /// What is wrong with it all the same.
    pub(super) odd: Option<String>,
}

/// A packet block that is not read by the fast path.
#[derive(Debug)]
struct Slow<'a> {
    interface: u32,
    /// None for simple packet blocks, which hold no time.
    count: Option<u64>,
    original: u32,
    bytes: &'a [u8],
    drops: Option<u64>,
    marked: Direction,
    options: FrameOptions<'a>,
    odd: Option<(&'static str, String)>,
}

impl Pcapng {
    /// Looks at the first section header, which stays in the window: it is a block like others.
    pub(crate) fn begin(window: &[u8]) -> Result<Self, BeginError> {
        let truncated = BeginError::Truncated { needed: BEGIN_LENGTH, found: window.len() };
        let Some(magic) = Words::<false>::word(window, 8) else { return Err(truncated) };
        let (order, version) = match magic {
            BYTE_ORDER_MAGIC => (
                ByteOrder::Little,
                (Words::<false>::half(window, 12), Words::<false>::half(window, 14)),
            ),
            BYTE_ORDER_MAGIC_SWAPPED => {
                (ByteOrder::Big, (Words::<true>::half(window, 12), Words::<true>::half(window, 14)))
            }
            found => return Err(BeginError::ByteOrder { found }),
        };
        match version {
            // 1.2 was written by some and means 1.0 (section 4.1 of the draft).
            (Some(1), Some(0 | 2)) if window.len() >= BEGIN_LENGTH => {}
            (Some(1), Some(0 | 2)) | (None, _) | (_, None) => return Err(truncated),
            (Some(major), Some(minor)) => return Err(BeginError::Version { major, minor }),
        }
        Ok(Self {
            order,
            first_order: order,
            interfaces: Vec::new(),
            section: Vec::new(),
            section_before: Vec::new(),
            texts: 0,
            hardware: None,
            os: None,
            application: None,
            first_link: 0,
            offset: 0,
            tally: Tally::new(),
            foreign: false,
            timeless: false,
            search: None,
        })
    }

    /// Takes one whole block. Returns a reason to stop before it when it is a packet that is later
    /// than was requested.
    pub(super) fn take<const BIG: bool>(
        &mut self,
        block: Block<'_>,
        sink: &mut Sink<'_, impl Consumer>,
    ) -> Option<Stop> {
        let Block { kind, bytes, position, odd } = block;
        if self.foreign && kind != block::SECTION_HEADER {
            self.tally.skipped_bytes += bytes.len() as u64;
            return None;
        }
        let record = self.tally.records + 1;
        let body = &bytes[8..bytes.len() - TRAILER];
        let outcome = match kind {
            block::ENHANCED_PACKET | block::OBSOLETE_PACKET => Self::full_packet::<BIG>(kind, body),
            block::SIMPLE_PACKET => self.simple_packet::<BIG>(body),
            _ => {
                self.on_other::<BIG>(kind, bytes, position, sink);
                Ok(None)
            }
        };
        match outcome {
            Ok(Some(packet)) => {
                let stop = self.emit_slow(packet, position, sink);
                if stop.is_some() {
                    return stop;
                }
            }
            Ok(None) => {}
            Err(needed) => self.too_short(kind, needed, bytes.len(), position, sink),
        }
        if let Some(detail) = odd {
            let offset = self.offset + position as u64;
            sink.ledger
                .problem(sink.file, Found { code: Problem::BAD_BLOCK, offset, record, detail });
        }
        None
    }

    fn too_short(
        &self,
        kind: u32,
        needed: usize,
        found: usize,
        position: usize,
        sink: &mut Sink<'_, impl Consumer>,
    ) {
        let detail = format!(
            "a block of type {kind:#x} has {found} bytes and needs {}; it was left out",
            needed + 8 + TRAILER
        );
        self.note(Problem::BAD_BLOCK, position, detail, sink);
    }

    fn on_other<const BIG: bool>(
        &mut self,
        kind: u32,
        block: &[u8],
        position: usize,
        sink: &mut Sink<'_, impl Consumer>,
    ) {
        let body = &block[8..block.len() - TRAILER];
        match kind {
            block::SECTION_HEADER => self.on_section(block, position, sink),
            block::INTERFACE_DESCRIPTION => match Description::read::<BIG>(body) {
                Some((description, overrun)) => {
                    self.on_interface(description, position, sink);
                    self.on_overrun(overrun, position, sink);
                }
                None => self.too_short(kind, 8, block.len(), position, sink),
            },
            block::INTERFACE_STATISTICS => self.on_statistics::<BIG>(body, position, sink),
            // The format requires readers to pass over what they do not know.
            _ => {}
        }
    }

    fn on_overrun(&self, overrun: bool, position: usize, sink: &mut Sink<'_, impl Consumer>) {
        if overrun {
            self.note(
                Problem::BAD_BLOCK,
                position,
                "an option claims more bytes than its block has; it and those behind it were left \
                 out"
                .to_owned(),
                sink,
            );
        }
    }

    fn on_section(&mut self, block: &[u8], position: usize, sink: &mut Sink<'_, impl Consumer>) {
        let big = Words::<false>::word(block, 8) == Some(BYTE_ORDER_MAGIC_SWAPPED);
        self.order = if big { ByteOrder::Big } else { ByteOrder::Little };
        for index in &self.section {
            if let Some(interface) = self.interfaces.get_mut(*index) {
                interface.on_section_end();
            }
        }
        self.section_before = std::mem::take(&mut self.section);
        let version =
            if big { Words::<true>::half(block, 12) } else { Words::<false>::half(block, 12) };
        self.foreign = version != Some(1);
        if let Some(version) = version.filter(|version| *version != 1) {
            let detail = format!(
                "a section states the format version {version}, which is not known; it was left out"
            );
            self.note(Problem::BAD_BLOCK, position, detail, sink);
        }
        let tail = block.get(SECTION_HEAD..block.len() - TRAILER).unwrap_or_default();
        let overrun = if big {
            self.on_writer(Options::<true>::new(tail))
        } else {
            self.on_writer(Options::<false>::new(tail))
        };
        self.on_overrun(overrun, position, sink);
    }

    fn on_writer<const BIG: bool>(&mut self, mut options: Options<'_, BIG>) -> bool {
        for option in &mut options {
            let text = match option.code {
                SHB_HARDWARE => &mut self.hardware,
                SHB_OS => &mut self.os,
                SHB_USERAPPL => &mut self.application,
                _ => continue,
            };
            // Of several sections, the first that states something counts.
            if text.is_none() {
                *text = option.text();
            }
        }
        options.overrun()
    }

    fn on_interface(
        &mut self,
        description: Description,
        position: usize,
        sink: &mut Sink<'_, impl Consumer>,
    ) {
        let same = self.section_before.get(self.section.len()).copied();
        let same = same.filter(|index| {
            self.interfaces
                .get(*index)
                .is_some_and(|interface| interface.description.states(&description))
        });
        let index = same.unwrap_or(self.interfaces.len());
        let Ok(number) = u16::try_from(index) else {
            self.note(
                Problem::BAD_BLOCK,
                position,
                format!("there are more than {MOST_INTERFACES} interfaces; this one was left out"),
                sink,
            );
            return;
        };
        if self.section.len() == MOST_INTERFACES {
            return;
        }
        if self.interfaces.is_empty() {
            self.first_link = self.offset + position as u64 + 8;
        }
        if same.is_none() {
            let description = self.within_texts(description, position, sink);
            self.interfaces.push(Interface::new(description, number));
        }
        self.section.push(index);
    }

    /// The description, without its texts where the file has too many.
    fn within_texts(
        &mut self,
        description: Description,
        position: usize,
        sink: &mut Sink<'_, impl Consumer>,
    ) -> Description {
        let held = description.held();
        if self.texts + held <= MOST_TEXTS {
            self.texts += held;
            return description;
        }
        let detail = format!(
            "the texts of the interfaces have more than {} MiB; those of this one were left out",
            MOST_TEXTS >> 20
        );
        self.note(Problem::BAD_BLOCK, position, detail, sink);
        description.bare()
    }

    fn on_statistics<const BIG: bool>(
        &mut self,
        body: &[u8],
        position: usize,
        sink: &mut Sink<'_, impl Consumer>,
    ) {
        let (Some(id), Some(tail)) = (Words::<BIG>::word(body, 0), body.get(12..)) else {
            self.too_short(
                block::INTERFACE_STATISTICS,
                12,
                body.len() + 8 + TRAILER,
                position,
                sink,
            );
            return;
        };
        let (counters, overrun) = Counters::read::<BIG>(tail);
        match self.interface_mut(id) {
            Some(interface) => interface.on_counters(counters),
            None => self.note(
                Problem::UNKNOWN_INTERFACE,
                position,
                format!("statistics of interface {id}, which the file does not describe"),
                sink,
            ),
        }
        self.on_overrun(overrun, position, sink);
    }

    fn interface_mut(&mut self, id: u32) -> Option<&mut Interface> {
        let index = *self.section.get(id as usize)?;
        self.interfaces.get_mut(index)
    }

    /// An enhanced or obsolete packet block: the same fields, but for the first.
    fn full_packet<const BIG: bool>(kind: u32, body: &[u8]) -> Result<Option<Slow<'_>>, usize> {
        const NEEDED: usize = ENHANCED_HEAD - 8;
        let word = |at: usize| Words::<BIG>::word(body, at);
        let (Some(first), Some(high), Some(low), Some(captured), Some(original)) =
            (word(0), word(4), word(8), word(12), word(16))
        else {
            return Err(NEEDED);
        };
        let room = body.len() - NEEDED;
        // Of a length that lies, the frame's own is the better one; what is behind it is padding.
        let length =
            if captured as usize > room { room.min(original as usize) } else { captured as usize };
        let bytes = &body[NEEDED..NEEDED + length];
        let tail = body.get(NEEDED + bytes.len().next_multiple_of(4)..).unwrap_or_default();
        let (interface, options) = if kind == block::OBSOLETE_PACKET {
            let id = Words::<BIG>::half(body, 0).unwrap_or(u16::MAX);
            let drops = Words::<BIG>::half(body, 2).filter(|drops| *drops != u16::MAX);
            (
                u32::from(id),
                PacketOptions { drops: drops.map(u64::from), ..PacketOptions::read::<BIG>(tail) },
            )
        } else {
            (first, PacketOptions::read::<BIG>(tail))
        };
        let odd = if captured as usize > room {
            Some(format!(
                "a packet states {captured} captured bytes in a block that has room for {room}; \
                 those were taken"
            ))
        } else if captured > original {
            Some(format!(
                "a packet states {captured} captured bytes of a frame of {original}; the frame is \
                 taken to have had {captured}"
            ))
        } else {
            None
        };
        let odd = odd.map(|odd| (Problem::BAD_RECORD_LENGTH, odd));
        let original = original.max(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        Ok(Some(Slow {
            interface,
            count: Some(u64::from(high) << 32 | u64::from(low)),
            original,
            bytes,
            drops: options.drops,
            marked: options.direction,
            options: FrameOptions::new::<BIG>(tail),
            odd,
        }))
    }

    fn simple_packet<'a, const BIG: bool>(
        &mut self,
        body: &'a [u8],
    ) -> Result<Option<Slow<'a>>, usize> {
        let original = Words::<BIG>::word(body, 0).ok_or(4_usize)?;
        let snap_length = self
            .interface_mut(0)
            .map(|interface| interface.description.snap_length)
            .filter(|snap| *snap != 0);
        let captured = (original.min(snap_length.unwrap_or(u32::MAX)) as usize).min(body.len() - 4);
        let odd = (!self.timeless).then(|| {
            let detail =
                "packets are stored without a time (simple packet blocks); they get that of \
                the packet before them"
                    .to_owned();
            (Problem::NO_TIMESTAMP, detail)
        });
        Ok(Some(Slow {
            interface: 0,
            count: None,
            original,
            bytes: &body[4..4 + captured],
            drops: None,
            marked: Direction::Unknown,
            options: FrameOptions::NONE,
            odd,
        }))
    }

    /// Emits a packet; returns a reason to stop when it is later than was requested.
    fn emit_slow(
        &mut self,
        packet: Slow<'_>,
        position: usize,
        sink: &mut Sink<'_, impl Consumer>,
    ) -> Option<Stop> {
        let Slow { interface: id, count, original, bytes, drops, marked, options, odd } = packet;
        let last = self.tally.last().unwrap_or(Ns(0));
        let found = self.interface_mut(id).map(|interface| {
            (interface.link, interface.number, count.map(|count| interface.clock.at(count)))
        });
        let ts = found.and_then(|(_, _, ts)| ts).unwrap_or(last);
        if ts > sink.until {
            return Some(Stop::Until(ts));
        }
        if let Some((code, detail)) = odd {
            self.timeless |= code == Problem::NO_TIMESTAMP;
            self.note(code, position, detail, sink);
        }
        if ts == Ns::MAX {
            self.note(
                Problem::BAD_TIMESTAMP,
                position,
                "a timestamp lies beyond the year 2262".to_owned(),
                sink,
            );
        }
        let snapped = bytes.len() < original as usize;
        match found {
            Some((_, _, Some(ts))) => self.tally.count(ts, snapped),
            Some((_, _, None)) => {
                self.tally.without_time += 1;
                self.tally.count_unstamped(snapped);
            }
            None => {
                let detail = format!(
                    "a packet of interface {id}, which the file does not describe: how to read it \
                     is not known"
                );
                self.note(Problem::UNKNOWN_INTERFACE, position, detail, sink);
                self.tally.count_unstamped(snapped);
            }
        }
        if let Some(interface) = self.interface_mut(id) {
            interface.records += 1;
            if let Some(drops) = drops {
                interface.on_packet_drops(drops);
            }
        }
        let (link, number) = found.map_or((None, 0), |(link, number, _)| (link, number));
        sink.emit(Unnumbered {
            ts,
            link,
            interface: number,
            original_length: original,
            marked,
            bytes,
            options,
        });
        None
    }
}
