//! The ledger: for every packet at every pipe what was scheduled, what it found, and its fate.
//!
//! A record is written once, when nothing can change any more: at a drop, when a pipe hands a
//! packet on to the next one, and behind the last pipe when the edge reports when it really sent
//! it. So records are not in order of arrival. Scheduled times are exact; the actual one is as good
//! as the clock of the caller.

use serde::{Deserialize, Serialize};
use trustbed_units::Ns;

/// What became of a packet at a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It came out at the far end.
    Passed,
    /// The queue's limit was reached.
    QueueFull,
    /// `CoDel` dropped it at the head of the queue.
    CodelDrop,
    /// RED dropped it before it was queued.
    RedDrop,
    /// It was lost on the wire.
    Lost,
    /// The emulator holds as much as it may; no link would have dropped it.
    EmulatorFull,
    /// It was scheduled to leave, and the caller could not send it.
    Unsent,
    /// It was still inside at the end.
    Inside,
    /// The policer had no bytes for it.
    Policed,
    /// It was sent in an outage, and lost.
    Outage,
}

impl Fate {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 10] = [
        Self::Passed,
        Self::QueueFull,
        Self::CodelDrop,
        Self::RedDrop,
        Self::Lost,
        Self::EmulatorFull,
        Self::Unsent,
        Self::Inside,
        Self::Policed,
        Self::Outage,
    ];

    /// Its number in the ledger.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// What it is called in tables and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::QueueFull => "queue_full",
            Self::CodelDrop => "codel_drop",
            Self::RedDrop => "red_drop",
            Self::Lost => "lost",
            Self::EmulatorFull => "emulator_full",
            Self::Unsent => "unsent",
            Self::Inside => "inside",
            Self::Policed => "policed",
            Self::Outage => "outage",
        }
    }
}

/// One packet at one pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The packet, counted from 0 at its entry into the network; a copy has the number of its
    /// original.
    pub number: u64,
    /// Which pipe, by its index in [`crate::Topology::pipes`].
    pub pipe: u32,
    /// When it came to the pipe.
    pub arrived: Ns,
    /// When its last bit was to be sent; nothing if it never was.
    pub departed: Option<Ns>,
    /// When it was to come out at the far end; nothing if it never was.
    pub due: Option<Ns>,
    /// When it really left, at the last pipe; nothing elsewhere.
    pub actual: Option<Ns>,
    /// Its length in bytes.
    pub length: u32,
    /// The packets it found in the queue, the one being sent included.
    pub found_packets: u32,
    /// The bytes it found in the queue that were not sent yet, rounded up.
    pub found_bytes: u64,
    /// What became of it.
    pub fate: Fate,
    /// Whether it is a copy made by a pipe.
    pub copy: bool,
}

/// A column of the ledger's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type: `i64`, `u64`, `u32` or `u8`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its unit; empty for codes.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

impl Column {
    const fn new(
        name: &'static str,
        kind: &'static str,
        unit: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self { name, kind, unit, meaning }
    }
}

impl Record {
    /// The value of a moment that does not exist.
    pub const NONE: i64 = i64::MIN;

    /// How many bytes a record takes in the file.
    pub const BYTES: usize = 62;

    /// The columns of [`Record::to_le_bytes`], one behind the other without gaps.
    pub const COLUMNS: [Column; 11] = [
        Column::new(
            "packet",
            "u64",
            "",
            "number of the packet at its entry; a copy has the number of its original",
        ),
        Column::new("arrived_ns", "i64", "nanoseconds", "when it came to the pipe"),
        Column::new(
            "departed_ns",
            "i64",
            "nanoseconds",
            "scheduled departure of its last bit; smallest number: never",
        ),
        Column::new(
            "due_ns",
            "i64",
            "nanoseconds",
            "scheduled arrival at the far end; smallest number: never",
        ),
        Column::new(
            "actual_ns",
            "i64",
            "nanoseconds",
            "actual sending, at the last pipe; smallest number: not known",
        ),
        Column::new("found_bytes", "u64", "bytes", "bytes in the queue when it came, not sent yet"),
        Column::new("length", "u32", "bytes", "its length"),
        Column::new(
            "found_packets",
            "u32",
            "packets",
            "packets in the queue when it came, the one being sent included",
        ),
        Column::new("pipe", "u32", "", "number of the pipe"),
        Column::new("fate", "u8", "", "its fate: the index in the list of fates"),
        Column::new("copy", "u8", "", "1 for a copy made by a pipe"),
    ];

    /// The record as it is written to a file.
    pub fn to_le_bytes(&self) -> [u8; Self::BYTES] {
        let moment =
            |moment: Option<Ns>| moment.map_or(Self::NONE, |moment| moment.0).to_le_bytes();
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.arrived.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&moment(self.departed));
        bytes[24..32].copy_from_slice(&moment(self.due));
        bytes[32..40].copy_from_slice(&moment(self.actual));
        bytes[40..48].copy_from_slice(&self.found_bytes.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.length.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.found_packets.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.pipe.to_le_bytes());
        bytes[60] = self.fate.code();
        bytes[61] = u8::from(self.copy);
        bytes
    }
}

/// Where records go.
pub trait Ledger {
    /// A packet has left a pipe, one way or another.
    fn on_record(&mut self, record: &Record);
}

/// Keeps nothing.
impl Ledger for () {
    #[inline]
    fn on_record(&mut self, _: &Record) {}
}

/// Keeps everything.
impl Ledger for Vec<Record> {
    fn on_record(&mut self, record: &Record) {
        self.push(*record);
    }
}

impl<L: Ledger> Ledger for &mut L {
    #[inline]
    fn on_record(&mut self, record: &Record) {
        (**self).on_record(record);
    }
}

#[cfg(test)]
mod tests {
    use super::{Fate, Record};
    use trustbed_units::Ns;

    #[test]
    fn the_columns_are_the_bytes() {
        let width =
            |kind: &str| if kind == "u8" { 1 } else { kind[1..].parse::<usize>().unwrap() / 8 };
        assert_eq!(
            Record::COLUMNS.iter().map(|column| width(column.kind)).sum::<usize>(),
            Record::BYTES
        );
        let record = Record {
            number: 7,
            pipe: 2,
            arrived: Ns(100),
            departed: Some(Ns(200)),
            due: Some(Ns(300)),
            actual: None,
            length: 1500,
            found_packets: 3,
            found_bytes: 4000,
            fate: Fate::Lost,
            copy: true,
        };
        let bytes = record.to_le_bytes();
        let mut values = Vec::new();
        let mut at = 0;
        for column in &Record::COLUMNS {
            let mut wide = [0; 8];
            wide[..width(column.kind)].copy_from_slice(&bytes[at..at + width(column.kind)]);
            values.push(i64::from_le_bytes(wide));
            at += width(column.kind);
        }
        assert_eq!(
            values,
            [7, 100, 200, 300, Record::NONE, 4000, 1500, 3, 2, i64::from(Fate::Lost.code()), 1]
        );
    }

    #[test]
    fn codes_are_indices() {
        for (index, fate) in Fate::ALL.iter().enumerate() {
            assert_eq!(usize::from(fate.code()), index);
        }
    }
}
