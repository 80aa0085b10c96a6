//! The analysis of a whole capture, cut into a fixed number of shards by flow hash.
//!
//! A shard is a connection table with its observer and sees only its own packets, so its rows do
//! not depend on what other shards do nor on how many workers share them. Rows are put in order by
//! the packet at which they came to be.

use trustbed_flow::{Limits, Table, TableFacts};
use trustbed_units::Ns;
use trustbed_wire::{Batch, Packet};

use crate::meter::{Ended, Meter, Options};
use crate::samples::Samples;

/// Shards, whatever the number of workers.
pub const SHARDS: usize = 64;

/// The shard of a flow.
#[inline]
pub fn shard_of(flow_hash: u64) -> usize {
    // The low bits choose the bucket inside a table, the highest ones its tag: these are in
    // between.
    (flow_hash >> 40) as usize % SHARDS
}

/// A set of shards: all of them, or one worker's.
#[derive(Debug)]
pub struct Shards {
    tables: Vec<Table<Meter>>,
    meter: Meter,
    /// Packets since the last query, if they are collected.
    crossings: Option<Vec<Crossing>>,
    worker: usize,
    workers: usize,
    /// Highest index of a packet that was seen, by whichever worker.
    highest: u64,
    /// Below this index everything has ended.
    finished: u64,
}

/// Packets whose connections are looked up together.
const TOGETHER: usize = 16;
/// Indices of packets whose connections end together when the capture is over.
const PART: u64 = 1 << 14;

/// What came to be since the last query.
#[derive(Debug, Default)]
pub struct Rows {
    /// Connections that ended.
    pub ended: Vec<Ended>,
    /// Rows of the per-packet tables.
    pub samples: Samples,
    /// Packets that crossed the capture point, with [`Options::crossings`].
    pub crossings: Vec<Crossing>,
}

/// A packet at the capture point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// When it was seen.
    pub ts: Ns,
    /// Its index.
    pub index: u64,
    /// Bytes of the IP packet, its header included.
    pub length: u32,
    /// The responder of its connection sent it, as far as was known by then.
    pub by_responder: bool,
}

impl Crossing {
    const fn of(packet: &Packet, by_responder: bool) -> Self {
        let length = packet.payload.saturating_add(packet.header_length as u32);
        Self { ts: packet.ts, index: packet.index, length, by_responder }
    }
}

impl Shards {
    /// The shards of worker `worker` of `workers`.
    pub fn new(options: Options, limits: Limits, worker: usize, workers: usize) -> Self {
        let own = (0..SHARDS).filter(|shard| shard % workers == worker).count();
        Self {
            tables: (0..own).map(|_| Table::new(limits)).collect(),
            meter: Meter::new(options),
            crossings: options.crossings.then(Vec::new),
            worker,
            workers,
            highest: 0,
            finished: 0,
        }
    }

    /// Takes packets in order; those of other workers' shards are passed over.
    pub fn on_batch(&mut self, batch: &Batch, epoch: u32) {
        for group in batch.packets.chunks(TOGETHER) {
            self.touch(group, epoch);
            self.on_group(batch, group, epoch);
        }
    }

    /// Reads what a few packets will need: where it is not in the cache, the processor waits for
    /// all of it at once instead of packet by packet.
    #[inline]
    fn touch(&self, group: &[Packet], epoch: u32) {
        for packet in group {
            if let Some(table) = self.table_of(packet.flow_hash).and_then(|at| self.tables.get(at))
            {
                table.touch(packet, epoch, &self.meter);
            }
        }
    }

    #[inline]
    fn on_group(&mut self, batch: &Batch, group: &[Packet], epoch: u32) {
        for packet in group {
            self.highest = self.highest.max(packet.index);
            if let Some(table) =
                self.table_of(packet.flow_hash).and_then(|at| self.tables.get_mut(at))
            {
                let options = batch.options_of(packet);
                let by_responder = table.on_packet(packet, options, epoch, &mut self.meter);
                if let Some(crossings) = &mut self.crossings {
                    crossings.push(Crossing::of(packet, by_responder));
                }
            }
        }
    }

    /// This worker's table for a flow, if the flow is this worker's.
    #[inline]
    fn table_of(&self, flow_hash: u64) -> Option<usize> {
        let shard = shard_of(flow_hash);
        if self.workers == 1 {
            return Some(shard);
        }
        (shard % self.workers == self.worker).then_some(shard / self.workers)
    }

    /// The capture is over: everything ends.
    pub fn finish(&mut self) {
        while self.finish_part() {}
    }

    /// The capture is over: the next part of what is left ends, in the order of the first packets.
    /// False when nothing is left. All workers need the same number of parts.
    pub fn finish_part(&mut self) -> bool {
        let bound = self.finished.saturating_add(PART);
        for table in &mut self.tables {
            table.finish_before(bound, &mut self.meter);
        }
        self.finished = bound;
        bound <= self.highest
    }

    /// Takes what came to be.
    pub fn take(&mut self) -> Rows {
        Rows {
            ended: std::mem::take(&mut self.meter.ended),
            samples: self.meter.samples.as_mut().map(std::mem::take).unwrap_or_default(),
            crossings: self.crossings.as_mut().map(std::mem::take).unwrap_or_default(),
        }
    }

    /// What the tables did.
    pub fn facts(&self) -> TableFacts {
        self.tables.iter().map(Table::facts).sum()
    }
}

impl Rows {
    /// Joins the rows that several workers made of the same packets, and puts them in order.
    pub fn join(parts: Vec<Self>) -> Self {
        let mut all = Self::default();
        for mut part in parts {
            all.ended.append(&mut part.ended);
            all.samples.rtt.append(&mut part.samples.rtt);
            all.samples.spacing.append(&mut part.samples.spacing);
            all.samples.segments.append(&mut part.samples.segments);
            all.crossings.append(&mut part.crossings);
        }
        all.ended.sort_by_key(|e| (e.at_index, e.connection.connection));
        all.samples.rtt.sort_by_key(|r| (r.index, r.transfer, r.kind as u8));
        all.samples.spacing.sort_by_key(|r| r.index);
        all.samples.segments.sort_by_key(|r| r.index);
        all.crossings.sort_by_key(|c| (c.ts, c.index));
        all
    }
}
