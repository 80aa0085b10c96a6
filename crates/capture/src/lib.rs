//! Captures from bytes to batches of packets: pcap and pcapng, plain, gzip or Zstandard, from
//! files, pipes and memory; and frames from a network interface while they pass.
//!
//! [`Reader::open`] takes one or several inputs as one capture. [`Reader::fill`] decodes record
//! after record into a [`trustbed_wire::Batch`], [`Reader::frames`] shows every record as it is,
//! and [`Reader::facts`] gives everything else: files, interfaces, drop counters, what was not
//! measured and why, and what was wrong with the files and at which byte.
//!
//! [`Live`] shows the frames of an interface and counts those that it lost; [`Writer`] makes a
//! pcapng file of [`Frame`]s from either, which is whole at any time, and [`Copier`] writes a
//! capture once more with comments.
//!
//! Plain files are mapped into memory and decoded in place; everything else runs through one
//! bounded buffer. A damaged file never ends the reading: what could be read is read, and the rest
//! is a [`Problem`]. This crate does not judge timestamps (steps, coarse clocks), does not put
//! records in order within a file, and sends nothing.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//! use trustbed_capture::{Input, Reader};
//! use trustbed_wire::{Batch, DecodeOptions};
//!
//! // An empty little-endian pcap file with link type 1, Ethernet.
//! let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
//! bytes.extend([0, 0, 4, 0, 1, 0, 0, 0]);
//!
//! let input = Input::Memory { name: "empty.pcap".to_owned(), bytes: Arc::from(bytes) };
//! let mut reader = Reader::open(&[input], DecodeOptions::default())?;
//! let mut batch = Batch::default();
//! while reader.fill(&mut batch, 1024) {
//!     // … look at `batch.packets` …
//!     batch.clear();
//! }
//! assert_eq!(reader.facts().files[0].records, 0);
//! # Ok::<(), trustbed_capture::OpenError>(())
//! ```

mod clock;
mod error;
mod facts;
mod file;
mod frame;
mod hit;
mod input;
mod ledger;
mod live;
mod pcap;
mod pcapng;
mod reader;
mod same;
mod sink;
mod sniff;
mod source;
mod stream;
mod write;

pub use error::OpenError;
pub use facts::{
    ByteOrder, CaptureFacts, Compression, FileFacts, Format, InterfaceFacts, Problem, Progress,
    SkipCount,
};
pub use frame::{Direction, Frame};
pub use input::Input;
#[cfg(target_os = "linux")]
pub use live::interface_names;
pub use live::{
    Live, LiveError, LiveFacts, LiveOptions, Statistics, User, give_up_capabilities,
    give_up_privileges,
};
pub use pcapng::FrameOptions;
pub use reader::Reader;
pub use write::{Copier, Counters, InterfaceDescription, WriteError, Writer, Written};
