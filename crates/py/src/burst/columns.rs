//! Where the columns of a capture wait until they have been measured: times, lengths and, when
//! a caller requests to know whose or which packets they are, marks.
//!
//! The first 64 MiB stay in memory, the rest goes to an unnamed temporary file, 12 bytes a packet
//! (20 with marks), and is read back block by block as often as needed. So a capture is read once,
//! a pipe can be measured like a file, and memory is bounded.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use trustbed_burst::Packets;

use super::Fault;

/// Packets kept in memory: some 5 million.
const IN_MEMORY: usize = (64 << 20) / 12;

/// What is remembered of a packet beside its time and length: its stream in the lower half, the
/// number of its record in the upper one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark(pub(super) u64);

impl Mark {
    /// The mark of the packet of a record, counted from 1. Records beyond 4 294 967 295 have no
    /// number.
    pub(super) fn new(stream: u32, record: u64) -> Self {
        Self(u64::from(u32::try_from(record).unwrap_or(0)) << 32 | u64::from(stream))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    pub(super) const fn stream(self) -> u32 {
        self.0 as u32
    }

    /// The number of the record; 0: it has none.
    pub(super) const fn record(self) -> u64 {
        self.0 >> 32
    }
}

/// Shown packets and their marks.
pub(super) type See<'a> = dyn FnMut(Packets<'_>, &[Mark]) -> Result<(), Fault> + 'a;

/// Packets in order of time.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// Whether every packet has a mark.
    marked: bool,
    memory: Vec<Block>,
    kept: usize,
    file: Option<File>,
    written: u64,
    /// Where each further block begins in the file, and how many packets it has.
    offsets: Vec<(u64, usize)>,
    scratch: Vec<u8>,
    packets: u64,
    ends: Option<(i64, i64)>,
}

/// Some packets, as they are read.
#[derive(Debug, Default)]
struct Block {
    times: Vec<i64>,
    lengths: Vec<u32>,
    marks: Vec<Mark>,
}

/// Room to read blocks into.
#[derive(Debug, Default)]
pub(super) struct Desk {
    bytes: Vec<u8>,
    read: Block,
    chosen: Block,
}

impl Columns {
    pub(super) fn new(marked: bool) -> Self {
        Self { marked, ..Self::default() }
    }

    /// Appends a block of packets that follow those that are here.
    pub(super) fn push(&mut self, times: &[i64], lengths: &[u32], marks: &[u64]) -> io::Result<()> {
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return Ok(()) };
        self.packets += times.len() as u64;
        self.ends = Some((self.ends.map_or(*first, |ends| ends.0), *last));
        if self.kept + times.len() <= IN_MEMORY {
            let marks =
                if self.marked { marks.iter().copied().map(Mark).collect() } else { Vec::new() };
            self.memory.push(Block { times: times.to_vec(), lengths: lengths.to_vec(), marks });
            self.kept += times.len();
            return Ok(());
        }
        // From here on everything goes to the file, so that blocks stay in order.
        self.kept = IN_MEMORY;
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        self.scratch.clear();
        self.scratch.extend(times.iter().flat_map(|time| time.to_le_bytes()));
        self.scratch.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
        if self.marked {
            self.scratch.extend(marks.iter().flat_map(|mark| mark.to_le_bytes()));
        }
        file.write_all(&self.scratch)?;
        self.offsets.push((self.written, times.len()));
        self.written += self.scratch.len() as u64;
        Ok(())
    }

    /// How many packets there are.
    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    /// The times of the first and the last packet.
    pub(super) const fn ends(&self) -> Option<(i64, i64)> {
        self.ends
    }

    /// How many blocks there are.
    pub(super) fn blocks(&self) -> usize {
        self.memory.len() + self.offsets.len()
    }

    /// Shows the packets of some blocks with their marks, if they have any, one block after the
    /// other; those that `owned` marks are meant, if it is given.
    pub(super) fn each(
        &self,
        blocks: Range<usize>,
        owned: Option<&dyn Fn(u32) -> bool>,
        desk: &mut Desk,
        see: &mut See<'_>,
    ) -> Result<(), Fault> {
        for number in blocks {
            let Desk { bytes, read, chosen } = desk;
            let block = if let Some(block) = self.memory.get(number) {
                block
            } else {
                self.read(number - self.memory.len(), bytes, read)?;
                read
            };
            let block = match owned {
                None => block,
                Some(owned) => {
                    chosen.choose(block, owned);
                    chosen
                }
            };
            see(Packets::new(&block.times, &block.lengths)?, &block.marks)?;
        }
        Ok(())
    }

    fn read(&self, number: usize, bytes: &mut Vec<u8>, block: &mut Block) -> io::Result<()> {
        let (Some(file), Some((offset, count))) = (&self.file, self.offsets.get(number)) else {
            return Ok(());
        };
        bytes.resize(count * if self.marked { 20 } else { 12 }, 0);
        file.read_exact_at(bytes, *offset)?;
        let (times, rest) = bytes.split_at(count * 8);
        let (lengths, marks) = rest.split_at(count * 4);
        block.times.clear();
        block.times.extend(times.as_chunks().0.iter().map(|time| i64::from_le_bytes(*time)));
        block.lengths.clear();
        block
            .lengths
            .extend(lengths.as_chunks().0.iter().map(|length| u32::from_le_bytes(*length)));
        block.marks.clear();
        block.marks.extend(marks.as_chunks().0.iter().map(|mark| Mark(u64::from_le_bytes(*mark))));
        Ok(())
    }
}

impl Block {
    /// Becomes those packets of another block whose marks are meant.
    fn choose(&mut self, from: &Self, owned: &dyn Fn(u32) -> bool) {
        self.times.clear();
        self.lengths.clear();
        self.marks.clear();
        for (index, mark) in from.marks.iter().enumerate() {
            if owned(mark.stream()) {
                self.times.push(from.times[index]);
                self.lengths.push(from.lengths[index]);
                self.marks.push(*mark);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(columns: &Columns, owned: Option<&dyn Fn(u32) -> bool>) -> Vec<(i64, u32)> {
        let mut found = Vec::new();
        let mut see =
            |packets: Packets<'_>, marks: &[Mark]| {
                assert!(packets.iter().zip(marks).all(|((time, _), mark)| mark.record()
                    == u64::try_from(time.0).expect("positive") + 1));
                found.extend(packets.iter().map(|(time, length)| (time.0, length)));
                Ok(())
            };
        columns
            .each(0..columns.blocks(), owned, &mut Desk::default(), &mut see)
            .expect("what was written");
        found
    }

    #[test]
    fn what_went_to_the_file_comes_back_in_order() {
        let mut columns = Columns::new(true);
        columns.kept = IN_MEMORY - 4;
        let mut expected = Vec::new();
        for block in 0..5_i64 {
            let times = [block * 10, block * 10 + 1, block * 10 + 2];
            let lengths = [u32::MAX, 0, 60];
            columns
                .push(
                    &times,
                    &lengths,
                    &[0, 1, 2].map(|index| {
                        Mark::new(
                            index,
                            u64::try_from(block).expect("positive") * 10 + u64::from(index) + 1,
                        )
                        .0
                    }),
                )
                .expect("room for a temporary file");
            expected.extend(times.into_iter().zip(lengths));
        }
        assert_eq!((columns.memory.len(), columns.offsets.len()), (1, 4));
        assert_eq!(all(&columns, None), expected);
        assert_eq!(all(&columns, None), expected, "and again");
        let second: Vec<_> = expected.into_iter().skip(1).step_by(3).collect();
        assert_eq!(all(&columns, Some(&|mark| mark == 1)), second);
    }
}
