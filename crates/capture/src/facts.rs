//! What is known about a capture besides its packets: the files, their interfaces and clocks, what
//! was wrong with them, and what was not measured. Everything here is a copy that can be taken at
//! any time and is complete after the end.

use trustbed_units::{Ns, Span};
use trustbed_wire::Skip;

/// The two file formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The classic libpcap format: one link type, one clock.
    Pcap,
    /// pcapng: sections, interfaces, options.
    Pcapng,
}

impl Format {
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pcap => "pcap",
            Self::Pcapng => "pcapng",
        }
    }
}

/// What the file is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Nothing.
    None,
    /// gzip, one or many members.
    Gzip,
    /// Zstandard, one or many frames.
    Zstd,
}

impl Compression {
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// The byte order of a file's numbers (of its first section, for pcapng).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Little => "little",
            Self::Big => "big",
        }
    }
}

/// Everything known about a capture besides its packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureFacts {
    /// The files, in the order in which they are read.
    pub files: Vec<FileFacts>,
    /// What was wrong, in the order in which it was met: at most [`CaptureFacts::PROBLEMS_KEPT`] of
    /// each code.
    pub problems: Vec<Problem>,
    /// How many further problems of a code there were, for the codes that have more than were kept.
    pub problems_left_out: Vec<(&'static str, u64)>,
    /// Records that are not measured, by reason, in the order of [`Skip::ALL`].
    pub skips: [SkipCount; 8],
}

impl CaptureFacts {
    /// How many problems of one code are kept in full; the rest are only counted.
    pub const PROBLEMS_KEPT: usize = 100;
}

/// What is known about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    /// The path as it was given, `-` for standard input.
    pub name: String,
    /// The format.
    pub format: Format,
    /// The compression around it.
    pub compression: Compression,
    /// The byte order (of the first section).
    pub byte_order: ByteOrder,
    /// Bytes of the file as it is stored; for a pipe, what has come out of it so far.
    pub bytes: u64,
    /// Records read so far, measured or not.
    pub records: u64,
    /// The earliest timestamp of a record so far.
    pub first_ts: Option<Ns>,
    /// The latest timestamp of a record so far.
    pub last_ts: Option<Ns>,
    /// The declared snap length, the largest one of the interfaces; 0 when the file declares none.
    pub snap_length: u32,
    /// The declared resolution of the timestamps, the coarsest one of the interfaces. Shows nothing
    /// about how often the clock behind it ticks.
    pub timestamp_resolution: Span,
    /// Records of which the snap length cut something off.
    pub snapped_records: u64,
    /// Records that were stored without a time and have that of the record before them: they show
    /// nothing about timing.
    pub records_without_time: u64,
    /// Bytes that are not part of any record or block that could be read.
    pub skipped_bytes: u64,
    /// The host that captured, as the file states.
    pub hardware: Option<String>,
    /// Its operating system, as the file states.
    pub os: Option<String>,
    /// The program that wrote the file, as the file states.
    pub application: Option<String>,
    /// The interfaces: one for pcap, any number for pcapng. A packet's interface is an index into
    /// this list.
    pub interfaces: Vec<InterfaceFacts>,
}

/// What is known about one interface of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceFacts {
    /// Its name, as `eth0`.
    pub name: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// The hardware behind it.
    pub hardware: Option<String>,
    /// The operating system it belongs to.
    pub os: Option<String>,
    /// The link type as the file's number (the LINKTYPE_ registry).
    pub link_number: u32,
    /// The declared snap length, 0 for none.
    pub snap_length: u32,
    /// The declared resolution of its timestamps (rounded up to a whole nanosecond).
    pub resolution: Span,
    /// Records read so far.
    pub records: u64,
    /// Packets the interface received, as the capturing host counted.
    pub received: Option<u64>,
    /// Packets that the interface, or the capture for want of room, dropped, as the capturing host
    /// counted.
    pub dropped: Option<u64>,
    /// Packets that the operating system dropped, as the capturing host counted.
    pub os_dropped: Option<u64>,
    /// What else its description holds (speed, filter, comments, addresses): options of pcapng, by
    /// code, numbers in little-endian order; at most 1 KiB. These and the texts of all interfaces of
    /// a file are at most 16 MiB: those of later ones are left out, each a [`Problem`].
    pub options: Vec<(u16, Vec<u8>)>,
}

/// Something about a file that kept a part of it from being read as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Which kind: one of the names in [`Problem::CODES`].
    pub code: &'static str,
    /// The file's name.
    pub file: String,
    /// Where, in bytes from the beginning of the file (of what comes out of the decompressor, for a
    /// compressed one).
    pub offset: u64,
    /// At which record of the file, counted from 1: the record concerned, or the one that would
    /// have come next.
    pub record: u64,
    /// A sentence that states what was found and what was done about it.
    pub detail: String,
}

impl Problem {
    /// The file ends inside a record, a block or a header.
    pub const TRUNCATED_RECORD: &'static str = "truncated_record";
    /// A record states lengths that cannot be.
    pub const BAD_RECORD_LENGTH: &'static str = "bad_record_length";
    /// Bytes that are no record were passed over.
    pub const SKIPPED_BYTES: &'static str = "skipped_bytes";
    /// Decompression failed part of the way.
    pub const DECOMPRESSION: &'static str = "decompression";
    /// A pcapng block contradicts itself.
    pub const BAD_BLOCK: &'static str = "bad_block";
    /// A packet names an interface that the file does not describe.
    pub const UNKNOWN_INTERFACE: &'static str = "unknown_interface";
    /// A timestamp that cannot be.
    pub const BAD_TIMESTAMP: &'static str = "bad_timestamp";
    /// Packets that were stored without a time.
    pub const NO_TIMESTAMP: &'static str = "no_timestamp";
    /// Reading failed part of the way.
    pub const IO: &'static str = "io";

    /// Every code there is.
    pub const CODES: [&'static str; 9] = [
        Self::TRUNCATED_RECORD,
        Self::BAD_RECORD_LENGTH,
        Self::SKIPPED_BYTES,
        Self::DECOMPRESSION,
        Self::BAD_BLOCK,
        Self::UNKNOWN_INTERFACE,
        Self::BAD_TIMESTAMP,
        Self::NO_TIMESTAMP,
        Self::IO,
    ];
}

/// How many records are not measured for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkipCount {
    /// The reason.
    pub reason: Skip,
    /// How many records.
    pub records: u64,
    /// The index of the first of them.
    pub first_index: Option<u64>,
}

/// How far reading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Stored bytes read so far, over all files.
    pub bytes_read: u64,
    /// Stored bytes in all; unknown when a pipe is among the inputs.
    pub bytes_total: Option<u64>,
}
