//! Where the framing of both formats puts its records: before a consumer, counted as they pass.
//!
//! What the consumer does is chosen at compile time, so that one that only looks at lengths pays
//! for nothing else.

use trustbed_units::Ns;
use trustbed_wire::{Batch, Decoder, LinkType, Skip};

use crate::frame::{Direction, Frame};
use crate::ledger::Ledger;
use crate::pcapng::FrameOptions;

/// What is done with each record.
pub(crate) trait Consumer {
    /// Takes a record with the options of its block, or returns why it is not measured.
    fn take(&mut self, frame: &Frame<'_>, options: FrameOptions<'_>) -> Result<(), Skip>;
}

/// Decodes records into a batch.
pub(crate) struct Decoding<'a> {
    pub(crate) decoder: &'a mut Decoder,
    pub(crate) batch: &'a mut Batch,
}

impl Consumer for Decoding<'_> {
    #[inline]
    fn take(&mut self, frame: &Frame<'_>, _options: FrameOptions<'_>) -> Result<(), Skip> {
        match frame.record() {
            Some(record) => self.decoder.decode(&record, self.batch),
            None => Err(Skip::UnsupportedLink),
        }
    }
}

/// Shows records as they are.
pub(crate) struct Showing<F>(pub(crate) F);

impl<F: FnMut(&Frame<'_>)> Consumer for Showing<F> {
    #[inline]
    fn take(&mut self, frame: &Frame<'_>, _options: FrameOptions<'_>) -> Result<(), Skip> {
        (self.0)(frame);
        Ok(())
    }
}

/// Shows records as they are, with the options of their blocks.
pub(crate) struct Copying<F>(pub(crate) F);

impl<F: FnMut(&Frame<'_>, FrameOptions<'_>)> Consumer for Copying<F> {
    #[inline]
    fn take(&mut self, frame: &Frame<'_>, options: FrameOptions<'_>) -> Result<(), Skip> {
        (self.0)(frame, options);
        Ok(())
    }
}

/// What one call of a framing may do, and where to.
pub(crate) struct Sink<'a, C> {
    pub(crate) consumer: &'a mut C,
    pub(crate) ledger: &'a mut Ledger,
    /// The file's name, for problems.
    pub(crate) file: &'a str,
    /// The file's index among those of the capture.
    pub(crate) file_index: usize,
    /// The index of the last record of the capture that was emitted.
    pub(crate) index: u64,
    /// How many more records may be emitted.
    pub(crate) remaining: usize,
    /// Records later than this stay where they are: another file has earlier ones.
    pub(crate) until: Ns,
}

/// A record without its index in the capture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unnumbered<'a> {
    pub(crate) ts: Ns,
    pub(crate) link: Option<LinkType>,
    pub(crate) interface: u16,
    pub(crate) original_length: u32,
    pub(crate) marked: Direction,
    pub(crate) bytes: &'a [u8],
    pub(crate) options: FrameOptions<'a>,
}

impl<C: Consumer> Sink<'_, C> {
    /// Numbers a record and hands it on.
    #[inline]
    pub(crate) fn emit(&mut self, record: Unnumbered<'_>) {
        self.index += 1;
        self.remaining -= 1;
        let Unnumbered { ts, link, interface, original_length, marked, bytes, options } = record;
        let frame = Frame {
            ts,
            index: self.index,
            file: self.file_index,
            interface,
            link,
            original_length,
            marked,
            bytes,
        };
        if let Err(reason) = self.consumer.take(&frame, options) {
            self.ledger.skip(reason, self.index);
        }
    }
}

/// Why a framing stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// As many records as were requested.
    Limit,
    /// The next record has this timestamp, which is later than was requested.
    Until(Ns),
    /// The window has to hold this many bytes from where the framing stopped.
    NeedMore(usize),
    /// Nothing more comes.
    End,
}

/// What both formats count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) records: u64,
    pub(crate) snapped: u64,
    pub(crate) skipped_bytes: u64,
    pub(crate) without_time: u64,
    earliest: Ns,
    latest: Ns,
    last: Ns,
    stamped: bool,
}

impl Tally {
    pub(crate) const fn new() -> Self {
        Self {
            records: 0,
            snapped: 0,
            skipped_bytes: 0,
            without_time: 0,
            earliest: Ns::MAX,
            latest: Ns::MIN,
            last: Ns::MIN,
            stamped: false,
        }
    }

    #[inline]
    pub(crate) fn count(&mut self, ts: Ns, snapped: bool) {
        self.records += 1;
        self.snapped += u64::from(snapped);
        self.earliest = self.earliest.min(ts);
        self.latest = self.latest.max(ts);
        self.last = ts;
        self.stamped = true;
    }

    /// Counts a record whose time is not known.
    pub(crate) fn count_unstamped(&mut self, snapped: bool) {
        self.records += 1;
        self.snapped += u64::from(snapped);
    }

    pub(crate) fn earliest(&self) -> Option<Ns> {
        self.stamped.then_some(self.earliest)
    }

    /// The timestamp of the last record that had one.
    pub(crate) fn last(&self) -> Option<Ns> {
        self.stamped.then_some(self.last)
    }

    pub(crate) fn latest(&self) -> Option<Ns> {
        self.stamped.then_some(self.latest)
    }
}
