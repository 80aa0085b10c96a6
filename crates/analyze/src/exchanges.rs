//! Units of a transfer: runs of new data that answer, or are answered by, data of the peer.
//!
//! A unit begins with the first new data after data of the peer, once everything before has been
//! acknowledged: exchanges that overlap (pipelined requests, both sides at once) are one unit.
//! Where both sides send at once, silences cut what each of them sends instead ([`Quiet`]); that
//! they do is known once new data is sent before data of the peer is acknowledged
//! (Hernández-Campos et al., Tmix).
//!
//! Bounded: 4,096 units and as many silences are kept; later ones are counted, or left out.
//!
//! Bias: a unit begins when its first packet is seen, so away from the sender what lies between is
//! part of the time before it.

use trustbed_flow::{Class, Segment};
use trustbed_units::Span;

/// Units kept, and silences.
const MOST: usize = 4096;
/// A silence of a sender is at least this long.
const SILENCE: Span = Span::from_millis(500);

/// A run of new data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exchange {
    /// The peer's last data before it, after this transfer's first data; none before the first
    /// unit of a transfer that spoke first.
    pub asked: Option<Span>,
    /// Its first packet.
    pub start: Span,
    /// Its last packet.
    pub end: Span,
    /// When its last byte was acknowledged.
    pub acknowledged: Option<Span>,
    /// Its bytes.
    pub bytes: u64,
    /// Packets of it that were sent again.
    pub retransmitted: u32,
    /// Offset of its end.
    until: i64,
}

impl Exchange {
    /// Bytes per second from its first packet to the acknowledgement of its last byte.
    #[expect(clippy::cast_precision_loss, reason = "bytes of a unit")]
    pub fn rate(&self) -> Option<f64> {
        let took = self.acknowledged? - self.start;
        (took > Span::ZERO).then(|| self.bytes as f64 / took.as_secs_f64())
    }
}

/// A silence between two packets with new data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiet {
    /// The packet before it, after the transfer's first data.
    pub from: Span,
    /// The packet behind it.
    pub until: Span,
    /// Bytes before it.
    pub bytes: u64,
}

/// The units of a transfer.
#[derive(Debug, Clone, Default)]
pub struct Exchanges {
    kept: Vec<Exchange>,
    /// Units that were not kept.
    pub more: u64,
    /// Silences of at least 500 ms.
    quiet: Vec<Quiet>,
    /// New data was sent while data of the peer was under way to this side.
    pub crossed: bool,
    /// The last packet with new data, and the bytes up to it.
    last: Option<(Span, u64)>,
    /// Data of the peer: when the last came, and whether any came since this side spoke.
    asked: Option<Span>,
    pending: bool,
}

impl Exchanges {
    /// Bytes on the heap.
    pub(crate) fn held_bytes(&self) -> usize {
        self.kept.capacity() * size_of::<Exchange>() + self.quiet.capacity() * size_of::<Quiet>()
    }

    /// Data were sent; `crossing`: before this side had acknowledged the data of the peer.
    #[inline]
    pub fn on_data(&mut self, since: Span, segment: &Segment, crossing: bool) {
        let fresh = i64::from(segment.length - segment.overlap);
        if segment.class == Class::Retransmission {
            if let Some(last) = self.kept.last_mut().filter(|_| self.more == 0) {
                last.retransmitted += 1;
            }
            return;
        }
        self.note_silence(since, fresh.unsigned_abs());
        self.crossed |= crossing;
        let alone = segment.outstanding <= fresh;
        if self.kept.is_empty() || (self.pending && alone) {
            if self.kept.len() >= MOST {
                self.more += 1;
            } else {
                if self.kept.is_empty() {
                    // Most transfers have one.
                    self.kept.reserve_exact(1);
                }
                self.kept.push(Exchange { asked: self.asked, start: since, ..Exchange::default() });
            }
        }
        self.pending = false;
        if self.more == 0
            && let Some(last) = self.kept.last_mut()
        {
            (last.end, last.acknowledged) = (since, None);
            last.bytes += fresh.unsigned_abs();
            last.until = last.until.max(segment.end());
        }
    }

    fn note_silence(&mut self, since: Span, fresh: u64) {
        let (before, bytes) = self.last.unwrap_or((since, 0));
        if since - before >= SILENCE && self.quiet.len() < MOST {
            self.quiet.push(Quiet { from: before, until: since, bytes });
        }
        self.last = Some((since, bytes + fresh));
    }

    /// The last new data, and the bytes in all.
    pub fn last(&self) -> Option<(Span, u64)> {
        self.last
    }

    /// A packet of the peer came, with `data` or without; everything below `una` is acknowledged.
    #[inline]
    pub fn on_ack(&mut self, since: Span, una: i64, data: bool) {
        if let Some(last) = self.kept.last_mut()
            && last.acknowledged.is_none()
            && una >= last.until
            && self.more == 0
        {
            last.acknowledged = Some(since);
        }
        if data {
            self.asked = Some(since);
            self.pending = true;
        }
    }

    /// Units in order, and silences.
    pub fn into_parts(self) -> (Vec<Exchange>, Vec<Quiet>) {
        (self.kept, self.quiet)
    }
}
