//! Frames of a super-packet: what the wire carried where segmentation offload (TSO, GSO, GRO, LRO)
//! shows one large TCP packet.
//!
//! A TCP payload above the segment size (MSS) of its connection is cut into n = ⌈payload / MSS⌉
//! frames, each with the headers of the super-packet. Everything else passes as it is: TCP packets
//! that no offload makes, of more than [`Unsegment::MOST_FRAMES`] frames, and super-packets of UDP
//! (GSO, as QUIC uses it), in which nothing shows the size of their datagrams. They stay one frame
//! however large, so the bursts of such senders are over- and their packets under-estimated.
//!
//! The MSS is the smaller of the MSS options of both SYNs (of one, if the other was not captured),
//! less the option bytes of the packet itself (RFC 6691). Where no SYN was seen it is the most
//! frequent payload from 536 to 1460 bytes among the direction's packets so far, else 1448; there
//! nothing up to 1460 bytes is cut, and jumbo frames are cut though they were whole.
//!
//! What is known of a connection is kept in a table of fixed size under its flow hash alone. In a
//! capture with more live connections than [`Unsegment::FLOWS`] the one that was silent longest in
//! its part of the table is forgotten; its super-packets are cut like those of a connection without
//! a SYN. Of the payload lengths of a direction the four most frequent are counted, by space saving
//! (Metwally, Agrawal and El Abbadi, ICDT 2005): exact up to four lengths, and a length of more
//! than a quarter of the packets is never missed.

use trustbed_units::{Ns, Rate, Span};
use trustbed_wire::{Bits, Options, Packet, TcpFlags};

use crate::FlowKey;

/// How the frames of a super-packet lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spacing {
    /// All at the time of the super-packet: the largest burst that it can have been.
    #[default]
    Stacked,
    /// One behind the other at the rate of the link, from the time of a sent super-packet on, or up
    /// to the time of a received one. Frames of other packets do not move: what comes out is not in
    /// the order of time where packets are closer than their frames are long.
    Spread {
        /// Rate of the link; 0 stacks.
        rate: Rate,
        /// Bytes that a frame takes on the link beyond those that a capture shows: 24 on Ethernet.
        gap: u32,
    },
}

/// The direction of a super-packet, seen from the capturing host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Not known: its frames are stacked.
    #[default]
    Unknown,
    /// Sent: stamped before its first frame left.
    Sent,
    /// Received: stamped after its last frame had come.
    Received,
}

/// What was cut, and how well it was known where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnsegmentFacts {
    /// Super-packets.
    pub super_packets: u64,
    /// Frames that they became.
    pub frames: u64,
    /// Super-packets whose MSS no SYN stated.
    pub guessed: u64,
    /// Super-packets that were to be spread and were stacked, because their direction is not known.
    pub not_spread: u64,
    /// TCP packets larger than any offload makes them, or of more than
    /// [`Unsegment::MOST_FRAMES`] frames, passed as they are: their lengths cannot be accepted.
    pub too_large: u64,
}

/// Cuts super-packets into frames. Show it the packets of a capture in their order:
/// [`Unsegment::learn`], then [`Unsegment::expand`].
///
/// SYNs and data packets have to be shown to `learn`. `expand` may be left out for packets whose
/// frames are short enough to be trusted.
#[derive(Debug, Clone)]
pub struct Unsegment {
    spacing: Spacing,
    flows: Box<[Flow]>,
    clock: u64,
    facts: UnsegmentFacts,
}

/// What is known of a connection.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    hash: u64,
    /// Value of the clock when a packet of it was seen last; 0 for an empty slot.
    seen: u64,
    /// MSS options of both sides; 0 where there is none.
    mss: [u16; 2],
    /// Payload lengths of both directions, and how often they were seen.
    lengths: [[(u16, u16); LENGTHS]; 2],
}

/// Slots that a flow hash may use: the table is set-associative with so many ways.
const WAYS: usize = 4;
/// Payload lengths that are counted per direction.
const LENGTHS: usize = 4;
/// The largest payload that is taken for one wire segment where no SYN was seen.
const LARGEST_PLAIN: u32 = 1460;
/// The smallest that may be a full segment there (RFC 9293, 3.7.1: the MSS that every host takes);
/// what is shorter ends a message.
const SMALLEST_FULL: u32 = 536;
/// The MSS where no packet shows it: Ethernet, with timestamps.
const USUAL: u32 = 1448;
/// A smaller MSS is not accepted.
const SMALLEST: u32 = 48;
/// Larger packets than this are made by no offload: BIG TCP ends at 512 KiB.
const LARGEST: u32 = 1 << 20;

impl Unsegment {
    /// Connections that are remembered.
    pub const FLOWS: usize = 4096;
    /// Frames of a super-packet: BIG TCP of 512 KiB has fewer at an MSS of 536, and so have 64 KiB
    /// at one of 64.
    pub const MOST_FRAMES: u32 = 1024;

    /// Knows no connection yet.
    pub fn new(spacing: Spacing) -> Self {
        Self {
            spacing,
            flows: vec![Flow::default(); Self::FLOWS].into_boxed_slice(),
            clock: 0,
            facts: UnsegmentFacts::default(),
        }
    }

    /// What was cut so far.
    pub fn facts(&self) -> UnsegmentFacts {
        self.facts
    }

    /// Takes from a packet what it shows about the segment size of its connection. Anything but
    /// SYNs and data of TCP returns at once.
    #[inline]
    pub fn learn(&mut self, packet: &Packet, options: Option<&Options>) {
        let syn = packet.flags.any(TcpFlags::SYN);
        if packet.protocol != 6 || (packet.payload == 0 && !syn) || is_fragment(packet) {
            return;
        }
        let sender = side(packet);
        let flow = self.flow(packet.flow_hash);
        if syn {
            flow.mss[sender] = options.and_then(|o| o.mss).unwrap_or(0);
        } else if flow.mss == [0, 0] {
            vote(&mut flow.lengths[sender], packet.payload);
        }
    }

    /// The payload, in bytes, of every frame but the last of a super-packet; none where the packet
    /// is no super-packet.
    #[inline]
    pub fn segment(&mut self, packet: &Packet) -> Option<u32> {
        let Size { mss, guessed } = self.segment_size(packet)?;
        if packet.payload <= mss {
            return None;
        }
        if packet.payload > mss * Self::MOST_FRAMES {
            self.facts.too_large += 1;
            return None;
        }
        self.facts.guessed += u64::from(guessed);
        Some(mss)
    }

    /// Calls `emit` with time, frame length and IP length (in bytes) of every frame that the packet
    /// was on the wire, and returns how many there were. A packet that is no super-packet is
    /// emitted once, with its own time and lengths.
    #[inline]
    pub fn expand(
        &mut self,
        packet: &Packet,
        direction: Direction,
        mut emit: impl FnMut(Ns, u32, u32),
    ) -> u32 {
        if let Some(mss) = self.segment(packet) {
            return self.cut(packet, mss, direction, emit);
        }
        emit(packet.ts, packet.original_length, ip_length(packet, packet.payload));
        1
    }

    fn cut(
        &mut self,
        packet: &Packet,
        mss: u32,
        direction: Direction,
        mut emit: impl FnMut(Ns, u32, u32),
    ) -> u32 {
        let count = packet.payload.div_ceil(mss);
        let last = packet.payload - (count - 1) * mss;
        let link = packet.original_length.saturating_sub(ip_length(packet, packet.payload));
        let (full_ip, last_ip) = (ip_length(packet, mss), ip_length(packet, last));
        let pace = self.pace(direction);
        for n in 0..count {
            let ip = if n + 1 == count { last_ip } else { full_ip };
            let ts = pace.map_or(packet.ts, |pace| match (direction, count - 1 - n) {
                (Direction::Received, 0) => packet.ts,
                // Ahead of what follows it: full frames, and the last one.
                (Direction::Received, after) => {
                    packet.ts - pace.time(&[(after - 1, link + full_ip), (1, link + last_ip)])
                }
                _ => packet.ts + pace.time(&[(n, link + full_ip)]),
            });
            emit(ts, link + ip, ip);
        }
        self.facts.super_packets += 1;
        self.facts.frames += u64::from(count);
        count
    }

    /// How frames are spaced; none where they are stacked.
    fn pace(&mut self, direction: Direction) -> Option<Pace> {
        let Spacing::Spread { rate, gap } = self.spacing else { return None };
        if direction == Direction::Unknown {
            self.facts.not_spread += 1;
        }
        (direction != Direction::Unknown && rate.0 > 0).then_some(Pace { rate, gap })
    }

    /// The payload of a full frame of the packet's connection; none where the packet cannot be a
    /// super-packet.
    fn segment_size(&mut self, packet: &Packet) -> Option<Size> {
        if packet.protocol != 6
            || packet.payload <= SMALLEST
            || packet.flags.any(TcpFlags::SYN)
            || is_fragment(packet)
        {
            return None;
        }
        if packet.payload > LARGEST {
            self.facts.too_large += 1;
            return None;
        }
        let flow = self.known(packet.flow_hash);
        let offered =
            flow.and_then(|f| f.mss.into_iter().filter(|&mss| mss > 0).min()).map_or(0, u32::from);
        let mss = offered.saturating_sub(option_bytes(packet));
        if mss >= SMALLEST {
            return Some(Size { mss, guessed: false });
        }
        if packet.payload <= LARGEST_PLAIN {
            return None;
        }
        let most = flow.and_then(|f| {
            f.lengths[side(packet)]
                .into_iter()
                .filter(|l| l.1 > 0)
                .max_by_key(|&(length, count)| (count, length))
        });
        let mss = most.map_or(USUAL, |(length, _)| u32::from(length));
        Some(Size { mss, guessed: true })
    }

    /// The slots where a connection may be.
    #[expect(clippy::cast_possible_truncation, reason = "the low bits choose a set")]
    fn set(hash: u64) -> std::ops::Range<usize> {
        let first = hash as usize % (Self::FLOWS / WAYS) * WAYS;
        first..first + WAYS
    }

    fn known(&self, hash: u64) -> Option<Flow> {
        self.flows[Self::set(hash)].iter().find(|f| f.hash == hash && f.seen > 0).copied()
    }

    /// The connection's slot, or that of the one in its set that was silent longest, made empty.
    fn flow(&mut self, hash: u64) -> &mut Flow {
        self.clock += 1;
        let set = &mut self.flows[Self::set(hash)];
        let held = set.iter().position(|f| f.hash == hash && f.seen > 0);
        let at = held.unwrap_or_else(|| (0..WAYS).min_by_key(|&n| set[n].seen).unwrap_or(0));
        if held.is_none() {
            set[at] = Flow { hash, ..Flow::default() };
        }
        set[at].seen = self.clock;
        &mut set[at]
    }
}

/// The payload of a full frame, and whether no SYN stated it.
#[derive(Debug, Clone, Copy)]
struct Size {
    mss: u32,
    guessed: bool,
}

/// How fast frames follow each other.
#[derive(Debug, Clone, Copy)]
struct Pace {
    rate: Rate,
    gap: u32,
}

impl Pace {
    /// The time that frames take on the link: how many, and how long each is in bytes.
    fn time(self, frames: &[(u32, u32)]) -> Span {
        let bytes: u128 = frames
            .iter()
            .map(|&(count, length)| u128::from(count) * (u128::from(length) + u128::from(self.gap)))
            .sum();
        Span(
            i64::try_from(bytes * 8_000_000_000 / u128::from(self.rate.0.max(1)))
                .unwrap_or(i64::MAX),
        )
    }
}

/// Counts a payload length among the most frequent ones.
fn vote(lengths: &mut [(u16, u16); LENGTHS], payload: u32) {
    let Some(length) =
        u16::try_from(payload).ok().filter(|_| (SMALLEST_FULL..=LARGEST_PLAIN).contains(&payload))
    else {
        return;
    };
    let held = lengths.iter().position(|&(l, count)| l == length && count > 0);
    // A newcomer takes the slot, and the count, of the rarest.
    let at = held.unwrap_or_else(|| (0..LENGTHS).min_by_key(|&n| lengths[n].1).unwrap_or(0));
    lengths[at] = (length, lengths[at].1 + 1);
    if lengths[at].1 == u16::MAX {
        for (_, count) in lengths {
            *count /= 2;
        }
    }
}

/// 0 for packets of the lower endpoint, 1 for those of the higher.
fn side(packet: &Packet) -> usize {
    FlowKey::of(packet).1
}

fn is_fragment(packet: &Packet) -> bool {
    packet.bits.any(Bits::FRAGMENT_FIRST | Bits::FRAGMENT_LATER)
}

/// Bytes of IP and TCP options, which the MSS does not count and a full segment leaves out (RFC
/// 6691).
fn option_bytes(packet: &Packet) -> u32 {
    let plain = if packet.bits.any(Bits::IPV6) { 60 } else { 40 };
    u32::from(packet.header_length).saturating_sub(plain)
}

fn ip_length(packet: &Packet, payload: u32) -> u32 {
    u32::from(packet.header_length).saturating_add(payload)
}
