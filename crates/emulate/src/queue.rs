//! What waits in front of the rate, and how much may.
//!
//! The packet being sent counts: as one packet, and with those of its bytes that are not sent yet
//! (in front of a trace or a shaper: with all of them). Real queues often count it not at all, and
//! hold one packet more.

use std::collections::VecDeque;

use trustbed_units::Ns;

use crate::discipline::Head;
use crate::{EmulateError, QueueDescription};

/// A packet in the queue.
#[derive(Debug, Clone)]
pub(crate) struct Waiting<T> {
    pub(crate) content: T,
    pub(crate) arrived: Ns,
    pub(crate) length: u32,
    pub(crate) found: Found,
}

/// What a packet finds in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Found {
    pub(crate) packets: u32,
    /// Bytes, in the transmitter's units.
    pub(crate) units: u128,
}

/// First in, first out.
#[derive(Debug, Clone)]
pub(crate) struct Line<T> {
    packets: VecDeque<Waiting<T>>,
    bytes: u64,
}

/// Packets that were handed to the transmitter and have not left it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    departures: VecDeque<(Ns, u32)>,
    bytes: u64,
    last: Option<Ns>,
}

/// How much a queue takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    Nothing,
    Packets(u32),
    Bytes(u64),
}

impl Found {
    /// Whole bytes, rounded up.
    #[inline]
    pub(crate) fn bytes(self, per_byte: u64) -> u64 {
        u64::try_from(self.units).map_or_else(
            |_| u64::try_from(self.units.div_ceil(u128::from(per_byte))).unwrap_or(u64::MAX),
            |units| units.div_ceil(per_byte),
        )
    }
}

impl<T> Line<T> {
    pub(crate) const fn new() -> Self {
        Self { packets: VecDeque::new(), bytes: 0 }
    }

    pub(crate) fn push(&mut self, packet: Waiting<T>) {
        self.bytes += u64::from(packet.length);
        self.packets.push_back(packet);
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting<T>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.length);
        Some(packet)
    }

    /// What a discipline sees of the packets, the longest waiting first.
    pub(crate) fn heads(&self) -> impl Iterator<Item = Head> {
        self.packets.iter().scan(self.bytes, |bytes_behind, packet| {
            *bytes_behind -= u64::from(packet.length);
            Some(Head { arrived: packet.arrived, bytes_behind: *bytes_behind })
        })
    }

    pub(crate) fn first(&self) -> Option<&Waiting<T>> {
        self.packets.front()
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Standing {
    #[inline]
    pub(crate) fn push(&mut self, departure: Ns, length: u32) {
        self.departures.push_back((departure, length));
        self.bytes += u64::from(length);
        self.last = Some(departure);
    }

    /// Forgets those that have left.
    #[inline]
    pub(crate) fn expire(&mut self, now: Ns) {
        while let Some(&(departure, length)) = self.departures.front()
            && departure <= now
        {
            self.departures.pop_front();
            self.bytes -= u64::from(length);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.departures.len()
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the last one leaves or left.
    pub(crate) const fn last(&self) -> Option<Ns> {
        self.last
    }
}

impl Limit {
    /// The limit of a description.
    pub(crate) fn new(
        description: &QueueDescription,
        location: &str,
    ) -> Result<Self, EmulateError> {
        let (packets, bytes) = match *description {
            QueueDescription::Unlimited {} => (None, None),
            QueueDescription::DropTail { limit_packets, limit_bytes }
            | QueueDescription::Codel { limit_packets, limit_bytes, .. }
            | QueueDescription::Red { limit_packets, limit_bytes, .. } => {
                (limit_packets, limit_bytes)
            }
        };
        let zero = |key: &str| EmulateError::OutOfBounds {
            location: format!("{location}: queue.{key}"),
            value: 0.0,
            expected: "a limit above 0; a queue of 0 takes no packet",
        };
        match (packets, bytes) {
            (None, None) => Ok(Self::Nothing),
            (Some(0), None) => Err(zero("limit_packets")),
            (None, Some(0)) => Err(zero("limit_bytes")),
            (Some(packets), None) => Ok(Self::Packets(packets)),
            (None, Some(bytes)) => Ok(Self::Bytes(bytes)),
            (Some(_), Some(_)) => Err(EmulateError::Both {
                location: format!("{location}: queue"),
                first: "limit_packets",
                second: "limit_bytes",
            }),
        }
    }

    /// Whether one more of this length fits, where so many units make a byte.
    #[inline]
    pub(crate) fn takes(self, found: Found, length: u32, per_byte: u64) -> bool {
        match self {
            Self::Nothing => true,
            Self::Packets(limit) => found.packets < limit,
            Self::Bytes(limit) => {
                found.units + u128::from(length) * u128::from(per_byte)
                    <= u128::from(limit) * u128::from(per_byte)
            }
        }
    }
}
