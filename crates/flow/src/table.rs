//! The connection table: which instance a packet belongs to, when an instance ends, and what
//! happens when there are too many.
//!
//! Ends: RST, both FINs, 600 s of silence (60 s for datagrams), a successor on the same key, the
//! end of the capture, or eviction when the table is full. Every decision depends on the packets of
//! this table alone, so that a capture cut into tables by flow hash gives the same result for any
//! number of workers.

use std::collections::VecDeque;
use std::hint::black_box;
use std::iter::Sum;

use hashbrown::HashTable;
use trustbed_units::{Ns, Span};
use trustbed_wire::{Options, Packet};

use crate::connection::{Sight, bare_weight};
use crate::key::mixed;
use crate::slots::Slots;
use crate::{Ack, Connection, FlowKey, Retransmission, Segment, State};

/// What measures transfers while a [`Table`] runs.
///
/// For each direction with payload: `begin` at the first data packet, then `on_data` for every data
/// packet (the first included) and `on_ack` for every packet of the receiver (of SYNs only those
/// that acknowledge data, marked by [`Ack::opening`]), in capture order; at last `ended` with the
/// connection.
pub trait Observer {
    /// State kept per transfer.
    type Transfer;

    /// A direction's first data packet.
    fn begin(&mut self, sight: &Sight<'_>, segment: &Segment) -> Self::Transfer;
    /// A data packet. `echoed`: time since the receiver's pure ACK that it echoes.
    fn on_data(
        &mut self,
        transfer: &mut Self::Transfer,
        sight: &Sight<'_>,
        segment: &Segment,
        echoed: Option<Span>,
    );
    /// A packet from the receiver of the data. Where [`Ack::opening`] is set, only its round-trip
    /// sample means anything.
    fn on_ack(&mut self, transfer: &mut Self::Transfer, sight: &Sight<'_>, ack: &Ack);
    /// A DSACK declares a retransmission unnecessary; the packet that carries it follows as
    /// `on_ack`.
    fn on_disproved(
        &mut self,
        transfer: &mut Self::Transfer,
        sight: &Sight<'_>,
        retransmission: &Retransmission,
    );
    /// The capture clock stepped back.
    fn on_clock_step(&mut self, transfer: &mut Self::Transfer);
    /// The smoothed round-trip time, for distinguishing tail-loss probes from timeouts.
    fn srtt(transfer: &Self::Transfer) -> Option<Span>;
    /// Bytes of a transfer, those on the heap included.
    fn held_bytes(transfer: &Self::Transfer) -> usize;
    /// Reads something of what every packet needs, and returns it, so that nobody can leave it out.
    fn touch(transfer: &Self::Transfer) -> u64;
    /// Whether packets captured twice are dropped.
    fn removes_duplicates(&self) -> bool;
    /// Whether what it is told of a connection may come later than packets of others, at the
    /// latest before the connection ends.
    fn has_time(&self) -> bool {
        false
    }
    /// What follows until the connection ends are its transfers from beginning to end, of no more
    /// than so many bytes together.
    fn will_end(&mut self, _bytes: u64) {}
    /// A connection left the table. `at_index`: the packet at which it left (`u64::MAX` at the end
    /// of the capture).
    fn ended(&mut self, connection: Connection<Self::Transfer>, evicted: bool, at_index: u64);
}

/// How long and how much a table remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Silence that ends a TCP connection.
    pub idle: Span,
    /// Silence that ends a flow of datagrams.
    pub idle_datagrams: Span,
    /// How long a closed connection stays to take late packets.
    pub linger: Span,
    /// Closed connections that stay at most.
    pub lingering: usize,
    /// Connections at most.
    pub connections: usize,
    /// Bytes of connection state at most. They are counted now and then, so a table may exceed this
    /// by what its connections took since; a connection alone in its table is never given up.
    pub bytes: u64,
    /// Packets of a connection that wait at most before the first are measured. No result depends
    /// on it.
    pub waiting: usize,
    /// What only this run knows: it chooses where a table keeps a connection, so that nobody can
    /// make a capture whose connections are all kept in one spot. No result depends on it.
    pub hash_secret: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            idle: Span::from_secs(600),
            idle_datagrams: Span::from_secs(60),
            linger: Span::from_secs(10),
            lingering: 128,
            connections: 1 << 13,
            bytes: 1 << 24,
            waiting: 2048,
            hash_secret: 0,
        }
    }
}

/// What a table did besides measuring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableFacts {
    /// Connections thrown out because the table was full, or too many shared a flow hash.
    pub evicted: u64,
    /// Most connections held at once.
    pub most: u64,
    /// Slots looked at in searches for silent connections: no more than packets.
    pub searched: u64,
}

impl Sum for TableFacts {
    fn sum<I: Iterator<Item = Self>>(facts: I) -> Self {
        facts.fold(Self::default(), |a, b| Self {
            evicted: a.evicted + b.evicted,
            most: a.most + b.most,
            searched: a.searched + b.searched,
        })
    }
}

/// Connections by key.
#[derive(Debug)]
pub struct Table<O: Observer> {
    limits: Limits,
    by_key: HashTable<u32>,
    chunks: Vec<Vec<Option<Connection<O::Transfer>>>>,
    /// Slots that hold a connection, and those that held one.
    held: Slots,
    free: Vec<u32>,
    lingering: VecDeque<(u32, u64, Ns)>,
    swept: Ns,
    /// Packets since then.
    unswept: usize,
    hand: u32,
    facts: TableFacts,
    /// Bytes of the connections held, as far as they were counted.
    bytes: u64,
    /// What is left when the capture is over.
    rest: Option<Rest>,
}

/// What is left of a table when the capture is over.
#[derive(Debug)]
struct Rest {
    /// First packet and slot, latest first.
    connections: Vec<(u64, u32)>,
    /// How many of them each chunk of the slab holds.
    in_chunk: Vec<usize>,
}

impl Rest {
    fn of<T>(chunks: &[Vec<Option<Connection<T>>>]) -> Self {
        let slots = (0_u32..).zip(chunks.iter().flatten());
        let mut connections: Vec<_> =
            slots.filter_map(|(slot, held)| held.as_ref().map(|c| (c.first_index, slot))).collect();
        connections.sort_unstable_by_key(|&(first_index, _)| std::cmp::Reverse(first_index));
        let in_chunk = chunks.iter().map(|chunk| chunk.iter().flatten().count()).collect();
        Self { connections, in_chunk }
    }
}

/// Connections of a table that do not outgrow the cache together with those of the other tables.
const CACHED: usize = 32;
/// Connections per chunk of the slab: it grows without moving what it holds.
const CHUNK: usize = 64;
/// Capture time between two searches for silent connections, of which there is at most one per as
/// many packets as there are slots: times that jump back and forth cost a step a packet.
const SWEEP: Span = Span::from_secs(60);
/// Connections that share a flow hash at most: as many as are compared to find one of them. By
/// chance not even two of a table do.
const ALIKE: usize = 8;
/// Connections looked at for a victim before the least recently active of them goes.
const LOOKED_AT: usize = 64;

impl<O: Observer> Table<O> {
    /// An empty table.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            by_key: HashTable::new(),
            chunks: Vec::new(),
            held: Slots::default(),
            free: Vec::new(),
            lingering: VecDeque::new(),
            swept: Ns::MIN,
            unswept: 0,
            hand: 0,
            facts: TableFacts::default(),
            bytes: 0,
            rest: None,
        }
    }

    /// What the table did.
    pub fn facts(&self) -> TableFacts {
        self.facts
    }

    /// Bytes of connection state held now, as far as they were counted.
    pub fn held_bytes(&self) -> u64 {
        self.bytes
    }

    /// Connections held now.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether the table holds nothing.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Reads what [`Table::on_packet`] will read of the packet's connection, so that it is in the
    /// cache by then. A small table is in there anyway.
    #[inline]
    pub fn touch(&self, packet: &Packet, epoch: u32, observer: &O) {
        if self.by_key.len() < CACHED {
            return;
        }
        let hash = mixed(packet.flow_hash, self.limits.hash_secret);
        // The first whose tag fits, unseen: nearly always it is the one.
        let Some(&slot) = self.by_key.find(hash, |_| true) else { return };
        if let Some(connection) = self.get(slot) {
            if observer.has_time()
                && connection.may_wait(packet, epoch)
                && !connection.is_full(self.limits.waiting)
            {
                black_box(connection.touch_waiting());
                return;
            }
            black_box(connection.touch());
            for transfer in connection.transfers.iter().flatten() {
                black_box(O::touch(transfer));
            }
        }
    }

    /// Takes a packet. `epoch` counts the backward steps of the capture clock so far. Returns
    /// whether the responder of its connection sent it, as far as is known by now.
    #[inline]
    pub fn on_packet(
        &mut self,
        packet: &Packet,
        options: Option<&Options>,
        epoch: u32,
        observer: &mut O,
    ) -> bool {
        self.unswept += 1;
        if (packet.ts - self.swept >= SWEEP || packet.ts < self.swept)
            && self.unswept >= self.slots()
        {
            self.sweep(packet, observer);
        }
        while let Some(&(slot, first_index, over)) = self.lingering.front()
            && packet.ts - over >= self.limits.linger
        {
            self.lingering.pop_front();
            self.remove_if(slot, first_index, packet.index, observer);
        }
        let (key, direction) = FlowKey::of(packet);
        let slot = match self.find(&key, packet.flow_hash) {
            Ok(slot) if self.is_old(slot, packet, direction) => {
                self.replace(slot, packet, &key, direction, epoch, observer);
                slot
            }
            Ok(slot) => slot,
            Err(alike) => {
                if alike >= ALIKE {
                    self.evict_alike(packet, observer);
                }
                self.add(packet, &key, direction, epoch, observer)
            }
        };
        let crowded = self.by_key.len() >= CACHED;
        let Some(connection) = self.chunks[slot as usize / CHUNK][slot as usize % CHUNK].as_mut()
        else {
            return false;
        };
        if crowded
            && observer.has_time()
            && connection.may_wait(packet, epoch)
            && !connection.is_full(self.limits.waiting)
            && let Some(state) = connection.state_after(packet, direction)
        {
            let by_responder = direction != connection.initiator_direction();
            let ends = !connection.is_over() && state.is_over();
            let first_index = connection.first_index;
            self.bytes += u64::from(connection.wait(packet, options, direction, state));
            self.evict_excess(packet.index, slot, observer);
            if ends {
                self.linger(slot, first_index, packet, observer);
            }
            return by_responder;
        }
        let (free, mut weigh) = connection.catch_up(observer);
        self.bytes -= u64::from(free);
        if connection.epoch != epoch {
            connection.on_clock_step(epoch, observer);
        }
        if key.protocol != 6 {
            connection.on_datagram(packet, direction);
            let by_responder = direction != connection.initiator_direction();
            self.evict_excess(packet.index, slot, observer);
            return by_responder;
        }
        let over = connection.is_over();
        connection.on_segment(packet, options, direction, observer);
        let by_responder = direction != connection.initiator_direction();
        let ends = !over && connection.is_over();
        let first_index = connection.first_index;
        weigh |= connection.is_to_be_weighed();
        if weigh {
            let transfers: usize =
                connection.transfers.iter().flatten().map(|held| O::held_bytes(held)).sum();
            let (before, now) = connection.weigh(transfers);
            self.bytes = self.bytes - u64::from(before) + u64::from(now);
            self.evict_excess(packet.index, slot, observer);
        }
        if ends {
            self.linger(slot, first_index, packet, observer);
        }
        by_responder
    }

    /// The capture is over: every connection ends.
    pub fn finish(&mut self, observer: &mut O) {
        self.finish_before(u64::MAX, observer);
    }

    /// The capture is over: every connection whose first packet has an index below `bound` ends, in
    /// that order. Called with rising bounds, it lets the owner put rows away in between. No packet
    /// may follow.
    pub fn finish_before(&mut self, bound: u64, observer: &mut O) {
        let chunks = &mut self.chunks;
        let rest = self.rest.get_or_insert_with(|| {
            self.by_key = HashTable::new();
            self.free = Vec::new();
            self.lingering = VecDeque::new();
            Rest::of(chunks)
        });
        while let Some(&(first_index, slot)) = rest.connections.last()
            && first_index < bound
        {
            rest.connections.pop();
            let chunk = slot as usize / CHUNK;
            if let Some(connection) = chunks[chunk][slot as usize % CHUNK].take() {
                end(connection, false, u64::MAX, observer);
            }
            rest.in_chunk[chunk] -= 1;
            if rest.in_chunk[chunk] == 0 {
                chunks[chunk] = Vec::new();
            }
        }
    }

    /// The connection's slot, or how many others share its flow hash.
    #[inline]
    fn find(&self, key: &FlowKey, hash: u64) -> Result<u32, usize> {
        let mut alike = 0;
        let is_it = |&slot: &u32| {
            self.get(slot).is_some_and(|connection| {
                let shares = connection.hash == hash;
                let is_it = shares && connection.key == *key;
                alike += usize::from(shares && !is_it);
                is_it
            })
        };
        let found = self.by_key.find(mixed(hash, self.limits.hash_secret), is_it).copied();
        found.ok_or(alike)
    }

    #[inline]
    fn get(&self, slot: u32) -> Option<&Connection<O::Transfer>> {
        self.chunks.get(slot as usize / CHUNK)?.get(slot as usize % CHUNK)?.as_ref()
    }

    #[inline]
    fn is_old(&self, slot: u32, packet: &Packet, direction: usize) -> bool {
        self.get(slot).is_some_and(|connection| {
            let silence = packet.ts - connection.last;
            silence >= self.idle_limit(connection.state)
                || (packet.protocol == 6 && connection.is_succeeded_by(packet, direction, silence))
        })
    }

    fn idle_limit(&self, state: State) -> Span {
        if state == State::Datagrams { self.limits.idle_datagrams } else { self.limits.idle }
    }

    fn add(
        &mut self,
        packet: &Packet,
        key: &FlowKey,
        direction: usize,
        epoch: u32,
        observer: &mut O,
    ) -> u32 {
        if self.by_key.len() >= self.limits.connections {
            self.evict(packet.index, None, observer);
        }
        let connection = Connection::new(packet, *key, direction, epoch);
        self.bytes += u64::from(bare_weight::<O::Transfer>());
        let slot = self.free.pop().unwrap_or_else(|| self.grow());
        self.chunks[slot as usize / CHUNK][slot as usize % CHUNK] = Some(connection);
        self.held.insert(slot);
        let (chunks, secret) = (&self.chunks, self.limits.hash_secret);
        self.by_key.insert_unique(mixed(packet.flow_hash, secret), slot, |&slot| {
            mixed(hash_of(chunks, slot), secret)
        });
        self.facts.most = self.facts.most.max(self.by_key.len() as u64);
        slot
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the table is capped far below 2³² connections"
    )]
    fn grow(&mut self) -> u32 {
        if self.chunks.last().is_none_or(|c| c.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let chunk = self.chunks.len() - 1;
        self.chunks[chunk].push(None);
        (chunk * CHUNK + self.chunks[chunk].len() - 1) as u32
    }

    fn replace(
        &mut self,
        slot: u32,
        packet: &Packet,
        key: &FlowKey,
        direction: usize,
        epoch: u32,
        observer: &mut O,
    ) {
        let entry = &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK];
        if let Some(old) = entry.replace(Connection::new(packet, *key, direction, epoch)) {
            self.bytes -= u64::from(old.weight);
            self.bytes += u64::from(bare_weight::<O::Transfer>());
            end(old, false, packet.index, observer);
        }
    }

    fn linger(&mut self, slot: u32, first_index: u64, packet: &Packet, observer: &mut O) {
        self.lingering.push_back((slot, first_index, packet.ts));
        if self.lingering.len() > self.limits.lingering
            && let Some((slot, first_index, _)) = self.lingering.pop_front()
        {
            self.remove_if(slot, first_index, packet.index, observer);
        }
    }

    /// Removes the connection in `slot` if it is still the instance that began with `first_index`.
    fn remove_if(&mut self, slot: u32, first_index: u64, at_index: u64, observer: &mut O) {
        if self.get(slot).is_some_and(|c| c.first_index == first_index) {
            self.remove(slot, false, at_index, observer);
        }
    }

    fn remove(&mut self, slot: u32, evicted: bool, at_index: u64, observer: &mut O) {
        let hash = mixed(hash_of(&self.chunks, slot), self.limits.hash_secret);
        if let Ok(entry) = self.by_key.find_entry(hash, |&s| s == slot) {
            entry.remove();
        }
        if let Some(connection) = self.chunks[slot as usize / CHUNK][slot as usize % CHUNK].take() {
            self.held.remove(slot);
            self.free.push(slot);
            self.bytes -= u64::from(connection.weight);
            end(connection, evicted, at_index, observer);
        }
    }

    /// Slots that hold a connection, or held one.
    #[inline]
    fn slots(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    fn sweep(&mut self, packet: &Packet, observer: &mut O) {
        self.swept = packet.ts;
        self.unswept = 0;
        self.facts.searched += self.slots() as u64;
        let mut silent = Vec::new();
        for (n, entry) in self.chunks.iter().flatten().enumerate() {
            if let Some(connection) = entry
                && packet.ts - connection.last >= self.idle_limit(connection.state)
            {
                silent.push((connection.first_index, n));
            }
        }
        silent.sort_unstable();
        for (_, slot) in silent {
            if let Ok(slot) = u32::try_from(slot) {
                self.remove(slot, false, packet.index, observer);
            }
        }
    }

    /// Makes room where too many bytes are held; the connection in slot `spared` stays.
    #[inline]
    fn evict_excess(&mut self, at_index: u64, spared: u32, observer: &mut O) {
        while self.bytes > self.limits.bytes && self.evict(at_index, Some(spared), observer) {}
    }

    /// Makes room: the first half-open connection that the hand meets goes, else the one of those
    /// met that was silent longest; never the `spared` one. False where there is no other. The hand
    /// stays where it was when it has met all.
    fn evict(&mut self, at_index: u64, spared: Option<u32>, observer: &mut O) -> bool {
        let mut victim: Option<(Ns, u32)> = None;
        let mut hand = self.hand;
        let others = self.held.behind(hand).filter(|&slot| spared != Some(slot));
        for (slot, met) in others.zip(1..) {
            let Some(connection) = self.get(slot) else { continue };
            if connection.is_half_open() {
                (victim, hand) = (Some((connection.last, slot)), slot);
                break;
            }
            if victim.is_none_or(|(last, _)| connection.last < last) {
                victim = Some((connection.last, slot));
            }
            if met >= LOOKED_AT {
                hand = slot;
                break;
            }
        }
        self.hand = hand;
        let Some((_, slot)) = victim else { return false };
        self.facts.evicted += 1;
        self.remove(slot, true, at_index, observer);
        true
    }

    /// Makes room among the connections with the packet's flow hash: the one that was silent
    /// longest goes.
    fn evict_alike(&mut self, packet: &Packet, observer: &mut O) {
        let alike = self
            .by_key
            .iter_hash(mixed(packet.flow_hash, self.limits.hash_secret))
            .filter_map(|&slot| self.get(slot).map(|connection| (connection, slot)))
            .filter(|(connection, _)| connection.hash == packet.flow_hash);
        let victim = alike.min_by_key(|(connection, _)| (connection.last, connection.first_index));
        if let Some((_, slot)) = victim {
            self.facts.evicted += 1;
            self.remove(slot, true, packet.index, observer);
        }
    }
}

/// The connection is over: what still waits is measured, and the observer has it.
fn end<O: Observer>(
    mut connection: Connection<O::Transfer>,
    evicted: bool,
    at_index: u64,
    observer: &mut O,
) {
    if let Some(bytes) = connection.unmeasured_bytes() {
        observer.will_end(bytes);
    }
    connection.catch_up(observer);
    observer.ended(connection, evicted, at_index);
}

fn hash_of<T>(chunks: &[Vec<Option<Connection<T>>>], slot: u32) -> u64 {
    chunks[slot as usize / CHUNK][slot as usize % CHUNK].as_ref().map_or(0, |c| c.hash)
}
