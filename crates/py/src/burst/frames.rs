//! From frames to columns: one reading of a capture.
//!
//! Nothing in a frame is looked at as long as only its length is requested. A frame longer
//! than Ethernet's 1518 bytes shows that the capture holds super-packets; then, if it can be read
//! again, reading begins anew with every frame decoded, because what their segments were is shown
//! by SYNs and ordinary packets before them.

use std::io;
use std::time::{Duration, Instant};

use trustbed_burst::{Basis, Order, OrderFacts};
use trustbed_capture::{CaptureFacts, Frame, Input, Reader};
use trustbed_flow::{Direction, Spacing, Unsegment, UnsegmentFacts};
use trustbed_units::Ns;
use trustbed_wire::{Batch, Bits, Contents, DecodeOptions, Decoder, Filter, Packet, glance};

use super::Fault;
use super::columns::{Columns, Mark};
use super::streams::{By, Streams};
use crate::run::Progress;

/// A full Ethernet frame with a VLAN tag; what is longer may be a super-packet.
const LONGEST_PLAIN: u32 = 1518;
/// Frames between two looks at the clock.
const BATCH: usize = 4096;
/// Frames of super-packets after which a batch is interrupted, so that those are handed on that
/// can be: 4,096 super-packets of 64 KiB with an MSS of 536 are fewer.
const MOST_CUT: usize = 1 << 19;
/// Time between two calls of the progress function.
const PROGRESS: Duration = Duration::from_millis(100);

/// What of a capture counts, and as what.
#[derive(Debug, Clone)]
pub(super) struct ReadOptions {
    pub(super) basis: Basis,
    pub(super) by: Option<By>,
    pub(super) filter: Option<Filter>,
    /// How the frames of super-packets lie in time; none: super-packets stay what they are.
    pub(super) spacing: Option<Spacing>,
    pub(super) inner: bool,
    /// Whether to remember which record every packet was.
    pub(super) numbered: bool,
}

/// What was not measured, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// Frames that the filter does not mean.
    pub(super) filtered: u64,
    /// Frames without an IP header that could be read, where IP lengths count.
    pub(super) without_ip: u64,
}

/// A capture as columns.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) columns: Columns,
    pub(super) streams: Streams,
    pub(super) order: OrderFacts,
    pub(super) left_out: LeftOut,
    pub(super) unsegmented: Option<UnsegmentFacts>,
    pub(super) facts: CaptureFacts,
}

/// Reads a capture. Its files may be opened twice.
pub(super) fn read<E>(
    inputs: &[Input],
    options: &ReadOptions,
    progress: &mut Progress<'_, E>,
) -> Result<Read, Fault<E>> {
    let again = inputs.iter().all(|input| matches!(input, Input::Path(path) if path.is_file()));
    let inside = options.filter.is_some()
        || options.basis == Basis::Ip
        || options.by.is_some_and(By::looks_inside);
    let blind = !inside && (again || options.spacing.is_none());
    if blind && let Some(read) = pass(inputs, options, true, progress)? {
        return Ok(read);
    }
    pass(inputs, options, false, progress)?.ok_or(Fault::Stopped)
}

/// One reading; `None` when it was blind and should not have been.
fn pass<E>(
    inputs: &[Input],
    options: &ReadOptions,
    blind: bool,
    progress: &mut Progress<'_, E>,
) -> Result<Option<Read>, Fault<E>> {
    let mut reader = Reader::open(inputs, DecodeOptions { inner: options.inner })?;
    let mut frames = Frames::new(options);
    let mut reported = Instant::now();
    let longest = if options.spacing.is_some() { LONGEST_PLAIN } else { u32::MAX };
    loop {
        let mut seen_longer = false;
        let more = if blind {
            reader.frames(BATCH, |frame| {
                seen_longer |= length(frame) > longest;
                frames.on_length(frame);
            })
        } else {
            reader.frames(BATCH, |frame| frames.on_frame(frame))
        };
        if seen_longer {
            return Ok(None);
        }
        if !more {
            break;
        }
        frames.flush()?;
        if reported.elapsed() >= PROGRESS {
            reported = Instant::now();
            let at = reader.progress();
            progress(at.bytes_read, at.bytes_total).map_err(Fault::Caller)?;
        }
    }
    frames.finish(reader.facts()).map(Some)
}

struct Frames<'a> {
    options: &'a ReadOptions,
    order: Order,
    columns: Columns,
    streams: Streams,
    left_out: LeftOut,
    decoder: Decoder,
    batch: Batch,
    unsegment: Option<Unsegment>,
    /// Frames of super-packets since the last flush.
    cut: usize,
    /// What came of handing frames on since then.
    written: io::Result<()>,
}

/// Bytes of a frame on the wire, never less than were captured.
#[inline]
fn length(frame: &Frame<'_>) -> u32 {
    frame.original_length.max(u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX))
}

impl<'a> Frames<'a> {
    fn new(options: &'a ReadOptions) -> Self {
        Self {
            options,
            order: Order::new(),
            columns: Columns::new(options.by.is_some() || options.numbered),
            streams: Streams::new(options.by),
            left_out: LeftOut::default(),
            decoder: Decoder::new(DecodeOptions { inner: options.inner }),
            batch: Batch::default(),
            unsegment: options.spacing.map(Unsegment::new),
            cut: 0,
            written: Ok(()),
        }
    }

    /// A frame of which only the length counts.
    #[inline]
    fn on_length(&mut self, frame: &Frame<'_>) {
        let time = self.order.stamp(frame.ts);
        let mark = if self.options.by.is_some() {
            self.streams.mark(frame, &Contents::default())
        } else {
            0
        };
        self.count(time, length(frame), None, Mark::new(mark, frame.index));
    }

    /// A frame that is looked into.
    fn on_frame(&mut self, frame: &Frame<'_>) {
        let time = self.order.stamp(frame.ts);
        let packet = self.packet(frame);
        let options = self.options;
        let looks = options.filter.is_some()
            || options.basis == Basis::Ip
            || options.by.is_some_and(By::looks_inside);
        let plain = Contents { length: length(frame), ..Contents::default() };
        let contents = match frame.record() {
            Some(record) if looks => Contents::of(&record, options.inner),
            _ => plain,
        };
        if options.filter.as_ref().is_some_and(|filter| !filter.matches(&contents)) {
            self.left_out.filtered += 1;
            return;
        }
        let mark = Mark::new(self.streams.mark(frame, &contents), frame.index);
        match packet
            .filter(|packet| contents.length > LONGEST_PLAIN && !packet.bits.any(Bits::INNER))
        {
            Some(packet) => self.expand(Packet { ts: time, ..packet }, direction(frame), mark),
            None => self.count(time, contents.length, contents.ip.map(|ip| ip.length), mark),
        }
    }

    /// The packet of a frame, decoded to be cut into segments, or to learn how others are cut.
    fn packet(&mut self, frame: &Frame<'_>) -> Option<Packet> {
        let (unsegment, record) = (self.unsegment.as_mut()?, frame.record()?);
        if length(frame) <= LONGEST_PLAIN && !self.options.inner && !glance::may_teach(&record) {
            return None;
        }
        self.batch.clear();
        self.decoder.decode(&record, &mut self.batch).ok()?;
        let packet = self.batch.packets.first()?;
        unsegment.learn(packet, self.batch.options_of(packet));
        Some(*packet)
    }

    fn expand(&mut self, packet: Packet, direction: Direction, mark: Mark) {
        let Some(mut unsegment) = self.unsegment.take() else { return };
        let frames = unsegment
            .expand(&packet, direction, |time, frame, ip| self.count(time, frame, Some(ip), mark));
        self.unsegment = Some(unsegment);
        self.cut += frames as usize;
        if self.cut >= MOST_CUT {
            self.hand_on();
        }
    }

    /// A packet of that time counts.
    #[inline]
    fn count(&mut self, time: Ns, frame: u32, ip: Option<u32>, mark: Mark) {
        match self.options.basis.length(frame, ip) {
            Some(length) => {
                self.streams.count(mark.stream(), length);
                self.order.push(time, length, mark.0);
            }
            None => self.left_out.without_ip += 1,
        }
    }

    fn flush<E>(&mut self) -> Result<(), Fault<E>> {
        self.hand_on();
        Ok(std::mem::replace(&mut self.written, Ok(()))?)
    }

    /// Hands on what can no longer be overtaken.
    fn hand_on(&mut self) {
        let Self { order, columns, written, .. } = self;
        order.flush(|times, lengths, marks| {
            if written.is_ok() {
                *written = columns.push(times, lengths, marks);
            }
        });
        self.cut = 0;
    }

    fn finish<E>(mut self, facts: CaptureFacts) -> Result<Read, Fault<E>> {
        let mut written = std::mem::replace(&mut self.written, Ok(()));
        self.order.finish(|times, lengths, marks| {
            if written.is_ok() {
                written = self.columns.push(times, lengths, marks);
            }
        });
        written?;
        let unsegmented = self.unsegment.map(|unsegment| unsegment.facts());
        let Self { columns, streams, left_out, .. } = self;
        Ok(Read { columns, streams, order: self.order.facts(), left_out, unsegmented, facts })
    }
}

fn direction(frame: &Frame<'_>) -> Direction {
    match frame.direction() {
        trustbed_capture::Direction::Unknown => Direction::Unknown,
        trustbed_capture::Direction::Inbound => Direction::Received,
        trustbed_capture::Direction::Outbound => Direction::Sent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::super_packets::{FRAMES, capture};

    #[test]
    fn the_frames_of_a_batch_of_super_packets_are_not_held_together() {
        let options = ReadOptions {
            basis: Basis::Frame,
            by: None,
            filter: None,
            spacing: Some(Spacing::Stacked),
            inner: false,
            numbered: false,
        };
        let mut reader = Reader::open(&[capture(2000)], DecodeOptions { inner: false }).unwrap();
        let mut frames = Frames::new(&options);
        let (mut records, mut held) = (0, 0);
        // One batch: nothing is flushed but by the frames themselves.
        assert!(reader.frames(BATCH, |frame| {
            frames.on_frame(frame);
            records += 1;
            let counted = 1 + (records - 1) * u64::from(FRAMES);
            held = (counted - frames.columns.packets()).max(held);
        }));
        assert_eq!(records, 2001);
        // And what came within the last 10 ms.
        assert!((1 << 18..1 << 20).contains(&held), "{held} frames");
        let read = frames.finish::<()>(reader.facts()).unwrap();
        assert_eq!(read.columns.packets(), 1 + 2000 * u64::from(FRAMES));
    }
}
