//! What is left of a frame while its headers are taken off: the captured bytes and the length on
//! the wire.
//!
//! The two differ when a snap length cut the frame, and that difference decides why a header cannot
//! be read: it was on the wire but not kept ([`Skip::Truncated`]), or it cannot have been there at
//! all ([`Skip::BadHeader`]).

use crate::{Record, Skip};

/// The rest of a frame from some header on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame<'a> {
    /// The bytes that were captured.
    pub(crate) bytes: &'a [u8],
    /// How many bytes there were on the wire, never less than were captured.
    pub(crate) length: usize,
}

impl<'a> Frame<'a> {
    /// The whole frame of a record.
    pub(crate) fn of(record: &Record<'a>) -> Result<Self, Skip> {
        if record.bytes.is_empty() {
            return Err(Skip::Empty);
        }
        let stated = usize::try_from(record.original_length).unwrap_or(usize::MAX);
        Ok(Self { bytes: record.bytes, length: stated.max(record.bytes.len()) })
    }

    /// Why `needed` bytes are not there.
    pub(crate) fn missing(self, needed: usize) -> Skip {
        if needed <= self.length { Skip::Truncated } else { Skip::BadHeader }
    }

    /// The first `N` bytes.
    pub(crate) fn chunk<const N: usize>(self) -> Result<&'a [u8; N], Skip> {
        self.bytes.first_chunk().ok_or_else(|| self.missing(N))
    }

    /// What follows the first `count` bytes, all of which must have been captured.
    pub(crate) fn after_checked(self, count: usize) -> Result<Self, Skip> {
        if self.bytes.len() < count { Err(self.missing(count)) } else { Ok(self.after(count)) }
    }

    /// What follows the first `count` bytes; an empty frame when fewer were captured.
    pub(crate) fn after(self, count: usize) -> Self {
        Self {
            bytes: self.bytes.get(count..).unwrap_or_default(),
            length: self.length.saturating_sub(count),
        }
    }

    /// The first `length` bytes: what lies behind them is padding.
    pub(crate) fn within(self, length: usize) -> Self {
        Self {
            bytes: self.bytes.get(..length).unwrap_or(self.bytes),
            length: self.length.min(length),
        }
    }
}
