//! Whose packets they are, when a capture is taken apart: by direction, VLAN, interface or flow.
//!
//! A flow is one direction of a connection: what goes from one address and port to another.
//! Fragments behind the first one have no ports and are a flow of their own.

use std::collections::HashMap;

use trustbed_capture::{CaptureFacts, Direction, Frame};
use trustbed_record::address;
use trustbed_wire::{Contents, IpContents};

/// What distinguishes streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Direction,
    Vlan,
    Interface,
    Flow,
}

impl By {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "direction" => Self::Direction,
            "vlan" => Self::Vlan,
            "interface" => Self::Interface,
            "flow" => Self::Flow,
            _ => return None,
        })
    }

    /// Whether a frame's bytes show to which stream it belongs.
    pub(super) const fn looks_inside(self) -> bool {
        matches!(self, Self::Vlan | Self::Flow)
    }
}

/// What the packets of a stream have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Direction(Direction),
    Vlan(Option<u16>),
    Interface(usize, u16),
    Flow(Flow),
    NoIp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Flow {
    source: [u8; 16],
    destination: [u8; 16],
    is_v6: bool,
    protocol: u8,
    ports: Option<(u16, u16)>,
}

/// How much there is of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

/// The streams of a capture. Their numbers are the marks of their packets.
#[derive(Debug, Default)]
pub(super) struct Streams {
    by: Option<By>,
    numbers: HashMap<Key, u32>,
    keys: Vec<Key>,
    amounts: Vec<Amount>,
    /// The latest one: packets of one stream often follow each other.
    latest: Option<(Key, u32)>,
    /// Packets of streams beyond those that are remembered.
    beyond: Amount,
}

/// A stream by its name: those marks are its packets'.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) name: String,
    pub(super) marks: Vec<u32>,
    pub(super) amount: Amount,
}

impl Streams {
    /// Streams that are remembered: some 30 MB.
    pub(super) const MOST: usize = 1 << 18;
    /// The mark of packets of all others.
    pub(super) const BEYOND: u32 = u32::MAX;

    pub(super) fn new(by: Option<By>) -> Self {
        Self { by, ..Self::default() }
    }

    /// The mark of a frame's packets.
    pub(super) fn mark(&mut self, frame: &Frame<'_>, contents: &Contents) -> u32 {
        let Some(by) = self.by else { return 0 };
        let key = match by {
            By::Direction => Key::Direction(frame.direction()),
            By::Interface => Key::Interface(frame.file, frame.interface),
            By::Vlan => Key::Vlan(contents.vlan),
            By::Flow => contents.ip.as_ref().map_or(Key::NoIp, |ip| Key::Flow(Flow::of(ip))),
        };
        if let Some((_, mark)) = self.latest.filter(|(latest, _)| *latest == key) {
            return mark;
        }
        let mark = self.number(key);
        self.latest = Some((key, mark));
        mark
    }

    fn number(&mut self, key: Key) -> u32 {
        if let Some(mark) = self.numbers.get(&key) {
            return *mark;
        }
        let Some(mark) =
            u32::try_from(self.keys.len()).ok().filter(|_| self.keys.len() < Self::MOST)
        else {
            return Self::BEYOND;
        };
        self.numbers.insert(key, mark);
        self.keys.push(key);
        self.amounts.push(Amount::default());
        mark
    }

    /// A packet of that mark counts.
    #[inline]
    pub(super) fn count(&mut self, mark: u32, length: u32) {
        if self.by.is_some() {
            let amount = self.amounts.get_mut(mark as usize).unwrap_or(&mut self.beyond);
            amount.packets += 1;
            amount.bytes += u64::from(length);
        }
    }

    /// Packets of streams beyond [`Streams::MOST`].
    pub(super) const fn beyond(&self) -> Amount {
        self.beyond
    }

    /// All streams, the largest first; of equal ones the one that began first. Interfaces of the
    /// same name in several files are one.
    pub(super) fn by_size(&self, facts: &CaptureFacts) -> Vec<Stream> {
        let mut indexes: HashMap<String, usize> = HashMap::new();
        let mut found: Vec<Stream> = Vec::new();
        for ((key, amount), mark) in self.keys.iter().zip(&self.amounts).zip(0..) {
            let name = key.name(facts);
            let index = *indexes.entry(name.clone()).or_insert(found.len());
            if index == found.len() {
                found.push(Stream { name, marks: Vec::new(), amount: Amount::default() });
            }
            let stream = &mut found[index];
            stream.marks.push(mark);
            stream.amount.packets += amount.packets;
            stream.amount.bytes += amount.bytes;
        }
        found.retain(|stream| stream.amount.packets > 0);
        found.sort_by_key(|stream| std::cmp::Reverse(stream.amount.bytes));
        found
    }
}

impl Flow {
    const fn of(ip: &IpContents) -> Self {
        let IpContents { source, destination, is_v6, protocol, ports, .. } = *ip;
        Self { source, destination, is_v6, protocol, ports }
    }

    fn name(&self) -> String {
        let end = |bytes: &[u8; 16], port: Option<u16>| match (address(bytes, self.is_v6), port) {
            (text, None) => text,
            (text, Some(port)) if self.is_v6 => format!("[{text}]:{port}"),
            (text, Some(port)) => format!("{text}:{port}"),
        };
        let from = end(&self.source, self.ports.map(|ports| ports.0));
        let to = end(&self.destination, self.ports.map(|ports| ports.1));
        let protocol = match self.protocol {
            1 => "icmp".to_owned(),
            6 => "tcp".to_owned(),
            17 => "udp".to_owned(),
            58 => "icmp6".to_owned(),
            number => format!("protocol {number}"),
        };
        format!("{from} → {to} {protocol}")
    }
}

impl Key {
    fn name(&self, facts: &CaptureFacts) -> String {
        match self {
            Self::Direction(Direction::Inbound) => "in".to_owned(),
            Self::Direction(Direction::Outbound) => "out".to_owned(),
            Self::Direction(Direction::Unknown) => "direction unknown".to_owned(),
            Self::Vlan(Some(vlan)) => format!("vlan {vlan}"),
            Self::Vlan(None) => "no vlan".to_owned(),
            Self::Interface(file, index) => {
                let described = facts
                    .files
                    .get(*file)
                    .and_then(|file| file.interfaces.get(usize::from(*index)));
                described.and_then(|interface| interface.name.clone()).map_or_else(
                    || format!("interface {index}"),
                    |name| format!("interface {name}"),
                )
            }
            Self::Flow(flow) => flow.name(),
            Self::NoIp => "no IP".to_owned(),
        }
    }
}
