//! Captures at routers: packets with their times in the emulated network, as a pcapng file.
//!
//! Packets are collected in chunks, which a thread of its own writes. Forwarding never waits for
//! the disk: when all chunks wait to be written, frames are lost and counted, in the file as well.
//!
//! A router here has no interface: the Ethernet header is made up, so that lengths are those that
//! links see. Times are those that the pipe before the router scheduled, by the real-time clock as
//! of the start; the capture has no departure error, whatever the emulator's is.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};
use trustbed_capture::{
    Counters, Direction, Frame, InterfaceDescription, WriteError, Writer, Written,
};
use trustbed_emulate::{Ledger, Network, Passing};
use trustbed_units::{Ns, Span};
use trustbed_wire::LinkType;

use super::error::EmulatorError;
use super::frame::{ETHERNET, Headers, Packet};
use crate::sys::clock;

/// Bytes in a chunk.
const CHUNK: usize = 256 << 10;
/// Chunks that can wait: 16 MB.
const WAITING: usize = 64;
/// A chunk is handed over when it spans this, full or not.
const LONGEST: Span = Span::from_millis(200);
/// Frames are held back for so long, so that those which are seen out of order can be put in order.
const HELD: Span = Span::from_millis(50);
/// The time, the length of the packet on the wire, and the captured length.
const HEAD: usize = 16;

/// A router whose packets are captured.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TapDescription {
    /// Its name in the topology.
    pub(super) router: String,
    /// The file, which is replaced.
    pub(super) path: PathBuf,
    /// Bytes captured of a frame, 0 for all.
    #[serde(default = "snap_length")]
    pub(super) snap_length: u32,
}

const fn snap_length() -> u32 {
    128
}

/// The results of a capture, with the keys of the verb `capture`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Tapped {
    router: String,
    path: PathBuf,
    start_ns: i64,
    end_ns: i64,
    /// Frames that passed, dropped ones included.
    received_frames: u64,
    /// Frames that there was no room for.
    dropped_frames: u64,
    /// Frames in the file, and those that it could not take.
    frames: u64,
    frames_left_out: u64,
    bytes: u64,
    /// Whether everything that passed is in the file.
    complete: bool,
    troubles: Vec<Trouble>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Trouble {
    message: String,
    hint: String,
}

impl Trouble {
    fn new(error: &WriteError) -> Self {
        Self { message: error.to_string(), hint: error.hint() }
    }
}

/// Captures that are running.
#[derive(Debug, Default)]
pub(super) struct Taps(Vec<Rc<RefCell<Option<Tap>>>>);

impl Taps {
    /// Begins a file for each, and has the network show its packets.
    pub(super) fn open<L: Ledger>(
        descriptions: &[TapDescription],
        network: &mut Network<Packet, L>,
    ) -> Result<Self, EmulatorError> {
        let mut taps = Self::default();
        for description in descriptions {
            let tap = Rc::new(RefCell::new(None));
            let shown = Rc::clone(&tap);
            let watcher = move |passing: Passing<'_, Packet>| {
                shown.borrow_mut().iter_mut().for_each(|tap: &mut Tap| tap.on_passing(&passing));
            };
            network.tap(&description.router, watcher).map_err(EmulatorError::UnknownRouter)?;
            // Behind that, so that no file is left of a router that there is not.
            tap.replace(Some(Tap::open(description)?));
            taps.0.push(tap);
        }
        Ok(taps)
    }

    /// Waits until everything is written.
    pub(super) fn finish(self) -> Vec<Tapped> {
        self.0.iter().filter_map(|tap| Some(tap.take()?.finish())).collect()
    }
}

/// The end of a capture where packets come in.
#[derive(Debug)]
struct Tap {
    router: String,
    path: PathBuf,
    snap: usize,
    headers: Headers,
    start: Ns,
    chunk: Vec<u8>,
    /// The first frame in the chunk.
    since: Ns,
    received: u64,
    dropped: u64,
    frames_in_chunk: u64,
    full: SyncSender<Order>,
    empty: Receiver<Vec<u8>>,
    writer: JoinHandle<Ended>,
}

/// An order to the writing thread.
#[derive(Debug)]
enum Order {
    Write(Vec<u8>),
    End(Counters),
}

/// The results of the writing thread.
#[derive(Debug)]
struct Ended {
    written: Option<Written>,
    troubles: Vec<Trouble>,
}

impl Tap {
    fn open(description: &TapDescription) -> Result<Self, EmulatorError> {
        let TapDescription { router, path, snap_length } = description;
        let writer = begin(path, router, *snap_length).map_err(EmulatorError::Tap)?;
        let (full, filled) = sync_channel(WAITING);
        let (return_chunk, empty) = sync_channel(WAITING);
        let thread = thread::Builder::new()
            .name("tap".to_owned())
            .spawn(move || write(writer, &filled, &return_chunk))
            .map_err(|source| EmulatorError::System { step: "start a thread", source })?;
        Ok(Self {
            router: router.clone(),
            path: path.clone(),
            snap: if *snap_length == 0 {
                usize::MAX
            } else {
                usize::try_from(*snap_length).unwrap_or(usize::MAX)
            },
            headers: Headers::new([2, 0x74, 0x62, 0xff, 0, 2], [2, 0x74, 0x62, 0xff, 0, 1]),
            start: clock::realtime(),
            chunk: Vec::with_capacity(CHUNK),
            since: Ns::MIN,
            received: 0,
            dropped: 0,
            frames_in_chunk: 0,
            full,
            empty,
            writer: thread,
        })
    }

    fn on_passing(&mut self, passing: &Passing<'_, Packet>) {
        let Packet { bytes, version } = passing.payload;
        let header = *self.headers.of(*version);
        let captured = self.snap.min(ETHERNET + bytes.len());
        if self.chunk.len() + HEAD + captured > CHUNK
            || (!self.chunk.is_empty() && passing.at - self.since > LONGEST)
        {
            self.hand_over();
        }
        if self.chunk.is_empty() {
            self.since = passing.at;
        }
        self.received += 1;
        self.frames_in_chunk += 1;
        self.chunk.extend_from_slice(&passing.at.0.to_le_bytes());
        self.chunk.extend_from_slice(&passing.length.to_le_bytes());
        // As long as a packet at most, which fits 32 bits.
        self.chunk.extend_from_slice(&u32::try_from(captured).unwrap_or(u32::MAX).to_le_bytes());
        self.chunk.extend_from_slice(&header[..captured.min(ETHERNET)]);
        self.chunk.extend_from_slice(&bytes[..captured.saturating_sub(ETHERNET)]);
    }

    /// Gives the chunk to the writer, or counts what was in it as dropped.
    fn hand_over(&mut self) {
        let chunk = std::mem::take(&mut self.chunk);
        self.chunk = match self.full.try_send(Order::Write(chunk)) {
            Ok(()) => self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK)),
            Err(TrySendError::Full(order) | TrySendError::Disconnected(order)) => {
                self.dropped += self.frames_in_chunk;
                match order {
                    Order::Write(mut chunk) => {
                        chunk.clear();
                        chunk
                    }
                    Order::End(_) => Vec::new(),
                }
            }
        };
        self.frames_in_chunk = 0;
    }

    fn finish(mut self) -> Tapped {
        if !self.chunk.is_empty() {
            self.hand_over();
        }
        let (start, end) = (self.start, clock::realtime());
        // Waiting is fine now. A writer that has ended is noticed below.
        let _ = self.full.send(Order::End(Counters {
            start,
            end,
            received: self.received,
            dropped: self.dropped,
        }));
        let ended = self.writer.join().unwrap_or_else(|_| Ended {
            written: None,
            troubles: vec![Trouble {
                message: format!("captures/{}: the writing thread ended", self.router),
                hint: "this is an error of trustbed: please report it".to_owned(),
            }],
        });
        let nothing = Written {
            frames: 0,
            bytes: 0,
            frames_left_out: self.received - self.dropped,
            complete: false,
        };
        let Written { frames, bytes, frames_left_out, complete } = ended.written.unwrap_or(nothing);
        Tapped {
            router: self.router,
            path: self.path,
            start_ns: start.0,
            end_ns: end.0,
            received_frames: self.received,
            dropped_frames: self.dropped,
            frames,
            frames_left_out,
            bytes,
            complete: complete && self.dropped == 0 && ended.troubles.is_empty(),
            troubles: ended.troubles,
        }
    }
}

fn begin(path: &Path, router: &str, snap_length: u32) -> Result<Writer, WriteError> {
    let mut writer = Writer::create(path, concat!("trustbed ", env!("CARGO_PKG_VERSION")))?;
    let name = router.to_owned();
    writer.interface(&InterfaceDescription {
        name,
        link: LinkType::Ethernet,
        snap_length,
        hardware_timestamps: false,
        speed: None,
    })?;
    Ok(writer)
}

/// A frame that waits for being written.
#[derive(Debug)]
struct Waiting {
    at: Ns,
    length: u32,
    bytes: Box<[u8]>,
}

/// Writes chunks, in order of time, until the end is ordered.
fn write(
    mut writer: Writer,
    filled: &Receiver<Order>,
    return_chunk: &SyncSender<Vec<u8>>,
) -> Ended {
    let (mut waiting, mut troubles, mut index) = (Vec::new(), Vec::new(), 0);
    let mut counters = None;
    for order in filled {
        let until = match order {
            Order::Write(mut chunk) => {
                unpack(&chunk, &mut waiting);
                chunk.clear();
                // No more are returned than were handed out; one too many is freed.
                let _ = return_chunk.try_send(chunk);
                waiting
                    .iter()
                    .map(|frame: &Waiting| frame.at)
                    .max()
                    .map_or(Ns::MIN, |newest| newest - HELD)
            }
            Order::End(tapped) => {
                counters = Some(tapped);
                Ns::MAX
            }
        };
        let outcome =
            put(&mut writer, &mut waiting, &mut index, until).and_then(|()| writer.flush());
        troubles.extend(outcome.err().map(|error| Trouble::new(&error)));
        if let Some(counters) = counters {
            troubles
                .extend(writer.statistics(0, &counters).err().map(|error| Trouble::new(&error)));
            break;
        }
    }
    let written = writer.finish().map_err(|error| troubles.push(Trouble::new(&error))).ok();
    Ended { written, troubles }
}

/// The frames of a chunk.
fn unpack(chunk: &[u8], into: &mut Vec<Waiting>) {
    let mut rest = chunk;
    while let Some((head, behind)) = rest.split_first_chunk::<HEAD>() {
        let [at, length, captured] = [&head[..8], &head[8..12], &head[12..]].map(number);
        let (bytes, behind) = behind.split_at(
            usize::try_from(captured).map_or(behind.len(), |captured| captured.min(behind.len())),
        );
        into.push(Waiting {
            at: Ns(at.cast_signed()),
            length: u32::try_from(length).unwrap_or(u32::MAX),
            bytes: bytes.into(),
        });
        rest = behind;
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// Writes what is not later than a moment, in order of time. All of it is given to the file,
/// whatever becomes of the first.
fn put(
    writer: &mut Writer,
    waiting: &mut Vec<Waiting>,
    index: &mut u64,
    until: Ns,
) -> Result<(), WriteError> {
    waiting.sort_by_key(|frame| frame.at);
    let mut outcome = Ok(());
    for Waiting { at, length, bytes } in
        waiting.drain(..waiting.partition_point(|frame| frame.at <= until))
    {
        *index += 1;
        let link = Some(LinkType::Ethernet);
        let frame = Frame {
            ts: at,
            index: *index,
            file: 0,
            interface: 0,
            link,
            original_length: length,
            marked: Direction::Unknown,
            bytes: &bytes,
        };
        let written = writer.frame(&frame);
        if outcome.is_ok() {
            outcome = written;
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use trustbed_capture::{Input, Reader};
    use trustbed_wire::DecodeOptions;

    use super::super::frame::Version;
    use super::*;

    fn tap(path: &Path, snap_length: u32) -> Tap {
        Tap::open(&TapDescription { router: "left".to_owned(), path: path.to_owned(), snap_length })
            .unwrap()
    }

    fn show(tap: &mut Tap, at: i64, length: usize) {
        let payload =
            Packet { bytes: (0..=u8::MAX).cycle().take(length).collect(), version: Version::Four };
        tap.on_passing(&Passing {
            at: Ns(at),
            length: u32::try_from(length + ETHERNET).unwrap(),
            payload: &payload,
        });
    }

    fn read(path: &Path) -> Vec<(i64, u32, Vec<u8>)> {
        let mut reader =
            Reader::open(&[Input::Path(path.to_owned())], DecodeOptions::default()).unwrap();
        let mut found = Vec::new();
        while reader.frames(1000, |frame| {
            found.push((frame.ts.0, frame.original_length, frame.bytes.to_vec()));
        }) {}
        found
    }

    #[test]
    fn forwarded_packets_are_in_the_file_in_order_of_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("left.pcapng");
        let mut tap = tap(&path, 128);
        let second = 1_000_000_000;
        // Two of them are seen out of order, one of these in another chunk than the one that it
        // belongs before.
        for at in [
            second,
            3 * second,
            2 * second + 999_999_999,
            3 * second + 260_000_000,
            3 * second + 240_000_000,
        ] {
            show(&mut tap, at, 1500);
        }
        show(&mut tap, 9 * second, 20);
        let tapped = tap.finish();
        assert_eq!(
            (tapped.received_frames, tapped.dropped_frames, tapped.frames, tapped.complete),
            (6, 0, 6, true)
        );
        let found = read(&path);
        assert!(found.is_sorted_by_key(|frame| frame.0) && found.len() == 6);
        let (_, length, bytes) = &found[0];
        assert_eq!((*length, bytes.len(), &bytes[12..16]), (1514, 128, &[8, 0, 0, 1][..]));
        assert_eq!((found[5].1, found[5].2.len()), (34, 34));
    }

    #[test]
    fn whole_packets_are_captured_if_configured() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("all.pcapng");
        let mut tap = tap(&path, 0);
        for number in 0..1000 {
            show(&mut tap, number, 1486);
        }
        let tapped = tap.finish();
        assert_eq!(tapped.frames + tapped.dropped_frames, 1000);
        assert!(read(&path).iter().all(|frame| frame.2.len() == 1500));
    }

    #[test]
    fn a_disk_that_is_full_at_the_start_is_an_error() {
        let refused = begin(Path::new("/dev/full"), "left", 128).unwrap_err();
        assert!(EmulatorError::Tap(refused).to_string().contains("/dev/full"));
    }

    #[test]
    fn a_missing_directory_is_named() {
        let description = TapDescription {
            router: "left".to_owned(),
            path: "/nonexistent/left.pcapng".into(),
            snap_length: 0,
        };
        assert!(
            Tap::open(&description).unwrap_err().to_string().contains("/nonexistent/left.pcapng")
        );
    }
}
