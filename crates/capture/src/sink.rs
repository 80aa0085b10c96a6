//! Where the framing of both formats puts its records: through the decoder into a batch, counted on the way.

use trustbed_units::Ns;
use trustbed_wire::{Batch, Decoder, LinkType, Record, Skip};

use crate::ledger::Ledger;

/// What one call of a framing may do, and where to.
pub(crate) struct Sink<'a> {
    pub(crate) decoder: &'a mut Decoder,
    pub(crate) batch: &'a mut Batch,
    pub(crate) ledger: &'a mut Ledger,
    /// The file's name, for problems.
    pub(crate) file: &'a str,
    /// The index of the last record of the capture that was emitted.
    pub(crate) index: u64,
    /// How many more records may be emitted.
    pub(crate) remaining: usize,
    /// Records later than this stay where they are: another file has earlier ones.
    pub(crate) until: Ns,
}

/// A record without its place in the capture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) ts: Ns,
    pub(crate) link: Option<LinkType>,
    pub(crate) interface: u16,
    pub(crate) original_length: u32,
    pub(crate) bytes: &'a [u8],
}

impl Sink<'_> {
    /// Numbers a record and decodes it.
    #[inline]
    pub(crate) fn emit(&mut self, frame: Frame<'_>) {
        self.index += 1;
        self.remaining -= 1;
        let Frame { ts, link, interface, original_length, bytes } = frame;
        let outcome = match link {
            Some(link) => self.decoder.decode(&Record { ts, index: self.index, link, interface, original_length, bytes }, self.batch),
            None => Err(Skip::UnsupportedLink),
        };
        if let Err(reason) = outcome {
            self.ledger.skip(reason, self.index);
        }
    }
}

/// Why a framing stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// As many records as were asked for.
    Limit,
    /// The next record has this timestamp, which is later than was asked for.
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
