//! Interfaces: what a file states about each, and what is counted per interface.
//!
//! Sections number their interfaces from zero. An interface that is at the same index of the
//! next section and is described in the same words is taken for the same one, so that a capture
//! whose parts were joined has as many interfaces as the capture itself. Bias: two machines with
//! equal interfaces, joined in one file, become one; so do interfaces whose texts were left out,
//! where the rest is equal.

use trustbed_wire::LinkType;

use super::options::{Options, kept};
use super::order::Words;
use crate::clock::{Clock, Resolution};
use crate::facts::InterfaceFacts;

const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const IF_OS: u16 = 12;
const IF_TSOFFSET: u16 = 14;
const IF_HARDWARE: u16 = 15;

/// Other options of an interface (a filter's text, its addresses) are kept up to so many bytes, for
/// each option's own room too.
const KEPT: usize = 1024;
const ROOM: usize = size_of::<(u16, Vec<u8>)>();

const ISB_IFRECV: u16 = 4;
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

/// What an interface description block states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Description {
    pub(super) link_number: u32,
    pub(super) snap_length: u32,
    pub(super) clock: Clock,
    name: Option<String>,
    about: Option<String>,
    hardware: Option<String>,
    os: Option<String>,
    options: Vec<(u16, Vec<u8>)>,
    /// Its texts and options were left out: the file has too many.
    is_bare: bool,
}

impl Description {
    /// Bytes of its texts and options.
    pub(super) fn held(&self) -> usize {
        let texts = [&self.name, &self.about, &self.hardware, &self.os];
        let texts = texts.into_iter().flatten().map(String::len);
        texts.chain(self.options.iter().map(|(_, value)| value.len() + ROOM)).sum()
    }

    /// The same without texts and options.
    pub(super) fn bare(&self) -> Self {
        Self {
            name: None,
            about: None,
            hardware: None,
            os: None,
            options: Vec::new(),
            is_bare: true,
            ..*self
        }
    }

    /// Whether another one states the same, as far as this one was kept.
    pub(super) fn states(&self, other: &Self) -> bool {
        self == other || (self.is_bare && *self == other.bare())
    }

    /// Reads the body of the block; also returns whether its options overran it. None when the body
    /// is too short.
    pub(super) fn read<const BIG: bool>(body: &[u8]) -> Option<(Self, bool)> {
        let link_number = u32::from(Words::<BIG>::half(body, 0)?);
        let snap_length = Words::<BIG>::word(body, 4)?;
        let (mut resolution, mut offset) = (Resolution::MICROSECONDS, 0);
        let (mut name, mut about, mut hardware, mut os) = (None, None, None, None);
        let (mut others, mut held) = (Vec::new(), 0);
        let mut options = Options::<BIG>::new(&body[8..]);
        for option in &mut options {
            match option.code {
                IF_NAME => name = option.text(),
                IF_DESCRIPTION => about = option.text(),
                IF_TSRESOL => {
                    resolution = option
                        .value
                        .first()
                        .map_or(resolution, |value| Resolution::from_option(*value));
                }
                IF_OS => os = option.text(),
                IF_TSOFFSET => {
                    offset = Words::<BIG>::long(option.value, 0).map_or(offset, u64::cast_signed);
                }
                IF_HARDWARE => hardware = option.text(),
                _ if held + option.value.len() + ROOM <= KEPT => {
                    held += option.value.len() + ROOM;
                    others.push(kept::<BIG>(option));
                }
                _ => {}
            }
        }
        let clock = Clock::new(resolution, offset);
        let read = Self {
            link_number,
            snap_length,
            clock,
            name,
            about,
            hardware,
            os,
            options: others,
            is_bare: false,
        };
        Some((read, options.overrun()))
    }
}

/// Counters of the capturing host. Absent ones are unknown, not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counters {
    received: Option<u64>,
    dropped: Option<u64>,
    os_dropped: Option<u64>,
}

impl Counters {
    /// Reads the options of an interface statistics block; also returns whether they overran it.
    pub(super) fn read<const BIG: bool>(tail: &[u8]) -> (Self, bool) {
        let mut counters = Self::default();
        let mut options = Options::<BIG>::new(tail);
        for option in &mut options {
            let value = Words::<BIG>::long(option.value, 0);
            match option.code {
                ISB_IFRECV => counters.received = value,
                ISB_IFDROP => counters.dropped = value,
                ISB_OSDROP => counters.os_dropped = value,
                _ => {}
            }
        }
        (counters, options.overrun())
    }

    fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        Self {
            received: sum(self.received, other.received),
            dropped: sum(self.dropped, other.dropped),
            os_dropped: sum(self.os_dropped, other.os_dropped),
        }
    }

    /// Later statistics of one section replace earlier ones: the counters are cumulative.
    fn replaced_by(self, later: Self) -> Self {
        Self {
            received: later.received.or(self.received),
            dropped: later.dropped.or(self.dropped),
            os_dropped: later.os_dropped.or(self.os_dropped),
        }
    }
}

/// An interface and its counts.
#[derive(Debug, Clone)]
pub(super) struct Interface {
    pub(super) link: Option<LinkType>,
    pub(super) clock: Clock,
    pub(super) number: u16,
    pub(super) records: u64,
    pub(super) description: Description,
    /// Losses that packets themselves state (option `epb_dropcount`, field of the obsolete packet
    /// block).
    reported_by_packets: Option<u64>,
    /// Statistics of the section that is being read, and of those before.
    current: Counters,
    before: Counters,
}

impl Interface {
    pub(super) fn new(description: Description, number: u16) -> Self {
        Self {
            link: LinkType::from_number(description.link_number),
            clock: description.clock,
            number,
            records: 0,
            description,
            reported_by_packets: None,
            current: Counters::default(),
            before: Counters::default(),
        }
    }

    pub(super) fn on_counters(&mut self, counters: Counters) {
        self.current = self.current.replaced_by(counters);
    }

    pub(super) fn on_packet_drops(&mut self, drops: u64) {
        self.reported_by_packets =
            Some(self.reported_by_packets.unwrap_or(0).saturating_add(drops));
    }

    /// A section ends: its counters are final, those of the next start again.
    pub(super) fn on_section_end(&mut self) {
        self.before = self.before.plus(self.current);
        self.current = Counters::default();
    }

    pub(super) fn facts(&self) -> InterfaceFacts {
        let Description {
            link_number,
            snap_length,
            clock,
            name,
            about,
            hardware,
            os,
            options,
            is_bare: _,
        } = self.description.clone();
        let counters = self.before.plus(self.current);
        InterfaceFacts {
            name,
            description: about,
            hardware,
            os,
            link_number,
            snap_length,
            resolution: clock.resolution().span(),
            records: self.records,
            received: counters.received,
            dropped: counters.dropped.or(self.reported_by_packets),
            os_dropped: counters.os_dropped,
            options,
        }
    }
}
