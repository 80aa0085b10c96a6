//! The capture format pcapng (draft-ietf-opsawg-pcapng): sections of blocks, each with its own byte
//! order and its own interfaces.
//!
//! Packets come from enhanced, simple and obsolete packet blocks; drop counters from interface
//! statistics; blocks of other kinds are passed over. Simple packet blocks hold no time: their
//! packets get that of the packet before, which is reported once and makes them worthless for
//! timing.
//!
//! A block is accepted when its two lengths agree, or when a plausible block follows it. Where
//! neither holds, the reader looks for the next plausible block (`resync`) and reports what it
//! left out.

pub(crate) mod block;
mod interface;
mod judge;
mod options;
mod order;
mod resync;
mod section;

use crate::facts::{ByteOrder, InterfaceFacts, Problem};
use crate::hit::Hit;
use crate::ledger::Found;
use crate::sink::{Consumer, Sink, Stop, Tally, Unnumbered};

use block::{ENHANCED_HEAD, ENHANCED_PACKET, TRAILER};
use interface::Interface;
use judge::Judgement;
pub use options::FrameOptions;
use options::PacketOptions;
use order::Words;
use section::Block;
pub(crate) use section::{BEGIN_LENGTH, BeginError, is_magic};

/// The state of reading one pcapng file.
#[derive(Debug, Clone)]
pub(crate) struct Pcapng {
    /// The byte order of the section that is being read, and of the first one.
    order: ByteOrder,
    first_order: ByteOrder,
    /// The interfaces of the file.
    interfaces: Vec<Interface>,
    /// For each interface of the section that is being read, its index among those of the file.
    section: Vec<usize>,
    /// The same of the section before.
    section_before: Vec<usize>,
    /// Bytes of texts and options of the interfaces.
    texts: usize,
    hardware: Option<String>,
    os: Option<String>,
    application: Option<String>,
    /// Where the link type of the first interface is.
    first_link: u64,
    /// Where the window begins, in bytes from the beginning of the file.
    offset: u64,
    tally: Tally,
    /// Whether the section is of a version that is not known, and is left out.
    foreign: bool,
    /// Whether it has been reported that packets have no time.
    timeless: bool,
    /// A search for the next block that has not ended.
    search: Option<Search>,
}

/// A search for the next block, and why it began.
#[derive(Debug, Clone)]
struct Search {
    from: u64,
    why: String,
}

/// Why the fast path stopped.
enum Pause {
    Stop(Stop),
    Doubt,
}

impl Pcapng {
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Where the window begins, in bytes from the beginning of the file.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The byte order of the first section.
    pub(crate) fn byte_order(&self) -> ByteOrder {
        self.first_order
    }

    /// Where the link type of the first interface is, in bytes from the beginning of the file.
    pub(crate) fn first_link_offset(&self) -> u64 {
        self.first_link
    }

    pub(crate) fn interfaces(&self) -> Vec<InterfaceFacts> {
        self.interfaces.iter().map(Interface::facts).collect()
    }

    /// Hardware, operating system and application that wrote the file, as far as it states them.
    pub(crate) fn writer(&self) -> [Option<String>; 3] {
        [self.hardware.clone(), self.os.clone(), self.application.clone()]
    }

    /// Emits the records of `window`, which is `complete` when nothing follows it. Returns how much
    /// of it is done with.
    pub(crate) fn walk(
        &mut self,
        window: &[u8],
        complete: bool,
        sink: &mut Sink<'_, impl Consumer>,
    ) -> (usize, Stop) {
        let mut position = 0;
        loop {
            // A section can change the byte order; then the walk goes on in the other one.
            let (reached, stop) = match self.order {
                ByteOrder::Little => self.walk_ordered::<false>(window, position, complete, sink),
                ByteOrder::Big => self.walk_ordered::<true>(window, position, complete, sink),
            };
            position = reached;
            if let Some(stop) = stop {
                self.offset += position as u64;
                return (position, stop);
            }
        }
    }

    fn walk_ordered<const BIG: bool>(
        &mut self,
        window: &[u8],
        start: usize,
        complete: bool,
        sink: &mut Sink<'_, impl Consumer>,
    ) -> (usize, Option<Stop>) {
        let order = self.order;
        let mut position = start;
        while order == self.order {
            if self.search.is_some() {
                let hit = resync::find::<BIG>(window, position, usize::MAX, complete);
                match hit {
                    Hit::At(at) => position = at,
                    Hit::Nowhere => position = window.len(),
                    Hit::NeedMore { from, length } => return (from, Some(Stop::NeedMore(length))),
                }
                self.end_search(self.offset + position as u64, hit != Hit::Nowhere, sink);
            }
            let (reached, pause) = self.run::<BIG>(window, position, sink);
            position = reached;
            if let Pause::Stop(stop) = pause {
                return (position, Some(stop));
            }
            match Judgement::of::<BIG>(window, position, complete) {
                Judgement::Stop(stop) => return (position, Some(stop)),
                Judgement::Cut(detail) => {
                    self.tally.skipped_bytes += (window.len() - position) as u64;
                    self.note(Problem::TRUNCATED_RECORD, position, detail, sink);
                    return (window.len(), Some(Stop::End));
                }
                Judgement::Garbage(why) => {
                    self.search = Some(Search { from: self.offset + position as u64, why });
                    position += 1;
                }
                Judgement::Block { kind, end, odd } => {
                    let block = Block { kind, bytes: &window[position..end], position, odd };
                    if let Some(stop) = self.take::<BIG>(block, sink) {
                        return (position, Some(stop));
                    }
                    position = end;
                }
            }
        }
        (position, None)
    }

    /// The fast path: enhanced packet block after enhanced packet block, as long as there is
    /// nothing to think about.
    #[inline]
    fn run<const BIG: bool>(
        &mut self,
        window: &[u8],
        start: usize,
        sink: &mut Sink<'_, impl Consumer>,
    ) -> (usize, Pause) {
        let mut tally = self.tally;
        let mut position = start;
        let pause = loop {
            if sink.remaining == 0 {
                break Pause::Stop(Stop::Limit);
            }
            let Some(block) = window.get(position..).and_then(Enhanced::load::<BIG>) else {
                break Pause::Doubt;
            };
            let Some(interface) = self
                .section
                .get(block.interface as usize)
                .and_then(|index| self.interfaces.get_mut(*index))
            else {
                break Pause::Doubt;
            };
            let ts = interface.clock.at(block.count);
            if ts > sink.until || ts.0 == i64::MAX {
                // A time that could not be expressed is looked at twice.
                break if ts > sink.until { Pause::Stop(Stop::Until(ts)) } else { Pause::Doubt };
            }
            let options = PacketOptions::read::<BIG>(block.options);
            if let Some(drops) = options.drops {
                interface.on_packet_drops(drops);
            }
            interface.records += 1;
            tally.count(ts, block.bytes.len() < block.original as usize);
            let (link, number) = (interface.link, interface.number);
            let Enhanced { original: original_length, bytes, .. } = block;
            sink.emit(Unnumbered {
                ts,
                link,
                interface: number,
                original_length,
                marked: options.direction,
                bytes,
                options: FrameOptions::new::<BIG>(block.options),
            });
            position += block.size;
        };
        self.tally = tally;
        (position, pause)
    }

    fn end_search(&mut self, reached: u64, found: bool, sink: &mut Sink<'_, impl Consumer>) {
        let Some(Search { from, why }) = self.search.take() else { return };
        let passed_over = reached - from;
        self.tally.skipped_bytes += passed_over;
        let rest = if found {
            "were passed over up to the next block"
        } else {
            "up to the end of the file hold no block"
        };
        let detail = format!("{why}; {passed_over} bytes {rest}");
        sink.ledger.problem(
            sink.file,
            Found {
                code: Problem::BAD_BLOCK,
                offset: from,
                record: self.tally.records + 1,
                detail,
            },
        );
    }

    /// Notes a problem at a position in the window.
    #[cold]
    fn note(
        &self,
        code: &'static str,
        position: usize,
        detail: String,
        sink: &mut Sink<'_, impl Consumer>,
    ) {
        sink.ledger.problem(
            sink.file,
            Found {
                code,
                offset: self.offset + position as u64,
                record: self.tally.records + 1,
                detail,
            },
        );
    }
}

/// An enhanced packet block about which there is nothing odd.
struct Enhanced<'a> {
    size: usize,
    interface: u32,
    count: u64,
    original: u32,
    bytes: &'a [u8],
    options: &'a [u8],
}

impl<'a> Enhanced<'a> {
    #[inline]
    fn load<const BIG: bool>(rest: &'a [u8]) -> Option<Self> {
        let head: &[u8; ENHANCED_HEAD] = rest.first_chunk()?;
        let word = |at: usize| {
            let word = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            if BIG { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        let (length, captured, original) = (word(4), word(20), word(24));
        let size = length as usize;
        let tail = ENHANCED_HEAD + (captured as usize).next_multiple_of(4);
        if word(0) != ENHANCED_PACKET
            || captured > original
            || size < tail + TRAILER
            || !size.is_multiple_of(4)
            || size > block::LONGEST
        {
            return None;
        }
        if Words::<BIG>::word(rest, size - TRAILER)? != length {
            return None;
        }
        let bytes = rest.get(ENHANCED_HEAD..ENHANCED_HEAD + captured as usize)?;
        let options = rest.get(tail..size - TRAILER)?;
        Some(Self {
            size,
            interface: word(8),
            count: u64::from(word(12)) << 32 | u64::from(word(16)),
            original,
            bytes,
            options,
        })
    }
}
