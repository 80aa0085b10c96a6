//! What a network did, in numbers that can be printed.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::counters::Counters;
use crate::histogram::Histogram;
use crate::{Fate, Pipe, Spread};

/// What became of everything that was offered. Offered + copies = delivered + dropped in the pipes + unsent + inside; what was refused
/// is not among the offered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Packets that got in.
    pub offered_packets: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// Packets that were sent on behind their last pipe.
    pub delivered_packets: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Packets that are in the pipes, or asked for and not yet told of.
    pub inside_packets: u64,
    /// Packets that came out and could not be sent on.
    pub unsent_packets: u64,
    /// Packets that did not get in, by reason; reasons that did not occur are not there.
    pub refused: BTreeMap<&'static str, u64>,
    /// How late packets were sent on.
    pub lateness: Lateness,
    /// The pipes, in the order of the topology.
    pub pipes: Vec<PipeSummary>,
}

/// How late packets were sent on, against what was asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lateness {
    /// Packets that it was told of.
    pub packets: u64,
    /// Of these; one sent early counts as 0.
    #[serde(flatten)]
    pub spread: Spread,
    /// Packets that were sent early.
    pub early_packets: u64,
    /// By how much at most.
    pub early_max_ns: u64,
    /// The share late by more than their own longest transmission on the way; nothing where no packet crossed a pipe with a rate.
    pub late_by_more_than_a_packet_time: Option<f64>,
}

/// What a pipe did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PipeSummary {
    /// Its name.
    pub name: String,
    /// Where packets enter.
    pub from: String,
    /// Where they come out.
    pub to: String,
    /// Packets that came.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that came out, copies included.
    pub carried_packets: u64,
    /// Their bytes.
    pub carried_bytes: u64,
    /// Bits sent per second from the first departure to the last; nothing when fewer than two packets were sent.
    pub carried_bits_per_second: Option<f64>,
    /// Packets that did not come out, by cause; causes that did not occur are not there.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Copies that it made.
    pub copies: u64,
    /// Packets that came out behind one that was sent later.
    pub reordered: u64,
    /// Packets that came with a time before their predecessor's, and were moved to it.
    pub moved_forward: u64,
    /// From coming to the beginning of the own transmission.
    pub queue_delay: Spread,
    /// The most packets in the queue, the one being sent included.
    pub deepest_queue_packets: u32,
    /// The most bytes in the queue that were not sent yet, rounded up.
    pub deepest_queue_bytes: u64,
}

/// What is counted while packets are handed over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    late: Histogram,
    early_packets: u64,
    early_max: u64,
    with_rate: u64,
    late_by_a_packet: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn on_done(&mut self, late_ns: i64, packet_time_ns: i64) {
        self.late.add(late_ns.max(0).unsigned_abs());
        if late_ns < 0 {
            self.early_packets += 1;
            self.early_max = self.early_max.max(late_ns.unsigned_abs());
        }
        if packet_time_ns > 0 {
            self.with_rate += 1;
            self.late_by_a_packet += u64::from(late_ns > packet_time_ns);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a share is a float")]
    pub(crate) fn lateness(&self) -> Lateness {
        Lateness {
            packets: self.late.count(),
            spread: self.late.spread(),
            early_packets: self.early_packets,
            early_max_ns: self.early_max,
            late_by_more_than_a_packet_time: (self.with_rate > 0).then(|| self.late_by_a_packet as f64 / self.with_rate as f64),
        }
    }
}

impl PipeSummary {
    pub(crate) fn new(pipe: &Pipe, counters: &Counters) -> Self {
        let dropped =
            Fate::ALL.iter().filter(|fate| **fate != Fate::Passed).map(|fate| (fate.name(), counters.fates[usize::from(fate.code())]));
        Self {
            name: pipe.name.clone(),
            from: pipe.from.clone(),
            to: pipe.to.clone(),
            packets: counters.packets,
            bytes: counters.bytes,
            carried_packets: counters.passed_packets,
            carried_bytes: counters.passed_bytes,
            carried_bits_per_second: counters.sent_bits_per_second(),
            dropped: dropped.filter(|(_, count)| *count > 0).collect(),
            copies: counters.copies,
            reordered: counters.reordered,
            moved_forward: counters.moved_forward,
            queue_delay: counters.waits.spread(),
            deepest_queue_packets: counters.deepest_packets,
            deepest_queue_bytes: counters.deepest_bytes(),
        }
    }
}
