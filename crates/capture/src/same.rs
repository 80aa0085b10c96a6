//! Whether two files hold the same packets: both ends of one transfer, or a file and its copy.
//!
//! Such files must not be merged: every packet would be there twice, half of them late. A packet is
//! recognised by its addresses, ports, sequence and acknowledgement numbers and timestamps; the
//! payload length and the flags are left out, because offloading makes super-packets of several
//! segments at one end. Bias: files of which only the beginnings overlap less than [`SHARE`] are
//! merged; address translation between the ends hides that the packets are the same.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use trustbed_wire::{Bits, Packet, TcpFlags};

/// Packets per file that are looked at, at most.
pub(crate) const RECORDS: usize = 20_000;

/// Bytes per file that are looked at, at most.
pub(crate) const BYTES: usize = 4 * 1024 * 1024;

/// Marks kept for all files together, at most: many files get fewer each.
const MARKS: usize = 1_000_000;

/// Fewer packets in common are chance or a retransmission across the border of two rotated files.
const LEAST: usize = 10;

/// The share of the smaller file's packets that must be in the other one too.
const SHARE: f64 = 0.3;

/// The evidence that two files hold the same packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) first: usize,
    pub(crate) second: usize,
    pub(crate) common: usize,
    pub(crate) compared: usize,
}

/// Remembers the packets of the files added so far.
#[derive(Debug)]
pub(crate) struct Recogniser {
    /// The last file that had a packet.
    seen: HashMap<u64, usize>,
    sizes: Vec<usize>,
    per_file: usize,
}

impl Recogniser {
    pub(crate) fn new(files: usize) -> Self {
        let per_file = (MARKS / files.max(1)).clamp(LEAST * 10, RECORDS);
        Self { seen: HashMap::new(), sizes: Vec::new(), per_file }
    }

    /// Adds the next file; returns which earlier one holds the same packets.
    pub(crate) fn add(&mut self, packets: &[Packet]) -> Option<Match> {
        let second = self.sizes.len();
        let mut common = vec![0_usize; second];
        let mut size = 0;
        for mark in packets.iter().filter_map(mark).take(self.per_file) {
            match self.seen.insert(mark, second) {
                Some(file) if file == second => {}
                Some(file) => {
                    common[file] += 1;
                    size += 1;
                }
                None => size += 1,
            }
        }
        let sizes = &self.sizes;
        let found = common.iter().enumerate().map(|(first, common)| Match {
            first,
            second,
            common: *common,
            compared: size.min(sizes[first]),
        });
        let found = found.filter(Match::is_same).max_by_key(|found| found.common);
        self.sizes.push(size);
        found
    }
}

impl Match {
    #[expect(clippy::cast_precision_loss, reason = "counts of thousands")]
    fn is_same(&self) -> bool {
        self.common >= LEAST && self.common as f64 >= SHARE * self.compared as f64
    }
}

/// What identifies a packet at both ends. Packets that may look the same at different times have no
/// mark: SYNs, probes of one byte, and ACKs without a timestamp.
fn mark(packet: &Packet) -> Option<u64> {
    let stamped = packet.bits.any(Bits::TIMESTAMP);
    let telling = packet.payload > 1 || (packet.payload == 0 && stamped);
    let first_or_whole = !packet.bits.any(Bits::FRAGMENT_LATER);
    if packet.protocol != 6 || packet.flags.any(TcpFlags::SYN) || !telling || !first_or_whole {
        return None;
    }
    // The default hasher has fixed keys: what is recognised is the same in every run.
    let mut hasher = DefaultHasher::new();
    (packet.source, packet.destination, packet.source_port, packet.destination_port)
        .hash(&mut hasher);
    (packet.seq, packet.ack, packet.payload == 0).hash(&mut hasher);
    if stamped {
        (packet.tsval, packet.tsecr).hash(&mut hasher);
    }
    Some(hasher.finish())
}
