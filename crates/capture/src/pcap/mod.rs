//! The classic capture format (draft-ietf-opsawg-pcap): a file header, then records, each with a
//! header of its own.
//!
//! The format has neither magic numbers nor checksums between its records, so a record is accepted
//! only when the header behind it makes sense too. Where that fails, the reader looks for the next
//! offset from which several headers follow one another (`resync`) and reports what it left out.
//!
//! Bias: a damaged length that still leads to a plausible header is accepted. Runs of zeros are
//! not: other readers count every 16 of them as an empty packet of 1970.

mod header;
mod judge;
mod resync;

use trustbed_wire::LinkType;

use crate::facts::{ByteOrder, InterfaceFacts, Problem};
use crate::frame::Direction;
use crate::hit::Hit;
use crate::ledger::Found;
use crate::pcapng::FrameOptions;
use crate::sink::{Consumer, Sink, Stop, Tally, Unnumbered};

pub(crate) use header::{FILE_HEADER_LENGTH, HeaderError, is_magic};
use header::{FileHeader, LARGEST, LARGEST_USUAL, Lengths, RecordHeader};
use judge::Judgement;
use resync::Pattern;

/// The state of reading one pcap file.
#[derive(Debug, Clone)]
pub(crate) struct Pcap {
    header: FileHeader,
    link: Option<LinkType>,
    /// Captured lengths above this are looked at twice.
    usual: u32,
    /// Captured lengths above this are garbage.
    largest: u32,
    /// Where the window begins, in bytes from the beginning of the file.
    offset: u64,
    tally: Tally,
    /// A search for the next record that has not ended.
    search: Option<Search>,
}

/// A search for the next record, and why it began.
#[derive(Debug, Clone)]
struct Search {
    code: &'static str,
    from: u64,
    why: String,
}

/// Why the fast path stopped.
enum Pause {
    Stop(Stop),
    Doubt,
}

impl Pcap {
    /// Reads the file header at the beginning of `window`; records follow after
    /// [`FILE_HEADER_LENGTH`] bytes.
    pub(crate) fn begin(window: &[u8]) -> Result<Self, HeaderError> {
        let header = FileHeader::read(window)?;
        let largest = header.snap_length.clamp(LARGEST_USUAL, LARGEST);
        // A snap length of zero means none.
        let usual = if header.snap_length == 0 {
            LARGEST_USUAL
        } else {
            header.snap_length.min(LARGEST_USUAL)
        };
        let link = LinkType::from_number(header.link_number);
        let offset = FILE_HEADER_LENGTH as u64;
        Ok(Self { header, link, usual, largest, offset, tally: Tally::new(), search: None })
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Where the window begins, in bytes from the beginning of the file.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn byte_order(&self) -> ByteOrder {
        self.header.order
    }

    /// The one interface that the format knows.
    pub(crate) fn interface(&self) -> InterfaceFacts {
        InterfaceFacts {
            name: None,
            description: None,
            hardware: None,
            os: None,
            link_number: self.header.link_number,
            snap_length: self.header.snap_length,
            resolution: self.header.resolution(),
            records: self.tally.records,
            received: None,
            dropped: None,
            os_dropped: None,
            options: Vec::new(),
        }
    }

    /// Emits the records of `window`, which is `complete` when nothing follows it. Returns how much
    /// of it is done with.
    pub(crate) fn walk(
        &mut self,
        window: &[u8],
        complete: bool,
        sink: &mut Sink<'_, impl Consumer>,
    ) -> (usize, Stop) {
        let (done, stop) = match self.header.order {
            ByteOrder::Little => self.walk_ordered::<false>(window, complete, sink),
            ByteOrder::Big => self.walk_ordered::<true>(window, complete, sink),
        };
        self.offset += done as u64;
        (done, stop)
    }

    fn walk_ordered<const BIG: bool>(
        &mut self,
        window: &[u8],
        complete: bool,
        sink: &mut Sink<'_, impl Consumer>,
    ) -> (usize, Stop) {
        let mut position = 0;
        loop {
            if let Some(search) = &self.search {
                let hit = self.pattern().find::<BIG>(window, position, usize::MAX, complete);
                match hit {
                    Hit::At(at) => position = at,
                    Hit::Nowhere => position = window.len(),
                    Hit::NeedMore { from, length } => return (from, Stop::NeedMore(length)),
                }
                let passed_over = self.offset + position as u64 - search.from;
                self.end_search(passed_over, hit != Hit::Nowhere, sink);
            }
            let (reached, pause) = self.run::<BIG>(window, position, sink);
            position = reached;
            match pause {
                Pause::Stop(stop) => return (position, stop),
                Pause::Doubt => {}
            }
            match self.judge::<BIG>(window, position, complete) {
                Judgement::NeedMore(length) => return (position, Stop::NeedMore(length)),
                Judgement::End => return (position, Stop::End),
                Judgement::Cut(problem) => {
                    self.tally.skipped_bytes += (window.len() - position) as u64;
                    sink.ledger.problem(sink.file, problem);
                    return (window.len(), Stop::End);
                }
                Judgement::Garbage { code, why } => {
                    self.search = Some(Search { code, from: self.offset + position as u64, why });
                    position += 1;
                }
                Judgement::Record { header, end, problem } => {
                    if !self.emit_judged(window, position, header, end, problem, sink) {
                        return (
                            position,
                            Stop::Until(header.ts(u64::from(self.header.nanos_per_unit()))),
                        );
                    }
                    position = end;
                }
            }
        }
    }

    /// The fast path: record after record, as long as there is nothing to think about.
    #[inline]
    fn run<const BIG: bool>(
        &mut self,
        window: &[u8],
        start: usize,
        sink: &mut Sink<'_, impl Consumer>,
    ) -> (usize, Pause) {
        let length = self.header.record_header_length();
        let exchanged = self.header.lengths == Lengths::Exchanged;
        let (usual, units, scale, link) =
            (self.usual, self.header.units, u64::from(self.header.nanos_per_unit()), self.link);
        let load = |at: usize| {
            RecordHeader::load::<BIG>(window, at, exchanged)
                .filter(|header| header.is_ordinary(usual, units))
        };
        let mut tally = self.tally;
        let mut position = start;
        let mut current = load(position);
        let pause = loop {
            if sink.remaining == 0 {
                break Pause::Stop(Stop::Limit);
            }
            let Some(header) = current else { break Pause::Doubt };
            let body = position + length;
            let end = body + header.captured as usize;
            // The header behind a record vouches for its length. Loading it early also hides its
            // latency.
            let next = load(end);
            let (Some(_), Some(bytes)) = (next, window.get(body..end)) else { break Pause::Doubt };
            let ts = header.ts(scale);
            if ts > sink.until {
                break Pause::Stop(Stop::Until(ts));
            }
            tally.count(ts, header.captured < header.original);
            sink.emit(Unnumbered {
                ts,
                link,
                interface: 0,
                original_length: header.original,
                marked: Direction::Unknown,
                bytes,
                options: FrameOptions::NONE,
            });
            position = end;
            current = next;
        };
        self.tally = tally;
        (position, pause)
    }

    /// Emits a record that the slow path accepted; false when it is later than was requested.
    fn emit_judged(
        &mut self,
        window: &[u8],
        position: usize,
        header: RecordHeader,
        end: usize,
        problem: Option<Found>,
        sink: &mut Sink<'_, impl Consumer>,
    ) -> bool {
        let ts = header.ts(u64::from(self.header.nanos_per_unit()));
        if ts > sink.until {
            return false;
        }
        if let Some(problem) = problem {
            sink.ledger.problem(sink.file, problem);
        }
        self.tally.count(ts, header.captured < header.original);
        let bytes = &window[position + self.header.record_header_length()..end];
        sink.emit(Unnumbered {
            ts,
            link: self.link,
            interface: 0,
            original_length: header.original,
            marked: Direction::Unknown,
            bytes,
            options: FrameOptions::NONE,
        });
        true
    }

    fn end_search(&mut self, passed_over: u64, found: bool, sink: &mut Sink<'_, impl Consumer>) {
        let Some(Search { code, from, why }) = self.search.take() else { return };
        self.tally.skipped_bytes += passed_over;
        let rest = if found {
            "were passed over up to the next record"
        } else {
            "up to the end of the file hold no record"
        };
        let detail = format!("{why}; {passed_over} bytes {rest}");
        sink.ledger.problem(
            sink.file,
            Found { code, offset: from, record: self.tally.records + 1, detail },
        );
    }

    fn pattern(&self) -> Pattern {
        let near = self.tally.last().and_then(|last| u32::try_from(last.0 / 1_000_000_000).ok());
        Pattern {
            header_length: self.header.record_header_length(),
            units: self.header.units,
            exchanged: self.header.lengths == Lengths::Exchanged,
            either: self.header.lengths == Lengths::Either,
            near,
        }
    }
}
