//! One input: its bytes, its format, and what became of both.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use trustbed_units::Span;
use trustbed_wire::LinkType;

use crate::error::OpenError;
use crate::facts::{Compression, FileFacts, Format, InterfaceFacts, Problem};
use crate::input::Input;
use crate::ledger::Found;
use crate::pcap::{self, Pcap};
use crate::pcapng::{self, Pcapng};
use crate::sink::{Consumer, Sink, Stop, Tally};
use crate::sniff;
use crate::source::Source;

/// Where the link type is in a pcap file.
const PCAP_LINK_OFFSET: u64 = 20;

/// The format of a file, and how far reading has come in it.
#[derive(Debug, Clone)]
pub(crate) enum Framing {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

impl Framing {
    /// Finds out the format and takes the file header, where the format has one.
    fn begin(source: &mut Source, path: PathBuf) -> Result<Self, OpenError> {
        source.fill_to(pcap::FILE_HEADER_LENGTH);
        let (start, _) = source.window();
        if pcap::is_magic(start) {
            let framing = Pcap::begin(start).map_err(|error| pcap_error(error, path))?;
            source.consume(pcap::FILE_HEADER_LENGTH);
            return Ok(Self::Pcap(framing));
        }
        if pcapng::is_magic(start) {
            source.fill_to(pcapng::BEGIN_LENGTH);
            let (start, _) = source.window();
            return Pcapng::begin(start)
                .map(Self::Pcapng)
                .map_err(|error| pcapng_error(error, path));
        }
        source.fill_to(sniff::LOOK_LENGTH);
        Err(stranger(source, path))
    }

    /// Emits the records of a window; see the two formats.
    pub(crate) fn walk(
        &mut self,
        window: &[u8],
        complete: bool,
        sink: &mut Sink<'_, impl Consumer>,
    ) -> (usize, Stop) {
        match self {
            Self::Pcap(framing) => framing.walk(window, complete, sink),
            Self::Pcapng(framing) => framing.walk(window, complete, sink),
        }
    }

    pub(crate) fn tally(&self) -> &Tally {
        match self {
            Self::Pcap(framing) => framing.tally(),
            Self::Pcapng(framing) => framing.tally(),
        }
    }

    fn offset(&self) -> u64 {
        match self {
            Self::Pcap(framing) => framing.offset(),
            Self::Pcapng(framing) => framing.offset(),
        }
    }

    fn interfaces(&self) -> Vec<InterfaceFacts> {
        match self {
            Self::Pcap(framing) => vec![framing.interface()],
            Self::Pcapng(framing) => framing.interfaces(),
        }
    }

    /// Whether interfaces were seen and none of them can be decoded.
    pub(crate) fn is_undecodable(&self) -> bool {
        let links = self.links();
        !links.is_empty() && links.iter().all(|number| LinkType::from_number(*number).is_none())
    }

    /// The link types of the interfaces seen so far, each once.
    fn links(&self) -> Vec<u32> {
        let mut links: Vec<u32> =
            self.interfaces().iter().map(|interface| interface.link_number).collect();
        links.sort_unstable();
        links.dedup();
        links
    }
}

/// One input of a capture.
pub(crate) struct CaptureFile {
    input: Input,
    pub(crate) name: Arc<str>,
    source: Source,
    framing: Framing,
    /// The source was closed after a look at its beginning, and has to be opened again.
    parked: bool,
}

impl CaptureFile {
    /// Opens an input and reads its file header.
    pub(crate) fn open(input: &Input) -> Result<Self, OpenError> {
        let mut source = Source::open(input)?;
        let framing = Framing::begin(&mut source, input.path())?;
        Ok(Self { input: input.clone(), name: input.name().into(), source, framing, parked: false })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.input.path()
    }

    /// Looks at the beginning of the file without moving on: calls `look` with the framing as it
    /// stands and ever longer windows, at most `longest` bytes, until it reports that it has seen
    /// enough or there is no more.
    pub(crate) fn peek(
        &mut self,
        longest: usize,
        mut look: impl FnMut(Framing, &[u8], bool) -> Peek,
    ) {
        let mut required = 0;
        loop {
            self.source.fill_to(required);
            let (window, complete) = self.source.window();
            let whole = window.len() <= longest;
            match look(
                self.framing.clone(),
                &window[..window.len().min(longest)],
                complete && whole,
            ) {
                Peek::More(length) if !complete && whole && window.len() < longest => {
                    required = length.min(longest);
                }
                Peek::More(_) | Peek::Enough => return,
            }
        }
    }

    /// That no interface of the file can be decoded, if `framing` has seen interfaces and none of
    /// them can.
    pub(crate) fn undecodable(&self, framing: &Framing) -> Option<OpenError> {
        let offset = match framing {
            Framing::Pcap(_) => PCAP_LINK_OFFSET,
            Framing::Pcapng(framing) => framing.first_link_offset(),
        };
        framing.is_undecodable().then(|| OpenError::UnsupportedLink {
            path: self.path(),
            offset,
            links: framing.links(),
        })
    }

    /// Lets go of buffers until the file's turn comes, where that is possible.
    pub(crate) fn park(&mut self) {
        if self.source.is_streamed() && self.source.can_open_again() {
            self.source.close();
            self.parked = true;
        }
    }

    fn unpark(&mut self, sink: &mut Sink<'_, impl Consumer>) -> bool {
        self.parked = false;
        match Self::open(&self.input) {
            Ok(file) => {
                self.source = file.source;
                self.framing = file.framing;
                true
            }
            Err(error) => {
                let detail =
                    format!("the file was there before and cannot be opened again: {error}");
                sink.ledger
                    .problem(&self.name, Found { code: Problem::IO, offset: 0, record: 1, detail });
                false
            }
        }
    }

    /// Emits records until the sink has enough, the next record is too late, or nothing more comes.
    pub(crate) fn read(&mut self, sink: &mut Sink<'_, impl Consumer>) -> Stop {
        if self.parked && !self.unpark(sink) {
            return Stop::End;
        }
        loop {
            if let Some(failure) = self.source.take_failure() {
                self.on_failure(&failure, sink);
            }
            let (window, complete) = self.source.window();
            let (done, stop) = self.framing.walk(window, complete, sink);
            self.source.consume(done);
            match stop {
                Stop::NeedMore(length) => self.source.fill_to(length),
                Stop::End => {
                    self.source.close();
                    return stop;
                }
                Stop::Limit | Stop::Until(_) => return stop,
            }
        }
    }

    fn on_failure(&self, failure: &io::Error, sink: &mut Sink<'_, impl Consumer>) {
        let (window, _) = self.source.window();
        let offset = self.framing.offset() + window.len() as u64;
        let compression = self.source.compression();
        let (code, detail) = match compression {
            Compression::None => {
                (Problem::IO, format!("reading failed: {failure}; what came before is there"))
            }
            _ => (
                Problem::DECOMPRESSION,
                format!(
                    "{} decompression failed: {failure}; what came before is there",
                    compression.name()
                ),
            ),
        };
        sink.ledger.problem(
            &self.name,
            Found { code, offset, record: self.framing.tally().records + 1, detail },
        );
    }

    pub(crate) fn stored_read(&self) -> u64 {
        if self.parked { 0 } else { self.source.stored_read() }
    }

    pub(crate) fn stored_length(&self) -> Option<u64> {
        self.source.stored_length()
    }

    pub(crate) fn facts(&self) -> FileFacts {
        let tally = self.framing.tally();
        let interfaces = self.framing.interfaces();
        let (format, byte_order, [hardware, os, application]) = match &self.framing {
            Framing::Pcap(framing) => (Format::Pcap, framing.byte_order(), [None, None, None]),
            Framing::Pcapng(framing) => (Format::Pcapng, framing.byte_order(), framing.writer()),
        };
        FileFacts {
            name: self.name.to_string(),
            format,
            compression: self.source.compression(),
            byte_order,
            bytes: self.stored_length().unwrap_or_else(|| self.stored_read()),
            records: tally.records,
            first_ts: tally.earliest(),
            last_ts: tally.latest(),
            snap_length: interfaces
                .iter()
                .map(|interface| interface.snap_length)
                .max()
                .unwrap_or(0),
            timestamp_resolution: interfaces
                .iter()
                .map(|interface| interface.resolution)
                .max()
                .unwrap_or(Span::ZERO),
            snapped_records: tally.snapped,
            skipped_bytes: tally.skipped_bytes,
            records_without_time: tally.without_time,
            hardware,
            os,
            application,
            interfaces,
        }
    }
}

/// What a look at the beginning of a file requires next.
pub(crate) enum Peek {
    Enough,
    /// A window of this length.
    More(usize),
}

/// Why what begins like this is no capture.
fn stranger(source: &mut Source, path: PathBuf) -> OpenError {
    let compression = source.compression();
    if let Some(failure) = source.take_failure() {
        return match compression {
            Compression::None => OpenError::Unreadable { path, source: failure },
            _ => OpenError::Decompression { path, compression, source: failure },
        };
    }
    let (start, _) = source.window();
    if start.is_empty() {
        return OpenError::Empty { path, compression };
    }
    let found: Vec<String> = start.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let sniff::Look { what, advice } = sniff::look(start);
    OpenError::WrongMagic { path, found: found.join(" "), looks_like: what, advice }
}

fn pcap_error(error: pcap::HeaderError, path: PathBuf) -> OpenError {
    match error {
        pcap::HeaderError::Truncated { needed, found } => {
            OpenError::TruncatedHeader { path, needed, found }
        }
        pcap::HeaderError::Version { major, minor } => {
            OpenError::UnsupportedVersion { path, format: Format::Pcap, offset: 4, major, minor }
        }
    }
}

fn pcapng_error(error: pcapng::BeginError, path: PathBuf) -> OpenError {
    let format = Format::Pcapng;
    match error {
        pcapng::BeginError::Truncated { needed, found } => {
            OpenError::TruncatedHeader { path, needed, found }
        }
        pcapng::BeginError::ByteOrder { found } => OpenError::BadHeader {
            path,
            format,
            offset: 8,
            detail: format!("{found:#010x} stands where the byte-order magic should be"),
        },
        pcapng::BeginError::Version { major, minor } => {
            OpenError::UnsupportedVersion { path, format, offset: 12, major, minor }
        }
    }
}
