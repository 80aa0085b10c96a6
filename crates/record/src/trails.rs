//! Trails as bytes and back: what several transfers of a host show together is found when those of
//! all parts of an analysis are there.

use trustbed_analyze::{Pause, Silence, Trail, TransferId};
use trustbed_units::{Ns, Span};

use crate::RecordError;

/// Words of eight bytes, least significant byte first: of each trail its host, transfer, times, and
/// how many silences and pauses follow.
pub fn trail_bytes(trails: &[Trail]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for trail in trails {
        let Trail { host, transfer, first, last, silences, pauses, rtt_base } = trail;
        bytes.extend(host);
        let mut put = |word: u64| bytes.extend(word.to_le_bytes());
        put(transfer.connection);
        put(u64::from(transfer.by_responder));
        put(first.0.cast_unsigned());
        put(last.0.cast_unsigned());
        put(u64::from(rtt_base.is_some()));
        put(rtt_base.unwrap_or(Span::ZERO).0.cast_unsigned());
        put(silences.len() as u64);
        put(pauses.len() as u64);
        for Silence { from, to, pending } in silences {
            put(from.0.cast_unsigned());
            put(to.0.cast_unsigned());
            put(u64::from(*pending));
        }
        for Pause { from, to } in pauses {
            put(from.0.cast_unsigned());
            put(to.0.cast_unsigned());
        }
    }
    bytes
}

/// The trails that [`trail_bytes`] wrote.
///
/// # Errors
/// When the bytes end within one.
pub fn trails_of(bytes: &[u8]) -> Result<Vec<Trail>, RecordError> {
    let mut rest = Rest(bytes);
    let mut trails = Vec::new();
    while !rest.0.is_empty() {
        let host = rest.take()?;
        let transfer = TransferId { connection: rest.word()?, by_responder: rest.word()? > 0 };
        let (first, last) = (rest.moment()?, rest.moment()?);
        let (known, base) = (rest.word()? > 0, rest.moment()?);
        let (silences, pauses) = (rest.word()?, rest.word()?);
        trails.push(Trail {
            host,
            transfer,
            first,
            last,
            rtt_base: known.then_some(Span(base.0)),
            silences: (0..silences).map(|_| rest.silence()).collect::<Result<_, _>>()?,
            pauses: (0..pauses).map(|_| rest.pause()).collect::<Result<_, _>>()?,
        });
    }
    Ok(trails)
}

/// What has not been read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let cut = || RecordError::Part { detail: "it ends within a trail".to_owned() };
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(cut)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn word(&mut self) -> Result<u64, RecordError> {
        self.take().map(u64::from_le_bytes)
    }

    fn moment(&mut self) -> Result<Ns, RecordError> {
        self.word().map(|word| Ns(word.cast_signed()))
    }

    fn silence(&mut self) -> Result<Silence, RecordError> {
        Ok(Silence { from: self.moment()?, to: self.moment()?, pending: self.word()? > 0 })
    }

    fn pause(&mut self) -> Result<Pause, RecordError> {
        Ok(Pause { from: self.moment()?, to: self.moment()? })
    }
}
