//! The slow path: what to make of a record that the fast path did not take.

use super::header::RecordHeader;
use super::{Lengths, Pcap, Problem, is_magic};
use crate::hit::Hit;
use crate::ledger::Found;

/// What a position in the window is.
#[derive(Debug)]
pub(super) enum Judgement {
    /// A record that ends at `end`.
    Record { header: RecordHeader, end: usize, problem: Option<Found> },
    /// No record.
    Garbage { code: &'static str, why: String },
    /// A record that the end of the file cuts.
    Cut(Found),
    /// The end of the file.
    End,
    /// Cannot be decided before the window is this long.
    NeedMore(usize),
}

/// Whether what follows a record vouches for its length.
enum Follows {
    Yes,
    No,
    /// Cannot be decided before the window reaches this far.
    NeedMore(usize),
}

impl Pcap {
    #[cold]
    pub(super) fn judge<const BIG: bool>(
        &self,
        window: &[u8],
        position: usize,
        complete: bool,
    ) -> Judgement {
        let header_length = self.header.record_header_length();
        let rest = window.len() - position;
        let loaded =
            RecordHeader::load::<BIG>(window, position, self.header.lengths == Lengths::Exchanged);
        let header = match loaded.filter(|_| rest >= header_length) {
            Some(header) => self.in_order(header),
            None if !complete => return Judgement::NeedMore(header_length),
            None if rest == 0 => return Judgement::End,
            None => {
                return Judgement::Cut(self.cut(
                    position,
                    format!(
                        "the file ends within a record header: {rest} of \
                        {header_length} bytes are there"
                    ),
                ));
            }
        };
        if let Some((code, why)) = self.impossible(header, &window[position..]) {
            return Judgement::Garbage { code, why };
        }
        let needed = header_length + header.captured as usize;
        if !complete && rest < needed + header_length {
            return Judgement::NeedMore(needed + header_length);
        }
        let end = position + needed;
        let follows =
            if rest < needed { Follows::No } else { self.follows::<BIG>(window, end, complete) };
        match follows {
            Follows::Yes => self.accepted(position, header, end),
            Follows::No => self.contradicted::<BIG>(window, position, complete, header),
            Follows::NeedMore(upto) => Judgement::NeedMore(upto - position),
        }
    }

    /// The lengths of version 2.3 put in order.
    fn in_order(&self, header: RecordHeader) -> RecordHeader {
        if self.header.lengths == Lengths::Either && header.captured > header.original {
            return RecordHeader { captured: header.original, original: header.captured, ..header };
        }
        header
    }

    /// Why a header cannot be one.
    fn impossible(&self, header: RecordHeader, bytes: &[u8]) -> Option<(&'static str, String)> {
        if is_magic(bytes) && header.captured == 0 {
            return Some((
                Problem::SKIPPED_BYTES,
                "another file header stands here: capture files were joined without mergecap"
                    .to_owned(),
            ));
        }
        let RecordHeader { seconds, fraction, captured, original } = header;
        if captured > self.largest {
            let limit = self.largest;
            return Some((
                Problem::BAD_RECORD_LENGTH,
                format!(
                    "a record states {captured} captured bytes, more than the {limit} that can be"
                ),
            ));
        }
        let near = self.pattern().near;
        if captured == 0
            && original == 0
            && (seconds == 0 && fraction == 0
                || near.is_some_and(|near| near.abs_diff(seconds) > 86_400))
        {
            return Some((
                Problem::SKIPPED_BYTES,
                "there are zeros where a record should be".to_owned(),
            ));
        }
        None
    }

    /// Whether a record begins, or the file ends, at an offset. An odd header is accepted when a
    /// regular one follows it.
    fn follows<const BIG: bool>(&self, window: &[u8], at: usize, complete: bool) -> Follows {
        let load = |at: usize| {
            RecordHeader::load::<BIG>(window, at, self.header.lengths == Lengths::Exchanged)
        };
        let Some(header) = load(at).map(|header| self.in_order(header)) else {
            return Follows::Yes;
        };
        if self.impossible(header, &window[at..]).is_some() {
            return Follows::No;
        }
        if header.is_ordinary(self.largest, self.header.units) {
            return Follows::Yes;
        }
        let next = at + self.header.record_header_length() + header.captured as usize;
        match load(next).map(|header| self.in_order(header)) {
            Some(header) if header.is_ordinary(self.largest, self.header.units) => Follows::Yes,
            None if !complete => Follows::NeedMore(next + self.header.record_header_length()),
            None if next <= window.len() => Follows::Yes,
            Some(_) | None => Follows::No,
        }
    }

    /// A record whose length nothing contradicts; what else is odd about it is reported.
    fn accepted(&self, position: usize, header: RecordHeader, end: usize) -> Judgement {
        let RecordHeader { captured, original, fraction, .. } = header;
        if captured > original {
            let detail = format!(
                "a record states {captured} captured bytes of a frame of {original}; the frame is \
                 taken to have had {captured}"
            );
            let problem = self.found(Problem::BAD_RECORD_LENGTH, position, detail);
            return Judgement::Record {
                header: RecordHeader { original: captured, ..header },
                end,
                problem: Some(problem),
            };
        }
        let units = self.header.units;
        let problem = (fraction >= units).then(|| {
            let detail = format!(
                "a timestamp has {fraction} parts of a second where a second has \
                {units}; the rest is carried over"
            );
            self.found(Problem::BAD_TIMESTAMP, position, detail)
        });
        Judgement::Record { header, end, problem }
    }

    /// What follows the record is no record, or the file ends before the record does: its length
    /// lies, the file is cut, or the damage is behind it.
    fn contradicted<const BIG: bool>(
        &self,
        window: &[u8],
        position: usize,
        complete: bool,
        header: RecordHeader,
    ) -> Judgement {
        let body = position + self.header.record_header_length();
        let end = body + header.captured as usize;
        let pattern = self.pattern();
        if !complete && window.len() < end + pattern.reach() {
            return Judgement::NeedMore(end + pattern.reach() - position);
        }
        if let Hit::At(next) = pattern.find::<BIG>(window, body, end, complete) {
            let captured = u32::try_from(next - body).unwrap_or(header.captured);
            let stated = header.captured;
            let detail = format!(
                "a record states {stated} captured bytes, but the next one begins after \
                 {captured}; it is taken to have had those"
            );
            let problem = Some(self.found(Problem::BAD_RECORD_LENGTH, position, detail));
            let original = header.original.max(captured);
            return Judgement::Record {
                header: RecordHeader { captured, original, ..header },
                end: next,
                problem,
            };
        }
        if end > window.len() {
            let (there, stated) = (window.len() - body, header.captured);
            return Judgement::Cut(self.cut(
                position,
                format!("the file ends within a record: {there} of {stated} bytes are there"),
            ));
        }
        self.accepted(position, header, end)
    }

    fn cut(&self, position: usize, detail: String) -> Found {
        self.found(Problem::TRUNCATED_RECORD, position, detail)
    }

    fn found(&self, code: &'static str, position: usize, detail: String) -> Found {
        Found {
            code,
            offset: self.offset + position as u64,
            record: self.tally.records + 1,
            detail,
        }
    }
}
