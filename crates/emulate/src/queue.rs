//! What waits in front of the rate, and how much may.
//!
//! The packet being sent counts: as one packet, and with those of its bytes that are not sent yet (in front of a trace or a
//! shaper: with all of them). Real
//! queues often count it not at all, and hold one packet more.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use trustbed_units::Ns;

use crate::codel::Codel;
use crate::red::Red;
use crate::sender::Sender;
use crate::{EmulateError, Fate, QueueDescription};

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

/// Who decides what is dropped, apart from the limit.
#[derive(Debug, Clone)]
pub(crate) enum Discipline<T> {
    /// Nobody: when a packet comes, its departure is known.
    Tail,
    /// When a packet comes.
    Red(Box<Red>),
    /// When a packet is about to be sent; until then it waits here.
    Codel(Box<Codel>, Line<T>),
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
    fn new(packets: Option<u32>, bytes: Option<u64>, place: &str) -> Result<Self, EmulateError> {
        let zero = |key: &str| EmulateError::OutOfBounds {
            place: format!("{place}: queue.{key}"),
            value: 0.0,
            wanted: "a limit above 0; a queue of 0 takes no packet",
        };
        match (packets, bytes) {
            (None, None) => Ok(Self::Nothing),
            (Some(0), None) => Err(zero("limit_packets")),
            (None, Some(0)) => Err(zero("limit_bytes")),
            (Some(packets), None) => Ok(Self::Packets(packets)),
            (None, Some(bytes)) => Ok(Self::Bytes(bytes)),
            (Some(_), Some(_)) => Err(EmulateError::Both {
                place: format!("{place}: queue"),
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

impl<T> Discipline<T> {
    /// The discipline and its limit.
    pub(crate) fn new(
        description: Option<&QueueDescription>,
        sender: &Sender,
        random: ChaCha8Rng,
        place: &str,
    ) -> Result<(Self, Limit), EmulateError> {
        match description {
            None | Some(QueueDescription::Unlimited {}) => Ok((Self::Tail, Limit::Nothing)),
            Some(QueueDescription::DropTail { limit_packets, limit_bytes }) => {
                match Limit::new(*limit_packets, *limit_bytes, place)? {
                    Limit::Nothing => {
                        Err(EmulateError::NoLimit { place: format!("{place}: queue") })
                    }
                    limit => Ok((Self::Tail, limit)),
                }
            }
            Some(QueueDescription::Codel {
                target_ns,
                interval_ns,
                mtu_bytes,
                limit_packets,
                limit_bytes,
            }) => {
                let codel = Codel::new(*target_ns, *interval_ns, *mtu_bytes, place)?;
                Ok((
                    Self::Codel(Box::new(codel), Line::new()),
                    Limit::new(*limit_packets, *limit_bytes, place)?,
                ))
            }
            Some(red @ QueueDescription::Red { limit_packets, limit_bytes, .. }) => {
                let limit = Limit::new(*limit_packets, *limit_bytes, place)?;
                Ok((
                    Red::new(red, sender, random, place)?
                        .map_or(Self::Tail, |red| Self::Red(Box::new(red))),
                    limit,
                ))
            }
        }
    }

    /// Whether a packet is dropped as it comes, whatever the limit says.
    #[inline]
    pub(crate) fn drops(&mut self, now: Ns, found: Found, idle_since: Option<Ns>) -> Option<Fate> {
        match self {
            Self::Red(red) => red.drops(now, found.packets, idle_since).then_some(Fate::RedDrop),
            Self::Tail | Self::Codel(..) => None,
        }
    }
}
